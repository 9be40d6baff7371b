probs <- oracle_classes$probs
truth <- oracle_classes$truth
tv <- kernel_tv(0.45)

test_that("the three estimators have the values of the definition", {
  of <- function(..., other = NULL) {
    unlist(skce(probs, truth, kernel = tv, ...)[c(".estimate", other)], use.names = FALSE)
  }
  expect_equal(of(), -.0569176546599, tolerance = 1e-10)
  expect_equal(of(type = "biased", other = "root"), c(.0371519544501, .192748422691), tolerance = 1e-10)
  block <- function(block) of(type = "block", block = block, other = "std.error")
  expect_equal(block(2), c(-.130847252855, .104349127673), tolerance = 1e-10)
  expect_equal(block(3), c(-.00291591669495, .0301332093518), tolerance = 1e-10)
  each <- vapply(1:3, function(block) of(type = "block_biased", block = block), 0)
  own <- mean(diag(oracle_class_h(probs, truth, oracle_tv(.45))))
  expect_equal(each, c(own, .188326373573, .167222722203), tolerance = 1e-11)
})

test_that("published values of seeded data sets", {
  of <- function(d, ...) {
    vapply(c("unbiased", "biased"), function(type) skce(d$p, d$y, ..., type = type)$.estimate, 0, USE.NAMES = FALSE)
  }
  binary <- withr::with_seed(1234, list(p = runif(100), y = sample(c(TRUE, FALSE), 100, replace = TRUE)))
  expect_equal(of(binary, kernel = kernel_tv(1)), c(.0151831823692, .0215957092435), tolerance = 1e-10)
  three <- seeded_classes()
  expect_equal(of(three, kernel = kernel_laplace(1)), c(.0258534386385, .0334077967051), tolerance = 1e-10)
  expect_equal(of(three, kernel = kernel_tv(1)), c(.0259433956657, .033496854162), tolerance = 1e-10)
  normal <- withr::with_seed(1234, {
    par <- t(vapply(1:100, function(i) c(rnorm(1), runif(1)), numeric(2)))
    list(p = pred_normal(par[, 1], par[, 2]), y = rnorm(100))
  })
  expect_equal(of(normal, kernel = kernel_wasserstein(1), target_kernel = kernel_gaussian(1)),
               c(.0230116471251, .0292678951062), tolerance = 1e-10)
})

test_that("the median bandwidth is that over i < j", {
  out <- skce(probs, truth)
  expect_equal(out$.estimate, -.0569176546599, tolerance = 1e-10)
  expect_equal(out$kernel, "tv(0.45)")
  expect_equal(out$target_kernel, "white()")
})

test_that("other kernels on predictions and labels", {
  laplace <- kernel_laplace(1)
  expect_equal(skce(probs, truth, kernel = laplace)$.estimate, -.0717979020897, tolerance = 1e-10)
  expect_equal(skce(probs, truth, kernel = laplace, type = "biased")$.estimate, .0247517482586, tolerance = 1e-10)
  gaussian <- function(...) {
    skce(probs, truth, kernel = kernel_gaussian(.5), target_kernel = kernel_gaussian(1), ...)$.estimate
  }
  expect_equal(gaussian(), -.05127627686, tolerance = 1e-9)
  expect_equal(gaussian(type = "biased"), .0126707228227, tolerance = 1e-10)
  expect_equal(gaussian(type = "block", block = 2), -.151330969769, tolerance = 1e-10)
  two <- rbind(c(.1, .8, .1), c(.2, .5, .3))
  expect_equal(skce(two, 2:3, kernel = laplace)$.estimate, -0.10317943453412069, tolerance = 1e-12)
  sum <- 2 * (tv + kernel_gaussian(1))
  m <- oracle_class_h(probs, truth, function(p, q) 2 * (oracle_tv(.45)(p, q) + exp(-sum((p - q)^2) / 2)))
  expect_equal(skce(probs, truth, kernel = sum)$.estimate, oracle_unbiased(m), tolerance = 1e-12)
})

test_that("a probability is read as two columns", {
  p <- c(.9, .2, .55, .4)
  y <- c(1, 0, 0, 1)
  of <- function(...) skce(p, y, kernel = kernel_tv(1), ...)$.estimate
  expect_equal(c(of(), of(type = "biased"), of(type = "block", block = 2)),
               c(-.105687781383, .00979666396296, -.293965338296), tolerance = 1e-11)
  two <- skce(cbind(1 - p, p), y + 1, kernel = kernel_laplace(sqrt(2)))$.estimate
  expect_equal(of(), two, tolerance = 1e-12)
})

