exact <- function(x, y) expect_equal(x, y, tolerance = 1e-10)
value <- function(...) ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1, ...)$.estimate

test_that("ckce() has the published values at a given and at the median bandwidth", {
  exact(value(), 0.558838141756)
  default <- ckce(toy_probs(), toy_truth())
  exact(default$ridge, 0.638943104246)
  exact(default$bandwidth, 0.533853912602)
  exact(default$.estimate, 0.0395757780794)
  expect_identical(names(default), c(
    ".metric", ".estimator", ".estimate", "std.error", "conf.low", "conf.high", "n", "ridge", "bandwidth", "kernel",
    "computation", "rank", "error_bound", "certified"
  ))
})

test_that("every exact computation agrees with the trace formula", {
  gram <- oracle_gram(toy_probs(), .5)
  d <- oracle_residuals(toy_probs(), toy_truth())
  ridges <- c(1e-3, .1, 1, 1e6)
  expected <- vapply(ridges, function(r) oracle_ckce(gram, d %*% t(d), r)$estimate, 0)
  for (computation in c("dual", "eigen")) {
    path <- ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = ridges, computation = computation)
    expect_equal(path$.estimate, expected, tolerance = 1e-9)
    expect_identical(path$computation, rep(computation, 4))
  }
  exact(ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = 1e6)$.estimate * 1e12, 0.0280871856777)
})

test_that("debiasing subtracts the diagonal or the null mean", {
  exact(value(debias = TRUE), -0.0495760235579)
  exact(value(debias = "null_mean"), 0.558838141756 - 0.651249816337)
  exact(value(debias = TRUE, computation = "eigen"), -0.0495760235579)
  default <- ckce(toy_probs(), toy_truth(), debias = "off_diagonal")
  exact(default$.estimate, -0.0403668915347)
  exact(ckce(toy_probs(), toy_truth(), debias = "null_mean")$.estimate, 0.0395757780794 - 0.0856683916329)
  large <- ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = 1e6, debias = TRUE)
  oracle <- oracle_ckce(oracle_gram(toy_probs(), .5), tcrossprod(oracle_residuals(toy_probs(), toy_truth())), 1e6)
  expect_equal(large$.estimate, oracle$off_diagonal, tolerance = 1e-8)
})

test_that("skce() with the kernel of ckce() has the published values and is its large-ridge limit", {
  joint <- function(...) skce(toy_probs(), toy_truth(), kernel = toy_kernel(), ...)$.estimate
  exact(joint(type = "biased"), 0.0280871967629)
  exact(joint(), -0.112487030551)
  exact(skce(toy_probs(), toy_truth(), type = "biased", kernel = "ckce")$.estimate, 0.0261238842022)
  exact(skce(toy_probs(), toy_truth(), kernel = "ckce")$.estimate, -0.114843005624)
  expect_equal(ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = 1e9)$.estimate * 1e18,
               joint(type = "biased"), tolerance = 1e-8)
})

test_that("the toy example of two atoms has its analytic values, also at tiny ridges", {
  p <- rbind(matrix(c(.7, .3), 4, 2, byrow = TRUE), matrix(c(.4, .6), 6, 2, byrow = TRUE))
  y <- c(1, 1, 2, 2, 1, 1, 1, 2, 2, 2)
  toy <- function(ridge, ...) ckce(p, y, kernel = kernel_white(), ridge = ridge, ...)$.estimate
  exact(toy(.1), .065893877551)
  exact(toy(1e-3), .0995349946425)
  expect_equal(toy(1e-8), .0999999953333, tolerance = 1e-9)
  share <- c(.4, .6)
  gap <- c(.08, .02)
  exact(toy(.05), sum((share / (share + .05))^2 * gap))
  exact(skce(p, y, kernel = kernel_white(), type = "biased")$.estimate, .02)
  exact(ranked_ece(p, y, 3), .2 + .2 * .4)
  expect_warning(toy(1e-12), class = "calibrisk_warning_tiny_ridge")
})

test_that("the leave-one-out error equals refitting", {
  d <- oracle_residuals(toy_probs(), toy_truth())
  exact(loo_errors(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1)$loo, 1.0463026306)
  exact(loo_errors(toy_probs(), toy_truth(), ridge = 6^(-1 / 4))$loo, .90585939723)
  for (computation in c("dual", "eigen")) {
    gap <- loo_errors(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = c(.01, .3),
                      target = "gap", computation = computation)
    expected <- vapply(c(.01, .3), function(r) oracle_loo(oracle_gram(toy_probs(), .5), d, r), 0)
    expect_equal(gap$loo, expected, tolerance = 1e-9)
  }
  chosen <- ckce(toy_probs(), toy_truth(), ridge = "loo")
  path <- loo_errors(toy_probs(), toy_truth())
  expect_identical(chosen$ridge, path$ridge[path$selected])
  expect_identical(chosen$loo, min(path$loo))
})

