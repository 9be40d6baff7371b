#' @rdname pred
#' @export
pred_lognormal <- function(meanlog, sdlog) {
  check_no_partial(current_env())
  make_distribution(families$lognormal, list(meanlog = meanlog, sdlog = sdlog), current_env())
}

# R would take `mean` for `meanlog`: another distribution, and no error.
check_no_partial <- function(call) {
  short <- setdiff(names(typed_call(call)$args), c("", names(formals(pred_lognormal))))
  if (length(short) == 0) return(invisible())
  stop_input(
    "{.fn pred_lognormal} takes the mean and standard deviation of the logarithm, {.arg meanlog} and {.arg sdlog}.",
    "x" = "{.arg {short[1]}} is given.",
    remedy("If it is that of the logarithm",
           mended_line(call, rename = c(mean = "meanlog", sd = "sdlog")[short[short %in% c("mean", "sd")]])),
    "i" = "Otherwise {.code sdlog = sqrt(log(1 + (sd / mean)^2))} and {.code meanlog = log(mean) - sdlog^2 / 2}.",
    arg = short[1], call = call
  )
}

family_lognormal <- function() {
  record <- new_family(
    "lognormal", list(meanlog = c(-Inf, Inf), sdlog = c(0, Inf)),
    moments = function(meanlog, sdlog) {
      mean <- exp(meanlog + sdlog^2 / 2)
      list(mean = mean, variance = mean^2 * expm1(sdlog^2))
    },
    cdf = stats::plnorm, quantile = stats::qlnorm, draw = stats::rlnorm, density = stats::dlnorm, support = "positive",
    crps = crps_lognormal,
    # the Hellinger distance does not depend on the scale of the outcomes
    closed_forms = list(affinity = function(meanlog, sdlog) normal_affinity(meanlog, sdlog))
  )
  extend_record(record, reads = list(lognormal = function(par) pred_lognormal(par$mu, par$sigma)))
}

crps_lognormal <- function(y, meanlog, sdlog) {
  z <- (log(pmax(y, 0)) - meanlog) / sdlog
  y * (2 * pnorm(z) - 1) -
    2 * exp(meanlog + sdlog^2 / 2) * (pnorm(z - sdlog) + pnorm(sdlog / sqrt(2)) - 1)
}
