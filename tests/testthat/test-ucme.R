probs <- oracle_classes$probs
truth <- oracle_classes$truth
tv <- kernel_tv(0.45)
at <- list(x = rbind(c(.5, .3, .2), c(.2, .2, .6)), truth = c(1, 3))

test_that("classes", {
  out <- ucme(probs, truth, locations = at, kernel = tv)
  expect_equal(out$.estimate, .00132062838067, tolerance = 1e-9)
  expect_equal(out$witness[[1]], c(-.0449032671333, -.0249990672244), tolerance = 1e-9)
  q <- ce_test(probs, truth, test = test_cme(locations = at, reference = "chisq"), kernel = tv)
  expect_equal(unname(q$statistic), .684811465798, tolerance = 1e-9)
  expect_equal(q$p.value, .710060051533, tolerance = 1e-9)
  f <- ce_test(probs, truth, test = test_cme(locations = at, reference = "f"), kernel = tv)
  expect_equal(f$p.value, .773584708634, tolerance = 1e-9)
  redrawn <- withr::with_seed(1, ce_test(probs, truth, test = test_cme(locations = at, times = 99), kernel = tv))
  expect_gt(redrawn$p.value, .2)
})

test_that("two opposite certain predictions", {
  at <- list(x = rbind(c(1, 0), c(.5, .5), c(0, 1)), truth = c(1, 1, 2))
  of <- function(y) ucme(diag(2), y, locations = at, kernel = kernel_gaussian(1))$.estimate
  expect_equal(of(1:2), 0)
  expect_equal(of(c(1, 1)), .1451554952, tolerance = 1e-9)
  expect_equal(of(c(2, 2)), .1451554952, tolerance = 1e-9)
  expect_equal(of(2:1), .0665960668, tolerance = 1e-9)
})

test_that("normal predictions", {
  o <- oracle_normal
  p <- pred_normal(o$mean, o$sd)
  at <- list(x = pred_normal(c(.5, -1), c(.5, 1.5)), truth = c(1, -.5))
  kernels <- list(kernel = kernel_wasserstein(1), target_kernel = kernel_gaussian(1))
  out <- do.call(ucme, c(list(p, o$y, locations = at), kernels))
  expect_equal(out$.estimate, .000834344321898, tolerance = 1e-9)
  test <- do.call(ce_test, c(list(p, o$y, test = test_cme(at, "chisq")), kernels))
  expect_equal(unname(test$statistic), 1.56184542449, tolerance = 1e-9)
  expect_equal(test$p.value, .457983229549, tolerance = 1e-9)
  test <- do.call(ce_test, c(list(p, o$y, test = test_cme(at, "f")), kernels))
  expect_equal(test$p.value, .580614687075, tolerance = 1e-9)
  two <- pred_normal(0:1, 1:2)
  one <- list(x = pred_normal(.5, .5), truth = 1)
  expect_equal(do.call(ucme, c(list(two, c(0, .5), locations = one), kernels))$.estimate, .00342729079663,
               tolerance = 1e-9)
  expect_equal(do.call(ucme, c(list(two, c(0, .5), locations = at), kernels))$.estimate, .00304196892589,
               tolerance = 1e-9)
})

test_that("the redrawn CME test holds its level where chi-squared does not", {
  p <- withr::with_seed(4, replicate(120, {
    mu <- runif(16)
    y <- rnorm(16, mu, .1)
    run <- function(test) {
      withr::with_preserve_seed(withr::with_seed(9, suppressWarnings(
        ce_test(pred_normal(mu, .1), y, test = test, kernel = kernel_wasserstein(1),
                target_kernel = kernel_gaussian(1))$p.value
      )))
    }
    c(run(test_cme(5, times = 39)), run(test_cme(5, "chisq")))
  }))
  expect_lt(mean(p[1, ] <= .1, na.rm = TRUE), .1 + 4 * sqrt(.09 / 120))
  expect_gt(mean(p[2, ] <= .1, na.rm = TRUE), .3)
})

test_that("bad input", {
  expect_error(ce_test(probs, truth, test = test_cme(locations = 6)), class = "calibrisk_error_rows")
  expect_error(ucme(probs, truth, locations = list(x = diag(2), truth = 1:2)), class = "calibrisk_error_argument")
  expect_warning(out <- ce_test(diag(2)[rep(1:2, 5), ], rep(1:2, 5), test = test_cme(locations = 2)),
                 class = "calibrisk_warning_degenerate")
  expect_true(is.na(out$p.value))
  # distances between predictions, and between their outcomes, are beyond doubles
  far <- pred_lognormal(rep(0, 10), 1e6 * (1:10))
  expect_no_warning(expect_error(ucme(far, 1:10), class = "calibrisk_error_argument"))
  expect_error(ucme(far, 1:10, target_kernel = kernel_gaussian(1)), class = "calibrisk_error_distribution")
})
