# not suggested: it is asked for where it is installed
of_survey <- function(name) getExportedValue("survey", name)

schools <- function() {
  withr::with_seed(1, {
    d <- data.frame(district = rep(1:30, each = 8), p = plogis(rnorm(240)), w = rexp(240) + .2)
    d$y <- rbinom(240, 1, plogis(.7 * qlogis(d$p) + rep(rnorm(30, 0, .6), each = 8)))
    d$zone <- d$district %% 2
    d
  })
}

test_that("a survey design is its rows with weights and clusters, whose errors are those of survey", {
  skip_if_not_installed("survey")
  d <- schools()
  design <- of_survey("svydesign")(ids = ~district, weights = ~w, data = d)
  v <- ce_validate(design, y, p, times = 0, event_level = "second")
  term <- function(name) v$table[v$table$term == name, ]
  means <- of_survey("svymean")(~I((y - p)^2), design)
  expect_equal(c(term("brier")$estimate, term("brier")$std.error), c(coef(means)[[1]], of_survey("SE")(means)[[1]]))
  # the influence rows of a ratio
  ratio <- of_survey("svyratio")(~y, ~p, design)
  expect_equal(c(term("oe_ratio")$estimate, term("oe_ratio")$std.error),
               c(coef(ratio)[[1]], of_survey("SE")(ratio)[[1]]),
               tolerance = 1e-6)
  line <- of_survey("svyglm")(y ~ qlogis(p), design, family = quasibinomial, control = list(epsilon = 1e-12))
  expect_equal(c(term("slope")$estimate, term("slope")$std.error),
               c(coef(line)[[2]], of_survey("SE")(line)[[2]]), tolerance = 1e-5)
  expect_output(print(v), "30 clusters")
  # the columns say the same
  expect_equal(v$table, ce_validate(d, y, p, times = 0, event_level = "second", weights = w, cluster = district)$table,
               tolerance = 1e-10)
  own <- of_survey("svydesign")(ids = ~1, weights = ~w, data = d)
  verbs <- list(function(...) ce_estimate(...), function(...) rbs(...), function(...) ce_score(...),
                function(...) tidy(ce_curve(...)), function(...) ce_panel(...))
  for (verb in verbs) expect_equal(verb(own, y, p), verb(d, y, p, weights = w), ignore_attr = TRUE)
  expect_equal(rbs(own, y, p, .by = zone), rbs(d, y, p, weights = w, .by = zone), ignore_attr = TRUE)
  expect_equal(tidy(ce_coverage(own, p, pred_normal(y, 1))), tidy(ce_coverage(d, p, pred_normal(y, 1), weights = w)))
})

test_that("models and predictions before and after a map have one survey design", {
  skip_if_not_installed("survey")
  d <- schools()
  d$q <- d$p^2
  d$v <- rev(d$w)
  of <- function(data, weights = ~w) of_survey("svydesign")(ids = ~district, weights = weights, data = data)
  after <- transform(d, p = q)
  expect_equal(ce_gain(of(d), of(after), y, p), ce_gain(d, after, y, p, weights = w, cluster = district),
               ignore_attr = TRUE)
  expect_error(ce_gain(of(d), of(after, ~v), y, p), "differ", class = "calibrisk_error_weights")
  expect_error(ce_gain(d, of(after), y, p), "data frame", class = "calibrisk_error_weights")
  expect_s3_class(ce_models(list(a = of(d), b = of(after)), y, p), "ce_models")
  expect_error(ce_models(list(a = d, b = of(after)), y, p), "weights", class = "calibrisk_error_models")
  expect_error(ce_models(list(a = of(d), b = of(after, ~v)), y, p), "weights", class = "calibrisk_error_models")
})

test_that("designs of one stratum are read, of two phases and in a database not", {
  skip_if_not_installed("survey")
  d <- schools()
  d$all <- 1
  one <- of_survey("svydesign")(ids = ~district, strata = ~all, weights = ~w, data = d)
  expect_equal(rbs(one, y, p), rbs(d, y, p, weights = w, cluster = district), ignore_attr = TRUE)
  d$known <- d$p > .3
  two <- of_survey("twophase")(id = list(~1, ~1), subset = ~known, data = d)
  expect_error(rbs(two, y, p), "one phase", class = "calibrisk_error_unsupported")
})