test_that("blocks are the unblocked estimates of consecutive rows", {
  data <- withr::with_seed(1, list(p = matrix(rgamma(900, 1), 300), y = sample(3, 300, TRUE)))
  p <- data$p / rowSums(data$p)
  of <- function(rows, ...) skce(p[rows, ], data$y[rows], kernel = kernel_tv(.5), ...)$.estimate
  expect_equal(of(1:300, type = "block", block = 300), of(1:300), tolerance = 1e-12)
  expect_equal(of(1:300, type = "block", block = 70),
               mean(vapply(0:3, function(b) of(70 * b + 1:70), 0)), tolerance = 1e-12)
  expect_equal(of(1:300, type = "block", block = 140),
               mean(vapply(0:1, function(b) of(140 * b + 1:140), 0)), tolerance = 1e-12)
  h <- oracle_class_h(p, data$y, oracle_tv(.5))
  out <- skce(p, data$y, kernel = kernel_tv(.5))
  expect_equal(out$.estimate, oracle_unbiased(h), tolerance = 1e-11)
  rows <- (rowSums(h) - diag(h)) / 299
  # at an error of x the variance is that of no error plus slope x
  noise <- 2 * (sum(h^2) - sum(diag(h)^2)) / (300 * 299)^2
  first <- max(4 * var(rows) / 300 - 2 * noise, 0)
  slope <- (first + 4 * noise^1.5 / (sum(diag(h)) / 300^2)) / (out$.estimate + 2 * sqrt(noise))
  expect_equal(out$std.error, sqrt(noise + slope * out$.estimate), tolerance = 1e-10)
  one <- with_threads(1, skce(p, data$y, kernel = kernel_tv(.5)))
  expect_identical(one$.estimate, with_threads(2, skce(p, data$y, kernel = kernel_tv(.5)))$.estimate)
})

# Medians over the full matrix of distances of the rows as stored, with its zero diagonal.
cifar_medians <- c(
  densenet121 = .997333387793, googlenet = .997054149121, mobilenet_v2 = .998622903146, resnet_orig = .999980155282,
  resnet18 = .998623632929, vgg11_bn = .999726861386, vgg19_bn = .999772086077
)

test_that("the CIFAR-10 networks have their published errors and p-values", {
  skip_if_no_shared("data", "cifar10", "widmann-resnet18.rds")
  read <- function(name) {
    out <- utils::read.csv(shared_path("data", "cifar10", name))
    out[match(names(cifar_medians), out$model), ]
  }
  errors <- read("widmann-reference-errors.csv")
  p_values <- read("widmann-reference-pvalues.csv")
  for (i in seq_along(cifar_medians)) {
    name <- names(cifar_medians)[i]
    data <- readRDS(shared_path("data", "cifar10", paste0("widmann-", name, ".rds")))
    laws <- suppressMessages(read_laws(data$probs, rlang::quo(data$label)))
    problem <- kernel_problem(laws, kernel_tv(cifar_medians[[i]]))
    # one pass over all pairs for both estimates
    plain <- new_design(problem$n)
    sums <- design_sums(problem$prediction, problem$target, "unbiased", plain)
    full <- lapply(c(unbiased = "unbiased", biased = "biased"), function(type) pair_estimate(sums, type, plain)$value)
    expect_equal(full$unbiased, errors$SKCEuq_median[i], tolerance = 1e-6, label = paste(name, "unbiased"))
    expect_equal(full$biased, errors$SKCEb_median[i], tolerance = 1e-6, label = paste(name, "biased"))
    linear <- skce_value(problem, "block", 2, NULL)$estimate$value
    expect_equal(linear, errors$SKCEul_median[i], tolerance = 1e-5, label = paste(name, "B = 2"))
    expect_equal(bound_p(full$biased, 10000, 2, "biased"), p_values$SKCEb_median_distribution_free[i], tolerance = 1e-6)
    expect_equal(bound_p(full$unbiased, 5000, 2, "unbiased"), p_values$SKCEuq_median_distribution_free[i],
                 tolerance = 1e-6)
    # the published tests of blocks divide by the number of blocks, s, instead of s - 1
    block <- run_test(test_block(2), problem, .95)
    expect_equal(stats::pnorm(-unname(block$statistic) * sqrt(5000 / 4999)), p_values$SKCEul_median_asymptotic[i],
                 tolerance = 1e-5)
  }
})