test_that("with clusters the leave-one-out error equals refitting without each cluster", {
  cluster <- c(1, 2, 1, 3, 2, 3)
  gram <- oracle_gram(toy_probs(), .5)
  outcome <- diag(3)[toy_truth(), ]
  # n ridge as it was with all rows
  without <- function(gram, targets, ridge, w = rep(1, 6)) {
    sum(vapply(unique(cluster), function(c) {
      out <- cluster == c
      inverse <- solve(diag(w[!out]) %*% gram[!out, !out] + 6 * ridge * diag(sum(!out)), diag(w[!out]))
      sum(w[out] * (targets[out, ] - gram[out, !out] %*% inverse %*% targets[!out, ])^2)
    }, 0)) / 6
  }
  path <- function(...) {
    loo_errors(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = c(.01, .3), cluster = cluster, ...)$loo
  }
  for (computation in c("auto", "dual", "eigen", "low_rank")) {
    expect_equal(path(computation = computation), c(without(gram, outcome, .01), without(gram, outcome, .3)),
                 tolerance = 1e-7)
  }
  expect_equal(path(target = "gap")[2], without(gram, oracle_residuals(toy_probs(), toy_truth()), .3), tolerance = 1e-9)
  w <- c(2, 1, 3, 1, 1, 4) / 2
  expect_equal(path(weights = w), c(without(gram, outcome, .01, w / mean(w)), without(gram, outcome, .3, w / mean(w))),
               tolerance = 1e-9)
  a <- c(1, 1, 2, 2, 1, 2)
  expect_equal(path(group = a), c(without(gram * outer(a, a, `==`), outcome, .01),
                                  without(gram * outer(a, a, `==`), outcome, .3)), tolerance = 1e-9)
  # clusters of one row are rows
  expect_equal(loo_errors(toy_probs(), toy_truth(), cluster = 1:6)$loo, loo_errors(toy_probs(), toy_truth())$loo)
  chosen <- ckce(toy_probs(), toy_truth(), ridge = "loo", cluster = cluster)
  expect_identical(chosen$loo, min(loo_errors(toy_probs(), toy_truth(), cluster = cluster)$loo))
  law <- pred_normal(1:6 / 2, 1)
  y <- c(1, 0, 2, 2, 3, 1)
  expect_equal(loo_errors(law, y, cluster = 1:6)$loo, loo_errors(law, y)$loo)
  expect_false(isTRUE(all.equal(loo_errors(law, y, cluster = cluster)$loo, loo_errors(law, y)$loo)))
  expect_error(suppressWarnings(loo_errors(law, y, cluster = rep(1, 6))), class = "calibrisk_error_rows")
})

test_that("a ridge below rounding makes the error left out infinite, of rows and of clusters", {
  p <- rbind(c(.41, .04, .55), c(.09, .73, .18))
  path <- function(...) suppressWarnings(loo_errors(p, c(1, 1), ridge = c(1e-300, 1e-3), ...), "calibrisk_warning")
  expect_identical(path()$loo[1], Inf)
  expect_equal(path(cluster = 1:2), path())
  expect_identical(path(cluster = 1:2)$selected, c(FALSE, TRUE))
  # an outcome that is its own fit
  withr::local_seed(1)
  for (i in 1:20) {
    p <- matrix(sample(1:4, 18, TRUE), 6)
    y <- sample.int(3, 6, TRUE)
    out <- suppressWarnings(loo_errors(p / rowSums(p), y, ridge = c(1e-300, 1)), "calibrisk_warning")
    expect_false(anyNA(out$loo))
  }
})

test_that("groups on their own, shared and with covariates have the published values", {
  a <- c(1, 1, 2, 2, 1, 2)
  own <- ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1, group = a)
  exact(own$.estimate, 1.10752650358)
  terms <- own$groups[[1]]
  exact(sum(terms$estimate), own$.estimate)
  exact(terms$ridge, c(.2, .2))
  for (g in 1:2) {
    alone <- ckce(toy_probs()[a == g, ], toy_truth()[a == g], kernel = toy_kernel(), ridge = .2)
    exact(terms$estimate[g], alone$.estimate)
  }
  exact(value(group = a, group_kernel = "shared"), 1.07454726)
  exact(value(group = a, group_kernel = kernel_gaussian(1)), .972092170729)
  exact(value(group = rep("all", 6)), 0.558838141756)
  expect_error(value(group = a[-1]), class = "calibrisk_error_length")
  expect_error(value(group = c(NA, a[-1])), class = "calibrisk_error_group")
  expect_error(value(group_kernel = "shared"), class = "calibrisk_error_argument")
})

