# Closed forms of the target kernel's expectations against their definition.
w1 <- kernel_wasserstein(1)
gauss <- kernel_gaussian(1)  # exp(-d^2 / 2)
o <- oracle_normal
normal <- pred_normal(o$mean, o$sd)
laplace <- pred_laplace(o$mean, o$sd)
gaussian_of <- function(gamma) kernel_gaussian(1 / sqrt(2 * gamma))

problem_of <- function(law, y, kernel, target) kernel_problem(read_laws(law, rlang::quo(y)), kernel, target)
h_of <- function(...) {
  p <- problem_of(...)
  cpp_pair_matrix(p$prediction, p$target, 1L)
}
# E k(Z, y) and E k(Z, Z')
single_of <- function(law, y, target) {
  p <- problem_of(law, rep(y, length(law)), kernel_gaussian(1), target)
  cpp_target_expectation(p$target, matrix(y), 1L)[, 1]
}
both_of <- function(law, target) {
  p <- problem_of(law, matrix(0, length(law), dimension_of(law)), kernel_gaussian(1), target)
  cpp_target_matrix(p$target, TRUE, 1L)
}

test_that("normal predictions, Gaussian target kernel", {
  h <- h_of(normal, o$y, w1, gauss)
  expect_equal(c(h[1, 1], h[1, 2], h[2, 4]), c(.218588813756, -.0227948201347, -.0859091370812), tolerance = 1e-9)
  naive <- oracle_real_h(
    o$y, function(i, j) exp(-sqrt((o$mean[i] - o$mean[j])^2 + (o$sd[i] - o$sd[j])^2)),
    function(y, z) exp(-(y - z)^2 / 2),
    function(i, y) exp(-(o$mean[i] - y)^2 / (2 * (1 + o$sd[i]^2))) / sqrt(1 + o$sd[i]^2),
    function(i, j) {
      v <- 1 + o$sd[i]^2 + o$sd[j]^2
      exp(-(o$mean[i] - o$mean[j])^2 / (2 * v)) / sqrt(v)
    }
  )
  expect_equal(h, naive, tolerance = 1e-12)
  of <- function(...) skce(normal, o$y, kernel = w1, target_kernel = gauss, ...)
  expect_equal(of(type = "biased")$root, .203116241523, tolerance = 1e-9)
  expect_equal(c(of()$.estimate, of(type = "biased")$.estimate, of(type = "block", block = 2)$.estimate,
                 of(type = "block_biased", block = 3)$.estimate),
               c(-.00966827702095, .0412562075706, -.00796288703606, .0926661776095), tolerance = 2e-10)
  b2 <- function(...) {
    skce(normal, o$y, kernel = kernel_wasserstein(1, 2), target_kernel = gaussian_of(2), ...)$.estimate
  }
  expect_equal(b2(), -.00485545389168, tolerance = 1e-9)
  expect_equal(b2(type = "biased"), .0832482614935, tolerance = 1e-9)
  expect_equal(b2(type = "block", block = 3), -.0318482782744, tolerance = 1e-9)
  expect_equal(single_of(pred_normal(1, 2), -.3, gaussian_of(.7)), .32537489162, tolerance = 1e-9)
  expect_equal(both_of(pred_normal(c(1, .2), c(2, .5)), gaussian_of(.7))[1, 2], .355641790398, tolerance = 1e-9)
})

test_that("normal predictions: tests", {
  of <- function(...) ce_test(normal, o$y, kernel = w1, target_kernel = gauss, ...)
  two <- of(test = test_block(block = 2))
  expect_equal(c(two$std.error, two$statistic, two$p.value),
               c(z = .00875649727362, -.909368984793, .818422306173), tolerance = 1e-9, ignore_attr = TRUE)
  expect_equal(of(test = test_block(block = 2, reference = "pairs"))$p.value, .825566319677, tolerance = 1e-9)
  expect_equal(of(test = test_block(block = 3))$p.value, .640350807237, tolerance = 1e-9)
  expect_equal(unname(of(test = test_bootstrap(times = 5))$statistic), -.0528581399957, tolerance = 1e-9)
})

test_that("normal predictions, Laplace target kernel", {
  # far tails and wide kernels neither overflow nor vanish
  expect_equal(single_of(pred_normal(0, 100), 0, kernel_laplace(.01)), 2 * .01 * dnorm(0, 0, 100), tolerance = 1e-6)
  expect_equal(single_of(pred_normal(0, 1e-9), 2, kernel_laplace(1)), exp(-2), tolerance = 1e-8)
  expect_equal(single_of(pred_normal(0, 0), 2, kernel_laplace(1)), exp(-2))
})

