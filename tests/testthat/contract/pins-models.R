# Predictions of fitted models.

local({
  data <- data.frame(y = fine$y, x = stats::qlogis(0.05 + 0.9 * fine$p), z = sin(seq_along(fine$y)))
  logistic <- stats::glm(y ~ x + z, stats::binomial, data[1:100, ])
  pin("ce_predictions/glm", ce_predictions(logistic, data[101:160, ])$.pred_1, "iterated")
  linear <- stats::lm(z ~ x, data[1:100, ])
  pin("ce_predictions/lm", ce_score(ce_predictions(linear, data[101:160, ]), z, score = "crps")$.estimate)
  counts <- stats::glm(y ~ x, stats::poisson, data[1:100, ])
  pin("ce_predictions/poisson", ce_score(ce_predictions(counts, data[101:160, ]), y, score = "crps")$.estimate,
      "iterated")
})

pin("pred_confidence", pred_confidence(log(fine$p[1:6]), "logprob"))
