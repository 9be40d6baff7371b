test_that("matrix scaling is multinomial regression on log-probabilities", {
  skip_if_not_installed("nnet")
  f <- simulate_classes(300, 3, 1.5)
  fit <- ce_recalibrate(f$p, f$y, method = "matrix")
  other <- nnet::multinom(factor(f$y) ~ log(f$p), trace = FALSE, maxit = 500, reltol = 1e-14)
  expect_equal(fit$objective[["after"]], other$value / 300, tolerance = 1e-7)
  expect_equal(unname(suppressWarnings(predict(fit))), unname(stats::fitted(other)), tolerance = 1e-3)
})

test_that("Platt scaling is logistic regression on the logit", {
  p <- withr::with_seed(1, runif(300))
  y <- withr::with_seed(2, rbinom(300, 1, plogis(0.3 + 0.6 * qlogis(p))))
  fit <- ce_recalibrate(p, y, method = "platt")
  other <- summary(stats::glm(y ~ qlogis(p), family = stats::binomial, control = list(epsilon = 1e-14)))$coefficients
  expect_equal(tidy(fit)$estimate, unname(other[2:1, 1]), tolerance = 1e-8)
  expect_equal(tidy(fit)$std.error, unname(other[2:1, 2]), tolerance = 1e-5)
  # beta calibration contains it
  beta <- ce_recalibrate(p, y, method = "beta")
  other <- stats::glm(y ~ log(p) + log1p(-p), family = stats::binomial, control = list(epsilon = 1e-14))
  expect_equal(tidy(beta)$estimate, unname(stats::coef(other)[c(2, 3, 1)] * c(1, -1, 1)), tolerance = 1e-7)
  expect_lte(beta$objective[["after"]], fit$objective[["after"]])
})

test_that("beta calibration keeps its coefficients non-negative", {
  p <- withr::with_seed(1, runif(200))
  y <- as.numeric(withr::with_seed(2, rbinom(200, 1, p^0.1)))
  fit <- ce_recalibrate(p, 1 - y, method = "beta")
  expect_true(all(tidy(fit)$estimate[1:2] >= 0))
  # at the bound a Wald interval of what is left does not hold
  expect_identical(anyNA(tidy(fit)$std.error), any(tidy(fit)$estimate[1:2] == 0))
  expect_true(all(is.na(tidy(fit)$std.error)))
})

test_that("isotonic regression pools violators and ties", {
  p <- c(.1, .4, .4, .2, .8, .6, .9)
  y <- c(0, 1, 0, 1, 0, 1, 1)
  fit <- ce_recalibrate(p, y, method = "isotonic")
  # means per distinct value .1: 0, .2: 1, .4: 1/2 (2), .6: 1, .8: 0, .9: 1
  expected <- c(0, .6, .6, .6, .6, .6, 1)
  expect_equal(suppressWarnings(predict(fit)), expected[rank(c(1, 3, 4, 2, 6, 5, 7))], tolerance = 1e-12)
  expect_equal(predict(fit, c(0, .15, .3, 1)), c(0, .3, .6, 1), tolerance = 1e-12)
  # equal predictions have one image even where their outcomes happen to be in order
  expect_equal(predict(ce_recalibrate(c(.2, .2, .9), c(0, 1, 1), method = "isotonic"), c(.1, .2, .21)),
               c(.5, .5, .5 + .5 / 70), tolerance = 1e-12)
})

test_that("histogram binning gives the outcome's mean per bin", {
  p <- c(0, .1, .2, .3, .9, 1)
  y <- c(0, 0, 1, 1, 1, 0)
  fit <- ce_recalibrate(p, y, method = map_histogram(n_bins = 5, type = "width"))
  # (0, .2] with 0; (.2, .4]; (.4, .6] and (.6, .8] empty: their midpoints; (.8, 1]
  expect_equal(predict(fit, c(.01, .19, .21, .5, .7, .95)), c(1 / 3, 1 / 3, 1, .5, .7, .5))
  mass <- ce_recalibrate(p, y, method = map_histogram(n_bins = 3))
  expect_equal(tidy(mass)$estimate, c(0, 1, .5))
})

test_that("several classes are treated one against the rest and normalised", {
  f <- simulate_classes(120, 3)
  for (method in c("platt", "beta", "isotonic", "histogram")) {
    fit <- ce_recalibrate(f$p, f$y, method = method)
    q <- suppressWarnings(predict(fit, f$p))
    expect_equal(rowSums(q), rep(1, 120), tolerance = 1e-12)
    expect_false(glance(fit)$injective)
    one <- ce_recalibrate(f$p[, 2], f$y == 2, method = method)
    raw <- suppressWarnings(predict(one))
    parts <- vapply(1:3, function(k) suppressWarnings(predict(ce_recalibrate(f$p[, k], f$y == k, method = method))),
                    raw)
    ok <- rowSums(parts) > 0
    expect_equal(q[ok, ], (parts / rowSums(parts))[ok, ], tolerance = 1e-9)
  }
})

test_that("temperature, ensemble and network keep the order of the classes", {
  f <- simulate_classes(200, 4, 2)
  for (method in c("temperature", "ets", "diag")) {
    fit <- ce_recalibrate(f$p, f$y, method = method)
    q <- suppressWarnings(predict(fit))
    expect_equal(t(apply(q, 1, order)), t(apply(f$p, 1, order)))
    expect_true(glance(fit)$injective)
  }
})

