#' @rdname pred
#' @export
pred_t <- function(df, location, scale) {
  make_distribution(families$t, list(df = df, location = location, scale = scale), current_env())
}

family_t <- function() {
  record <- new_family(
    "t", list(df = c(0, Inf), location = c(-Inf, Inf), scale = c(0, Inf)),
    moments = function(df, location, scale) {
      list(mean = ifelse(df > 1, location, NaN),
           variance = ifelse(df > 2, scale^2 * df / pmax(df - 2, .Machine$double.xmin), ifelse(df > 1, Inf, NaN)))
    },
    cdf = function(y, df, location, scale) stats::pt((y - location) / scale, df),
    quantile = function(u, df, location, scale) location + scale * stats::qt(u, df),
    draw = function(n, df, location, scale) location + scale * stats::rt(n, df),
    density = function(y, df, location, scale) stats::dt((y - location) / scale, df) / scale,
    support = "real",
    # in the unit of the outcomes, and that of a normal distribution for many degrees of freedom
    features = function(df, location, scale) cbind(location, scale, scale / df)
  )
  extend_record(
    record,
    crps = function(law, y) {
      y <- rep_len(y, length(law))
      parts <- parameters_of(law)
      value <- numeric(length(law))
      # the closed form needs a mean; without one the CRPS is finite as well
      closed <- parts$df > 1.001
      if (any(!closed)) value[!closed] <- crps_by_quantiles(law[!closed], y[!closed])
      z <- (y - parts$location) / parts$scale
      value[closed] <- (parts$scale * crps_t(z, pmax(parts$df, 1.001)))[closed]
      value
    },
    reads = list(student_t = function(par) pred_t(par$df, par$mu, par$sigma))
  )
}

crps_t <- function(z, df) {
  spread <- 2 * sqrt(df) / (df - 1) * exp(lbeta(0.5, df - 0.5) - 2 * lbeta(0.5, df / 2))
  z * (2 * stats::pt(z, df) - 1) + 2 * stats::dt(z, df) * (df + z^2) / (df - 1) - spread
}
