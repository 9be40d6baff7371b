centres <- function(k = 6, n = 100) {
  withr::with_seed(2, {
    d <- data.frame(g = rep(letters[1:k], each = n), p = plogis(rnorm(k * n)))
    d$y <- rbinom(k * n, 1, plogis(qlogis(d$p) * rep(runif(k, .5, 1.5), each = n) + rep(rnorm(k, 0, .3), each = n)))
    d
  })
}

test_that("a number of centres has the mean, spread and limits of restricted maximum likelihood", {
  v <- ce_validate(centres(n = 400), y, p, .by = g, times = 0)
  out <- ce_meta(v)
  slope <- tidy(out)[tidy(out)$term == "slope", ]
  y <- slope$estimate
  s2 <- slope$std.error^2
  likelihood <- function(tau2) {
    w <- 1 / (s2 + tau2)
    sum(log(s2 + tau2)) + log(sum(w)) + sum(w * (y - sum(w * y) / sum(w))^2)
  }
  tau2 <- optimize(likelihood, c(0, 4), tol = 1e-10)$minimum
  mean_at <- function(tau2) sum(y / (s2 + tau2)) / sum(1 / (s2 + tau2))
  own <- out[out$term == "slope", ]
  expect_equal(c(own$estimate, own$tau), c(mean_at(tau2), sqrt(tau2)), tolerance = 1e-5)
  # limits of the mixture over quantiles of tau2, at which Q has those of chi-squared
  q <- function(tau2, level) sum((y - mean_at(tau2))^2 / (s2 + tau2)) - qchisq(level, 5)
  tau2 <- vapply(1:100 / 100 - .005, function(p) if (q(0, p) < 0) 0 else uniroot(q, c(0, 99), p, tol = 1e-12)$root, 0)
  variance <- vapply(tau2, function(t) 1 / sum(1 / (s2 + t)), 0)
  below <- function(x, of) mean(pnorm(x, vapply(tau2, mean_at, 0), sqrt(of)))
  expect_equal(vapply(c(own$conf.low, own$conf.high), below, 0, variance), c(.025, .975), tolerance = 1e-6)
  expect_equal(vapply(c(own$pred.low, own$pred.high), below, 0, variance + tau2), c(.025, .975), tolerance = 1e-6)
  fixed <- sum(y / s2) / sum(1 / s2)
  expect_equal(own$statistic, sum((y - fixed)^2 / s2), tolerance = 1e-8)
  expect_equal(out$p.adjusted, p.adjust(out$p.value))
  ratio <- v$table[v$table$term == "oe_ratio", ]
  simultaneous <- ratio$estimate * exp(outer(ratio$std.error / ratio$estimate, c(-1, 1) * qnorm(1 - .025 / 6)))
  found <- tidy(out)
  expect_equal(cbind(found$conf.low, found$conf.high)[found$term == "oe_ratio", ], simultaneous, tolerance = 1e-8)
  expect_output(print(out), "The groups differ in: O:E ratio, calibration in the large, slope, AUROC")
})

test_that("the summary is that of metafor with the same errors", {
  skip_if_not_installed("metafor")
  out <- ce_meta(ce_validate(centres(n = 400), y, p, .by = g, times = 0))
  for (term in out$term) {
    scale <- pool_scale(term)
    own <- out[out$term == term, ]
    rows <- tidy(out)[tidy(out)$term == term, ]
    error <- rows$std.error / scale$slope(scale$to(rows$estimate))
    rma <- getExportedValue("metafor", "rma")
    peer <- rma(scale$to(rows$estimate), sei = error, control = list(threshold = 1e-10))
    expect_equal(c(own$estimate, own$tau, own$statistic), c(scale$back(c(peer$b)), sqrt(peer$tau2), peer$QE),
                 tolerance = 1e-5)
  }
})

test_that("equal groups of a wrong model are compared by errors from the outcomes", {
  d <- centres(4, 200)
  d$p <- plogis(3 * qlogis(d$p))
  v <- ce_validate(d, y, p, .by = g, times = 0)
  one <- d[d$g == "b", ]
  exact <- glm.control(epsilon = 1e-14)
  fit <- glm(one$y ~ offset(qlogis(one$p)), family = binomial, control = exact)
  robust <- sqrt(sum(resid(fit, "response")^2) * 200 / 199) * vcov(fit)[[1]]
  rows <- tidy(ce_meta(v))
  expect_equal(rows$std.error[rows$term == "in_the_large" & rows$group == "b"], robust, tolerance = 1e-6)
  expect_gt(robust, 1.2 * sqrt(vcov(fit)[[1]]))
  both <- glm(one$y ~ qlogis(one$p), family = binomial, control = exact)
  bread <- vcov(both) %*% t(model.matrix(both) * resid(both, "response"))
  sandwich <- sqrt(tcrossprod(bread)[2, 2] * 200 / 199)
  expect_equal(rows$std.error[rows$term == "slope" & rows$group == "b"], max(sandwich, sqrt(vcov(both)[2, 2])),
               tolerance = 1e-6)
  # pooled ones differ from the pooled errors of the table as those of one data set do
  pooled <- ce_pool(list(v, v))
  weak <- rows$term %in% c("in_the_large", "slope")
  expect_equal(tidy(ce_meta(pooled))$std.error[weak], rows$std.error[weak], tolerance = 1e-12)
  # Welch's test of means with their own variances
  size <- c(5, 9, 30)
  x <- withr::with_seed(1, rnorm(sum(size), rep(c(0, .5, .2), size), rep(1:3, size)))
  of <- rep(1:3, size)
  found <- cpp_group_effects(c(tapply(x, of, mean)), sqrt(c(tapply(x, of, var)) / size), size - 1, "", 0.95)
  expect_equal(found$summary$p.value, oneway.test(x ~ of)$p.value)
})

test_that("few centres, centres without events and other input", {
  d <- centres(3, 60)
  d$y[d$g == "a"] <- 0
  out <- ce_meta(suppressWarnings(ce_validate(d, y, p, .by = g, times = 0)))
  expect_identical(out$k[out$term %in% c("oe_ratio", "auroc")], c(2L, 2L))
  expect_true(all(is.na(out$pred.low[out$k < 3])))
  expect_true(all(is.finite(out$conf.low[out$k == 2])))
  same <- ce_meta(ce_validate(rbind(transform(d, g = 1), transform(d, g = 2)), y, p, .by = g, times = 0))
  expect_equal(c(same$statistic, same$tau), rep(0, 8))
  expect_error(ce_meta(ce_validate(d, y, p, times = 0)), class = "calibrisk_error_group")
  expect_error(ce_meta(d), class = "calibrisk_error_argument")
  # models and classes of the same rows are no independent groups
  d$q <- d$p^2
  m <- ce_models(d, y, p, q, .by = g)
  expect_error(ce_meta(ce_validate(m, times = 0)), "several models", class = "calibrisk_error_group")
  expect_error(ce_meta(ce_pool(list(ce_validate(m, times = 0), ce_validate(m, times = 0)))), "several models",
               class = "calibrisk_error_group")
  expect_equal(tidy(ce_meta(ce_validate(m["p"], times = 0)))[-2], tidy(out)[-2])
  probs <- cbind(a = d$p / 2, b = d$p / 2, c = 1 - d$p)
  expect_error(ce_meta(ce_validate(probs, rep(letters[1:3], 60), times = 0)), "several classes",
               class = "calibrisk_error_group")
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::ggplot_build(plot(out)), "ggplot_built")
})
