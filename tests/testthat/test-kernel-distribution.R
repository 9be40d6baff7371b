o <- oracle_normal
gram_of <- function(law, kernel, y = NULL) {
  laws <- list(law = law, n = length(law), y = matrix(0, length(law), dimension_of(law)))
  cpp_prediction_matrix(bind_prediction(kernel, laws, 100)$spec, 1L)
}
distance <- function(law, kernel) -log(gram_of(law, kernel(1)))

test_that("Wasserstein distances", {
  expect_equal(distance(pred_normal(0:1, 1:2), kernel_wasserstein)[1, 2], sqrt(2), tolerance = 1e-12)
  expect_equal(distance(pred_laplace(0:1, 1:2), kernel_wasserstein)[1, 2]^2, 3, tolerance = 1e-12)
  mean <- rbind(c(0, 0), c(1, -.5), c(.3, .8), c(-.6, .2))
  cov <- array(c(1, .3, .3, .5, .6, -.2, -.2, .9, .4, 0, 0, 1.2, .8, .5, .5, .7), c(2, 2, 4))
  p <- pred_mvnormal(mean, cov)
  d <- suppressWarnings(distance(p, kernel_wasserstein))^2
  expect_equal(c(d[1, 2], d[1, 3], d[2, 4]), c(1.54035905418, 1.08246079517, 3.44431330556), tolerance = 1e-9)
  # covariances that commute are features, and agree with the pairwise path
  v <- qr.Q(qr(matrix(c(1, 2, 3, 1), 2)))
  turned <- simplify2array(lapply(1:4, function(i) v %*% diag(c(i, 5 - i)) %*% t(v)))
  q <- pred_mvnormal(mean, turned)
  expect_true(cpp_covariances_commute(par_of(q, "cov"), 2))
  expect_false(cpp_covariances_commute(par_of(p, "cov"), 2))
  pairwise <- cpp_bures(par_of(q, "mean"), cpp_covariance_roots(par_of(q, "cov"), 2), 1L)
  expect_equal(distance(q, kernel_wasserstein)^2, pairwise, tolerance = 1e-9)
  ten <- pred_mvnormal(matrix(o$mean, 6, 10), o$sd^2)
  expect_equal(distance(ten, kernel_wasserstein)^2, 10 * distance(pred_normal(o$mean, o$sd), kernel_wasserstein)^2,
               tolerance = 1e-10)
})

test_that("Hellinger distances", {
  squared <- function(law) distance(law, kernel_hellinger)[1, 2]^2
  expect_equal(sqrt(squared(pred_normal(0:1, 1:2))), .386257087763, tolerance = 1e-9)
  expect_equal(sqrt(squared(pred_laplace(0:1, 1:2))), .321437008187, tolerance = 1e-9)
  laws <- list(law = NULL, probs = rbind(c(.7, .2, .1), c(.1, .8, .1)), n = 2)
  k <- cpp_prediction_matrix(bind_prediction(kernel_hellinger(1), laws, 100)$spec, 1L)
  expect_equal(-log(k[1, 2]), .485206006654, tolerance = 1e-9)
  cov <- array(c(1, .3, .3, .5, .6, -.2, -.2, .9), c(2, 2, 2))
  expect_equal(squared(pred_mvnormal(rbind(c(0, 0), c(1, -.5)), cov)), .271701597658, tolerance = 1e-9)
  expect_equal(squared(pred_poisson(c(2, 3))), 1 - sum(sqrt(dpois(0:100, 2) * dpois(0:100, 3))), tolerance = 1e-9)
  # equal and nearly equal scales
  near <- function(e) squared(pred_laplace(0:1, c(1, 1 + e)))
  expect_equal(near(0), 1 - 1.5 * exp(-.5), tolerance = 1e-12)
  expect_equal(near(1e-9), near(0), tolerance = 1e-8)
  expect_equal(near(2.002e-3 * 1.9), {
    b <- 1 + 2.002e-3 * 1.9
    1 - integrate(function(z) sqrt(exp(-abs(z) - abs(z - 1) / b) / (4 * b)), -40, 40, rel.tol = 1e-10)$value
  }, tolerance = 1e-6)
  expect_error(gram_of(pred_normal(0:1, 0), kernel_hellinger(1)), class = "calibrisk_error_kernel")
})

