# Gains of several maps that are cross-fitted on the same folds.

gain_data <- function(n = 200, seed = 1) {
  withr::with_seed(seed, {
    z <- stats::rnorm(n, -0.5, 1.5)
    data.frame(p = stats::plogis(z), eta = stats::plogis(0.3 + 0.6 * z),
               y = stats::rbinom(n, 1, stats::plogis(0.3 + 0.6 * z)))
  })
}

test_that("each row of the table is the gain of out-of-fold predictions", {
  d <- gain_data()
  fold <- rep(1:4, 50)
  maps <- list(platt = map_platt(), steps = "isotonic", update = map_update(df = 2))
  for (score in c("brier", "log")) {
    out <- suppressWarnings(ce_gain(d$p, maps, d$y, folds = fold, score = score))
    expect_identical(out$map, c("none", names(maps)))
    for (name in names(maps)) {
      after <- predict(ce_recalibrate(d$p, d$y, method = maps[[name]], folds = fold))
      one <- suppressWarnings(ce_gain(d$p, after, d$y, score = score, injective = TRUE))[1, ]
      same <- c("before", "after", "gain", "n")
      expect_equal(out[out$map == name, same], one[same], ignore_attr = TRUE)
      scores <- vapply(1:4, function(k) {
        map <- ce_recalibrate(d$p[fold != k], d$y[fold != k], method = maps[[name]])
        own <- suppressWarnings(predict(map, d$p)) # rows that it was fitted to among them
        if (score == "brier") (own - d$y)^2 else -log(ifelse(d$y == 1, own, 1 - own))
      }, numeric(200))
      noise <- sum(apply(scores - rowMeans(scores), 2, stats::var), na.rm = TRUE) / 200
      expect_equal(out$std.error[out$map == name], sqrt(one$std.error^2 + noise))
      expect_equal(out$conf.high[out$map == name], one$gain + stats::qnorm(.975) * sqrt(one$std.error^2 + noise))
    }
  }
  none <- ce_gain(d$p, "platt", d$y)[1, ]
  expect_equal(none$after, mean((d$p - d$y)^2))
  expect_identical(c(none$gain, none$std.error, none$conf.low, none$conf.high), rep(0, 4))
})

test_that("several classes, by name and by value", {
  s <- simulate_classes(150, 3, temperature = 2, seed = 4)
  fold <- rep(1:3, 50)
  out <- ce_gain(s$p, c("temperature", b = "vector"), s$y, folds = fold)
  after <- predict(ce_recalibrate(s$p, s$y, method = "temperature", folds = fold))
  expect_equal(out$gain[2], ce_gain(s$p, after, s$y, injective = TRUE)$gain[1])
  expect_identical(out$map, c("none", "temperature", "b"))
  expect_identical(ce_gain(s$p, list(map_temperature(), map_temperature("brier")), s$y)$map,
                   c("none", "temperature", "temperature_1"))
  expect_identical(ce_gain(s$p, map_temperature(), s$y), ce_gain(s$p, "temperature", s$y))
})

test_that("folds are even, those of the rows' values in any order, and hold whole clusters", {
  d <- gain_data(103)
  d$p[1:20] <- 0.3 # ties are scattered too
  order <- withr::with_seed(2, sample.int(103))
  out <- ce_gain(d$p, c("platt", "histogram"), d$y, folds = 4, repeats = 3)
  expect_equal(ce_gain(d$p[order], c("platt", "histogram"), d$y[order], folds = 4, repeats = 3), out,
               ignore_attr = "event")
  split <- value_folds(cbind(d$p), d$y, folds = 4, even = TRUE)
  expect_identical(sort(tabulate(split, 4)), c(25L, 26L, 26L, 26L))
  expect_gt(length(unique(split[1:20])), 1)
  cluster <- c(rep(1:20, 5), 1:3)
  whole <- value_folds(cbind(d$p), d$y, cluster, 4, even = TRUE)
  expect_true(all(tapply(whole, cluster, function(f) length(unique(f))) == 1))
  expect_identical(tabulate(whole[1:20]), rep(5L, 4))
  expect_identical(value_folds(cbind(d$p), d$y, 103:1, 4, even = TRUE), split)
  # repeats have splits of their own
  repeated <- lapply(1:2, function(r) value_folds(cbind(d$p, r), d$y, folds = 4, even = TRUE))
  expect_false(identical(repeated[[1]], repeated[[2]]))
  one <- vapply(1:3, function(r) {
    ce_gain(d$p, "platt", d$y, folds = value_folds(cbind(1 - d$p, d$p, r), d$y + 1, folds = 4, even = TRUE))$gain[2]
  }, 0)
  expect_equal(out$gain[2], mean(one))
})

