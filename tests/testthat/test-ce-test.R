probs <- oracle_classes$probs
truth <- oracle_classes$truth
tv <- kernel_tv(0.45)
rows6 <- as.matrix(expand.grid(1:6, 1:6, 1:6, 1:6, 1:6, 1:6))
all_counts <- apply(rows6, 1, tabulate, nbins = 6) * 1.0

test_that("block test", {
  # of few failures outcomes are redrawn instead of the normal distribution
  normal <- function(block, reference = "blocks") {
    out <- ce_test(probs, truth, kernel = tv, test = test_block(block = block, reference = reference))
    expect_match(out$method, "outcomes simulated from the predictions")
    expect_identical(unname(out$statistic), unname(out$estimate))
    z <- out$estimate / glance(out)$std.error
    c(z = unname(z), p = stats::pnorm(-unname(z)))
  }
  expect_equal(normal(2), c(z = -1.25393719883, p = .895067583559), tolerance = 1e-10)
  expect_equal(normal(2, "pairs")[["p"]], .874743210094, tolerance = 1e-10)
  expect_equal(normal(3)[["p"]], .538544500899, tolerance = 1e-10)
  expect_equal(normal(3, "pairs")[["p"]], .538560800835, tolerance = 1e-10)
  data <- withr::with_seed(2, random_classes(60, 3))
  many <- ce_test(data$p, data$y, kernel = tv, test = test_block(block = 2))
  expect_equal(many$p.value, stats::pnorm(-unname(many$statistic)))
})

test_that("exact enumeration of the bootstrap at n = 6", {
  laws <- calibrisk:::read_laws(probs, rlang::quo(truth))
  problem <- calibrisk:::kernel_problem(laws, tv)
  h <- calibrisk:::cpp_pair_matrix(problem$prediction, problem$target, 1L)
  expect_equal(h, oracle_class_h(probs, truth, oracle_tv(.45)), tolerance = 1e-12)
  expect_equal(min(eigen(h)$values), .0482895113356, tolerance = 1e-10)
  null <- calibrisk:::cpp_degenerate_bootstrap(problem$prediction, problem$target, all_counts, 2L, NULL)
  expect_equal(null[7777], oracle_bootstrap(h, rows6[7777, ]), tolerance = 1e-12)
  one <- matrix(as.numeric(tabulate(c(1, 1, 2, 4, 4, 6), 6)))
  expect_equal(calibrisk:::cpp_degenerate_bootstrap(problem$prediction, problem$target, one, 1L, NULL),
               -.0697010744621, tolerance = 1e-10)
  expect_equal(mean(null), -.0371519544501, tolerance = 1e-10)
  expect_equal(mean((null - mean(null))^2), .00573721517526, tolerance = 1e-10)
  value <- function(type) skce(probs, truth, kernel = tv, type = type)$.estimate
  statistic <- 6 / 5 * value("unbiased") - value("biased")
  expect_equal(statistic, -.105453140042, tolerance = 1e-10)
  expect_equal(calibrisk:::resampled_p(statistic, null, FALSE), .81674382716, tolerance = 1e-10)
})

test_that("published p-values of seeded data sets", {
  three <- seeded_classes()
  run <- function(...) withr::with_seed(1, ce_test(three$p, three$y, kernel = kernel_tv(1), ...))
  full <- run(test = test_bootstrap(20000, add_one = FALSE))
  expect_equal(unname(full$statistic), -.00729140399463, tolerance = 1e-10)
  expect_equal(full$p.value, .0047, tolerance = 5 * sqrt(.0047 / 20000) / .0047)
  two <- run(test = test_block(2))
  expect_equal(unname(two$estimate), .00959764972796, tolerance = 1e-10)
  expect_equal(two$std.error, .0615468547314, tolerance = 1e-10)
  expect_equal(two$p.value, .438039945157, tolerance = 1e-10)
  ten <- run(test = test_block(10))
  expect_equal(ten$p.value, .11698633058, tolerance = 1e-10)
})

test_that("distribution-free bounds", {
  bound <- function(estimate, n, type, sup = 1) calibrisk:::bound_p(estimate, n, 2 * sup, type)
  expect_equal(bound(.05, 500, "biased"), .0401767787189, tolerance = 1e-10)
  expect_equal(bound(.2166144, 500, "biased"), 1.65761330572e-9, tolerance = 1e-9)
  expect_equal(bound(.5, 1000, "biased", 8.64), 6.85156030972e-5, tolerance = 1e-9)
  expect_equal(bound(.2157095, 250, "unbiased"), .233614983779, tolerance = 1e-10)
  expect_equal(bound(.05, 1000, "unbiased"), .731615628947, tolerance = 1e-10)
  expect_equal(bound(-.05, 1000, "unbiased"), 1)
  expect_equal(ce_test(probs, truth, kernel = tv, test = "bound")$p.value, 1)
  # floor(7 / 3) * floor(3 / 2) pairs that are independent, not floor(7 / 2)
  seven <- ce_test(rbind(probs, probs[1, ]), c(truth, 1L), kernel = tv, test = test_bound(type = "block", block = 3))
  expect_equal(unname(seven$parameter), 2)
  expect_error(ce_test(pred_normal(0, 1:6), 1:6, test = "bound", kernel = kernel_linear()),
               class = "calibrisk_error_kernel")
})

