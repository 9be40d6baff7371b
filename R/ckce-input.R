# From the arguments of ckce() and skce() to what ckce_numbers() takes.

check_ridge <- function(ridge, call = caller_env()) {
  if (is.null(ridge)) return(NULL)
  if (is.character(ridge) || inherits(ridge, "ce_choice")) return(as_choice(ridge, "ridge", call = call))
  check_numbers(ridge, "ridge", lower = 0, open = TRUE, call = call)
  as.numeric(ridge)
}

check_debias <- function(debias, call = caller_env()) {
  if (isFALSE(debias)) return("none")
  if (isTRUE(debias)) return("off_diagonal")
  check_choice(debias, c("none", "off_diagonal", "null_mean"), "debias", call)
}

# One set of rows: the problem, and its kernel, groups and options.
ckce_inputs <- function(predictions, choices, group, threads, progress, call) {
  check_feature_kernel(choices$kernel, "kernel", call)
  problem <- class_problem(predictions, choices$target_kernel %||% kernel_white(), call)
  kernel <- resolve_kernel(choices$kernel, problem$features, threads, call)
  group <- ckce_group(group, choices$group_kernel, predictions, threads, call)
  options <- asked_options(problem, kernel, choices, threads, progress, call)
  options$times <- choices$times
  if (choices$times > 0) options$seed <- draw_seed()
  list(problem = problem, kernel = kernel, shown = kernel, group = group, options = options)
}

asked_options <- function(problem, kernel, choices, threads, progress, call) {
  options <- ckce_options(choices$computation, tolerance = choices$tolerance, max_rank = choices$max_rank,
                          errors = TRUE, threads = threads, progress = progress)
  if (choices$computation != "rff") return(options)
  if (!is.null(problem$source)) check_random_features(problem, NULL, call)
  random_feature_options(options, problem, kernel, choices, call)
}

# errors: also what debiasing, standard error and interval take, several times the cost of the estimate.
ckce_options <- function(computation = "auto", targets = NULL, times = 0, seed = 0, tolerance = 0.01,
                         max_rank = NULL, terms = NULL, errors = FALSE, keep = FALSE, threads = resolve_threads(),
                         progress = NULL) {
  list(computation = computation, targets = targets, times = times, seed = seed, tolerance = tolerance,
       max_rank = max_rank, terms = terms, errors = errors, keep = keep, threads = threads, progress = progress)
}

random_feature_options <- function(options, problem, kernel, choices, call) {
  options$computation <- "rff"
  options$terms <- feature_terms(kernel, ncol(problem$features), choices$n_features, choices$frequencies, call)
  options
}
