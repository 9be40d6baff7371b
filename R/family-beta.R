#' @rdname pred
#' @export
pred_beta <- function(shape1, shape2) {
  make_distribution(family_beta, list(shape1 = shape1, shape2 = shape2))
}

family_beta <- family_record(
  "beta", list(shape1 = c(0, Inf), shape2 = c(0, Inf)),
  moments = function(shape1, shape2) {
    total <- shape1 + shape2
    list(mean = shape1 / total, variance = shape1 * shape2 / (total^2 * (total + 1)))
  },
  # where mass lies closer to 0 or 1 than doubles do, the nearest double is the quantile: no accuracy to warn of
  quantile = function(u, shape1, shape2) suppressWarnings(stats::qbeta(u, shape1, shape2)),
  cdf = stats::pbeta, draw = stats::rbeta, density = stats::dbeta, support = "unit",
  crps = function(y, shape1, shape2) {
    total <- shape1 + shape2
    mean <- shape1 / total
    # B(2 a, 2 b) / B(a, b)^2, from densities at the mean: differences of lbeta() are inaccurate for large shapes
    a <- pmin(shape1, shape2)
    b <- pmax(shape1, shape2)
    at <- a / total
    ratio <- at * (1 - at) * exp(2 * stats::dbeta(at, a, b, log = TRUE) - stats::dbeta(at, 2 * a, 2 * b, log = TRUE))
    inside <- y * (1 - y) * stats::dbeta(y, shape1, shape2)
    (y - mean) * (2 * stats::pbeta(y, shape1, shape2) - 1) + 2 * (ifelse(y > 0 & y < 1, inside, 0) - ratio) / total
  },
  closed_forms = list(affinity = function(shape1, shape2) {
    half <- lbeta(shape1, shape2) / 2
    mean <- function(v) outer(v, v, `+`) / 2
    exp(lbeta(mean(shape1), mean(shape2)) - outer(half, half, `+`))
  }),
  reads = list(beta = function(par) pred_beta(par$shape1, par$shape2))
)
