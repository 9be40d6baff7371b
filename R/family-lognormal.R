#' @rdname pred
#' @export
pred_lognormal <- function(meanlog, sdlog) {
  # R would take `mean` for `meanlog`: another distribution, and no error
  short <- setdiff(names(sys.call()), c("", "meanlog", "sdlog"))
  stop_if(length(short) > 0, "{.fn pred_lognormal} takes {.arg meanlog} and {.arg sdlog}, those of the logarithm.",
          "x" = "{.arg {short[1]}} is given.",
          "i" = "From the mean and sd of outcomes: {.code sdlog = sqrt(log(1 + (sd / mean)^2))}, \\
                 {.code meanlog = log(mean) - sdlog^2 / 2}.", arg = "meanlog")
  make_distribution(family_lognormal, list(meanlog = meanlog, sdlog = sdlog))
}

family_lognormal <- family_record(
  "lognormal", list(meanlog = c(-Inf, Inf), sdlog = c(0, Inf)),
  moments = function(meanlog, sdlog) {
    mean <- exp(meanlog + sdlog^2 / 2)
    list(mean = mean, variance = mean^2 * expm1(sdlog^2))
  },
  cdf = stats::plnorm, quantile = stats::qlnorm, draw = stats::rlnorm, density = stats::dlnorm, support = "positive",
  crps = core_crps("lognormal"),
  # the Hellinger distance does not depend on the scale of the outcomes
  closed_forms = list(affinity = core_affinity("normal")),
  reads = list(lognormal = function(par) pred_lognormal(par$mu, par$sigma))
)
