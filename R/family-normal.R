#' @rdname pred
#' @export
pred_normal <- function(mean, sd) {
  mean <- check_parameter(mean, "mean")
  sd <- check_parameter(sd, "sd", lower = 0)
  new_distribution(recycle_parameters(mean = as.vector(mean), sd = as.vector(sd)), "normal")
}

family_normal <- function() {
  record <- new_family(
    "normal", list(mean = c(-Inf, Inf), sd = c(0, Inf)),
    moments = function(mean, sd) list(mean = mean, variance = sd^2),
    cdf = stats::pnorm, quantile = stats::qnorm, draw = stats::rnorm, density = stats::dnorm, support = "real",
    crps = function(y, mean, sd) folded_normal(mean - y, sd) - sd / sqrt(pi),
    features = function(mean, sd) cbind(mean, sd),
    closed_forms = list(
      normal_components = function(mean, sd) {
        list(weight = matrix(1, length(mean), 1), location = matrix(mean), scale = matrix(sd))
      },
      wasserstein = function(mean, sd) cbind(mean, sd),
      affinity = normal_affinity
    )
  )
  extend_record(
    record,
    format = function(law, number) {
      paste0("N(", number(vctrs::field(law, "mean")), ", ", number(vctrs::field(law, "sd")), ")")
    },
    mixed = list(family = "mixture_normal", fields = c(location = "mean", scale = "sd")),
    temper = temper_normal(),
    reads = list(normal = function(par) pred_normal(par$mu, par$sigma)),
    closed_forms = list(
      gaussian = function(law) {
        list(form = "diagonal_normal", mean = par_of(law, "mean"), variance = par_of(law, "sd")^2)
      },
      crps_entropy = function(law) vctrs::field(law, "sd") / sqrt(pi),
      crps_divergence = function(p, q) {
        p <- parameters_of(p)
        q <- parameters_of(q)
        folded_normal(p$mean - q$mean, sqrt(p$sd^2 + q$sd^2)) - (p$sd + q$sd) / sqrt(pi)
      }
    )
  )
}

# E |m + s Z|
folded_normal <- function(m, s) cpp_folded_normal(m, s)

normal_affinity <- function(mean, sd) {
  check_spread(sd)
  v <- outer(sd^2, sd^2, `+`)
  sqrt(2 * outer(sd, sd) / v) * exp(-outer(mean, mean, `-`)^2 / (4 * v))
}

check_spread <- function(scale, call = caller_env()) {
  stop_if(any(scale == 0), "The Hellinger distance needs positive scales.", "x" = "Some predictions are point masses.",
          class = "kernel", arg = "kernel", call = call)
}

temper_normal <- function() {
  sd_of <- function(law) vctrs::field(law, "sd")
  list(
    order = function(law) 1 / 2,
    exponents = function(law, y) (y[, 1] - vctrs::field(law, "mean"))^2 / sd_of(law)^2 / 2,
    volume = sd_of,
    constant = function(law) log(2 * pi) / 2,
    apply = function(law, temperature) {
      vctrs::field(law, "sd") <- sd_of(law) * sqrt(temperature)
      law
    },
    variance_power = 1
  )
}
