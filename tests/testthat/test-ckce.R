exact <- function(x, y) expect_equal(x, y, tolerance = 1e-10)
value <- function(...) ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1, ...)$.estimate

test_that("ckce() has the published values at a given and at the median bandwidth", {
  exact(value(), 0.558838141756)
  default <- ckce(toy_probs(), toy_truth())
  exact(default$ridge, 0.638943104246)
  exact(default$bandwidth, 0.533853912602)
  exact(default$.estimate, 0.0395757780794)
  expect_identical(names(default), c(
    ".metric", ".estimator", ".estimate", "n", "ridge", "bandwidth", "kernel", "computation",
    "rank", "error_bound", "certified"
  ))
})

test_that("every exact computation agrees with the trace formula", {
  gram <- oracle_gram(toy_probs(), .5)
  d <- oracle_residuals(toy_probs(), toy_truth())
  ridges <- c(1e-3, .1, 1, 1e6)
  expected <- vapply(ridges, function(r) oracle_ckce(gram, d %*% t(d), r)$estimate, 0)
  for (computation in c("dual", "eigen")) {
    path <- ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = ridges,
                 computation = computation)
    expect_equal(path$.estimate, expected, tolerance = 1e-9)
    expect_identical(path$computation, rep(computation, 4))
  }
  exact(ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = 1e6)$.estimate * 1e12,
        0.0280871856777)
})

test_that("debiasing subtracts the diagonal or the null mean", {
  exact(value(debias = TRUE), -0.0495760235579)
  exact(value(debias = "null_mean"), 0.558838141756 - 0.651249816337)
  exact(value(debias = TRUE, computation = "eigen"), -0.0495760235579)
  default <- ckce(toy_probs(), toy_truth(), debias = "off_diagonal")
  exact(default$.estimate, -0.0403668915347)
  exact(ckce(toy_probs(), toy_truth(), debias = "null_mean")$.estimate,
        0.0395757780794 - 0.0856683916329)
  large <- ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = 1e6, debias = TRUE)
  oracle <- oracle_ckce(oracle_gram(toy_probs(), .5), tcrossprod(oracle_residuals(toy_probs(), toy_truth())), 1e6)
  expect_equal(large$.estimate, oracle$off_diagonal, tolerance = 1e-8)
})

test_that("jkce() has the published values and is ckce()'s large-ridge limit", {
  joint <- function(...) jkce(toy_probs(), toy_truth(), kernel = toy_kernel(), ...)$.estimate
  exact(joint(type = "biased"), 0.0280871967629)
  exact(joint(), -0.112487030551)
  exact(jkce(toy_probs(), toy_truth(), type = "biased")$.estimate, 0.0261238842022)
  exact(jkce(toy_probs(), toy_truth())$.estimate, -0.114843005624)
  expect_equal(ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = 1e9)$.estimate * 1e18,
               joint(type = "biased"), tolerance = 1e-8)
})

test_that("duplicated rows, scaled kernels and permutations change nothing they should not", {
  p <- toy_probs(); y <- toy_truth(); k <- toy_kernel()
  exact(ckce(rbind(p, p), c(y, y), kernel = k, ridge = .1)$.estimate, 0.558838141756)
  exact(3 * ckce(p, y, kernel = 3 * k, ridge = .3)$.estimate, 0.558838141756)
  exact(value(target_kernel = 2 * kernel_white()), 2 * 0.558838141756)
  rows <- c(4, 1, 6, 2, 5, 3); columns <- c(2, 3, 1)
  exact(ckce(p[rows, columns], match(y, columns)[rows], kernel = k, ridge = .1)$.estimate,
        0.558838141756)
})