test_that("closed forms are the integrals", {
  matern <- list(function(t) exp(-t), function(t) (1 + t) * exp(-t), function(t) (1 + t + t^2 / 3) * exp(-t))
  integral <- function(f, mu) {
    integrate(f, -60, mu, rel.tol = 1e-11, subdivisions = 2000)$value +
      integrate(f, mu, 60, rel.tol = 1e-11, subdivisions = 2000)$value
  }
  for (i in 1:3) {
    nu <- c(.5, 1.5, 2.5)[i]
    k <- function(d) matern[[i]](sqrt(2 * nu) * abs(d) / .8)
    closed <- single_of(pred_normal(.4, 1.3), -.2, kernel_matern(nu, .8))
    expect_equal(closed, integral(function(z) dnorm(z, .4, 1.3) * k(z + .2), -.2), tolerance = 1e-8)
    both <- both_of(pred_normal(c(.4, -1), c(1.3, .5)), kernel_matern(nu, .8))[1, 2]
    expect_equal(both, integral(function(d) dnorm(d, 1.4, sqrt(1.3^2 + .25)) * k(d), 0), tolerance = 1e-8)
  }
  dlaplace <- function(z, m, b) exp(-abs(z - m) / b) / (2 * b)
  for (b in c(.3, .8, 2)) {
    g <- single_of(pred_laplace(.4, b), -.2, gaussian_of(.7))
    expect_equal(g, integral(function(z) dlaplace(z, .4, b) * exp(-.7 * (z + .2)^2), .4), tolerance = 1e-8)
    both <- both_of(pred_laplace(c(.4, -.3), c(b, b)), gaussian_of(.7))[1, 2]
    inner <- function(z) vapply(z, function(v) {
      integral(function(u) dlaplace(u, -.3, b) * exp(-.7 * (u - v)^2), -.3)
    }, 0)
    expect_equal(both, integral(function(z) dlaplace(z, .4, b) * inner(z), .4), tolerance = 1e-7)
  }
})

test_that("Laplace predictions, Laplace target kernel", {
  of <- function(gamma) kernel_laplace(1 / gamma)
  expect_equal(single_of(pred_laplace(0, 2), .8, of(.7)), .382540625626, tolerance = 1e-9)
  expect_equal(single_of(pred_laplace(0, 2), .8, of(.5)), .469224032225, tolerance = 1e-9)
  both <- function(b1, b2, gamma, z = .8) both_of(pred_laplace(c(0, z), c(b1, b2)), of(gamma))[1, 2]
  expect_equal(mapply(both, c(2, 2, .6, 2, .6), c(.6, 2, .6, .6, 2), c(.7, .5, .7, .5, .5)),
               c(.365075886806, .365324425089, .522056754108, .4513732495, .4513732495), tolerance = 2e-10)
  # where the printed formula cancels
  near <- vapply(c(1e-3, 1e-5, 1e-7, 0), function(e) both(1 + e, 1 - e, 1), 0)
  expect_equal(near, c(.339243330771, .339243367905, .339243367909, .339243367909), tolerance = 2e-11)
  expect_equal(both(1.1, .9, 1), .338871283769, tolerance = 1e-10)
  expect_equal(both(1.1, 1.05, 1, 3), .134909669754, tolerance = 1e-10)
  # both branches agree where they meet
  edge <- function(x) both(x, 1, 1)
  expect_equal(edge(sqrt(1.5) - 1e-7), edge(sqrt(1.5) + 1e-7), tolerance = 1e-6)
  h <- h_of(laplace, o$y, w1, kernel_laplace(1))
  expect_equal(c(h[1, 1], h[1, 2], h[2, 4]), c(.43655193555, -.0139987155015, -.0445338320054), tolerance = 1e-9)
  of <- function(...) skce(laplace, o$y, kernel = w1, target_kernel = kernel_laplace(1), ...)$.estimate
  expect_equal(c(of(), of(type = "biased"), of(type = "block", block = 2), of(type = "block", block = 3)),
               c(.00363852202834, .0824961694774, -.00584192820888, -.00870839854029), tolerance = 1e-9)
  expect_equal(c(of(type = "block_biased", block = 2), of(type = "block_biased", block = 3)),
               c(.235471239257, .153122536547), tolerance = 1e-9)
})

