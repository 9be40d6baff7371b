kde_problem <- function(n, k, seed = 1) {
  withr::with_seed(seed, {
    P <- random_simplex(n, k)
    y <- sample.int(k, n, TRUE)
    list(canonical = oracle_problem(P, y, "canonical"), top_label = oracle_problem(P, y))
  })
}

kde_form <- function(problem, bandwidth) fit_form(method_kde(), problem, list(value = bandwidth), new_context())

test_that("published values of the small example", {
  d <- oracle_data()
  top <- oracle_problem(d$P, d$y)
  form <- kde_form(oracle_rows(top, d$fit), 0.1)
  held_out <- oracle_rows(top, d$eval)
  phi <- with_threads(1, pair_features(form, held_out$features))
  r <- c(0.63767338179, 0.63767338179, 0.999641037825, 0.329151320701,
         0.952611842608, 0.426421961414, 0.829966683215, 0.720040732749)
  expect_close(held_out$features - phi, r, tol$oracle)
  risk <- form_risk(form, held_out$features, held_out$residuals)
  expect_close(risk$risk, 0.0299615636066, tol$oracle)
  expect_close(risk_std_error(risk$projections), 0.0149111984561, tol$oracle)
  expect_close(mean(risk$squared), 0.00898864540338, tol$oracle)

  canonical <- oracle_problem(d$P, d$y, "canonical")
  form <- kde_form(oracle_rows(canonical, d$fit), 0.2)
  held_out <- oracle_rows(canonical, d$eval)
  gap <- form_gap(form, held_out$features)
  expect_close(gap[1, ], c(-0.195764500821, 0.185081995557, 0.0106825052643), tol$oracle)
  risk <- form_risk(form, held_out$features, held_out$residuals)
  expect_close(risk$risk, 0.0655930856172, tol$oracle)
  expect_close(risk_std_error(risk$projections), 0.0475002880956, tol$oracle)
  expect_close(mean(risk$squared), 0.0293699595732, tol$oracle)
})

test_that("at z = 1 ties count; the coordinates are clamped only where all weights vanish", {
  tied <- kde_ratio(matrix(c(1, 1, .9, .6)), c(1L, 0L, 1L, 0L), new = matrix(1), bandwidth = 0.1)
  expect_equal(drop(tied), 0.5, tolerance = 1e-14)
  far <- kde_ratio(matrix(c(.95, .9, .6)), c(1L, 0L, 0L), new = matrix(1), bandwidth = 0.1)
  expect_close(drop(far), 0.999999970838, tol$oracle)
})

test_that("ratios and likelihoods are those of naive loops", {
  for (k in c(2, 5)) {
    problem <- kde_problem(30, k, seed = k)$canonical
    new <- withr::with_seed(9, random_simplex(12, k))
    new[1, ] <- c(1, numeric(k - 1))
    new[2, ] <- c(0.25, 0.75, numeric(k - 2))
    problem$features[1, ] <- new[1, ]
    problem$features[2, ] <- c(0, 1, numeric(k - 2))
    for (h in c(1e-4, 1e-2, 0.1, 1)) {
      r <- kde_ratio(problem$features, problem$labels, k, new, h)
      expect_equal(r, oracle_kde_means(problem$features, problem$labels, new, h), tolerance = 1e-9)
      expect_equal(rowSums(r), rep(1, 12), tolerance = 1e-14)
      loo <- kde_ratio(problem$features, problem$labels, k, bandwidth = h, leave_one_out = TRUE)
      expect_equal(loo, oracle_kde_means(problem$features, problem$labels, problem$features, h,
                                         leave_one_out = TRUE), tolerance = 1e-9)
      expect_close(kde_loo_loglik(problem$features, h), oracle_kde_loglik(problem$features, h), 1e-9)
    }
  }
})

test_that("scalar ratios and likelihoods are those of naive loops", {
  z <- withr::with_seed(2, matrix(c(0, 1, 1, 0.5, 0.5, 0.5, 1e-12, 1 - 2^-53, rbeta(40, 2, 0.5))))
  y <- withr::with_seed(3, rbinom(length(z), 1, 0.6))
  new <- matrix(c(0, 1, 0.5, 1e-300, 1e-20, 1 - 2^-53, seq(0.01, 0.99, length.out = 20)))
  for (h in c(1e-5, 1e-3, 0.1, 1)) {
    want <- oracle_kde_means(z, y, new, h)
    expect_equal(kde_ratio(z, y, new = new, bandwidth = h), want, tolerance = 1e-8)
    expect_equal(kde_ratio(z, y, new = new, bandwidth = h, direct_pairs = 0), want, tolerance = 1e-8)
    expect_equal(kde_ratio(z, y, bandwidth = h, leave_one_out = TRUE),
                 oracle_kde_means(z, y, z, h, leave_one_out = TRUE), tolerance = 1e-8)
    expect_close(kde_loo_loglik(z, h), oracle_kde_loglik(z, h), 1e-9)
  }
})

