methods <- list(width = method_bins(c(2, 5, 9)), mass = method_bins(c(3, 8), "mass"),
                debiased = method_bins(c(4, 6), debias = TRUE), both = method_bins(7, "mass", TRUE),
                kkr = method_kkr(c(1e-2, 1e-4)), ukkr = method_ukkr(c(.1, 1e-3)))

# On the scale of the column: differences of risks are small beside them.
expect_same_table <- function(there, here) {
  expect_identical(names(there), names(here))
  for (name in names(here)) {
    if (!is.numeric(here[[name]])) {
      expect_identical(there[[name]], here[[name]])
    } else {
      expect_equal(there[[name]], here[[name]], tolerance = if (name == "p.value") 1e-9 else 1e-10, info = name)
    }
  }
}

# `headline`: whether it is the same; of many rows it is that of sums.
expect_same_tune <- function(there, here, headline = TRUE) {
  expect_same_table(tidy(there), tidy(here))
  for (name in c("risk", "squared_error", "squared_error_test")) {
    expect_close(tidy(there)[[name]], tidy(here)[[name]], tol$law)
  }
  of_headline <- c("estimate", "std.error", "conf.low", "conf.high", "lower_bound", "p.value", "resolution",
                   "upper_bound")
  kept <- setdiff(names(glance(here)), if (!headline) of_headline)
  expect_same_table(glance(there)[kept], glance(here)[kept])
  at <- c(0, 0.2, 0.5, 0.777, 1)
  for (method in names(methods)) {
    expect_equal(predict(there, at, method = method), predict(here, at, method = method), tolerance = 1e-12)
  }
  expect_identical(there$histogram, here$histogram)
  if (headline) expect_identical(capture.output(print(there)), capture.output(print(here)))
}

test_that("with the folds of a column the risks, choices and tables are those in memory", {
  con <- local_database()
  data <- database_data(900)
  x <- write_table(con, "ce_test_tune", data)
  expect_same_tune(ce_tune(x, y, .pred_Yes, methods = methods, folds = fold),
                   ce_tune(data, y, .pred_Yes, methods = methods, folds = data$fold))
  # all rows are held out; labels have gaps
  data$fold <- 2L * data$fold + 1L
  x <- write_table(con, "ce_test_tune", data)
  expect_same_tune(ce_tune(x, y, .pred_Yes, methods = methods, folds = "fold", test = 0),
                   ce_tune(data, y, .pred_Yes, methods = methods, folds = data$fold, test = 0))
})

test_that("frequencies are repeated rows, groups are tuned one by one", {
  con <- local_database()
  data <- database_data(900)
  x <- write_table(con, "ce_test_tune", data)
  there <- ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, weights = k)
  here <- ce_tune(data, y, .pred_Yes, methods = methods, folds = data$fold, weights = k)
  here$histogram <- lapply(here$histogram, unname)
  expect_same_tune(there, here)
  there <- ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, .by = site)
  expect_identical(there$keys$site, c("a", "it's b", NA))
  one <- data[data$site %in% "a", ]
  expect_same_tune(there$results[[1]], ce_tune(one, y, .pred_Yes, methods = methods, folds = one$fold))
})

test_that("importance weights count as in memory, also where a fold or a bin has few rows", {
  con <- local_database()
  data <- database_data(900)
  data$v[1:30] <- 0
  x <- write_table(con, "ce_test_tune", data)
  there <- ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, weights = v)
  here <- ce_tune(data, y, .pred_Yes, methods = methods, folds = data$fold, weights = v)
  expect_same_tune(there, here)
  expect_match(here$counted, "effective sample size", all = FALSE)
  # without test rows
  held <- transform(data, fold = 2L * fold + 1L)
  x <- write_table(con, "ce_test_tune", held)
  expect_same_tune(ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, test = 0, weights = v),
                   ce_tune(held, y, .pred_Yes, methods = methods, folds = held$fold, test = 0, weights = v))
  # the scale of weights does not matter, and weights of one value are none
  data$u <- 3.5
  data$v <- 1e6 * data$v
  x <- write_table(con, "ce_test_tune", data)
  expect_equal(tidy(ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, weights = v)), tidy(there),
               tolerance = 1e-12)
  expect_same_tune(ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, weights = u),
                   ce_tune(data, y, .pred_Yes, methods = methods, folds = data$fold))
  few <- data.frame(p = c(.1, .1, .3, .3, .6, .6, .8, .9, .95, .2, .5, .7), y = rep(0:1, 6), v = sqrt(1:12),
                    fold = rep(0:2, c(1, 3, 8)))
  few$fold[4] <- 3L
  x <- write_table(con, "ce_test_tune", few)
  there <- suppressMessages(ce_tune(x, y, p, methods = methods, folds = fold, weights = v))
  expect_same_tune(there, suppressMessages(ce_tune(few, y, p, methods = methods, folds = few$fold, weights = v)))
  one <- few[few$fold != 2, ]
  one$fold[one$fold == 1] <- c(1L, 4L)
  x <- write_table(con, "ce_test_tune", one)
  expect_same_tune(ce_tune(x, y, p, methods = methods, folds = fold, weights = v),
                   ce_tune(one, y, p, methods = methods, folds = one$fold, weights = v))
})

