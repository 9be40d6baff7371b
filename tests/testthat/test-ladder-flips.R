flip_sample <- function(n, clusters, shift, seed) {
  withr::with_seed(seed, {
    p <- plogis(rnorm(n))
    list(p = p, y = rbinom(n, 1, plogis(shift + qlogis(p))), cluster = sample(rep_len(seq_len(clusters), n)),
         w = rexp(n) + .2)
  })
}

flips_of <- function(d, w = numeric(), cluster = d$cluster, level = .95, redraws = joint_redraws) {
  cpp_joint_flips(d$p, d$y, w, cluster, list(), level, redraws, 1L)
}

test_that("the test is that of a loop over all flips of few clusters", {
  rejected <- logical()
  # no knot where a whole number of rows is reached
  for (shift in c(0, .6, 1.2)) for (seed in 1:4) {
    d <- flip_sample(95, 8, shift, seed)
    for (weights in list(numeric(), d$w)) {
      found <- flips_of(d, weights)
      expected <- oracle_flips(d$p, d$y, d$cluster, if (length(weights) == 0) rep(1, 95) else weights)
      expect_identical(c(found$flips, found$clusters, found$least), c(128, 8, 1 / 128))
      expect_equal(found$p.value, expected$p.value, tolerance = 1e-12)
      expect_close(found$low, expected$low, 1e-5)
      rejected <- c(rejected, found$p.value < .05)
    }
  }
  expect_true(any(rejected) && !all(rejected))
})

test_that("order of rows, names of clusters, scale of weights, the event and the sign of residuals change nothing", {
  for (clusters in c(9, 40)) {
    d <- flip_sample(160, clusters, .4, clusters)
    first <- flips_of(d, d$w)
    order <- withr::with_seed(1, sample(160))
    names <- withr::with_seed(2, sample(clusters))
    turned <- list(p = 1 - d$p, y = 1 - d$y, cluster = d$cluster)
    moved <- flips_of(lapply(d, `[`, order), d$w[order], names[d$cluster[order]])
    expect_identical(moved, first)
    expect_identical(flips_of(d, 64 * d$w), first)
    expect_equal(flips_of(turned, d$w), first, tolerance = 1e-9)
    expect_false(identical(flips_of(d)$statistic, first$statistic))
  }
  state <- withr::with_seed(3, {
    runif(1)
    .Random.seed
  })
  expect_identical(withr::with_seed(3, {
    runif(1)
    flips_of(d)
    .Random.seed
  }), state)
})

test_that("sums drawn from their normal law have the tails of the flips", {
  d <- flip_sample(1500, 1500, .2, 2)
  entries <- 6 * 1500
  flips <- flips_of(d, cluster = integer(), redraws = floor(4e8 / entries))
  normal <- flips_of(d, cluster = integer(), redraws = floor(4e8 / entries * 1.01))
  expect_false(identical(normal$p.value, flips$p.value))
  expect_equal(normal$p.value, flips$p.value, tolerance = .1)
  expect_gt(flips$low, 0)
  expect_equal(normal$low, flips$low, tolerance = .05)
})

test_that("the interval holds 0 exactly where the p-value is at least alpha", {
  rejected <- 0
  for (seed in 1:15) for (clusters in c(6, 12, 30)) for (level in c(.8, .95, .99)) {
    d <- flip_sample(120, clusters, .35, seed)
    row <- ce_estimate(d$p, d$y, cluster = d$cluster, level = level)
    rejects <- row$p.value < 1 - level - 1e-12
    expect_identical(row$conf.low > 0, rejects)
    expect_true(row$conf.low <= row$estimate && row$estimate <= row$conf.high)
    expect_true(row$lower_bound >= row$conf.low && row$lower_bound <= row$conf.high)
    rejected <- rejected + rejects
  }
  expect_true(rejected > 20 && rejected < 120)
})

test_that("clusters that are too few for any evidence are said to be", {
  d <- flip_sample(200, 4, 2, 1)
  row <- ce_estimate(d$p, d$y, cluster = d$cluster)
  expect_identical(c(row$p.value, row$conf.low), c(1 / 8, 0))
  said <- "With 4 UNIT no calibration error could be significant at the 5% level: the smallest possible p-value of its"
  said <- gsub(" ", "\\s+", said, fixed = TRUE)
  blocks <- ce_estimate(update(ce_state(), d$p, d$y, cluster = d$cluster))
  expect_output(print(blocks), sub("UNIT", "blocks", said))
  said <- sub("UNIT", "clusters", said)
  expect_output(print(row), said)
  expect_output(print(ce_validate(d$p, d$y, cluster = d$cluster, times = 0)), said)
  d <- flip_sample(200, 6, 2, 1)
  row <- ce_estimate(d$p, d$y, cluster = d$cluster)
  expect_identical(row$p.value, 1 / 32)
  expect_no_match(capture.output(print(row)), "could be significant")
  expect_identical(ce_test(d$p, d$y, cluster = d$cluster, test = "joint")$p.value, row$p.value)
})

test_that("with two classes test and limits are those of the binary error", {
  d <- flip_sample(150, 15, 1.3, 3)
  one <- ce_estimate(d$p, d$y, cluster = d$cluster)
  two <- ce_estimate(cbind(1 - d$p, d$p), d$y + 1, cluster = d$cluster, notion = c("class_wise", "canonical"))
  expect_lt(one$p.value, .05)
  expect_equal(two$p.value, rep(one$p.value, 2))
  expect_equal(two$conf.low, rep(sqrt(2) * one$conf.low, 2))
})

test_that("of rare events in few clusters a calibrated model is not rejected more often than alpha", {
  rejected <- withr::with_seed(4, replicate(300, {
    p <- plogis(qlogis(.05) + .8 * rnorm(200))
    cluster <- rep(1:10, 20)
    y <- as.numeric(sqrt(.2) * rnorm(10)[cluster] + sqrt(.8) * rnorm(200) < qnorm(p))
    flips_of(list(p = p, y = y, cluster = cluster))$p.value < .05
  }))
  expect_lt(mean(rejected), .075)
})
