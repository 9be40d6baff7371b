flip_sample <- function(n, clusters, shift, seed) {
  withr::with_seed(seed, {
    p <- plogis(rnorm(n))
    list(p = p, y = rbinom(n, 1, plogis(shift + qlogis(p))), cluster = sample(rep_len(seq_len(clusters), n)),
         w = rexp(n) + .2)
  })
}

flips_of <- function(d, w = numeric(), cluster = d$cluster, level = .95, redraws = joint_redraws) {
  cpp_joint_flips(d$p, d$y, w, numeric(), cluster, list(), level, redraws, 1L)
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

test_that("of rare events in few clusters a calibrated model is not rejected more often than alpha", {
  rejected <- withr::with_seed(4, replicate(300, {
    p <- plogis(qlogis(.05) + .8 * rnorm(200))
    cluster <- rep(1:10, 20)
    y <- as.numeric(sqrt(.2) * rnorm(10)[cluster] + sqrt(.8) * rnorm(200) < qnorm(p))
    flips_of(list(p = p, y = y, cluster = cluster))$p.value < .05
  }))
  expect_lt(mean(rejected), .075)
})

class_clusters <- function(n, classes, clusters, seed, odds = 1, power = 1) {
  d <- ladder_data(n, classes, seed, power)
  withr::with_seed(seed, {
    q <- d$p^power * rep(rep_len(c(odds, 1), classes), each = n)
    y <- max.col(t(apply(q / rowSums(q), 1, cumsum)) >= runif(n), "first")
    list(p = d$p, y = y, cluster = sample(rep_len(seq_len(clusters), n)), w = rexp(n) + .2)
  })
}

class_flips_of <- function(d, w = numeric(), cluster = d$cluster, canonical = TRUE, level = .95) {
  cpp_class_flips(d$p, d$y, w, cluster, canonical, level, joint_redraws, 1L)
}

test_that("weights that depend on the prediction, or on the outcome, keep the level of the test", {
  skip_on_cran()
  rejected <- withr::with_seed(6, replicate(150, {
    p <- stats::rbeta(200, .4, 4)
    y <- stats::rbinom(200, 1, p)
    wrong <- stats::rbinom(200, 1, pmin(2 * p, 1))
    share <- ifelse(y == 1, .9, .4)
    kept <- stats::runif(200) < share
    found <- list(ce_test(p, y, weights = 1 / (p + .02)), ce_test(p[kept], y[kept], weights = 1 / share[kept]),
                  ce_test(p, wrong, weights = 1 / (p + .02)))
    vapply(found, function(one) isTRUE(one$p.value < .05), NA)
  }))
  expect_true(all(rowMeans(rejected)[1:2] <= .08))
  expect_gt(mean(rejected[3, ]), .5)
})

test_that("the test of classes is that of a loop over all flips of few clusters", {
  rejected <- logical()
  for (odds in c(1, 2, 4)) for (seed in 1:2) for (canonical in c(TRUE, FALSE)) {
    d <- class_clusters(95, 3, 8, seed, odds, if (seed == 1) 1 else .6)
    for (weights in list(numeric(), d$w)) {
      found <- class_flips_of(d, weights, canonical = canonical)
      expected <- oracle_class_flips(d$p, d$y, d$cluster, if (length(weights) == 0) rep(1, 95) else weights, canonical)
      expect_identical(class_parts[found$parts + 1], if (canonical) class_parts else tested_parts$class_wise)
      expect_equal(found$p.value, expected$p.value, tolerance = 1e-12)
      expect_close(found$lows, expected$lows, 1e-5)
      expect_identical(found$low, max(found$lows))
      rejected <- c(rejected, found$p.value < .05)
    }
  }
  expect_true(any(rejected) && !all(rejected))
})

# Three or four classes, the first rare, whose weights depend on its probability, and a draw of labels.
weighted_classes <- function(n, classes = 3) {
  p <- matrix(stats::rgamma(n * classes, rep(c(.3, 1, 2, 1)[seq_len(classes)], each = n)), n) + 1e-9
  p <- p / rowSums(p)
  list(p = p, w = 1 / (p[, 1] + .02))
}

drawn_labels <- function(q) max.col(t(apply(q / rowSums(q), 1, cumsum)) >= stats::runif(nrow(q)) - 1e-12, "first")

test_that("labels of weighted rows are redrawn as in a simulation, and the larger p-value counts", {
  p_values <- withr::with_seed(8, vapply(1:7, function(k) {
    d <- weighted_classes(60, 3 + k %% 2)
    d$y <- drawn_labels(d$p^(if (k > 4) .4 else .8))
    # two rows of a cluster are not redrawn
    flips <- class_flips_of(d, d$w, c(1L, 1:59), k > 2)$p.value
    c(class_flips_of(d, d$w, integer(), k > 2)$p.value, flips, oracle_class_redraws(d$p, d$y, d$w, k > 2, drawn_labels, 300))
  }, numeric(3)))
  expect_lt(max(abs(p_values[1, ] - pmax(p_values[2, ], p_values[3, ]))), .06)
  expect_true(any(p_values[3, ] > p_values[2, ] + .1))
})

test_that("weights of classes that depend on a prediction, or on the outcome, keep the level", {
  skip_on_cran()
  rejected <- withr::with_seed(7, replicate(150, {
    d <- weighted_classes(200)
    d$y <- drawn_labels(d$p)
    kept <- stats::runif(200) < c(.9, .6, .3)[d$y]
    wrong <- list(p = d$p, y = drawn_labels(d$p^.5))
    sampled <- list(p = d$p[kept, ], y = d$y[kept])
    found <- list(class_flips_of(d, d$w, integer()), class_flips_of(sampled, 1 / c(.9, .6, .3)[sampled$y], integer()),
                  class_flips_of(wrong, d$w, integer()))
    vapply(found, function(one) c(one$p.value < .05, (one$p.value < .05) == (one$low > 0)), NA[1:2])
  }))
  expect_true(all(rowMeans(rejected[1, , ])[1:2] <= .08))
  expect_gt(mean(rejected[1, 3, ]), .5)
  expect_true(all(rejected[2, , ]))
})

test_that("order of rows and classes, and the names of clusters, do not change the test of classes", {
  for (clusters in c(9, 40, 160)) {
    d <- class_clusters(160, 4, clusters, clusters, 2)
    first <- class_flips_of(d, d$w)
    order <- withr::with_seed(1, sample(160))
    classes <- c(3, 1, 4, 2)
    moved <- list(p = d$p[order, classes], y = match(d$y[order], classes))
    moved <- class_flips_of(moved, d$w[order], rev(seq_len(clusters))[d$cluster[order]])
    same <- setdiff(names(first), "classes")
    expect_identical(moved[same], first[same])
    expect_identical(c(0, classes)[moved$classes + 1], as.numeric(first$classes))
    expect_false(identical(class_flips_of(d)$statistic, first$statistic))
  }
})

test_that("the interval of clustered classes holds 0 exactly where the p-value is at least alpha", {
  rejected <- 0
  for (seed in 1:4) for (clusters in c(6, 12, 30)) for (level in c(.8, .95)) {
    d <- class_clusters(150, 3, clusters, seed, if (seed < 3) 1 else 2.5)
    row <- ce_estimate(d$p, d$y, cluster = d$cluster, level = level, notion = c("class_wise", "canonical"))
    rejects <- row$p.value < 1 - level - 1e-12
    expect_identical(row$conf.low > 0, rejects)
    expect_true(all(row$conf.low <= row$estimate & row$estimate <= row$conf.high))
    expect_identical(ce_test(d$p, d$y, cluster = d$cluster, level = level)$p.value, row$p.value[2])
    rejected <- rejected + sum(rejects)
  }
  expect_true(rejected > 12 && rejected < 44)
})

test_that("the print of a test names what clusters show, and says where they are too few", {
  d <- class_clusters(300, 3, 30, 3, 4)
  text <- gsub("\\s+", " ", capture_output(print(ce_test(d$p, d$y, cluster = d$cluster))))
  expect_match(text, "Joint test of canonical calibration")
  expect_match(text, "flips = 1999")
  expect_match(text, "class \"2\" has too high probabilities on average (bias)", fixed = TRUE)
})

test_that("clusters of classes have the level of the test", {
  skip_on_cran()
  rejected <- withr::with_seed(5, replicate(300, {
    z <- matrix(rnorm(600), 200)
    p <- exp(z) / rowSums(exp(z))
    cluster <- rep(1:10, 20)
    # a common normal variable of each cluster
    u <- pnorm(sqrt(.2) * rnorm(10)[cluster] + sqrt(.8) * rnorm(200))
    y <- max.col(t(apply(p, 1, cumsum)) >= u, "first")
    class_flips_of(list(p = p, y = y, cluster = cluster))$p.value < .05
  }))
  expect_lt(mean(rejected), .085)
  expect_gt(mean(rejected), .015)
})
