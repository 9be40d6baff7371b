models_rows <- function(n = 120) {
  withr::with_seed(1, {
    p <- stats::runif(n)
    data.frame(y = stats::rbinom(n, 1, p), p, q = p^2, r = stats::plogis(stats::qlogis(p) + stats::rnorm(n)),
               w = sample(0:3, n, TRUE), g = sample(1:20, n, TRUE))
  })
}

test_that("every way to give models reads the same predictions", {
  d <- models_rows()
  probs <- lapply(list(a = d$p, b = d$q), function(p) cbind(1 - p, p))
  expect_identical(lapply(ce_models(probs, d$y + 1), `[[`, "probs"), lapply(probs, unname))
  of_list <- ce_models(list(a = d$p, b = d$q), d$y)
  of_columns <- ce_models(d, y, a = p, b = q)
  long <- rbind(data.frame(id = 1:120, m = "a", pr = d$p, y = d$y), data.frame(id = 120:1, m = "b", pr = rev(d$q), y = rev(d$y)))
  of_long <- ce_models(long, y, pr, model = m, id = id)
  of_frames <- ce_models(split(long[c("id", "pr", "y")][c(1:120, 240:121), ], long$m), y, pr)
  mixed <- ce_models(list(a = d$p, b = cbind("0" = 1 - d$q, "1" = d$q)), d$y)
  for (m in list(of_list, of_columns, of_long, of_frames, mixed)) {
    expect_identical(names(m), c("a", "b"))
    expect_identical(ece(m)$.estimate, c(ece(d$p, d$y)$.estimate, ece(d$q, d$y)$.estimate))
    expect_equal(tidy(ce_compare(m, metric = ce_estimate))[-(1:2)], tidy(ce_compare(d, y, p, q, metric = ce_estimate))[-(1:2)])
  }
})

test_that("every function of rows gives one result per model, that of its predictions", {
  d <- models_rows()
  m <- ce_models(list(a = d$p, b = d$r), d$y, weights = d$w, cluster = d$g)
  alone <- function(fn, ...) lapply(list(a = d$p, b = d$r), fn, d$y, ..., weights = d$w, cluster = d$g)
  columns <- function(x) as.list(x)[setdiff(names(x), "model")]
  for (fn in list(ece, rbs, ce_score, ce_estimate, ks_error, ce_panel, smooth_ece, skce)) {
    parts <- alone(fn)
    found <- fn(m)
    expect_identical(unique(found$model), c("a", "b"))
    expect_equal(columns(found), columns(vctrs::vec_rbind(!!!lapply(parts, function(x) as.data.frame(as.list(x))))),
                 tolerance = 1e-10, ignore_attr = TRUE)
  }
  expect_equal(glance(ce_curve(m))$error, vapply(alone(ce_estimate), `[[`, 0, "estimate"), ignore_attr = TRUE)
  expect_equal(ce_validate(m, times = 0)$sample$model, c("a", "b"))
  expect_identical(glance(ce_tune(m, methods = method_bins(5)))$model, c("a", "b"))
  plain <- ce_models(list(a = d$p, b = d$q), d$y)
  expect_equal(ce_decision(plain, times = 100)$differences$difference,
               ce_decision(d, y, p, q, times = 100)$differences$difference)
  expect_equal(ce_test(plain)$results[[2]]$p.value, ce_test(d$q, d$y)$p.value)
  x <- stats::qnorm((1:60) / 61)
  laws <- ce_models(list(a = pred_normal(x, 1), b = pred_normal(x, 2)), rev(x))
  expect_equal(ce_score(laws, score = "crps")$.estimate[2], ce_score(pred_normal(x, 2), rev(x), score = "crps")$.estimate)
  expect_equal(ce_moments(laws)$estimate[1:9], ce_moments(pred_normal(x, 1), rev(x))$estimate)
  expect_equal(tidy(ce_curve(laws, type = "pit"))$observed[1:15], tidy(ce_curve(pred_normal(x, 1), rev(x), type = "pit"))$observed)
})