test_that("point masses and constant predictions have the definition's values", {
  mean <- c(0, 1, 3, 1)
  y <- c(.5, 1, 2, -1)
  l <- function(a, b) exp(-(a - b)^2 / 2)
  h <- function(k) outer(1:4, 1:4, Vectorize(function(i, j) {
    k(i, j) * (l(y[i], y[j]) - l(mean[i], y[j]) - l(y[i], mean[j]) + l(mean[i], mean[j]))
  }))
  of <- function(p, ...) skce(p, y, target_kernel = kernel_gaussian(1), ...)$.estimate
  wasserstein <- oracle_unbiased(h(function(i, j) exp(-abs(mean[i] - mean[j]))))
  expect_equal(of(pred_normal(mean, 0), kernel = kernel_wasserstein(1)), wasserstein, tolerance = 1e-12)
  expect_equal(of(pred_laplace(mean, 0), kernel = kernel_wasserstein(1)), wasserstein, tolerance = 1e-12)
  expect_error(of(pred_normal(mean, 0), kernel = kernel_hellinger(1)), class = "calibrisk_error_kernel")
  # all distances are 0: bandwidth 1, kernel 1
  mean <- rep(1, 4)
  expect_equal(of(pred_normal(mean, 0)), oracle_unbiased(h(function(i, j) 1)), tolerance = 1e-12)
})

test_that("the estimate is centred at 0 under calibration, and takes both signs", {
  estimates <- withr::with_seed(3, replicate(200, {
    p <- to_simplex(matrix(rgamma(40, 1), 20))
    y <- 1 + (runif(20) > p[, 1])
    c(skce(p, y, kernel = kernel_laplace(10))$.estimate,
      skce(p, y, kernel = kernel_laplace(10), type = "biased")$.estimate)
  }))
  expect_lt(abs(mean(estimates[1, ])), 4 * sd(estimates[1, ]) / sqrt(200))
  expect_true(any(estimates[1, ] < 0) && any(estimates[1, ] > 0))
  expect_true(all(estimates[2, ] > 0))
})

test_that("groups: the terms sum to the estimate", {
  g <- c("a", "b", "a", "b", "a", "b")
  h <- oracle_class_h(probs, truth, oracle_tv(.45)) * outer(g, g, `==`)
  out <- skce(probs, truth, kernel = tv, group = g)
  expect_equal(out$.estimate, oracle_unbiased(h), tolerance = 1e-12)
  expect_equal(sum(out$groups[[1]]$term), out$.estimate, tolerance = 1e-12)
  expect_equal(out$groups[[1]]$.estimate[1], oracle_unbiased(h[g == "a", g == "a"]), tolerance = 1e-12)
  biased <- skce(probs, truth, kernel = tv, group = g, type = "biased")
  expect_equal(biased$.estimate, mean(h), tolerance = 1e-12)
  expect_equal(sum(biased$groups[[1]]$term), mean(h), tolerance = 1e-12)
  expect_equal(out$groups[[1]]$group, c("a", "b"))
})

test_that("one pair of rows has no standard error", {
  two <- skce(probs[1:2, ], truth[1:2], kernel = tv)
  expect_true(is.finite(two$.estimate))
  expect_identical(unlist(two[c("std.error", "conf.low", "conf.high")], use.names = FALSE), rep(NA_real_, 3))
})

test_that("a kernel on predictions and classes together", {
  joint <- function(p, y, q, z) exp(-abs(p[2] - q[2])) * exp(-.7 * abs(y - z)) * (1 + .3 * (y - 1) * (z - 1))
  out <- skce(c(.7, .25), c(1, 0), kernel = joint)
  expect_equal(out$.estimate, -.0624953407479, tolerance = 1e-10)
  product <- function(p, y, q, z) oracle_tv(.45)(p, q) * (y == z)
  expect_equal(skce(probs, truth, kernel = product)$.estimate, -.0569176546599, tolerance = 1e-10)
  test <- withr::with_seed(1, ce_test(probs, truth, kernel = product, test = test_conditional(times = 9)))
  expect_gt(test$p.value, .1)
  expect_error(skce(probs, truth, kernel = joint, target_kernel = kernel_white()), class = "calibrisk_error_kernel")
  expect_error(ucme(probs, truth, kernel = joint), class = "calibrisk_error_kernel")
  expect_error(ce_test(probs, truth, kernel = joint, test = "bound"), class = "calibrisk_error_kernel")
})

