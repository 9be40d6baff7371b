# The variance of the null hypothesis is that of outcomes drawn from the predictions, not that of the outcomes.

# sum_{i != j} E h_ij^2 and sum_i E h_ii over all outcomes, from k on the predictions and a target kernel's matrix m.
redrawn_moments <- function(p, k, m = diag(ncol(p))) {
  classes <- seq_len(ncol(p))
  inner <- function(i, y, j, z) drop((p[i, ] - (classes == y)) %*% m %*% (p[j, ] - (classes == z)))
  known <- trace <- 0
  for (i in seq_len(nrow(p))) {
    for (y in classes) trace <- trace + p[i, y] * k[i, i] * inner(i, y, i, y)
    for (j in setdiff(seq_len(nrow(p)), i)) {
      for (y in classes) for (z in classes) known <- known + p[i, y] * p[j, z] * (k[i, j] * inner(i, y, j, z))^2
    }
  }
  c(known, trace)
}

laws_of <- function(probs, y) read_laws(probs, rlang::quo(y))
p <- oracle_classes$probs
y <- oracle_classes$truth
gaussian <- exp(-as.matrix(dist(p))^2 / 2)

test_that("sums over pairs and over a factor have the moments of outcomes drawn from the predictions", {
  w <- c(1, 2, .5, 1, 3, 1)
  for (target in list(kernel_white(), 2 * kernel_gaussian(1))) {
    m <- if (target$type == "white") diag(3) else 2 * exp(-outer(1:3, 1:3, "-")^2 / 2)
    problem <- kernel_problem(laws_of(p, y), kernel_gaussian(1), target)
    for (design in list(new_design(6), new_design(6, w))) {
      expected <- redrawn_moments(p, gaussian * if (is.null(design$w)) 1 else outer(w, w), m)
      exact <- row_sums(problem$prediction, problem$target, "unbiased", design)
      expect_close(unlist(exact[c("known", "trace")]), expected, tol$oracle)
      factored <- factored_sums(problem, 1e-14, "unbiased", design)
      expect_close(unlist(factored[c("known", "trace")]), expected, tol$oracle)
    }
  }
  block <- cpp_block_sums(problem$prediction, problem$target, 3L, 1L)$known
  expect_close(6 * block[1], redrawn_moments(p[1:3, ], gaussian[1:3, 1:3], m)[1], tol$oracle)
})

test_that("CKCE has them in every computation, with weights", {
  for (w in list(rep(1, 6), c(1, 2, .5, 1, 3, 1))) {
    relative <- sqrt(outer(w, w)) / mean(w)
    k <- gaussian * relative
    a <- solve(k + .6 * diag(6))
    # the residuals of a weighted row are scaled as its features are
    expected <- redrawn_moments(p, a %*% k %*% a * relative)
    problem <- weighted_problem(ckce_problem(new_predictions(p, y)), new_design(6, w))
    for (computation in c("dual", "eigen", "low_rank")) {
      options <- ckce_options(computation, errors = TRUE, tolerance = 1e-10)
      values <- ckce_numbers(problem, kernel_gaussian(1), .1, options)$values
      expect_close(unlist(values[c("known", "trace")]), expected, 1e-8)
    }
  }
})

test_that("a limit is the least error that its test does not reject", {
  reject <- function(x, value, known, estimated) value - x > 2 * sqrt(known + (estimated - known) * x / value)
  for (case in list(c(1, .04, .01), c(1, .01, .09), c(.3, .02, 0), c(2, 0, .3))) {
    low <- cpp_known_limit(case[1], case[2], case[3], 2)
    expect_gt(low, 0)
    expect_true(reject(low - 1e-9, case[1], case[2], case[3]))
    expect_false(reject(low + 1e-9, case[1], case[2], case[3]))
  }
  expect_equal(cpp_known_limit(1, .3, 1e-9, 2), 1 - 2 * sqrt(.3))
})

