fixed_bases <- function(knots) lapply(knots, function(at) list(recipe = "hats", at = list(at)))

# `redrawn`: of what depends on redraws, which are others where the rows are others.
expect_headline <- function(row, ladder, tolerance, redrawn = tolerance) {
  expect_fields <- function(of_row, of_ladder, most) {
    expect_lt(max(0, abs(unlist(row[of_row]) - unlist(ladder[of_ladder])), na.rm = TRUE), most)
  }
  expect_fields(c("estimate", "std.error", "conf.high", "upper_bound"),
                c("estimate", "std.error", "high", "upper_bound"), tolerance)
  expect_fields(c("conf.low", "lower_bound", "p.value"), c("low", "lower_bound", "p.value"), redrawn)
}

# The ladder of the rows on the knots of the state.
ladder_on_knots <- function(d, state) joint_ladder(d$x, d$y, NULL, .95, state_knots(state, 1)[-1])

test_that("the headline is that of the rows on the same knots", {
  for (n in c(400, 6000)) {
    d <- inside_sample(n, n)
    state <- state_of(d)
    expect_headline(ce_estimate(state), ladder_on_knots(d, state), 1e-5, .03)
  }
  # and near that of the verb, on its own knots
  expect_lt(abs(ce_estimate(state)$estimate - ce_estimate(d$x, d$y)$estimate), .001)
})

test_that("given knots are the verb's own", {
  d <- inside_sample(900, 3)
  own <- unique(quantile(d$x, c((0:29) / 29, (0:7) / 7), type = 1, names = FALSE))
  state <- state_of(d, ce_state(knots = own))
  expect_identical(lengths(state_knots(state, 1)), c(2L, 8L, 30L))
  expect_headline(ce_estimate(state), binary_ladder(scalar_problem(d$x, d$y), .95), 1e-4, .03)
})

test_that("blocks are clusters: whole ones are left out", {
  d <- inside_sample(3000, 4)
  w <- withr::with_seed(5, rexp(3000))
  cluster <- withr::with_seed(6, sample(300, 3000, TRUE))
  empty <- ce_state(blocks = 16)
  for (given in list(list(weights = w), list(cluster = cluster), list(weights = w, cluster = cluster))) {
    state <- do.call(state_of, c(list(d, empty), given))
    units <- if (is.null(given$cluster)) value_units(list(prob = d$x, outcome = d$y)) else id_units(cluster)
    block <- block_parts(units, empty$spec)
    problem <- scalar_problem(d$x, d$y)
    problem$design <- new_design(3000, given$weights, match(block, sort(unique(block))))
    ladder <- run_ladder(problem, fixed_bases(state_knots(state, 1)), .95)
    flipped <- flipped_ladder(ladder, d$x, d$y, problem$design, .95, state_knots(state, 1)[-1])
    # sums of the logit in a cell are those of its nodes
    expect_headline(ce_estimate(state), flipped, 1e-8, .01)
  }
  expect_output(print(ce_estimate(state)), "16 blocks")
})

test_that("the class-wise headline is that of the rows in blocks as clusters", {
  data <- cbind(vehicle_predictions, id = seq_len(nrow(vehicle_predictions)))
  empty <- ce_state(notion = "class_wise", blocks = 16)
  state <- update(empty, data, truth, id = id)
  block <- block_parts(id_units(data$id), empty$spec)
  predictions <- as_predictions(vehicle_predictions, rlang::quo(truth), list(), "first", TRUE)
  problem <- ladder_problem(predictions, "class_wise")
  problem$design <- new_design(nrow(data), NULL, match(block, sort(unique(block))))
  knots <- lapply(seq_along(state$sums), function(j) state_knots(state, j))
  bases <- lapply(1:3, function(m) list(recipe = "hats", at = lapply(knots, `[[`, m)))
  y <- as.integer(predictions$truth)
  rows <- lapply(seq_along(knots), function(k) {
    list(x = predictions$probs[, k], y = as.numeric(y == k), count = rep(1, length(y)), cluster = problem$design$cluster,
         knots = unname(knots[[k]][-1]))
  })
  found <- cpp_class_sums_flips(rows, nrow(data), .95, joint_redraws, 1L)
  ladder <- with_flips(run_ladder(problem, bases, .95), found, found$low, problem$design)
  expect_headline(ce_estimate(state), ladder, 1e-8)
  expect_output(print(ce_estimate(state)), "Classes of a row together: errors from 16 blocks")
  said <- gsub("\\s+", " ", capture_output(print(ce_estimate(state))))
  expect_match(said, "The test flips the signs of whole blocks. `ce_estimate()` of the rows simulates labels, so its", fixed = TRUE)
  expect_identical(ce_tune(state)$headline$conf.high, ce_estimate(state)$conf.high)
  # as clusters of one row each where they are given
  clustered <- update(empty, data, truth, cluster = id)
  expect_headline(ce_estimate(clustered), ladder, 1e-8)
  # merged from two halves
  odd <- data$id %% 2 == 1
  halves <- c(update(empty, data[odd, ], truth, id = id), update(empty, data[!odd, ], truth, id = id))
  expect_same_numbers(ce_estimate(halves), ce_estimate(state))

  # the panel's rows of all classes
  table <- ce_panel(state)
  table <- table[is.na(table$class), ]
  expect_identical(table$.metric, c("rbs", "ece", "ece", "ece", "brier"))
  verbs <- list(rbs(vehicle_predictions, truth, notion = "class_wise"),
                ece(vehicle_predictions, truth, notion = "class_wise"),
                ece(vehicle_predictions, truth, notion = "class_wise", p = 2),
                ece(vehicle_predictions, truth, notion = "class_wise", p = 2, debias = TRUE),
                ce_score(vehicle_predictions, truth))
  expect_close(table$.estimate, vapply(verbs, `[[`, 0, ".estimate"), tol$oracle)
  clustered <- ece(cbind(vehicle_predictions, block), truth, notion = "class_wise", cluster = block)
  expect_close(table$std.error[2], clustered$std.error, tol$oracle)
})

test_that("few and extreme rows have a headline", {
  for (d in list(list(x = .3, y = 1), list(x = c(0, 1), y = c(0, 1)), list(x = c(0, 1, .5), y = c(1, 0, 1)),
                 list(x = rep(.5, 40), y = rep(0:1, 20)), list(x = rep(0:1, 20), y = rep(0:1, each = 20)))) {
    state <- state_of(d)
    row <- ce_estimate(state)
    of_rows <- if (length(d$x) == 1) binary_ladder(scalar_problem(d$x, d$y), .95) else ladder_on_knots(d, state)
    expect_headline(row, of_rows, 1e-6, .02)
    expect_true(row$conf.low <= row$conf.high)
  }
  expect_close(ce_estimate(state_of(list(x = c(0, 1), y = c(0, 1))))$upper_bound, sqrt(1 - .025^(1 / 2)), 1e-12)
})
