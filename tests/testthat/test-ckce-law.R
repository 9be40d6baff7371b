mean5 <- c(0, .5, -1, 1.2, 2)
sd5 <- c(1, .7, 1.5, .5, 1)
y5 <- c(.3, -.4, -1.8, 1.9, 1.1)
law5 <- function() pred_normal(mean5, sd5)
w2 <- function() kernel_wasserstein(1, power = 2)
value5 <- function(kernel = w2(), target_kernel = kernel_gaussian(1), ...) {
  ckce(law5(), y5, kernel = kernel, target_kernel = target_kernel, ridge = .1, ...)$.estimate
}

test_that("normal predictions have the published values under every kernel", {
  expect_equal(value5(), .670981771518, tolerance = 1e-10)
  expect_equal(value5(kernel_mmd(.5, kernel_gaussian(1))), .713177109402, tolerance = 1e-10)
  expect_equal(value5(w2() + kernel_embedding(kernel_gaussian(1))), .679291011199, tolerance = 1e-10)
  expect_equal(value5(target_kernel = kernel_matern(.5, 1)), .962894935687, tolerance = 1e-10)
  expect_equal(value5(target_kernel = kernel_matern(1.5, 1)), .801437590063, tolerance = 1e-10)
  expect_equal(value5(target_kernel = kernel_matern(2.5, 1)), .756733210945, tolerance = 1e-10)
})

test_that("draws give the V form and, with different draws on the diagonal, the U form", {
  draws <- pred_draws(rbind(c(-.5, .8), c(.2, 1.1), c(-2.3, .4), c(1, 1.6), c(1.5, 3.1)))
  # the published value takes the Wasserstein kernel of the normals with sampled residuals
  laws <- list(law = draws, y = matrix(y5), n = 5)
  target <- bind_target(kernel_gaussian(1), laws, 2)
  problem <- function(diagonal) {
    choices <- list(draws = 2, draws_diagonal = diagonal, debias = "none")
    c(list(features = cbind(mean5, sd5)), numeric_residuals(target, laws, choices, FALSE))
  }
  value <- function(diagonal, computation = "auto") {
    ckce_numbers(problem(diagonal), kernel_gaussian(1), .1, ckce_options(computation))$values$estimate
  }
  expect_equal(value("all"), .759561168051, tolerance = 1e-10)
  expect_equal(value("different"), .254384009935, tolerance = 1e-10)
  expect_equal(value("different", "low_rank"), .254384009935, tolerance = 1e-10)
  fit <- function(...) ckce(draws, y5, kernel = w2(), target_kernel = kernel_gaussian(1), ridge = .1, ...)$.estimate
  expect_gt(fit(), fit(draws_diagonal = "different"))
})

# Naive matrices of 40 predictions.
law40 <- function() {
  withr::with_seed(4, {
    mean <- rnorm(40)
    sd <- exp(rnorm(40) / 3)
    y <- rnorm(40, mean, 1.3 * sd)
    draws <- matrix(rnorm(40 * 6, mean, sd), 40)
    list(mean = mean, sd = sd, y = y, draws = draws, w = rexp(40), group = sample(c("a", "b", "c"), 40, TRUE),
         counts = rpois(40, exp(mean)))
  })
}

# K and G, the diagonal of G with pairs of different draws beside it, by the definitions.
matrices40 <- function(d, of, target_kernel) {
  law <- switch(of,
    normal = pred_normal(d$mean, d$sd), draws = pred_draws(d$draws), poisson = pred_poisson(exp(d$mean))
  )
  y <- if (of == "poisson") d$counts else d$y
  laws <- list(law = law, y = matrix(y), n = 40)
  g <- cpp_target_matrix(bind_target(target_kernel, laws, 2)$spec, FALSE, 1L)
  different <- diag(g)
  if (of == "draws") {
    k <- function(a, b) kernel_matrix(target_kernel, matrix(a), matrix(b))
    diag(g) <- vapply(1:40, function(i) {
      z <- d$draws[i, ]
      k(y[i], y[i])[1] - 2 * mean(k(z, y[i])) + mean(k(z, z))
    }, 0)
  }
  list(law = law, y = y, gram = kernel_matrix(w2(), law), g = g, different = different)
}

