#' A family of predictive distributions
#'
#' A family is one record of parameters and functions; every function of the package takes what it needs. The families
#' of the package ([pred]) are such records; yours has the same rights, from outside the package.
#'
#' @section Definition:
#' All functions are vectorised over observations and get the parameters by name, each a vector with a value per
#' observation (or a matrix with a row per observation): R's own `pgamma`, `qgamma`, `dgamma`, `rgamma` fit as they are
#' with `parameters = c("shape", "rate")`.
#' \describe{
#'   \item{`moments(<parameters>)`}{`list(mean = , variance = )`. `NULL`: by quadrature of the quantile function, or by
#'     summation over counts.}
#'   \item{`cdf(y, <parameters>)`, `quantile(u, <parameters>)`}{Distribution function and its inverse, for `u` in
#'     (0, 1).}
#'   \item{`draw(n, <parameters>)`}{A draw for each of `n` parameters. `NULL`: quantiles of uniform numbers.}
#'   \item{`density(y, <parameters>)`}{Density, or probability of a count. `NULL` where there is none. If it has an
#'     argument `log`, log scores are exact where the density is too small for a double.}
#'   \item{`crps(y, <parameters>)`}{CRPS. `NULL`: quadrature of the quantile loss over all levels (double exponential,
#'     65 nodes on either side of the outcome), or a sum over counts.}
#'   \item{`features(<parameters>)`}{A matrix with a row per observation: what plain kernels compare. `NULL`: mean and
#'     standard deviation; the root of both for counts.}
#' }
#' `support = "count"` says that outcomes are 0, 1, 2, ...: then [skce()] and [ckce()] have
#' finite sums over the counts for every kernel on outcomes, and the probability integral transform is that of counts,
#' without randomisation.
#'
#' `closed_forms` is a named list of functions of the parameters:
#' \describe{
#'   \item{`normal_components`, `laplace_components`}{`list(weight = , location = , scale = )`, n x K matrices: the
#'     distribution is this mixture of K normal or Laplace distributions. It gives the expectations of Gaussian, Laplace
#'     and Matérn kernels.}
#'   \item{`wasserstein`}{A matrix whose rows have the Wasserstein distance as Euclidean distance.}
#'   \item{`affinity`}{The n x n matrix \eqn{\int \sqrt{p_i p_j}} of the Hellinger distance.}
#' }
#' Without them, expectations of kernels are means over evenly spaced quantiles (the column `target_computation` of a
#' result then is `"quantiles (100)"`), and the Wasserstein distance is the root mean squared difference of 64 of them.
#' The Hellinger distance is then an error, except for counts.
#'
#' @section Errors:
#' `calibrisk_error_family` if a part of the record is invalid, and `calibrisk_error_distribution` for parameters out of
#' range or of different lengths.
#'
#' @param name The family's name, which results show.
#' @param parameters Names of the parameters; or a named list with the open range `c(lower, upper)` of each.
#' @param moments,cdf,quantile,draw,density,crps,features Functions; see Definition.
#' @param support `"real"`, `"positive"`, `"unit"` or `"count"`.
#' @param closed_forms A named list; see Definition.
#' @return A function of the parameters (one value per observation, recycled from length 1), which returns a vector of
#'   predictive distributions of class `ce_distribution`. The vector carries the family.
#' @seealso [pred] for the families of the package; the vignette *Extending* for an example.
#' @export
#' @examples
#' pred_gumbel <- new_family(
#'   "gumbel",
#'   parameters = list(location = c(-Inf, Inf), scale = c(0, Inf)),
#'   moments = function(location, scale) {
#'     list(mean = location - digamma(1) * scale, variance = pi^2 * scale^2 / 6)
#'   },
#'   cdf = function(y, location, scale) exp(-exp(-(y - location) / scale)),
#'   quantile = function(u, location, scale) location - scale * log(-log(u)),
#'   draw = NULL,
#'   density = NULL,
#'   support = "real"
#' )
#' p <- pred_gumbel(location = c(0, 1, 2), scale = 1)
#' p
#' skce(p, c(0.5, 1, 4))
#' ce_score(p, c(0.5, 1, 4), score = "crps")
new_family <- function(name, parameters, moments, cdf, quantile, draw, density, support, crps = NULL,
                       features = NULL, closed_forms = NULL) {
  stop_if(!rlang::is_string(name) || !nzchar(name), "The name of a family must be a text.",
          "x" = "It is {describe(name)}.", class = "family", arg = "name")
  ranges <- parameter_ranges(parameters)
  support <- check_choice(support, c("real", "positive", "unit", "count"))
  check_parts(list(cdf = cdf, quantile = quantile), names(ranges), optional = FALSE)
  check_parts(list(moments = moments, draw = draw, density = density, crps = crps, features = features),
              names(ranges), optional = TRUE)
  known <- c("normal_components", "laplace_components", "wasserstein", "affinity")
  unknown <- if (rlang::is_named2(closed_forms)) setdiff(names(closed_forms), known) else describe(closed_forms)
  stop_if(length(unknown) > 0, "{.arg closed_forms} must be a list with names among {.val {known}}.",
          "x" = "It has {.val {unknown}}.", class = "family", arg = "closed_forms")
  check_parts(closed_forms, names(ranges), optional = FALSE)
  stop_if(support == "count" && is.null(density), "A family of counts needs its probabilities.",
          "x" = "{.arg density} is {.val NULL}.", class = "family", arg = "density")
  record <- family_record(name, ranges, moments, cdf, quantile, draw, density, support, crps, features, closed_forms)
  wanted <- names(ranges)
  values <- stats::setNames(lapply(wanted, as.symbol), wanted)
  rlang::new_function(rlang::pairlist2(!!!lapply(values, function(value) rlang::missing_arg())),
                      rlang::expr(make_distribution(record, list(!!!values))))
}

