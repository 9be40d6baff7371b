# ce_tune() of the rows of such a state, with its blocks as clusters and its folds.
rows_of_state <- function(d, state, ..., weights = NULL, cluster = NULL, id = NULL,
                          methods = list("15 bins" = method_bins(15), bins = method_bins(seq(5, 100, 5)),
                                         kkr = method_kkr(), ukkr = method_ukkr())) {
  owner <- cluster %||% id
  units <- if (is.null(owner)) value_units(list(prob = d$x, outcome = d$y)) else id_units(owner)
  block <- block_parts(units, state$spec)
  block <- match(block, sort(unique(block)))
  fold <- fold_of_blocks(max(block), state$spec)[block]
  ce_tune(d$x, d$y, ..., weights = weights, cluster = block, folds = fold, test = which(fold == 0), methods = methods)
}

compared <- c("root_risk", "risk", "risk_std.error", "estimate_holdout", "std.error_holdout", "squared_holdout",
              "difference", "difference_std.error", "skill")

expect_same_tune <- function(sums, rows, bins = tol$oracle, ridges) {
  a <- tidy(sums)
  b <- tidy(rows)
  expect_identical(a[c("method", "parameter", "fold", "value")], b[c("method", "parameter", "fold", "value")])
  ridge <- a$method %in% c("kkr", "ukkr")
  for (name in c("risk", "squared_error", "squared_error_test")) {
    expect_close(a[[name]][!ridge], b[[name]][!ridge], bins)
    expect_lt(max(abs(a[[name]] - b[[name]])[ridge] / max(abs(b[[name]][ridge]))), ridges)
  }
  for (name in compared) expect_equal(glance(sums)[[name]], glance(rows)[[name]], tolerance = ridges)
  expect_identical(glance(sums)[c("method", "value", "selected", "won")],
                   glance(rows)[c("method", "value", "selected", "won")])
}

test_that("Algorithm 1 on blocks is that of weighted rows with the blocks as clusters", {
  d <- inside_sample(900, 1)
  w <- withr::with_seed(2, rexp(900))
  cluster <- withr::with_seed(3, sample(150, 900, TRUE))
  for (given in list(list(weights = w), list(cluster = cluster), list(weights = 1e9 * w, cluster = cluster))) {
    state <- do.call(state_of, c(list(d), given))
    sums <- ce_tune(state)
    rows <- do.call(rows_of_state, c(list(d, state), given))
    # few rows in a cell of a block: Gauss's rule is the rows, and the smallest ridges of kkr see its rounding
    expect_same_tune(sums, rows, ridges = 1e-6)
    expect_identical(split_sizes(sums$split), as.numeric(split_sizes(rows$split)))
    expect_close(predict(sums, c(.1, .6), method = "bins"), predict(rows, c(.1, .6), method = "bins"), tol$oracle)
    expect_identical(glance(sums)$conf.high, rep(ce_estimate(state)$conf.high, 4))
  }
})

test_that("what two predictions stand for in a cell of a block moves the ridges by less than 1e-6", {
  withr::with_seed(4, {
    d <- list(x = plogis(1.5 * rnorm(2e4)))
    d$y <- rbinom(2e4, 1, d$x^1.2)
    w <- rexp(2e4)
  })
  state <- state_of(d, ce_state(blocks = 16), weights = w, id = 1:2e4)
  # five rows of an outcome in a cell of a block, and more in the middle
  expect_gt(mean(abs(block_moments(state)[1, , , ]) > 5), .2)
  methods <- list("15 bins" = method_bins(15), bins = method_bins(seq(5, 100, 5)), kkr = method_kkr(10^-(2:5)),
                  ukkr = method_ukkr(10^-(2:5)))
  rows <- rows_of_state(d, state, weights = w, id = 1:2e4, methods = methods)
  split <- state_folds(state)
  problem <- block_problem(state, 1)
  for (m in names(methods)) {
    sums <- tune_problem(methods[[m]], in_own_blocks(problem, split), NULL, method_grid(methods[[m]], "binary", 1),
                         new_context())
    one <- rows$tidy[rows$tidy$method == m, ]
    for (name in c("risk", "squared_error", "squared_error_test")) {
      expect_close(c(t(sums$paths[[1]][[name]])), one[[name]], if (grepl("kkr", m)) 1e-6 else tol$oracle)
    }
  }
})

test_that("chunks and their order change nothing, and integers are copies of rows", {
  d <- inside_sample(600, 3)
  w <- withr::with_seed(4, rexp(600))
  cluster <- withr::with_seed(5, sample(200, 600, TRUE))
  parts <- ce_tune(chunked_state(d, 4, weights = w, cluster = cluster))
  whole <- ce_tune(state_of(d, weights = w, cluster = cluster))
  expect_same_numbers(tidy(parts), tidy(whole))
  expect_same_numbers(glance(parts), glance(whole))
  count <- withr::with_seed(6, sample(0:2, 600, TRUE))
  counted <- state_of(d, weights = count, cluster = cluster)
  copies <- rep(1:600, count)
  repeated <- state_of(lapply(d, `[`, copies), cluster = cluster[copies])
  expect_same_numbers(glance(ce_tune(counted)), glance(ce_tune(repeated)))
})

