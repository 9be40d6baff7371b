# Standard errors and intervals of means over pairs: the variance at calibration, and coverage near it.

noise_data <- function(n, slope = 1, classes = 2) {
  logits <- if (classes == 2) cbind(0, stats::rnorm(n, 0, 1.5)) else matrix(stats::rnorm(n * classes, 0, 1.5), n)
  share <- function(z) exp(z) / rowSums(exp(z))
  y <- max.col(t(apply(share(slope * logits), 1, cumsum)) > stats::runif(n), "first")
  list(p = share(logits), y = y)
}

estimate_of <- function(call) estimates_of(call)[[1]]

test_that("the variance at calibration is that of a loop over pairs", {
  d <- withr::with_seed(1, noise_data(40, classes = 3))
  n <- 40
  w <- withr::with_seed(2, stats::rexp(n))
  copies <- rep(0:3, 10)
  centre <- rep(1:8, 5)
  h <- oracle_class_h(d$p, d$y, oracle_tv(.5))
  # the pairs of two clusters vary together, though not less than on their own
  naive <- function(h, w = rep(1, nrow(h)), cluster = seq_len(nrow(h)), biased = FALSE) {
    squares <- weight <- 0
    rows <- sum((outer(w, w) * h)[if (biased) !diag(length(w)) else outer(cluster, cluster, "!=")]^2)
    for (a in unique(cluster)) {
      for (b in setdiff(unique(cluster), a)) {
        total <- 0
        for (i in which(cluster == a)) {
          for (j in which(cluster == b)) {
            total <- total + w[i] * w[j] * h[i, j]
            weight <- weight + w[i] * w[j]
          }
        }
        squares <- squares + total^2
      }
    }
    2 * max(squares, rows) / (if (biased) sum(w)^2 else weight)^2
  }
  for (tolerance in list(NULL, 1e-13)) {
    noise <- function(...) estimate_of(skce(d$p, d$y, kernel = kernel_tv(.5), tolerance = tolerance, ...))$noise
    expect_equal(noise(), naive(h))
    expect_equal(noise(weights = w), naive(h, w))
    expect_equal(noise(cluster = centre), naive(h, cluster = centre))
    expect_equal(noise(weights = w, cluster = centre), naive(h, w, centre))
    expect_equal(noise(type = "biased", weights = w), naive(h, w, biased = TRUE))
    expect_equal(noise(type = "biased", weights = w, cluster = centre), naive(h, w, centre, biased = TRUE))
    again <- rep(seq_len(n), copies)
    expect_equal(noise(weights = copies), naive(h[again, again]))
  }
  for (computation in list("dual", computation("low_rank", tolerance = 1e-13))) {
    noise <- function(...) estimate_of(skce(d$p, d$y, kernel = kernel_tv(.5), computation = computation, ...))$noise
    expect_equal(noise(weights = w, cluster = centre), naive(h, w, centre))
    half <- rep(1:2, n / 2)
    expect_equal(noise(weights = w, group = half), naive(h * outer(half, half, "=="), w))
    # groups within clusters
    expect_equal(noise(weights = w, group = half, cluster = centre), naive(h * outer(half, half, "=="), w, centre))
  }
})

test_that("sums of clusters are those of the matrix, and those of some clusters stand for all", {
  d <- withr::with_seed(1, noise_data(300, classes = 3))
  cluster <- withr::with_seed(2, sample(60, 300, TRUE))
  design <- new_design(300, withr::with_seed(3, stats::rexp(300)), match(cluster, sort(unique(cluster))))
  laws <- list(
    kernel_problem(read_laws(d$p, rlang::quo(d$y)), kernel_tv(.5), NULL),
    kernel_problem(read_laws(pred_normal(d$p[, 1], d$p[, 2] + .1), rlang::quo(d$p[, 3]))),
    kernel_problem(read_laws(pred_draws(d$p), rlang::quo(d$p[, 3])))
  )
  for (problem in laws) {
    h <- cpp_pair_matrix(problem$prediction, problem$target, 1L) * outer(design$w, design$w)
    # 100 of 300 rows: a third of the clusters
    for (rows in c(4000, 100)) {
      some <- design$cluster %in% round(seq(1, max(design$cluster), length.out = if (rows == 100) 20 else 60))
      sums <- rowsum(t(rowsum(h[some, some], design$cluster[some])), design$cluster[some])
      apart <- outer(design$cluster[some], design$cluster[some], "!=")
      expect_equal(cluster_noise(design, problem, rows),
                   list(across = sum(sums^2) - sum(diag(sums)^2), within = sum(diag(sums)),
                        squares = sum(h[some, some][apart]^2), diagonal = sum(diag(h)[some]), clusters = nrow(sums)),
                   tolerance = 1e-10)
    }
  }
})