test_that("standard errors with strata are those of survey, of domains too", {
  skip_if_not_installed("survey")
  d <- schools()
  d$zone <- 1 + (d$district > 4) + (d$district > 20)
  d$school <- paste(d$district, rep(1:2, 4))
  # a stratum with one cluster is taken about the mean of all
  withr::local_options(survey.lonely.psu = "adjust")
  same <- function(of, by_survey) {
    expect_equal(c(of$estimate, of$std.error), c(coef(by_survey)[[1]], of_survey("SE")(by_survey)[[1]]),
                 tolerance = 1e-6)
  }
  for (ids in c(~district, ~1, ~school)) {
    for (weights in c(~w, ~1)) {
      design <- of_survey("svydesign")(ids = ids, strata = ~zone, weights = weights, data = d)
      brier <- function(x) {
        out <- ce_score(x, y, p, score = "brier", event_level = "second")
        list(estimate = out$.estimate, std.error = out$std.error)
      }
      same(brier(design), of_survey("svymean")(~I((y - p)^2), design))
      part <- subset(design, p > .4 & district != 3)
      same(brier(part), of_survey("svymean")(~I((y - p)^2), part))
      v <- ce_validate(design, y, p, times = 0, event_level = "second")
      same(v$table[v$table$term == "oe_ratio", ], of_survey("svyratio")(~y, ~p, design))
      curve <- tidy(ce_decision(design, y, p, thresholds = .4, event_level = "second", recalibration = map_platt()))
      same(list(estimate = curve$net_benefit, std.error = curve$net_benefit.std.error),
           of_survey("svymean")(~I((p >= .4) * (y - .4) / .6), design))
      means <- ce_moments(design, y, pred_normal(p, .3))
      same(means[means$quantity == "bias", ], of_survey("svymean")(~I(p - y), design))
    }
  }
  lonely <- of_survey("svydesign")(ids = ~district, strata = ~I(district == 1), weights = ~w, data = d)
  same(brier(lonely), of_survey("svymean")(~I((y - p)^2), lonely))
  expect_output(print(v), "240 clusters|60 clusters")
  expect_true(all(is.finite(unlist(as.data.frame(ce_estimate(design, y, p))[c("conf.low", "conf.high")]))))
})

test_that("variances of strata are those of a loop", {
  strata <- c(1, 1, 1, 2, 2, 3, 2)
  drawn <- c(4, 4, 4, 3, 3, 1, 3)  # one unit of the first stratum has no rows, the last was drawn alone
  z <- apply(cbind(1:7, c(2, -1, 0, 5, 1, 3, -2)), 2, function(v) v - mean(v))
  expected <- matrix(0, 2, 2)
  for (h in 1:3) {
    n <- drawn[strata == h][1]
    units <- rbind(z[strata == h, , drop = FALSE], matrix(0, n - sum(strata == h), 2))
    if (n > 1) units <- sqrt(n / (n - 1)) * scale(units, scale = FALSE)
    expected <- expected + crossprod(units)
  }
  expect_equal(cpp_row_covariance(z, list(strata = strata, drawn = drawn)), expected / 49)
  # two rows a unit
  twice <- list(strata = rep(strata, 2), drawn = rep(drawn, 2), cluster = rep(1:7, 2))
  expect_equal(cpp_row_covariance(rbind(z, z), twice), expected / 49)
})

test_that("weights beside a design are refused", {
  skip_if_not_installed("survey")
  d <- schools()
  design <- of_survey("svydesign")(ids = ~district, weights = ~w, data = d)
  expect_error(rbs(design, y, p, weights = w), "of its own", class = "calibrisk_error_argument")
  expect_error(rbs(design, y, p, cluster = zone), "of its own", class = "calibrisk_error_argument")
})
