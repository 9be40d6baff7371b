test_that("published values are met", {
  a <- fixture_a()
  b <- fixture_b()
  expect_equal(ks_error(a$p, a$y)$.estimate, .04166666667, tolerance = 1e-9)
  expect_equal(ks_error(b$p, b$y)$.estimate, .05387841996, tolerance = 1e-9)
})

test_that("ties are counted together, whatever the order of rows", {
  a <- fixture_a()
  values <- withr::with_seed(1, vapply(1:30, function(i) {
    rows <- sample(12)
    ks_error(a$p[rows, ], a$y[rows])$.estimate
  }, 0))
  expect_equal(values, rep(values[1], 30))
  # within the tie block the path would reach 0.25, at its end 0
  expect_equal(ks_error(c(.5, .5), c(0, 1))$.estimate, 0)
})

test_that("the path is that of the definition", {
  for (seed in 1:8) {
    data <- withr::with_seed(seed, random_classes(30, 3, 1))
    top <- top_pair(data$p, data$y)
    path <- vapply(top$conf, function(s) mean((top$conf <= s) * (top$conf - top$cor)), 0)
    expect_equal(ks_error(data$p, data$y)$.estimate, max(abs(path)))
    classes <- sum(vapply(1:3, function(k) {
      x <- data$p[, k]
      max(abs(vapply(x, function(s) mean((x <= s) * (x - (data$y == k))), 0)))
    }, 0))
    expect_equal(ks_error(data$p, data$y, notion = "class_wise")$.estimate, classes)
  }
})

test_that("always wrong with certainty is 1, and the canonical notion is refused", {
  expect_equal(ks_error(diag(3), c(2, 3, 1))$.estimate, 1)
  expect_error(ks_error(diag(3), 1:3, notion = "canonical"), class = "calibrisk_error_notion")
})