test_that("outcomes that are alike within clusters are no evidence of an error", {
  # a share of errors above 0, of calibrated predictions of 3 classes: 30 samples of 40 clusters of 8 rows
  claims <- function(verb) {
    withr::with_seed(7, mean(replicate(30, {
      cluster <- rep(1:40, each = 8)
      p <- to_simplex(exp(1.2 * matrix(stats::rnorm(120), 40)[cluster, ] + .4 * matrix(stats::rnorm(960), 320)))
      u <- stats::pnorm(sqrt(.5) * stats::rnorm(40)[cluster] + sqrt(.5) * stats::rnorm(320))
      verb(p, 1L + rowSums(u > t(apply(p, 1, cumsum))[, 1:2]), cluster = cluster)$conf.low > 0
    })))
  }
  expect_lte(claims(function(...) skce(..., kernel = kernel_gaussian(.3))), .1)
  expect_lte(claims(function(...) skce(..., kernel = kernel_gaussian(.3), type = "biased")), .1)
  expect_lte(claims(mmce), .1)
  expect_lte(claims(ckce), .1)
})

test_that("predictive laws have the same variance and interval at calibration", {
  o <- oracle_normal
  law <- pred_normal(o$mean, o$sd)
  found <- estimate_of(skce(law, o$y, target_kernel = kernel_gaussian(1)))
  parts <- kernel_problem(read_laws(law, rlang::quo(o$y)), NULL, kernel_gaussian(1))
  h <- cpp_pair_matrix(parts$prediction, parts$target, 1L)
  expect_equal(found$noise, 2 * sum((h - diag(diag(h)))^2) / 30^2)
  expect_equal(found$pairs$trace, sum(diag(h)) / 36)
})

test_that("with many rows some pairs stand for the sum of squares, whatever the order", {
  d <- withr::with_seed(3, noise_data(3000, classes = 3))
  exact <- estimate_of(skce(d$p, d$y, kernel = kernel_gaussian(.5)))
  some <- estimate_of(skce(d$p, d$y, kernel = kernel_gaussian(.5), tolerance = 1e-10))
  expect_equal(sqrt(some$noise / exact$noise), 1, tolerance = .05)
  expect_gt(abs(some$noise / exact$noise - 1), 1e-6)
  turned <- estimate_of(skce(d$p[3000:1, ], d$y[3000:1], kernel = kernel_gaussian(.5), tolerance = 1e-10))
  expect_equal(turned$noise / some$noise, 1, tolerance = 1e-8)
  random <- estimate_of(skce(d$p, d$y, kernel = kernel_gaussian(.5), computation = computation("rff", n_features = 400)))
  expect_equal(sqrt(random$noise / exact$noise), 1, tolerance = .25)
})

test_that("intervals near calibration hold the error, of a factor, of laws and of both types", {
  withr::local_seed(11)
  # the gap's own norm, from many rows
  error <- function(slope) {
    d <- noise_data(2000, slope)
    gap <- d$p[, 2] - stats::plogis(slope * stats::qlogis(d$p[, 2]))
    h <- 2 * exp(-outer(d$p[, 2], d$p[, 2], "-")^2 / .09) * tcrossprod(gap)
    (sum(h) - sum(diag(h))) / (2000 * 1999)
  }
  for (slope in c(1, .8)) {
    truth <- if (slope == 1) 0 else error(slope)
    rows <- replicate(150, simplify = FALSE, {
      d <- noise_data(150, slope)
      vctrs::vec_rbind(
        as.data.frame(skce(d$p, d$y, kernel = kernel_gaussian(.3)))[c("conf.low", "conf.high")],
        as.data.frame(skce(d$p, d$y, kernel = kernel_gaussian(.3), type = "biased"))[c("conf.low", "conf.high")]
      )
    })
    rows <- do.call(rbind, rows)
    expect_gt(mean(rows$conf.low <= truth & rows$conf.high >= truth), .93)
    # errors are below what can be told: the upper end is above them, and never 0
    expect_gt(min(rows$conf.high), truth)
  }
})