test_that("bad input", {
  expect_error(skce(probs[1, , drop = FALSE], 1L, kernel = tv), class = "calibrisk_error_rows")
  expect_equal(skce(probs[1, , drop = FALSE], 1L, kernel = tv, type = "biased")$.estimate, .14, tolerance = 1e-10)
  expect_error(skce(probs, truth, kernel = tv, type = "block", block = 1), class = "calibrisk_error_argument")
  expect_error(skce(probs, truth, kernel = tv, type = "block", block = 7), class = "calibrisk_error_argument")
  expect_error(skce(probs, truth, kernel = kernel_wasserstein(1)), class = "calibrisk_error_kernel")
  expect_error(skce(probs, truth, group = 1:2), class = "calibrisk_error_length")
  constant <- matrix(1 / 3, 6, 3)
  expect_true(is.finite(skce(constant, truth)$.estimate))
  truth[2] <- NA
  expect_equal(skce(probs, truth, kernel = tv)$n, 5L)
  expect_true(is.na(skce(probs, truth, kernel = tv, na_rm = FALSE)$.estimate))
})

test_that("the values of Gruber and Buettner's fixtures B and C", {
  b <- fixture_b()
  value <- function(kernel) {
    c(skce(b$p, b$y, kernel = kernel)$.estimate, skce(b$p, b$y, kernel = kernel, type = "biased")$.estimate,
      skce(b$p, b$y, kernel = kernel, type = "block", block = 2)$.estimate)
  }
  expect_equal(value(kernel_laplace(1)), c(-.00918119644, .007227497969, .05797775794), tolerance = 1e-9)
  expect_equal(value(kernel_gaussian(1)), c(-.01076545984, .005722447741, .07950063667), tolerance = 1e-9)
  f <- fixture_regression()
  law <- pred_normal(f$mean, sqrt(f$variance))
  normal <- function(rows, ...) {
    skce(law[rows], f$y[rows], kernel = kernel_wasserstein(1), target_kernel = kernel_gaussian(1), ...)$.estimate
  }
  expect_equal(c(normal(1:10), normal(1:10, type = "biased")), c(-.007226621246, .05174881232), tolerance = 1e-9)
  expect_equal(normal(1:2), -.1085951212, tolerance = 1e-9)
})

test_that(".estimator says what the predictions are, type what the estimator is, n what came in", {
  p <- cbind(c(.2, .3, .4), c(.8, .7, .6))
  law <- pred_normal(1:3, 1)
  one <- list(skce(p, c(1, 2, 1)), ucme(p, c(1, 2, 1), locations = 1), ckce(p, c(1, 2, 1)), joint_error(p, c(1, 2, 1)))
  expect_identical(unique(vapply(one, `[[`, "", ".estimator")), "binary")
  expect_identical(as.list(skce(law, 1:3, type = "biased")[c(".estimator", "type")]),
                   list(.estimator = "normal", type = "biased"))
  y <- c(1, NA, 2)
  metrics <- list(skce, function(...) ucme(..., locations = 1), ckce, joint_error)
  for (metric in c(metrics, ece, rbs)) {
    missing <- metric(p, y, na_rm = FALSE)
    expect_identical(missing$.estimate, NA_real_)
    expect_identical(missing$n, 3L)
    expect_identical(metric(p, y)$n, 2L)
  }
  for (metric in metrics) {
    expect_identical(metric(law, y, na_rm = FALSE)$n, 3L)
    expect_identical(metric(law, y)$n, 2L)
  }
})

test_that("a median target bandwidth of classes is that of the classes, with the kernel of ckce() too", {
  p <- withr::with_seed(1, draw_dirichlet(12, 4, 1))
  y <- rep(c(1, 2, 4), 4)
  kernel <- kernel_gaussian(.5)
  value <- function(fn, target) fn(p, y, kernel = kernel, target_kernel = target)$.estimate
  expect_equal(value(skce, kernel_laplace("median")), value(skce, kernel_laplace(1.5)), tolerance = 1e-12)
  expect_equal(value(skce, kernel_laplace("median")), value(joint_error, kernel_laplace("median")), tolerance = 1e-12)
})

test_that("what has no value in double precision is an error, not NaN", {
  p <- rbind(c(.2, .8), c(.5, .5), c(.9, .1))
  for (value in list(NaN, "a", c(1, 2), NULL, Inf)) {
    expect_error(skce(p, c(1, 2, 2), kernel = function(p, y, q, z) value), "one finite number",
                 class = "calibrisk_error_kernel")
  }
  d <- data.frame(mu = 1:3, y = 1:3)
  expect_error(skce(d, y, pred_normal(mu, nowhere)), class = "calibrisk_error_distribution")
  expect_error(skce(d, y, pred_normal(mu, -1)), "at least 0", class = "calibrisk_error_distribution")
  law <- pred_normal(c(0, 1, 2), 1)
  expect_error(skce(law, c(1e200, 0, 0)), "at most", class = "calibrisk_error_truth")
  expect_error(ckce(pred_laplace(c(0, 1, 2), 1e60), 1:3), "scale", class = "calibrisk_error_distribution")
  expect_error(skce(law, not_there), class = "calibrisk_error_truth")
})

