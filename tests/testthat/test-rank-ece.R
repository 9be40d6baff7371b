test_that("the canonical binned error has the published values", {
  probs <- rbind(c(.70, .20, .10), c(.80, .05, .15), c(.68, .30, .02), c(.10, .60, .30),
                 c(.20, .55, .25), c(.30, .30, .40), c(.05, .15, .80), c(1, 0, 0))
  truth <- c(1, 2, 1, 2, 3, 3, 3, 1)
  expect_equal(ranked_ece(probs, truth), .425)
  expect_equal(ranked_ece(probs, truth, type = "pointwise"), .4675)
  expect_equal(ranked_ece(probs, truth, 1), .245)
  expect_equal(ranked_ece(probs, truth, 10), .88)
})

test_that("cells are right-closed at every edge", {
  p <- (0:30) / 30
  probs <- cbind(p, 1 - p)
  truth <- rep(1:2, length.out = 31)
  for (bins in c(1, 3, 10, 15)) {
    for (type in c("binmean", "pointwise")) {
      expect_equal(ranked_ece(probs, truth, bins, type), oracle_canonical_ece(probs, truth, bins, type))
    }
  }
  many <- withr::with_seed(1, draw_dirichlet(300, 6, .3))
  labels <- withr::with_seed(2, draw_labels(many))
  binmean <- ranked_ece(many, labels)
  expect_equal(binmean, oracle_canonical_ece(many, labels, 3, "binmean"))
  expect_gte(ranked_ece(many, labels, type = "pointwise"), binmean)
})

test_that("bin means agree with ece() for the canonical notion", {
  p <- withr::with_seed(3, draw_dirichlet(200, 4, .5))
  y <- withr::with_seed(4, draw_labels(p))
  for (bins in c(3, 10)) expect_equal(ranked_ece(p, y, bins), ece(p, y, notion = "canonical", n_bins = bins)$.estimate)
})
