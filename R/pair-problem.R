# A kernel problem: predictions, outcomes and the two bound kernels; everything that skce() and ce_test()
# compute is a function of it.

kernel_problem <- function(laws, kernel = NULL, target_kernel = NULL, draws = 100) {
  if (is.function(kernel)) return(joint_problem(laws, kernel, target_kernel))
  kernel <- check_kernel(kernel %||% default_prediction_kernel(laws), "kernel")
  target_kernel <- outcome_kernel(target_kernel, laws)
  prediction <- bind_prediction(kernel, laws, draws)
  target <- bind_target(target_kernel, laws, draws)
  list(
    n = laws$n, laws = laws, prediction = grouped_source(prediction$spec, laws$group), target = target$spec,
    kernel = prediction$kernel, target_kernel = target$kernel, target_computation = target$computation,
    asked = list(kernel = kernel, target_kernel = target_kernel, draws = draws)
  )
}

# Times the kernel on groups (ckce_group()): 0 between them, or 1 and a kernel.
grouped_source <- function(prediction, group) {
  if (is.null(group)) return(prediction)
  on_groups <- if (group$type == "delta") group$kernel else kernel_one() + group$kernel
  product_source(list(prediction, feature_spec(on_groups, group$features)))
}

# The problem without its group, which kernel_problem() made the second factor of the kernel.
group_free <- function(problem) {
  if (is.null(problem$laws$group) || is.null(problem$prediction$parts)) return(problem)
  problem$prediction <- problem$prediction$parts[[1]]
  problem$laws$group <- NULL
  problem
}

# The kernel on the outcomes of skce(), ucme() and ce_test(), the default where none is given. It does not depend on the
# outcomes: they may then be redrawn, and the mean over pairs is unbiased.
outcome_kernel <- function(target_kernel, laws) {
  pooled_kernel(check_kernel(target_kernel %||% default_target_kernel(laws), "target_kernel"), laws)
}

# The same problem with other outcomes; the kernel on the predictions stays as it is.
with_outcomes <- function(problem, laws) {
  if (is.function(problem$asked$kernel)) {
    return(joint_problem(laws, problem$asked$kernel, check = FALSE))
  }
  target <- bind_target(problem$asked$target_kernel, laws, problem$asked$draws)
  problem$laws <- laws
  problem$target <- target$spec
  problem
}

family_text <- function(laws) {
  if (!is.null(laws$law)) return(family_of(laws$law))
  if (ncol(laws$probs) == 2) "binary" else "multiclass"
}

check_block <- function(block, n, least = 2) {
  block <- block %||% max(least, floor(sqrt(n)))
  check_count(block, "block", lower = least)
  stop_if(block > n, "{.arg block} must be at most the number of observations.", "x" = "It is {block}, there are {n}.",
          arg = "block", value = block)
  as.integer(block)
}

# A kernel on prediction and class together that is not a product of two: a function of (p, y, q, z), p and q
# probability vectors, y and z classes 1..K. The full double sum
#   h = sum over classes a, b of (e_y - p)_a (e_z - q)_b k(p, a, q, b),
# n^2 K^2 calls of an R function: for small data.
joint_problem <- function(laws, kernel, target_kernel = NULL, check = TRUE) {
  stop_if(!is_plain(laws$design), "A function as {.arg kernel} needs independent, unweighted rows.",
          "i" = "Use a kernel of the package with {.arg weights} or {.arg cluster}.", class = "weights", arg = "kernel")
  stop_if(!is.null(laws$law) || !is.null(target_kernel) || !is.null(laws$group),
          "A function as {.arg kernel} is a kernel on class probabilities and classes together.",
          "x" = "It takes no {.arg target_kernel} and no {.arg group}, and needs class probabilities.",
          "i" = "The package's kernels are values of functions: {.code kernel_wasserstein()}, not \\
                 {.code kernel_wasserstein}.", class = "kernel", arg = "kernel")
  arguments <- names(formals(args(kernel)))
  stop_if(length(arguments) != 4 && !"..." %in% arguments,
          "A function as {.arg kernel} must take four arguments: probabilities, class, probabilities, class.",
          "x" = "It takes {length(arguments)}.", class = "kernel", arg = "kernel")
  probs <- laws$probs
  residuals <- canonical_residuals(probs, as.vector(laws$y))
  n <- laws$n
  classes <- seq_len(ncol(probs))
  h <- matrix(0, n, n)
  for (i in seq_len(n)) {
    for (j in seq_len(i)) {
      value <- function(a, b) {
        value <- kernel(probs[i, ], a, probs[j, ], b)
        stop_if(!rlang::is_bare_numeric(value, 1) || !is.finite(value),
                "A function as {.arg kernel} must return one finite number.", "x" = "It returned {describe(value)}.",
                class = "kernel", arg = "kernel")
        value
      }
      values <- outer(classes, classes, Vectorize(value))
      h[i, j] <- h[j, i] <- sum(outer(residuals[i, ], residuals[j, ]) * values)
    }
  }
  text <- new_kernel("function")
  # h is positive semidefinite where the kernel is
  if (check) warn_not_psd(h, text)
  # h_Y = 1: the other factor is the whole of H
  ones <- matrix(1, n, 1)
  target <- list(kind = "finite", residuals = ones, right = ones, probs = ones, probs_right = ones)
  list(n = n, laws = laws, prediction = list(kind = "matrix", values = h), target = target, kernel = text,
       target_kernel = text, target_computation = "closed form",
       asked = list(kernel = kernel))
}

# The largest value of a kernel on the predictions (or of a target kernel): 1 for all that are functions of a distance.
kernel_bound <- function(kernel, simplex) {
  value <- switch(kernel$type,
    sum = sum(vapply(kernel$parts, kernel_bound, 0, simplex)),
    product = prod(vapply(kernel$parts, kernel_bound, 0, simplex)),
    `function` = stop_input("The bound needs a kernel with a known bound.", "x" = "{.arg kernel} is a function.",
                            class = "kernel"),
    # a mean of values of its target kernel
    embedding = kernel_bound(kernel$target_kernel, FALSE),
    linear = if (simplex) 1 else {
      stop_input("The bound needs a bounded kernel.",
                 "x" = "{.fn kernel_linear} is unbounded on these predictions or outcomes.", class = "kernel")
    },
    1
  )
  kernel$scale * value
}

product_source <- function(factors) {
  if (length(factors) == 1) factors[[1]] else list(kind = "product", scale = 1, parts = factors)
}
