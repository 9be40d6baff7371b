joint_sample <- function(n, risk, draw = runif) {
  p <- sort(draw(n))
  list(p = p, e = p - (runif(n) < risk(p)))
}

test_that("estimates and upper limits of the bases are those of the formulas", {
  set.seed(26)
  # prime numbers of rows: no quantile lies between two of them
  confident <- function(n) 1 - rbeta(n, 1, 12)
  samples <- list(
    joint_sample(127, identity), joint_sample(151, function(p) plogis(0.6 * qlogis(p))),
    # many more failures than predicted, whose variance grows with the gap
    joint_sample(211, function(p) p - 0.3 * (p > 0.98), confident)
  )
  for (d in samples) {
    w <- rep(1, length(d$p))
    found <- cpp_joint(d$p, as.matrix(d$p - d$e), numeric(), numeric(), list(), 0.95, 199L, 1L)[[1]]
    observed <- lapply(oracle_joint_rungs(d$p, w), oracle_joint_observed, d$p, d$e, w)
    carriers <- sum((d$p * (1 - d$p))^2)^2 / sum((d$p * (1 - d$p))^3)
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
    found$upper$groups <- matrix(0, 3, 0)  # they have a limit of their own
    fine <- length(found$psi)
    above <- found$psi[fine] > max(found$psi[-fine])
    expect_equal(cpp_joint_upper(found$upper, 0.025)[1], max(found$highs[if (above) seq_len(fine) else -fine]))
    above
  }, NA)
  expect_setequal(above, c(TRUE, FALSE))
})

# 15 rows in 1,000 of the prediction .02, whose risk is .4
group_sample <- function(seed, risk = .4) {
  drawn_rows(seed, c(rep(.02, 15), plogis(rnorm(985, -5, 1.5))), function(p) c(rep(risk, 15), p[-(1:15)]))
}

test_that("the statistic of groups is the largest surprise of one, and the sentence tells which", {
  for (seed in 1:3) {
    d <- if (seed < 3) group_sample(seed) else {
      drawn_rows(9, c(rep(.7, 12), sqrt(runif(288))), function(p) ifelse(p == .7, .1, p))
    }
    # sorted as the rarer event is
    turned <- mean(d$p) > .5
    p <- if (turned) 1 - d$p else d$p
    at <- order(p)
    groups <- oracle_groups(p[at], (if (turned) 1 - d$y else d$y)[at])
    most <- groups[which.max(groups[, 3]), ]
    found <- cpp_joint(d$p, as.matrix(d$y), numeric(), numeric(), list(), .95, 1999L, 1L)[[1]]
    expect_equal(which.min(found$weighted), length(found$weighted))
    expect_close(found$statistic, most[3], 1e-8)
    rows <- at[most[1]:most[2]]
    expect_close(found$group, c(range(d$p[rows]), length(rows), sum(d$y[rows]), sum(d$p[rows])), 1e-9)
  }
  d <- group_sample(1)
  expect_match(gsub("\\s+", " ", capture_output(print(ce_test(d$p, d$y)))),
               "more events than predicted in a group of 15 rows with the prediction 0.02:", fixed = TRUE)
  calibrated <- group_sample(1, .02)
  expect_null(joint_ladder(calibrated$p, calibrated$y, NULL, .95)$found)
})

test_that("a group of wrong predictions anywhere is found, and the upper limit holds its error", {
  rows <- do.call(rbind, lapply(1:40, function(seed) {
    d <- group_sample(seed)
    with_threads(1, ce_estimate(d$p, d$y))
  }))
  # .93 of samples; a limit of 2.5%
  expect_gte(sum(rows$p.value < .05), 32)
  expect_identical(rows$conf.low > 0, rows$p.value < .05)
  expect_lte(sum(rows$conf.high < .38 * sqrt(.015)), 5)
  expect_lte(sum(rows$conf.low > .38 * sqrt(.015)), 3)
})

# of all outcomes, with their probabilities
test_that("p-values of few rows hold their level far below that of the interval", {
  p <- c(.27, .29, .55, .86, .77, .88, .64, .55)
  y <- t(as.matrix(expand.grid(rep(list(0:1), 8))))
  value <- apply(y, 2, function(y) joint_ladder(p, y, NULL, .95)$p.value)
  size <- vapply(c(.01, .002, 1e-4), function(level) sum(apply(p^y * (1 - p)^(1 - y), 2, prod)[value <= level]), 0)
  expect_lte(max(size / c(.01, .002, 1e-4)), 1)
  expect_identical(ce_test(p, y[, which.min(value)])$parameter, c(simulations = 39980L))
})
