test_that("the joint test is the one that the interval inverts", {
  d <- ladder_data(300, 3, 1)
  test <- ce_test(d$p, d$y, test = "joint")
  row <- ce_estimate(d$p, d$y, notion = "canonical")
  expect_identical(test$p.value, row$p.value)
  expect_identical(unname(c(test$estimate, test$conf.int)), c(row$estimate, row$conf.low, row$conf.high))
  expect_identical(tidy(test)$test, "joint")
  expect_s3_class(test, "htest")
  expect_output(print(test), "canonical calibration")
  binary <- ce_test(vehicle_predictions$.pred_bus, vehicle_predictions$truth == "bus", test = "joint")
  expect_identical(binary$p.value,
                   ce_estimate(vehicle_predictions$.pred_bus, vehicle_predictions$truth == "bus")$p.value)
  expect_match(binary$method, "binary")
  # the statistic is one of the parts'
  p <- vehicle_predictions$.pred_bus
  y <- vehicle_predictions$truth[order(p)] == "bus"
  parts <- c(oracle_joint_statistics(sort(p), sort(p) - y), max(oracle_groups(sort(p), y)[, 3]))
  expect_lt(min(abs(parts - binary$statistic)), 1e-6)
})

test_that("the ratio in the part of intercept and slope is that of a logistic regression", {
  set.seed(8)
  found <- t(replicate(60, {
    p <- plogis(rnorm(400, -1.5))
    y <- rbinom(400, 1, plogis(sample(c(-.3, 0, .3), 1) + sample(c(.7, 1, 1.3), 1) * qlogis(p)))
    scores <- oracle_joint_scores(p, rep(1, 400))
    z <- drop(crossprod(scores$U, p - y)) / sqrt(scores$info)
    fit <- glm(y ~ qlogis(p), family = binomial())
    c(ratio = -2 * sum(dbinom(y, 1, p, log = TRUE)) - fit$deviance,
      ours = oracle_joint_ratio(oracle_joint_tensors(p, rep(1, 400), scores), z), score = sum(z^2))
  }))
  off <- apply(abs(found / found[, "ratio"] - 1), 2, max)
  expect_lt(off[["ours"]], .05)
  expect_gt(off[["score"]], .15)
})

test_that("the joint test is that of classes where no kernel is given", {
  d <- withr::with_seed(1, list(p = runif(80), y = rbinom(80, 1, .5)))
  chosen <- function(...) ce_test(d$p, d$y, ...)$test
  expect_identical(c(chosen(), chosen(kernel = kernel_tv(1))), c("joint", "conditional"))
  three <- ladder_data(60, 3, 1)
  expect_identical(ce_test(three$p, three$y)$test, "joint")
  expect_identical(ce_test(three$p, three$y, test = test_conditional(times = 20))$test, "conditional")
  expect_error(ce_test(d$p, d$y, test = "ladder"), "test_joint", class = "calibrisk_error_argument")
})

test_that("the joint test takes classes or one number, by group, and of classes has no redraws to draw", {
  expect_error(ce_test(pred_mvnormal(matrix(1:10, 5), 1), matrix(1:10, 5), test = "joint"), "without groups",
               class = "calibrisk_error_test")
  expect_error(ce_test(c(.2, .4, .5), c(0, 1, 1), test = "joint", kernel = kernel_linear()), "no kernel",
               class = "calibrisk_error_argument")
  v <- vehicle_predictions
  v$half <- rep(c("a", "b"), 250)
  grouped <- ce_test(v, truth, test = "joint", .by = half)
  expect_identical(tidy(grouped)$p.value, ce_estimate(v, truth, notion = "canonical", .by = half)$p.value)
  skip_if_not_installed("ggplot2")
  expect_error(plot(grouped$results[[1]]), class = "calibrisk_error_test")
})

test_that("each part of the test of classes is its formula", {
  for (case in list(c(80, 3), c(150, 6))) {
    d <- ladder_data(case[1], case[2], 4)
    of_part <- vapply(0:6, function(m) cpp_class_test(d$p, as.matrix(d$y), list(m), .95, 50L, 1L)[[1]][[1]]$statistic,
                      0)
    expect_close(of_part, unname(oracle_class_statistics(d$p, d$y)), 1e-6)
  }
})

test_that("one p-value comes from the smallest of the parts' over their shares", {
  # against labels that R draws
  d <- ladder_data(60, 3, 2, power = .8)
  statistics <- oracle_class_statistics_of(d$p)
  redrawn <- withr::with_seed(1, t(replicate(400, statistics(max.col(t(apply(d$p, 1, cumsum)) >= runif(60), "first")))))
  for (seed in 2:5) {
    y <- ladder_data(60, 3, seed)$y
    expected <- oracle_joint_p(redrawn, oracle_class_shares, statistics(y))
    found <- ce_test(d$p, y)$p.value
    expect_lt(abs(found - expected), 5 * sqrt(found * (1 - found) / 400) + .01)
  }
})

