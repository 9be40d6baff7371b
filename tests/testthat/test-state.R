test_that("chunks and the order of merging change nothing", {
  d <- inside_sample(800, 1)
  w <- withr::with_seed(2, rexp(800))
  cluster <- withr::with_seed(3, sample(letters, 800, TRUE))
  whole <- list(state_of(d), state_of(d, weights = w), state_of(d, cluster = cluster))
  parts <- list(chunked_state(d, 4), chunked_state(d, 5, weights = w), chunked_state(d, 6, cluster = cluster))
  for (k in 1:3) {
    expect_identical(parts[[k]]$n, 800)
    expect_same_numbers(ce_panel(parts[[k]]), ce_panel(whole[[k]]))
    expect_same_numbers(ce_estimate(parts[[k]]), ce_estimate(whole[[k]]))
    # to the last digit
    for (sum in names(whole[[k]]$sums[[1]])) {
      expect_identical(parts[[k]]$sums[[1]][[sum]][, 1], whole[[k]]$sums[[1]][[sum]][, 1])
    }
  }
  # updates of updates are merges
  rows <- seq_along(d$x) > 300
  twice <- update(update(ce_state(), d$x[!rows], d$y[!rows]), d$x[rows], d$y[rows])
  expect_same_numbers(ce_panel(twice), ce_panel(whole[[1]]))
})

test_that("a state is a value: what is updated stays, what is saved comes back, and it is small", {
  d <- inside_sample(2000, 1)
  empty <- ce_state()
  first <- state_of(d)
  before <- unserialize(serialize(first, NULL))
  update(first, d$x, d$y)
  c(first, first)
  expect_identical(first, before)
  expect_identical(empty, ce_state())
  expect_identical(c(empty, first), first)
  expect_identical(c(first, empty), first)
  expect_identical(update(first, d$x[0], d$y[0]), first)
  file <- withr::local_tempfile()
  saveRDS(first, file)
  expect_identical(ce_panel(readRDS(file)), ce_panel(first))
  expect_lt(file.size(file), 400 * 1024)
})

test_that("incomplete rows are counted", {
  x <- c(.2, NA, .6, .8, .5)
  y <- c(0, 1, NA, 1, 1)
  state <- update(ce_state(), x, y)
  expect_identical(c(state$n, state$dropped), c(3, 2))
  state <- update(state, c(NA_real_, NA), c(1, 0))
  expect_identical(c(state$n, state$dropped), c(3, 4))
  expect_identical(attr(ce_estimate(state), "dropped"), c(4, 7))
  expect_output(print(state), "4 incomplete")
  # those of weight 0 are not
  for (none in list(numeric(5), integer(5))) {
    nothing <- update(ce_state(), x, y, weights = none)
    expect_identical(c(nothing$n, nothing$dropped), c(0, 2))
  }
  expect_identical(c(state, state)$dropped, 8)
})

test_that("integers are copies of rows", {
  d <- inside_sample(200, 7)
  count <- withr::with_seed(8, sample(0:3, 200, TRUE))
  weighted <- state_of(d, weights = count)
  repeated <- state_of(lapply(d, rep, count))
  expect_same_numbers(ce_panel(weighted), ce_panel(repeated))
  expect_identical(weighted$n, as.numeric(sum(count)))
})

test_that("data frames, matrices and factors are read as by the verbs", {
  a <- update(ce_state(), vehicle_predictions, truth)
  expect_identical(a$about$notion, "top_label")
  probs <- as.matrix(vehicle_predictions[grep("^\\.pred_", names(vehicle_predictions))])
  b <- update(ce_state(), probs, vehicle_predictions$truth)
  expect_same_numbers(ce_panel(a), ce_panel(b))
  rbs <- ce_panel(a)[1, ]
  expect_close(rbs$.estimate, rbs(vehicle_predictions, truth, notion = "top_label")$.estimate, tol$law)

  classes <- update(ce_state(notion = "class_wise"), vehicle_predictions, truth)
  expect_identical(unique(ce_panel(classes)$class), c(levels(vehicle_predictions$truth), NA))
})

test_that("folds and blocks are those of the id, else of the values", {
  id <- c(11, 12, 11, 13)
  expect_identical(id_units(id), id_units(as.integer(id)))
  expect_identical(id_units(factor(c("b", "a", "b"))), id_units(c("b", "a", "b")))
  expect_identical(id_units(id)[1], id_units(id)[3])
  # states are merged across machines: a change of the hash is a new version of states
  units <- c(id_units(c(1, 2.5)), id_units(c("a", "Z\u00fcrich")), value_units(list(prob = c(.25, .5), outcome = 0:1)))
  expect_equal(units, c(.5345422839, .3813054346, .5312810616, .7085839128, .7604159567, .0926449756), tolerance = 1e-9)
  d <- inside_sample(100, 9)
  twins <- lapply(d, rep, 2)
  parts <- state_moments(state_of(twins))
  expect_equal(parts, 2 * state_moments(state_of(d)))
  expect_false(isTRUE(all.equal(parts, state_moments(state_of(twins, id = 1:200)))))
})

