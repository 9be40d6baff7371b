validation_rows <- function(n = 300, seed = 1) {
  withr::with_seed(seed, {
    p <- round(stats::plogis(rnorm(n, -1, 1.2)), 3)
    data.frame(p = p, y = rbinom(n, 1, p^1.3), g = rep(c("b", "a", "c"), length.out = n), w = rexp(n) + .2,
               copies = rpois(n, 1), site = rep(1:30, length.out = n))
  })
}
terms_of <- function(...) {
  out <- tidy(ce_validate(..., times = 0))
  setNames(out$estimate, out$term)
}

test_that("every number is its formula", {
  d <- validation_rows()
  value <- terms_of(d$p, d$y, thresholds = c(.1, .3))
  p <- d$p
  y <- d$y
  pairs <- outer(p[y == 1], p[y == 0], function(a, b) (a > b) + (a == b) / 2)
  curve <- pmin(pmax(fitted(loess(y ~ p, degree = 2)), 0), 1)
  naive <- c(
    oe_ratio = sum(y) / sum(p), auroc = mean(pairs), brier = mean((y - p)^2),
    scaled_brier = 1 - mean((y - p)^2) / mean((y - mean(y))^2), log_loss = -mean(y * log(p) + (1 - y) * log(1 - p)),
    ici = mean(abs(curve - p)), eci = mean((curve - p)^2) / mean((p - mean(y))^2),
    "net_benefit(0.1)" = mean(p >= .1 & y == 1) - mean(p >= .1 & y == 0) / 9,
    "net_benefit(0.3)" = mean(p >= .3 & y == 1) - mean(p >= .3 & y == 0) * 3 / 7,
    intercept = coef(glm(y ~ qlogis(p), binomial))[[1]], slope = coef(glm(y ~ qlogis(p), binomial))[[2]],
    in_the_large = coef(glm(y ~ offset(qlogis(p)), family = binomial))[[1]]
  )
  # the curve is loess() with interpolation, as published
  expect_equal(value[names(naive)], naive, tolerance = 1e-6)
  expect_equal(value[["calibration_error"]], ce_estimate(p, y)$estimate)
  expect_identical(unname(value[c("ici", "e50", "e90", "emax")]), ici(p, y)$.estimate)
})

test_that("errors are those of a jackknife, on the scale of the interval", {
  d <- validation_rows(150)
  out <- tidy(ce_validate(d$p, d$y, times = 0, thresholds = .2))
  shown <- setNames(out$std.error, out$term)
  fast <- function(p, y) {
    c(oe_ratio = mean(y) / mean(p), auroc = mean(outer(p[y == 1], p[y == 0], function(a, b) (a > b) + (a == b) / 2)),
      brier = mean((y - p)^2), scaled_brier = 1 - mean((y - p)^2) / mean((y - mean(y))^2),
      "net_benefit(0.2)" = mean((p >= .2) * (y - .2)) / .8)
  }
  left <- vapply(seq_len(150), function(i) fast(d$p[-i], d$y[-i]), numeric(5))
  jackknife <- sqrt(149^2 / 150 * apply(left, 1, var))
  expect_lt(max(abs(shown[names(jackknife)] / jackknife - 1)), .05)
  row <- out[out$term == "auroc", ]
  z <- qt(.975, min(sum(d$y), sum(1 - d$y)) - 1) * row$std.error / dlogis(qlogis(row$estimate))
  expect_equal(c(row$conf.low, row$conf.high), plogis(qlogis(row$estimate) + c(-1, 1) * z))
})