test_that("all computations and debiased values are those of the definition", {
  d <- law40()
  ridge <- c(.3, .05, .004)
  for (of in c("normal", "draws", "poisson")) {
    for (target_kernel in list(kernel_gaussian(1), kernel_laplace(.7))) {
      m <- matrices40(d, of, target_kernel)
      fit <- function(...) ckce(m$law, m$y, kernel = w2(), target_kernel = target_kernel, ridge = ridge, ...)
      naive <- lapply(ridge, function(r) oracle_ckce(m$gram, m$g, r))
      exact <- vapply(naive, `[[`, 0, "estimate")
      for (computation in c("dual", "eigen")) {
        one <- fit(computation = computation)
        expect_equal(one$.estimate, exact, tolerance = 1e-9)
        expect_identical(one$error_bound, c(0, 0, 0))
        # 2 n c (M G A^-1)_ii
        q <- lapply(ridge, function(r) {
          a <- solve(m$gram + 40 * r * diag(40))
          2 * 40 * 40 * r * diag(a %*% m$gram %*% a %*% m$g %*% a)
        })
        expect_equal(influence_errors(fit(computation = computation)), vapply(q, sd, 0) / sqrt(40), tolerance = 1e-6)
        expect_equal(fit(computation = computation, debias = TRUE)$.estimate, vapply(naive, `[[`, 0, "off_diagonal"),
                     tolerance = 1e-8)
      }
      low <- fit(computation = computation("low_rank", tolerance = .1, max_rank = 25))
      expect_true(all(abs(low$.estimate - exact) <= low$error_bound + 1e-10))
      expect_lte(low$rank[1], 25)
      if (of == "draws") {
        different <- m$g
        diag(different) <- m$different
        for (computation in list(computation("auto", tolerance = 1e-9), computation("low_rank", tolerance = 1e-9))) {
          same <- function() fit(draws_diagonal = "different", computation = computation)
          expect_equal(same()$.estimate, vapply(ridge, function(r) oracle_ckce(m$gram, different, r)$estimate, 0),
                       tolerance = 1e-6)
          q <- vapply(ridge, function(r) {
            a <- solve(m$gram + 40 * r * diag(40))
            sd(2 * 40 * 40 * r * diag(a %*% m$gram %*% a %*% different %*% a)) / sqrt(40)
          }, 0)
          expect_equal(influence_errors(same()), q, tolerance = 1e-5)
        }
      }
    }
  }
})

test_that("leave-one-out errors are those of the refits", {
  d <- law40()
  ridge <- c(.5, .05)
  for (of in c("normal", "poisson")) {
    kernel <- if (of == "normal") kernel_gaussian(1) else kernel_white()
    m <- matrices40(d, of, kernel)
    outcome <- matrix_root(kernel_matrix(kernel, matrix(as.numeric(m$y)), matrix(as.numeric(m$y))))
    fit <- function(...) loo_errors(m$law, m$y, kernel = w2(), target_kernel = kernel, ridge = ridge, ...)$loo
    naive <- function(targets) vapply(ridge, function(r) oracle_loo(m$gram, targets, r), 0)
    for (computation in list("dual", "eigen", computation("low_rank", tolerance = 1e-9))) {
      expect_equal(fit(computation = computation), naive(outcome), tolerance = 1e-6)
      expect_equal(fit(target = "gap", computation = computation), naive(matrix_root(m$g)), tolerance = 1e-6)
    }
  }
  best <- ckce(m$law, m$y, kernel = w2(), ridge = "loo")
  path <- loo_errors(m$law, m$y, kernel = w2())
  expect_equal(best$loo, min(path$loo))
  expect_identical(best$ridge, path$ridge[path$selected])
  expect_equal(best$.estimate, ckce(m$law, m$y, kernel = w2(), ridge = best$ridge)$.estimate)
})

test_that("weights and groups of distributions go the way of classes", {
  d <- law40()
  m <- matrices40(d, "normal", kernel_gaussian(1))
  fit <- function(...) ckce(m$law, m$y, kernel = w2(), target_kernel = kernel_gaussian(1), ridge = .1, ...)$.estimate
  # a kernel on the parameters, and a sum that is no kernel of one matrix of features
  sums <- function(...) {
    ckce(m$law, m$y, kernel = w2() + kernel_embedding(kernel_gaussian(1)), target_kernel = kernel_gaussian(1),
         ridge = .1, ...)$.estimate
  }
  both <- m$gram + kernel_matrix(kernel_embedding(kernel_gaussian(1)), m$law)
  s <- sqrt(d$w / mean(d$w))
  same <- outer(d$group, d$group, `==`)
  for (computation in list("dual", "eigen", computation("low_rank", tolerance = 1e-9))) {
    with <- function(fn, ...) fn(computation = computation, ...)
    weighted <- function(gram) oracle_ckce(gram * outer(s, s), m$g * outer(s, s), .1)$estimate
    expect_equal(with(fit, weights = d$w), weighted(m$gram), tolerance = 1e-7)
    expect_equal(with(sums, weights = d$w), weighted(both), tolerance = 1e-7)
    for (kernel in c("delta", "shared")) {
      factor <- same + (kernel == "shared")
      expect_equal(with(fit, group = d$group, group_kernel = kernel), oracle_ckce(m$gram * factor, m$g, .1)$estimate,
                   tolerance = 1e-7)
      expect_equal(with(sums, group = d$group, group_kernel = kernel), oracle_ckce(both * factor, m$g, .1)$estimate,
                   tolerance = 1e-7)
    }
    expect_equal(with(sums, group = d$group, weights = d$w), weighted(both * same), tolerance = 1e-7)
  }
})