# Fields of the right range and length. Families of the package are found by their names; others go with their vectors.
# The limits of a range are values of the families that are `closed`.
make_distribution <- function(family, values) {
  values <- Map(function(value, range, name) {
    value <- check_parameter(value, name, range[1], range[2], !isTRUE(family$closed))
    if (is.matrix(value) && ncol(value) > 1) value else as.vector(value)
  }, values, family$ranges, names(values))
  sizes <- vapply(values, vctrs::vec_size, 1L)
  stop_if(any(sizes != max(sizes) & sizes != 1L), "Parameters must have the same length, or length 1.",
          "x" = "{.arg {names(values)}} have {sizes} observations.",
          "i" = "Give a parameter once for all predictions, or once for each of them.", class = "distribution")
  values <- lapply(values, vctrs::vec_recycle, max(sizes))
  own <- !identical(families[[family$name]], family)
  new_distribution(values, family$name, record = if (own) family)
}

parameter_ranges <- function(parameters) {
  if (is.character(parameters)) parameters <- stats::setNames(rep(list(c(-Inf, Inf)), length(parameters)), parameters)
  ok <- is.list(parameters) && length(parameters) > 0 && rlang::is_named(parameters) &&
    !anyDuplicated(names(parameters)) && all(vapply(parameters, function(r) is.numeric(r) && length(r) == 2, NA))
  stop_if(!ok, "{.arg parameters} must be names, or a named list of ranges {.code c(lower, upper)}.",
          "x" = "It is {describe(parameters)}.", class = "family", arg = "parameters")
  parameters
}

check_parts <- function(parts, parameters, optional) {
  for (part in names(parts)) {
    fn <- parts[[part]]
    if (optional && is.null(fn)) next
    stop_if(!is.function(fn), "{.arg {part}} must be a function{if (optional) ', or NULL'}.",
            "x" = "It is {describe(fn)}.", class = "family", arg = part)
    taken <- names(formals(args(fn)))
    missing <- if ("..." %in% taken) character() else setdiff(parameters, taken)
    stop_if(length(missing) > 0, "{.arg {part}} must take the parameters {.arg {parameters}} by name.",
            "x" = "It has no argument {.arg {missing}}.", class = "family", arg = part)
  }
}

record_of <- function(law) attr(law, "record") %||% families[[family_of(law)]]
closed_form_of <- function(law, what) record_of(law)$closed_forms[[what]]
is_count <- function(law) identical(record_of(law)$support, "count")

parameters_of <- function(law) {
  fields <- unclass(law)
  attributes(fields) <- list(names = names(fields))
  fields
}

