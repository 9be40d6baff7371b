test_that("the published example of Riley et al. is met", {
  found <- ce_power(assume_model(c(-5, 2.5)), width = c(oe_ratio = 1, slope = 0.2, auroc = 0.1), prevalence = 0.018,
                    auroc = 0.8)
  expect_identical(found$n, c(906, 4554, 4252))
  expect_identical(glance(found)$criterion, "slope")
  expect_equal(found$events, found$n * 0.018)
  expect_snapshot(print(found))
})

test_that("sums over nodes are integrals", {
  normal <- assume_model(c(-1, 1.3), intercept = 0.2, slope = 0.7)
  moment <- function(f) integrate(function(x) f(x) * dnorm(x, -1, 1.3), -Inf, Inf, rel.tol = 1e-10)$value
  expect_equal(node_mean(normal, normal$eta), moment(function(x) plogis(0.2 + 0.7 * x)), tolerance = 1e-8)
  expect_equal(node_mean(normal, normal$logit^2 * normal$p), moment(function(x) x^2 * plogis(x)), tolerance = 1e-8)
  for (shapes in list(c(1, 3), c(0.3, 0.8), c(20, 5))) {
    beta <- assume_model(beta = c(shapes[1], shapes[2]))
    expect_equal(node_mean(beta, beta$p), shapes[1] / sum(shapes), tolerance = 1e-7)
  }
  # uniform and calibrated: C is 2 int p (int_0^p 1 - q dq) 2 dp = 5 / 6
  expect_equal(node_auroc(assume_model(beta = c(1, 1))), 5 / 6, tolerance = 1e-5)
})

test_that("widths are those of what is drawn", {
  skip_on_cran()
  nodes <- assume_model(beta = c(1, 2), intercept = -0.2, slope = 0.8)
  n <- 400
  expected <- ce_power(nodes, n = n, threshold = 0.3)
  value <- setNames(expected$target, expected$criterion)
  drawn <- withr::with_seed(1, replicate(800, {
    rows <- draw_study(nodes, n)
    right <- mean(rows$p >= 0.3 & rows$y == 1)
    wrong <- mean(rows$p >= 0.3 & rows$y == 0)
    rank <- rank(rows$p)
    events <- sum(rows$y)
    c(slope = glm.fit(cbind(1, qlogis(rows$p)), rows$y, family = stats::binomial())$coefficients[[2]],
      auroc = (sum(rank[rows$y == 1]) / events - (events + 1) / 2) / (n - events),
      net_benefit = right - wrong * 0.3 / 0.7, standardized_net_benefit = (right - wrong * 0.3 / 0.7) / mean(rows$y))
  }))
  spread <- apply(drawn, 1, sd)
  # Newcombe's formula is an approximation
  expect_equal(value[rownames(drawn)], 2 * qnorm(0.975) * spread, tolerance = 0.08)
  expect_equal(value[["oe_ratio"]], {
    oe <- node_mean(nodes, nodes$eta) / node_mean(nodes, nodes$p)
    s <- qnorm(0.975) * sqrt((1 - node_mean(nodes, nodes$eta)) / (n * node_mean(nodes, nodes$eta)))
    oe * (exp(s) - exp(-s))
  })
})

test_that("the interval of the headline and the power of its test are those of drawn data sets", {
  skip_on_cran()
  for (case in list(list(assume_model(c(-1, 1.3), slope = 0.6), 400),
                    list(assume_model(beta = c(1, 3), intercept = -0.4), 600))) {
    found <- withr::with_seed(2, ce_power(case[[1]], n = case[[2]], simulate = 120))
    found <- found[found$criterion %in% c("calibration_error", "test"), ]
    expect_equal(found$target[1], found$simulated[1], tolerance = 0.15)
    expect_lt(abs(found$target[2] - found$simulated[2]), 0.08 + 2.5 * 0.5 / sqrt(120))
  }
})

