data <- withr::with_seed(1, list(p = runif(60), u = runif(60)))
data$y <- as.integer(data$u < data$p^1.5)
run <- function(...) withr::with_seed(2, ce_test(data$p, data$y, ...))

test_that("the critical value is where the p-value passes alpha", {
  for (add_one in c(TRUE, FALSE)) {
    out <- run(test = test_bootstrap(99, add_one))
    critical <- critical_draw(out, 0.1)
    p_at <- function(statistic) {
      reached <- sum(out$null >= statistic)
      if (add_one) (1 + reached) / 100 else reached / 99
    }
    expect_gt(p_at(critical), 0.1)
    expect_lte(p_at(critical + 1e-9), 0.1)
  }
  expect_null(critical_draw(run(test = test_conditional(9)), 0.05))
})

test_that("reference laws have the test's p-value right of the statistic", {
  tests <- list(
    run(test = test_block(2)), run(test = test_block(2, "pairs")), run(test = test_cme(reference = "chisq")),
    run(test = test_cme(reference = "f"))
  )
  for (out in tests) {
    law <- reference_law(out)
    tail <- integrate(law$density, unname(out$statistic), Inf, rel.tol = 1e-10)$value
    expect_equal(tail, out$p.value, tolerance = 1e-6)
    expect_equal(law$quantile(1 - out$p.value), unname(out$statistic), tolerance = 1e-8)
    shown <- null_curve(law, unname(out$statistic))
    expect_true(all(is.finite(shown$height)))
    expect_gte(max(shown$x), out$statistic)
  }
})

test_that("every test with a null distribution draws", {
  tests <- list(
    run(test = test_conditional(39)), run(test = test_bootstrap(39)), run(test = test_consistency(39)),
    run(test = "block"), run(test = test_cme(times = 39)), run(test = test_cme(reference = "chisq")),
    run(test = test_conditional(5))
  )
  withr::local_pdf(NULL)
  skip_if_not_installed("ggplot2")
  expect_s3_class(plot(tests[[1]]), "ggplot")
  for (out in tests) {
    drawn <- ggplot2::ggplot_build(ggplot2::autoplot(out))
    # without building it again
    expect_no_error(plot(ggplot2::ggplot_gtable(drawn)))
    expect_equal(drawn$data[[2]]$xintercept[1], unname(out$statistic))
    expect_equal(nrow(drawn$data[[2]]), if (identical(out, tests[[7]])) 1 else 2)
  }
  expect_equal(nrow(ggplot2::layer_data(ggplot2::autoplot(tests[[1]], alpha = NULL), 2)), 1)
})

test_that("tests without a null distribution say so", {
  skip_if_not_installed("ggplot2")
  expect_error(plot(run(test = "bound")), class = "calibrisk_error_test")
  same <- suppressWarnings(ce_test(rep(c(.2, .8), 30), rep(0:1, 30), test = test_block(block = 2)))
  expect_error(plot(same), class = "calibrisk_error_test")
  expect_error(plot(run(test = test_conditional(9)), alpha = 2), class = "calibrisk_error_argument")
  expect_error(ggplot2::autoplot(run(test = "bound")), class = "calibrisk_error_test")
})

test_that("a null distribution without spread is one bar, one without values an error", {
  for (null in list(rep(0, 99), rep(0.3, 99), c(rep(0.3, 98), 0.3 + 6e-17), rep(2e-33, 99), c(rep(0, 98), 1e-320),
                    c(rep(Inf, 98), 0.2), c(rep(1, 50), rep(1 + 1e-15, 49)))) {
    bars <- null_bars(null)
    expect_equal(nrow(bars), 1)
    expect_true(all(is.finite(unlist(bars))) && bars$left < bars$right)
    expect_equal(bars$height * (bars$right - bars$left), 1)
  }
  expect_error(null_bars(rep(Inf, 9)), "infinite", class = "calibrisk_error_test")
  certain <- ce_test(rep(0:1, 30), rep(0:1, 30), test = "conditional")
  withr::local_pdf(NULL)
  skip_if_not_installed("ggplot2")
  expect_s3_class(plot(certain), "ggplot")
  expect_no_error(ggplot2::ggplotGrob(ggplot2::autoplot(certain)))
})
