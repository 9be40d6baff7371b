# Tests as values.

p <- withr::with_seed(3, stats::runif(60))
y <- withr::with_seed(4, stats::rbinom(60, 1, p))
run <- function(...) withr::with_seed(1, ce_test(p, y, ..., kernel = kernel_gaussian(.5)))

test_that("a test by name and as a value give the same numbers", {
  for (name in c("conditional", "consistency", "bootstrap", "block", "bound", "cme")) {
    expect_identical(run(test = name), run(test = get(paste0("test_", name))()))
  }
  wrong <- as.integer(p > .5)
  joint <- function(test) ce_test(p, wrong, test = test)
  expect_identical(joint("joint"), joint(test_joint()))
  expect_identical(joint(test_joint(c(hats = 8)))$p.value, ce_estimate(p, wrong, bases = c(hats = 8))$p.value)
  expect_false(joint(test_joint(c(hats = 8)))$p.value == joint("joint")$p.value)
})

test_that("`auto` is the conditional test where a kernel is given", {
  expect_identical(run()$p.value, run(test = test_conditional())$p.value)
  expect_identical(ce_test(p, y)$p.value, ce_test(p, y, test = "joint")$p.value)
})

test_that("options out of range, and those that another one switches off, are errors", {
  expect_error(test_bound(block = 5), "type = \"block\"", class = "calibrisk_error_argument")
  expect_error(test_cme(locations = list(x = 1)), "locations", class = "calibrisk_error_argument")
  expect_error(test_conditional(0), "times", class = "calibrisk_error_argument")
  expect_error(test_consistency(tolerance = 0), "tolerance", class = "calibrisk_error_argument")
  expect_error(test_bootstrap(add_one = 1), "add_one", class = "calibrisk_error_argument")
  expect_error(test_block(reference = "chisq"), "reference", class = "calibrisk_error_argument")
  expect_error(test_joint(bases = 3), "bases", class = "calibrisk_error_argument")
})
