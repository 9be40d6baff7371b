test_that("the panel is its functions, one by one", {
  withr::with_seed(1, {
    x <- round(stats::runif(150, .01, .99), 2)
    y <- stats::rbinom(150, 1, x^2)
  })
  out <- ce_panel(x, y, n_bins = 12) # Hosmer-Lemeshow keeps its own 10 groups
  quiet <- suppressMessages(hosmer_lemeshow(x, y))
  expected <- list(
    rbs(x, y), ece(x, y, n_bins = 12), ece(x, y, n_bins = 12, type = "mass"), ece(x, y, type = "sweep"),
    ece(x, y, n_bins = 12, p = 2), ece(x, y, n_bins = 12, p = 2, type = "mass", debias = TRUE),
    ks_error(x, y), mmce(x, y), kde_error(x, y, kernel = "triweight"), smooth_ece(x, y), ici(x, y),
    cox_calibration(x, y), spiegelhalter(x, y), quiet
  )
  column <- function(name) unlist(lapply(expected, function(e) e[[name]] %||% rep(NA_real_, nrow(e))))
  for (name in c(".metric", ".estimate", "std.error", "conf.low", "conf.high", "p.value")) {
    expect_equal(out[[name]], column(name), info = name)
  }
  expect_equal(nrow(out), 20)
})

test_that("what has no value is NA and says why", {
  out <- ce_panel(c(0, 1, 1, .5), c(0, 1, 1, 0))
  row <- function(metric) out[out$.metric == metric, ]
  expect_true(is.na(row("cox_slope")$.estimate))
  expect_match(row("cox_slope")$detail, "infinite logits")
  expect_true(is.na(row("kde_error")$.estimate))
  expect_match(row("kde_error")$detail, "bandwidth")
  expect_match(row("spiegelhalter")$detail, "not defined")
  expect_equal(row("rbs")$.estimate, .25)
  frame <- data.frame(.pred_1 = c(.2, .6, .7, .3), y = c(0, 1, 0, 1), g = c("a", "a", "b", "b"))
  grouped <- ce_panel(frame, y, .by = g)
  expect_equal(as.vector(table(grouped$g)), c(20, 20))
})

test_that("a reason is one line, however the source breaks it", {
  cnd <- rlang::catch_cnd(stop_input(c("A rule that goes on \\
                                        in the next line.", "x" = "A fact."), "argument", call = NULL))
  expect_identical(panel_reason(cnd), "A rule that goes on in the next line.")
})
