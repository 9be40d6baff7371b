joint_sample <- function(n, risk, draw = runif) {
  p <- sort(draw(n))
  list(p = p, e = p - (runif(n) < risk(p)))
}

test_that("estimates and upper limits of the bases are those of the formulas", {
  set.seed(26)
  # prime numbers of rows: no quantile lies between two of them
  confident <- function(n) 1 - rbeta(n, 1, 12)
  samples <- list(
    joint_sample(127, identity),
    joint_sample(151, function(p) plogis(0.6 * qlogis(p))),
    # many more failures than predicted, whose variance grows with the gap
    joint_sample(211, function(p) p - 0.3 * (p > 0.98), confident)
  )
  for (d in samples) {
    w <- rep(1, length(d$p))
    found <- cpp_joint(d$p, as.matrix(d$p - d$e), numeric(), numeric(), list(), 0.95, 199L, 1L)[[1]]
    observed <- lapply(oracle_joint_rungs(d$p, w), oracle_joint_observed, d$p, d$e, w)
    v <- d$p * (1 - d$p)
    carriers <- sum(v^2)^2 / sum(v^3)
    highs <- vapply(observed, oracle_joint_high_rung, 0, 0.025, carriers / (carriers + 30))
    expect_close(found$psi, vapply(observed, `[[`, 0, "psi"), 1e-12)
    expect_close(found$highs, sqrt(highs), 1e-9)
  }
})

test_that("the finest basis sets the upper limit only where it exceeds the others", {
  set.seed(27)
  above <- vapply(1:30, function(i) {
    d <- joint_sample(400, function(p) p + 0.05 * sin(12 * pi * p))
    found <- cpp_joint(d$p, as.matrix(d$p - d$e), numeric(), numeric(), list(), 0.95, 199L, 1L)[[1]]
    found$upper$confident <- matrix(0, 3, 0)  # they have a limit of their own
    fine <- length(found$psi)
    above <- found$psi[fine] > max(found$psi[-fine])
    expect_equal(cpp_joint_upper(found$upper, 0.025)[1], max(found$highs[if (above) seq_len(fine) else -fine]))
    above
  }, NA)
  expect_setequal(above, c(TRUE, FALSE))
})
