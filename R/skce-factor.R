# Sums over pairs of skce() from a factor of the kernel on predictions, that of ckce(), and within groups.

# design_sums() of a kernel that is 0 across groups, if they leave only the pairs within them.
exact_sums <- function(problem, type, design) {
  group <- problem$laws$group
  own <- group_free(problem)$prediction
  if (!identical(group$type, "delta") || own$kind != "features" || problem$target$kind != "finite") {
    return(design_sums(problem$prediction, problem$target, type, design))
  }
  sums <- sums_in_groups(group$id, function(at) {
    target <- target_rows(problem$target, at, design$n)
    row_sums(source_rows(own, at), target, type, design_rows(design, at))
  })
  with_clusters(sums, design, problem)
}

# Sums over pairs, by row, from those of each group's rows.
sums_in_groups <- function(id, sums_at) {
  rows <- split(seq_along(id), id)
  parts <- lapply(rows, sums_at)
  of_rows <- function(name) unlist(lapply(parts, `[[`, name), use.names = FALSE)[order(unlist(rows))]
  total <- function(name) sum(vapply(parts, function(part) part[[name]] %||% 0, 0))
  list(off_diagonal = of_rows("off_diagonal"), across = of_rows("across"), diagonal = of_rows("diagonal"),
       squares = total("squares"), known = total("known"), trace = total("trace"), rank = total("rank"))
}

# The factor is that of a CKCE problem with these kernels. choices: see read_computation().
low_rank_sums <- function(problem, choices, type, design) {
  bound <- list(prediction = list(spec = group_free(problem)$prediction),
                target = list(spec = problem$target, kernel = problem$target_kernel))
  choices <- c(choices, list(draws = problem$asked$draws, draws_diagonal = "different", debias = "none"))
  rows <- law_problem(problem$laws, bound, choices, FALSE)
  kernel <- if (is.null(rows$source)) bound$prediction$spec$kernel
  group <- problem$laws$group
  options <- asked_options(rows, kernel, choices, progress_callback("SKCE"))
  sums <- joint_sums(rows, kernel, options, group, type, design$cluster)
  if (!is.null(rows$excess)) {
    own <- rowSums(rows$residuals^2)
    sums$diagonal <- sums$diagonal * ifelse(own > 0, 1 - rows$excess / own, 1)
    sums$trace <- sum(sums$diagonal)
  }
  if (!is.null(rows$scale)) {
    # sum_j w_j h_ij from sum_j w_i w_j h_ij, the weights scaled to the mean 1
    unit <- (sum(design$w) / design$n)^2
    for (part in intersect(c("off_diagonal", "across", "diagonal"), names(sums))) {
      sums[[part]] <- sums[[part]] * unit / design$w
    }
    sums[c("squares", "known")] <- list(sums$squares * unit^2, sums$known * unit^2)
    sums$trace <- sums$trace * unit
  }
  with_clusters(sums, design, problem_pairs(rows, kernel, group))
}

# Weights are not in these.
problem_pairs <- function(problem, kernel, group) {
  residuals <- problem$residuals / (problem$scale %||% 1)
  target <- list(kind = "finite", residuals = residuals, right = residuals, probs = residuals, probs_right = residuals)
  source <- problem$source %||% feature_spec(kernel, problem$features)
  list(prediction = grouped_source(source, group), target = target)
}

# factor_sums() of a CKCE problem: the factor is the one that the conditional error uses at its default ridge. A kernel
# that is 0 across groups has one of its own in each.
joint_sums <- function(problem, kernel, options, group, type, cluster, ridge = nrow(problem$residuals)^(-1 / 4)) {
  n <- nrow(problem$residuals)
  if (identical(group$type, "delta")) {
    return(sums_in_groups(group$id, function(at) {
      joint_sums(take_rows(problem, at), kernel, options, NULL, type, cluster[at], ridge * n / length(at))
    }))
  }
  if (options$computation == "rff") check_random_features(problem, group)
  # weights are in the rows of the problem
  residuals <- problem$residuals
  factor_sums(options$computation, ckce_source(problem, kernel, group, options), residuals, residuals,
              problem_moments(problem), type, new_design(n, cluster = cluster), ridge, options$progress)
}
