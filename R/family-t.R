#' @rdname pred
#' @export
pred_t <- function(df, location, scale) {
  make_distribution(family_t, list(df = df, location = location, scale = scale))
}

# Holds without a mean as well, since the CRPS is analytic in df above 1/2; it is infinite below.
crps_t <- function(z, df) {
  heavy <- df <= 0.5
  df[heavy] <- 1
  spread <- 2 * sqrt(df) / (df - 1) * exp(lbeta(0.5, df - 0.5) - 2 * lbeta(0.5, df / 2))
  value <- z * (2 * stats::pt(z, df) - 1) + 2 * stats::dt(z, df) * (df + z^2) / (df - 1) - spread
  ifelse(rep_len(heavy, length(value)), Inf, value)
}

family_t <- family_record(
  "t", list(df = c(0, Inf), location = c(-Inf, Inf), scale = c(0, Inf)),
  moments = function(df, location, scale) {
    list(mean = ifelse(df > 1, location, NaN),
         variance = ifelse(df > 2, scale^2 * df / pmax(df - 2, .Machine$double.xmin), ifelse(df > 1, Inf, NaN)))
  },
  cdf = function(y, df, location, scale) stats::pt((y - location) / scale, df),
  quantile = function(u, df, location, scale) location + scale * stats::qt(u, df),
  draw = function(n, df, location, scale) location + scale * stats::rt(n, df),
  density = function(y, df, location, scale, log = FALSE) {
    value <- stats::dt((y - location) / scale, df, log = TRUE) - base::log(scale)
    if (log) value else exp(value)
  },
  support = "real",
  crps = function(y, df, location, scale) {
    z <- (y - location) / scale
    # linear in a neighbourhood of 1, where the closed form is 0 / 0
    near <- abs(df - 1) < 1e-5
    share <- ifelse(near, (df - (1 - 1e-5)) / 2e-5, 0)
    scale * ((1 - share) * crps_t(z, ifelse(near, 1 - 1e-5, df)) + share * crps_t(z, 1 + 1e-5))
  },
  # in the unit of the outcomes, and that of a normal distribution for many degrees of freedom
  features = function(df, location, scale) cbind(location, scale, scale / df),
  reads = list(student_t = function(par) pred_t(par$df, par$mu, par$sigma))
)
