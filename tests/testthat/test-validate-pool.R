# Data sets completed by draws that depend on the outcome.
completed_rows <- function(m, n, seed) {
  withr::with_seed(seed, {
    x <- stats::rnorm(n)
    y <- stats::rbinom(n, 1, stats::plogis(x))
    lapply(seq_len(m), function(i) {
      at <- seq_len(n / 4)
      x[at] <- stats::rnorm(length(at), y[at] - 0.4, 0.9)
      data.frame(y, p = stats::plogis(1.2 * x), site = rep_len(c("a", "b"), n), id = rep_len(1:12, n))
    })
  })
}

# Rubin (1987), Barnard and Rubin (1999).
rubin <- function(q, u, complete) {
  m <- length(q)
  between <- (1 + 1 / m) * stats::var(q)
  total <- mean(u) + between
  old <- (m - 1) * (total / between)^2
  seen <- (complete + 1) / (complete + 3) * complete * (1 - between / total)
  df <- old * seen / (old + seen)
  r <- between / mean(u)
  list(q = mean(q), se = sqrt(total), df = df, fmi = (r + 2 / (df + 3)) / (r + 1))
}

test_that("numbers are pooled by Rubin's rules on the scale of their intervals", {
  sets <- completed_rows(5, 400, 1)
  results <- lapply(sets, ce_validate, y, p, times = 0)
  pooled <- ce_pool(results)
  row <- function(term, table = tidy(pooled)) unlist(table[table$term == term, -(1:2)])
  models <- lapply(sets, function(d) stats::glm(y ~ stats::qlogis(p), stats::binomial, d, epsilon = 1e-14))
  peer <- rubin(vapply(models, function(fit) stats::coef(fit)[[2]], 0),
                vapply(models, function(fit) stats::vcov(fit)[2, 2], 0), 399)
  expect_equal(row("slope"), c(peer$q, peer$se, peer$q + c(-1, 1) * stats::qt(0.975, peer$df) * peer$se,
                               2 * stats::pt(-abs(peer$q - 1) / peer$se, peer$df), peer$df, peer$fmi),
               ignore_attr = TRUE)
  # the ratio as a logarithm, the C statistic as a logit
  singles <- lapply(results, tidy)
  scales <- list(oe_ratio = list(log, exp, function(v) v),
                 auroc = list(stats::qlogis, stats::plogis, function(v) v * (1 - v)))
  for (term in names(scales)) {
    of <- function(column) vapply(singles, function(table) table[[column]][table$term == term], 0)
    scale <- scales[[term]]
    slope <- scale[[3]](of("estimate"))
    # the interval of the C statistic has 1 degree of freedom less than there are events
    events <- min(glance(pooled)$events, 400 - glance(pooled)$events)
    stretch <- if (term == "auroc") stats::qt(0.975, events - 1) / stats::qnorm(0.975) else 1
    peer <- rubin(scale[[1]](of("estimate")), (stretch * of("std.error") / slope)^2, 399)
    expect_equal(row(term)[c("estimate", "conf.low", "conf.high")],
                 scale[[2]](peer$q + c(0, -1, 1) * stats::qt(0.975, peer$df) * peer$se), ignore_attr = TRUE)
    expect_equal(row(term)[["fmi"]], peer$fmi)
  }
  skip_if_not_installed("mice")
  squares <- lapply(sets, function(d) (d$y - d$p)^2)
  pool_scalar <- getExportedValue("mice", "pool.scalar")
  peer <- pool_scalar(vapply(squares, mean, 0), vapply(squares, stats::var, 0) / 400, n = 400)
  expect_equal(row("brier")[c("estimate", "std.error", "df", "fmi")],
               c(peer$qbar, sqrt(peer$t), peer$df, peer$fmi), ignore_attr = TRUE)
})

