numbers <- c("estimate", "std.error", "conf.low", "conf.high", "lower_bound", "resolution", "upper_bound", "n")

# `redrawn`: of lower limits. Statistics are rounded to nine digits, and where sums stand for the rows the redraws are
# others.
expect_same_headline <- function(there, here, tolerance = 1e-11, redrawn = 1e-9) {
  for (name in numbers) {
    expect_close(there[[name]], here[[name]], if (name %in% c("conf.low", "lower_bound")) redrawn else tolerance)
  }
  expect_identical(is.na(there$p.value), is.na(here$p.value))
  expect_lt(max(0, abs(there$p.value - here$p.value), na.rm = TRUE), max(redrawn, 1e-9))
  other <- setdiff(names(here), c(numbers, "p.value"))
  expect_identical(lapply(there[other], identity), lapply(here[other], identity))
  expect_equal(attr(there, "dropped"), attr(here, "dropped"))
}

test_that("the headline of few different rows is that in memory", {
  con <- local_database()
  data <- database_data()
  x <- write_table(con, "ce_test_headline", data)
  expect_same_headline(ce_estimate(x, y, .pred_Yes), ce_estimate(data, y, .pred_Yes))
  expect_same_headline(ce_estimate(x, y, .pred_Yes, .by = site), ce_estimate(data, y, .pred_Yes, .by = site))
  expect_same_headline(ce_estimate(x, y, .pred_Yes, weights = k, level = 0.8),
                       ce_estimate(data, y, .pred_Yes, weights = k, level = 0.8))
  there <- ce_estimate(x, y, .pred_Yes, weights = v, .by = site)
  here <- ce_estimate(data, y, .pred_Yes, weights = v, .by = site)
  expect_same_headline(there, here)
  expect_identical(attr(there, "design"), attr(here, "design"))
  expect_same_headline(ce_estimate(x, y, .pred_Yes, na_rm = FALSE, .by = site),
                       ce_estimate(data, y, .pred_Yes, na_rm = FALSE, .by = site))
  withr::with_seed(3, {
    found <- random_classes(300, 4, digits = 2)
  })
  classes <- setNames(as.data.frame(found$p), paste0(".pred_", letters[1:4]))
  classes$truth <- letters[found$y]
  x <- write_table(con, "ce_test_headline", classes)
  expect_same_headline(ce_estimate(x, truth), ce_estimate(classes, truth))
})

test_that("the headline of many different rows comes from sums, with the digits of memory", {
  con <- local_database()
  data <- withr::with_seed(5, {
    p <- rbeta(20500, 2, 1)
    data.frame(prob = p, y = as.integer(runif(20500) < p^1.3), k = sample(1:3, 20500, TRUE), v = runif(20500),
               g = sample(c("it's", letters), 20500, TRUE))
  })
  x <- write_table(con, "ce_test_many", data)
  expect_same_headline(ce_estimate(x, y, prob), ce_estimate(data, y, prob), 1e-7, .005)
  expect_same_headline(ce_estimate(x, y, prob, weights = k), ce_estimate(data, y, prob, weights = k), 1e-7, .005)
  expect_error(ce_estimate(x, y, prob, weights = v), class = "calibrisk_error_unsupported")
  expect_same_headline(ce_estimate(x, y, prob, cluster = g), ce_estimate(data, y, prob, cluster = g), redrawn = .005)
  expect_same_headline(ce_estimate(x, y, prob, cluster = g, weights = k),
                       ce_estimate(data, y, prob, cluster = g, weights = k), redrawn = .005)
  expect_error(ce_estimate(x, y, prob, cluster = g, weights = v), class = "calibrisk_error_unsupported")
})

