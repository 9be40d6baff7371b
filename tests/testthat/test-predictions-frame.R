test_that("outcomes given beside a data frame are told from its columns", {
  v <- vehicle_predictions
  outcomes <- v$truth
  for (bad in list(quote(ece(v, v$truth)), quote(ece(v, outcomes)), quote(ece(v, as.integer(v$truth))),
                   quote(skce(v, v$truth)), quote(ce_gain(v, v, v$truth)))) {
    error <- expect_error(eval(bad), "a vector of 500 values|computes with columns", class = "calibrisk_error_columns")
    expect_lt(nchar(conditionMessage(error)), 400)
  }
  expect_error(ece(v, nothing), class = "calibrisk_error_columns")
})

test_that("columns named as the levels of the truth are found, where none start with .pred_", {
  df <- data.frame(obs = factor(letters[truth3], levels = letters[1:3]), id = seq_along(truth3), c = probs3[, 3],
                   a = probs3[, 1], b = probs3[, 2])
  expect_equal(as_predictions(df, rlang::quo(obs))$probs, probs3)
  expect_equal(ece(df, obs), ece(df, obs, a, b, c))
  df$obs <- as.character(df$obs)
  expect_equal(ece(df, obs), ece(df, obs, a, b, c))
  expect_error(ece(df[names(df) != "b"], obs), "levels of `truth`", class = "calibrisk_error_columns")
  # `.pred_` goes before
  df$.pred_a <- df$a
  df$.pred_b <- df$c
  df$.pred_c <- df$b
  expect_equal(ece(df, obs), ece(df, obs, .pred_a, .pred_b, .pred_c))
})

test_that("a column that has columns is not read as probabilities", {
  withr::local_seed(1)
  p <- runif(40)
  d <- data.frame(y = rbinom(40, 1, p))
  d$prob <- cbind(no = 1 - p, yes = p)
  d$frame <- data.frame(a = 1 - p, b = p)
  d$array <- array(p, c(40, 1, 2))
  d$one <- cbind(p)
  d$.pred_1 <- d$prob
  for (name in c("prob", "frame", "array", ".pred_1")) {
    expect_error(ece(d, y, !!name), "2 columns", class = "calibrisk_error_columns", info = name)
  }
  expect_error(ece(d, y), ".pred_1", class = "calibrisk_error_columns")
  expect_identical(ece(d, y, one), ece(data.frame(y = d$y, one = p), y, one))
  map <- ce_recalibrate(data.frame(y = d$y, prob = p), y, prob)
  expect_error(predict(map, d), "prob", class = "calibrisk_error_columns")
})

test_that("columns of tidymodels that are not probabilities of an event are not read as such", {
  withr::local_seed(2)
  p <- runif(40)
  d <- data.frame(y = rbinom(40, 1, p), .pred_1 = p, .pred_time = 0.5, .pred_lower = 0, .pred_upper = 1,
                  .pred_survival = 1 - p, .pred_linear_pred = 0.1, .pred_quantile = 0.2, .pred_lower_1 = 0.3)
  expect_identical(ece(d, y), ece(d[1:2], y))
  for (name in names(d)[3:9]) expect_error(ece(d, y, !!name), name, fixed = TRUE, class = "calibrisk_error_columns")
  # levels may have these names
  d <- data.frame(y = factor(ifelse(d$y == 1, "upper", "lower")), .pred_lower = 1 - p, .pred_upper = p)
  expect_equal(ece(d, y)$.estimate, ece(p, d$y == "upper")$.estimate)
})

test_that("survival predictions of tidymodels are read at the horizon", {
  skip_if_not_installed("survival")
  withr::local_seed(3)
  n <- 80
  rate <- rexp(n)
  time <- rexp(n, rate)
  follow <- runif(n, 0.1, 3)
  d <- tibble::tibble(out = survival::Surv(pmin(time, follow), as.integer(time <= follow)), g = rep(1:2, n / 2),
                      .pred_time = 1 / rate)
  at <- c(0.25, 0.5, 1)
  nested <- d
  nested$.pred <- lapply(rate, function(r) {
    tibble::tibble(.eval_time = at, .pred_survival = exp(-r * at), .weight_censored = 1)
  })
  long <- vctrs::vec_rep_each(d, 3)
  long$.eval_time <- rep(at, n)
  long$.pred_survival <- exp(-rep(rate, each = 3) * long$.eval_time)
  plain <- d
  plain$.pred_event <- 1 - exp(-rate / 2)
  brier <- function(x, ...) suppressMessages(ce_score(x, out, score = "brier", horizon = 0.5, ...))
  for (x in list(nested, long)) {
    expect_equal(brier(x), brier(plain))
    expect_equal(brier(x, .by = g), brier(plain, .by = g))
    groups <- function(x) tidy(suppressMessages(ce_validate(x, out, horizon = 0.5, times = 0, group = g)))
    expect_equal(groups(x), groups(plain))
    known <- ce_horizon(0.5, censoring = d$out)
    summed <- function(x) ce_estimate(suppressMessages(update(ce_state(), x, out, horizon = known)))
    expect_equal(summed(x), summed(plain))
    error <- expect_error(ce_score(x, out, score = "brier", horizon = 0.7), class = "calibrisk_error_horizon")
    expect_match(conditionMessage(error), "0.25, 0.5, and 1")
  }
  expect_equal(brier(nested, .pred), brier(plain))
  expect_error(brier(long, .pred_survival), "no column is selected", class = "calibrisk_error_columns")
  expect_equal(brier(transform(long, q = 1 - .pred_survival), q), brier(plain))
})

test_that("columns that are not used may have any names", {
  withr::local_seed(4)
  p <- runif(60)
  d <- data.frame(y = rbinom(60, 1, p), p = p, g = rep(c("a", "b"), 30), q = p^2, u = 1, v = 2, w = 3)
  odd <- lapply(list(c("z", "z", "z"), c("", "z", "z"), c(NA, "", NA)), function(names) {
    x <- d
    names(x)[5:7] <- names
    x
  })
  map <- ce_recalibrate(d, y, p, method = "platt")
  calls <- list(
    function(x) ece(x, y, p, .by = g), function(x) ce_estimate(x, y, p), function(x) skce(x, y, p),
    function(x) glance(ce_validate(x, y, p, times = 0)), function(x) tidy(ce_curve(x, y, p)),
    function(x) ce_compare(x, y, p, q, metric = rbs), function(x) ce_recalibrate(x, y, p, method = "platt")$terms,
    function(x) predict(map, x), function(x) augment(map, x)$.recal_p, function(x) ce_gain(x, map, y, p),
    function(x) glance(ce_decision(x, y, p, times = 100)), function(x) ce_estimate(update(ce_state(), x, y, p)),
    function(x) ce_panel(x, y, p), function(x) ce_predictions(stats::lm(p ~ y, d), x)$.pred
  )
  for (call in calls) {
    right <- suppressWarnings(call(d))
    for (x in odd) expect_equal(suppressWarnings(call(x)), right)
  }
  names(d)[5] <- "p"
  expect_error(ece(d, y, p), class = "calibrisk_error_columns")
})
