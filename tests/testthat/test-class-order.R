# Canonical results do not depend on the order of the classes or of the rows. With two classes all notions are one.

class_data <- function(seed, n, k, digits = NULL) {
  withr::with_seed(seed, {
    probs <- to_simplex(matrix(stats::rgamma(n * k, 0.7), n))
    if (!is.null(digits)) {
      # in whole parts: ties of rows, of the most probable class and of rows that are permutations of one another
      probs <- t(apply(probs, 1, function(p) stats::rmultinom(1, digits, p)[, 1])) / digits
    }
    truth <- apply((probs + 0.01)^1.5, 1, function(p) sample.int(k, 1, prob = p))
  })
  list(probs = probs, truth = truth, fold = rep_len(0:4, n))
}

reorder_data <- function(d, rows, classes) {
  list(probs = d$probs[rows, classes], truth = match(d$truth, classes)[rows], fold = d$fold[rows])
}

class_truth <- function(d) factor(d$truth, seq_len(ncol(d$probs)))

canonical_verbs <- list(
  estimate = function(d) ce_estimate(d$probs, class_truth(d), notion = "canonical"),
  skce = function(d) skce(d$probs, class_truth(d)), ckce = function(d) ckce(d$probs, class_truth(d)),
  ckce_loo = function(d) ckce(d$probs, class_truth(d), ridge = "loo"),
  ladder = function(d) glance(ce_test(d$probs, class_truth(d), test = "joint")),
  bound = function(d) glance(ce_test(d$probs, class_truth(d), test = "bound")),
  tune = function(d) tuned(d, list(method_kde(0.1), method_kkr(0.01), method_ukkr(0.1), method_power(2))),
  stack = function(d) tuned(d, list(method_stack()))
)

tuned <- function(d, methods) {
  glance(ce_tune(d$probs, class_truth(d), notion = "canonical", folds = d$fold, test = which(d$fold == 0),
                 methods = methods))[-1]
}

# Columns that depend on others up to 1e-10 are kept: at rows that were not fitted their coefficients multiply rounding.
# The factor of a kernel ends where its remainder is small, at pivots that depend on which row is the first.
moves_at_most <- function(name, d, now) {
  moved <- !identical(d$fold, now$fold)
  if (name == "stack" || (name == "tune" && moved)) 1e-4 else 1e-9
}

# Draws belong to rows.
drawn_verbs <- list(
  conditional = function(d) glance(ce_test(d$probs, class_truth(d), test = test_conditional(times = 50))),
  consistency = function(d) glance(ce_test(d$probs, class_truth(d), test = test_consistency(times = 50))),
  bootstrap = function(d) glance(ce_test(d$probs, class_truth(d), test = test_bootstrap(times = 50))),
  ckce_null = function(d) ckce(d$probs, class_truth(d), times = 50)
)

numbers_of <- function(verbs, d) {
  lapply(verbs, function(verb) withr::with_seed(1, suppressMessages(suppressWarnings(result_numbers(verb(d))))))
}

# `were`: the numbers of `d`, where they are known.
expect_same_numbers <- function(verbs, d, now, info, were = numbers_of(verbs, d)) {
  are <- numbers_of(verbs, now)
  for (name in names(verbs)) {
    expect_moved_less(are[[name]], were[[name]], moves_at_most(name, d, now), paste(name, info))
  }
}

test_that("canonical results depend neither on the order of classes nor on that of rows", {
  for (k in c(3, 4, 10)) {
    for (n in c(30, if (k == 4) 300)) {
      for (seed in if (n == 30) 1:2 else 1) {
        d <- class_data(seed, n, k)
        rows <- withr::with_seed(seed + 10, sample(n))
        classes <- withr::with_seed(seed + 20, sample(k))
        info <- paste("of", n, "rows,", k, "classes, seed", seed)
        were <- numbers_of(canonical_verbs, d)
        expect_same_numbers(canonical_verbs, d, reorder_data(d, rows, classes), info, were)
        expect_same_numbers(canonical_verbs["tune"], d, reorder_data(d, seq_len(n), classes), info, were)
        expect_same_numbers(drawn_verbs, d, reorder_data(d, seq_len(n), classes), info)
      }
    }
  }
})

test_that("nor do those of tied rows, tied classes and rows that are permutations of one another", {
  for (digits in c(3, 10)) {
    d <- class_data(digits, 200, 3, digits)
    now <- reorder_data(d, withr::with_seed(1, sample(200)), c(3, 1, 2))
    expect_same_numbers(canonical_verbs, d, now, paste("in parts of", digits))
  }
  # all permutations of every row: no class has anything of its own but its outcomes
  permutations <- rbind(c(1, 2, 3), c(1, 3, 2), c(2, 1, 3), c(2, 3, 1), c(3, 1, 2), c(3, 2, 1))
  d <- class_data(4, 20, 3)
  d$probs <- do.call(rbind, lapply(seq_len(20), function(i) matrix(d$probs[i, permutations], 6)))
  d$truth <- withr::with_seed(5, apply(d$probs, 1, function(p) sample.int(3, 1, prob = p)))
  d$fold <- rep_len(0:4, 120)
  now <- reorder_data(d, withr::with_seed(6, sample(120)), c(2, 3, 1))
  expect_same_numbers(canonical_verbs, d, now, "of all permutations")
})

