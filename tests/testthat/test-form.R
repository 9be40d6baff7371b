test_that("risk, projections and standard error equal the double loops on either path", {
  for (size in list(c(9, 1, 1), c(12, 3, 5), c(30, 4, 60), c(3, 2, 2))) {
    pairs <- random_pairs(size[1], size[2], size[3])
    for (core in list(NULL, pairs$M)) {
      H <- if (is.null(core)) tcrossprod(pairs$X) else pairs$X %*% core %*% t(pairs$X)
      for (path in 0:2) {
        risk <- finish_risk(cpp_pair_risk(pairs$E, pairs$X, core, 2L, path))
        expect_risk_equals_oracle(risk, H, pairs$E, 1e-11)
      }
      expect_risk_equals_oracle(form_risk(fixed_form(core), pairs$X, pairs$E), H, pairs$E, 1e-11)
      expect_risk_equals_oracle(finish_risk(cpp_pair_risk_matrix(pairs$E, H, FALSE, 2L)), H, pairs$E, 1e-11)
    }
  }
})

test_that("the paths agree over several tiles and blocks, with the same digits for any threads", {
  pairs <- random_pairs(2100, 3, 4)
  one <- cpp_pair_risk(pairs$E, pairs$X, pairs$M, 1L, 1L)
  tiled <- cpp_pair_risk(pairs$E, pairs$X, pairs$M, 1L, 2L)
  expect_close(tiled$risk, one$risk, 1e-11)
  expect_close(tiled$projections, one$projections, 1e-9)
  expect_close(tiled$zero_projections, one$zero_projections, 1e-11)
  expect_close(tiled$squared, one$squared, 1e-9)
  expect_identical(cpp_pair_risk(pairs$E, pairs$X, pairs$M, 2L, 1L), one)
  expect_identical(cpp_pair_risk(pairs$E, pairs$X, pairs$M, 2L, 2L), tiled)
  wide <- random_pairs(1100, 2, 60)
  expect_close(cpp_pair_risk(wide$E, wide$X, wide$M, 2L, 1L)$projections,
               cpp_pair_risk(wide$E, wide$X, wide$M, 2L, 2L)$projections, 1e-9)
})

test_that("one and two rows are defined", {
  pairs <- random_pairs(2, 2, 3)
  for (path in 1:2) {
    one <- finish_risk(cpp_pair_risk(pairs$E[1, , drop = FALSE], pairs$X[1, , drop = FALSE], NULL, 1L, path))
    expect_identical(c(one$risk, one$zero_risk, risk_std_error(one$projections), one$projections), rep(NA_real_, 4))
    expect_close(one$squared, sum(pairs$X[1, ]^2), tol$law)
    two <- finish_risk(cpp_pair_risk(pairs$E, pairs$X, NULL, 1L, path))
    expect_close(two$risk, (sum(pairs$E[1, ] * pairs$E[2, ]) - sum(pairs$X[1, ] * pairs$X[2, ]))^2, 1e-11)
    expect_identical(risk_std_error(two$projections), NA_real_)
  }
})

test_that("a risk that is negative by rounding is set to zero, with a note", {
  E <- matrix(rep(c(1, 1 / 3), 50) * 1e3, ncol = 1)
  raw <- cpp_pair_risk(E, E, NULL, 1L, 1L)
  expect_gte(raw$risk, 0)
  expect_lt(raw$risk, 1e-3)
  expect_message(finish_risk(modifyList(raw, list(clipped = TRUE))), class = "calibrisk_message_rounding")
})

test_that("an ensemble is the mean of its functions", {
  pairs <- random_pairs(9, 2, 2)
  maps <- list(identity, function(x) x^2, function(x) sin(x))
  for (core in list(NULL, pairs$M)) {
    forms <- lapply(maps, function(map) fixed_form(core, map, gap = is.null(core)))
    ensemble <- ensemble_form(forms)
    H <- Reduce(`+`, lapply(forms, form_pairs, pairs$X, pairs$X)) / 3
    expect_close(form_pairs(ensemble, pairs$X, pairs$X), H, tol$law)
    expect_close(form_squared(ensemble, pairs$X), diag(H), tol$law)
    expect_close(form_squared(ensemble, pairs$X[1, , drop = FALSE]), H[1, 1], tol$law)
    expect_risk_equals_oracle(form_risk(ensemble, pairs$X, pairs$E), H, pairs$E, 1e-11)
  }
  gap <- form_gap(ensemble_form(lapply(maps, function(m) fixed_form(NULL, m, TRUE))), pairs$X)
  expect_close(gap, cpp_bounded_gap((pairs$X + pairs$X^2 + sin(pairs$X)) / 3, pairs$X), tol$law)
  expect_false(have_gaps(list(fixed_form(pairs$M))))
})