test_that("a row that is incomplete for one model is left out and counted once", {
  d <- models_rows()
  d$p[3] <- NA
  d$q[c(3, 7)] <- NA
  m <- ce_models(d, y, p, q)
  expect_identical(ce_estimate(m)$n, c(118L, 118L))
  for (x in list(m, ce_estimate(m), ce_validate(m, times = 0))) {
    expect_match(paste(utils::capture.output(print(x)), collapse = " "), "2 incomplete rows were dropped")
  }
  expect_match(paste(utils::capture.output(print(ce_estimate(m))), collapse = " "), sprintf("%d events", sum(d$y[-c(3, 7)])))
  long <- data.frame(m = rep(c("a", "b"), c(5, 6)), id = c(2:6, 1:6), p = (1:11) / 12, y = c(1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1))
  some <- ce_models(long, y, p, model = m, id = id)
  expect_identical(some$b$prob, (7:11) / 12)
  expect_match(paste(utils::capture.output(print(some)), collapse = " "), "1 row that a model lacks was left out")
  # weights of 0 are no missing values
  expect_identical(ce_models(list(d$r, d$r^2), d$y, weights = d$w)$model$dropped, 0L)
})

test_that("top labels may be right in other rows for each model, and are paired by the row", {
  conf <- withr::with_seed(2, list(a = stats::runif(200, .3, 1), b = stats::runif(200, .3, 1)))
  right <- withr::with_seed(3, lapply(conf, function(p) stats::runif(200) < p^1.3))
  nets <- Map(function(conf, correct) data.frame(conf, correct), conf, right)
  expect_message(m <- ce_models(nets, correct), class = "calibrisk_message_outcomes")
  found <- ce_compare(m, metric = "error")
  # the paired t statistic of being wrong
  wrong <- right$b - right$a
  expect_equal(c(found$difference, found$std.error), c(mean(wrong), stats::sd(wrong) / sqrt(200)))
  ranked <- ce_rank(m, metric = "error")
  expect_equal(sort(ranked$estimates$estimate), sort(1 - vapply(right, mean, 0)), ignore_attr = TRUE)
  expect_identical(unique(ece(m)$notion), "top_label")
  expect_equal(ece(m)$.estimate[2], ece(conf$b, right$b)$.estimate)
  names(nets) <- NULL
  long <- cbind(do.call(rbind, nets), net = rep(c("a", "b"), each = 200), image = rep(1:200, 2))[sample(400), ]
  suppressMessages(expect_equal(tidy(ce_compare(ce_models(long, correct, conf, model = net, id = image), metric = "error"))$std.error, found$std.error))
  # an event is the same for all
  nets[[1]]$correct <- factor(nets[[1]]$correct)
  nets[[2]]$correct <- factor(nets[[2]]$correct)
  expect_error(suppressWarnings(ce_models(nets, correct)), "same outcomes", class = "calibrisk_error_truth")
  probs <- list(a = cbind(conf$a, 1 - conf$a), b = cbind(conf$b, 1 - conf$b))
  expect_error(ce_models(Map(function(p, y) data.frame(p, y), probs, list(rep(1:2, 100), rep(2:1, 100))), y),
               class = "calibrisk_error_truth")
})

test_that("survival outcomes keep their horizon", {
  skip_if_not_installed("survival")
  d <- survival::gbsg
  d$a <- stats::plogis(d$nodes / 10 - 1)
  d$b <- d$a^1.2
  suppressMessages(m <- ce_models(d, survival::Surv(rfstime, status), a, b, horizon = 1826))
  suppressMessages(one <- ce_validate(d, survival::Surv(rfstime, status), b, horizon = 1826, times = 0))
  both <- ce_validate(m, times = 0)
  expect_equal(both$table$estimate[both$table$model == "b"], one$table$estimate)
  expect_identical(both$sample$n, c(686L, 686L))
  expect_match(paste(utils::capture.output(print(both)), collapse = " "), "events by time 1826")
  d$a[1] <- NA
  expect_error(suppressMessages(ce_models(d, survival::Surv(rfstime, status), a, b, horizon = 1826)),
               class = "calibrisk_error_missing")
})

test_that("wrong input, and what has been read already, are classed errors", {
  d <- models_rows(20)
  m <- ce_models(d, y, p, q)
  refused <- function(expr, what) expect_error(expr, class = paste0("calibrisk_error_", what))
  refused(ece(m, y), "models")
  refused(ce_compare(m, d$y, metric = "ece"), "models")
  refused(ce_rank(m, d$y), "models")
  refused(ce_estimate(m, .by = g), "models")
  refused(ce_curve(m, weights = d$w), "models")
  refused(ce_validate(m, event_level = "second"), "models")
  refused(ce_models(d, y, p), "argument")
  refused(ce_models(d$p, d$y), "argument")
  refused(ce_models(list(d$p, d$q)), "truth")
  refused(ce_models(list(d$p, d$q), d$y, model = g), "columns")
  refused(ce_models(d, y, p, model = g), "columns")
  refused(ce_models(cbind(d, m = "a"), y, p, model = m, id = g), "columns")
  refused(ce_models(list(d$p, d$q), d$y, p), "columns")
  refused(ce_models(list(d, d[-1, ]), y, p), "length")
  refused(ce_models(structure(d, class = c("grouped_df", class(d)), groups = data.frame(g = 1)), y, p, q), "group")
  refused(ce_score(ce_models(list(pred_normal(d$p, 1), pred_normal(d$q, 1)), d$r)), "score")
})

