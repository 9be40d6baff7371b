# From the arguments of ckce() and skce() to what ckce_numbers() takes.

check_ridge <- function(ridge) {
  if (is.null(ridge)) return(NULL)
  if (is.character(ridge) || inherits(ridge, "ce_choice")) return(as_choice(ridge, "ridge"))
  check_numbers(ridge, "ridge", lower = 0, open = TRUE)
  as.numeric(ridge)
}

check_debias <- function(debias) {
  if (isFALSE(debias)) return("none")
  if (isTRUE(debias)) return("off_diagonal")
  check_choice(debias, c("none", "off_diagonal", "null_mean"), "debias")
}

asked_options <- function(problem, kernel, choices, progress) {
  options <- ckce_options(choices$computation, tolerance = choices$tolerance, max_rank = choices$max_rank,
                          errors = TRUE, progress = progress)
  if (choices$computation != "rff") return(options)
  if (!is.null(problem$source)) check_random_features(problem, NULL)
  random_feature_options(options, problem, kernel, choices)
}

# errors: also what debiasing, standard error and interval take, several times the cost of the estimate.
ckce_options <- function(computation = "auto", targets = NULL, times = 0, seed = 0, tolerance = 0.01,
                         max_rank = NULL, terms = NULL, errors = FALSE, keep = FALSE, progress = NULL) {
  list(computation = computation, targets = targets, times = times, seed = seed, tolerance = tolerance,
       max_rank = max_rank, terms = terms, errors = errors, keep = keep, progress = progress)
}

random_feature_options <- function(options, problem, kernel, choices) {
  options$computation <- "rff"
  options$terms <- feature_terms(kernel, ncol(problem$features), choices$n_features, choices$frequencies)
  options
}
