#' @rdname pred
#' @export
pred_bernoulli <- function(prob) {
  new_distribution(list(prob = as.vector(check_parameter(prob, "prob", 0, 1))), "bernoulli")
}

# Outcomes are classes: the functions take the probabilities.
family_bernoulli <- new_record(
  "bernoulli", support = "class", label = "Bernoulli",
  moments = function(law) {
    prob <- vctrs::field(law, "prob")
    moment_matrices(list(mean = prob, variance = prob * (1 - prob)))
  },
  crps = function(law, y) (vctrs::field(law, "prob") - y)^2,
  probs = function(law) vctrs::field(law, "prob"),
  reads = list(bernoulli = function(par) pred_bernoulli(par$p))
)
