summary_models <- function(n = 150) {
  withr::with_seed(4, {
    p <- stats::runif(n)
    y <- stats::rbinom(n, 1, p)
    noise <- function(s) stats::plogis(stats::qlogis(p) + stats::rnorm(n, 0, s))
    ce_models(list(checkpoint_of_true_v1 = p, checkpoint_of_close_v1 = noise(0.3), checkpoint_of_far_v1 = noise(3)), y)
  })
}

test_that("a summary holds the numbers of the functions it stands for, best first", {
  m <- summary_models()
  s <- summary(m)
  expect_false(is.unsorted(s$estimate))
  expect_identical(s$estimate, ce_score(m)$.estimate[match(s$model, names(m))])
  errors <- ce_estimate(m[s$model])
  expect_identical(unname(as.list(s)[c("calibration_error", "error.low", "error.high")]),
                   unname(as.list(errors)[c("estimate", "conf.low", "conf.high")]))
  expect_identical(s$auroc, ce_score(m[s$model], score = "auroc")$.estimate)
  pairs <- ce_compare(m[s$model], metric = "brier")
  expect_equal(s$difference[-1], -pairs$difference[1:2])
  expect_equal(s$conf.low[-1], -pairs$conf.high[1:2])
  expect_identical(s$p.value, c(NA, pairs$p.adjusted[1:2]))
  expect_identical(s$model[s$can_be_best], ce_rank(m, metric = "brier")$estimates$model[1:2])
  up <- summary(m, metric = "auroc")
  expect_false(is.unsorted(-up$estimate))
  expect_true(all(up$difference <= 0))
  x <- stats::qnorm((1:60) / 61)
  laws <- summary(ce_models(list(wide = pred_normal(x, 3), b = pred_normal(x, 1)), x + sin(1:60)))
  expect_identical(c(laws$model, laws$.metric[1]), c("b", "wide", "crps"))
  expect_null(laws[["calibration_error"]])
})

test_that("print and figure tell the models apart", {
  skip_if_not_installed("ggplot2")
  s <- summary(summary_models())
  expect_match(capture_output(print(s)), "can be the best by Brier score: close, true")
  drawn <- ggplot2::ggplot_build(plot(s))$data
  expect_equal(drawn[[3]]$x, c(s$difference, s$calibration_error))
  expect_identical(drawn[[3]]$fill == "white", rep(!s$can_be_best, 2))
  expect_s3_class(plot(summary_models(), metric = "auroc"), "ggplot")
  expect_output(print(s[c("model", "n")]), "tibble")
  expect_error(summary(summary_models(), metric = spiegelhalter), class = "calibrisk_error_argument")
})

test_that("short names lose what all share, and stay different", {
  short <- function(...) unname(short_names(c(...)))
  expect_identical(short("wasserstein_resnet_20_final", "wasserstein_resnet_32_final"), c("20", "32"))
  expect_identical(short("a", "averyveryveryverylongname"), c("a", "averyvery..ylongname"))
  expect_identical(short("same-same-same-same-same", "same-same-same-same-same-b"), c("same", "same-b"))
  expect_identical(short("one_model_of_a_long_name"), "one_model_of_a_long_name")
  expect_identical(short("aaaaaaaaaaaaXaaaaaaaaaaaa", "aaaaaaaaaaaaYaaaaaaaaaaaa"),
                   c("aaaaaaaaaaaaXaaaaaaaaaaaa", "aaaaaaaaaaaaYaaaaaaaaaaaa"))
})