# The same fold for all rows of a cluster.
fold_of_clusters <- function(cluster, folds = 0:4) folds[match(cluster, unique(cluster)) %% length(folds) + 1]

test_that("pairs across clusters only, with the errors of clusters, are those in memory", {
  con <- local_database()
  data <- clustered_data(900)
  data$fold <- ifelse(is.na(data$`a"b`), 3L, fold_of_clusters(data$`a"b`))
  data$other <- fold_of_clusters(data$select, c(2L, 5L, 7L))
  x <- write_table(con, "ce_test_tune", data)
  expect_same_tune(ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, cluster = `a"b`),
                   ce_tune(data, y, .pred_Yes, methods = methods, folds = data$fold, cluster = `a"b`))
  expect_same_tune(ce_tune(x, y, .pred_Yes, methods = methods, folds = other, test = 0, cluster = select, weights = v),
                   ce_tune(data, y, .pred_Yes, methods = methods, folds = data$other, test = 0, cluster = select,
                           weights = v))
  there <- ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, cluster = `a"b`, weights = k)
  here <- ce_tune(data, y, .pred_Yes, methods = methods, folds = data$fold, cluster = `a"b`, weights = k)
  here$histogram <- lapply(here$histogram, unname)
  expect_same_tune(there, here)
  # clusters of one row are rows
  data$one <- seq_len(900)
  x <- write_table(con, "ce_test_tune", data)
  there <- ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, cluster = one)
  expect_close(tidy(there)$risk, tidy(ce_tune(x, y, .pred_Yes, methods = methods, folds = fold))$risk, tol$law)
  # groups
  there <- ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, cluster = `a"b`, .by = site)$results[[2]]
  one <- data[data$site %in% "it's b", ]
  expect_same_tune(there, ce_tune(one, y, .pred_Yes, methods = methods, folds = one$fold, cluster = `a"b`))
})

test_that("folds of one and of two clusters have what there is in memory", {
  con <- local_database()
  few <- clustered_data()[21:44, c(".pred_Yes", "y")]
  few$g <- rep(c("a", "b", "c", "d"), each = 6)
  for (folds in list(c(1, 1, 2, 2), c(1, 2, 3, 0), c(1, 1, 1, 2))) {
    few$fold <- as.integer(rep(folds, each = 6))
    x <- write_table(con, "ce_test_tune", few)
    expect_same_tune(ce_tune(x, y, .pred_Yes, methods = methods, folds = fold, test = 0, cluster = g),
                     ce_tune(few, y, .pred_Yes, methods = methods, folds = few$fold, test = 0, cluster = g))
  }
})

test_that("without a column whole clusters are dealt to the folds", {
  con <- local_database()
  data <- clustered_data(900, 23)
  x <- write_table(con, "ce_test_tune", data)
  tuned <- ce_tune(x, y, .pred_Yes, folds = 4, test = 0.3, cluster = select)
  # 16 of 23 clusters tune
  input <- list(truth = rlang::quo(y), dots = rlang::quos(.pred_Yes), by = rlang::quo(NULL), event_level = "first",
                na_rm = TRUE, design = list(weights = rlang::quo(NULL), cluster = rlang::quo(select)))
  rows <- calibrisk:::read_database(x, input, NULL)
  split <- calibrisk:::tuned_rows(rows, list(k = 4), 0.3)
  found <- DBI::dbGetQuery(con, paste0("SELECT DISTINCT ce_cluster, ce_fold FROM (", split$pairs, ") s"))
  expect_identical(as.vector(table(as.numeric(found$ce_fold))), c(7L, 4L, 4L, 4L, 4L))
  fold <- as.integer(found$ce_fold)[match(data$select, found$ce_cluster)]
  same <- ce_tune(data, y, .pred_Yes, methods = calibrisk:::database_methods(NULL), folds = fold, test = 0,
                  cluster = select)
  expect_close(tidy(tuned)$risk, tidy(same)$risk, tol$law)
  expect_same_table(glance(tuned), glance(same))
  error <- function(...) expect_error(..., class = "calibrisk_error_folds")
  expect_identical(conditionMessage(error(ce_tune(x, y, .pred_Yes, folds = 19, cluster = select))),
                   conditionMessage(error(ce_tune(data, y, .pred_Yes, folds = 19, cluster = select))))
  error(ce_tune(x, y, .pred_Yes, folds = fold, cluster = select))
  expect_error(ce_tune(x, y, .pred_Yes, folds = fold, cluster = select), class = "calibrisk_error_cluster")
  data$fold <- fold
  data$fold[data$fold == 0] <- 1L
  x <- write_table(con, "ce_test_tune", data)
  # 5 of 23 clusters test
  rows <- calibrisk:::read_database(x, input, NULL, "fold")
  split <- calibrisk:::tuned_rows(rows, list(column = "fold"), 0.2)
  found <- DBI::dbGetQuery(con, paste0("SELECT DISTINCT ce_cluster, ce_fold FROM (", split$pairs, ") s"))
  expect_identical(c(nrow(found), sum(found$ce_fold == 0)), c(23L, 5L))
  expect_s3_class(ce_tune(x, y, .pred_Yes, folds = fold, cluster = select), "ce_tune")
  local_stand_ins(list(most_cluster_sums = 100, few_rows = 100))
  expect_error(ce_tune(x, y, .pred_Yes, cluster = select), "100 sums", class = "calibrisk_error_unsupported")
})

