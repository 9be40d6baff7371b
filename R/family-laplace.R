#' @rdname pred
#' @export
pred_laplace <- function(location, scale) make_distribution(family_laplace, list(location = location, scale = scale))

draw_laplace <- function(n, location, scale) location + scale * stats::rexp(n) * sample(c(-1, 1), n, replace = TRUE)

# A mixture of one.
one_component <- function(law) {
  parts <- parameters_of(law)
  list(weight = matrix(1, length(law), 1), location = matrix(parts[[1]]), scale = matrix(parts[[2]]))
}

# Families of densities proportional to exp(-(|y - location| / scale)^power / power).
temper_scale <- function(power, constant) {
  location <- function(law) parameters_of(law)[[1]]
  scale <- function(law) parameters_of(law)[[2]]
  list(
    order = function(law) 1 / power,
    exponents = function(law, y) abs(y[, 1] - location(law))^power / scale(law)^power / power,
    volume = scale, constant = function(law) constant,
    apply = function(law, temperature) {
      vctrs::field(law, vctrs::fields(law)[2]) <- scale(law) * temperature^(1 / power)
      law
    },
    variance_power = 2 / power
  )
}

# A mixture of one component.
laplace_parts <- function(location, scale) {
  list(weight = matrix(1, length(scale), 1), location = matrix(location), scale = matrix(scale), laplace = TRUE)
}

family_laplace <- family_record(
  "laplace", list(location = c(-Inf, Inf), scale = c(0, Inf)),
  moments = function(location, scale) list(mean = location, variance = 2 * scale^2),
  cdf = function(y, location, scale) cpp_mixture_cdf(laplace_parts(location, scale), y),
  quantile = function(u, location, scale) {
    location + scale * ifelse(u < 0.5, log(2 * u), -log(2 * (1 - u)))
  },
  draw = draw_laplace,
  density = function(y, location, scale) exp(-abs(y - location) / scale) / (2 * scale),
  support = "real",
  crps = function(y, location, scale) cpp_mixture_crps(laplace_parts(location, scale), y),
  features = function(location, scale) cbind(location, sqrt(2) * scale),
  closed_forms = list(
    wasserstein = function(location, scale) cbind(location, sqrt(2) * scale), affinity = core_affinity("laplace")
  ),
  law_forms = list(laplace_components = one_component),
  label = "Laplace", closed = TRUE, temper = temper_scale(1, log(2)),
  mixed = list(family = "mixture_laplace", fields = c(location = "location", scale = "scale")),
  reads = list(laplace = function(par) pred_laplace(par$mu, par$sigma %||% par$b %||% par$scale))
)