test_that("data sets that are the same have the limits of one, with the freedom of its rows or clusters", {
  d <- completed_rows(1, 200, 2)[[1]]
  for (clusters in list(NULL, d$id)) {
    one <- ce_validate(d$p, d$y, times = 0, cluster = clusters)
    pooled <- tidy(ce_pool(rep(list(one), 3)))
    rows <- tidy(one)[match(pooled$term, tidy(one)$term), ]
    expect_equal(pooled$estimate, rows$estimate)
    complete <- if (is.null(clusters)) 199 else cluster_df(clusters)
    expect_equal(pooled$df, rep(complete * (complete + 1) / (complete + 3), nrow(pooled)))
    # on each side by the same share
    single <- stats::qt(0.975, if (is.null(clusters)) Inf else complete)
    error <- pooled$term == "calibration_error"
    high <- rows$estimate^2 + (rows$conf.high^2 - rows$estimate^2) * stats::qt(0.975, pooled$df) / single
    expect_equal(pooled$conf.high[error], sqrt(high)[error])
    errors <- ce_estimate(d$p, d$y, cluster = clusters)
    expect_equal(ce_pool(list(errors, errors))$conf.high, pooled$conf.high[error])
  }
})

test_that("groups are pooled each, and the page says what was pooled", {
  sets <- completed_rows(3, 200, 3)
  by <- ce_pool(lapply(sets, ce_validate, y, p, .by = site, times = 0))
  for (site in c("a", "b")) {
    alone <- ce_pool(lapply(sets, function(d) ce_validate(d[d$site == site, ], y, p, times = 0)))
    expect_equal(tidy(by)[tidy(by)$site == site, -1], tidy(alone), ignore_attr = TRUE)
  }
  strong <- tidy(ce_pool(lapply(sets, ce_validate, y, p, group = site, times = 0)))
  expect_equal(strong$estimate[strong$term == "oe_ratio(site = a)"], tidy(by)$estimate[1])
  expect_match(page_text(by), "Pooled over 3 completed data sets by Rubin's rules; fraction of missing information 0.")
  expect_match(page_text(by), "joint tests are not pooled", fixed = TRUE)
  expect_no_match(page_text(by), "joint test,|vidence|ICI")
  errors <- ce_pool(lapply(sets, ce_estimate, y, p, .by = site))
  expect_identical(errors$site, c("a", "b"))
  expect_match(page_text(errors), "Pooled: 3 completed data sets by Rubin's rules", fixed = TRUE)
  # without a limit in one of them
  gone <- lapply(sets, ce_validate, y, p, times = 0)
  gone[[2]]$table[c("conf.low", "conf.high")] <- NA_real_
  expect_identical(unique(tidy(ce_pool(gone))$conf.high), NA_real_)
  few <- ce_estimate(0.5, 1)
  expect_identical(ce_pool(list(few, few))$conf.low, NA_real_)
  # survival outcomes
  timed <- lapply(sets, function(d) {
    d$s <- structure(cbind(time = rep_len(c(1, 2, 5), 200), status = d$y), type = "right", class = "Surv")
    d
  })
  expect_match(page_text(ce_pool(suppressMessages(lapply(timed, ce_validate, s, p, horizon = 2, times = 0)))), "events by 2")
})

test_that("results that cannot be pooled are classed errors", {
  sets <- completed_rows(2, 60, 4)
  results <- lapply(sets, ce_validate, y, p, times = 0)
  other <- ce_validate(sets[[2]], y, p, times = 0, level = 0.9)
  pooled <- ce_pool(results)
  for (wrong in list(sets, results[[1]], results[1], list(), list(results[[1]], other), list(pooled, pooled),
                     list(results[[1]], ce_estimate(sets[[2]], y, p)), lapply(sets, rbs, y, p),
                     list(results[[1]], ce_validate(sets[[2]][-1, ], y, p, times = 0)))) {
    expect_error(ce_pool(wrong), "`results` must", class = "calibrisk_error_argument")
  }
  expect_error(validation_curve(pooled), "It is pooled", class = "calibrisk_error_unsupported")
  imputed <- structure(list(data = sets[[1]]), class = "mids")
  for (verb in list(ce_validate, ce_estimate, rbs)) {
    expect_error(verb(imputed, y, p), "several completed data sets.*ce_pool", class = "calibrisk_error_probs")
  }
})