test_that("the interval of classes holds 0 exactly where the test does not reject, at every level", {
  rejected <- 0
  for (seed in 1:6) for (level in c(.8, .95, .99)) {
    d <- ladder_data(150, 5, seed, power = if (seed %% 2) 1 else .6)
    row <- ce_estimate(d$p, d$y, notion = c("class_wise", "canonical"), level = level)
    rejects <- row$p.value < 1 - level - 1e-12
    expect_identical(row$conf.low > 0, rejects)
    # which notions are asked for does not matter
    expect_identical(ce_estimate(d$p, d$y, notion = "canonical", level = level)$estimate, row$estimate[2])
    rejected <- rejected + sum(rejects)
  }
  expect_gt(rejected, 6)
  expect_lt(rejected, 30)
})

test_that("the print says what is wrong, and of which class", {
  said <- function(p, y, ...) gsub("\\s+", " ", capture_output(print(ce_test(p, factor(c("a", "b", "c")[y]), ...))))
  extreme <- ladder_data(500, 3, 1, power = .5)
  expect_match(said(extreme$p, extreme$y), "too extreme (overconfident) (temperature)", fixed = TRUE)
  moderate <- ladder_data(500, 3, 1, power = 2)
  expect_match(said(moderate$p, moderate$y), "too moderate (underconfident) (temperature)", fixed = TRUE)
  good <- ladder_data(500, 3, 1, power = 1)
  expect_match(said(good$p, good$y, level = .9), "at the 10% level", fixed = TRUE)
  biased <- to_simplex(good$p * rep(c(1, 2.5, 1), each = 500))
  expect_match(said(biased, good$y), "class \"b\" has too high probabilities on average (bias)", fixed = TRUE)
})

test_that("the test of classes has its level, leaves random numbers alone, and finds a temperature", {
  skip_on_cran()
  rejected <- function(power, seeds) {
    mean(vapply(seeds, function(seed) {
      p <- ladder_data(120, 4, seed)$p
      y <- withr::with_seed(seed + 1000, vapply(1:40, function(s) {
        max.col(t(apply(p^power / rowSums(p^power), 1, cumsum)) >= runif(120), "first")
      }, integer(120)))
      mean(vapply(cpp_class_test(p, y, list(0:6), .95, 1999L, 2L)[[1]], `[[`, 0, "p.value") < .05)
    }, 0))
  }
  # 800 samples: beyond these with probability .001
  level <- rejected(1, 1:20)
  expect_lt(abs(level - .05), .025)
  expect_gt(rejected(.6, 1:5), .6)
  d <- ladder_data(100, 3, 1)
  withr::with_seed(1, {
    before <- .Random.seed
    first <- ce_test(d$p, d$y)$p.value
    expect_identical(.Random.seed, before)
  })
  expect_identical(withr::with_seed(2, ce_test(d$p, d$y)$p.value), first)
})

test_that("classes of very many rows are tested on nested bases, and those of weighted rows and clusters are not", {
  d <- ladder_data(200, 3, 1)
  nested <- "nested bases of canonical"
  for (test in list(ce_test(d$p, d$y, weights = rep(1:2 + .5, 100)), ce_test(d$p, d$y, cluster = rep(1:50, 4)))) {
    expect_match(test$method, "Joint test of canonical")
    expect_identical(test$parameter, c(flips = 1999))
  }
  expect_match(ce_test(d$p, d$y, test = test_joint(bases = c(hats = 5)))$method, nested)
  expect_match(ce_test(d$p, d$y)$method, "Joint test of canonical")
  many <- rep(1:200, 101)
  of_many <- ce_test(d$p[many, ], d$y[many])
  expect_match(of_many$method, nested)
  said <- "more than 20,000 rows, 100 classes or 500,000 probabilities the test is that of nested bases."
  text <- function(x) gsub("\\s+", " ", capture_output(print(x)))
  expect_match(text(of_many), said)
  expect_match(text(ce_estimate(d$p[many, ], d$y[many], notion = c("top_label", "class_wise"))), said)
  expect_no_match(text(ce_estimate(d$p[many, ], d$y[many], notion = "top_label")), "nested bases")
})

test_that("very many classes keep the nested bases", {
  probs <- to_simplex(withr::with_seed(1, matrix(stats::rexp(120 * 101), 120)))
  truth <- factor(withr::with_seed(2, sample.int(101, 120, TRUE)), seq_len(101))
  expect_named(ce_test(probs, truth)$parameter, "bases")
  few <- cbind(probs[, 1:99], rowSums(probs[, 100:101]))
  expect_named(ce_test(few, factor(pmin(as.integer(truth), 100), 1:100))$parameter, "simulations")
})