test_that("groups that differ between models, or have the name of a column, are refused", {
  d <- models_rows(40)
  d$model <- d$class <- rep(c("a", "b"), 20)
  expect_error(ce_models(d, y, p, q, .by = model), "model", class = "calibrisk_error_group")
  other <- d
  other$class <- rev(d$class)
  expect_error(ce_models(list(a = d, b = other), y, p, .by = class), "same groups", class = "calibrisk_error_group")
  expect_error(ce_validate(list(a = d, b = d), y, p, .by = model, times = 0), "model", class = "calibrisk_error_group")
  other$level <- factor(rep(1:3, length.out = 40))
  other[paste0(".pred_", 1:3)] <- list(d$p / 2, d$p / 2, 1 - d$p)
  expect_error(ce_curve(other, level, .by = class, notion = "class_wise"), "class", class = "calibrisk_error_group")
})

test_that("parts of the models are models", {
  d <- models_rows()
  m <- ce_models(d, y, p, q, r)
  expect_identical(ece(m[c("r", "p")])$.estimate, ece(m)$.estimate[c(3, 1)])
  expect_error(m["s"], class = "calibrisk_error_models")
  expect_error(m[0], class = "calibrisk_error_models")
  expect_output(print(m), "3 models of the same 120 rows.*Event: y = 1")
})

test_that("groups of several models are those of each model alone", {
  d <- withr::with_seed(1, data.frame(p = runif(300), q = runif(300), region = rep(c("b", "a", "c"), 100)))
  d$y <- as.numeric((1:300 * .618) %% 1 < d$p)
  d$p[4] <- NA
  d$w <- rep(c(.5, 1, 2, 1), 75)
  m <- suppressMessages(ce_models(d, y, p, q, .by = region, weights = w))
  complete <- d[-4, ]
  for (verb in list(ce_estimate, rbs, ce_score, function(...) tidy(ce_validate(..., times = 0)),
                    function(...) tidy(ce_curve(..., type = curve_binned(3))))) {
    found <- suppressWarnings(verb(m))
    expect_identical(unique(found$region), c("a", "b", "c"))
    one <- suppressWarnings(verb(complete, y, q, .by = region, weights = w))
    expect_equal(found[found$model == "q", names(one)], one, ignore_attr = TRUE)
  }
  long <- data.frame(y = d$y, p = c(d$p, d$q), model = rep(c("p", "q"), each = 300), id = 1:300, region = d$region,
                     w = d$w)
  expect_equal(rbs(ce_models(long, y, p, model = model, id = id, .by = region, weights = w)), rbs(m),
               ignore_attr = TRUE)
  expect_identical(rbs(m[2])$region, c("a", "b", "c"))
  for (verb in list(function(m) ce_compare(m, metric = "brier"), ce_rank, summary, plot)) {
    expect_error(verb(m), "all of their rows", class = "calibrisk_error_models")
  }
  expect_error(rbs(ce_models(d, y, p, q), .by = region), "has `.by`", class = "calibrisk_error_models")
  expect_error(ce_models(list(a = d$q, b = d$q^2), d$y, .by = region), class = "calibrisk_error_group")
})

test_that("each column is read as it would be alone, whichever is the first", {
  rows <- models_rows()
  d <- data.frame(y = factor(rows$y, labels = c("no", "yes")), yes = rows$p, no = 1 - rows$p, other = rows$p^1.2)
  by_formula <- c(yes = mean((d$yes - (d$y == "yes"))^2), other = mean((d$other - (d$y == "yes"))^2))
  by_formula["no"] <- by_formula["yes"]
  brier <- function(...) {
    out <- ce_score(suppressMessages(ce_models(d, y, ..., event_level = "second")))
    stats::setNames(out$.estimate, out$model)
  }
  for (found in list(brier(yes, other), brier(other, yes), brier(no, other), brier(other, no, yes))) {
    expect_equal(found, by_formula[names(found)])
  }
  compared <- ce_compare(d, y, no, other, metric = "brier", event_level = "second")
  expect_equal(c(compared$estimate_a, compared$estimate_b), unname(by_formula[c("no", "other")]))
})
