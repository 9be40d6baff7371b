# E[E_n] over all outcomes of n rows, exactly: sum over the 2^n outcomes of their probability times the e-value.
expected_e_value <- function(p, e_value) {
  outcomes <- as.matrix(expand.grid(rep(list(0:1), length(p))))
  probability <- apply(outcomes, 1, function(y) prod(ifelse(y == 1, p, 1 - p)))
  sum(probability * apply(outcomes, 1, e_value))
}

# What glance() says of the bets, without the headline of the rows.
e_value_of <- function(monitor) monitor_row(monitor)$e_value

test_that("the e-value is a martingale: its mean over all outcomes is 1", {
  p <- c(0.2, 0.9, 0.5, 0.03, 0.7)
  for (half_life in c(Inf, 3)) {
    monitor <- ce_monitor(block = 2, half_life = half_life)
    mean <- expected_e_value(p, function(y) e_value_of(update(monitor, p, y)))
    expect_equal(mean, 1, tolerance = tol$law)
    seen <- update(monitor, p, c(0, 1, 1, 0, 0))
    expect_identical(e_value_of(seen), glance(seen)$e_value)
  }
  # rows of two monitors
  monitor <- ce_monitor(block = 2)
  joined <- function(y) c(update(monitor, p[1:2], y[1:2]), update(monitor, p[3:4], y[3:4]))
  expect_equal(expected_e_value(p[1:4], function(y) e_value_of(joined(y))), 1, tolerance = tol$law)
  # bets on a row that comes after them
  mean <- expected_e_value(p, function(y) e_value_of(update(joined(y), p[5], y[5])))
  expect_equal(mean, 1, tolerance = tol$law)
})

test_that("every bet is the penalised fit to the rows before, and wealth is what it wins", {
  withr::with_seed(1, {
    z <- round(pmin(pmax(rnorm(60, sd = 1.5), -4), 4), 1)  # so that cells hold one value
    y <- rbinom(60, 1, plogis(0.4 + 0.5 * z))
  })
  knots <- -4:4  # the values of z lie within them
  features <- list(function(z) cbind(rep(1, length(z))), function(z) cbind(1, z),
                   function(z) 1 - pmin(abs(outer(z, knots, `-`)), 1))
  wealth <- sapply(features, function(f) {
    sum(sapply(seq_along(z), function(i) {
      before <- seq_len(20 * ((i - 1) %/% 20))
      size <- ncol(f(0.5))
      loss <- function(b) {
        sum(b^2) / (2 * 0.5^2) - sum(dbinom(y[before], 1, plogis(z[before] + f(z[before]) %*% b), log = TRUE))
      }
      b <- if (length(before) == 0) numeric(size) else optim(numeric(size), loss, method = "BFGS",
                                                             control = list(reltol = 1e-14))$par
      dbinom(y[i], 1, plogis(z[i] + f(z[i]) %*% b), log = TRUE) - dbinom(y[i], 1, plogis(z[i]), log = TRUE)
    }))
  })
  monitor <- update(ce_monitor(block = 20), plogis(z), y)
  expect_equal(glance(monitor)$log_e_value, log(mean(exp(wealth))), tolerance = 1e-5)
})

test_that("how rows are cut into updates changes nothing", {
  withr::with_seed(2, {
    p <- rbeta(1500, 2, 3)
    y <- rbinom(1500, 1, plogis(0.7 * qlogis(p)))
  })
  whole <- update(ce_monitor(), p, y)
  parts <- ce_monitor()
  for (rows in split(1:1500, rep(1:5, c(1, 99, 350, 51, 999)))) parts <- update(parts, p[rows], y[rows])
  expect_equal(parts$streams, whole$streams, tolerance = tol$law)
  expect_equal(glance(parts), glance(whole), tolerance = tol$law)
  expect_equal(tidy(parts)$n, cumsum(c(1, 99, 350, 51, 999)))
  limits <- c("estimate", "conf.low", "conf.high")
  expect_equal(unlist(glance(parts)[limits]), unlist(ce_estimate(update(ce_state(), p, y))[limits]))
  joined <- c(update(ce_monitor(), p[1:400], y[1:400]), update(ce_monitor(), p[401:1500], y[401:1500]))
  expect_equal(unlist(glance(joined)[limits]), unlist(glance(whole)[limits]), tolerance = tol$law)
  # fed by the data frame of a classifier, under the same name of the event
  data <- data.frame(truth = factor(ifelse(y == 1, "yes", "no")), .pred_yes = p)
  expect_equal(glance(update(ce_monitor(), data, truth))$log_e_value, glance(whole)$log_e_value)
})

