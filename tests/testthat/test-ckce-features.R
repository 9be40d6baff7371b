frequencies <- rbind(c(1.2, -.4, .3), c(-.7, 2.1, .5), c(.2, .9, -1.6))

test_that("features and their error have the published values at given frequencies", {
  terms <- feature_terms(kernel_linear() + kernel_gaussian(1), 3, 3, frequencies)
  f <- cpp_map_features(terms, toy_probs(), 1L)
  expect_equal(f[1, ], c(.7, .2, .1, .40636528246, .41012265305, .577234802985, -.0115462355988,
                         .569975937808, .0919824094755), tolerance = 1e-11)
  primal <- ckce(toy_probs(), toy_truth(), ridge = .1, computation = computation("rff", frequencies = frequencies))
  expect_equal(primal$.estimate, 0.282893548982, tolerance = 1e-11)
  d <- oracle_residuals(toy_probs(), toy_truth())
  expect_equal(primal$.estimate, oracle_ckce(tcrossprod(f), tcrossprod(d), .1)$estimate, tolerance = 1e-10)
  expect_identical(primal$error_bound, NA_real_)
  joint <- skce(toy_probs(), toy_truth(), computation = computation("rff", frequencies = frequencies), kernel = "ckce")
  expect_equal(joint$.estimate, oracle_jkce(tcrossprod(f), tcrossprod(d))$unbiased, tolerance = 1e-10)
  off <- ckce(toy_probs(), toy_truth(), ridge = .1, computation = computation("rff", frequencies = frequencies),
              debias = TRUE)
  expect_equal(off$.estimate, oracle_ckce(tcrossprod(f), tcrossprod(d), .1)$off_diagonal, tolerance = 1e-10)
})

test_that("random features come from R's random numbers and converge to the kernel", {
  p <- withr::with_seed(3, draw_dirichlet(400, 10, .1))
  y <- withr::with_seed(4, draw_labels(p))
  p <- temper(p, .5)
  exact <- ckce(p, y)$.estimate
  draw <- function(seed, d) {
    withr::with_seed(seed, ckce(p, y, computation = computation("rff", n_features = d))$.estimate)
  }
  expect_identical(draw(5, 30), draw(5, 30))
  error <- vapply(c(10, 300), function(d) sqrt(mean((vapply(1:8, draw, 0, d) / exact - 1)^2)), 0)
  expect_lt(error[1], .1)
  expect_lt(error[2], error[1] / 2)
  expect_lt(error[2], .02)
})

test_that("every kernel's spectral law gives back the kernel", {
  x <- withr::with_seed(6, draw_dirichlet(5, 3, 1))
  for (kernel in list(kernel_gaussian(.4), kernel_laplace(.7), kernel_matern(1.5, .5),
                      kernel_matern(2.5, .5), kernel_tv(.6), 2 * (kernel_linear() + kernel_gaussian(1)))) {
    f <- withr::with_seed(7, cpp_map_features(feature_terms(kernel, 3, 2e4), x, 2L))
    expect_equal(tcrossprod(f), kernel_matrix(kernel, x), tolerance = .03)
  }
})