test_that("multivariate normal predictions", {
  mean <- rbind(c(0, 0), c(1, -.5), c(.3, .8), c(-.6, .2))
  cov <- array(c(1, .3, .3, .5, .6, -.2, -.2, .9, .4, 0, 0, 1.2, .8, .5, .5, .7), c(2, 2, 4))
  y <- rbind(c(.5, -.2), c(.7, .1), c(.1, 1.5), c(-1, -.4))
  p <- pred_mvnormal(mean, cov)
  h <- suppressWarnings(h_of(p, y, w1, gauss))
  expect_equal(c(h[1, 1], h[1, 2], h[2, 4]), c(.347942681567, .0588539267227, -.016084189732), tolerance = 1e-9)
  of <- function(...) suppressWarnings(skce(p, y, kernel = w1, target_kernel = gauss, ...))$.estimate
  expect_equal(c(of(), of(type = "block", block = 2)), c(-.0212785007128, .00581229604553), tolerance = 1e-9)
  # the distance of a prediction to itself is exactly 0 here
  expect_equal(of(type = "biased"), .0779945691572, tolerance = 2e-8)
  first <- p[c(1, 2)]
  expect_equal(both_of(first, gauss)[1, 2], .311144714479, tolerance = 1e-9)
  two <- problem_of(first, y[1:2, ], kernel_gaussian(1), gauss)
  expect_equal(cpp_target_expectation(two$target, y[2, , drop = FALSE], 1L)[1, 1], .518619330771, tolerance = 1e-9)
  # one dimension, isotropic, diagonal and full agree
  one <- skce(pred_mvnormal(matrix(o$mean), o$sd^2), matrix(o$y), kernel = w1, target_kernel = gauss)
  expect_equal(one$.estimate, -.00966827702095, tolerance = 1e-9)
  v <- c(.5, 1, 2, .3)
  kernels <- list(y, kernel = w1, target_kernel = gauss)
  isotropic <- do.call(skce, c(list(pred_mvnormal(mean, v)), kernels))$.estimate
  diagonal <- do.call(skce, c(list(pred_mvnormal(mean, cbind(v, v))), kernels))$.estimate
  full <- do.call(skce, c(list(pred_mvnormal(mean, outer(diag(2), v))), kernels))$.estimate
  expect_equal(isotropic, diagonal)
  expect_equal(isotropic, full, tolerance = 1e-12)
})

test_that("mixtures of normals", {
  p <- c(
    pred_mixture(pred_normal(0, 1), pred_normal(2, .5), weights = c(.3, .7)),
    pred_mixture(pred_normal(-1, .4), pred_normal(.5, 1), pred_normal(3, 2), weights = c(.5, .2, .3)),
    pred_mixture(pred_normal(.2, .9)), pred_mixture(pred_normal(1, .3), pred_normal(-1.5, .7), weights = c(.6, .4))
  )
  y <- c(1.2, .1, -.4, .8)
  d <- mixture_distances(p)$distance
  expect_equal(c(d[1, 2], d[1, 4], d[1, 3]), c(1.91963538205, 1.59843673631, 1.54757875405), tolerance = 1e-9)
  h <- h_of(p, y, w1, gauss)
  expect_equal(c(h[1, 1], h[1, 2], h[2, 4]), c(.301778216266, .0279450270651, .0519821868231), tolerance = 1e-9)
  expect_equal(h, t(h), tolerance = 1e-12)
  of <- function(...) skce(p, y, kernel = w1, target_kernel = gauss, ...)$.estimate
  expect_equal(c(of(), of(type = "biased"), of(type = "block", block = 2)),
               c(.00930397677736, .0883620633597, -.00317894525408), tolerance = 1e-9)
})