test_that("calibrated predictions are seldom rejected by who looks always, a wrong slope is found", {
  rejected <- function(slope) {
    z <- rnorm(1000, sd = 2)
    monitor_row(update(ce_monitor(), plogis(z), rbinom(1000, 1, plogis(slope * z))))$rejected
  }
  withr::with_seed(3, {
    # 99.9 % of samples of 60 at the level .05 have at most 9 rejections
    expect_lte(sum(replicate(60, rejected(1))), 9)
    expect_gte(mean(replicate(40, rejected(0.7))), 0.9)
  })
})

test_that("a change is found where the monitor forgets", {
  withr::with_seed(4, {
    z <- rnorm(8000, sd = 1.5)
    y <- rbinom(8000, 1, plogis(ifelse(seq_along(z) > 5000, 0.6, 1) * z))
  })
  at <- sapply(c(Inf, 1000), function(half_life) {
    glance(update(ce_monitor(half_life = half_life), plogis(z), y))$rejected_at
  })
  expect_true(all(at > 5000))
  expect_lt(at[2], at[1])
})

test_that("certain predictions are not bet on, and a contradiction is beyond all doubt", {
  expect_equal(glance(update(ce_monitor(), c(0, 1, 1), c(0, 1, 1)))$e_value, 1)
  contradicted <- update(ce_monitor(), c(0.5, 1, 0.5), c(1, 0, 1))
  expect_equal(glance(contradicted)[c("e_value", "p.value", "rejected_at")],
               tibble::tibble(e_value = Inf, p.value = 0, rejected_at = 2))
  expect_output(print(contradicted), "e-value infinite")
})

test_that("classes are watched one by one and averaged", {
  class_wise <- update(ce_monitor("class_wise"), vehicle_predictions, truth)
  each <- vapply(levels(vehicle_predictions$truth), function(class) {
    monitor <- update(ce_monitor("binary"), vehicle_predictions[[paste0(".pred_", class)]],
                      as.integer(vehicle_predictions$truth == class))
    glance(monitor)$e_value
  }, 0)
  expect_equal(glance(class_wise)$e_value, mean(each), tolerance = tol$law)
  expect_true(is.na(glance(class_wise)$slope))
})

test_that("monitors say what they saw, and refuse what does not belong together", {
  expect_output(print(ce_monitor()), "no rows yet")
  expect_equal(nrow(tidy(ce_monitor())), 0)
  monitor <- update(ce_monitor(), data.frame(p = c(0.2, NA, 0.7), y = c(0, 1, 1)), y, p)
  expect_output(print(monitor), "2 rows in 1 update. 1 incomplete row was dropped")
  expect_equal(c(monitor, ce_monitor()), monitor)
  expect_error(update(ce_monitor(), c(0.2, NA), c(0, 1), na_rm = FALSE), class = "calibrisk_error_missing")
  expect_error(ce_monitor("canonical"), class = "calibrisk_error_notion")
  expect_error(ce_monitor(alpha = 0), class = "calibrisk_error_argument")
  expect_error(update(monitor, vehicle_predictions, truth), class = "calibrisk_error_truth")
  expect_error(update(ce_monitor(), 0.2, 1, weights = 2), class = "calibrisk_error_argument")
  expect_error(c(monitor, ce_monitor(alpha = 0.1)), NA)
  expect_error(c(monitor, update(ce_monitor(alpha = 0.1), 0.2, 1)), class = "calibrisk_error_argument")
  expect_error(c(monitor, 1), class = "calibrisk_error_monitor")
  old <- monitor
  old$version <- 0L
  expect_error(update(old, 0.2, 1), class = "calibrisk_error_version")
})