test_that("the fallback uses max(p, 2^-53) only for training sets whose weights all vanish", {
  P <- rbind(c(0.5, 0.5, 0), c(0.2, 0.8, 0), c(0, 0.3, 0.7))
  x <- rbind(c(1, 0, 0), c(0, 0, 1), c(0.4, 0.6, 0))
  expect_equal(kde_ratio(P, c(1L, 2L, 3L), 3, x, 0.05), oracle_kde_means(P, 1:3, x, 0.05), tolerance = 1e-10)
  fold <- c(1L, 1L, 2L, 0L, 0L, 0L)
  X <- rbind(P, x)
  labels <- c(1L, 2L, 3L, 1L, 2L, 3L)
  problem <- oracle_problem(X, labels, "canonical")
  path <- tune_path(method_kde(), problem, fold, method_grid(method_kde(0.05), "canonical", 3), new_context())
  for (f in 1:2) {
    keep <- which(fold != 0 & fold != f)
    r <- oracle_kde_means(X[keep, , drop = FALSE], labels[keep], x, 0.05, n_classes = 3)
    expect_close(path$squared_error_test[1, f], mean(rowSums((x - r)^2)), 1e-9)
  }
})

test_that("the limits of the bandwidth", {
  problem <- kde_problem(25, 4)$canonical
  shares <- tabulate(problem$labels, 4) / 25
  r <- kde_ratio(problem$features, problem$labels, 4, problem$features, 1e9)
  expect_equal(r, matrix(shares, 25, 4, byrow = TRUE), tolerance = 1e-7)
  r <- kde_ratio(problem$features, problem$labels, 4, problem$features, 1e-7)
  expect_equal(max.col(r), problem$labels)
  tiny <- kde_ratio(problem$features, problem$labels, 4, problem$features, 1e-310)
  expect_false(anyNA(tiny))
  one <- kde_ratio(problem$features[1, , drop = FALSE], 3L, 4, problem$features, 0.1)
  expect_equal(one, matrix(c(0, 0, 1, 0), 25, 4, byrow = TRUE))
  expect_true(all(is.na(kde_ratio(problem$features[1, , drop = FALSE], 3L, 4, bandwidth = 0.1, leave_one_out = TRUE))))
})

test_that("the path is the loop over fit_form(), for any number of threads", {
  for (way in c("canonical", "top_label", "near_linear")) {
    notion <- if (way == "near_linear") "top_label" else way
    context <- function() c(new_context(), list(direct_pairs = if (way == "near_linear") 0 else Inf))
    problem <- kde_problem(60, 3)[[notion]]
    problem$labels[problem$labels == 3] <- 1L  # a class without training rows
    problem$features[5, ] <- problem$features[6, ]
    fold <- rep(c(1L, 2L, 3L, 1L, 2L, 0L), 10)
    grid <- method_grid(method_kde(), notion, 33)
    path <- tune_path(method_kde(), problem, fold, grid, context())
    expect_identical(path[1:3], with_threads(2, tune_path(method_kde(), problem, fold, grid, context()))[1:3])
    for (v in c(1, 8, 20)) {
      for (f in 1:3) {
        form <- path$form(v, f)
        held_out <- take_rows(problem, which(fold == f))
        risk <- form_risk(form, held_out$features, held_out$residuals)
        expect_close(path$risk[v, f], risk$risk, 1e-10)
        expect_close(path$squared_error[v, f], mean(risk$squared), 1e-10)
        test <- form_squared(form, problem$features[fold == 0, , drop = FALSE])
        expect_close(path$squared_error_test[v, f], mean(test), 1e-10)
      }
    }
  }
})

# Values and queries of every kind: dense, next to 1, next to 0, tied, at both ends.
beta_samples <- function(n) {
  list(
    confident = rbeta(n, 6, 0.3), rare = rbeta(n, 0.05, 2), even = runif(n),
    cluster = 0.9 + 1e-6 * runif(n), rounded = round(rbeta(n, 4, 0.5), 3),
    ends = c(0, 1, 1, rbeta(n - 4, 0.3, 0.3), 1), constant = rep(0.7, n)
  )
}

test_that("the near-linear way agrees with the sum over all pairs", {
  withr::local_seed(11)
  samples <- beta_samples(6000)
  for (name in names(samples)) {
    z <- samples[[name]]
    y <- rbinom(length(z), 1, 0.2 + 0.6 * z)
    new <- matrix(c(0, 1, 1e-300, 1e-20, 1e-9, 0.5, 1 - 2^-53, 1 - 1e-9, runif(120), z[1:120],
                    seq(0.4, 0.6, length.out = 400)))
    for (h in c(9.99999974737875e-06, 1e-4, 1e-2, 0.2, 1)) {
      fast <- kde_ratio(matrix(z), y, new = new, bandwidth = h, direct_pairs = 0)
      direct <- kde_ratio(matrix(z), y, new = new, bandwidth = h, direct_pairs = Inf)
      expect_lt(max(abs(fast - direct)), 2e-9)
      expect_identical(fast, kde_ratio(matrix(z), y, new = new, bandwidth = h, direct_pairs = 0))
    }
  }
})

