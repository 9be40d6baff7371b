probs <- oracle_classes$probs
truth <- oracle_classes$truth

dirichlet <- function(n, m, shape = 1) random_simplex(n, m, shape)

test_that("the factored statistic of redrawn labels is the unbiased estimate", {
  data <- withr::with_seed(1, list(p = dirichlet(60, 4), y = sample(4, 60, TRUE)))
  laws <- read_laws(data$p, rlang::quo(data$y))
  for (target in list(kernel_white(), kernel_gaussian(2))) {
    problem <- kernel_problem(laws, kernel_gaussian(.4), target)
    l <- cpp_pivoted_cholesky(problem$prediction$kernel, problem$prediction$features, 1e-14, 60, 1L)$L
    gram <- target_gram(problem)
    exact <- skce_value(problem, "unbiased")$estimate$value
    expect_equal(cpp_class_statistic(l, data$p, gram, data$y, 1L), exact, tolerance = 1e-9)
    null <- withr::with_seed(2, cpp_class_redraws(l, data$p, gram, 3, FALSE, 2L, NULL))
    # the same labels from the same uniforms
    u <- withr::with_seed(2, matrix(runif(180), 60))
    again <- apply(u, 2, function(v) cpp_class_statistic(l, data$p, gram, oracle_drawn_classes(data$p, v), 1L))
    expect_equal(null, again, tolerance = 1e-9)
    expect_length(cpp_class_redraws(l, data$p, gram, 5, TRUE, 1L, NULL), 5)
  }
})

test_that("a low-rank factor reports its error", {
  data <- withr::with_seed(1, list(p = dirichlet(300, 4), y = sample(4, 300, TRUE)))
  exact <- skce(data$p, data$y, kernel = kernel_gaussian(.4))
  low <- skce(data$p, data$y, kernel = kernel_gaussian(.4), tolerance = 1e-3)
  expect_lt(low$rank, 150)
  expect_lt(abs(low$.estimate - exact$.estimate), low$error_bound)
  expect_lt(low$error_bound, 1e-3)
  fine <- skce(data$p, data$y, kernel = kernel_gaussian(.4), tolerance = 1e-13, type = "biased")
  expect_equal(fine$.estimate, skce(data$p, data$y, kernel = kernel_gaussian(.4), type = "biased")$.estimate,
               tolerance = 1e-8)
  expect_error(skce(pred_normal(0, 1:6), 1:6, tolerance = 1e-3), class = "calibrisk_error_argument")
})

test_that("a drawn class is where the probabilities, largest first, add up to a uniform number", {
  p <- rbind(dirichlet(40, 4), c(0, 1, 0, 0), c(0, 0, 1, 0), c(.5, .5, 0, 0))
  drawn <- withr::with_seed(3, cpp_draw_classes(p))
  u <- withr::with_seed(3, stats::runif(43))
  expect_identical(drawn, oracle_drawn_classes(p, u))
})

test_that("conditional, bootstrap and consistency tests hold their level and have power", {
  reject <- function(test, calibrated, runs, n = 40) {
    mean(replicate(runs, {
      p <- dirichlet(n, 3)
      y <- if (calibrated) cpp_draw_classes(p) else rep(1L, n)
      ce_test(p, y, kernel = kernel_laplace(.5), test = get(paste0("test_", test))(times = 99))$p.value <= .1
    }))
  }
  rates <- withr::with_seed(11, c(
    conditional = reject("conditional", TRUE, 300), consistency = reject("consistency", TRUE, 100),
    bootstrap = reject("bootstrap", TRUE, 200)
  ))
  expect_lt(abs(rates[["conditional"]] - .1), 4 * sqrt(.09 / 300))
  expect_lt(rates[["consistency"]], .1 + 4 * sqrt(.09 / 100))
  expect_lt(rates[["bootstrap"]], .1 + 4 * sqrt(.09 / 200))
  power <- withr::with_seed(12, vapply(c("conditional", "consistency", "bootstrap"), reject, 0, FALSE, 10))
  expect_true(all(power == 1))
})

