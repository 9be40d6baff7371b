# Seeds of battery_contradictions() are kinds of samples; more of them by hand.
test_that("no two verbs contradict each other about the same rows", {
  skip_on_cran()
  # among these: classes, clusters, weights, groups and rare events, and a comparison of few clusters
  # 195: a state's knots reject alone; 332: a p-value of .05 at the level .95
  seeds <- c(1:3, 10, 12:14, 195, 332)
  for (seed in seeds) expect_identical(battery_contradictions(seed), character(), info = paste("seed", seed))
  kinds <- vapply(seeds, function(seed) battery_case(seed)$kind, "")
  expect_setequal(kinds, c("rows", "clusters", "few clusters", "weights", "copies"))
})

test_that("the battery finds an interval that disagrees with its p-value, and a sentence that does", {
  row <- ce_estimate(stats::plogis(seq(-2, 2, length.out = 200)), rep(0:1, 100))
  expect_identical(estimate_contradictions(row, "", 0.95), character())
  expect_identical(estimate_contradictions(transform(row, p.value = 0.001, conf.low = 0), "", 0.95),
                   "interval and p-value")
  wrong <- transform(row, p.value = 0.001, conf.low = 0.01, lower_bound = 0.01, estimate = 0.2, conf.high = 0.3)
  expect_identical(estimate_contradictions(wrong, "The calibration error is not shown to be above 0", 0.95), "not above")
  expect_identical(estimate_contradictions(wrong, "No evidence of miscalibration: the", 0.95), "no evidence")
})