test_that("the figure shows the e-value after every update", {
  skip_if_not_installed("ggplot2")
  monitor <- update(update(ce_monitor(), c(0.2, 0.6), 0:1), c(1, 0.4), 0:1)
  drawn <- ggplot2::ggplot_build(ggplot2::autoplot(monitor))$data
  expect_equal(drawn[[4]]$x, c(0, 2, 4))
  expect_true(all(is.finite(drawn[[4]]$y)))
  expect_error(ggplot2::autoplot(ce_monitor()), class = "calibrisk_error_rows")
})

# E[E_n] where the rows of a cluster share their luck altogether, y = 1{U < p}.
expected_of_clusters <- function(p, cluster, e_value) {
  luck <- lapply(split(p, cluster), function(own) {
    ends <- c(0, sort(own), 1)
    list(share = diff(ends), y = lapply(ends[-1] - diff(ends) / 2, function(u) as.numeric(u < own)))
  })
  at <- expand.grid(lapply(luck, function(one) seq_along(one$share)))
  sum(apply(at, 1, function(k) {
    share <- prod(mapply(function(one, i) one$share[i], luck, k))
    y <- numeric(length(p))
    for (c in seq_along(luck)) y[cluster == names(luck)[c]] <- luck[[c]]$y[[k[c]]]
    if (share > 0) share * e_value(y) else 0
  }))
}

test_that("with clusters the e-value is a martingale however their rows depend on each other", {
  p <- c(0.2, 0.6, 0.5, 0.1, 0.7, 0.9)
  cluster <- c("b", "a", "b", "a", "c", "c")
  monitor <- ce_monitor(block = 1)
  clustered <- function(y) e_value_of(update(monitor, p, y, cluster = cluster))
  expect_equal(expected_of_clusters(p, cluster, clustered), 1, tolerance = tol$law)
  # rows taken one by one win by what the others of their cluster have told
  order <- order(cluster)
  alone <- function(y) e_value_of(update(monitor, p[order], y[order]))
  expect_gt(expected_of_clusters(p, cluster, alone), 1.01)
  # by hand: one bet per cluster, of the fits to those before
  y <- c(1, 0, 1, 1, 0, 1)
  parts <- monitor
  wealth <- numeric(3)
  for (rows in split(1:6, factor(cluster, unique(cluster)))) {
    bets <- parts$streams[[1]]$bets %||% lapply(c(1, 2, 9), numeric)
    z <- stats::qlogis(p[rows])
    features <- list(cbind(rep(1, length(z))), cbind(1, z), pmax(1 - abs(outer(pmin(pmax(z, -4), 4), -4:4, `-`)), 0))
    wealth <- wealth + mapply(function(f, b) {
      log(mean(stats::dbinom(y[rows], 1, stats::plogis(z + f %*% b)) / stats::dbinom(y[rows], 1, p[rows])))
    }, features, bets)
    parts <- update(parts, p[rows], y[rows], cluster = cluster[rows])
  }
  whole <- update(monitor, p, y, cluster = cluster)
  expect_equal(glance(whole)$log_e_value, log(mean(exp(wealth))))
  expect_equal(glance(parts), glance(whole))
  # a cluster of its own for every row changes nothing but the interval of the headline
  single <- c("e_value", "largest", "slope")
  expect_equal(glance(update(monitor, p, y, cluster = 1:6))[single], glance(update(monitor, p, y))[single])
  expect_error(update(whole, p[1], 1, cluster = "a"), "\"a\"", class = "calibrisk_error_cluster")
  data <- data.frame(p, y, site = cluster)
  expect_equal(glance(update(monitor, data, y, p, cluster = site)), glance(whole))
  expect_equal(ce_estimate(whole$state), ce_estimate(update(ce_state(), p, y, cluster = cluster)))
})

