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
  design <- survey::svydesign(ids = ~district, weights = ~w, data = d)
  v <- ce_validate(design, y, p, times = 0, event_level = "second")
  term <- function(name) v$table[v$table$term == name, ]
  means <- survey::svymean(~I((y - p)^2), design)
  expect_equal(c(term("brier")$estimate, term("brier")$std.error), c(coef(means)[[1]], survey::SE(means)[[1]]))
  # the influence rows of a ratio
  ratio <- survey::svyratio(~y, ~p, design)
  expect_equal(c(term("oe_ratio")$estimate, term("oe_ratio")$std.error), c(coef(ratio)[[1]], survey::SE(ratio)[[1]]),
               tolerance = 1e-6)
  line <- survey::svyglm(y ~ qlogis(p), design, family = quasibinomial, control = list(epsilon = 1e-12))
  expect_equal(c(term("slope")$estimate, term("slope")$std.error),
               c(coef(line)[[2]], survey::SE(line)[[2]]), tolerance = 1e-5)
  expect_output(print(v), "30 clusters")
  # the columns say the same
  expect_equal(v$table, ce_validate(d, y, p, times = 0, event_level = "second", weights = w, cluster = district)$table,
               tolerance = 1e-10)
  own <- survey::svydesign(ids = ~1, weights = ~w, data = d)
  verbs <- list(function(...) ce_estimate(...), function(...) rbs(...), function(...) ce_score(...),
                function(...) tidy(ce_curve(...)), function(...) ce_panel(...))
  for (verb in verbs) expect_equal(verb(own, y, p), verb(d, y, p, weights = w), ignore_attr = TRUE)
  expect_equal(rbs(own, y, p, .by = zone), rbs(d, y, p, weights = w, .by = zone), ignore_attr = TRUE)
  expect_equal(tidy(ce_coverage(own, p, pred_normal(y, 1))), tidy(ce_coverage(d, p, pred_normal(y, 1), weights = w)))
})

test_that("strata are refused, and so are weights beside a design", {
  skip_if_not_installed("survey")
  d <- schools()
  strata <- survey::svydesign(ids = ~district, strata = ~zone, weights = ~w, data = d)
  expect_error(rbs(strata, y, p), "strata", class = "calibrisk_error_unsupported")
  design <- survey::svydesign(ids = ~district, weights = ~w, data = d)
  expect_error(rbs(design, y, p, weights = w), "of its own", class = "calibrisk_error_argument")
  expect_error(rbs(design, y, p, cluster = zone), "of its own", class = "calibrisk_error_argument")
})
