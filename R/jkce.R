#' Joint kernel calibration error
#'
#' The squared kernel calibration error with the kernel of [ckce()]: the distance of the
#' joint distributions of (outcome, prediction) and (draw from the prediction, prediction).
#'
#' @section Definition:
#' With \eqn{K} and \eqn{G} as in [ckce()], \eqn{JKCE_b = n^{-2}\sum_{ij} K_{ij}G_{ij}} (`"biased"`) and
#' \eqn{JKCE_u}, the mean over \eqn{i \ne j} (`"unbiased"`, which may be negative). It is [skce()] with
#' this kernel; where it is computed from a factor (`"low_rank"`, `"rff"`), that is the factor of [ckce()]. Unlike the
#' conditional error it weighs predictions by how often they are made.
#'
#' @section Errors:
#' Those of [ckce()], and `calibrisk_error_rows` for the unbiased estimate of one observation.
#'
#' @inheritParams ckce
#' @param type `"unbiased"` or `"biased"`.
#' @param computation `"auto"`, `"dual"`, `"low_rank"` or `"rff"`, by name or as a value ([ce_computations]). `"dual"`
#'   sums all pairs of rows, without a matrix; `"low_rank"` and `"rff"` take a factor of the kernel, whose rank or
#'   number of features is the column `rank`. `"auto"` is `"dual"` up to 5,000 predictions of classes, then
#'   `"low_rank"`; for predictive distributions of numbers it is `"dual"`.
#' @param target_kernel Kernel on the outcomes, as in [skce()].
#' @param draws For predictive distributions without a closed form: the number of draws of each.
#' @return A tibble: `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `n`, `type`,
#'   `bandwidth`,
#' `kernel`, `computation`, `rank`; for predictive distributions of numbers also `target_kernel` and `target_form`.
#' Standard errors and intervals are those of [skce()].
#' @export
#' @examples
#' probs <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4))
#' jkce(probs, c(1, 2, 3))
jkce <- function(x, truth, ..., kernel = kernel_linear() + kernel_gaussian("median"),
                 target_kernel = NULL, type = c("unbiased", "biased"),
                 computation = "auto", group = NULL, group_kernel = NULL, draws = 100, level = 0.95, .by = NULL,
                 event_level = "first", na_rm = TRUE, threads = NULL, weights = NULL, cluster = NULL,
                 horizon = NULL) {
  choices <- check_ckce_choices(list(
    kernel = kernel, default_kernel = missing(kernel), target_kernel = target_kernel, group_kernel = group_kernel,
    type = check_choice(type, c("unbiased", "biased")), computation = computation, debias = "none", n_draws = 0,
    draws = draws, pooled = TRUE, level = level
  ), "eigen")
  threads <- resolve_threads(threads)
  call <- current_env()
  truth <- enquo(truth)
  dots <- column_dots(...)
  group <- enquo(group)
  design <- design_input(enquo(weights), enquo(cluster), horizon)
  conditional_frame(x, truth, dots, enquo(.by), group, design, "jkce", event_level, na_rm, list(
    classes = function(predictions, group) {
      # na_rm = FALSE and a missing value: the result is NA
      if (predictions$na) choices$type <- "biased"
      if (sums_all_pairs(choices, n_obs(predictions) <= 5000)) {
        bound <- bind_classes(predictions, choices, threads, call)
        return(pair_columns(bound, predictions, group, choices, threads, call))
      }
      inputs <- ckce_inputs(predictions, choices, group, threads, progress_callback("JKCE"), call)
      factor_columns(inputs, predictions$design, choices, call)
    },
    laws = function(laws, group) {
      if (sums_all_pairs(choices, TRUE)) {
        return(pair_columns(bind_ckce(laws, choices, threads, call), laws, group, choices, threads, call))
      }
      choices$draws_diagonal <- "different"
      inputs <- ckce_law_inputs(laws, choices, group, threads, progress_callback("JKCE"), call)
      factor_columns(inputs, laws$design, choices, call)
    }
  ), call)
}

sums_all_pairs <- function(choices, by_default) {
  choices$computation == "dual" || choices$computation == "auto" && by_default
}

# As bind_ckce(), of classes.
bind_classes <- function(predictions, choices, threads, call) {
  check_feature_kernel(choices$kernel, "kernel", call)
  probs <- simplex_probs(predictions)
  kernel <- resolve_kernel(choices$kernel, probs, threads, call)
  outcomes <- list(probs = probs, y = matrix(as.numeric(simplex_truth(predictions))))
  list(prediction = list(spec = feature_spec(kernel, probs), kernel = kernel),
       target = bind_target(choices$target_kernel %||% kernel_white(), outcomes, choices$draws, threads, call))
}