test_that("no kernel depends on outcomes that are redrawn", {
  p <- pred_normal(c(0, 1, 3), c(1, 2, .5))
  of <- function(y) ce_test(p, y, test = test_conditional(times = 2))$target_kernel$bandwidth
  expect_equal(of(c(0, 1, 2)), of(c(5, 9, -20)))
  within <- mean(c(1, 4, .25))
  between <- mean((c(0, 1, 3) - 4 / 3)^2)
  expect_equal(of(c(0, 1, 2)), sqrt(2 * (within + between)))
})

test_that("kept matrices give the statistics of the general loop", {
  same <- function(p, y, target = NULL, draws = 20) {
    laws <- read_laws(p, rlang::quo(y))
    target <- outcome_kernel(target, laws)
    problem <- kernel_problem(laws, NULL, target, draws)
    kept <- withr::with_seed(1, redraws_of_kept(problem, 5))
    expect_equal(kept, withr::with_seed(1, redraw_statistics(problem, 5, FALSE)), tolerance = 1e-10)
  }
  data <- withr::with_seed(1, list(m = rnorm(20), y = rnorm(20), z = matrix(rnorm(60), 20)))
  same(pred_normal(data$m, 1), data$y)
  same(pred_normal(data$m, 1), data$y, kernel_laplace(1) + 0.5 * kernel_gaussian(2))
  same(pred_laplace(data$m, 1), data$y)
  same(pred_mixture(pred_normal(data$m, 1), pred_normal(data$y, 2)), data$y)
  same(pred_draws(data$z), data$y)
  same(pred_mvnormal(data$z, diag(3) + .5), data$z)
  same(pred_poisson(exp(data$m)), rep(0:3, 5), 2 * kernel_gaussian(1))
})

test_that("with groups: a factor per group, the statistic and null law of the general loop", {
  data <- withr::with_seed(1, list(p = dirichlet(60, 3), g = sample(c("a", "b", "c"), 60, TRUE)))
  data$g[7] <- "alone"
  data$y <- withr::with_seed(2, cpp_draw_classes(data$p))
  run <- function(times) {
    ce_test(data$p, data$y, group = data$g, kernel = kernel_gaussian(.4),
            test = test_conditional(times = times, tolerance = 1e-13))
  }
  out <- withr::with_seed(3, run(2000))
  expect_equal(out$test, "conditional")
  exact <- skce(data$p, data$y, group = data$g, kernel = kernel_gaussian(.4))$.estimate
  expect_equal(unname(out$statistic), exact, tolerance = 1e-8)
  laws <- read_laws(data$p, rlang::quo(data$y))
  laws$group <- ckce_group(data$g, NULL, laws)
  problem <- kernel_problem(laws, kernel_gaussian(.4))
  loop <- withr::with_seed(4, redraw_statistics(problem, 2000, FALSE))
  expect_gt(suppressWarnings(stats::ks.test(out$null, loop)$p.value), 1e-3)
  expect_lt(abs(mean(out$null)), 4 * sd(out$null) / sqrt(2000))
})

# The synthetic models of Widmann et al. (2021, appendix A.2): predictions N(c 1, 0.01 I), c uniform.
synthetic <- function(n, d, calibrated) {
  c <- runif(n)
  y <- matrix(rnorm(n * d, c, .1), n)
  if (!calibrated) y[, 1] <- rnorm(n, .1, .1)
  list(p = if (d == 1) pred_normal(c, .1) else pred_mvnormal(matrix(c, n, d), .01), y = y)
}
paper_kernels <- list(kernel = kernel_wasserstein(1), target_kernel = kernel_gaussian(1))