test_that("redrawn outcomes have the mean that null_mean says, and the values of the definition", {
  d <- law40()
  for (of in c("normal", "draws", "poisson")) {
    m <- matrices40(d, of, kernel_gaussian(1))
    for (target_kernel in list(kernel_gaussian(1), kernel_linear() + kernel_laplace(1))) {
      fit <- function(...) {
        withr::with_seed(2, ckce(m$law, m$y, kernel = w2(), target_kernel = target_kernel, ridge = c(.5, .1), ...))
      }
      drawn <- fit(times = 300)$null_mean
      expected <- fit()$.estimate - fit(debias = "null_mean")$.estimate
      expect_equal(drawn, expected, tolerance = .1)
    }
  }
  # groups of their own: a block of M each
  m <- matrices40(d, "normal", kernel_gaussian(1))
  null <- function(...) {
    target <- kernel_gaussian(1)
    withr::with_seed(2, ckce(m$law, m$y, kernel = w2(), target_kernel = target, ridge = .1, times = 30, ...))
  }
  redrawn <- withr::with_seed(2, draw_outcomes(list(law = m$law, y = matrix(m$y), n = 40), 30))
  naive <- function(y, gram, debias) {
    laws <- list(law = m$law, y = matrix(y), n = 40)
    g <- cpp_target_matrix(bind_target(kernel_gaussian(1), laws, 2)$spec, FALSE, 1L)
    oracle_ckce(gram, g, .1)[[debias]]
  }
  same <- outer(d$group, d$group, `==`)
  for (debias in c("estimate", "off_diagonal")) {
    draws <- apply(redrawn, 2, naive, m$gram * same, debias)
    one <- null(group = d$group, debias = debias == "off_diagonal")
    expect_equal(one$null_mean, mean(draws), tolerance = 1e-8)
    expect_equal(one$p.value, (1 + sum(draws >= one$.estimate)) / 31)
  }
})

test_that("factors of both kernels give the null of many rows", {
  d <- law40()
  laws <- list(law = pred_normal(d$mean, d$sd), y = matrix(d$y), n = 40)
  inputs <- list(laws = laws, target = bind_target(kernel_gaussian(1), laws, 2))
  numbers <- list(values = data.frame(estimate = 0, diagonal = 0), blocks = list(
    list(rows = 1:25, factor = matrix(cos(1:75), 25), filters = matrix(1, 3)),
    list(rows = 26:40, factor = matrix(sin(1:30), 15), filters = matrix(1, 2))
  ))
  for (debias in c("none", "off_diagonal")) {
    null <- function(most) {
      withr::with_seed(1, with_law_null(numbers, inputs, list(times = 3, debias = debias), most)$null_estimate)
    }
    expect_equal(diff(null(10)), diff(null(40)), tolerance = 1e-3)
  }
})

test_that("the default kernel separates calibrated from overconfident normal predictions", {
  mu <- withr::with_seed(1, rnorm(150))
  y <- withr::with_seed(2, rnorm(150, mu))
  test <- function(sd) withr::with_seed(3, ckce(pred_normal(mu, sd), y, times = 49))
  calibrated <- test(1)
  over <- test(.4)
  expect_lt(calibrated$.estimate, over$.estimate)
  expect_gt(calibrated$p.value, .05)
  expect_identical(over$p.value, 1 / 50)
  expect_match(calibrated$kernel, "embedding")
  counts <- ckce(pred_poisson(c(1, 2, 5, 9)), c(0, 2, 4, 12))
  expect_gte(counts$.estimate, 0)
})

test_that("distributions over classes are class probabilities, and what others cannot do is a classed error", {
  expect_equal(ckce(pred_categorical(toy_probs()), toy_truth(), kernel = toy_kernel(), ridge = .1)$.estimate,
               0.558838141756, tolerance = 1e-10)
  expect_error(value5(w2() + kernel_embedding(kernel_gaussian(1)), computation = "rff"),
               class = "calibrisk_error_computation")
  expect_error(ckce(law5(), y5[-1]), class = "calibrisk_error_length")
  # random features of a kernel that is Euclidean
  expect_equal(withr::with_seed(1, value5(computation = computation("rff", n_features = 500))), value5(),
               tolerance = .1)
})

test_that("with redrawn outcomes no kernel depends on the observed ones", {
  law <- pred_normal(c(0, 1, 3, 7, 2), c(1, 2, 1, .5, 1))
  fit <- function(y) withr::with_seed(1, ckce(law, y, times = 20))
  one <- fit(c(0, 2, 3, 6, 2))
  two <- fit(c(90, -50, 3, 6, 2))
  expect_equal(one$null_mean, two$null_mean, tolerance = 1e-10)
  expect_identical(one$target_kernel, two$target_kernel)
})