test_that("counts are repeated rows in repeated and given folds, and clusters have Student's quantiles", {
  d <- design_rows_frame()
  d$own <- 120:1
  gain <- function(d, ..., folds = 4) ce_gain(d, "platt", y, prob, folds = folds, ...)
  at <- rep(1:120, d$copies)
  expect_equal(gain(d, weights = copies, repeats = 2), gain(d[at, ], repeats = 2))
  expect_equal(gain(d, weights = copies, cluster = centre), gain(d[at, ], cluster = centre))
  expect_equal(gain(d, weights = copies, folds = rep(1:4, 30)), gain(d[at, ], folds = rep(1:4, 30)[at]))
  single <- gain(d, cluster = own)
  expect_equal(single$std.error, gain(d)$std.error)
  expect_equal((single$conf.high - single$gain)[2], stats::qt(.975, 119) * single$std.error[2])
})

test_that("gains at a horizon are those of the weighted rows", {
  d <- gain_data(120)
  skip_if_not_installed("survival")
  time <- withr::with_seed(3, stats::rexp(120, d$eta))
  follow <- withr::with_seed(4, stats::rexp(120, 0.2))
  s <- survival::Surv(pmin(time, follow), time <= follow)
  late <- suppressMessages(ce_gain(d$p, "platt", s, horizon = 1, folds = 3))
  known <- outcomes_at(rlang::quo(s), d$p, as_horizon(1))$censoring
  used <- known$weights > 0
  weighted <- ce_gain(d$p[used], "platt", known$outcomes[used], weights = known$weights[used], folds = 3)
  # all rows are counted
  expect_identical(late$n, c(120L, 120L))
  kept <- setdiff(names(late), "n")
  expect_equal(late[kept], weighted[kept], ignore_attr = c("design", "event"))
})

test_that("intervals cover the gain of the maps on the rows that did not fit them", {
  fold <- rep(1:5, 40)
  hit <- vapply(1:100, function(i) {
    d <- gain_data(seed = 100 + i)
    after <- predict(ce_recalibrate(d$p, d$y, method = "platt", folds = fold))
    truth <- mean((d$p - d$eta)^2 - (after - d$eta)^2)
    out <- ce_gain(d$p, map_platt(), d$y, folds = fold)[2, ]
    out$conf.low <= truth && truth <= out$conf.high
  }, NA)
  expect_gt(mean(hit), 0.88)
})

test_that("what is no map, too few rows and arguments of the other kind are errors", {
  d <- gain_data(30)
  fails <- function(after, message, class = "argument", ...) {
    expect_error(ce_gain(d$p, after, d$y, ...), message, class = paste0("calibrisk_error_", class))
  }
  fails("plat", "isotonic")
  fails(list(map_platt), "a function")
  fails(list(), "empty list")
  fails("variance", "ce_moments")
  fails(list(ce_recalibrate(d$p, d$y, method = "platt")), "was fitted before")
  fails("platt", "are 30 rows", "rows", folds = 31)
  fails("platt", "are 3 clusters", "rows", folds = 4, cluster = rep(1:3, 10))
  fails("platt", "one split", "folds", folds = rep(1:3, 10), repeats = 2)
  fails("platt", "Maps know", injective = TRUE)
  fails(d$p / 2, "fitted here", folds = 3)
  fails(d$p / 2, "fitted here", repeats = 3)
  expect_warning(out <- ce_gain(d$p, "platt", rep(1, 30)), "every fold", class = "calibrisk_warning_convergence")
  expect_identical(out$converged, c(TRUE, FALSE))
})

test_that("the standard error holds where a map adds nothing but noise", {
  skip_on_cran()
  place <- stats::plogis(1.3 * stats::qnorm((1:400 - .5) / 400))
  platt <- function(p, y) {
    line <- stats::glm.fit(cbind(1, stats::qlogis(p)), y, family = stats::binomial())$coefficients
    stats::plogis(line[1] + line[2] * stats::qlogis(place))
  }
  d <- withr::with_seed(5, list(p = stats::runif(200), y = rep(0:1, 100)))
  expect_equal(platt(d$p, d$y), predict(ce_recalibrate(d$p, d$y, method = "platt"), place), tolerance = 1e-6)
  found <- withr::with_seed(6, vapply(1:150, function(i) {
    p <- sample(place, 200, replace = TRUE)
    y <- stats::rbinom(200, 1, p)
    fold <- rep(1:5, 40)
    out <- ce_gain(p, map_platt(), y, folds = fold)[2, ]
    # what these five maps lose on all rows there are
    lost <- vapply(1:5, function(k) mean((platt(p[fold != k], y[fold != k]) - place)^2), 0)
    c(out$gain + mean(lost), out$std.error, -mean(lost) > out$conf.high)
  }, numeric(3)))
  ratio <- sqrt(mean(found[2, ]^2)) / stats::sd(found[1, ])
  expect_gt(ratio, .85)
  expect_lt(ratio, 1.3)
  expect_lt(mean(found[3, ]), .05)
})
