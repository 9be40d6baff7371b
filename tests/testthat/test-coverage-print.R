test_that("coverage of models and groups fits 80 columns, in percent", {
  withr::local_options(width = 80)
  withr::local_seed(1)
  d <- data.frame(mu = rexp(90, .01), region = factor(c("north", "south", "west"), c("none", "north", "south", "west")))
  d$y <- rnbinom(90, mu = d$mu, size = 2)
  found <- ce_coverage(d, y, poisson = pred_poisson(mu), negbin = pred_negbin(mu, 2), .by = region)
  lines <- capture.output(print(found))
  expect_lte(max(nchar(lines)), 80)
  expect_match(lines[2], "model region level nominal +coverage +below +above +width +p \\(Holm\\)")
  first <- tidy(found)[1, ]
  expect_match(lines[3], sprintf("poisson +north +50%% +%.1f +%.1f \\(%.1f to %.1f\\)", 100 * first$nominal,
                                 100 * first$coverage, 100 * first$conf.low, 100 * first$conf.high))
  expect_length(lines, 2 + 12 + 1 + 2 + 6)
  skip_if_not_installed("knitr")
  expect_match(paste(ce_kable(found, format = "pipe"), collapse = "\n"), "Coverage of central prediction intervals")
})
