#' Joint kernel calibration error
#'
#' The squared kernel calibration error with the kernel of [ckce()]: the distance of the
#' joint distributions of (outcome, prediction) and (draw from the prediction, prediction).
#'
#' @section Definition:
#' With \eqn{K} and \eqn{G} as in [ckce()], \eqn{JKCE_b = n^{-2}\sum_{ij} K_{ij}G_{ij}} (`"biased"`) and
#' \eqn{JKCE_u}, the mean over \eqn{i \ne j} (`"unbiased"`, which may be negative). It is [skce()] with
#' this kernel; for classes it shares the factors of [ckce()] here. Unlike the conditional error it
#' weighs predictions by how often they are made.
#'
#' @section Value:
#' A tibble: `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `n`, `type`, `bandwidth`,
#' `kernel`, `computation`, `rank`; for predictive distributions of numbers also `target_kernel` and `target_form`.
#' Standard errors and intervals are those of [skce()].
#'
#' @section Errors:
#' Those of [ckce()], and `calibrisk_error_rows` for the unbiased estimate of one observation.
#'
#' @inheritParams ckce
#' @param type `"unbiased"` or `"biased"`.
#' @param computation `"auto"`, `"dual"`, `"low_rank"` or `"rff"`; for predictive distributions of numbers `"auto"` is
#'   `"dual"`, which sums pairs of rows without a matrix.
#' @param draws For predictive distributions without a closed form: the number of draws of each.
#' @return See section Value.
#' @export
#' @examples
#' probs <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4))
#' jkce(probs, c(1, 2, 3))
jkce <- function(x, truth, ..., kernel = kernel_linear() + kernel_gaussian("median"),
                 target_kernel = NULL, type = c("unbiased", "biased"),
                 computation = c("auto", "dual", "low_rank", "rff"), group = NULL,
                 group_kernel = NULL, tolerance = 0.01, max_rank = NULL, n_features = 100,
                 frequencies = NULL, draws = 100, level = 0.95, .by = NULL, event_level = "first", na_rm = TRUE,
                 threads = NULL, weights = NULL, cluster = NULL, horizon = NULL) {
  choices <- check_ckce_choices(list(
    kernel = kernel, default_kernel = missing(kernel), target_kernel = target_kernel, group_kernel = group_kernel,
    type = check_choice(type, c("unbiased", "biased")), computation = computation, debias = "none", n_draws = 0,
    tolerance = tolerance, max_rank = max_rank, n_features = n_features, frequencies = frequencies, draws = draws,
    level = level
  ), setdiff(ckce_computations, "eigen"))
  threads <- resolve_threads(threads)
  call <- current_env()
  truth <- enquo(truth)
  dots <- column_dots(...)
  group <- enquo(group)
  design <- design_input(enquo(weights), enquo(cluster), horizon)
  conditional_frame(x, truth, dots, enquo(.by), group, design, "jkce", event_level, na_rm, list(
    classes = function(predictions, group) {
      inputs <- ckce_inputs(predictions, choices, group, threads, progress_callback("JKCE"), call)
      # na_rm = FALSE and something missing: no number, whatever is left
      jkce_columns(inputs, predictions$design, choices, if (predictions$na) "biased" else choices$type, call)
    },
    laws = function(laws, group) {
      if (choices$computation %in% c("auto", "dual")) return(jkce_law_row(laws, group, choices, threads, call))
      choices$draws_diagonal <- "different"
      inputs <- ckce_law_inputs(laws, choices, group, threads, progress_callback("JKCE"), call)
      jkce_columns(inputs, laws$design, choices, choices$type, call)
    }
  ), call)
}

jkce_columns <- function(inputs, design, choices, type, call) {
  n <- nrow(inputs$problem$residuals)
  excess <- inputs$problem$excess
  inputs$problem$excess <- NULL
  options <- inputs$options
  if (options$computation == "auto") options$computation <- if (n <= 5000) "dual" else "low_rank"
  # no ridge: the dual form stops at the Gram matrix
  ridge <- if (options$computation == "dual") numeric() else n^(-1 / 4)
  numbers <- ckce_numbers(inputs$problem, inputs$kernel, ridge, options, inputs$group, call)
  sums <- lapply(numbers[c("off_diagonal", "diagonal")], as.vector)
  if (!is.null(excess)) {
    own <- rowSums(inputs$problem$residuals^2)
    sums$diagonal <- sums$diagonal * ifelse(own > 0, 1 - excess / own, 1)
  }
  if (!is.null(inputs$problem$scale)) sums <- unscaled_sums(sums, design)
  if (type == "unbiased" && !is.null(design$cluster)) {
    sums <- across_clusters(sums, inputs, ridge, options, design, call)
  }
  target <- inputs$target
  c(
    squared_columns(list(pair_estimate(sums, type, design, call)), choices$level),
    list(n = n, type = choices$type, bandwidth = first_bandwidth(inputs$shown), kernel = format(inputs$shown),
         computation = numbers$computation, rank = as.integer(numbers$rank)),
    if (!is.null(target)) list(target_kernel = format(target$kernel), target_form = target$form)
  )
}

# sum_j w_j h_ij from sum_j w_i w_j h_ij, the weights scaled to the mean 1.
unscaled_sums <- function(sums, design) {
  mean <- sum(design$w) / design$n
  lapply(sums, function(rows) rows * mean^2 / design$w)
}

# Without the pairs within clusters, whose kernel is block diagonal: the sums of each cluster alone.
across_clusters <- function(sums, inputs, ridge, options, design, call) {
  if (!is.null(inputs$group)) {
    stop_input(c("Unbiased sums over pairs take either clusters or a kernel on groups.",
                 "i" = "Use {.code type = \"biased\"}, or {.arg .by}."), "cluster", arg = "cluster", call = call)
  }
  group <- list(type = "delta", code = design$cluster, labels = seq_len(max(design$cluster)))
  within <- ckce_numbers(inputs$problem, inputs$kernel, ridge, options, group, call)
  within <- list(off_diagonal = as.vector(within$off_diagonal))
  if (!is.null(inputs$problem$scale)) within <- unscaled_sums(within, design)
  sums$off_diagonal <- sums$off_diagonal - within$off_diagonal
  sums
}

jkce_law_row <- function(laws, group, choices, threads, call) {
  bound <- bind_ckce(laws, choices, threads, call)
  factors <- list(bound$prediction$spec)
  group <- ckce_group(group, choices$group_kernel, laws$rows, laws$n_input, threads, call)
  if (!is.null(group)) {
    on_groups <- if (group$type == "delta") group$kernel else kernel_one() + group$kernel
    factors <- c(factors, list(feature_spec(on_groups, group$features)))
  }
  sums <- design_sums(product_source(factors), bound$target$spec, choices$type, laws$design, threads)
  kernel <- bound$prediction$kernel
  c(squared_columns(list(pair_estimate(sums, choices$type, laws$design, call)), choices$level), list(
    n = laws$n, type = choices$type, bandwidth = first_bandwidth(kernel), kernel = format(kernel),
    computation = "dual", rank = laws$n, target_kernel = format(bound$target$kernel), target_form = bound$target$form
  ))
}
