# W1 (2 x 1) for the one input that is not 0, b1, output weights, output bias
oracle_network <- c(.5, .2, .1, .2, .3, -.6, .05)
oracle_slope <- function(t) {
  h <- pmax(c(.5, .2) * t + c(.1, .2), 0)
  f <- sum(c(.3, -.6) * h) + .05
  (if (f > 0) f else exp(f) - 1) + 1 + 1e-8
}

test_that("Clenshaw-Curtis weights halve the last coefficient", {
  expect_equal(cpp_clenshaw_curtis(4), c(1, 8, 12, 8, 1) / 15, tolerance = 1e-14)
  for (n in c(1, 3, 5, 8, 50)) {
    x <- cos(pi * (0:n) / n)
    w <- cpp_clenshaw_curtis(n)
    # exact for polynomials of degree n
    for (d in 0:min(n, 9)) expect_equal(sum(w * x^d), if (d %% 2 == 0) 2 / (d + 1) else 0, tolerance = 1e-12)
  }
})

test_that("the monotone map agrees with quadrature", {
  x <- c(-2, -1, 0, 1, 2)
  exact <- c(-1.843316234, -.7933162238, 0.2, 1.175346497, 2.180352048) - .2
  expect_equal(cpp_network_integral(oracle_network, 2L, x, 50L) + .2,
               c(-1.843357797, -.7933168743, .2, 1.175346497, 2.180352048), tolerance = 1e-9)
  table <- function(x, cells) {
    m <- cpp_network_map(oracle_network, 2L, c(-3, 3), cells, c(x, 0))
    m[seq_along(x)] - m[length(m)]
  }
  expect_equal(table(x, 2048L), exact, tolerance = 1e-6)
  expect_equal(table(x, 200000L), exact, tolerance = 1e-9)
  for (i in x[x != 0]) {
    quad <- stats::integrate(Vectorize(oracle_slope), 0, i, rel.tol = 1e-10, subdivisions = 1000)$value
    expect_equal(table(i, 200000L), quad, tolerance = 1e-7)
  }
  # beyond the table the last slope goes on
  outside <- table(c(-4, 4), 2048L)
  expect_equal(outside - table(c(-3, 3), 2048L), c(-oracle_slope(-3), oracle_slope(3)), tolerance = 1e-9)
  logits <- matrix(c(2, .1, -1), 1)
  expect_equal(drop(softmax(matrix(table(logits, 2048L), 1))), c(.8312021229, .1263106254, .04248725174),
               tolerance = 1e-6)
})

test_that("the map is strictly increasing whatever the network", {
  for (seed in 1:5) {
    theta <- withr::with_seed(seed, rnorm(4 * 2 + 3 * 5 + 4, sd = 3))
    m <- cpp_network_map(theta, c(4L, 3L), c(-10, 0), 512L, seq(-12, 1, length.out = 1000))
    expect_true(all(diff(m) > 0))
  }
})

test_that("the network's gradient agrees with numeric differentiation", {
  f <- simulate_classes(50, 3)
  l <- log(f$p)
  for (loss in c("log", "brier")) {
    theta <- withr::with_seed(2, rnorm(4 * 2 + 3 * 5 + 4, sd = 0.5))
    # a range that leaves some values outside on both sides
    at <- function(t) cpp_network_loss(t, c(4L, 3L), c(-3, -0.1), 64L, l, f$y, numeric(), loss, 1L)
    numeric <- vapply(seq_along(theta), function(i) {
      h <- replace(0 * theta, i, 1e-6)
      (at(theta + h)$value - at(theta - h)$value) / 2e-6
    }, 0)
    expect_equal(at(theta)$gradient, numeric, tolerance = 1e-5)
  }
})

test_that("the network does not get worse than temperature scaling, from which it starts", {
  f <- simulate_classes(250, 3, 2)
  temperature <- ce_recalibrate(f$p, f$y)
  for (hidden in list(1, c(2, 2), c(10, 10))) {
    # whether the optimiser is content with the last digits depends on the machine
    fit <- suppressWarnings(ce_recalibrate(f$p, f$y, method = map_diag(hidden = hidden)),
                            classes = "calibrisk_warning_convergence")
    expect_lte(fit$objective[["after"]], temperature$objective[["after"]] + 1e-7)
  }
  # the fitted map is the integral of its slope: the paper's rule with many nodes comes to the same
  l <- log(f$p[1:20, ])
  by_rule <- cpp_network_integral(fit$map$parameters, fit$map$hidden, as.vector(l), 4000L)
  expect_equal(unname(suppressWarnings(predict(fit)))[1:20, ], softmax(matrix(by_rule, 20)), tolerance = 2e-3)
})

test_that("a gradient whose square underflows is an optimum, not an error", {
  for (p in c(.99, .9, .999)) {
    expect_warning(map <- ce_recalibrate(p, 1, method = "diag"), class = "calibrisk_warning_convergence")
    expect_equal(glance(map)$objective_after, 0)
    expect_true(is.finite(predict(map, .3)))
  }
})
