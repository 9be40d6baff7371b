# p minus the point of the simplex that is nearest to p - gap, row by row.
oracle_bounded_gap <- function(gap, p) {
  t(vapply(seq_len(nrow(p)), function(i) {
    at <- p[i, ] - gap[i, ]
    shift <- uniroot(function(s) sum(pmax(at - s, 0)) - 1, range(at) + c(-1, 0), tol = 1e-14)$root
    p[i, ] - pmax(at - shift, 0)
  }, numeric(ncol(p))))
}

test_that("the stacked gap is the weighted sum of least-squares fits", {
  d <- ladder_data(200, 3, 1)
  problem <- list(features = d$p, residuals = d$residuals, labels = d$y)
  form <- fit_form(method_stack(), problem, list(value = NA), new_context())
  bases <- oracle_canonical_bases(d$p)
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
  expect_lt(max(abs(with_threads(1L, pair_features(form, d$p)) - oracle_bounded_gap(expected, d$p))), 1e-6)
  # outside the training rows: hats are constant beyond the outer knots, and rows stand alone
  new <- rbind(diag(3), 1 / 3)
  gaps <- with_threads(1L, pair_features(form, new))
  expect_true(all(is.finite(gaps)))
  expect_close(gaps[2, ], drop(with_threads(1L, pair_features(form, new[2, , drop = FALSE]))), 1e-10)
})

test_that("every predicted gap leaves a probability, the nearest one to what was fitted", {
  expect_identical(cpp_bounded_gap(cbind(c(-2, -.5, .1, .3)), cbind(c(.2, .6, .1, .2))), cbind(c(-.8, -.4, .1, .2)))
  d <- withr::with_seed(4, {
    p <- to_simplex(matrix(rgamma(160 * 4, .4), 160))
    list(p = p, y = max.col(t(apply(p, 1, function(own) rmultinom(1, 1, own^3))), "first"))
  })
  wild <- withr::with_seed(5, matrix(rnorm(640, 0, 2), 160))
  expect_close(cpp_bounded_gap(wild, d$p), oracle_bounded_gap(wild, d$p), 1e-12)
  inside <- d$p - d$p[160:1, ]
  expect_close(cpp_bounded_gap(inside, d$p), inside, 1e-12)
  # few rows, and many new ones at the corners
  train <- 1:40
  methods <- list(method_stack(), method_ukkr(1e-6), method_bins(8), method_kde(.1), method_power(2))
  for (notion in c("canonical", "class_wise", "top_label")) {
    for (method in methods[if (notion == "canonical") -3 else 1:4]) {
      fit <- ce_fit(d$p[train, ], d$y[train], notion = notion, method = method)
      new <- rbind(d$p, diag(4), 1 / 4)
      gap <- as.matrix(predict(fit, new, type = "gap"))
      left <- (if (notion == "top_label") apply(new, 1, max) else new) - gap
      expect_gt(min(left), -1e-12)
      expect_lt(max(left), 1 + 1e-12)
      if (notion == "canonical") expect_close(rowSums(left), rep(1, nrow(new)), 1e-12)
    }
  }
})

test_that("the risk of a stack is that of its bounded gaps", {
  d <- ladder_data(120, 4, 2)
  fit <- ce_fit(d$p[1:60, ], d$y[1:60], notion = "canonical", method = method_stack())
  gap <- predict(fit, d$p[61:120, ], type = "gap")
  expect_close(predict(fit, d$p[61:120, ], type = "squared"), rowSums(gap^2), 1e-10)
  products <- (tcrossprod(gap) - tcrossprod(d$residuals[61:120, ]))^2
  risk <- (sum(products) - sum(diag(products))) / (60 * 59)
  expect_close(tidy(ce_risk(fit, d$p[61:120, ], d$y[61:120]))$risk, risk, 1e-10)
})

test_that("stacked projections tune, predict and draw like any method", {
  d <- drawn_rows(3, rbeta(2500, 4, 1), function(p) p - .5 * p * (1 - p))
  tuned <- withr::with_seed(1, ce_tune(d$p, d$y, notion = "binary", methods = list(method_stack(), method_bins(15))))
  expect_identical(glance(tuned)$method, c("stack", "bins"))
  expect_lt(glance(tuned)$risk[1], glance(tuned)$risk[2])
  at <- c(.5, .7, .9)
  gap <- predict(tuned, at, type = "gap", method = "stack")
  expect_lt(max(abs(gap - .5 * at * (1 - at))), .05)
  expect_true("stack" %in% names(ce_methods("canonical")) && "power" %in% names(ce_methods("canonical")))
})