test_that("the headline of clusters from sums is that of their rows, where few are wrong and where many are alone", {
  con <- local_database()
  data <- withr::with_seed(8, data.frame(p = round(rbeta(900, 60, 1), 2), g = sample(100, 900, TRUE)))
  # 3 failures: the variances that predictions give, which are no polynomials, count
  data$y <- as.integer(data$p > 0.9)
  x <- write_table(con, "ce_test_alone", data)
  here <- ce_estimate(data, y, p, cluster = g)
  local_stand_ins(list(few_rows = 100))
  there <- ce_estimate(x, y, p, cluster = g)
  limits <- c("conf.low", "lower_bound")
  for (name in setdiff(numbers, limits)) expect_equal(there[[name]], here[[name]], tolerance = 1e-9)
  # knots are quantiles of another type
  for (name in limits) expect_lt(abs(there[[name]] - here[[name]]), .002)
  # fewer values than knots, and one
  for (digits in 1:0) {
    data$p <- round(0.3 + 0.6 * data$p, digits)
    data$y <- rep(c(0L, 1L, 1L), 300)
    x <- write_table(con, "ce_test_alone", data)
    expect_same_headline(ce_estimate(x, y, p, cluster = g), ce_estimate(data, y, p, cluster = g))
  }
  data <- data.frame(p = (1:2600) / 2601, y = rep(0:1, 1300), g = 1:2600)
  x <- write_table(con, "ce_test_alone", data)
  local_stand_ins(list(most_cluster_sums = 2000))
  expect_error(ce_estimate(x, y, p, cluster = g), "2,000 sums", class = "calibrisk_error_unsupported")
})

test_that("rows that stand for many have their powers, cells, folds and clusters", {
  con <- local_database()
  data <- withr::with_seed(6, data.frame(p = c(0, 1 / 256, 0.2, 0.5, 1, runif(2000, .19, .26)), y = rbinom(2005, 1, .5),
                                         ce_w = sample(3, 2005, TRUE), ce_fold = sample(0:2, 2005, TRUE),
                                         ce_cluster = sample(letters[1:4], 2005, TRUE)))
  x <- write_table(con, "ce_test_powers", data)
  rows <- list(db = x, kind = "frequency", extra = "ce_cluster", counts = data.frame(weight = sum(data$ce_w), used = 2005))
  edges <- c(0.2, 0.25, 0.5)
  own <- calibrisk:::rows_of_sums(rows, "SELECT * FROM ce_test_powers", c("ce_fold", "ce_cluster"), edges)
  expect_lt(length(own$p), 1700)
  expect_true(all(own$p >= 0 & own$p <= own$upper & own$p > c(-Inf, edges)[match(own$upper, c(edges, 1))]))
  cell <- findInterval(data$p, edges, left.open = TRUE)
  for (k in 0:5) {
    here <- tapply(data$ce_w * data$p^k, list(cell, data$y, data$ce_fold, data$ce_cluster), sum)
    there <- tapply(own$w * own$p^k, list(own$upper, own$y, own$ce_fold, own$ce_cluster), sum)
    expect_close(as.vector(there), as.vector(here), 1e-12)
  }
})

test_that("what calibration error was not estimated of sums says so", {
  con <- local_database()
  x <- write_table(con, "ce_test_none", database_data(50))
  unsupported <- function(...) expect_error(ce_estimate(x, y, .pred_Yes, ...), class = "calibrisk_error_unsupported")
  unsupported(notion = "class_wise")
  unsupported(method = method_bins(5))
  unsupported(bases = list(hats = 5))
  local_stand_ins(list(few_rows = 20))
  unsupported(weights = v)
})

test_that("the headline of clusters leaves out whole clusters, as in memory", {
  con <- local_database()
  data <- clustered_data()
  x <- write_table(con, "ce_test_headline", data)
  same <- function(...) {
    there <- ce_estimate(x, y, .pred_Yes, ...)
    here <- ce_estimate(data, y, .pred_Yes, ...)
    expect_same_headline(there, here)
    expect_identical(attr(there, "design"), attr(here, "design"))
  }
  same(cluster = `a"b`)
  same(cluster = select, .by = site, level = 0.8)
  same(cluster = select, weights = k, .by = site)
  same(cluster = `a"b`, weights = v)
  same(cluster = `a"b`, na_rm = FALSE, .by = site)
})