test_that("the mixture distance is not Hilbertian, and the kernel says so", {
  two <- function(m, s) pred_mixture(pred_normal(m[1], s[1]), pred_normal(m[2], s[2]))
  p <- c(two(c(0, 1), c(3, 3)), two(c(0, 1), c(2, 3)), two(c(1, 0), c(2, 3)), two(c(0, 1), c(2, 2)),
         two(c(1, 1), c(1, 3)))
  d <- mixture_distances(p)$distance^2
  expect_equal(c(d[1, 2], d[1, 3], d[2, 4], d[3, 4], d[1, 4], d[2, 3], d[1, 5], d[2, 5], d[3, 5], d[4, 5]),
               c(.5, .5, .5, .5, 1, 1, 2.5, 1, 1, 1.5), tolerance = 1e-12)
  warning <- expect_warning(gram_of(p, kernel_wasserstein(1, 2)), class = "calibrisk_warning_not_psd")
  expect_equal(warning$eigenvalue, -.0267960864, tolerance = 1e-8)
  expect_no_warning(gram_of(p, kernel_mmd(1, kernel_gaussian(1))))
  angles <- c(0, 45, 90, 135) * pi / 180
  cov <- simplify2array(lapply(angles, function(a) outer(c(cos(a), sin(a)), c(cos(a), sin(a))) + .01 * diag(2)))
  q <- pred_mvnormal(matrix(0, 4, 2), cov)
  warning <- expect_warning(gram_of(q, kernel_wasserstein(1, 2)), class = "calibrisk_warning_not_psd")
  expect_equal(warning$eigenvalue, -.0633363461, tolerance = 1e-8)
  expect_no_warning(gram_of(q, kernel_hellinger(1, 2)))
})

test_that("the coupling is the cheapest", {
  # against all assignments for equal weights
  permutations <- as.matrix(expand.grid(1:4, 1:4, 1:4, 1:4))
  permutations <- permutations[apply(permutations, 1, function(r) length(unique(r)) == 4), ]
  draw <- function() pred_mixture(pred_normal(rnorm(1), 1), pred_normal(rnorm(1), 2), pred_normal(rnorm(1), .1),
                                  pred_normal(rnorm(1), .5))
  p <- withr::with_seed(1, c(draw(), draw()))
  location <- par_of(p, "location")
  scale <- par_of(p, "scale")
  cost <- outer(location[1, ], location[2, ], `-`)^2 + outer(scale[1, ], scale[2, ], `-`)^2
  best <- min(apply(permutations, 1, function(r) mean(cost[cbind(1:4, r)])))
  expect_equal(mixture_distances(p)$distance[1, 2]^2, best, tolerance = 1e-12)
  # and against a linear programme for unequal ones
  skip_if_not_installed("lpSolve")
  for (seed in 1:5) {
    w <- to_simplex(withr::with_seed(seed, matrix(rexp(8), 2)))
    q <- pred_mixture(pred_normal(location[, 1], 1), pred_normal(location[, 2], 2), pred_normal(location[, 3], .1),
                      pred_normal(location[, 4], .5), weights = w)
    cost <- outer(location[1, ], location[2, ], `-`)^2 + outer(c(1, 2, .1, .5), c(1, 2, .1, .5), `-`)^2
    best <- lpSolve::lp.transport(cost, "min", rep("=", 4), w[1, ], rep("=", 4), w[2, ], integers = NULL)$objval
    expect_equal(mixture_distances(q)$distance[1, 2]^2, best, tolerance = 1e-9)
  }
})