errors <- list(
  skce = function(p, y) skce(p, y), block = function(p, y) skce(p, y, type = "block"),
  ckce = function(p, y) ckce(p, y, debias = "off_diagonal"),
  width = function(p, y) ece(p, y), mass = function(p, y) ece(p, y, type = "mass", p = 2),
  debiased = function(p, y) ece(p, y, p = 2, debias = TRUE), largest = function(p, y) ece(p, y, p = Inf),
  classes = function(p, y) ece(cbind(1 - p, p), y + 1L, notion = "class_wise"),
  canonical = function(p, y) ece(cbind(1 - p, p), y + 1L, notion = "canonical", type = "discrete"),
  mmce = function(p, y) mmce(p, y), smooth = function(p, y) smooth_ece(p, y),
  triweight = function(p, y) kde_error(p, y, kernel = "triweight", bandwidth = .05)
)

test_that("no events where few are expected are no evidence, and limits are possible values", {
  p <- rep(c(.005, .01, .015), 50)
  for (error in errors) {
    found <- error(p, integer(150))
    expect_equal(found$conf.low, 0)
    expect_true(found$conf.high >= found$.estimate && found$conf.high <= 2)
  }
  expect_lte(ece(rep(c(.02, .98), 3), c(1, 1, 1, 0, 0, 0))$conf.high, 1)
})

test_that("few samples of calibrated models with few events have errors above 0", {
  above <- withr::with_seed(1, replicate(40, {
    p <- ifelse(runif(100) < .97, rbeta(100, 1, 400), runif(100, .3, .9))
    y <- as.integer(runif(100) < p)
    vapply(errors, function(error) error(p, y)$conf.low > 0, NA)
  }))
  # 99.9% quantile of the number of samples if 5% are meant
  expect_lte(max(rowSums(above)), qbinom(.999, 40, .05))
})

test_that("smooth curves of few events have no interval, and others subtract the known noise", {
  p <- seq(.001, .06, length.out = 200)
  y <- replace(integer(200), c(150, 180, 190, 199), 1L)
  few <- ici(p, y, times = 20)
  expect_true(all(is.na(few$conf.low)))
  expect_output(print(few), "5 events")
  page <- ce_validate(p, y, times = 20)
  expect_true(all(is.na(page$conf.low[page$term %in% smooth_terms])))
  expect_match(paste(unlist(page$notes), collapse = " "), "20 rows with 5 events")
})

test_that("tests of blocks and bootstrap redraw the outcomes of few failures", {
  reject <- withr::with_seed(4, replicate(20, {
    p <- ifelse(runif(100) < .97, rbeta(100, 1, 400), runif(100, .3, .9))
    y <- as.integer(runif(100) < p)
    c(ce_test(p, y, test = "block")$p.value, ce_test(p, y, test = test_bootstrap(times = 99))$p.value) < .05
  }))
  expect_lte(max(rowSums(reject)), qbinom(.999, 20, .05))
  expect_match(ce_test(rep(.01, 40), replace(integer(40), 3, 1L), test = "block")$method, "simulated")
})

test_that("an outcome that was predicted to be impossible gives the p-value 0, its group's limit and a sentence", {
  p <- c(rep(0, 90), rep(1, 60), seq(.01, .99, length.out = 150))
  y <- withr::with_seed(1, as.integer(runif(300) < p))
  expect_gt(ce_estimate(p, y)$p.value, 0)
  y[1] <- 1L
  found <- ce_estimate(p, y)
  expect_equal(found$p.value, 0)
  expect_gte(found$conf.low, sqrt(.3) * qbeta(.025, 1, 90) - 1e-12)
  expect_output(print(found), "predicted to be impossible")
  test <- ce_test(p, y, test = "joint")
  expect_equal(test$p.value, 0)
  expect_match(test$details$found, "predicted to be impossible")
  expect_equal(cpp_refuted_low(matrix(p), matrix(1 * y), numeric(), 300, .025), sqrt(.3) * qbeta(.025, 1, 90),
               tolerance = 1e-6)
  clustered <- ce_estimate(p, y, cluster = rep(1:30, 10))
  expect_equal(clustered$p.value, 0)
  probs <- rbind(cbind(rep(0, 40), .5, .5), cbind(.2, .3, .5)[rep(1, 40), ])
  truth <- rep(2:3, 40)
  expect_gt(ce_estimate(probs, truth)$p.value[1], 0)
  for (notion in c("canonical", "class_wise")) {
    expect_equal(ce_estimate(probs, replace(truth, 1, 1L), notion = notion)$p.value, 0)
  }
})