test_that("the bounds between ckce, its relatives and the spectrum hold", {
  gram <- oracle_gram(toy_probs(), .5); n <- 6
  d <- oracle_residuals(toy_probs(), toy_truth())
  s <- eigen(gram, symmetric = TRUE)$values
  biased <- oracle_jkce(gram, tcrossprod(d))$biased
  for (ridge in c(.01, .1, 1)) {
    estimate <- ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = ridge)$.estimate
    expect_gte(estimate, 0)
    expect_lte(estimate, sum(d^2) / (4 * n * ridge))
    expect_gte(estimate, biased / (s[1] / n + ridge)^2)
    expect_lte(estimate, biased / ridge^2)
  }
  path <- ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = 10^seq(-4, 3, .5))
  expect_true(all(diff(path$.estimate) <= 0))
  expect_equal(1.25833333333, sum(d^2) / (4 * n * .1), tolerance = 1e-9)
})

test_that("the spectrum also gives the two-step ridge error and its fit", {
  problem <- class_problem(new_predictions(toy_probs(), toy_truth()), kernel_white())
  for (computation in c("dual", "eigen")) {
    numbers <- ckce_numbers(problem, toy_kernel(), .1, ckce_options(computation))$values
    exact(numbers$cce2, 0.0567962227027)
    exact(numbers$residual_mse, 0.334769482279)
  }
})

test_that("a prediction equal to its outcome costs nothing", {
  expect_identical(ckce(diag(3)[c(1, 2, 3, 1), ], c(1, 2, 3, 1))$.estimate, 0)
})

test_that("a constant model has the closed form", {
  p <- matrix(1 / 3, 6, 3)
  one <- ckce(p, c(1, 1, 1, 2, 3, 1), ridge = .1)
  exact(one$.estimate, .108166576528)
  expect_identical(one$bandwidth, 1)
  exact(jkce(p, c(1, 1, 1, 2, 3, 1), type = "biased")$.estimate, .222222222222)
  exact(jkce(p, c(1, 1, 1, 2, 3, 1))$.estimate, .0888888888889)
  expect_lt(ckce(p, c(1, 2, 3, 1, 2, 3), ridge = .1)$.estimate, 1e-15)
  exact(jkce(p, c(1, 2, 3, 1, 2, 3))$.estimate, -.177777777778)
  for (computation in c("dual", "eigen")) {
    exact(ckce(p, c(1, 1, 1, 2, 3, 1), ridge = .1, computation = computation)$.estimate, .108166576528)
  }
})

test_that("the constant model's unbiased joint error is minus the published share", {
  p <- matrix(.1, 1000, 10)
  exact(jkce(p, rep(1:10, 100))$.estimate, -1.1 * .9 / 999)
})

test_that("the toy example of two atoms has its analytic values, also at tiny ridges", {
  p <- rbind(matrix(c(.7, .3), 4, 2, byrow = TRUE), matrix(c(.4, .6), 6, 2, byrow = TRUE))
  y <- c(1, 1, 2, 2, 1, 1, 1, 2, 2, 2)
  toy <- function(ridge, ...) ckce(p, y, kernel = kernel_white(), ridge = ridge, ...)$.estimate
  exact(toy(.1), .065893877551)
  exact(toy(1e-3), .0995349946425)
  expect_equal(toy(1e-8), .0999999953333, tolerance = 1e-9)
  share <- c(.4, .6)
  gap <- c(.08, .02)
  exact(toy(.05), sum((share / (share + .05))^2 * gap))
  exact(jkce(p, y, kernel = kernel_white(), type = "biased")$.estimate, .02)
  exact(canonical_ece(p, y, 3)$estimate, .2 + .2 * .4)
  expect_warning(toy(1e-12), class = "calibrisk_warning_tiny_ridge")
})

test_that("several ridges come from one decomposition and agree with one at a time", {
  p <- withr::with_seed(1, draw_dirichlet(60, 4, .5))
  y <- withr::with_seed(2, draw_labels(p))
  ridges <- 10^seq(-3, 0, length.out = 8)
  path <- ckce(p, y, ridge = ridges, debias = TRUE)
  single <- vapply(ridges, function(r) ckce(p, y, ridge = r, debias = TRUE)$.estimate, 0)
  expect_equal(path$.estimate, single, tolerance = 1e-9)
  expect_identical(unique(path$computation), "eigen")
})