test_that("MMD between predictions", {
  p <- pred_normal(c(0, 1), c(1, 2))
  d <- distance(p, function(b) kernel_mmd(b, kernel_gaussian(1), power = 1))[1, 2]^2
  j <- function(m, v) exp(-m^2 / (2 * (1 + v))) / sqrt(1 + v)
  expect_equal(d, j(0, 2) + j(0, 8) - 2 * j(1, 5), tolerance = 1e-12)
  # draws: between the empirical laws
  z <- withr::with_seed(1, matrix(rnorm(6), 2))
  k <- function(a, b) mean(exp(-outer(a, b, `-`)^2 / 2))
  d <- distance(pred_draws(z), function(b) kernel_mmd(b, kernel_gaussian(1), power = 1))[1, 2]^2
  expect_equal(d, k(z[1, ], z[1, ]) + k(z[2, ], z[2, ]) - 2 * k(z[1, ], z[2, ]), tolerance = 1e-12)
})

test_that("kernels print and refuse", {
  expect_equal(format(kernel_wasserstein(2)), "wasserstein(2, 1)")
  expect_match(format(kernel_mmd()), "gaussian")
  expect_error(kernel_wasserstein(1, 3), class = "calibrisk_error_argument")
  expect_error(kernel_wasserstein(-1), class = "calibrisk_error_argument")
  expect_error(kernel_mmd(1, "gaussian"), class = "calibrisk_error_kernel")
  median <- bind_prediction(kernel_wasserstein(), list(law = pred_normal(c(0, 1, 3), 1)), 1)$kernel
  expect_equal(median$bandwidth, 2)
})

test_that("kernels between distributions are their formulas", {
  normal <- pred_normal(c(0, 1, 3), c(1, 1, 2))
  f <- cbind(c(0, 1, 3), c(1, 1, 2))
  mv <- pred_mvnormal(diag(2), c(1, 4))
  expect_equal(kernel_matrix(kernel_wasserstein(1, 2), mv)[1, 2], exp(-(2 + 2) / 2))
  expect_equal(kernel_matrix(kernel_embedding(kernel_gaussian(1)), normal)[1, 3],
               dnorm(3, 0, sqrt(1 + 1 + 4)) * sqrt(2 * pi))
  # a median is that of outcomes of two predictions, not of outcomes that nobody gave
  expect_equal(kernel_matrix(kernel_embedding(), normal)[1, 1], 1 / sqrt(1 + 2 / pooled_distance(list(law = normal))^2))
  expect_equal(kernel_matrix(kernel_hellinger(1), pred_categorical(diag(2)))[1, 2], exp(-1))
  expect_equal(kernel_matrix(kernel_gaussian(1), normal), exp(-unname(as.matrix(dist(f)))^2 / 2))
})

test_that("kernels between distributions are refused where vectors are compared", {
  p <- rbind(c(.2, .8), c(.5, .5), c(.9, .1))
  y <- c(1, 2, 2)
  refused <- function(expr) expect_error(expr, "compares predictive distributions", class = "calibrisk_error_kernel")
  kernels <- list(kernel_wasserstein(1), kernel_linear() + kernel_hellinger(1), kernel_mmd(1), kernel_embedding())
  for (kernel in kernels) {
    refused(ckce(p, y, kernel = kernel))
    refused(ckce(p, y, target_kernel = kernel))
    refused(skce(p, y, target_kernel = kernel))
    refused(ce_test(p, y, target_kernel = kernel))
    refused(skce(pred_normal(1:3, 1), 1:3, target_kernel = kernel * kernel_gaussian(1)))
    refused(ce_rank(list(a = p, b = p), y, metric = ce_metric(ckce, kernel = kernel), times = 2))
    refused(kernel_mmd(1, target_kernel = kernel))
    refused(kernel_embedding(kernel))
    refused(method_ukkr(0.1, kernel))
    refused(method_kkr(0.1, list(kernel_linear(), kernel)))
    for (fn in list(skce, ckce, joint_error, loo_errors)) {
      expect_error(fn(p, y, group = 1:3, group_kernel = kernel), "group_kernel", class = "calibrisk_error_kernel")
    }
  }
})

test_that("equal predictions have Hellinger distance 0", {
  law <- pred_laplace(c(.3, .3, 1), c(4.669, 4.669, .7))
  k <- kernel_matrix(kernel_hellinger(1), law)
  expect_identical(diag(k), rep(1, 3))
  expect_identical(k[1, 2], 1)
})

