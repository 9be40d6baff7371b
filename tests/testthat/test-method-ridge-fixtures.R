# Every grid value, fold and column of the independent high-precision values.

ridge_errors <- function(name, folder, notion, method) {
  rows <- fixture_rows(name, folder)
  exact <- read.csv(shared_path("fixtures", "gruber-bach", paste0(name, "-exact.csv")))
  short <- if (notion == "canonical") "cce" else "tce"
  exact <- exact[exact$notion == short & exact$method == method$name, ]
  n <- sum(rows$fold > 0) * 0.8
  grid <- method_grid(method, notion, n)
  path <- tune_path(method, rows[[notion]], rows$fold, grid, new_context())
  g <- grid$value * (if (method$name == "kkr") sqrt(n) else n^0.25)
  expect_identical(nrow(exact), length(g) * 5L)
  vapply(seq_along(g), function(v) {
    at <- exact[abs(exact$hyperparameter / g[v] - 1) < 1e-9, ]
    at <- at[order(at$fold), ]
    max(
      relative_error(path$risk[v, ], at$val_risk),
      relative_error(path$squared_error[v, ], at$avg_pred_val),
      relative_error(path$squared_error_test[v, ], at$avg_pred_test)
    )
  }, 0)
}

for (set in list(c("nncal-densenet40", "cifar10"), c("ferrer-pathmnist_resnet50", "other"))) {
  test_that(paste("kernel ridge equals the reference values:", set[1]), {
    skip_if_no_shared("fixtures", "gruber-bach", paste0(set[1], "-exact.csv"))
    for (method in list(method_kkr(exact = TRUE), method_ukkr(exact = TRUE))) {
      expect_lt(max(ridge_errors(set[1], set[2], "top_label", method)), tol$fixture)
      expect_lt(max(ridge_errors(set[1], set[2], "canonical", method)), tol$canonical)
    }
  })
}