call_with <- function(fn, law, ...) do.call(fn, c(list(...), parameters_of(law)))

# `size` draws of every prediction: the parameters as often.
draw_rows <- function(fn, law, size) {
  n <- length(law)
  parameters <- parameters_of(law)
  if (size > 1) parameters <- lapply(parameters, vctrs::vec_slice, rep(seq_len(n), size))
  matrix(do.call(fn, c(list(n * size), parameters)), n)
}

moment_matrices <- function(moments) list(mean = as.matrix(moments$mean), cov = as.matrix(moments$variance))

# Mean (n x d) and covariance (n x d^2) of every prediction.
law_moments <- function(law) {
  record <- record_of(law)
  if (!is.null(record$moments)) return(record$moments(law))
  if (is.null(record$quantile)) stop_family(law, "The mean and variance")
  moments_by_quadrature(law)
}

# Draws of every prediction: an n x S matrix, or n x S x d array.
draw_law <- function(law, size, roots = law_roots(law)) record_of(law)$draw(law, size, roots)

law_roots <- function(law) {
  prepare <- if (!is.null(law)) record_of(law)$prepare
  if (!is.null(prepare)) prepare(law)
}

law_crps <- function(law, y) {
  if (dimension_of(law) > 1) stop_family(law, "The CRPS of several outcomes")
  record <- record_of(law)
  if (!is.null(record$crps)) return(record$crps(law, y))
  if (is.null(record$quantile)) stop_family(law, "The CRPS")
  if (is_count(law)) crps_by_counts(law, y) else crps_by_quantiles(law, y)
}

# Parameters of each prediction as a row: what plain kernels compare.
parameter_features <- function(laws) {
  if (is.null(laws$law)) return(laws$probs)
  record <- record_of(laws$law)
  if (!is.null(record$features)) return(record$features(laws$law))
  moments <- law_moments(laws$law)
  features <- cbind(moments$mean, sqrt(moments$cov))
  if (is_count(laws$law)) sqrt(features) else features
}

default_prediction_kernel <- function(laws) {
  if (is.null(laws$law)) return(kernel_tv("median"))
  kernel <- record_of(laws$law)$kernel
  if (!is.null(kernel)) return(kernel(laws$law))
  if (is_count(laws$law)) kernel_laplace("median") else kernel_wasserstein("median")
}

default_target_kernel <- function(laws) {
  if (is.null(laws$law) || is_count(laws$law)) kernel_white() else kernel_gaussian("median")
}

row_text <- function(v, number) apply(matrix(number(v), nrow(v)), 1, paste, collapse = ", ")

new_pit <- function(low, high, jumps = NULL, members = NULL, levels = NULL, whole = FALSE) {
  list(low = low, high = high, jumps = jumps, members = members, levels = levels, whole = whole)
}

# Jumps as a table: those of row i are start[i] + 1 to start[i + 1].
jump_table <- function(count, low, high) list(start = c(0L, cumsum(as.integer(count))), low = low, high = high)

# Jumps at the values that are points of their row: `level(row, value, open)`, the distribution function.
point_jumps <- function(points, values, level) {
  at <- which(points, arr.ind = TRUE)
  row <- at[, 1]
  value <- values[at]
  order <- order(row, value)
  order <- order[!duplicated(cbind(row, value)[order, , drop = FALSE])]
  row <- row[order]
  value <- value[order]
  jump_table(tabulate(row, nrow(points)), level(row, value, TRUE), level(row, value, FALSE))
}

# Of a mixture of normal or Laplace distributions the weights, locations and scales, n x K each, and which of the two
# it is of; NULL of others.
components_of <- function(law) {
  for (of in c("normal", "laplace")) {
    known <- closed_form_of(law, paste0(of, "_components"))
    if (is.null(known)) next
    values <- known(law)[c("weight", "location", "scale")]
    return(c(lapply(values, function(v) unname(as.matrix(v))), laplace = of == "laplace"))
  }
}

stop_family <- function(law, what) {
  stop_input("{what} is not available for this family of predictions.", "x" = "The family is {.val {family_of(law)}}.",
             "i" = if (family_of(law) != "draws") "Give draws instead: {.fn pred_draws}.", class = "distribution",
             arg = "prediction")
}