test_that("the interval of few blocks has quantiles of Student's t", {
  p <- withr::with_seed(1, draw_dirichlet(16, 3, 1))
  y <- c(rep(3, 8), rep(1:2, 4))
  fit <- skce(p, y, type = "block_biased", block = 4)
  expect_equal(fit$conf.high, fit$.estimate + qt(.975, 3) * fit$std.error, tolerance = 1e-12)
  # the lower end is that of the unbiased estimates, whose variance under calibration is known
  unbiased <- skce(p, y, type = "block", block = 4)
  expect_identical(fit$conf.low, unbiased$conf.low)
  expect_lt(fit$conf.low, fit$.estimate - qt(.975, 3) * fit$std.error)
})

test_that("the bound of a factor that was cut short covers the exact value", {
  covered <- vapply(1:20, function(seed) {
    p <- withr::with_seed(seed, to_simplex(matrix(rgamma(180, 0.7), 60)))
    y <- withr::with_seed(seed + 100, sample(3L, 60, replace = TRUE))
    data <- read_laws(p, rlang::quo(y))
    problem <- kernel_problem(data, if (seed %% 2 == 0) kernel_tv("median") else kernel_gaussian(0.2))
    type <- if (seed %% 3 == 0) "biased" else "unbiased"
    design <- new_design(60)
    exact <- pair_estimate(design_sums(problem$prediction, problem$target, type, design), type, design)$value
    cut <- factored_sums(problem, 1e-9, type, design, most = 8L)
    c(cut$rank, abs(pair_estimate(cut, type, design)$value - exact), cut$error_bound)
  }, numeric(3))
  expect_true(all(covered[1, ] == 8))
  expect_true(all(covered[2, ] > 0))
  expect_true(all(covered[2, ] <= covered[3, ]))
})

test_that("without many rows, and for predictive distributions, `auto` sums all pairs; it takes a factor of more", {
  p <- withr::with_seed(1, draw_dirichlet(5001, 3, 1))
  y <- withr::with_seed(2, draw_labels(p))
  few <- function(...) skce(p[1:50, ], y[1:50], ...)
  expect_identical(few(computation = "auto"), few())
  law <- pred_normal(p[1:50, 1], 1)
  expect_identical(skce(law, p[1:50, 2], computation = "auto"), skce(law, p[1:50, 2]))
  many <- skce(p, y, kernel = "ckce", computation = "auto")
  expect_identical(many, skce(p, y, kernel = "ckce", computation = "low_rank"))
  expect_identical(names(many)[!names(many) %in% names(few())], c("computation", "rank"))
  expect_equal(many$.estimate, skce(p, y, kernel = "ckce")$.estimate, tolerance = 1e-3)
  # what needs all pairs has them
  expect_identical(skce(p, y, type = "block", block = 2, computation = "auto"), skce(p, y, type = "block", block = 2))
})

test_that("the kernel of ckce() can be written out, for predictive distributions too", {
  y <- withr::with_seed(1, rnorm(40))
  law <- pred_normal(rev(y), 1)
  written <- skce(law, y, kernel = kernel_embedding() + kernel_wasserstein("median", power = 2))
  named <- skce(law, y, kernel = "ckce")
  expect_equal(named$.estimate, written$.estimate, tolerance = 1e-12)
  expect_identical(named$kernel, written$kernel)
  expect_error(skce(law, y, kernel = "ckc"), class = "calibrisk_error_kernel")
})

test_that("a kernel on covariates multiplies the kernel of skce(), and leaves no terms of groups", {
  p <- withr::with_seed(1, draw_dirichlet(30, 3, 1))
  y <- withr::with_seed(2, draw_labels(p))
  age <- seq(0, 1, length.out = 30)
  k <- 1 + exp(-outer(age, age, `-`)^2 / (2 * 0.3^2))
  d <- oracle_residuals(p, y)
  h <- oracle_gram(p, .5) * k * tcrossprod(d)
  kernel <- kernel_linear() + kernel_gaussian(.5)
  found <- skce(p, y, kernel = kernel, group = age, group_kernel = kernel_gaussian(.3))
  expect_equal(found$.estimate, oracle_unbiased(h), tolerance = 1e-12)
  expect_false("groups" %in% names(found))
  expect_error(skce(p, y, group_kernel = "shared"), "needs `group`", class = "calibrisk_error_argument")
})