test_that("counts", {
  inner <- both_of(pred_poisson(c(2.5, 4)), kernel_white())[1, 2]
  expect_equal(inner, .136025095861, tolerance = 1e-10)
  expect_equal(inner, exp(-(sqrt(2.5) - 2)^2) * besselI(2 * sqrt(10), 0, TRUE), tolerance = 1e-10)
  y <- c(3, 0, 2)
  rate <- c(2.5, 1, 40)
  z <- 0:200
  pmf <- vapply(rate, function(a) dpois(z, a), numeric(201))
  for (m in list(diag(201), exp(-outer(z, z, `-`)^2 / 2))) {
    target <- if (identical(m, diag(201))) kernel_white() else gauss
    e <- diag(201)[y + 1, ] - t(pmf)
    k <- exp(-abs(outer(sqrt(rate), sqrt(rate), `-`)))
    expect_equal(skce(pred_poisson(rate), y, kernel = kernel_laplace(1), target_kernel = target)$.estimate,
                 oracle_unbiased(k * (e %*% m %*% t(e))), tolerance = 1e-10)
  }
  expect_equal(skce(pred_bernoulli(c(.2, .7)), c(0, 1), kernel = kernel_tv(1))$.estimate,
               skce(c(.2, .7), c(0, 1), kernel = kernel_tv(1))$.estimate)
  expect_error(skce(pred_poisson(rate), y + .5), class = "calibrisk_error_truth")
})

test_that("draws: an unbiased diagonal and the closed form in the limit", {
  draws <- withr::with_seed(1, matrix(rnorm(5 * 4), 5))
  y <- c(0, 1, -1, .5, 2)
  h <- h_of(pred_draws(draws), y, kernel_gaussian(1), gauss)
  k <- function(a, b) exp(-outer(a, b, `-`)^2 / 2)
  f <- t(apply(draws, 1, sort)) / 2
  naive <- oracle_real_h(y, function(i, j) exp(-sum((f[i, ] - f[j, ])^2) / 2), function(a, b) exp(-(a - b)^2 / 2),
    function(i, v) mean(k(draws[i, ], v)),
    function(i, j) {
      g <- k(draws[i, ], draws[j, ])
      if (i == j) (sum(g) - sum(diag(g))) / 12 else mean(g)
    })
  expect_equal(h, naive, tolerance = 1e-12)
  many <- withr::with_seed(2, matrix(rnorm(6 * 3000, o$mean, o$sd), 6))
  out <- skce(pred_draws(many), o$y, kernel = w1, target_kernel = gauss)
  expect_equal(out$.estimate, -.00966827702095, tolerance = .2)
  expect_match(out$target_computation, "^draws \\(3000\\), features to [0-9]e-1")
  # a target kernel without closed form says so
  simulated <- withr::with_seed(3, skce(laplace, o$y, kernel = w1, target_kernel = kernel_matern(1.5, 1), draws = 50))
  expect_equal(simulated$target_computation, "quantiles (50)")
  two <- array(withr::with_seed(1, rnorm(5 * 4 * 2)), c(5, 4, 2))
  both <- skce(pred_draws(two), cbind(y, y), kernel = kernel_mmd(1, gauss), target_kernel = gauss)
  expect_true(is.finite(both$.estimate))
})

test_that("linear and composed target kernels", {
  residuals <- o$y - o$mean
  k <- exp(-as.matrix(dist(cbind(o$mean, o$sd))))
  linear <- skce(normal, o$y, kernel = w1, target_kernel = kernel_linear())$.estimate
  expect_equal(linear, oracle_unbiased(k * outer(residuals, residuals)), tolerance = 1e-12)
  sum <- skce(normal, o$y, kernel = w1, target_kernel = 2 * (kernel_linear() + 3 * gauss))
  expect_equal(sum$.estimate, 2 * (linear + 3 * -.00966827702095), tolerance = 1e-9)
  expect_equal(sum$target_computation, "closed form")
  expect_error(skce(normal, o$y, target_kernel = kernel_white()), class = "calibrisk_error_kernel")
})

test_that("draws through mean embeddings are the direct means over draws", {
  draws <- withr::with_seed(1, matrix(rnorm(40 * 24, rnorm(40), 1), 40))
  plane <- withr::with_seed(2, array(rnorm(40 * 24 * 2), c(40, 24, 2)))
  y <- withr::with_seed(3, rnorm(40, 0, 2))
  embed <- function(spec) cpp_draws_embedding(spec$kernel, spec$draws, spec$y, 2L)
  matrices <- function(spec) {
    far <- rbind(spec$y[1:3, , drop = FALSE], 30)  # the last is far from every draw
    # other outcomes under the same embedding, one of them far away
    again <- spec$y
    again[2, ] <- 25
    list(cpp_target_matrix(spec, FALSE, 1L), cpp_target_matrix(spec, TRUE, 1L), cpp_target_expectation(spec, far, 1L),
         cpp_target_matrix(utils::modifyList(spec, list(y = again)), FALSE, 1L), draws_diagonal(spec, 40))
  }
  cases <- list(
    list(pred_draws(draws), y, gauss), list(pred_draws(plane), cbind(y, rev(y)), kernel_gaussian(8)),
    list(pred_draws(draws), y, kernel_gaussian(2) * kernel_gaussian(3))
  )
  for (case in cases) {
    spec <- problem_of(case[[1]], case[[2]], kernel_gaussian(1), case[[3]])$target
    expect_null(spec$embedding)  # a moment's work
    direct <- matrices(spec)
    spec$embedding <- embed(spec)
    expect_false(is.null(spec$embedding))
    expect_equal(matrices(spec), direct, tolerance = 1e-10)
  }
  many <- problem_of(pred_draws(draws[, rep(1:24, 2)]), y, w1, gauss)$target
  expect_lt(ncol(many$embedding$mean), 40)
  # a kernel that is not smooth has no small factor
  expect_null(problem_of(pred_draws(draws[, rep(1:24, 2)]), y, w1, kernel_laplace(0.1))$target$embedding)
})