test_that("the leave-one-out error equals refitting", {
  d <- oracle_residuals(toy_probs(), toy_truth())
  exact(ckce_ridge(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1)$loo, 1.0463026306)
  exact(ckce_ridge(toy_probs(), toy_truth(), ridge = 6^(-1 / 4))$loo, .90585939723)
  for (computation in c("dual", "eigen")) {
    gap <- ckce_ridge(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = c(.01, .3),
                      target = "gap", computation = computation)
    expected <- vapply(c(.01, .3), function(r) oracle_loo(oracle_gram(toy_probs(), .5), d, r), 0)
    expect_equal(gap$loo, expected, tolerance = 1e-9)
  }
  chosen <- ckce(toy_probs(), toy_truth(), ridge = "loo")
  path <- ckce_ridge(toy_probs(), toy_truth())
  expect_identical(chosen$ridge, path$ridge[path$selected])
  expect_identical(chosen$loo, min(path$loo))
})

test_that("groups on their own, shared and with covariates have the published values", {
  a <- c(1, 1, 2, 2, 1, 2)
  own <- ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1, group = a)
  exact(own$.estimate, 1.10752650358)
  terms <- own$groups[[1]]
  exact(sum(terms$estimate), own$.estimate)
  exact(terms$ridge, c(.2, .2))
  for (g in 1:2) {
    alone <- ckce(toy_probs()[a == g, ], toy_truth()[a == g], kernel = toy_kernel(), ridge = .2)
    exact(terms$estimate[g], alone$.estimate)
  }
  exact(value(group = a, group_kernel = "shared"), 1.07454726)
  exact(value(group = a, group_kernel = kernel_gaussian(1)), .972092170729)
  exact(value(group = rep("all", 6)), 0.558838141756)
  expect_error(value(group = a[-1]), class = "calibrisk_error_length")
  expect_error(value(group = c(NA, a[-1])), class = "calibrisk_error_group")
  expect_error(value(group_kernel = "shared"), class = "calibrisk_error_argument")
})

test_that("joint, debiased and leave-one-out numbers of groups equal the block-diagonal kernel's", {
  a <- c(1, 1, 2, 2, 1, 2)
  gram <- oracle_gram(toy_probs(), .5) * outer(a, a, `==`)
  d <- oracle_residuals(toy_probs(), toy_truth())
  g <- tcrossprod(d)
  debiased <- ckce(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1, group = a, debias = TRUE)
  exact(debiased$.estimate, oracle_ckce(gram, g, .1)$off_diagonal)
  exact(sum(debiased$groups[[1]]$estimate), debiased$.estimate)
  for (type in c("biased", "unbiased")) {
    exact(jkce(toy_probs(), toy_truth(), kernel = toy_kernel(), group = a, type = type)$.estimate,
          oracle_jkce(gram, g)[[type]])
  }
  loo <- ckce_ridge(toy_probs(), toy_truth(), kernel = toy_kernel(), ridge = .1, group = a)
  outcome <- diag(3)[toy_truth(), ]
  exact(loo$loo, oracle_loo(gram, outcome, .1))
})

test_that("a data frame, grouped or not, gives the same numbers", {
  data <- data.frame(toy_probs())
  names(data) <- c(".pred_a", ".pred_b", ".pred_c")
  data$truth <- factor(letters[toy_truth()])
  data$g <- c("u", "u", "v", "v", "u", "v")
  exact(ckce(data, truth, kernel = toy_kernel(), ridge = .1)$.estimate, 0.558838141756)
  by <- ckce(data, truth, kernel = toy_kernel(), ridge = .2, .by = g)
  own <- ckce(data, truth, kernel = toy_kernel(), ridge = .1, group = g)
  expect_identical(by$g, c("u", "v"))
  exact(sum(by$.estimate), own$.estimate)
  data$truth[2] <- NA
  expect_identical(ckce(data, truth)$n, 5L)
  expect_identical(ckce(data, truth, na_rm = FALSE)$.estimate, NA_real_)
  expect_identical(ckce(data, truth, group = g)$groups[[1]]$n, c(2L, 3L))
})

