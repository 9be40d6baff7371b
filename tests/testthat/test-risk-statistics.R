test_that("a paired difference is the difference of risks with its own standard error", {
  pairs <- random_pairs(12, 2, 2)
  a <- form_risk(fixed_form(pairs$M), pairs$X, pairs$E)
  b <- form_risk(fixed_form(), pairs$X, pairs$E)
  paired <- paired_difference(a$projections, b$projections)
  expect_close(paired$difference, a$risk - b$risk, 1e-11)
  d <- a$projections - b$projections
  expect_close(paired$std.error, sqrt(4 / (12 * 11) * sum((d - mean(d))^2)), tol$law)
})

test_that("over folds, paired differences are averaged and their variances add", {
  a <- withr::with_seed(3, list(rnorm(5), rnorm(4), 1))
  b <- withr::with_seed(4, list(rnorm(5), rnorm(4), 2))
  first <- paired_difference(a[[1]], b[[1]])
  second <- paired_difference(a[[2]], b[[2]])
  both <- paired_difference(a, b) # a fold of one row has no risk
  expect_close(both$difference, (first$difference + second$difference) / 2, tol$law)
  expect_close(both$std.error, sqrt(first$std.error^2 + second$std.error^2) / 2, tol$law)
  a[[1]][6] <- NA
  b[[1]][6] <- 0
  expect_identical(paired_difference(a, b), both)
  expect_identical(paired_difference(a[3], b[3]), list(difference = NA_real_, std.error = NA_real_))
})

test_that("standard errors leave out missing rows and are NA below three", {
  r <- c(1, 4, 2, NA, 7)
  expect_close(risk_std_error(r), sqrt(4 / 12 * sum((r[-4] - 3.5)^2)), tol$law)
  expect_identical(risk_std_error(c(1, 1)), NA_real_)
  expect_identical(risk_std_error(c(1, NA, NA)), NA_real_)
  expect_identical(paired_difference(NA_real_, 1)$difference, NA_real_)
})

# A world whose risks are known: z ~ Beta(4, 1.5), y ~ Bernoulli(z^power), h the product of the
# gaps of z^guess. For scalars R = (E e^2)^2 - 2 (E e phi)^2 + (E phi^2)^2.
known_world <- function(power, guess) {
  mean_of <- function(f) stats::integrate(function(z) f(z) * stats::dbeta(z, 4, 1.5), 0, 1, rel.tol = 1e-10)$value
  gap <- function(z) z - z^power
  phi <- function(z) z - z^guess
  variance <- mean_of(function(z) z^2 - 2 * z * z^power + z^power)
  list(
    power = power, form = fixed_form(map = phi), zero_risk = variance^2,
    risk = variance^2 - 2 * mean_of(function(z) gap(z) * phi(z))^2 + mean_of(function(z) phi(z)^2)^2,
    squared_error = mean_of(function(z) gap(z)^2),
    # E (h - h*)^2
    distance = mean_of(function(z) gap(z)^2)^2 - 2 * mean_of(function(z) gap(z) * phi(z))^2 +
      mean_of(function(z) phi(z)^2)^2
  )
}

draw_world <- function(world, m) {
  z <- rbeta(m, 4, 1.5)
  e <- matrix(z - (runif(m) < z^world$power))
  form_risk(world$form, matrix(z), e)
}

test_that("risks are unbiased and their standard errors have nominal coverage", {
  world <- known_world(1.8, 1.5)
  draws <- withr::with_seed(11, lapply(1:1500, function(i) draw_world(world, 400)))
  risk <- vapply(draws, `[[`, 0, "risk")
  expect_lt(abs(mean(risk) - world$risk) / (sd(risk) / sqrt(1500)), 3)
  covered <- abs(risk - world$risk) < 1.96 * vapply(draws, function(draw) risk_std_error(draw$projections), 0)
  expect_lt(abs(mean(covered) - 0.95), 0.02)
  paired <- vapply(draws, function(draw) unlist(paired_difference(draw$projections, draw$zero_projections)), c(0, 0))
  difference <- world$risk - world$zero_risk
  expect_lt(abs(mean(paired[1, ]) - difference) / (sd(paired[1, ]) / sqrt(1500)), 3)
  covered <- abs(paired[1, ] - difference) < 1.96 * paired[2, ]
  expect_gt(mean(covered), 0.93)
  expect_lt(mean(covered), 0.97)
  # the paired error is the one to compare with: much smaller than the separate ones
  separate <- mean(vapply(draws, function(draw) risk_std_error(draw$projections), 0))
  expect_lt(mean(paired[2, ]), separate / 1.5)
})

test_that("R(h) - R(h*) is E (h - h*)^2, so the true gap has the smallest risk", {
  power <- 1.8
  truth <- known_world(power, power)
  for (guess in c(1.2, 1.5, 2.5)) {
    world <- known_world(power, guess)
    expect_close(world$risk - truth$risk, world$distance, 1e-6)
    difference <- withr::with_seed(5, vapply(1:300, function(i) {
      z <- rbeta(200, 4, 1.5)
      e <- matrix(z - (runif(200) < z^power))
      form_risk(world$form, matrix(z), e)$risk - form_risk(truth$form, matrix(z), e)$risk
    }, 0))
    expect_lt(abs(mean(difference) - world$distance) / (sd(difference) / sqrt(300)), 3)
  }
})

test_that("the lower bound lies below the calibration error as often as it says", {
  bound <- function(draw) ce_lower_bound(paired_difference(draw$zero_projections, draw$projections), 0.95)
  for (guess in c(1.5, 1.8, 3)) { # 1.8 is the truth: there the bound is sharp
    world <- known_world(1.8, guess)
    bounds <- withr::with_seed(12, vapply(1:800, function(i) bound(draw_world(world, 300)), 0))
    holds <- mean(bounds <= sqrt(world$squared_error))
    expect_gt(holds, 0.935)
    if (guess == 1.8) expect_lt(holds, 0.985)
  }
})

test_that("a fold whose rows are all left out has no standard error, whatever its clusters", {
  design <- new_design(4, c(1e12, 1, 1, 1), c(1L, 1L, 2L, 2L))
  expect_identical(expect_silent(risk_std_error(rep(NA_real_, 4), design)), NA_real_)
})

test_that("a row may count less than one draw, and one row may be several", {
  e <- c(0.5, -0.3, 0.2)
  n <- c(0.4, 2.6, 3)
  zero <- form_risk(new_form("bins", edges = numeric(), values = 0), matrix(e), matrix(e), new_design(3, copies = n))
  expect_close(zero$risk, (sum(n * e^2)^2 - sum(n * e^4)) / (6 * 5), tol$law)
  expect_identical(paired_difference(list(1), list(3), list(new_design(1, copies = 3)))$difference, -2)
})
