#' @rdname pred
#' @export
pred_t <- function(df, location, scale) make_distribution(family_t, list(df = df, location = location, scale = scale))

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
  crps = core_crps("t"),
  # in the unit of the outcomes, and that of a normal distribution for many degrees of freedom
  features = function(df, location, scale) cbind(location, scale, scale / df),
  reads = list(student_t = function(par) pred_t(par$df, par$mu, par$sigma))
)