# From the sums over all pairs of rows; `data`: predictions or distributions.
pair_columns <- function(bound, data, group, choices, threads, call) {
  group <- ckce_group(group, choices$group_kernel, data$rows, data$n_input, threads, call)
  sums <- exact_sums(bound$prediction$spec, bound$target$spec, group, choices$type, data$design, threads)
  sums$rank <- data$design$n
  jkce_columns(sums, "dual", bound$prediction$kernel, if (!is.null(data$law)) bound$target, data$design, choices, call)
}

# design_sums() with a kernel on groups. One that is 0 across groups leaves the pairs within them.
exact_sums <- function(prediction, target, group, type, design, threads) {
  whole <- grouped_source(prediction, group)
  sums <- if (identical(group$type, "delta") && prediction$form == "features" && target$form == "finite") {
    sums_in_groups(group$code, function(at) {
      row_sums(source_rows(prediction, at), target_rows(target, at, design$n), type, design_rows(design, at), threads)
    })
  } else {
    row_sums(whole, target, type, design, threads)
  }
  with_clusters(sums, design, source_pairs(whole, target, design$n, threads))
}

grouped_source <- function(prediction, group) {
  if (is.null(group)) return(prediction)
  on_groups <- if (group$type == "delta") group$kernel else kernel_one() + group$kernel
  product_source(list(prediction, feature_spec(on_groups, group$features)))
}

# Sums over pairs, by row, from those of each group's rows.
sums_in_groups <- function(code, sums_at) {
  rows <- split(seq_along(code), code)
  parts <- lapply(rows, sums_at)
  of_rows <- function(name) unlist(lapply(parts, `[[`, name), use.names = FALSE)[order(unlist(rows))]
  total <- function(name) sum(vapply(parts, function(part) part[[name]] %||% 0, 0))
  list(off_diagonal = of_rows("off_diagonal"), across = of_rows("across"), diagonal = of_rows("diagonal"),
       squares = total("squares"), rank = total("rank"))
}

# From a factor of the kernel.
factor_columns <- function(inputs, design, choices, call) {
  problem <- inputs$problem
  options <- inputs$options
  if (options$computation == "auto") options$computation <- "low_rank"
  sums <- joint_sums(problem, inputs$kernel, options, inputs$group, choices$type, design$cluster, call)
  if (!is.null(problem$excess)) {
    own <- rowSums(problem$residuals^2)
    sums$diagonal <- sums$diagonal * ifelse(own > 0, 1 - problem$excess / own, 1)
  }
  if (!is.null(problem$scale)) {
    # sum_j w_j h_ij from sum_j w_i w_j h_ij, the weights scaled to the mean 1
    unit <- (sum(design$w) / design$n)^2
    for (part in intersect(c("off_diagonal", "across", "diagonal"), names(sums))) {
      sums[[part]] <- sums[[part]] * unit / design$w
    }
    sums$squares <- sums$squares * unit^2
  }
  sums <- with_clusters(sums, design, problem_pairs(problem, inputs$kernel, inputs$group, options$threads))
  jkce_columns(sums, options$computation, inputs$shown, inputs$target, design, choices, call)
}

# Weights are not in these.
problem_pairs <- function(problem, kernel, group, threads) {
  residuals <- problem$residuals / (problem$scale %||% 1)
  target <- list(form = "finite", residuals = residuals, right = residuals, probs = residuals, probs_right = residuals)
  source <- problem$source %||% feature_spec(kernel, problem$features)
  source_pairs(grouped_source(source, group), target, nrow(residuals), threads)
}

jkce_columns <- function(sums, computation, kernel, target, design, choices, call) {
  estimate <- pair_estimate(sums, choices$type, design, call)
  c(
    squared_columns(list(estimate), choices$level),
    list(n = design$n, type = choices$type, bandwidth = first_bandwidth(kernel), kernel = format(kernel),
         computation = computation, rank = as.integer(sums$rank)),
    if (!is.null(target)) list(target_kernel = format(target$kernel), target_form = target$form)
  )
}

# factor_sums() of a CKCE problem: the factor is the one that the conditional error uses at its default ridge. A kernel
# that is 0 across groups has one of its own in each.
joint_sums <- function(problem, kernel, options, group, type, cluster, call, ridge = nrow(problem$residuals)^(-1 / 4)) {
  n <- nrow(problem$residuals)
  if (identical(group$type, "delta")) {
    return(sums_in_groups(group$code, function(at) {
      joint_sums(take_rows(problem, at), kernel, options, NULL, type, cluster[at], call, ridge * n / length(at))
    }))
  }
  if (options$computation == "rff") check_random_features(problem, group, call)
  # weights are in the rows of the problem
  factor_sums(options$computation, ckce_source(problem, kernel, group, options), problem$residuals, problem$residuals,
              type, new_design(n, cluster = cluster), options$threads, ridge, options$progress)
}
