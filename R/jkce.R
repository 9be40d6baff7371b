#' Joint kernel calibration error
#'
#' The squared kernel calibration error with the kernel of [ckce()]: the distance of the
#' joint distributions of (outcome, prediction) and (draw from the prediction, prediction).
#'
#' @section Definition:
#' With \eqn{K} and \eqn{G} as in [ckce()], \eqn{JKCE_b = n^{-2}\sum_{ij} K_{ij}G_{ij}} (`"biased"`) and
#' \eqn{JKCE_u}, the mean over \eqn{i \ne j} (`"unbiased"`, which may be negative). It is [skce()] with
#' this kernel; here it shares the factors of [ckce()]. Unlike the conditional error it
#' weighs predictions by how often they are made.
#'
#' @inheritParams ckce
#' @param type `"unbiased"` or `"biased"`.
#' @return A tibble: `.metric`, `.estimator`, `.estimate`, `n`, `bandwidth`, `kernel`,
#'   `computation`, `rank`. The unbiased estimate of one observation is `NA`.
#' @inheritSection ckce Errors
#' @export
#' @examples
#' probs <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4))
#' jkce(probs, c(1, 2, 3))
jkce <- function(x, truth, ..., kernel = kernel_linear() + kernel_gaussian("median"),
                 target_kernel = kernel_white(), type = c("unbiased", "biased"),
                 computation = c("auto", "dual", "low_rank", "rff"), group = NULL,
                 group_kernel = NULL, tolerance = 0.01, max_rank = NULL, n_features = 100,
                 frequencies = NULL, .by = NULL, event_level = "first", na_rm = TRUE,
                 threads = NULL) {
  check_kernel(kernel)
  check_kernel(target_kernel)
  type <- check_choice(type, c("unbiased", "biased"))
  computation <- check_choice(computation, setdiff(ckce_computations, "eigen"))
  threads <- resolve_threads(threads)
  call <- current_env()
  group <- enquo(group)
  conditional_frame(
    x, enquo(truth), enquos(...), enquo(.by), group, "jkce", event_level, na_rm,
    function(predictions, group, n_input) {
      problem <- class_problem(predictions, target_kernel)
      n <- nrow(problem$features)
      kernel <- resolve_kernel(kernel, problem$features, threads)
      group <- ckce_group(group, group_kernel, predictions$rows, n_input, threads, call)
      if (computation == "auto") computation <- if (n <= 5000) "dual" else "low_rank"
      options <- ckce_options(computation, tolerance = tolerance, max_rank = max_rank,
                              threads = threads, progress = progress_callback("JKCE"))
      if (computation == "rff") {
        options$terms <- feature_terms(kernel, ncol(problem$features), n_features, frequencies, call)
      }
      # no ridge: the dual form stops at the Gram matrix
      ridge <- if (computation == "dual") numeric() else n^(-1 / 4)
      numbers <- ckce_numbers(problem, kernel, ridge, options, group)
      estimate <- numbers[[paste0("jkce_", type)]]
      list(
        .estimate = if (is.nan(estimate)) NA_real_ else estimate, n = n,
        bandwidth = first_bandwidth(kernel), kernel = format(kernel),
        computation = numbers$computation, rank = as.integer(numbers$rank)
      )
    },
    call
  )
}