test_that("class-wise risks, differences and their errors are those of the rows in blocks as clusters", {
  empty <- ce_state(notion = "class_wise", grid = c(5, 10))
  data <- cbind(vehicle_predictions, row = seq_len(nrow(vehicle_predictions)))
  data$w <- withr::with_seed(1, rexp(nrow(data)))
  methods <- list(bins = method_bins(c(5, 10)), kkr = method_kkr(), ukkr = method_ukkr())
  block <- block_parts(id_units(data$row), empty$spec)
  block <- match(block, sort(unique(block)))
  fold <- fold_of_blocks(max(block), empty$spec)[block]
  data$block <- block
  for (weighted in c(TRUE, FALSE)) {
    if (!weighted) data$w <- 1L
    sums <- ce_tune(update(empty, data, truth, id = row, weights = w))
    tuned <- ce_tune(data, truth, notion = "class_wise", folds = fold, test = which(fold == 0), cluster = block,
                     weights = w, methods = methods)
    for (name in compared) expect_equal(glance(sums)[[name]], glance(tuned)[[name]], tolerance = 1e-6)
    expect_false(anyNA(glance(sums)[compared]))
    expect_identical(tidy(sums)[c("class", "value")], tidy(tuned)[c("class", "value")])
    expect_lt(max(abs(tidy(sums)$risk - tidy(tuned)$risk)) / max(tidy(tuned)$risk), 1e-6)
    expect_output(print(sums),
                  if (weighted) "Weighted rows \\(effective" else "Classes of a row together: risks of pairs")
  }
})

test_that("the risk of clustered rows has no bias, and would have one if clusters were not known", {
  draw <- function(n, copies) {
    x <- round(plogis(rnorm(n)), 3)
    lapply(list(x = x, y = rbinom(n, 1, x^1.5), id = seq_len(n)), rep, each = copies)
  }
  bins <- method_bins(40)
  risk_of <- function(state) {
    grid <- method_grid(bins, "binary", 1)
    found <- tune_problem(bins, in_own_blocks(block_problem(state, 1), state_folds(state)), NULL, grid, new_context())
    c(mean(vapply(found$risks[[1]], `[[`, 0, "risk")), mean(vapply(found$forms, function(form) {
      form_risk(form, fresh$features, fresh$residuals)$risk
    }, 0)))
  }
  fresh <- withr::with_seed(7, draw(2e4, 1))
  fresh <- list(features = matrix(fresh$x), residuals = matrix(fresh$x - fresh$y))
  empty <- ce_state(grid = 40, blocks = 32)
  withr::with_seed(8, {
    found <- replicate(24, {
      d <- draw(60, 6)
      c(risk_of(state_of(d, empty, cluster = d$id)), risk_of(state_of(d, empty, weights = rep(1, 360), id = 1:360)))
    })
  })
  off <- function(rows) {
    excess <- found[rows[1], ] - found[rows[2], ]
    mean(excess) / sd(excess) * sqrt(24)
  }
  expect_lt(abs(off(1:2)), 3)
  # a cluster that is held out has trained, too
  expect_lt(off(3:4), -6)
})

test_that("folds are whole blocks; too few of them are an error that says what to do", {
  empty <- ce_state()
  expect_identical(table(fold_of_blocks(64, empty$spec)), table(rep(0:5, c(13, 11, rep(10, 4)))), ignore_attr = TRUE)
  d <- inside_sample(300, 5)
  state <- state_of(d, cluster = rep(1:11, length.out = 300))
  cnd <- expect_error(ce_tune(state), class = "calibrisk_error_folds")
  expect_error(ce_tune(state_of(d, cluster = rep(1, 300))), "1 of the 64 blocks has rows")
  expect_match(conditionMessage(cnd), "blocks have rows; 5 folds and the test rows need 13.*Fewer `folds`")
  few <- state_of(d, ce_state(folds = 2), cluster = rep(1:11, length.out = 300))
  expect_false(anyNA(glance(ce_tune(few))[compared[1:5]]))
  values <- list(x = rep(.5, 50), y = rep(0:1, 25))
  expect_error(ce_tune(state_of(values, weights = 1:50 / 2)), "give `id`", class = "calibrisk_error_folds")
  expect_error(ce_tune(state_of(lapply(d, `[`, 1:9), weights = rep(.5, 9))), class = "calibrisk_error_folds")
})

test_that("rows without an id whose values are few are told of", {
  d <- list(x = rep(1:10 / 11, 40), y = withr::with_seed(6, rbinom(400, 1, .5)))
  w <- 1:400 / 100
  for (verb in c(ce_tune, ce_estimate, ce_panel, rbs)) {
    expect_warning(verb(state_of(d, weights = w)), "limits are too wide.*id", class = "calibrisk_warning_ties")
    expect_silent(verb(state_of(d, weights = w, id = 1:400)))
  }
  expect_false(anyNA(glance(suppressWarnings(ce_tune(state_of(d, weights = w))))$risk))
  d <- inside_sample(200, 7)
  for (n in c(20, 60, 200)) expect_silent(ce_tune(state_of(lapply(d, `[`, seq_len(n)), weights = w[seq_len(n)])))
})

test_that("odd weights and predictions have numbers", {
  d <- inside_sample(200, 7)
  one <- list(x = rep(.5, 200), y = d$y)
  for (sums in list(ce_tune(state_of(d, weights = c(1e12, rep(1, 199)))), ce_tune(state_of(one, cluster = 1:200)),
                    ce_tune(state_of(list(x = d$y, y = d$y), cluster = 1:200)))) {
    expect_false(any(is.nan(columns_of(glance(sums))), is.nan(columns_of(tidy(sums)))))
    expect_false(anyNA(glance(sums)$risk))
    expect_output(print(sums), "blocks")
  }
  # without a residual there is no skill
  expect_identical(glance(sums)$skill, rep(NA_real_, 4))
})

test_that("standard errors that folds of two blocks do not have are explained", {
  d <- inside_sample(20, 8)
  sums <- ce_tune(state_of(d, cluster = 1:20))
  expect_true(anyNA(glance(sums)$difference_std.error))
  expect_output(print(sums), "\\(NA\\): a standard error needs at least three rows")
})
