#' @rdname pred
#' @export
pred_normal <- function(mean, sd) make_distribution(family_normal, list(mean = mean, sd = sd))

family_normal <- family_record(
  "normal", list(mean = c(-Inf, Inf), sd = c(0, Inf)),
  moments = function(mean, sd) list(mean = mean, variance = sd^2),
  cdf = stats::pnorm, quantile = stats::qnorm, draw = stats::rnorm, density = stats::dnorm, support = "real",
  # E |mean + sd Z - y| less its half between two draws
  crps = function(y, mean, sd) cpp_folded_normal(mean - y, sd) - sd / sqrt(pi),
  features = function(mean, sd) cbind(mean, sd),
  closed_forms = list(wasserstein = function(mean, sd) cbind(mean, sd), affinity = core_affinity("normal")),
  law_forms = list(
    normal_components = one_component,
    gaussian = function(law) {
      list(kind = "diagonal_normal", mean = par_of(law, "mean"), variance = par_of(law, "sd")^2)
    }
  ),
  label = "N", closed = TRUE, temper = temper_scale(2, log(2 * pi) / 2),
  mixed = list(family = "mixture_normal", fields = c(location = "mean", scale = "sd")),
  reads = list(normal = function(par) pred_normal(par$mu, par$sigma))
)
