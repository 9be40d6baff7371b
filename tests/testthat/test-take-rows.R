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
  problem <- function(data) canonical_problem(data)[c("features", "residuals", "labels", "design")]
  expect_equal(take_rows(problem(read(1:6)), rows), problem(read(rows)))
  conditional <- class_problem(read(1:6), kernel_gaussian(1))
  expect_equal(take_rows(conditional, rows)$residuals, conditional$residuals[rows, ])
  expect_identical(take_rows(conditional, rows)[c("scale", "embedding")],
                   list(scale = conditional$scale[rows], embedding = conditional$embedding))
  laws <- function(at) {
    read_laws(pred_normal(1:6, 2)[at], rlang::quo((6:1)[!!at]), group = rlang::quo(c(2, 2, 1, 1, 2, 3)[!!at]),
              design = design(at))
  }
  cut <- take_rows(laws(1:6), rows)
  expect_equal(cut[c("law", "y", "design", "n")], laws(rows)[c("law", "y", "design", "n")])
  expect_equal(cut$group$labels[cut$group$id], c(2, 2, 3))
  expect_identical(take_rows(laws(1:6), 1:6 %in% rows)$n, 3L)
})