test_that("expensive pairs: the same sums, and a stop that is heard", {
  law <- withr::with_seed(1, pred_draws(matrix(rnorm(70 * 130), 70)))
  y <- withr::with_seed(2, rnorm(70))
  p <- problem_of(law, y, w1, kernel_laplace(1))
  h <- matrix(0, 70, 70)
  for (j in 2:70) for (i in seq_len(j - 1)) {
    two <- list(kind = "draws", kernel = p$target$kernel, draws = p$target$draws[c(i, j), ],
                y = p$target$y[c(i, j), , drop = FALSE])
    h[i, j] <- cpp_target_matrix(two, FALSE, 1L)[1, 2]
  }
  h <- cpp_prediction_matrix(p$prediction, 1L) * (h + t(h))
  full <- cpp_pair_matrix(p$prediction, p$target, 2L)
  expect_equal(full[row(full) != col(full)], h[row(h) != col(h)], tolerance = 1e-12)
  diag(h) <- diag(full)
  sums <- cpp_pair_sums(p$prediction, p$target, 2L, NULL)
  expect_equal(sums$off_diagonal, rowSums(h) - diag(h), tolerance = 1e-12)
  expect_equal(sums$diagonal, diag(h), tolerance = 1e-12)
  expect_equal(sums$squares, sum(h^2) - sum(diag(h)^2), tolerance = 1e-12)
  blocks <- cpp_block_sums(p$prediction, p$target, 35L, 2L)
  expect_equal(blocks$biased, c(mean(h[1:35, 1:35]), mean(h[36:70, 36:70])), tolerance = 1e-12)

  long <- problem_of(pred_draws(matrix(sin(1:120000), 200)), numeric(200), w1, kernel_laplace(1))
  for (sums in list(function(stop) cpp_pair_sums(long$prediction, long$target, 1L, stop),
                    function(stop) cpp_target_matrix(long$target, TRUE, 1L, stop),
                    function(stop) cpp_block_sums(long$prediction, long$target, 100L, 1L, stop))) {
    expect_error(sums(function(fraction) stop("enough")), "enough")
  }
})

test_that("draws on the line under Laplace and Matern kernels are the means over all pairs", {
  n <- 150
  draws <- withr::with_seed(1, matrix(round(rnorm(n * 7, rnorm(n), 1), 1), n))  # with ties
  draws[3, ] <- draws[3, ] + 1e4
  y <- withr::with_seed(2, round(rnorm(n), 1))
  matern <- list(`0.5` = function(t) exp(-t), `1.5` = function(t) (1 + t) * exp(-t),
                 `2.5` = function(t) (1 + t + t^2 / 3) * exp(-t))
  cases <- list(list(kernel_laplace(.7), function(d) exp(-abs(d) / .7)))
  for (nu in c(.5, 1.5, 2.5)) {
    k <- local({
      at <- nu
      function(d) 2 * matern[[as.character(at)]](sqrt(2 * at) * abs(d) / .8)
    })
    cases <- c(cases, list(list(2 * kernel_matern(nu, .8), k)))
  }
  own <- rep(seq_len(n), 7)
  mean_by <- function(values, by) rowsum(values, by) / 7
  for (case in cases) {
    problem <- problem_of(pred_draws(draws), y, kernel_gaussian(1), case[[1]])
    k <- case[[2]]
    single <- mean_by(k(outer(as.vector(draws), y, `-`)), own)
    gram <- k(outer(as.vector(draws), as.vector(draws), `-`))
    both <- mean_by(t(mean_by(gram, own)), own)
    diag(both) <- (diag(both) * 49 - 7 * k(0)) / 42
    h <- k(outer(y, y, `-`)) - single - t(single) + both
    dimnames(both) <- dimnames(h) <- dimnames(single) <- NULL
    expect_equal(cpp_target_matrix(problem$target, TRUE, 2L), both, tolerance = 1e-12)
    expect_equal(cpp_target_matrix(problem$target, FALSE, 2L), h, tolerance = 1e-12)
    expect_equal(cpp_target_expectation(problem$target, matrix(y), 2L), single, tolerance = 1e-12)
  }
})