test_that("a distance, a bandwidth or moments without a value in double precision are an error", {
  law <- pred_normal(c(0, 1, 2), 1e-300)
  for (fn in list(skce, ckce)) {
    expect_error(fn(law, c(0, 1, 2), kernel = kernel_hellinger(), target_kernel = kernel_gaussian(1)), "too far apart",
                 class = "calibrisk_error_distribution")
  }
  error <- expect_error(skce(pred_lognormal(c(0, 1, 2000), 1), 1:3), "bandwidth of a kernel", class = "calibrisk_error_argument")
  expect_match(conditionMessage(error), "Use other units")
  expect_error(kernel_gaussian(1e-200), class = "calibrisk_error_argument")
  expect_error(kernel_wasserstein(1e200), class = "calibrisk_error_argument")
  law <- pred_normal(c(1, 2, 4) * 1e-200, 0)
  expect_error(skce(law, c(1, 2, 3)), "between", class = "calibrisk_error_argument")
  beyond <- pred_lognormal(c(1e6, -1e6, 5), c(1e6, 1e5, 3))
  for (verb in list(ce_test, skce, ckce)) {
    expect_error(verb(beyond, c(1, 2, 3), kernel = kernel_mmd("median")), class = "calibrisk_error")
  }
  expect_error(ce_test(beyond, c(1, 2, 3), test = "conditional"), class = "calibrisk_error_argument")
})

test_that("exponents between 0 and 2", {
  o <- oracle_normal
  p <- pred_normal(o$mean, o$sd)
  d <- as.matrix(dist(cbind(o$mean, o$sd)))
  for (power in c(.3, 1, 1.5, 2)) {
    k <- kernel_matrix(kernel_wasserstein(.7, power), p)
    expect_equal(k, exp(-(d / .7)^power / power), ignore_attr = TRUE, tolerance = 1e-12)
    expect_gt(min(eigen(k, symmetric = TRUE)$values), 0)
  }
  mmd <- function(power) kernel_matrix(kernel_mmd(1, kernel_gaussian(1), power), p)
  expect_equal(mmd(1.5)[1, 2], exp(-sqrt(-2 * log(mmd(2)[1, 2]))^1.5 / 1.5), tolerance = 1e-10)
  expect_equal(kernel_matrix(kernel_hellinger("median", .5), p)[2, 2], 1)
  for (power in list(0, 2.1, NA_real_, "1", c(1, 2))) {
    expect_error(kernel_wasserstein(1, power), class = "calibrisk_error_argument")
  }
})

test_that("kernels of mean embeddings by features, for many rows", {
  data <- withr::with_seed(1, list(a = rnorm(40), b = rnorm(40), z = matrix(rnorm(400), 40)))
  mix <- pred_mixture(pred_normal(data$a, 1), pred_normal(data$b, .5))
  # as of more rows than an n x n matrix takes
  many <- function(bind) {
    local_stand_ins(list(matrix_rows = 1L))
    withr::with_seed(2, bind(kernel, laws, 10))
  }
  for (law in list(mix, pred_normal(data$a, 1), pred_draws(data$z))) {
    laws <- read_laws(law, rlang::quo(data$b))
    for (kernel in list(2 * kernel_mmd(.7, kernel_gaussian(1)), kernel_mmd("median", kernel_gaussian(1), 1))) {
      exact <- bind_mmd(kernel, laws, 10)
      near <- many(bind_mmd)
      expect_equal(near$kernel$bandwidth, exact$kernel$bandwidth, tolerance = 1e-2)
      expect_equal(cpp_prediction_matrix(near$spec, 1L), cpp_prediction_matrix(exact$spec, 1L), tolerance = 1e-2)
    }
    kernel <- 3 * kernel_embedding(kernel_gaussian(1))
    expect_equal(cpp_prediction_matrix(many(bind_embedding)$spec, 1L),
                 cpp_prediction_matrix(bind_embedding(kernel, laws, 10)$spec, 1L), tolerance = 1e-4)
  }
})