test_that("the AUROC has the standard error of DeLong et al., and limits with few events", {
  auroc <- function(p, y, ...) {
    out <- tidy(ce_validate(p, y, times = 0, ...))
    unlist(out[out$term == "auroc", c("estimate", "std.error", "conf.low", "conf.high")])
  }
  d <- validation_rows(60)
  d$p <- round(d$p, 1) * .8 + .1
  placed <- outer(d$p[d$y == 1], d$p[d$y == 0], function(a, b) (a > b) + (a == b) / 2)
  delong <- sqrt(var(rowMeans(placed)) / nrow(placed) + var(colMeans(placed)) / ncol(placed))
  found <- auroc(d$p, d$y)
  expect_equal(found[["std.error"]], delong)
  # limits of an interval of its own, as pROC::ci.auc() has them
  many <- validation_rows(400)
  one <- ce_score(many$p, many$y, score = "auroc", level = .9)
  placed <- outer(many$p[many$y == 1], many$p[many$y == 0], function(a, b) (a > b) + (a == b) / 2)
  error <- sqrt(var(rowMeans(placed)) / nrow(placed) + var(colMeans(placed)) / ncol(placed))
  expect_equal(unlist(one[3:6], use.names = FALSE),
               c(mean(placed), error, mean(placed) + c(-1, 1) * qnorm(.95) * error))
  several <- ce_score(d$p, d$y, score = "auroc", weights = d$w, cluster = rep(1:12, 5))
  expect_equal(unlist(several[c(".estimate", "std.error")], use.names = FALSE),
               unname(auroc(d$p, d$y, weights = d$w, cluster = rep(1:12, 5))[1:2]))
  expect_error(ce_score(diag(3), 1:3, score = "auroc"), "3 classes", class = "calibrisk_error_score")
  expect_error(ce_score(d$p, d$y, score = "auroc", bound = TRUE), class = "calibrisk_error_score")
  expect_equal(auroc(d$p, d$y, cluster = 60:1), found)
  expect_equal(auroc(d$p, d$y, weights = rep(.5, 60)), found)
  again <- rep(1:60, rep(1:3, 20))
  expect_equal(auroc(d$p, d$y, weights = rep(1:3, 20)), auroc(d$p[again], d$y[again]))
  # one event has no interval; few that are all ranked first have one
  p <- seq(.05, .95, length.out = 40)
  expect_identical(is.na(auroc(p, as.numeric(1:40 == 30)))[2:4], c(std.error = TRUE, conf.low = TRUE, conf.high = TRUE))
  expect_equal(auroc(p, as.numeric(1:40 > 37))[3:4], c(conf.low = unname(1 / (1 + qnorm(.975)^2 / 3)), conf.high = 1))
  # covers where a tenth of the events have a low prediction
  covered <- withr::with_seed(3, vapply(1:500, function(i) {
    event <- rep(1:0, c(5, 60))
    score <- ifelse(event == 1 & stats::runif(65) < .9, 2, stats::runif(65))
    limits <- suppressWarnings(ce_score(score / 3 + .1, event, score = "auroc"))
    limits$conf.low <= .95 && .95 <= limits$conf.high
  }, NA))
  expect_gt(mean(covered), .93)
})

test_that("the published numbers of the ovarian tumours are met", {
  # benvancalster/PerfMeasuresOverview: the file is not ours to give away
  file <- Sys.getenv("CALIBRISK_ADNEX")
  skip_if_not(nzchar(file) && file.exists(file), "CALIBRISK_ADNEX")
  d <- utils::read.table(file, header = TRUE)
  out <- tidy(ce_validate(d$pmalwo, d$Outcome1, thresholds = .1, times = 0))
  value <- setNames(out$estimate, out$term)
  published <- c(oe_ratio = 1.228075, in_the_large = .8095779, slope = .9338235, ici = .09415385, eci = .1051168,
                 brier = .132565, scaled_brier = .469289, "net_benefit(0.1)" = .4427044, auroc = .911385)
  expect_equal(value[names(published)], published, tolerance = 1e-6)
  expect_equal(out$std.error[match(c("in_the_large", "slope"), out$term)], c(.09982, .05942), tolerance = 1e-4)
})