test_that("closed forms keep their digits far from the kernel's own scale", {
  # k is narrow beside the prediction: integrate over k
  matern <- list(`1.5` = function(t) (1 + t) * exp(-t), `2.5` = function(t) (1 + t + t^2 / 3) * exp(-t))
  for (nu in c(1.5, 2.5)) {
    for (sd in c(3, 30, 1e3, 1e5, 1e8)) {
      for (z in c(0, .7, -2) * sd) {
        side <- function(sign) {
          f <- function(t) dnorm(sign * t / sqrt(2 * nu), z, sd) * matern[[as.character(nu)]](t)
          integrate(f, 0, 80, rel.tol = 1e-12, subdivisions = 2000)$value / sqrt(2 * nu)
        }
        expect_equal(single_of(pred_normal(z, sd), 0, kernel_matern(nu, 1)), side(1) + side(-1), tolerance = 1e-9)
      }
    }
  }
  # two predictions of equal scale, narrow beside the kernel: integrate over their difference
  for (b in c(1, .1, 1e-2, 1e-4, 1e-6, 1e-9, 1e-12)) {
    for (z in c(0, .5, 3)) {
      f <- function(u) (1 + abs(u)) * exp(-abs(u)) / 4 * exp(-.7 * (z + b * u)^2)
      want <- integrate(f, -80, 0, rel.tol = 1e-12)$value + integrate(f, 0, 80, rel.tol = 1e-12)$value
      for (other in c(b, b * (1 + 1e-9))) {
        expect_equal(both_of(pred_laplace(c(0, z), c(b, other)), gaussian_of(.7))[1, 2], want, tolerance = 2e-9)
      }
    }
  }
})

test_that("draws cost the same whatever was drawn; what is approximated is said", {
  # in the plane 256 features do not reach rounding: the factor is taken as near as it comes
  draws <- withr::with_seed(1, array(rnorm(60 * 300 * 2, sd = 3), c(60, 300, 2)))
  y <- withr::with_seed(2, matrix(rnorm(120, sd = 3), 60))
  problem <- problem_of(pred_draws(draws), y, kernel_gaussian(2), kernel_gaussian(4))
  missed <- problem$target$embedding$missed
  expect_gt(missed, 1e-12)
  expect_lt(missed, 1e-6)
  expect_match(problem$target_computation, "^draws \\(300\\), features to [0-9]e-")
  direct <- list(kind = "draws", kernel = problem$target$kernel, draws = problem$target$draws[1:8, ], y = y[1:8, ])
  near <- cpp_target_matrix(problem$target, FALSE, 1L)[1:8, 1:8]
  expect_lt(max(abs(near - cpp_target_matrix(direct, FALSE, 1L))), 4 * missed)
  expect_match(skce(pred_draws(draws), y, kernel = kernel_gaussian(2),
                    target_kernel = kernel_gaussian(4))$target_computation, "features to")
  # without a small factor: fewer draws, evenly spaced
  wide <- matrix(seq_len(2 * 30), 2, 30)
  rough <- kernel_laplace(1) * kernel_laplace(1)
  expect_identical(affordable_draws(rough, wide, 1, 200), wide[, round(seq(1, 30, length.out = 10))])
  kept <- round(seq(1, 15, length.out = 10))
  expect_identical(affordable_draws(rough, wide, 2, 200), wide[, c(outer(1:2, (kept - 1) * 2, `+`))])
  expect_identical(affordable_draws(kernel_laplace(1), wide, 1, 200), wide)
  expect_identical(dim(affordable_draws(rough, wide[rep(1:2, 50), ], 1, 200)), c(100L, 8L))
  thin <- list(y = y, draws = matrix(0, 60, 16))
  expect_identical(draws_text(thin, matrix(0, 60, 80), "draws"), "draws (8 of 40)")
})