test_that("joint, debiased and leave-one-out numbers of groups equal the block-diagonal kernel's", {
  a <- c(1, 1, 2, 2, 1, 2)
  gram <- oracle_gram(toy_probs(), .5) * outer(a, a, `==`)
  d <- oracle_residuals(toy_probs(), toy_truth())
  g <- tcrossprod(d)
  debiased <- ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1, group = a, debias = TRUE)
  exact(debiased$.estimate, oracle_ckce(gram, g, .1)$off_diagonal)
  exact(sum(debiased$groups[[1]]$estimate), debiased$.estimate)
  for (type in c("biased", "unbiased")) {
    exact(skce(toy_probs(), toy_truth(), kernel = toy_kernel(), group = a, type = type)$.estimate,
          oracle_jkce(gram, g)[[type]])
  }
  loo <- loo_errors(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1, group = a)
  outcome <- diag(3)[toy_truth(), ]
  exact(loo$loo, oracle_loo(gram, outcome, .1))
})

test_that("one observation and one group member have defined values", {
  one <- ckce(t(c(.6, .4)), 1)
  exact(one$.estimate, 1.52 / (1.52 + 1)^2 * .32)
  expect_identical(one$std.error, NA_real_)
  expect_error(skce(t(c(.6, .4)), 1, kernel = "ckce"), "at least 2", class = "calibrisk_error_rows")
  expect_identical(skce(t(c(.6, .4)), 1, type = "biased", kernel = "ckce")$std.error, NA_real_)
  expect_true(is.finite(value(group = c(1, 1, 1, 1, 1, 2))))
})

test_that("wrong arguments are classed errors", {
  expect_error(value(debias = "no"), class = "calibrisk_error_argument")
  expect_error(ckce(toy_probs(), toy_truth(), ridge = 0), class = "calibrisk_error_argument")
  expect_error(value(computation = "rff", group = rep(1:2, 3), group_kernel = "shared"),
               class = "calibrisk_error_computation")
  expect_error(ckce(toy_probs(), toy_truth(), kernel = kernel_white(), computation = "rff"),
               class = "calibrisk_error_computation")
  expect_error(value(computation = computation("rff", frequencies = diag(2))), class = "calibrisk_error_argument")
})

test_that("a factor that is far too coarse gives way to random features", {
  p <- withr::with_seed(1, draw_dirichlet(2100, 10, 2))
  y <- withr::with_seed(2, draw_labels(p))
  coarse <- withr::with_seed(3, ckce(p, y, computation = computation("auto", max_rank = 20)))
  expect_identical(coarse$computation, "rff")
  expect_identical(ckce(p, y, computation = computation("auto", max_rank = 20), kernel = kernel_white())$computation,
                   "low_rank")
  expect_identical(ckce(p, y, computation = computation("low_rank", max_rank = 20))$certified, FALSE)
})

test_that("groups are columns, names of columns or values", {
  data <- data.frame(toy_probs(), y = toy_truth(), g = c("u", "v", "u", "v", "u", "v"))
  names(data)[1:3] <- paste0(".pred_", 1:3)
  data$y <- factor(data$y)
  for (metric in list(ckce, joint_error)) {
    expected <- metric(toy_probs(), toy_truth(), group = data$g)$.estimate
    expect_equal(metric(data, y, group = g)$.estimate, expected)
    expect_equal(metric(data, y, group = "g")$.estimate, expected)
    expect_equal(metric(data, y, group = data$g)$.estimate, expected)
    none <- NULL
    expect_equal(metric(data, y, group = none)$.estimate, metric(data, y)$.estimate)
    expect_error(metric(data, y, group = "nowhere"), class = "calibrisk_error_columns")
  }
  law <- cbind(data, m = 1:6, s = 1, z = c(2, 0, 3, 5, 4, 7))
  expect_equal(ckce(law, z, pred_normal(m, s), group = "g")$.estimate,
               ckce(law, z, pred_normal(m, s), group = g)$.estimate)
})

