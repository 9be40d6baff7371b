test_that("the canonical binned error has the published values", {
  probs <- rbind(c(.70, .20, .10), c(.80, .05, .15), c(.68, .30, .02), c(.10, .60, .30),
                 c(.20, .55, .25), c(.30, .30, .40), c(.05, .15, .80), c(1, 0, 0))
  truth <- c(1, 2, 1, 2, 3, 3, 3, 1)
  expect_equal(canonical_ece(probs, truth)$estimate, .425)
  expect_equal(canonical_ece(probs, truth, type = "pointwise")$estimate, .4675)
  expect_equal(canonical_ece(probs, truth, 1)$estimate, .245)
  expect_equal(canonical_ece(probs, truth, 10)$estimate, .88)
})

test_that("cells are right-closed at every edge and only occupied ones count", {
  p <- (0:30) / 30
  probs <- cbind(p, 1 - p)
  truth <- rep(1:2, length.out = 31)
  for (bins in c(1, 3, 10, 15)) {
    for (type in c("binmean", "pointwise")) {
      expect_equal(canonical_ece(probs, truth, bins, type)$estimate,
                   oracle_canonical_ece(probs, truth, bins, type))
    }
  }
  # 25 * (7 / 25) rounds above 7: membership is decided by the edges k / 25 themselves
  expect_gt(25 * (7 / 25), 7)
  both <- rbind(c(7 / 25, 0.3, 0.42), c(0.275, 0.305, 0.42))
  expect_identical(canonical_ece(both, 1:2, 25)$occupied, 1L)
  both[1, ] <- c(7 / 25 + 1e-9, 0.3 - 1e-9, 0.42)
  expect_identical(canonical_ece(both, 1:2, 25)$occupied, 2L)
  many <- withr::with_seed(1, draw_dirichlet(300, 6, .3))
  labels <- withr::with_seed(2, draw_labels(many))
  binmean <- canonical_ece(many, labels)
  expect_equal(binmean$estimate, oracle_canonical_ece(many, labels, 3, "binmean"))
  expect_gte(canonical_ece(many, labels, type = "pointwise")$estimate, binmean$estimate)
  expect_lte(binmean$occupied, 300)
})

test_that("bin means agree with ece() for the canonical notion", {
  p <- withr::with_seed(3, draw_dirichlet(200, 4, .5))
  y <- withr::with_seed(4, draw_labels(p))
  for (bins in c(3, 10)) {
    expect_equal(canonical_ece(p, y, bins)$estimate, ece(p, y, notion = "canonical", n_bins = bins)$.estimate)
  }
})
