# Methods hold choices, no data. A method answers three generics:
#   default_grid(method, notion, n)          its grid where the user gave NULL
#   fit_form(method, problem, point, context)  one hyperparameter -> a pair form (R/form.R)
#   tune_path(method, problem, fold, grid, context)
#                                            all folds and the whole grid -> risks; the default
#                                            loops over fit_form(), fast methods share work
#
# problem: see R/notion.R. fold: integer n, 0 = test row, 1..k = held-out fold of the row.
# grid: tibble with a numeric column `value` and, where kernels are a grid, a list column
# `kernel`. point: one row of it as a list. context: list(progress, cache); progress
# is NULL or a function of the fraction done; cache an environment that methods share.

#' @rdname extending
#' @export
new_method <- function(name, parameter, values, ..., class = name) {
  structure(
    list(name = name, parameter = parameter, values = values, ...),
    class = c(paste0("ce_method_", class), "ce_method")
  )
}

default_grid <- function(method, notion, n) UseMethod("default_grid")

#' @export
default_grid.default <- function(method, notion, n) NA_real_

#' @rdname extending
#' @export
fit_form <- function(method, problem, point, context) {
  check_method(method)
  check_problem(problem)
  check_point(point, method)
  check_context(context)
  UseMethod("fit_form")
}

# The same for what the package made itself, or has checked.
fit_checked <- function(method, problem, point, context) UseMethod("fit_form")

#' @export
fit_form.default <- function(method, problem, point, context) stop_no_generic("fit_form", method, "ce_method_")

#' @rdname extending
#' @export
tune_path <- function(method, problem, fold, grid, context) {
  check_method(method)
  check_problem(problem)
  check_fold(fold, nrow(problem$features))
  check_grid(grid)
  check_context(context)
  if (!has_own_path(method, problem)) return(tune_path.default(method, problem, fold, grid, context))
  UseMethod("tune_path")
}

# The same for what the package made itself, or has checked.
tune_checked <- function(method, problem, fold, grid, context) {
  if (!has_own_path(method, problem)) return(tune_path.default(method, problem, fold, grid, context))
  UseMethod("tune_path")
}

# Few of the shortcuts over folds and grids can handle weights and clusters; of ridges, those of explicit features.
has_own_path <- function(method, problem) {
  if (is_plain(problem$design)) return(TRUE)
  if (ncol(problem$features) != 1) return(FALSE)
  if (inherits(method, "ce_method_ridge")) {
    kernels <- if (is_kernel(method$kernel)) list(method$kernel) else method$kernel
    return(all(vapply(kernels, function(kernel) {
      is.numeric(kernel$bandwidth) && !is.null(cpp_scalar_features(kernel, problem$features))
    }, NA)))
  }
  clustered <- !is.null(problem$design$cluster)
  inherits(method, "ce_method_bins") && !(clustered && method$debias) ||
    inherits(method, "ce_method_kde") && !clustered
}

# The grid of a method as a tibble, one row per value to try.
method_grid <- function(method, notion, n) UseMethod("method_grid")

#' @export
method_grid.ce_method <- function(method, notion, n) {
  values <- method$values
  values <- if (is.function(values)) values(notion, n) else values %||% default_grid(method, notion, n)
  columns_frame(value = as.numeric(values))
}

new_context <- function(progress = NULL) list(progress = progress, cache = new.env(parent = emptyenv()))

# The value under a key of a cache, made where it is asked for first.
cached <- function(cache, key, value) {
  if (is.null(cache[[key]])) assign(key, value, envir = cache)
  cache[[key]]
}

is_method <- function(x) inherits(x, "ce_method")

check_method <- function(x, arg = "method") {
  stop_if(!is_method(x), "{.arg {arg}} must be a method.", "x" = "It is {describe(x)}.",
          "i" = "Functions make methods, such as {.fn method_bins}; see {.code ?ce_methods}.", class = "method",
          arg = arg, value = x)
  x
}

#' @export
format.ce_method <- function(x, ...) {
  choices <- x[setdiff(names(x), c("name", "parameter", "values"))]
  shown <- function(values) paste(vapply(values, format, "", digits = 3), collapse = ", ")
  values <- if (is.null(x$values)) "default grid" else if (length(x$values) > 4) {
    paste0(shown(x$values[1]), ", ..., ", shown(x$values[length(x$values)]))
  } else {
    shown(x$values)
  }
  args <- c(
    if (!is.null(x$parameter)) paste0(x$parameter, " = ", values),
    vapply(names(choices), function(a) paste0(a, " = ", format_choice(choices[[a]])), "")
  )
  paste0(method_words(x$name), if (length(args) > 0) paste0(" (", paste(args, collapse = ", "), ")"))
}

# Names in prints and figures of methods that results name by their constructors, also numbered ones (kkr_1). Other
# names are the user's.
method_words <- function(names) {
  words <- c(kkr = "kernel ridge", ukkr = "two-step kernel ridge", kde = "kernel density")
  number <- sub("^(kkr|ukkr|kde)(?=$|_[0-9]+$)", "", names, perl = TRUE)
  word <- unname(words[substr(names, 1, nchar(names) - nchar(number))])
  known <- !is.na(word)
  names[known] <- paste0(word, sub("_", " ", number))[known]
  names
}

#' @export
print.ce_method <- print_value("ce_method")

grid_point <- function(grid, v) {
  point <- list(value = grid$value[v])
  if ("kernel" %in% names(grid)) point$kernel <- grid[["kernel"]][[v]]
  point
}
