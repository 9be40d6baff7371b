#' Predictive distributions
#'
#' Vectors whose elements are distributions: what a probabilistic model predicts for each observation. They can be
#' columns of data frames, subset and combined, and go wherever [skce()] and [ce_test()] take predictions.
#' Vectors of the package distributional, `rvar`s and draws matrices of the package posterior are accepted there too.
#'
#' @section Definition:
#' \describe{
#'   \item{`pred_normal(mean, sd)`}{Normal; `sd = 0` is the point mass.}
#'   \item{`pred_mvnormal(mean, cov)`}{Multivariate normal, `mean` an n x d matrix; `cov` a vector of n variances
#'     (isotropic), an n x d matrix of variances (independent coordinates), a d x d matrix (the same for all) or a d
#'     x d x n array. A symmetric matrix is a covariance where n = d.}
#'   \item{`pred_laplace(location, scale)`}{Density \eqn{\exp(-|y - location|/scale) / (2\,scale)}.}
#'   \item{`pred_t(df, location, scale)`}{`location + scale` times Student's t with `df` degrees of freedom. The mean
#'     exists for `df > 1`, the variance is finite for `df > 2`; the CRPS is finite always.}
#'   \item{`pred_gamma(shape, rate)`, `pred_lognormal(meanlog, sdlog)`}{Positive outcomes.}
#'   \item{`pred_beta(shape1, shape2)`}{Outcomes between 0 and 1.}
#'   \item{`pred_poisson(rate)`, `pred_bernoulli(prob)`}{Counts and 0/1 outcomes.}
#'   \item{`pred_negbin(mean, size)`}{Counts with variance \eqn{mean + mean^2 / size}.}
#'   \item{`pred_categorical(probs)`}{An n x K matrix of class probabilities.}
#'   \item{`pred_mixture(..., weights)`}{The mixture, observation by observation, of vectors of the same family and
#'     length (an ensemble has equal weights, the default). `weights` is a vector with a weight per component or a
#'     matrix n x components.}
#'   \item{`pred_draws(draws)`}{Draws from any distribution: an n x S matrix, or an n x S x d array for outcomes in d
#'     dimensions. Expectations are means over the draws.}
#'   \item{`pred_quantiles(values, levels)`}{Quantile forecasts: an n x K matrix of quantiles at K levels (two or more,
#'     in any order), or in long format with `unit`. They define the distribution whose quantile function is linear
#'     between the levels \eqn{\alpha_1 <
#'     ... < \alpha_K}. Below the lowest quantile \eqn{q_1} the distribution function is \eqn{\alpha_1 \exp((y - q_1) /
#'     s)} with \eqn{s = \alpha_1 (q_2 - q_1) / (\alpha_2 - \alpha_1)}, an exponential tail with the density of the
#'     segment next to it, and likewise above the highest. Equal quantiles are a point with the probability between
#'     their levels. The CRPS is the exact one of this distribution, \eqn{\int (F(x) - 1(x \ge y))^2 dx}, not the
#'     weighted sum of K pinball losses that approximates it.}
#' }
#' Where a closed form is missing (moments, CRPS, expectations of kernels), see [new_family()], which also makes
#' families of your own.
#'
#' @section Errors:
#' Errors have the class `calibrisk_error_distribution`. They are raised for negative or missing scales, covariances
#' that are not positive semidefinite, weights off the simplex, missing draws, fewer than two draws, quantiles that
#' cross and parameters of different lengths. The CRPS of `pred_gamma()`, `pred_negbin()`, `pred_t()`,
#' `pred_lognormal()` and `pred_beta()` are the closed forms of Jordan, Krueger & Lerch (2019).
#'
#' @param mean,sd,cov,location,scale,rate,prob,probs,df,shape,size,meanlog,sdlog,shape1,shape2 Parameters, one per
#'   observation (recycled from length 1).
#' @param ... Of `pred_mixture()`: vectors of predictive distributions, one per component. Elsewhere empty: any other
#'   argument is an error.
#' @param weights Component weights.
#' @param draws Draws of each prediction.
#' @param values,levels Quantiles, a row per prediction and a column per level; their levels between 0 and 1.
#' @param unit For long format: a vector or data frame with the forecast of each value. The result has an element for
#'   each row of `unique(unit)`.
#' @return A vector of class `ce_distribution`.
#' @references Jordan, Krueger and Lerch (2019) Evaluating probabilistic forecasts with scoringRules. Journal of
#'   Statistical Software 90(12). \doi{10.18637/jss.v090.i12}.
#' @concept forecast
#' @concept ensemble
#' @concept predictive distribution
#' @concept quantile forecast
#' @concept probabilistic forecast
#' @name pred
#' @examples
#' p <- pred_normal(mean = c(0, 1, 2), sd = 1)
#' p[2:3]
#' pred_mixture(pred_normal(0, 1), pred_normal(3, 0.5), weights = c(0.3, 0.7))
#' demand <- pred_quantiles(rbind(c(2, 5, 9), c(1, 4, 4)), levels = c(0.1, 0.5, 0.9))
#' ce_score(demand, c(6, 4), score = "crps")
#' pred_quantiles(c(2, 5, 9, 1, 4, 4), rep(c(0.1, 0.5, 0.9), 2), unit = rep(1:2, each = 3))
NULL

# The records of the package's families by name (R/law-families.R).
families <- new.env(parent = emptyenv())

# The record of a family, behind new_family() and the families of the package. Its functions take a vector of
# distributions (`law`), since families of several dimensions, draws and mixtures have more than named parameters.
#   prepare(law)           what draws need, computed once where outcomes are redrawn often
#   window(law, tail)      list(from, to) of counts that leave out `tail` on either side
#   pit(law, y), kernel(law), format(law, number) or its `label` alone, probs(law) of classes, mixed(law) in mixtures,
#   temper: temperature scaling; reads: families of the package distributional, by name
new_record <- function(name, ...) structure(list(name = name, ...), class = "ce_family")

