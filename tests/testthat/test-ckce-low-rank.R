low_rank <- function(max_rank, tolerance = 1e-12, ...) {
  ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1,
       computation = computation("low_rank", max_rank = max_rank, tolerance = tolerance), ...)
}

test_that("the pivoted Cholesky factor has the published remainders and estimates", {
  norm <- svd(oracle_residuals(toy_probs(), toy_truth()))$d[1]^2
  remainder <- function(row) row$error_bound * (6 * .1)^2 / norm
  two <- low_rank(2)
  expect_equal(remainder(two), 2.82378100777, tolerance = 1e-9)
  expect_equal(two$.estimate, .0524026969656, tolerance = 1e-9)
  expect_false(two$certified)
  three <- low_rank(3)
  expect_equal(remainder(three), .588286158274, tolerance = 1e-9)
  expect_equal(three$.estimate, .199329759468, tolerance = 1e-9)
  full <- low_rank(6)
  expect_equal(full$.estimate, .558838141756, tolerance = 1e-9)
  expect_lt(full$error_bound, 1e-10)
})

test_that("the estimate is within its bound and the bound within the tolerance", {
  p <- withr::with_seed(1, draw_dirichlet(300, 4, .1))
  y <- withr::with_seed(2, draw_labels(p))
  p <- temper(p, .5)
  exact <- ckce(p, y, computation = "dual", debias = TRUE)
  plain <- ckce(p, y, computation = "dual")
  for (tolerance in c(.1, .01, 1e-6)) {
    low <- ckce(p, y, computation = computation("low_rank", tolerance = tolerance))
    expect_true(low$certified)
    expect_lte(low$error_bound, tolerance * low$.estimate)
    expect_lte(abs(low$.estimate - plain$.estimate), low$error_bound + 1e-12)
  }
  debiased <- ckce(p, y, computation = computation("low_rank", tolerance = 1e-8), debias = TRUE)
  expect_equal(debiased$.estimate, exact$.estimate, tolerance = 1e-6)
})

test_that("tied predictions have exact rank and survive tiny ridges", {
  p <- rbind(matrix(c(.7, .3), 4, 2, byrow = TRUE), matrix(c(.4, .6), 6, 2, byrow = TRUE))
  y <- c(1, 1, 2, 2, 1, 1, 1, 2, 2, 2)
  low <- ckce(p, y, kernel = kernel_white(), ridge = 1e-8, computation = "low_rank")
  expect_identical(low$rank, 2L)
  expect_equal(low$.estimate, .0999999953333, tolerance = 1e-9)
  constant <- ckce(matrix(1 / 3, 6, 3), c(1, 1, 1, 2, 3, 1), ridge = .1, computation = "low_rank")
  expect_identical(constant$rank, 1L)
  expect_equal(constant$.estimate, .108166576528, tolerance = 1e-10)
  expect_true(ckce(diag(3), 1:3, computation = "low_rank")$certified)
})

test_that("a kernel on groups multiplies the low-rank factor", {
  a <- c(1, 1, 2, 2, 1, 2)
  expect_equal(low_rank(6, group = a, group_kernel = kernel_gaussian(1))$.estimate, .972092170729, tolerance = 1e-9)
})