test_that("what does not fit together is an error that says so", {
  d <- inside_sample(50, 1)
  state <- state_of(d)
  expect_error(c(state, ce_state(n_bins = 10)), "n_bins", class = "calibrisk_error_state")
  expect_error(c(state, 1), class = "calibrisk_error_state")
  old <- state
  old$version <- 0L
  for (call in list(quote(c(state, old)), quote(update(old, d$x, d$y)), quote(ce_panel(old)), quote(print(old)))) {
    expect_error(eval(call), class = "calibrisk_error_version")
  }
  expect_error(update(state, d$x, d$y, weights = d$x), class = "calibrisk_error_weights")
  expect_error(update(state, vehicle_predictions, truth), class = "calibrisk_error_state")
  expect_error(update(state, d$x, d$y, id = c(NA, 1:49)), class = "calibrisk_error_argument")
  expect_error(update(state), class = "calibrisk_error_argument")
  expect_error(update(state, d$x), class = "calibrisk_error_truth")
  expect_error(update(state, d$x, d$y, id = 1:3), class = "calibrisk_error_length")
  expect_error(ce_panel(ce_state()), class = "calibrisk_error_empty")
  expect_error(ce_estimate(ce_state()), class = "calibrisk_error_empty")
  expect_error(ce_estimate(state, d$y), class = "calibrisk_error_state")
  expect_error(ce_estimate(state, bases = c(hats = 3)), "bases", class = "calibrisk_error_state")
  expect_identical(ce_state(d$x, d$y, n_bins = 7), update(ce_state(n_bins = 7), d$x, d$y))
  expect_error(ce_state(knots = 2), class = "calibrisk_error_argument")
  expect_error(ce_state(test = 0), class = "calibrisk_error_argument")
})

test_that("what owns a row is of one type in all parts, and given in all of them", {
  d <- inside_sample(40, 3)
  numbers <- rep(1:10, 4)
  for (arg in c("id", "cluster")) {
    part <- function(value) do.call(state_of, c(list(d), stats::setNames(list(value), arg)))
    known <- part(numbers)
    expect_identical(c(known, part(numbers + 0))$n, 80)
    text <- expect_error(c(known, part(as.character(numbers))), class = "calibrisk_error_owner")
    expect_match(conditionMessage(text), paste0(arg, " as numbers.*", arg, " as text.*as.character"))
    expect_identical(text$arg, arg)
    expect_identical(c(part(factor(numbers)), part(as.character(numbers)))$n, 80)
    expect_error(c(known, state_of(d)), "none of them", class = "calibrisk_error_owner")
    expect_error(update(state_of(d), d$x, d$y, cluster = numbers), "none of them", class = "calibrisk_error_owner")
  }
  expect_error(c(state_of(d, id = numbers), state_of(d, cluster = numbers)), "same argument",
               class = "calibrisk_error_owner")
  expect_error(update(ce_state(), list(ce_source(data.frame(d, id = "a")), ce_source(data.frame(d, id = 1))), y, x,
                      id = id), class = "calibrisk_error_owner")
})

test_that("weights are of one kind in all parts", {
  d <- inside_sample(40, 4)
  site <- rep(1:8, 5)
  count <- rep(1:2, 20)
  for (cluster in list(NULL, site)) {
    whole <- state_of(d, weights = count, cluster = cluster)
    kinds <- expect_error(c(whole, state_of(d, weights = count + .5, cluster = cluster)),
                          class = "calibrisk_error_weights")
    expect_match(conditionMessage(kinds), "integers.*doubles.*as.double")
    expect_error(update(whole, d$x, d$y, weights = count + .5, cluster = cluster), "doubles",
                 class = "calibrisk_error_weights")
    expect_error(c(whole, state_of(d, cluster = cluster)), "has integers, which repeat rows, the other none",
                 class = "calibrisk_error_weights")
    expect_identical(c(whole, whole)$n, 120)
  }
})

test_that("specs are one where their choices are, and come back from text", {
  d <- inside_sample(60, 5)
  a <- ce_state(n_bins = 15L, folds = 5L, grid = c(10L, 5L, 5L), blocks = 64L, knots = c(.5, .1, .5))
  b <- ce_state(grid = c(5, 10), knots = c(.1, .5))
  expect_identical(a, b)
  merged <- c(state_of(d, a), state_of(d, b))
  expect_identical(merged$n, 120)
  file <- withr::local_tempfile()
  knots <- ce_state(knots = (1:29 / 30)^1.3, test = 1 / 7)
  for (saved in list(state_of(d), state_of(d, knots))) {
    saveRDS(saved, file, ascii = TRUE)
    back <- readRDS(file)
    expect_identical(c(saved, back)$n, 120)
    expect_identical(update(back, d$x, d$y)$n, 120)
    expect_same_numbers(ce_panel(back), ce_panel(saved))
  }
  other <- ce_state(knots = (1:29 / 30)^1.3 + 1e-9, test = 1 / 7)
  expect_error(c(state_of(d, knots), state_of(d, other)), "differ in knots", class = "calibrisk_error_state")
})

test_that("a spec has at most 1,000 knots", {
  expect_error(ce_state(knots = 1:1001 / 1002), "1,001", class = "calibrisk_error_size")
  expect_length(ce_state(knots = c(1:1000 / 1001, 1 / 1001))$spec$knots, 1000)
})

test_that("ids are exact: 64-bit integers, and no doubles beyond 2^53", {
  skip_if_not_installed("bit64")
  d <- inside_sample(6, 6)
  text <- paste0("900719925474099", c(3, 4, 5, 3, 4, 5))
  long <- getExportedValue("bit64", "as.integer64")(text)
  expect_identical(as.character(ece(data.frame(p = .5, y = 0:1, g = rev(long)), y, p, .by = g)$g), unique(text))
  for (arg in c("id", "cluster")) {
    part <- function(value) do.call(state_of, c(list(d), stats::setNames(list(value), arg)))
    expect_silent(state <- part(long))
    expect_identical(state, part(text))
    cnd <- expect_error(part(as.numeric(text)), "9007199254740992; 6 of 6|as text", class = "calibrisk_error_size")
    expect_identical(c(cnd$arg, cnd$row), c(arg, "1"))
    expect_identical(part(2^53 - 1:6)$n, 6)
  }
})
