test_that("every part of predictions, problems and laws that has a value per row is cut, and nothing else", {
  rows <- c(5L, 2L, 6L)
  w <- c(1, 2, 4, 3, 1, 2)
  design <- function(at) design_input(rlang::quo(w[!!at]), rlang::quo(NULL))
  read <- function(at) {
    out <- as_predictions(toy_probs()[at, ], rlang::quo(toy_truth()[!!at]), design = design(at))
    out$rows <- at
    out$n_input <- 6L
    out
  }
  expect_equal(take_rows(read(1:6), rows), read(rows))
  problem <- function(data) notion_problems(data, "canonical")[[1]][c("features", "residuals", "labels", "design")]
  expect_equal(take_rows(problem(read(1:6)), rows), problem(read(rows)))
  conditional <- ckce_problem(read(1:6), kernel_gaussian(1))
  expect_equal(take_rows(conditional, rows)$residuals, conditional$residuals[rows, ])
  expect_identical(take_rows(conditional, rows)[c("scale", "embedding")],
                   list(scale = conditional$scale[rows], embedding = conditional$embedding))
  laws <- function(at) {
    out <- read_laws(pred_normal(1:6, 2)[at], rlang::quo((6:1)[!!at]), design = design(at))
    out$group <- ckce_group(c(2, 2, 1, 1, 2, 3)[at], NULL, out)
    out
  }
  cut <- take_rows(laws(1:6), rows)
  expect_equal(cut[c("law", "y", "design", "n")], laws(rows)[c("law", "y", "design", "n")])
  expect_equal(cut$group$labels[cut$group$id], c(2, 2, 3))
  expect_equal(cut$group$features, matrix(c(1, 1, 3)))
  expect_identical(take_rows(laws(1:6), 1:6 %in% rows)$n, 3L)
})

test_that("many rows of a matrix are those that R takes", {
  x <- withr::with_seed(1, matrix(rnorm(6000), 3000))
  rows <- withr::with_seed(2, sample(3000L, 2000, replace = TRUE))
  expect_identical(rows_of_part(x, rows), x[rows, ])
  expect_identical(rows_of_part(x[, 1, drop = FALSE], rows), x[rows, 1, drop = FALSE])
  named <- structure(x, dimnames = list(NULL, c("a", "b")))
  expect_identical(rows_of_part(named, rows), named[rows, ])
  expect_identical(rows_of_part(x, c(rows, NA)), x[c(rows, NA), ])
  expect_identical(rows_of_part(x, -rows), x[-rows, ])
  expect_error(rows_of_part(x, c(rows, 3001L)), "subscript")
})
