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

test_that("leave-one-out risks and the jackknife follow from the projections", {
  pairs <- random_pairs(11, 2, 3)
  H <- pairs$X %*% pairs$M %*% t(pairs$X)
  oracle <- oracle_risk(H, pairs$E)
  risk <- form_risk(fixed_form(pairs$M), pairs$X, pairs$E)
  m <- 11
  expect_close((m * risk$risk - 2 * risk$projections) / (m - 2), oracle$without, 1e-11)
  expect_close(risk_std_error(risk$projections) * (m - 1) / (m - 2), oracle$jackknife, 1e-11)
})

test_that("the risk sees h only off the diagonal, the squared error only on it", {
  pairs <- random_pairs(8, 2, 3)
  H <- pairs$X %*% pairs$M %*% t(pairs$X)
  G <- H
  diag(G) <- 7
  a <- cpp_pair_risk_matrix(pairs$E, H, FALSE, 1L)
  b <- cpp_pair_risk_matrix(pairs$E, G, FALSE, 1L)
  expect_identical(a[c("risk", "projections", "zero_risk")], b[c("risk", "projections", "zero_risk")])
  expect_identical(b$squared, rep(7, 8))
})

test_that("row order and orthogonal maps of the residuals change nothing", {
  pairs <- random_pairs(20, 4, 3)
  form <- fixed_form(pairs$M)
  base <- form_risk(form, pairs$X, pairs$E)
  order <- withr::with_seed(2, sample(20))
  moved <- form_risk(form, pairs$X[order, ], pairs$E[order, ])
  expect_close(moved$risk, base$risk, 1e-11)
  expect_close(moved$projections, base$projections[order], 1e-11)
  Q <- withr::with_seed(3, qr.Q(qr(matrix(rnorm(16), 4))))
  turned <- form_risk(form, pairs$X, pairs$E %*% Q)
  expect_close(turned$projections, base$projections, 1e-11)
  padded <- form_risk(form, pairs$X, cbind(pairs$E, 0))
  expect_close(padded$projections, base$projections, 1e-11)
})

test_that("two classes: canonical is four times the scalar risk, twice the squared error", {
  pairs <- random_pairs(15, 1, 1)
  scalar <- form_risk(fixed_form(), pairs$X, pairs$E)
  both <- form_risk(fixed_form(), cbind(pairs$X, -pairs$X), cbind(pairs$E, -pairs$E))
  expect_close(both$risk, 4 * scalar$risk, 1e-11)
  expect_close(both$squared, 2 * scalar$squared, 1e-11)
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
  expect_close(gap, bounded_gap((pairs$X + pairs$X^2 + sin(pairs$X)) / 3, pairs$X), tol$law)
  expect_false(have_gaps(list(fixed_form(pairs$M))))
})
