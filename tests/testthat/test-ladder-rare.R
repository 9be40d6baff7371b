# Few or no failures: limits that know of what was not seen.

test_that("samples without a failure have the limits of the rule of three", {
  for (n in c(30, 300, 3000)) {
    unseen <- 1 - .025^(1 / n)
    certain <- ce_estimate(rep(1, n), rep(1, n))
    expect_close(certain$upper_bound, sqrt(unseen), 1e-12)
    # of one prediction failures are one gap
    expect_close(certain$conf.high, unseen, 1e-12)
    expect_identical(c(certain$estimate, certain$conf.low), c(0, 0))
    near <- ce_estimate(rep(1 - 1e-3, n), rep(1, n))
    # as the number of failures is .000001 n, not quite 0
    expect_equal(near$upper_bound, sqrt(unseen), tolerance = .002)
    # an error in either direction
    expect_equal(near$conf.high, max(unseen - 1e-3, 1e-3), tolerance = 1e-9)
    expect_identical(near$conf.low, 0)
  }
  spread <- ce_estimate(1 - (0:299) / 3e4, rep(1, 300), level = .9)
  expect_gte(spread$conf.high, 1 - .05^(1 / 300) - mean((0:299) / 3e4))
  expect_output(print(ce_estimate(rep(1, 300), rep(1, 300))), "error is\\s+at\\s+most 0.012")
})

test_that("draws are clusters and weights count, and two classes of a vector fail at once", {
  sure <- rep(1, 60)
  expect_close(ce_estimate(sure, sure, cluster = rep(1:20, 3))$upper_bound, sqrt(1 - .025^(1 / 20)), 1e-12)
  w <- rep(c(1.5, .5), 30)
  size <- sum(w)^2 / sum(w^2)
  expect_close(ce_estimate(sure, sure, weights = w)$upper_bound, sqrt(1 - .025^(1 / size)), 1e-12)
  expect_close(ce_estimate(sure, sure, weights = rep(5L, 60))$upper_bound, sqrt(1 - .025^(1 / 300)), 1e-12)
  vectors <- diag(3)[rep(1:3, 20), ]
  found <- ce_estimate(vectors, rep(1:3, 20), notion = c("top_label", "class_wise", "canonical"))
  expect_close(found$upper_bound, sqrt((1 - .025^(1 / 60)) * c(1, 2, 2)), 1e-12)
  expect_true(all(diff(found$conf.high) >= 0 & found$conf.high[-3] <= found$upper_bound[-3]))
})

test_that("facts of the scores are those of a loop over draws", {
  s <- withr::with_seed(1, stats::rexp(30))
  w <- withr::with_seed(2, stats::runif(30))
  centre <- rep(1:10, 3)
  for (design in list(new_design(30), new_design(30, w), new_design(30, w, centre))) {
    v <- design_weights(design)
    draw <- design$cluster %||% seq_len(30)
    mean <- sum(v * s) / sum(v)
    third <- squares <- 0
    for (one in unique(draw)) {
      third <- third + sum(v[draw == one] * (s[draw == one] - mean))^3
      squares <- squares + sum(v[draw == one])^2
    }
    facts <- score_facts(s, design, 2)
    expect_equal(facts[c("mean", "third", "size", "rows")],
                 list(mean = mean, third = third / sum(v)^3, size = sum(v)^2 / squares, rows = sum(v)^2 / sum(v^2)))
    expect_equal(facts$error, cpp_row_std_error(s, design))
  }
})

test_that("the worst-case bound inverts a test whose variance grows with the mean, where large squares are few", {
  facts <- score_facts(rep(0:1, c(97, 3)), new_design(100), 1)
  bound <- cpp_nested_upper(matrix(0, 5, 0), facts, 1, Inf, .025)[2]
  lack <- 1 - facts$error^6 / facts$third^2 / 25
  variance <- facts$error^2 + facts$third / facts$error^2 * lack * (bound^2 - facts$mean)
  expect_close(bound^2 - facts$mean, stats::qnorm(.975) * sqrt(variance), 1e-10)
  # near the limit of counts, which a normal one misses
  exact <- stats::qbeta(.975, 4, 97)
  expect_lt(abs(bound^2 - exact), .006)
  expect_gt(exact - facts$mean - stats::qnorm(.975) * facts$error, .015)
  # ordinary samples have the normal limit
  d <- ladder_data(500, 2, 3)
  scores <- d$residuals[, 1]^2
  expect_close(ce_estimate(d$p[, 2], d$y - 1)$upper_bound, sqrt(mean(scores) + stats::qnorm(.975) * sd(scores) / sqrt(500)),
               1e-12)
})

test_that("the variance at calibration is at least that of the predictions, where failures lack", {
  p <- withr::with_seed(4, 1 - stats::runif(200, 0, .02))
  y <- replace(rep(1, 200), 17, 0)
  problem <- scalar_problem(p, y)
  basis <- list(list(recipe = "hats", own = 8))
  rung <- run_ladder(problem, basis, .95)$numbers[, 1]
  B <- oracle_hats(p, 8, rep(1, 200))
  expected <- oracle_rung(matrix(sqrt(p * (1 - p))), B)
  lack <- 1 - sum((p - y)^2) / 10
  expect_close(rung[["noise"]], lack * expected$noise, 1e-12)
  expect_close(rung[["scatter"]], max(lack * expected$scatter, oracle_rung(matrix(p - y), B)$scatter), 1e-12)
  # not where they are many
  d <- ladder_data(200, 2, 5)
  many <- scalar_problem(d$p[, 2], d$y - 1)
  expect_identical(run_ladder(many, basis, .95)$numbers[, 1],
                   numbers_of(rungs_of(many$features, many$residuals, basis)[[1]]))
})

test_that("counted and blocked rows have the limits of the rows", {
  x <- rep(c(.99, .995, 1), each = 200)
  y <- replace(rep(1, 600), 30, 0)
  a <- binary_ladder(scalar_problem(x, y), .95)
  b <- joint_ladder(c(.99, .99, .995, 1), c(1, 0, 1, 1), c(199, 1, 200, 200), .95)
  fields <- c("estimate", "low", "high", "lower_bound", "p.value", "upper_bound")
  expect_equal(a[fields], b[fields], tolerance = 1e-10)
  expect_gt(a$p.value, .05)
  state <- ce_state(blocks = 8)
  expect_gt(ce_estimate(update(state, x, y, cluster = seq_along(x)))$p.value, .05)
  all_right <- ce_estimate(update(state, x, rep(1, 600), cluster = seq_along(x)))
  # the blocks are of much the same size, and no residual is a failure
  expect_equal(all_right$upper_bound, sqrt(1 - .025^(1 / 8)), tolerance = .02)
  expect_gt(all_right$p.value, .05)
})

test_that("calibrated samples with few failures are not rejected, and limits hold", {
  withr::local_seed(6)
  found <- replicate(200, {
    p <- 1 - stats::runif(100, 0, .01)
    calibrated <- ce_estimate(p, stats::rbinom(100, 1, p))
    rare <- ce_estimate(rep(.999, 100), stats::rbinom(100, 1, .97))
    c(calibrated$p.value, calibrated$conf.low, rare$conf.high, rare$upper_bound)
  })
  expect_lt(mean(found[1, ] < .05), .03)
  expect_lt(mean(found[2, ] > 0), .03)
  expect_gt(mean(found[3, ] >= .029), .95)
  expect_gt(mean(found[4, ] >= sqrt(.97 * .001^2 + .03 * .999^2)), .95)
})
