function_risk <- function(f, problem, na_rm = FALSE) {
  form <- fit_form(method_function(f, na_rm), problem, list(value = NA), new_context())
  form_risk(form, problem$features, problem$residuals)
}

test_that("any function, symmetric or not, has the risk of the double loop", {
  data <- oracle_data()
  problem <- oracle_problem(data$P, data$y, "canonical")
  functions <- list(
    function(P, Q) tcrossprod(P - 1 / 3, Q - 1 / 3), function(P, Q) outer(P[, 1], Q[, 2], function(a, b) a - b^2),
    function(P, Q) c(outer(P[, 1], Q[, 2], "-")), function(P, Q) matrix(1L, nrow(P), nrow(Q))
  )
  for (f in functions) {
    H <- matrix(f(data$P, data$P), 20)
    risk <- function_risk(f, problem)
    oracle <- oracle_risk(H, problem$residuals)
    expect_close(risk$risk, oracle$risk, 1e-11)
    expect_close(risk$projections, oracle$projections, 1e-11)
    expect_close(risk$squared, diag(H), tol$law)
    form <- fit_form(method_function(f), problem, list(), new_context())
    expect_close(form_squared(form, data$P), diag(H), tol$law)
    expect_close(form_pairs(form, data$P[1:3, ], data$P), H[1:3, ], tol$law)
  }
})

test_that("several tiles equal the linear path, with the same digits for any threads", {
  pairs <- random_pairs(1500, 3, 2)
  linear <- cpp_pair_risk(pairs$E, pairs$X, pairs$M, 1L, 1L)
  tile <- function(rows, cols) pairs$X[rows, ] %*% pairs$M %*% t(pairs$X[cols, ])
  tiles <- cpp_pair_risk_function(pairs$E, tile, FALSE, 1L)
  expect_close(tiles$risk, linear$risk, 1e-11)
  expect_close(tiles$projections, linear$projections, 1e-10)
  expect_identical(cpp_pair_risk_function(pairs$E, tile, FALSE, 2L), tiles)
  H <- pairs$X %*% pairs$M %*% t(pairs$X)
  H[1400, 3] <- H[1400, 3] + 1 # not symmetric, off the diagonal tiles
  expect_close(cpp_pair_risk_matrix(pairs$E, H, FALSE, 2L)$projections, oracle_loss_means(H, pairs$E), 1e-11)
})

test_that("NaN gives NA with a count, or is left out", {
  pairs <- random_pairs(12, 2, 2)
  problem <- list(features = pairs$X, residuals = pairs$E, labels = rep(1L, 12))
  bad <- c(3, 8)
  f <- function(P, Q) {
    h <- tcrossprod(P, Q)
    h[P[, 1] %in% pairs$X[bad, 1], ] <- NaN
    h[, Q[, 1] %in% pairs$X[bad, 1]] <- NaN
    h
  }
  expect_warning(risk <- function_risk(f, problem), class = "calibrisk_warning_missing_pairs")
  expect_identical(risk$risk, NA_real_)
  expect_identical(risk_std_error(risk$projections), NA_real_)
  expect_identical(risk$n_missing, 144 - 100)
  # whole rows missing: as if they were not there
  left <- function_risk(f, problem, na_rm = TRUE)
  kept <- setdiff(1:12, bad)
  rest <- function_risk(tcrossprod, oracle_rows(problem, kept))
  for (name in c("risk", "zero_risk")) expect_close(left[[name]], rest[[name]], 1e-11)
  expect_close(risk_std_error(left$projections), risk_std_error(rest$projections), 1e-11)
  expect_close(left$projections[kept], rest$projections, 1e-11)
  expect_true(all(is.na(left$projections[bad])))
  expect_identical(left$n, 10)
  expect_close(mean_squared(left$squared, list(na_rm = TRUE)), mean(rest$squared), tol$law)
  expect_identical(mean_squared(left$squared), NA_real_)
  # one pair missing: the mean over the others
  H <- tcrossprod(pairs$X)
  H[2, 5] <- NaN
  loss <- (tcrossprod(pairs$E) - H)^2
  diag(loss) <- NA
  one <- finish_risk(cpp_pair_risk_matrix(pairs$E, H, TRUE, 1L))
  expect_close(one$risk, mean(loss, na.rm = TRUE), 1e-11)
  expect_close(mean(one$projections), one$risk, 1e-11)
  all_missing <- finish_risk(cpp_pair_risk_matrix(pairs$E, H * NaN, TRUE, 1L))
  expect_identical(all_missing$risk, NA_real_)
})

test_that("rows that are left out do not count in any verb", {
  z <- withr::with_seed(1, runif(60))
  y <- withr::with_seed(2, runif(60)) < z
  f <- function(P, Q) {
    h <- tcrossprod(P^2, Q^2) / 10
    h[P[, 1] > .9, ] <- NaN
    h[, Q[, 1] > .9] <- NaN
    h
  }
  kept <- z <= .9
  left <- ce_fit(z, y, method = method_function(f, na_rm = TRUE))
  plain <- ce_fit(z, y, method = method_function(f))
  expect_close(unlist(ce_risk(left, z, y)), unlist(ce_risk(plain, z[kept], y[kept])), 1e-10)
  expect_warning(row <- ce_risk(plain, z, y), class = "calibrisk_warning_missing_pairs")
  expect_identical(c(row$risk, row$std.error, row$lower_bound), rep(NA_real_, 3))
  tuned <- withr::with_seed(3, ce_tune(z, y, methods = list(method_function(f, na_rm = TRUE))))
  expect_false(anyNA(glance(tuned)[c("root_risk", "estimate", "conf.low")]))
})

test_that("a result of the wrong shape or type is an error; so is the function's own", {
  problem <- random_problem(10)
  expect_error(function_risk(function(P, Q) 1, problem), class = "calibrisk_error_function")
  expect_error(function_risk(function(P, Q) matrix("a", 10, 10), problem), class = "calibrisk_error_function")
  expect_error(function_risk(function(P, Q) NULL, problem), class = "calibrisk_error_function")
  expect_error(function_risk(function(P, Q) stop("mine"), problem), "mine")
  expect_error(form_pairs(new_form("function", f = function(P, Q) t(outer(P[, 1], Q[, 1])),
                                   na_rm = FALSE), matrix(1:3), matrix(1:2)), class = "calibrisk_error_function")
  expect_error(method_function(3), class = "calibrisk_error_argument")
  expect_error(method_function(sum, NA), class = "calibrisk_error_argument")
})

test_that("a function that fails or returns infinite values is a classed error, NaN becomes NA", {
  problem <- random_problem(10)
  expect_error(function_risk(function(P, Q) matrix(Inf, nrow(P), nrow(Q)), problem), "100 of 100",
               class = "calibrisk_error_function")
  nan <- ce_fit(runif(10), rep(0:1, 5), method = method_function(function(P, Q) matrix(NaN, nrow(P), nrow(Q))))
  expect_false(any(is.nan(predict(nan, c(0.2, 0.3)))))
  tuned <- suppressWarnings(ce_tune(runif(20), rep(0:1, 10), methods = method_function(nan$forms[[1]]$f)))
  expect_false(any(vapply(glance(tuned), function(x) is.numeric(x) && any(is.nan(x)), NA)))
})
