test_that("the stacked gap is the weighted sum of least-squares fits", {
  d <- ladder_data(200, 3, 1)
  problem <- list(features = d$p, residuals = d$residuals, labels = d$y)
  form <- fit_form(method_stack(), problem, list(value = NA), new_context(1L))
  bases <- oracle_canonical_bases(d$p)
  rungs <- c(lapply(bases, oracle_rung, e = d$residuals))
  expect_gt(length(form$shapes), 0)
  fits <- function(basis) {
    vapply(1:3, function(j) lm.fit(if (is.list(basis)) basis[[j]] else basis, d$residuals[, j])$fitted.values,
           numeric(200))
  }
  expected <- Reduce(`+`, Map(function(shape, weight) {
    at <- match(shape$recipe, c("temperature", "own_top", "own_both", "top_affine"))
    if (is.na(at)) return(cpp_ladder_gap(list(shape), weight, d$p, 3L, 1L))
    weight * fits(bases[[at]])
  }, form$shapes, form$weights))
  expect_lt(max(abs(pair_features(form, d$p, 1L) - expected)), 1e-6)
  # outside the training rows: hats are constant beyond the outer knots, and rows stand alone
  new <- rbind(diag(3), 1 / 3)
  gaps <- pair_features(form, new, 1L)
  expect_true(all(is.finite(gaps)))
  expect_close(gaps[2, ], drop(pair_features(form, new[2, , drop = FALSE], 1L)), 1e-10)
})

test_that("stacked projections tune, predict and draw like any method", {
  d <- withr::with_seed(3, {
    p <- rbeta(2500, 4, 1)
    list(p = p, y = rbinom(2500, 1, p - .5 * p * (1 - p)))
  })
  tuned <- withr::with_seed(1, ce_tune(d$p, d$y, notion = "binary", methods = list(method_stack(), method_bins(15))))
  expect_identical(glance(tuned)$method, c("stack", "bins"))
  expect_lt(glance(tuned)$risk[1], glance(tuned)$risk[2])
  at <- c(.5, .7, .9)
  gap <- predict(tuned, at, type = "gap", method = "stack")
  expect_lt(max(abs(gap - .5 * at * (1 - at))), .05)
  expect_true("stack" %in% names(ce_methods("canonical")) && "power" %in% names(ce_methods("canonical")))
  expect_output(print(method_stack()), "stack")
})