test_that("intervals cover", {
  skip_on_cran()
  terms <- c("oe_ratio", "auroc", "brier", "scaled_brier", "net_benefit(0.2)")
  law <- function(n) {
    p <- plogis(rnorm(n, -.5))
    list(p = p, y = rbinom(n, 1, plogis(-.3 + 1.3 * qlogis(p))))
  }
  withr::local_seed(3)
  big <- law(4e5)
  truth <- terms_of(big$p, big$y, thresholds = .2)[terms]
  covered <- replicate(150, {
    d <- law(200)
    out <- tidy(ce_validate(d$p, d$y, thresholds = .2, times = 0))
    out <- out[match(terms, out$term), ]
    out$conf.low <= truth & truth <= out$conf.high
  })
  expect_true(all(rowMeans(covered) > .9))
})

test_that("models and classes have their own rows", {
  d <- validation_rows()
  two <- ce_validate(list(first = d$p, second = d$p^2), d$y, times = 0)
  expect_identical(glance(two)$model, c("first", "second"))
  expect_equal(tidy(two)[tidy(two)$model == "second", -1], tidy(ce_validate(d$p^2, d$y, times = 0)))
  classes <- ce_validate(vehicle_predictions, truth, times = 0, thresholds = .3)
  expect_identical(glance(classes)$class, levels(vehicle_predictions$truth))
  bus <- terms_of(vehicle_predictions$.pred_bus, vehicle_predictions$truth == "bus", thresholds = .3)
  shown <- tidy(classes)[tidy(classes)$class == "bus", ]
  expect_equal(setNames(shown$estimate, shown$term), bus)
})

test_that("strong calibration is that of every group, with one test of all", {
  d <- validation_rows(900)
  d$y[d$g == "a"] <- withr::with_seed(2, rbinom(300, 1, d$p[d$g == "a"]^.3))
  out <- tidy(ce_validate(d, y, p, group = g, times = 0))
  strong <- out[out$level == "strong", ]
  alone <- lapply(split(d, d$g), function(part) ce_estimate(part$p, part$y))
  value <- function(name) vapply(alone, `[[`, 0, name)
  expect_equal(strong$estimate[c(2, 4, 6)], unname(value("estimate")))
  expect_equal(strong$p.value[7], min(1, 3 * min(value("p.value"))))
  expect_lt(strong$p.value[7], .001)
  expect_identical(strong$term[c(1, 7)], c("oe_ratio(g = a)", "all_groups"))
})

test_that("samples of cells move as those of rows", {
  d <- validation_rows(1000)
  options <- list(smoother = "loess", span = .75, level = .95)
  problem <- scalar_problem(d$p, d$y)
  for (design in list(new_design(1000), new_design(1000, cluster = rep(1:200, each = 5)), new_design(1000, w = d$w))) {
    problem$design <- design
    frequency <- problem_frequency(problem, "loess", .75)
    value <- curve_distances(frequency - d$p, problem)
    given <- replace(options, "times", 400)
    exact <- withr::with_seed(1, smooth_draws(problem, frequency, "loess", .75, 400))
    cells <- withr::with_seed(1, cell_draws(problem, moderate_cells(problem, given, 300), frequency, value, given))
    for (name in c("samples", "noise")) {
      expect_equal(rowMeans(cells[[name]]), rowMeans(exact[[name]]), tolerance = .1)
      expect_equal(apply(cells[[name]], 1, sd), apply(exact[[name]], 1, sd), tolerance = .15)
    }
  }
})