# The influence function by its definition: features F with K = F F'.
oracle_influence <- function(gram, d, ridge) {
  n <- nrow(gram)
  e <- eigen(gram, symmetric = TRUE)
  f <- e$vectors %*% diag(sqrt(pmax(e$values, 0)))
  a <- crossprod(f) / n + diag(ridge, n)
  w <- solve(a, crossprod(f, d) / n)
  2 * rowSums((f %*% solve(a, w)) * (d - f %*% w))
}

test_that("influences are those of the definition, whatever the computation", {
  p <- withr::with_seed(1, draw_dirichlet(50, 3, 1))
  y <- withr::with_seed(2, draw_labels(p^2 / rowSums(p^2)))
  gram <- oracle_gram(p, .5)
  d <- oracle_residuals(p, y)
  g <- rep(c("u", "v"), c(20, 30))
  fit <- function(..., computation = calibrisk::computation("auto", tolerance = 1e-9)) {
    ckce(p, y, kernel = toy_kernel(), computation = computation, ...)
  }
  ridges <- c(.1, 200)  # the second dwarfs K: the other formula
  for (computation in list("dual", "eigen", computation("low_rank", tolerance = 1e-9))) {
    own <- vapply(ridges, function(r) sd(oracle_influence(gram, d, r)) / sqrt(50), 0)
    expect_equal(influence_errors(fit(ridge = ridges, computation = computation)), own, tolerance = 1e-8)
    within <- sd(oracle_influence(gram * outer(g, g, `==`), d, .1)) / sqrt(50)
    expect_equal(influence_errors(fit(ridge = .1, computation = computation, group = g)), within, tolerance = 1e-8)
  }
  # the interval is that without the diagonal (test-ckce-noise.R), and holds the estimate
  limits <- c("std.error", "conf.low", "conf.high")
  apart <- fit(ridge = .1, debias = "off_diagonal", level = .8)
  expect_equal(fit(ridge = .1, debias = "null_mean", level = .8)[limits], apart[limits])
  whole <- fit(ridge = .1, level = .8)
  expect_equal(whole[limits[1:2]], apart[limits[1:2]])
  expect_equal(whole$conf.high, max(apart$conf.high, whole$.estimate))
  # random features: with their own Gram matrix, rows streamed
  w <- matrix(c(1, 2, -1, 3, .5, -2), 2)
  f <- cbind(p, cos(p %*% t(w)) / sqrt(2), sin(p %*% t(w)) / sqrt(2))
  expect_equal(influence_errors(ckce(p, y, kernel = toy_kernel(), ridge = .1,
                                     computation = computation("rff", frequencies = w))),
               sd(oracle_influence(tcrossprod(f), d, .1)) / sqrt(50), tolerance = 1e-8)
  # numbers: the same formulas with implicit residuals
  law <- pred_normal(p[, 1] * 5, 1)
  z <- withr::with_seed(3, rnorm(50, p[, 1] * 5, 2))
  r <- matrix(z - p[, 1] * 5)
  linear <- influence_errors(ckce(law, z, kernel = kernel_wasserstein(1, 2), target_kernel = kernel_linear(),
                                  ridge = .1))
  expect_equal(linear, sd(oracle_influence(exp(-as.matrix(dist(p[, 1] * 5))^2 / 2), r, .1)) / sqrt(50),
               tolerance = 1e-8)
})

test_that("intervals of ckce() cover the regularised error, and 0 where predictions are calibrated", {
  # four predictions, each wrong by its own gap: the population value at a ridge is known
  q <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4), c(.05, .15, .8))
  gap <- rbind(c(.3, -.1, -.2), c(-.05, .25, -.2), c(.2, -.2, 0), c(-.3, .1, .2))
  ridge <- 200^-.25
  gram <- oracle_gram(q, .5)
  true <- oracle_ckce(gram, tcrossprod(gap), ridge)$estimate  # four equally likely rows
  for (debias in c(TRUE, FALSE)) {
    samples <- if (debias) 200 else 100
    covered <- withr::with_seed(2, replicate(samples, {
      at <- sample(4, 200, replace = TRUE)
      out <- ckce(q[at, ], draw_labels((q - gap)[at, ]), kernel = toy_kernel(), ridge = ridge, debias = debias)
      out$conf.low <= true && true <= out$conf.high
    }))
    expect_gt(mean(covered), .95 - 3 * sqrt(.95 * .05 / samples))
    expect_lt(mean(covered), .999)
  }
  above <- withr::with_seed(3, replicate(40, {
    p <- draw_dirichlet(100, 3, 1)
    ckce(p, draw_labels(p), kernel = toy_kernel())$conf.low > 0
  }))
  expect_lte(mean(above), .1)
})