test_that("n is the smallest number of rows that is enough, and expected of n what was wished", {
  nodes <- assume_model(beta = c(1, 4), slope = 0.7)
  width <- c(oe_ratio = 0.3, slope = 0.2, auroc = 0.08, net_benefit = 0.03, standardized_net_benefit = 0.2,
             calibration_error = 0.05)
  found <- ce_power(nodes, width = width, power = 0.8, threshold = 0.2)
  for (i in seq_len(nrow(found))) {
    there <- ce_power(nodes, n = found$n[i], threshold = 0.2)$target[i]
    before <- ce_power(nodes, n = found$n[i] - 1, threshold = 0.2)$target[i]
    if (found$criterion[i] == "test") {
      expect_lt(abs(there - 0.8), 0.03)
    } else {
      expect_true(there <= width[[i]] && before > width[[i]])
    }
  }
  expect_identical(found$criterion, c(names(width), "test"))
  # nothing to find
  calibrated <- ce_power(assume_model(beta = c(1, 4)), width = c(slope = 0.5), power = 0.8)
  expect_identical(calibrated$n[2], Inf)
  expect_output(print(calibrated), "No number of rows is enough for: test")
})

test_that("with few events the power that is promised is that of drawn data sets, by a seed of its own", {
  plan <- assume_model(c(-2, 0.6), slope = 0.5)
  set.seed(3)
  before <- .Random.seed
  found <- ce_power(plan, power = 0.8)
  expect_identical(.Random.seed, before)
  expect_identical(ce_power(plan, power = 0.8), found)
  skip_on_cran()
  facts <- attr(found, "facts")
  drawn <- withr::with_seed(4, simulated_ladder(found$n, plan, facts, 1000))
  expect_lt(abs(drawn[["test"]] - 0.8), 0.03 + 2 * 0.4 / sqrt(1000))
  # outcomes of the same predictions are those of different ones in the mean
  shared <- withr::with_seed(5, simulated_ladder(found$n, plan, facts, 2000, 20))
  expect_equal(shared[c("calibration_error", "test")], drawn[c("calibration_error", "test")], tolerance = 0.06)
})

test_that("a pilot is what its rows are", {
  p <- withr::with_seed(3, stats::rbeta(500, 1, 3))
  y <- withr::with_seed(4, stats::rbinom(500, 1, plogis(0.5 * qlogis(p))))
  frame <- data.frame(p, y, twice = 2L)
  planned <- function(...) ce_power(assume_pilot(...), width = c(slope = 0.3, calibration_error = 0.08), power = 0.8)
  plain <- planned(p, y)
  expect_identical(tidy(planned(frame, y, p)), tidy(plain))
  expect_equal(planned(frame, y, p, recalibration = "platt")$n, plain$n, tolerance = 0.6)
  # the C statistic of predictions that were recalibrated by themselves
  nodes <- list(p = p[order(p)], eta = y[order(p)], share = rep(1 / 500, 500), reach = 0)
  expect_equal(node_auroc(nodes), mean(outer(p[y == 1], p[y == 0], function(a, b) (a > b) + (a == b) / 2)))
})

test_that("what cannot be is a classed error that says why", {
  nodes <- assume_model(beta = c(1, 3))
  expect_error(ce_power(nodes, widht = c(slope = 1)), "width", class = "calibrisk_error_argument")
  expect_error(ce_power(nodes), "Neither is given", class = "calibrisk_error_argument")
  expect_error(ce_power(nodes, n = 100, power = 0.8), "Both are given", class = "calibrisk_error_argument")
  expect_error(ce_power(nodes, width = c(slop = 1)), "slop", class = "calibrisk_error_argument")
  for (width in list(0.2, c(slope = -1), c(slope = 1, slope = 2))) {
    expect_error(ce_power(nodes, width = width), class = "calibrisk_error_argument")
  }
  expect_error(ce_power(nodes, width = c(net_benefit = 0.1)), "threshold", class = "calibrisk_error_argument")
  expect_error(ce_power(nodes, power = 1), class = "calibrisk_error_argument")
  expect_error(ce_power(nodes, c(slope = 1), power = 0.5), "An extra argument", class = "calibrisk_error_argument")
  expect_error(ce_power(nodes, n = 100, simulate = 1), class = "calibrisk_error_argument")
  # logits whose squares are no numbers, shapes whose quantiles are not found, too
  models <- list(list(c(0, -1)), list(c(0, 1e200)), list(c(0, 1), slope = 1e200), list(beta = c(0, 1)),
                 list(beta = c(1e-200, 1)), list(beta = c(1, 1e200)), list(beta = c(1, 1), slope = NA))
  for (wrong in models) expect_error(do.call(assume_model, wrong), class = "calibrisk_error_argument")
  for (shape in list(c(1e-6, 1e6), c(1e6, 1e6), c(1e-6, 1e-6))) {
    expect_true(all(is.finite(assume_model(beta = c(shape[1], shape[2]))$share)))
  }
  expect_error(assume_pilot(vehicle_predictions, truth), "two classes", class = "calibrisk_error_classes")
  expect_output(print(assume_model(c(-2, 1), slope = 0.8)), "0 \\+ 0.8 x predicted")
  expect_error(assume_pilot(c(.2, .7, .4), c(0, 1, 1), cluster = 1:3), "cluster", class = "calibrisk_error_argument")
  expect_error(ce_power(assume_model(beta = c(1, 3)), n = 100, cluster = 3), "`cluster_size`",
               class = "calibrisk_error_argument")
  expect_error(ce_power(n = 100), "It is missing.*assume_model", class = "calibrisk_error_argument")
  expect_error(ce_power(assume_model(c(-0.5, 1.2)), width = c(slope = 0.2), delta = 0.05), "delta.* needs a .power",
               class = "calibrisk_error_argument")
})

