# The computations of ckce() and skce(), as values.

#' Computation of a kernel calibration error
#'
#' How [ckce()] and [skce()] compute, with the options of each way; the section Computation of [ckce()] says what they
#' do and what they cost. The name alone takes the defaults: `computation = "low_rank"` is
#' `computation = computation("low_rank")`.
#'
#' @param name `"auto"`, `"low_rank"` or `"rff"`, or one of the exact ones without options, `"dual"` and `"eigen"`.
#' @param tolerance Relative error of the estimate that `certified` asks for, and at which the low-rank computation
#'   stops.
#' @param max_rank Largest rank of the low-rank computation; `NULL` for `min(n, 1000, 1e8 / n)`, at least 50.
#' @param n_features Number of random frequencies of `"rff"`.
#' @param frequencies A matrix with one frequency per row to use instead of random ones.
#' @return A `ce_choice`, which holds options and no data.
#' @section Errors:
#' `calibrisk_error_argument` where an option is out of range.
#' @export
#' @examples
#' probs <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4),
#'                c(.5, .25, .25), c(.05, .15, .8), c(.2, .7, .1))
#' ckce(probs, c(1, 2, 3, 2, 3, 1), computation = computation("low_rank", max_rank = 3))
computation <- function(name = "auto", tolerance = 0.01, max_rank = NULL, n_features = 100, frequencies = NULL) {
  check_choice_name(name, "computation", "computation", character())
  check_number(tolerance, lower = 0, open = TRUE)
  check_count(max_rank, null = TRUE)
  check_count(n_features)
  new_choice("computation", name, tolerance = tolerance, max_rank = max_rank, n_features = n_features,
             frequencies = frequencies)
}

# choices with the name of the computation and its options; `lacks`: a computation that the function does not have.
read_computation <- function(choices, lacks = character()) {
  computation <- as_choice(choices$computation, "computation", "computation")
  if (computation$name %in% lacks) {
    others <- setdiff(choice_names("computation"), lacks)
    stop_input("{.arg computation} must be one of {.or {.val {others}}} here.",
               "x" = "It is {.val {computation$name}}.", arg = "computation", value = computation$name)
  }
  choices$computation <- computation$name
  options <- c("tolerance", "max_rank", "n_features", "frequencies")
  choices[options] <- unclass(computation)[options]
  choices
}