test_that("a vector of probabilities is read as two columns", {
  p <- c(.2, .9, .6); y <- c(0, 1, 0)
  exact(ckce(p, y)$.estimate, ckce(cbind(1 - p, p), y + 1)$.estimate)
})

test_that("one observation and one group member have defined values", {
  one <- ckce(t(c(.6, .4)), 1)
  exact(one$.estimate, 1.52 / (1.52 + 1)^2 * .32)
  expect_identical(jkce(t(c(.6, .4)), 1)$.estimate, NA_real_)
  expect_true(is.finite(value(group = c(1, 1, 1, 1, 1, 2))))
})

test_that("wrong arguments are classed errors", {
  expect_error(value(debias = "no"), class = "calibrisk_error_argument")
  expect_error(ckce(toy_probs(), toy_truth(), ridge = 0), class = "calibrisk_error_argument")
  expect_error(ckce(toy_probs(), toy_truth(), ridge = "cv"), class = "calibrisk_error_argument")
  expect_error(ckce(toy_probs(), toy_truth(), kernel = "rbf"), class = "calibrisk_error_kernel")
  expect_error(ckce(toy_probs(), 1:3), class = "calibrisk_error_length")
  expect_error(value(computation = "rff", group = rep(1:2, 3), group_kernel = "shared"),
               class = "calibrisk_error_computation")
  expect_error(ckce(toy_probs(), toy_truth(), kernel = kernel_white(), computation = "rff"),
               class = "calibrisk_error_computation")
  expect_error(value(computation = "rff", frequencies = diag(2)), class = "calibrisk_error_argument")
})

test_that("jkce() is skce() with the same kernel, also within groups", {
  p <- withr::with_seed(1, draw_dirichlet(80, 4, .4))
  y <- withr::with_seed(2, draw_labels(p))
  g <- rep(1:2, 40)
  kernel <- kernel_linear() + kernel_gaussian("median")
  for (type in c("biased", "unbiased")) {
    expect_equal(jkce(p, y, type = type)$.estimate, skce(p, y, kernel = kernel, type = type)$.estimate, tolerance = 1e-9)
    expect_equal(jkce(p, y, type = type, group = g)$.estimate,
                 skce(p, y, kernel = kernel, type = type, group = g)$.estimate, tolerance = 1e-9)
  }
})

test_that("a factor that is far too coarse gives way to random features", {
  p <- withr::with_seed(1, draw_dirichlet(2100, 10, 2))
  y <- withr::with_seed(2, draw_labels(p))
  coarse <- withr::with_seed(3, ckce(p, y, max_rank = 20))
  expect_identical(coarse$computation, "rff")
  expect_identical(ckce(p, y, max_rank = 20, kernel = kernel_white())$computation, "low_rank")
  expect_identical(ckce(p, y, max_rank = 20, computation = "low_rank")$certified, FALSE)
})

test_that("the two-step ridge estimator is the same function in another norm", {
  fit <- ce_fit(toy_probs(), toy_truth(), notion = "canonical", method = method_ukkr(.1, toy_kernel()))
  expect_equal(mean(predict(fit, toy_probs(), type = "squared")), 0.0567962227027, tolerance = 1e-8)
  new <- rbind(c(.4, .35, .25), c(.1, .1, .8))
  # the published gap is outcome minus prediction
  expect_equal(unname(unlist(predict(fit, new, type = "gap")[1, ])),
               c(.0628455297045, -.0478849432843, -.0149605864201), tolerance = 1e-8)
  pairs <- predict(fit, new, type = "pairs")
  expect_equal(c(pairs[1, 1], pairs[1, 2]), c(.00646634754322, .0115100698221), tolerance = 1e-8)
  # CCE^2 <= (s_1 / n) CKCE
  s <- eigen(oracle_gram(toy_probs(), .5), symmetric = TRUE)$values[1]
  expect_lte(0.0567962227027, s / 6 * value())
})