test_that("injectivity of linear maps is decided by the weights", {
  expect_true(linear_injective(diag(c(1, 2, 3)))$value)
  expect_true(linear_injective(diag(c(-1, -2, -3)))$value)
  expect_true(linear_injective(diag(c(0, 2, 3)))$value)
  expect_false(linear_injective(diag(c(1, -2, 3)))$value)
  expect_false(linear_injective(diag(c(0, 0, 3)))$value)
  # weights (1, -1, 1) send a pair to one image: l - l' = c (1, -1, 1), both on the simplex
  w <- c(1, -1, 1)
  gap <- function(t) sum(exp(c(-1, t, -1) + 0.7 / w)) - sum(exp(c(-1, t, -1)))
  l <- c(-1, stats::uniroot(gap, c(-5, 5), tol = 1e-12)$root, -1)
  l <- l - log(sum(exp(l)))
  p <- rbind(exp(l), exp(l + 0.7 / w))
  expect_equal(rowSums(p), c(1, 1), tolerance = 1e-9)
  q <- map_probs(new_map("linear", w = diag(w), b = numeric(3)), given_rows(p, list(logits = FALSE, floor = 1e-16)))
  expect_equal(q[1, ], q[2, ], tolerance = 1e-9)
  expect_gt(max(abs(p[1, ] - p[2, ])), 0.1)
})

test_that("what has no finite optimum is flagged, and a penalty makes it finite", {
  p <- c(.1, .2, .3, .7, .8, .9)
  y <- c(0, 0, 0, 1, 1, 1)
  for (method in c("platt", "beta")) {
    expect_warning(fit <- ce_recalibrate(p, y, method = method), class = "calibrisk_warning_convergence")
    expect_false(glance(fit)$converged)
    expect_true(all(is.finite(predict(fit, c(.15, .5)))))
    expect_no_warning(fit <- ce_recalibrate(p, y, method = get(paste0("map_", method))(penalty = 0.01)))
    expect_true(glance(fit)$converged)
  }
  expect_warning(ce_recalibrate(p, rep(1, 6), method = "platt"), "outcomes are equal", class = "calibrisk_warning")
  expect_warning(ce_recalibrate(rep(.4, 6), y, method = "platt"), "predictions are equal", class = "calibrisk_warning")
  f <- simulate_classes(40, 3)
  y <- ifelse(f$y == 3, 1, f$y)
  for (method in c("vector", "matrix")) {
    expect_warning(fit <- ce_recalibrate(f$p, y, method = method), "never occurs",
                   class = "calibrisk_warning_convergence")
    expect_false(glance(fit)$converged)
  }
  expect_warning(ce_recalibrate(f$p, max.col(f$p), method = "vector"), class = "calibrisk_warning_convergence")
  expect_equal(suppressWarnings(predict(ce_recalibrate(p, rep(1, 6), method = "isotonic"))), rep(1, 6))
  expect_equal(suppressWarnings(predict(ce_recalibrate(p, rep(1, 6), method = map_histogram(n_bins = 2)))), rep(1, 6))
})

test_that("separable data are flagged for every loss, and under a penalty that leaves the diagonal free", {
  p <- rbind(c(.7, .2, .1), c(.2, .6, .2), c(.1, .3, .6), c(.8, .1, .1), c(.1, .5, .4), c(.2, .1, .7))
  y <- c(1, 2, 3, 1, 2, 3)
  flagged <- function(...) {
    expect_warning(fit <- ce_recalibrate(p, y, ...), class = "calibrisk_warning_convergence")
    expect_false(glance(fit)$converged)
    fit
  }
  for (loss in c("log", "brier")) {
    for (map in list(map_temperature, map_vector, map_matrix, map_dirichlet)) flagged(method = map(loss))
  }
  expect_match(flagged(method = "dirichlet")$convergence$message, "diagonal")
  expect_true(glance(ce_recalibrate(p, y, method = map_vector(penalty = .01)))$converged)
  # the Brier score is 0, to the last digit, at finite temperatures
  sharp <- rbind(c(.999, .001, 0), c(0, .99, .01), c(.001, 0, .999))
  expect_warning(ce_recalibrate(sharp, 1:3, method = map_temperature(loss = "brier")), "without exception",
                 class = "calibrisk_warning_convergence")
})

test_that("maps of predictions that are all the same are the frequencies", {
  p <- matrix(1 / 3, 120, 3)
  y <- withr::with_seed(1, sample(3, 120, TRUE))
  for (map in list(map_matrix(penalty = 100), map_matrix(), map_dirichlet(), map_vector())) {
    fit <- suppressMessages(ce_recalibrate(p, y, method = map))
    expect_equal(unname(unlist(predict(fit, rbind(p[1, ]))[1, ])), tabulate(y) / 120, tolerance = 1e-8)
  }
})

test_that("parameters that leave the doubles are those before, and flagged", {
  p <- withr::with_seed(3, 1 - 1e-12 * stats::runif(12))
  expect_warning(fit <- ce_recalibrate(p, rep(0, 12), method = map_matrix("brier")),
                 class = "calibrisk_warning_convergence")
  expect_false(glance(fit)$converged)
  expect_true(all(is.finite(unlist(tidy(fit)$estimate))))
})