test_that("bad input", {
  expect_error(ce_test(probs, truth, test = test_block(block = 4)), class = "calibrisk_error_argument")
  expect_error(ce_test(probs[1, , drop = FALSE], 1L, test = "bootstrap"), class = "calibrisk_error_rows")
  same <- probs[rep(1:2, 30), ]
  expect_warning(out <- ce_test(same, rep(1:2, 30), test = test_block(block = 2)),
                 class = "calibrisk_warning_degenerate")
  expect_true(is.na(out$p.value))
  expect_error(ce_test(probs, truth, test = "exact"), class = "calibrisk_error_argument")
  expect_error(ce_test(pred_normal(0, 1:6)), class = "calibrisk_error_truth")
  expect_error(ce_test(pred_normal(0, 1:3), 1:3, test = "cme"), class = "calibrisk_error_rows")
  expect_error(ce_test(pred_normal(0, 1:6), 1:6, test = test_cme(locations = list(p = pred_normal(0, 1), y = 1))),
               "elements are p and y", class = "calibrisk_error_argument")
  # a kernel's maker in place of the kernel
  expect_error(ce_test(probs, truth, kernel = kernel_tv), "four arguments", class = "calibrisk_error_kernel")
  expect_error(ce_test(pred_normal(0, 1:6), 1:6, kernel = kernel_wasserstein), "`kernel_wasserstein()`", fixed = TRUE,
               class = "calibrisk_error_kernel")
  expect_error(ce_test(pred_normal(0, 1:6), 1:6, target_kernel = kernel_gaussian), "It is a function",
               class = "calibrisk_error_kernel")
  negative <- function(p, y, q, z) -exp(-sum(abs(p - q))) * (y == z)
  expect_warning(skce(probs, truth, kernel = negative), class = "calibrisk_warning_not_psd")
})

test_that("the hypothesis names the statistic that is estimated", {
  p <- withr::with_seed(1, runif(40))
  for (test in list(test_cme(times = 19), "block")) {
    out <- withr::with_seed(2, ce_test(p, rep(0:1, 20), test = test))
    expect_identical(names(out$null.value), names(out$estimate))
  }
})

test_that("the bound of a kernel of embeddings is that of its target kernel", {
  law <- pred_normal(c(0, 1, 2), 1)
  bound <- function(kernel) ce_test(law, c(0, 2, 1), test = "bound", kernel = kernel)$details$bound
  expect_identical(bound(2 * kernel_embedding(3 * kernel_gaussian(1))), 12)
  expect_error(bound(kernel_embedding(kernel_linear())), "bounded", class = "calibrisk_error_kernel")
})

test_that("skce() and every test have the same kernels by default, and so the same estimate", {
  data <- withr::with_seed(1, {
    mu <- rnorm(60)
    list(mu = mu, y = rnorm(60, mu, 2), draws = matrix(rnorm(600, mu), 60), count = rpois(60, exp(mu / 2)))
  })
  cases <- list(
    normal = list(pred_normal(data$mu, .5), data$y), draws = list(pred_draws(data$draws), data$y),
    quantiles = list(pred_quantiles(outer(data$mu, c(-1, 0, 1), `+`), c(.1, .5, .9)), data$y),
    counts = list(pred_poisson(exp(data$mu / 2)), data$count),
    plane = list(pred_mvnormal(cbind(data$mu, -data$mu), 1), cbind(data$y, data$count)),
    classes = list(cbind(plogis(data$mu), plogis(-data$mu)), 1 + (data$y > 0))
  )
  for (case in cases) {
    p <- case[[1]]
    y <- case[[2]]
    one <- with_threads(1L, skce(p, y))
    for (test in list(test_conditional(2), test_bootstrap(2), test_block(), test_bound(), test_consistency(2))) {
      found <- suppressWarnings(with_threads(1L, ce_test(p, y, test = test)))
      expect_equal(format(found$target_kernel), one$target_kernel)
      expect_equal(format(found$kernel), one$kernel)
      estimate <- switch(test$name, block = with_threads(1L, skce(p, y, type = "block"))$.estimate,
                         bound = with_threads(1L, skce(p, y, type = test_bound()$type))$.estimate, one$.estimate)
      expect_equal(unname(found$estimate), estimate, tolerance = 1e-8)
    }
  }
  normal <- cases$normal
  # the unbiased mean over pairs needs a kernel that the outcomes did not choose
  expect_equal(skce(normal[[1]], 10 * normal[[2]])$target_kernel, skce(normal[[1]], normal[[2]])$target_kernel)
  given <- kernel_laplace("median")
  expect_equal(unname(ce_test(normal[[1]], normal[[2]], target_kernel = given,
                              test = test_conditional(times = 2))$estimate),
               skce(normal[[1]], normal[[2]], target_kernel = given)$.estimate, tolerance = 1e-8)
})