test_that("what cannot be computed is a note, and the print says what the numbers mean", {
  d <- validation_rows()
  one <- ce_validate(d$p, rep(1, 300), times = 0)
  expect_true("All outcomes are equal." %in% one$notes[[1]])
  expect_true(is.na(tidy(one)$estimate[tidy(one)$term == "auroc"]))
  perfect <- tidy(ce_validate(rep(0:1, 20), rep(0:1, 20), times = 0))
  expect_false(any(vapply(perfect[3:7], function(v) any(is.nan(v)), NA)))
  expect_true(is.na(perfect$conf.low[1]))
  certain <- ce_validate(c(0, .2, .4, .6, 1, 1), c(0, 0, 1, 1, 1, 0), times = 0)
  expect_match(certain$notes[[1]][1], "infinite logits")
  expect_match(certain$notes[[1]], "log loss is infinite", all = FALSE)
  expect_output(print(ce_validate(pmin(1, 2 * d$p), d$y, times = 0)), "On average predictions are too high")
  expect_output(print(ce_validate(d$p, rbinom(300, 1, plogis(4 * qlogis(d$p))), times = 0)), "too moderate")
  expect_output(print(ce_validate(d$p, d$y, weights = d$w, cluster = d$site, times = 0)), "30 clusters")
  incomplete <- replace(d$p, 3, NA)
  expect_output(print(ce_validate(incomplete, d$y, times = 0)), "1 incomplete row was dropped")
  expect_true(all(nchar(utils::capture.output(print(one))) <= 80))
})

test_that("the figure has the numbers of the table", {
  skip_if_not_installed("ggplot2")
  d <- validation_rows(300)
  validation <- ce_validate(list(a = d$p, b = d$p^2), d$y, times = 0)
  numbers <- validation_numbers(validation)
  table <- tidy(validation)
  for (i in 1:2) {
    own <- table[table$model == c("a", "b")[i], ]
    of <- function(term, digits) format(round(own$estimate[own$term == term], digits), nsmall = digits)
    expect_identical(numbers[[i]][c("O:E", "slope", "C", "Brier score", "n", "events")], c(
      "O:E" = of("oe_ratio", 2), slope = of("slope", 2), C = of("auroc", 2), "Brier score" = of("brier", 3),
      n = "300", events = format(sum(d$y))
    ))
  }
})

test_that("bad arguments are named", {
  d <- validation_rows(50)
  expect_error(ce_validate(d$p, d$y, thresholds = 1), "strictly between 0 and 1", class = "calibrisk_error_argument")
  expect_error(ce_validate(d$p, d$y, threshold = .1), "thresholds", class = "calibrisk_error_argument")
  expect_error(ce_validate(d$p, d$y, group = 1:3), "every row", class = "calibrisk_error_length")
  expect_error(ce_validate(d$p, d$y, notion = "canonical"), class = "calibrisk_error_notion")
  expect_error(ce_validate(d$p, d$y, times = 5), class = "calibrisk_error_argument")
})

test_that("a discrimination that is perfect up to rounding is 1", {
  data <- data.frame(p = rep(0:1, 20), y = rep(0:1, 20), w = c(1e12, withr::with_seed(1, stats::rexp(39))))
  expect_no_warning(found <- ce_validate(data, y, p, weights = w))
  rows <- tidy(found)
  expect_equal(rows$estimate[rows$term == "auroc"], 1)
})

test_that("simulated limits have the same digits under every generator, which stays as it was", {
  d <- validation_rows(400)
  kinds <- RNGkind()
  withr::defer(suppressWarnings(do.call(RNGkind, as.list(kinds))))
  for (copies in c(1, 15)) {
    rows <- d[rep(seq_len(400), copies), ]
    rows$p <- rows$p + seq_len(nrow(rows)) * 1e-9
    limits <- function() tidy(ce_validate(rows, y, p, times = 20))$conf.high
    expected <- limits()
    for (kind in list(c("L'Ecuyer-CMRG", "Box-Muller", "Rounding"), c("Wichmann-Hill", "Ahrens-Dieter", "Rejection"))) {
      suppressWarnings(do.call(RNGkind, as.list(kind)))
      state <- globalenv()$.Random.seed
      expect_identical(limits(), expected)
      expect_identical(globalenv()$.Random.seed, state)
      expect_identical(RNGkind(), kind)
    }
  }
})