test_that("frequencies are repeated rows, importance weights an error that says what takes them", {
  p <- c(0.2, 0.6, 0.5, 0.1)
  y <- c(1, 0, 1, 1)
  w <- c(2L, 1L, 0L, 3L)
  monitor <- ce_monitor(block = 2)
  expect_equal(glance(update(monitor, p, y, weights = w))$log_e_value,
               glance(update(monitor, rep(p, w), rep(y, w)))$log_e_value)
  expect_error(update(monitor, p, y, weights = c(.5, 1, 2, 1)), "joint", class = "calibrisk_error_weights")
})

test_that("a source is read into a monitor: a piece is an update, in the order of a list", {
  d <- withr::with_seed(3, {
    p <- rbeta(900, 2, 3)
    data.frame(p, y = rbinom(900, 1, plogis(0.7 * qlogis(p))))
  })
  whole <- update(ce_monitor(), d, y, p)
  same <- function(found, n) {
    expect_equal(found$streams, whole$streams, tolerance = tol$law)
    expect_equal(glance(found), glance(whole), tolerance = tol$law)
    expect_equal(tidy(found)$n, n)
  }
  same(update(ce_monitor(), ce_source(d, rows = 400), y, p), c(400, 800, 900))
  same(update(ce_monitor(), list(ce_source(d[1:300, ]), ce_source(d[301:900, ])), y, p), c(300, 900))
  pieces <- list(d[1:300, ], d[0, ], data.frame(p = NA_real_, y = 1), d[301:900, ])
  at <- 0
  read <- update(ce_monitor(), function() {
    at <<- at + 1
    if (at <= length(pieces)) pieces[[at]]
  }, y, p)
  expect_identical(read$state$dropped, 1)
  read$state$dropped <- 0
  same(read, c(300, 900))
  # frequencies
  d$k <- rep(0:3, 225)
  counted <- update(ce_monitor(), ce_source(d, rows = 400), y, p, weights = k)
  expect_equal(glance(counted), glance(update(ce_monitor(), d, y, p, weights = k)), tolerance = tol$law)
  # the monitor is as before where a piece cannot be taken in
  d$y[850] <- 7
  expect_error(update(ce_monitor(), ce_source(d, rows = 400), y, p), "In piece 3", class = "calibrisk_error_source")
  expect_error(update(ce_monitor(), list(d, d), y, p), "`ce_source()` reads", fixed = TRUE,
               class = "calibrisk_error_source")
  expect_error(update(ce_monitor(), truth = y), "`data` must be given", class = "calibrisk_error_argument")
})

test_that("clusters that a source cuts are bet on as a whole", {
  d <- withr::with_seed(4, {
    p <- rbeta(240, 2, 3)
    data.frame(p, y = rbinom(240, 1, plogis(0.5 * qlogis(p))), site = rep(1:40, rep(c(3, 7, 9, 5), 10)))
  })
  whole <- update(ce_monitor(block = 10), d, y, p, cluster = site)
  # the second is longer than a piece
  for (rows in c(1, 4, 50, 1000)) {
    read <- update(ce_monitor(block = 10), ce_source(d, rows = rows), y, p, cluster = site)
    expect_equal(read$streams, whole$streams, tolerance = tol$law)
    expect_equal(glance(read), glance(whole), tolerance = tol$law)
    expect_identical(read$clusters, whole$clusters)
  }
  # those that are not next to each other say so
  torn <- d[c(1:2, 4:240, 3), ]
  expect_error(update(ce_monitor(), ce_source(torn, rows = 50), y, p, cluster = site), class = "calibrisk_error_source")
  cause <- tryCatch(update(ce_monitor(), ce_source(torn, rows = 50), y, p, cluster = site), error = identity)$parent
  expect_s3_class(cause, "calibrisk_error_cluster")
})