test_that("a pilot of one outcome plans nothing, certain and right predictions have no error", {
  expect_error(ce_power(assume_pilot(0, 0L), n = 5), class = "calibrisk_error_rows")
  found <- tidy(ce_power(assume_pilot(rep(0:1, 10), rep(0:1, 10)), n = 50))
  expect_false(any(vapply(found, function(v) any(is.nan(v)), NA)))
  # what 50 rows without a failure do not reject, in one of two columns
  expect_close(found$target[found$criterion == "calibration_error"], (1 - .025^(1 / 50)) * sqrt(2), 1e-12)
})

test_that("a study of patients with nearly one risk is planned", {
  for (x in list(assume_model(c(0, 1e-300)), assume_model(c(-40, 1)))) {
    found <- ce_power(x, n = 500, delta = 0.1)
    expect_false(anyNA(found$target))
    # without a spread the slope is not known
    expect_gt(found$target[found$criterion == "slope"], 1e6)
  }
})

test_that("delta plans for showing that the error is below it, by default with a power of 0.8", {
  plan <- assume_model(c(-0.5, 1.2))
  found <- ce_power(plan, delta = 0.06)
  expect_identical(found$criterion, "equivalence")
  expect_identical(found$target, 0.8)
  expect_identical(ce_power(plan, delta = 0.06, power = 0.8)$n, found$n)
  # the smallest n with that power
  at <- function(n, delta = 0.06) {
    row <- tidy(ce_power(plan, delta = delta, n = n))
    row$target[row$criterion == "equivalence"]
  }
  expect_lt(abs(at(found$n) - 0.8), 0.03)
  # more rows for a smaller delta, for more power, and for a model with an error
  expect_gt(ce_power(plan, delta = 0.04)$n, found$n)
  expect_gt(ce_power(plan, delta = 0.06, power = 0.9)$n, found$n)
  expect_gt(ce_power(assume_model(c(-0.5, 1.2), slope = 0.9), delta = 0.06)$n, found$n)
  expect_match(capture_output(print(found)), "Equivalence: error below 0.06", fixed = TRUE)
})

test_that("no number of rows shows that an error is below a smaller delta", {
  biased <- assume_model(c(-0.5, 1.2), intercept = 0.8)
  expect_gt(glance(ce_power(biased, n = 100))$error, 0.1)
  expect_identical(ce_power(biased, delta = 0.1)$n, Inf)
  expect_match(capture_output(print(ce_power(biased, delta = 0.1))), "No number of rows is enough for: equivalence")
})

test_that("the expected power to show equivalence is near the simulated one", {
  skip_on_cran()
  cases <- list(list(assume_model(c(-0.5, 1.2)), 250, 0.11), list(assume_model(beta = c(4, 4)), 300, 0.12),
                list(assume_model(c(-0.5, 1.2), slope = 0.8), 400, 0.1))
  for (case in cases) {
    found <- withr::with_seed(5, ce_power(case[[1]], n = case[[2]], delta = case[[3]], simulate = 120))
    row <- found[found$criterion == "equivalence", ]
    expect_gt(row$target, 0.3)
    expect_lt(abs(row$target - row$simulated), 0.15)
  }
  clustered <- withr::with_seed(5, ce_power(assume_model(c(-0.5, 1.2)), n = 800, delta = 0.09, cluster_size = 20,
                                            icc = 0.05, simulate = 60))
  row <- clustered[clustered$criterion == "equivalence", ]
  expect_lt(abs(row$target - row$simulated), 0.2)
})