test_that("landmarks of a tie are its mean, of equal rows that row", {
  landmarks <- function(p, w = NULL) {
    cpp_ladder(p, p, list(w = w), list(list(recipe = "kernel", landmarks = 3)), FALSE, 1L)[[1]]$shape$landmarks
  }
  p <- rbind(c(0.1, 0.2, 0.7), c(0.7, 0.2, 0.1), c(0.2, 0.1, 0.7))
  # the means of the classes, 1/3, 1/6 and 1/2, order the rows
  expect_equal(landmarks(p), p[c(2, 1, 3), ][order(c(p[c(2, 1, 3), ] %*% colMeans(p))), ], tolerance = 1e-15)
  shifts <- rbind(c(0.1, 0.2, 0.7), c(0.7, 0.1, 0.2), c(0.2, 0.7, 0.1))
  expect_equal(landmarks(shifts), matrix(1 / 3, 3, 3), tolerance = 1e-15)
  expect_equal(landmarks(shifts, c(2, 2, 2)), matrix(1 / 3, 3, 3), tolerance = 1e-15)
  same <- matrix(c(0.1, 0.2, 0.7), 7, 3, byrow = TRUE)
  expect_identical(landmarks(same), same[1:3, ])
})

two_class_rows <- function(p, y, ..., reversed = FALSE) {
  levels <- c("no", "yes")
  truth <- factor(levels[y + 1], if (reversed) rev(levels) else levels)
  probs <- cbind(1 - p, p)
  ce_estimate(if (reversed) probs[, 2:1] else probs, truth, notion = c("class_wise", "canonical"), ...)
}

test_that("of two classes the canonical, the class-wise and root 2 times the binary error are one", {
  roots <- c("estimate", "std.error", "conf.low", "conf.high", "lower_bound", "upper_bound")
  for (n in c(60, 300, 700)) {
    for (seed in 1:3) {
      d <- c(drawn_rows(seed, stats::rbeta(n, 1, 2), function(p) p^1.3),
             withr::with_seed(seed + 100, list(v = stats::rexp(n), cluster = sample(20, n, TRUE))))
      designs <- list(list(), list(weights = d$v), list(weights = rep(1:2, length.out = n)), list(cluster = d$cluster))
      for (design in designs[if (seed == 1) 1:4 else 1]) {
        binary <- do.call(ce_estimate, c(list(d$p, d$y), design))
        other <- do.call(ce_estimate, c(list(1 - d$p, 1 - d$y), design))
        expect_equal(as.list(other)[-1], as.list(binary)[-1], tolerance = 1e-9)
        for (reversed in c(FALSE, TRUE)) {
          both <- do.call(two_class_rows, c(list(d$p, d$y, reversed = reversed), design))
          expect_equal(both$notion, c("class_wise", "canonical"))
          for (row in 1:2) {
            expect_equal(unlist(both[row, roots]), sqrt(2) * unlist(binary[roots]), tolerance = 1e-9)
            expect_equal(unlist(both[row, c("p.value", "resolution", "n")]),
                         unlist(binary[c("p.value", "resolution", "n")]), tolerance = 1e-9)
          }
        }
      }
    }
  }
  # and so are differences of models
  models <- list(a = sqrt(d$p), b = d$p^3)
  binary <- ce_compare(models, d$y, metric = ce_estimate)
  both <- ce_compare(lapply(models, function(p) cbind(1 - p, p)), d$y + 1,
                     metric = ce_metric(ce_estimate, notion = "class_wise"))
  roots <- c("difference", "std.error", "conf.low", "conf.high")
  expect_equal(unlist(both[roots]), sqrt(2) * unlist(binary[roots]), tolerance = 1e-9)
})

test_that("knots of 1 - x are those of x, whole numbers of rows between knots or not", {
  knots <- function(x, w = NULL) {
    cpp_ladder(matrix(x), matrix(x), list(w = w), list(list(recipe = "hats", own = 8)), FALSE, 1L)[[1]]$shape$own[[1]]
  }
  x <- withr::with_seed(7, stats::runif(70))
  expect_equal(knots(x), stats::quantile(x, 0:7 / 7, type = 2, names = FALSE), tolerance = 1e-15)
  for (n in 60:75) {
    x <- withr::with_seed(n, stats::runif(n))
    expect_equal(knots(1 - x), rev(1 - knots(x)), tolerance = 1e-14)
    expect_equal(knots(x, rep(2, n)), knots(x), tolerance = 1e-15)
    expect_equal(knots(c(x, x)), knots(x), tolerance = 1e-15)
  }
})
