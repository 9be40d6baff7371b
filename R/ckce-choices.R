# The computations of ckce() and skce(), as values.

#' Computations as values
#'
#' How [ckce()] and [skce()] compute, with the options of each way; the section Computation of [ckce()] says what they
#' do and what they cost. The name of a computation is shorthand for the computation with its defaults: `computation =
#' "low_rank"` is `computation = computation_low_rank()`. The exact ones, `"dual"` and `"eigen"`, have no options.
#'
#' @param tolerance Relative error of the estimate that `certified` asks for, and at which the low-rank computation
#'   stops.
#' @param max_rank Largest rank of the low-rank computation; `NULL` for `min(n, 1000, 1e8 / n)`, at least 50.
#' @param n_features Number of random frequencies.
#' @param frequencies A matrix with one frequency per row to use instead of random ones.
#' @return A `ce_choice`, which holds options and no data.
#' @section Errors:
#' `calibrisk_error_argument` where an option is out of range.
#' @name ce_computations
#' @examples
#' probs <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4),
#'                c(.5, .25, .25), c(.05, .15, .8), c(.2, .7, .1))
#' ckce(probs, c(1, 2, 3, 2, 3, 1), computation = computation_low_rank(max_rank = 3))
NULL

#' @rdname ce_computations
#' @export
computation_auto <- function(tolerance = 0.01, max_rank = NULL, n_features = 100, frequencies = NULL) {
  check_number(tolerance, lower = 0, open = TRUE)
  check_count(max_rank, null = TRUE)
  check_count(n_features)
  new_choice("computation", "auto", tolerance = tolerance, max_rank = max_rank, n_features = n_features,
             frequencies = frequencies)
}

#' @rdname ce_computations
#' @export
computation_low_rank <- function(tolerance = 0.01, max_rank = NULL) {
  check_number(tolerance, lower = 0, open = TRUE)
  new_choice("computation", "low_rank", tolerance = tolerance, max_rank = check_count(max_rank, null = TRUE))
}

#' @rdname ce_computations
#' @export
computation_rff <- function(n_features = 100, frequencies = NULL) {
  new_choice("computation", "rff", n_features = check_count(n_features), frequencies = frequencies)
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
  choices[c("tolerance", "max_rank", "n_features", "frequencies")] <-
    list(computation$tolerance %||% 0.01, computation$max_rank, computation$n_features, computation$frequencies)
  choices
}