test_that("factors of the kernel give the estimates and intervals of all pairs, also of predictive distributions", {
  p <- withr::with_seed(1, draw_dirichlet(60, 3, .5))
  y <- withr::with_seed(2, draw_labels(p))
  g <- rep(1:2, 30)
  kernel <- kernel_linear() + kernel_gaussian("median")
  columns <- c(".estimate", "std.error", "conf.low", "conf.high")
  for (type in c("biased", "unbiased")) {
    for (computation in list("dual", computation("low_rank", tolerance = 1e-9))) {
      fit <- function(...) skce(p, y, type = type, computation = computation, ..., kernel = "ckce")[columns]
      expect_equal(fit(), skce(p, y, kernel = kernel, type = type)[columns], tolerance = 1e-9)
      expect_equal(fit(group = g), skce(p, y, kernel = kernel, type = type, group = g)[columns], tolerance = 1e-9,
                   ignore_attr = TRUE)
    }
    expect_equal(joint_error(pred_categorical(p), y, type = type)[columns], joint_error(p, y, type = type)[columns])
    law <- pred_normal(p[, 1], 1)
    z <- p[, 2] * 4
    own <- skce(law, z, kernel = kernel_wasserstein(1), type = type, group = g)
  }
  expect_identical(own$.estimator, "normal")
  shared <- skce(law, z, kernel = kernel_wasserstein(1), group = g, group_kernel = "shared")
  expect_equal(shared$.estimate, skce(law, z, kernel = kernel_wasserstein(1))$.estimate +
                 skce(law, z, kernel = kernel_wasserstein(1), group = g)$.estimate, tolerance = 1e-12)
  # the default kernel on predictions is that of ckce(), whose value for large ridges is n^2 JKCE / (n ridge)^2
  target <- kernel_gaussian(1.5)
  expect_equal(ckce(law, z, ridge = 1e8, target_kernel = target)$.estimate * 1e16,
               skce(law, z, type = "biased", target_kernel = target, kernel = "ckce")$.estimate, tolerance = 1e-7)
  for (type in c("unbiased", "biased")) {
    for (d in list(law, pred_draws(cbind(z - 1, z + 2, 0 * z, 3)))) {
      exact <- skce(d, z, type = type, kernel = kernel_linear() + kernel_gaussian(1), group = g)
      low <- skce(d, z, type = type, kernel = kernel_linear() + kernel_gaussian(1), group = g,
                  computation = computation("low_rank", tolerance = 1e-9))
      expect_equal(low[columns], exact[columns], tolerance = 1e-6, ignore_attr = TRUE)
    }
  }
})

test_that("small ridges keep their digits where the kernel has few eigenvalues, or warn", {
  p <- withr::with_seed(1, runif(12))
  y <- withr::with_seed(2, rbinom(12, 1, p^2))
  value <- function(ridge, ...) ckce(p, y, kernel = kernel_linear(), ridge = ridge, ...)$.estimate
  # the linear kernel has two features: A^-1 of dimension 2
  features <- cbind(1 - p, p)
  residuals <- features - cbind(1 - y, y)
  truth <- function(ridge) sum(solve(crossprod(features) + 12 * ridge * diag(2), crossprod(features, residuals))^2)
  for (ridge in 10^-(3:9)) expect_equal(value(ridge), truth(ridge), tolerance = 1e-8)
  expect_warning(value(1e-8, computation = "dual"), class = "calibrisk_warning_tiny_ridge")
  expect_error(ckce(matrix(.5, 9, 2), rep(1, 9), kernel = 3 * kernel_gaussian(1), ridge = 1e-30, computation = "dual"),
               class = "calibrisk_error_computation")
})

test_that("groups can be predictive distributions", {
  d <- data.frame(.pred_a = c(.2, .5, .9, .4), y = factor(c("a", "b", "b", "a")))
  d$.pred_b <- 1 - d$.pred_a
  d$g <- pred_normal(c(0, 1, 0, 1), 1)
  expect_identical(ckce(d, y, c(.pred_a, .pred_b), group = g)$groups[[1]]$group, c("N(0, 1)", "N(1, 1)"))
})

test_that("a ridge whose inverse overflows has an unknown error, not NaN", {
  out <- suppressWarnings(ckce(pred_normal(c(-1.3, -.1, .3), c(.3, .8, .5)), c(-2.3, -2.2, -.4),
                               kernel = kernel_gaussian(.3), ridge = 1e-300))
  expect_identical(out$error_bound, Inf)
  expect_false(out$certified)
})
