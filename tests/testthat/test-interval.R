binary_rows <- function(n, gap = function(z) z - z^2) {
  z <- rbeta(n, 5, 1)
  list(z = z, y = rbinom(n, 1, z - gap(z)))
}

test_that("the bound's terms are those of gaps fitted without the row", {
  withr::local_seed(1)
  d <- binary_rows(60)
  fold <- rep(0:3, each = 15)
  tuned <- ce_tune(d$z, d$y, methods = list(a = method_bins(3), b = method_kkr(1e-4)), folds = fold[fold > 0],
                   test = which(fold == 0), threads = 1L)
  e <- d$z - d$y
  gram <- function(x, y) exp(-outer(x, y, "-")^2)
  gap_of <- list(
    a = function(train, at) {
      b <- tapply(e[train], cut(d$z[train], (0:3) / 3), mean)
      ifelse(is.na(b), mean(e[train]), b)[cut(d$z[at], (0:3) / 3)]
    },
    # mean_j h(p, p_j) e_j with h = k' vec^-1((K (x) K + ridge n^2)^-1 vec(e e')) k
    b = function(train, at) {
      n <- length(train)
      K <- gram(d$z[train], d$z[train])
      H <- matrix(solve(kronecker(K, K) + 1e-4 * n^2 * diag(n^2), c(tcrossprod(e[train]))), n)
      c(gram(d$z[at], d$z[train]) %*% H %*% K %*% e[train]) / n
    }
  )
  for (m in c("a", "b")) {
    gap <- rep(0, 60)
    for (f in 1:3) {
      train <- which(fold != f & fold > 0)
      gap[fold == f] <- gap_of[[m]](train, which(fold == f))
      gap[fold == 0] <- gap[fold == 0] + gap_of[[m]](train, which(fold == 0)) / 3
    }
    best <- sum(e * gap) / sum(gap^2)
    lower <- 2 * best * e * gap - best^2 * gap^2
    noise <- 2 * best * e * gap - 2 * best^2 * gap^2
    row <- glance(tuned)[glance(tuned)$method == m, ]
    expect_close(row$conf.low, sqrt(max(0, min(row$squared_estimate,
                                               mean(lower) - qnorm(.975) * sd(lower) / sqrt(60)))), 1e-6)
    squared <- Reduce(`+`, lapply(tuned$forms[[m]][[1]], form_squared, matrix(d$z[fold == 0]), 1L)) / 3
    se <- sqrt(var(squared) / 15 + var(noise) / 45)
    plug_in <- sqrt(max(row$squared_estimate, mean(lower)) + qnorm(.975) * se)
    u <- (d$z - mean(d$z)) / sqrt(mean((d$z - mean(d$z))^2))
    line <- vapply(list(e, e * u), function(x) abs(mean(x)) + qnorm(.975) * sqrt(mean((x - mean(x))^2) / 59), 0)
    expect_close(row$conf.high, max(plug_in, line), 1e-6)
    expect_close(row$estimate_std.error, se / (2 * row$estimate), 1e-6)
  }
})

test_that("intervals cover the calibration error, and 0 where there is none", {
  skip_on_cran()
  gap <- function(z) z - z^2
  truth <- sqrt(integrate(function(z) gap(z)^2 * dbeta(z, 5, 1), 0, 1)$value)
  methods <- list(bins = method_bins(c(5, 10)), kkr = method_kkr(), ukkr = method_ukkr())
  covers <- function(seed, gap, truth) {
    d <- withr::with_seed(seed, binary_rows(600, gap))
    g <- withr::with_seed(seed, glance(ce_tune(d$z, d$y, notion = "binary", methods = methods, threads = 1L)))
    in_row <- g$conf.low <= truth & truth <= g$conf.high
    c(in_row[g$selected], in_row)
  }
  miscalibrated <- rowMeans(vapply(1:40, covers, NA[1:4], gap, truth))
  calibrated <- rowMeans(vapply(1:40, covers, NA[1:4], function(z) 0, 0))
  # Monte-Carlo limits of 40 repetitions at 95 %: below 34 with probability 0.003
  expect_true(all(miscalibrated >= 34 / 40))
  expect_true(all(calibrated >= 36 / 40))
})

test_that("the upper end is never below that of bias and slope, however flat the method", {
  d <- withr::with_seed(5, binary_rows(200))
  zero <- method_function(function(P, Q) matrix(0, nrow(P), nrow(Q)))
  e <- d$z - d$y
  run <- function(...) withr::with_seed(1, glance(ce_tune(..., methods = zero, threads = 1L)))
  row <- run(d$z, d$y)
  expect_identical(c(row$estimate, row$conf.low), c(0, 0))
  expect_gte(row$conf.high, abs(mean(e)) + qnorm(.975) * sqrt(mean((e - mean(e))^2) / 199) - 1e-12)
  # two classes have the same residuals, twice
  both <- run(cbind(1 - d$z, d$z), d$y + 1, notion = "class_wise")
  expect_equal(both$conf.high, row$conf.high)
})

test_that("an estimate with a constant h(p, p) still has an interval", {
  d <- withr::with_seed(2, list(p = diag(4)[sample(4, 300, TRUE), ], y = sample(4, 300, TRUE)))
  row <- ce_estimate(d$p, d$y, threads = 1L)
  expect_gt(row$conf.high - row$conf.low, 0.01)
  expect_true(row$conf.low <= row$estimate && row$estimate <= row$conf.high)
  truth <- 1 - mean(max.col(d$p) == d$y)
  expect_true(row$conf.low <= 0.75 && 0.75 <= row$conf.high)
  flat <- ce_estimate(matrix(0.25, 200, 4), rep(1:4, 50), method = method_bins(5), threads = 1L)
  expect_identical(flat$conf.low, 0)
})

test_that("a user's function has the witness of its values", {
  d <- withr::with_seed(3, binary_rows(200))
  f <- function(P, Q) tcrossprod(P - P^2, Q - Q^2)
  folds <- rep(1:4, 40)
  both <- glance(ce_tune(d$z, d$y, methods = list(f = method_function(f), power = method_power(2)),
                         notion = "binary", folds = folds, test = 161:200, threads = 1L))
  expect_true(all(is.finite(both$conf.low)) && all(both$conf.low <= both$estimate))
  form <- new_form("function", f = f, na_rm = FALSE)
  train <- list(features = matrix(d$z[1:50]), residuals = matrix(d$z[1:50] - d$y[1:50]))
  expect_close(c(form_witness(form, train, 1L)(matrix(d$z[51:60]))),
               c(f(matrix(d$z[51:60]), train$features) %*% train$residuals) / 50, 1e-12)
})
