#' @rdname pred
#' @export
pred_bernoulli <- function(prob) {
  new_distribution(list(prob = as.vector(check_parameter(prob, "prob", 0, 1))), "bernoulli")
}

# Outcomes are classes: the functions take the probabilities.
family_bernoulli <- function() {
  prob <- function(law) vctrs::field(law, "prob")
  new_record(
    "bernoulli", support = "class",
    moments = function(law) moment_matrices(list(mean = prob(law), variance = prob(law) * (1 - prob(law)))),
    crps = function(law, y) (prob(law) - y)^2,
    probs = prob,
    label = "Bernoulli",
    reads = list(bernoulli = function(par) pred_bernoulli(par$p))
  )
}