test_that("synthetic models: levels and power", {
  rate <- function(n, d, calibrated, runs, ...) {
    options <- c(list(...), paper_kernels)
    mean(vapply(seq_len(runs), function(r) {
      s <- synthetic(n, d, calibrated)
      rlang::inject(ce_test(s$p, s$y, !!!options))$p.value <= .05
    }, NA))
  }
  withr::with_seed(2, {
    for (d in c(1, 10)) {
      expect_lt(rate(64, d, TRUE, 100, test = test_block(2)), .05 + 4 * sqrt(.0475 / 100))
      expect_lt(rate(64, d, TRUE, 100, test = test_bootstrap(199)), .065 + 4 * sqrt(.06 / 100))
      expect_gt(rate(64, d, FALSE, 20, test = test_block(2)), .9)
      expect_equal(rate(64, d, FALSE, 20, test = test_bootstrap(199)), 1)
    }
    expect_lt(abs(rate(16, 1, TRUE, 150, test = test_conditional(39)) - .05), 4 * sqrt(.0475 / 150))
    expect_gt(rate(16, 1, FALSE, 10, test = test_conditional(39)), .85)
  })
})

test_that("redrawn outcomes change a weighted sum of h_Y as the matrix itself does", {
  z <- withr::with_seed(1, rnorm(70))
  y <- withr::with_seed(2, rnorm(70, z))
  plane <- withr::with_seed(3, matrix(rnorm(140), 70))
  cases <- list(
    list(pred_normal(z, .5), y, kernel_gaussian(1)), list(pred_laplace(z, .5), y, kernel_laplace(1)),
    list(pred_normal(z, .5), y, 2 * (kernel_linear() + kernel_matern(1.5, 1))),
    list(pred_mvnormal(plane, rep(.5, 70)), plane[70:1, ], kernel_gaussian(2)),
    list(pred_poisson(exp(z)), rpois(70, 2), kernel_gaussian(1)),
    list(pred_draws(outer(z, 1:6 / 3, `+`)), y, kernel_laplace(1))
  )
  weights <- withr::with_seed(4, crossprod(matrix(rnorm(70^2), 70)))
  for (case in cases) {
    problem <- kernel_problem(read_laws(case[[1]], rlang::quo(case[[2]])), kernel_gaussian(1), case[[3]])
    sum_of <- function(laws) sum(weights * cpp_target_matrix(bind_target(case[[3]], laws, 10)$spec, FALSE, 1L))
    laws <- problem$laws
    laws$roots <- law_roots(laws$law)
    naive <- withr::with_seed(5, replicate(3, sum_of(redraw_outcomes(laws))))
    shift <- function(...) {
      withr::with_seed(5, outcome_shifts(weights, problem$target, problem$target_kernel, problem$laws, 3, ...))
    }
    scale <- sum(abs(weights))
    expect_equal((shift() + sum_of(laws)) / scale, naive / scale, tolerance = 1e-10)
    expect_equal(shift(numbers_at_once = 70), shift())  # in batches
  }
})

test_that("certain predictions that come true are no evidence, in spite of rounding", {
  y <- withr::with_seed(1, sample(3, 30, TRUE))
  for (test in c("consistency", "conditional")) {
    fit <- withr::with_seed(1, ce_test(diag(3)[y, ], y, test = get(paste0("test_", test))(times = 50)))
    expect_identical(fit$p.value, 1)
  }
})

test_that("consistency resampling takes a joint kernel, and kernels on distributions, whatever the labels", {
  data <- withr::with_seed(1, list(p = dirichlet(15, 3), y = sample(3, 15, TRUE), rate = rexp(15)))
  counts <- withr::with_seed(3, rpois(15, data$rate))
  null <- function(problem) withr::with_seed(2, redrawn(problem, test_consistency(times = 9), TRUE, 0))$null
  loop <- function(problem) withr::with_seed(2, redraw_statistics(problem, 9, TRUE))
  classes <- read_laws(data$p, rlang::quo(data$y))
  joint <- kernel_problem(classes, function(p, y, q, z) exp(-sum(abs(p - q))) * (y == z))
  expect_equal(null(joint), loop(kernel_problem(classes, kernel_tv(.5))), tolerance = 1e-10)
  laws <- kernel_problem(read_laws(pred_poisson(data$rate), rlang::quo(counts)), kernel_hellinger(1))
  expect_equal(null(laws), loop(laws), tolerance = 1e-10)
})