test_that("sums over narrow cells give the risks and choices of the rows, to the digits", {
  con <- local_database()
  data <- withr::with_seed(21, {
    p <- rbeta(2500, 2, 1)
    data.frame(p = p, y = as.integer(runif(2500) < p^1.3), k = sample(0:3, 2500, TRUE), v = runif(2500),
               g = sample(120, 2500, TRUE))
  })
  # edges of bins and of boxes, and both ends
  data$p[1:8] <- c(0, 0, 1, 1, 1 / 256, .5, .2, .625)
  data$fold <- fold_of_clusters(data$g, 0:5)
  x <- write_table(con, "ce_test_sums", data)
  local_stand_ins(list(few_rows = 500))
  same <- function(there, here) {
    here$histogram <- lapply(here$histogram, unname)
    expect_same_tune(there, here, headline = FALSE)
    # whole numbers, though those of the rows that are sent are not
    expect_identical(split_sizes(there$split), as.numeric(split_sizes(here$split)))
  }
  same(ce_tune(x, y, p, methods = methods, folds = fold),
       ce_tune(data, y, p, methods = methods, folds = data$fold))
  same(ce_tune(x, y, p, methods = methods, folds = fold, weights = k),
       ce_tune(data, y, p, methods = methods, folds = data$fold, weights = k))
  same(ce_tune(x, y, p, methods = methods, folds = fold, cluster = g),
       ce_tune(data, y, p, methods = methods, folds = data$fold, cluster = g))
  expect_message(there <- ce_tune(x, y, p, methods = methods, folds = fold, cluster = g, weights = v),
                 class = "calibrisk_message_headline")
  same(there, ce_tune(data, y, p, methods = methods, folds = data$fold, cluster = g, weights = v))
  # weights of a cell are taken as equal ones
  expect_message(there <- ce_tune(x, y, p, methods = methods, folds = fold, weights = v),
                 class = "calibrisk_message_headline")
  expect_identical(there$headline$estimate, NA_real_)
  expect_output(print(there), "not\\s+estimated")
  here <- ce_tune(data, y, p, methods = methods, folds = data$fold, weights = v)
  expect_equal(tidy(there)$risk, tidy(here)$risk, tolerance = 1e-5)
  expect_equal(glance(there)$difference_std.error, glance(here)$difference_std.error, tolerance = 1e-2)
  expect_identical(there$histogram, here$histogram)
  expect_error(ce_tune(x, y, p, methods = method_bins(6000), folds = fold), "5,000",
               class = "calibrisk_error_unsupported")
})

test_that("without a column, folds and test rows are those of the hash, and the same every time", {
  con <- local_database()
  x <- write_table(con, "ce_test_tune", database_data(900))
  tuned <- ce_tune(x, y, .pred_Yes, folds = 4, test = 0.3)
  sizes <- calibrisk:::split_sizes(tuned$split)
  expect_identical(sum(sizes), 898)
  expect_true(all(abs(sizes - 898 * c(0.3, rep(0.7 / 4, 4))) < 4 * sqrt(898 * 0.3 * 0.7)))
  expect_identical(tidy(tuned), tidy(ce_tune(x, y, .pred_Yes, folds = 4, test = 0.3)))
  expect_identical(tuned$glance$method, c("15 bins", "bins", "kkr", "ukkr"))
  expect_equal(tuned$headline$estimate, ce_estimate(x, y, .pred_Yes)$estimate)
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::autoplot(tuned, type = "gap"), "ggplot")
})

test_that("what a database does not tune on is an error that says so", {
  con <- local_database()
  data <- database_data(100)
  data$text <- "a"
  data$half <- data$fold + 0.5
  data$one <- 1L
  data$negative <- data$v - 0.5
  x <- write_table(con, "ce_test_tune", data)
  tune <- function(class, ...) expect_error(ce_tune(x, y, .pred_Yes, ...), class = class)
  tune("calibrisk_error_unsupported", methods = list(kde = method_kde()))
  tune("calibrisk_error_method", methods = method_kkr(kernel = kernel_gaussian("median")))
  tune("calibrisk_error_weights", weights = negative)
  tune("calibrisk_error_unsupported", repeats = 3)
  tune("calibrisk_error_unsupported", test = 1:3)
  tune("calibrisk_error_folds", folds = text)
  tune("calibrisk_error_folds", folds = half)
  tune("calibrisk_error_folds", folds = one)
  tune("calibrisk_error_folds", folds = c(1, 2, 1))
  tune("calibrisk_error_folds", folds = no_such_column)
  tune("calibrisk_error_folds", folds = 5000)
  tune("calibrisk_error_missing", na_rm = FALSE)
})