# The record of functions that take the parameters by name; `law_forms`: closed forms that take distributions.
family_record <- function(name, ranges, moments, cdf, quantile, draw, density, support, crps = NULL,
                          features = NULL, closed_forms = NULL, law_forms = NULL, ...) {
  new_record(
    name, ranges = ranges, support = support, ...,
    moments = if (!is.null(moments)) function(law) moment_matrices(call_with(moments, law)),
    cdf = function(law, y) call_with(cdf, law, y),
    quantile = function(law, u) call_with(quantile, law, u),
    draw = if (is.null(draw)) draw_by_quantile else function(law, size, roots) draw_rows(draw, law, size),
    density = if (!is.null(density) && "log" %in% names(formals(args(density)))) {
      function(law, y, log = FALSE) call_with(density, law, y, log = log)
    } else if (!is.null(density)) {
      function(law, y) call_with(density, law, y)
    },
    crps = if (!is.null(crps)) function(law, y) call_with(crps, law, y),
    features = if (!is.null(features)) function(law) as.matrix(call_with(features, law)),
    closed_forms = c(lapply(closed_forms, function(fn) function(law) call_with(fn, law)), law_forms)
  )
}

# Closed forms of the package's families, by their parameters in order: src/families.cpp.
core_crps <- function(family) function(y, ...) cpp_family_crps(family, y, list(...))

core_affinity <- function(family) function(...) {
  stop_if(any(..2 == 0), "The Hellinger distance needs positive scales.", "x" = "Some predictions are point masses.",
          class = "kernel", arg = "kernel")
  cpp_family_affinity(family, list(...))
}

# `fields` are vectors or matrices with one row per observation; `family` names what they mean, `record` is the family
# itself where it is not one of the package; `dimension` is d, `components` the number of mixture components.
new_distribution <- function(fields, family, dimension = 1L, components = NULL, record = NULL) {
  fields <- lapply(fields, function(f) {
    storage.mode(f) <- "double"
    if (is.matrix(f)) dimnames(f) <- NULL else names(f) <- NULL
    f
  })
  vctrs::new_rcrd(fields, family = family, dimension = as.integer(dimension),
                  components = components, record = record, class = "ce_distribution")
}

is_distribution <- function(x) inherits(x, "ce_distribution")
family_of <- function(x) attr(x, "family")
dimension_of <- function(x) attr(x, "dimension")
par_of <- function(x, name) {
  value <- vctrs::field(x, name)
  if (is.matrix(value)) value else matrix(value)
}

# `open`: whether the limits are no values.
check_parameter <- function(x, arg, lower = -Inf, upper = Inf, open = FALSE) {
  if (is.data.frame(x)) x <- as.matrix(x)
  stop_if(!is.numeric(x) || length(x) == 0, "{.arg {arg}} must be numeric, with at least one value.",
          "x" = "It is {describe(x)}.", class = "distribution")
  if (!open && all_within(x, lower, upper)) return(x)
  bad <- which(!is.finite(x) | x < lower | x > upper | open & (x == lower | x == upper))
  stop_if(length(bad) > 0, "{.arg {arg}} must hold finite numbers{range_text(lower, upper, open)}.",
          "x" = "Value {bad[1]} is {.val {x[bad[1]]}}; {length(bad)} of {length(x)} are not.", class = "distribution")
  x
}

#' @export
format.ce_distribution <- function(x, ...) {
  if (length(x) == 0) return(character())
  record <- record_of(x)
  number <- function(v) trimws(format(signif(v, 3)))
  if (!is.null(record$format)) return(record$format(x, number))
  shown <- lapply(parameters_of(x), function(v) if (is.matrix(v)) row_text(v, number) else number(v))
  paste0(record$label %||% record$name, "(", do.call(paste, c(unname(shown), sep = ", ")), ")")
}

#' @export
vec_ptype_abbr.ce_distribution <- function(x, ...) "dist"

#' @export
vec_ptype_full.ce_distribution <- function(x, ...) paste0("ce_distribution<", family_of(x), ">")

#' @importFrom vctrs vec_ptype_abbr vec_ptype_full
NULL

#' @export
c.ce_distribution <- function(...) {
  parts <- Filter(Negate(is.null), list(...))
  kind <- function(p) if (is_distribution(p)) family_of(p) else class(p)[1]
  some <- lengths(parts) > 0 | !vapply(parts, is_distribution, NA)
  families <- unique(vapply(parts[some], kind, ""))
  dimensions <- unique(unlist(lapply(parts[lengths(parts) > 0], attr, "dimension")))
  stop_if(length(families) > 1 || length(dimensions) > 1,
          "Predictions in one vector must be of one family and dimension.",
          "x" = "They are {.val {families}} in dimension {dimensions}.",
          "i" = "Draws of each make them one family: {.fn pred_draws}.", class = "distribution")
  components <- lapply(parts, attr, "components")
  # draws, levels; the components of mixtures are made equal
  widths <- unique(lapply(parts[lengths(parts) > 0], function(p) vapply(parameters_of(p), NCOL, 1L)))
  stop_if(all(lengths(components) == 0) && length(widths) > 1,
          "Predictions in one vector must have the same number of draws, levels or classes.",
          "x" = "They have {vapply(widths, max, 1L)}.", class = "distribution")
  if (all(lengths(components) == 1)) parts <- lapply(parts, pad_mixture, max(unlist(components)))
  vctrs::vec_c(!!!parts)
}

is_law <- function(x) inherits(x, c("ce_distribution", "distribution", "rvar", "draws"))
