# The naive loops themselves, and the risk statistics, against values computed elsewhere.
oracle_case <- function(notion) {
  data <- oracle_data()
  problem <- oracle_problem(data$P, data$y, notion)
  list(train = oracle_rows(problem, data$fit), eval = oracle_rows(problem, data$eval))
}

matrix_risk <- function(H, case) {
  finish_risk(cpp_pair_risk_matrix(case$eval$residuals, H, FALSE, 1L))
}

expect_row <- function(H, case, expected) {
  risk <- matrix_risk(H, case)
  oracle <- oracle_risk(H, case$eval$residuals)
  got <- c(risk$risk, risk_std_error(risk$projections), mean(risk$squared))
  expect_close(got[!is.na(expected)], expected[!is.na(expected)], tol$oracle)
  expect_close(c(oracle$risk, oracle$std.error), got[1:2], tol$law)
}

test_that("top-label: kernel density ratio and ridges", {
  case <- oracle_case("top_label")
  x <- case$eval$features
  gap <- oracle_kde_gap(case$train, x, 0.1)
  expect_row(tcrossprod(gap), case, c(0.0299615636066, 0.0149111984561, 0.00898864540338))
  expect_row(oracle_kkr(case$train, x, x, .01, .5), case, c(0.029446901587, 0.0143450006814, 0.0026620898684))
  expect_row(oracle_kkr(case$train, x, x, .01, 1), case, c(0.0296531596526, NA, 0.0080168860611))
  expect_row(oracle_ukkr(case$train, x, x, .01, .5), case, c(0.030233567681, 0.0143673114347, 0.0189541038717))
  expect_row(oracle_ukkr(case$train, x, x, .01, 1), case, c(0.0306026325442, NA, 0.0233957379214))
})

test_that("canonical: kernel density ratio, ridges, projections, paired differences, skill", {
  case <- oracle_case("canonical")
  x <- case$eval$features
  gap <- oracle_kde_gap(case$train, x, 0.2)
  expect_row(tcrossprod(gap), case, c(0.0655930856172, 0.0475002880956, 0.0293699595732))
  kkr <- oracle_kkr(case$train, x, x, .01, .5)
  ukkr <- oracle_ukkr(case$train, x, x, .01, .5)
  expect_row(kkr, case, c(0.0640501266797, 0.0463055658599, 0.0218065841218))
  expect_row(ukkr, case, c(0.0657340595261, 0.0482645496105, 0.0371598363179))
  expect_row(oracle_kkr(case$train, x, x, .01, 1), case, c(0.0650665462397, 0.0474074733924, 0.0288341579601))
  expect_row(oracle_ukkr(case$train, x, x, .01, 1), case, c(0.0669679533797, NA, 0.0420094053427))
  a <- matrix_risk(kkr, case)
  b <- matrix_risk(ukkr, case)
  expect_close(a$projections, c(
    0.0725920841939, 0.0299747836617, 0.000922383134608, 0.144773954828, 0.018700087859,
    0.0426512085759, 0.181953094432, 0.0208334167535
  ), tol$oracle)
  expect_close(b$projections, c(
    0.0731877325447, 0.0300805111593, 0.000890257361541, 0.147014955362, 0.0190291064899,
    0.0434761902357, 0.191359461986, 0.0208342610702
  ), tol$oracle)
  expect_close(unlist(paired_difference(a$projections, b$projections)),
               c(-0.00168393284634, 0.00226735609633), tol$oracle)
  expect_close(unlist(paired_difference(a$projections, a$zero_projections)),
               c(0.000358174179723, 0.0011791732145), tol$oracle)
  expect_close(1 - c(a$risk, b$risk) / a$zero_risk, c(-0.00562353901339, -0.0320622456356), tol$oracle)
  expect_close(oracle_risk(kkr, case$eval$residuals)$jackknife, 0.0540231601699, tol$oracle)
})

test_that("kernel ratio at the boundary", {
  ratio <- function(z, y) {
    oracle_kde_ratio(list(features = matrix(z), labels = y), matrix(1), .1)
  }
  expect_close(ratio(c(1, 1, .9, .6), c(1, 0, 1, 0)), .5, tol$law)
  expect_close(ratio(c(.95, .9, .6), c(1, 0, 0)), 0.999999970838, 1e-11)
})
