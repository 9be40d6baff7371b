test_that("the default split is Algorithm 1's", {
  withr::with_seed(1, split <- make_split(103, 5, 0.2))
  expect_equal(sum(split$fold == 0), 21) # 103 - floor(82.4)
  expect_equal(tabulate(split$fold), c(17, 17, 16, 16, 16))
  # one shuffle: with the same seed the first 80 % of the permutation tune, in blocks
  order <- withr::with_seed(1, sample.int(103))
  expect_equal(split$fold[order], c(rep(1:5, c(17, 17, 16, 16, 16)), rep(0, 21)))
})

test_that("explicit folds and test rows are honoured", {
  split <- make_split(10, folds = rep(c(2, 1), 4), test = c(3, 7))
  expect_equal(which(split$fold == 0), c(3, 7))
  expect_equal(split$fold[-c(3, 7)], rep(c(2, 1), 4))
  expect_equal(make_split(10, folds = rep(1:2, 5), test = c(3, 7))$fold, c(1, 2, 0, 2, 1, 2, 0, 2, 1, 2))
  expect_equal(sum(make_split(10, folds = 2, test = 0)$fold == 0), 0)
  # fold 0 in a vector for all rows marks test rows
  expect_equal(make_split(9, folds = rep(0:2, 3))$fold, rep(0:2, 3))
  expect_equal(make_split(9, folds = rep(0:2, 3), test = 2:3)$fold, c(0, 0, 0, 0, 1, 2, 0, 1, 2))
})

test_that("impossible splits are classed errors", {
  expect_error(make_split(5, 5, 0.2), class = "calibrisk_error_folds")
  expect_error(make_split(10, 1, 0.2), class = "calibrisk_error_argument")
  expect_error(make_split(10, 2, c(1, 11)), class = "calibrisk_error_folds")
  expect_error(make_split(10, 2, c(1, 1)), "twice", class = "calibrisk_error_folds")
  for (odd in c(Inf, NA, -1, 1.5, 3e9)) {
    expect_error(make_split(4, c(1, 2, 1, odd), 0), "integer vector", class = "calibrisk_error_folds")
  }
  expect_error(make_split(10, rep(1, 8), 1:2), class = "calibrisk_error_folds")
  expect_error(make_split(10, rep(1:2, 3), 1:2), class = "calibrisk_error_folds")
  expect_error(make_split(10, rep(1:2, 3), 0.2), "10 rows, and 2 test", class = "calibrisk_error_folds")
})

test_that("an rset that holds out every row once is a fold vector", {
  skip_if_not_installed("rsample")
  folds <- withr::with_seed(1, rsample::vfold_cv(data.frame(a = 1:20), v = 4))
  split <- make_split(20, folds, test = 0)
  expect_equal(split$k, 4)
  expect_equal(which(split$fold == 2), sort(rsample::complement(folds$splits[[2]])))
  expect_error(make_split(20, rsample::vfold_cv(data.frame(a = 1:20), v = 4, repeats = 2), 0),
               class = "calibrisk_error_folds")
})
