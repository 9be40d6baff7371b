# Tests as values.

p <- withr::with_seed(3, stats::runif(60))
y <- withr::with_seed(4, stats::rbinom(60, 1, p))
run <- function(...) withr::with_seed(1, ce_test(p, y, ..., kernel = kernel_gaussian(.5)))

test_that("a test by name and as a value give the same numbers", {
  expect_identical(run(test = "conditional", replicates = 30, add_one = FALSE),
                   run(test = test_conditional(30, add_one = FALSE)))
  expect_identical(run(test = "consistency", replicates = 30, tolerance = 1e-8),
                   run(test = test_consistency(30, tolerance = 1e-8)))
  expect_identical(run(test = "bootstrap", replicates = 30), run(test = test_bootstrap(30)))
  expect_identical(run(test = "block", block = 5, reference = "pairs"), run(test = test_block(5, "pairs")))
  expect_identical(run(test = "bound", type = "block", block = 5), run(test = test_bound("block", 5)))
  expect_identical(run(test = "cme", locations = 2, reference = "chisq"), run(test = test_cme(2, "chisq")))
  expect_identical(run(test = "cme", replicates = 30), run(test = test_cme(replicates = 30)))
  wrong <- as.integer(p > .5)
  joint <- function(test) ce_test(p, wrong, test = test)
  expect_identical(joint("joint"), joint(test_joint()))
  expect_identical(joint(test_joint(basis_hats(8)))$p.value, ce_estimate(p, wrong, bases = basis_hats(8))$p.value)
  expect_false(joint(test_joint(basis_hats(8)))$p.value == joint("joint")$p.value)
})

test_that("`auto` takes the options of the test that it takes", {
  expect_identical(run(replicates = 30)$p.value, run(test = test_conditional(30))$p.value)
  expect_error(run(locations = 3), "test_cme()", fixed = TRUE, class = "calibrisk_error_argument")
  expect_error(ce_test(p, y, cluster = rep(1:20, 3), replicates = 30), "not an option of the test \"joint\"",
               class = "calibrisk_error_argument")
})

test_that("options out of range, and those that another one switches off, are errors", {
  expect_error(test_bound(block = 5), "type = \"block\"", class = "calibrisk_error_argument")
  expect_error(test_cme(locations = list(x = 1)), "locations", class = "calibrisk_error_argument")
  expect_error(test_conditional(0), "replicates", class = "calibrisk_error_argument")
  expect_error(test_consistency(tolerance = 0), "tolerance", class = "calibrisk_error_argument")
  expect_error(test_bootstrap(add_one = 1), "add_one", class = "calibrisk_error_argument")
  expect_error(test_block(reference = "chisq"), "reference", class = "calibrisk_error_argument")
  expect_error(test_joint(bases = 3), "bases", class = "calibrisk_error_argument")
})