test_that("folds without rows, one-row folds and no test rows give NA, never NaN", {
  problem <- kde_problem(4, 3)$canonical
  grid <- method_grid(method_kde(0.1), "canonical", 2)
  path <- tune_path(method_kde(), problem, c(1L, 1L, 3L, 3L), grid, new_context())
  expect_identical(is.na(path$risk), matrix(c(FALSE, TRUE, FALSE), 1))
  expect_true(all(is.na(path$squared_error_test)))
  expect_false(any(is.nan(unlist(path[1:3]))))
  path <- tune_path(method_kde(), problem, c(1L, 2L, 2L, 0L), grid, new_context())
  expect_identical(is.na(path$risk), matrix(c(TRUE, FALSE), 1))
  expect_false(anyNA(path$squared_error))
  expect_error(kde_form(oracle_rows(problem, integer()), 0.1), class = "calibrisk_error_empty")
})

test_that("method_kde() checks and describes itself", {
  expect_error(method_kde(0), class = "calibrisk_error_argument")
  expect_error(method_kde(c(0.1, NA)), class = "calibrisk_error_argument")
  expect_identical(format(method_kde(0.1)), "kernel density (bandwidth = 0.1)")
  grid <- method_grid(method_kde(), "canonical", 100)
  expect_length(grid$value, 20)
  expect_equal(grid$value[c(1, 15, 20)], c(1e-5, 0.1, 1))
})

test_that("many tied queries at the end of the data are no stretch of zero width", {
  withr::local_seed(1)
  train <- matrix(c(rep(1, 300), 1 - 2^-23 * (1:200)))
  labels <- as.integer(runif(500) < 0.9)
  new <- matrix(c(runif(100), rep(1 - 2^-23, 50)))
  for (bandwidth in c(1e-5, 1e-3, 0.1)) {
    fast <- kde_ratio(train, labels, 1, new, bandwidth, direct_pairs = 0)
    expect_equal(fast, kde_ratio(train, labels, 1, new, bandwidth, direct_pairs = Inf), tolerance = 1e-9)
  }
})

test_that("ratios of many rows, by chunks, leave out the row or its fold; threads change nothing", {
  n <- 1300
  x <- withr::with_seed(1, random_simplex(n, 3))
  x[5, ] <- c(1, 0, 0)
  labels <- withr::with_seed(2, sample(3L, n, replace = TRUE))
  w <- withr::with_seed(3, runif(n, 0.5, 2))
  fold <- rep(1:5, length.out = n)
  for (h in c(1e-5, 0.05)) {
    for (weights in list(numeric(), w)) {
      both <- cpp_kde_left_out(x, labels, fold, h, weights, 2L, NULL)
      own <- kde_ratio(x, labels, bandwidth = h, leave_one_out = TRUE, weights = if (length(weights) > 0) weights)
      expect_equal(both$own, own, tolerance = 1e-12)
      others <- fold != 4
      expect_equal(both$fold[!others, ], tolerance = 1e-12, kde_ratio(
        x[others, ], labels[others], 3, x[!others, ], h, weights = if (length(weights) > 0) weights[others]
      ))
      expect_identical(cpp_kde_left_out(x, labels, fold, h, weights, 1L, NULL), both)
    }
    at <- c(1, 5, 511:514)
    some <- oracle_kde_means(x, labels, x[at, ], h)
    expect_equal(kde_ratio(x, labels, new = x[at, ], bandwidth = h), some, tolerance = 1e-9)
  }
})

test_that("of many rows the likelihood of evenly spaced ones chooses the bandwidth, whoever retires before", {
  chosen <- vapply(1:20, function(seed) {
    x <- withr::with_seed(seed, random_simplex(400, 4))
    if (seed %% 2 == 0) x <- x^2 / rowSums(x^2)
    rows <- as.integer(round(seq(1, 400, length.out = 300)))
    density <- cpp_kde_loo_density(x, rows, kde_bandwidths(), 2L, NULL)
    raced <- likely_bandwidth(x, many = 399L, race = c(40L, 100L, 300L))
    c(raced, kde_bandwidths()[which.max(colSums(density))])
  }, numeric(2))
  expect_identical(chosen[1, ], chosen[2, ])
  x <- withr::with_seed(1, random_simplex(60, 3))
  expect_identical(likely_bandwidth(x), kde_bandwidths()[which.max(kde_loo_loglik(x, kde_bandwidths()))])
})
