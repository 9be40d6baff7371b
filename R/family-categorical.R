#' @rdname pred
#' @export
pred_categorical <- function(probs) {
  probs <- check_parameter(probs, "probs", lower = 0)
  stop_if(!is.matrix(probs) || ncol(probs) < 2, "{.arg probs} must be a matrix with a column per class, at least two.",
          "x" = "It is {describe(probs)}.", "i" = "A single probability per row is that of {.fn pred_bernoulli}.",
          class = "distribution")
  new_distribution(list(probs = check_simplex(probs, seq_len(nrow(probs)))), "categorical")
}

# Outcomes are classes: the functions take the probabilities.
family_categorical <- new_record(
  "categorical", support = "class", label = "Categorical",
  probs = function(law) par_of(law, "probs"),
  reads = list(categorical = function(par) pred_categorical(do.call(rbind, par$p %||% par$prob)))
)