test_that("no noise, no pairs and few rows are no errors", {
  sure <- skce(rbind(c(1, 0), c(0, 1), c(1, 0)), c(1, 2, 1))
  expect_identical(c(sure$.estimate, sure$conf.low), c(0, 0))
  # the rate of failures that is compatible with none among three
  expect_equal(sure$conf.high, binom.test(0, 3)$conf.int[2])
  two <- skce(rbind(c(.4, .6), c(.2, .8)), c(1, 2))
  expect_identical(two$std.error, NA_real_)
  low <- skce(noise_data(30, .1)$p, rep(1:2, 15), level = .02)
  expect_lte(low$conf.low, low$conf.high)
})

test_that("a difference of models that are nearly one has next to no noise", {
  d <- withr::with_seed(5, noise_data(200))
  near <- stats::plogis(stats::qlogis(d$p[, 2]) + withr::with_seed(6, stats::rnorm(200, 0, .02)))
  one <- function(p) estimate_of(skce(p, d$y - 1, kernel = kernel_tv(.25)))
  a <- one(d$p[, 2])
  noise <- function(b) combine_estimates(list(a, b), c(1, -1))$noise / (a$noise + b$noise)
  expect_lt(noise(one(near)), .01)
  expect_equal(combine_estimates(list(a, a), c(1, -1))$noise, 0)
  expect_equal(combine_estimates(list(a, a))$noise, 4 * a$noise)
})

test_that("limits of few independent draws are finite numbers, those of the law that they invert", {
  # as many clusters as make Student's quantile one at which pnorm() is 1
  alone <- mmce(c(.4, .9), c(0, 1), cluster = 1:2)
  expect_true(is.finite(alone$conf.high) && alone$conf.low <= alone$.estimate && alone$.estimate <= alone$conf.high)
  d <- withr::with_seed(5, noise_data(12))
  heavy <- c(1e12, rep(1, 11))
  for (level in c(.5, .95, .999)) {
    rows <- list(skce(d$p, d$y, weights = heavy, level = level), joint_error(d$p, d$y, weights = heavy, level = level),
                 mmce(d$p, d$y, cluster = rep(1:2, 6), level = level))
    for (row in rows) expect_true(all(is.finite(c(row$.estimate, row$conf.low, row$conf.high))))
  }
  estimate <- estimate_of(skce(d$p, d$y, cluster = rep(1:2, 6)))
  limits <- estimate_limits(estimate, .95)
  # the lower quantile of the law at the upper limit, in the noise's unit
  unit <- sqrt(estimate$noise)
  lambda <- 1 / (2 * max(estimate$pairs$trace / unit, sqrt(1 / 2)))
  own <- cpp_row_std_error(influence_rows(estimate), estimate$design)
  psi <- estimate$pairs$value / unit
  slope <- (max((own / unit)^2 - 2, 0) + 8 * lambda) / (max(psi, 0) + 2)
  x <- limits$high / unit
  variance <- 1 + slope * x
  skew <- min((4 * lambda + 6 * lambda * slope * x) / variance^1.5, sqrt(8))
  standard <- (max(psi, 0) - x) / sqrt(variance)
  lower <- if (skew < 1e-3) pnorm(standard, log.p = TRUE) else
    pgamma(4 / skew^2 + standard * 2 / skew, 4 / skew^2, log.p = TRUE)
  expect_equal(lower, pnorm(stats::qt(.025, 1), log.p = TRUE), tolerance = 1e-6)
})

test_that("the biased type has the limits of different rows, under a kernel next to the identity too", {
  d <- withr::with_seed(6, noise_data(40))
  of <- function(...) estimate_of(skce(d$p, d$y, ...))
  expect_equal(of(type = "biased")$pairs[c("value", "influence")], of()[c("value", "influence")])
  for (bandwidth in c(1e-6, 1e-5)) {
    row <- skce(d$p, d$y, kernel = kernel_laplace(bandwidth), type = "biased")
    expect_identical(row$conf.low, 0)
    # pairs of different rows add nothing: the value is that of rows with themselves
    expect_equal(row$conf.high, row$.estimate)
    expect_lt(row$std.error, 1e-6 * row$.estimate)
  }
})
