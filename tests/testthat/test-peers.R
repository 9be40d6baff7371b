# Numbers in the tests, examples and documentation of other packages, computed by this one. Inputs and expected numbers
# are theirs (long inputs: peers-data.csv). Where a definition differs, ours and theirs are rows of vignettes/peers.csv,
# which the vignette "Coming from other packages" prints; differs() compares both.

peer_data <- local({
  table <- utils::read.csv(test_path("peers-data.csv"))
  stats::setNames(lapply(table$values, function(v) scan(text = v, quiet = TRUE)), table$name)
})
peer_table <- test_path("..", "..", "vignettes", "peers.csv")
peer_table <- if (file.exists(peer_table)) utils::read.csv(peer_table) else NULL
differs <- function(key, ours, theirs = NULL, tolerance = 1e-6) {
  if (is.null(peer_table)) return(invisible())
  numbers <- function(column) scan(text = peer_table[[column]][peer_table$key == key], quiet = TRUE)
  expect_equal(unname(ours), numbers("here"), tolerance = tolerance, label = key)
  if (!is.null(theirs)) expect_equal(unname(theirs), numbers("there"), tolerance = tolerance, label = key)
}
refused <- function(...) expect_error(..., class = "calibrisk_error")
error_of <- function(...) ece(...)$.estimate
score_of <- function(...) ce_score(...)$.estimate
terms_of <- function(p, y, terms, ..., column = "estimate") {
  rows <- suppressMessages(suppressWarnings(tidy(ce_validate(p, y, times = 20, ...))))
  rows[[column]][match(terms, rows$term)]
}

test_that("uncertainty-calibration: binned errors of given, discrete and equal-mass bins", {
  preset <- "uncertainty-calibration"
  discrete <- function(x, y, ...) error_of(x, y, type = "discrete", ...)
  expect_equal(c(discrete(0.3, 1), discrete(0.3, 0), discrete(0.3, 1, p = 2)), c(0.7, 0.3, 0.7))
  expect_equal(c(discrete(c(0.3, 0.6), c(1, 0)), discrete(c(0.3, 0.6, 0.6), c(1, 0, 1))), c(0.65, 0.3))
  expect_equal(discrete(c(0.3, 0.6), c(1, 0), p = 2), 0.6519202405)
  p <- c(0.5, 0.5, 0.5, 0.6, 0.5, 0.6, 0.6, 0.6, 0.6)
  y <- c(0, 1, 0, 1, 0, 1, 1, 1, 0)
  three <- rbind(c(0.6, 0.3, 0.1), c(0.1, 0.8, 0.1), c(0.1, 0, 0.9))[rep(1:3, c(6, 4, 4)), ]
  label <- c(1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3)
  sums <- rbind(c(0.8, 0.1, 0.1), c(0.6, 0.2, 0.2), c(0, 0.9, 0.1), c(0, 1, 0), c(0.3, 0.3, 0.4), c(0.2, 0, 0.85))
  top <- apply(sums, 1, max)
  right <- as.numeric(max.col(sums, "first") == c(1, 1, 2, 2, 1, 3))
  for (k in 1:3) {
    two <- (4 / 9 * 0.25^k + 5 / 9 * 0.2^k)^(1 / k)
    expect_equal(discrete(p, y, p = k), two)
    for (notion in c("class_wise", "top_label")) {
      expect_equal(discrete(cbind(1 - p, p), y + 1, p = k, notion = notion, preset = preset), two)
    }
    cells <- 4 * 0.1^k + 6 * (5 / 6 - 0.6)^k + 8 * 0.1^k + 4 * 0.05^k + 6 * (0.3 - 1 / 6)^k
    expect_equal(discrete(three, label, p = k, notion = "class_wise", preset = preset), (cells / 42)^(1 / k))
    expect_equal(discrete(three, label, p = k, notion = "class_wise"), (cells / 42)^(1 / k))
    expect_equal(discrete(three, label, p = k, notion = "top_label"),
                 ((6 * (5 / 6 - 0.6)^k + 4 * 0.05^k + 4 * 0.1^k) / 14)^(1 / k))
    expect_equal(error_of(top, right, type = "mass", n_bins = 2, p = k),
                 (0.5 * (2 / 3 - 0.6)^k + 0.5 * (1 - 2.75 / 3)^k)^(1 / k))
  }
  debiased <- function(...) discrete(..., p = 2, debias = TRUE)
  expect_lt(debiased(p, y), sqrt(4 / 9 * 0.25^2 + 5 / 9 * 0.2^2))
  expect_lt(debiased(three, label, notion = "class_wise", preset = preset), 0.1331)
  refused(discrete(p, y, p = 1, debias = TRUE))
  refused(error_of(sums, c(1, 1, 2, 2, 1, 3), n_bins = 3)) # a row sums to 1.05
  expect_equal(error_of(top, right, n_bins = 3), 4 / 6 * (1 - 3.55 / 4))
  expect_equal(error_of(c(0.6, 0.7, 0.8, 0.9), c(0, 0, 1, 1), n_bins = 2), 0.25)
  mass <- list(
    list(0.1, 1, 1, 0.9), list(0.1, 0, 1, 0.1), list(c(0.1, 0.7), c(0, 1), 1, 0.1), list(c(0.7, 0.1), c(1, 0), 1, 0.1),
    list(c(0.1, 0.7, 0.4), c(0, 0, 0), 1, 0.4), list(c(0.1, 0.9), c(0, 1), 1, 0), list(c(0.1, 0.7), c(0, 1), 2, 0.2),
    list(c(0.1, 0.1, 0.7), c(0, 1, 1), 2, 0.8 / 3 + 0.1), list(c(0.1, 0.1, 0.1, 0.1, 0.7), c(0, 1, 0, 0, 1), 2, 0.18),
    list(c(0.1, 0.7, 0.5, 0.9), c(0, 1, 0, 1), 2, 0.25), list(c(0.1, 0.7, 0.5, 0.9), c(0, 1, 0, 1), 4, 0.25),
    list(c(0.6, 0.7, 0.8, 0.9), c(0, 0, 1, 1), 2, 0.4), list(c(0.1, 0.7, 0.5, 0.9), c(0, 1, 1, 1), 2, 0.2),
    list(c(0.1, 0.7, 0.5, 0.9), c(0, 1, 1, 1), 4, 0.25)
  )
  for (case in mass) {
    expect_equal(error_of(case[[1]], case[[2]], n_bins = case[[3]], type = "mass", preset = preset), case[[4]])
    expect_equal(error_of(case[[1]], case[[2]], n_bins = case[[3]], type = "mass"), case[[4]])
  }
  expect_equal(error_of(rbind(c(0.9, 0.1), c(0.8, 0.2)), c(1, 1), notion = "top_label", preset = preset), 0.15)
  for (y in 0:1) expect_equal(error_of(c(0.9, 0.1, 0.3), rep(y, 3), n_bins = 1), c(1.3, 1.7)[y + 1] / 3)
})

test_that("torchmetrics: calibration errors of its examples, by its bins and by ours", {
  p <- c(0.25, 0.25, 0.55, 0.75, 0.75)
  y <- c(0, 0, 1, 1, 1)
  probs <- rbind(c(0.25, 0.2, 0.55), c(0.55, 0.05, 0.4), c(0.1, 0.3, 0.6), c(0.9, 0.05, 0.05))
  label <- c(1, 2, 3, 1)
  norms <- c(1, 2, Inf)
  for (preset in list(NULL, "torchmetrics")) {
    of <- function(x, y, n) vapply(norms, function(k) error_of(x, y, n_bins = n, p = k, preset = preset), 0)
    expect_equal(of(p, y, 2), c(0.29, 0.2918, 0.3167), tolerance = 2e-4)
    expect_equal(of(probs, label, 3), c(0.2, 0.2082, 0.2333), tolerance = 2e-4)
  }
})

test_that("MAPIE: binned errors, Kolmogorov-Smirnov, Kuiper and Spiegelhalter", {
  with(peer_data, {
    five <- matrix(mapie_m, ncol = 5, byrow = TRUE)
    top <- apply(five, 1, max)
    predicted <- max.col(five, "first") - 1
    # their 50 bins have 50 edges
    expect_equal(error_of(mapie_s, mapie_y, n_bins = 49), 0.4471, tolerance = 1e-4)
    expect_equal(error_of(top, mapie_y, n_bins = 49), 0.5363, tolerance = 1e-4)
    by_class <- vapply(sort(unique(predicted)), function(k) {
      error_of(top[predicted == k], as.numeric(mapie_y == k)[predicted == k], n_bins = 49)
    }, 0)
    expect_equal(mean(by_class), 0.6997, tolerance = 1e-4)
    expect_equal(ks_error(m1_s, m1_y)$sigma, 5.607741, tolerance = 1e-6)
    expect_equal(spiegelhalter(m1_s, m1_y)$.estimate, 13.906833, tolerance = 1e-6)
    expect_equal(ks_error(m2_s, m2_y)$p.value, 0.2148, tolerance = 1e-3)
    expect_lt(ks_error(m1_s, m1_y)$p.value, 1e-6)
    without_start <- function(p, y) diff(range(cumsum((y - p)[order(p)]))) / sqrt(sum(p * (1 - p)))
    in_sigma <- function(p, y) with(ks_error(p, y), kuiper * sigma / .estimate)
    differs("kuiper", in_sigma(m1_s, m1_y), without_start(m1_s, m1_y))
    p <- c(0.1, 0.9, 0.21, 0.9, 0.5)
    y <- c(0, 1, 0, 1, 0)
    expect_equal(ks_error(p, y)$sigma, 0.978, tolerance = 1e-3)
    differs("kuiper-example", in_sigma(p, y), without_start(p, y), 1e-3)
    expect_equal(spiegelhalter(p, y)$.estimate, -0.757, tolerance = 1e-3)
    one_sided <- function(p, y) stats::pnorm(spiegelhalter(p, y)$.estimate, lower.tail = FALSE)
    differs("spiegelhalter", spiegelhalter(m2_s, m2_y)$p.value, one_sided(m2_s, m2_y), 1e-5)
    p <- c(0.8, 0.3, 0.5, 0.5, 0.7, 0.1)
    y <- c(1, 0, 1, 0, 1, 0)
    differs("spiegelhalter-example", spiegelhalter(p, y)$p.value, one_sided(p, y), 5e-4)
    differs("ks-ties", ks_error(p, y)$p.value, tolerance = 1e-4)
    withr::local_seed(1)
    simulated <- ce_test(m2_s, m2_y, test = test_cumulative("kuiper", times = 4000))$p.value
    differs("kuiper-p", simulated, tolerance = 0.1)
  })
})

test_that("CalibrationErrors.jl: ECE, SKCE and UCME of classes", {
  for (set in list(list(rbind(c(0, 1), c(1, 0)), c(2, 1)), list(rbind(c(0, 1), 0.5, 0.5, c(1, 0)), c(2, 2, 1, 1)))) {
    expect_equal(error_of(set[[1]], set[[2]], n_bins = 10, notion = "canonical"), 0)
    expect_equal(error_of(set[[1]][, 1], as.numeric(set[[2]] == 1), n_bins = 10), 0)
  }
  of <- function(x, y, type = "unbiased", bandwidth = 1, ...) {
    skce(x, y, type = type, kernel = kernel_gaussian(bandwidth), target_kernel = kernel_white(), ...)$.estimate
  }
  e <- rbind(c(1, 0), c(0, 1))
  labels <- list(c(1, 2), c(1, 1), c(2, 1), c(2, 2))
  unbiased <- c(0, 0, -2 * exp(-1), 0)
  biased <- c(0, 0.5, 1 - exp(-1), 0.5)
  embedding <- c(0, (exp(-2) + exp(-0.5) + 1) / 12, (1 - exp(-1))^2 / 6, (exp(-2) + exp(-0.5) + 1) / 12)
  ucme_of <- function(...) ucme(..., kernel = kernel_gaussian(1), target_kernel = kernel_white())$.estimate
  for (i in 1:4) {
    y <- labels[[i]]
    twenty <- of(e[rep(1:2, 10), ], rep(y, 10), "block", block = 2)
    # the bandwidth is that of the vector (p, 1 - p)
    expect_equal(c(of(e, y), of(e, y, "block", block = 2), twenty, of(c(1, 0), 2 - y)), rep(unbiased[i], 4))
    expect_equal(c(of(e, y, "biased"), of(c(1, 0), 2 - y, "biased")), rep(biased[i], 2))
    expect_equal(ucme_of(e, y, locations = list(x = rbind(e, 0.5)[c(1, 3, 2), ], truth = c(1, 1, 2))), embedding[i])
    expect_equal(ucme_of(c(1, 0), 2 - y, locations = list(x = c(1, 0.5, 0), truth = c(1, 1, 0))), embedding[i])
  }
  differs("skce-bandwidth", of(c(1, 0), c(0, 1), bandwidth = sqrt(0.5)), of(c(1, 0), c(0, 1), bandwidth = 1), 1e-6)
  x <- rbind(c(0.4, 0.1, 0.5), c(0.5, 0.3, 0.2), c(0.3, 0.7, 0), c(0.1, 0, 0.9), c(0.8, 0.1, 0.1))
  y <- c(1, 2, 3, 1, 2)
  bins <- list(as.list(1:5), list(c(3, 5), c(1, 2, 4)), list(1:5))
  for (size in 1:3) {
    each <- vapply(bins[[size]], function(i) {
      length(i) / 5 * sum(abs(colMeans(x[i, , drop = FALSE]) - colMeans(diag(3)[y[i], , drop = FALSE])))
    }, 0)
    binned <- function(...) error_of(x, y, type = "median_variance", min_size = size, notion = "canonical", ...)
    expect_equal(binned(), sum(each))
    # the package's default distance
    expect_equal(binned(distance = "tv"), sum(each) / 2)
  }
})

test_that("CalibrationErrors.jl: SKCE, UCME and distances of distributions", {
  of <- function(x, y, bandwidth = 1, ...) {
    skce(x, y, kernel = kernel_wasserstein(1), target_kernel = kernel_gaussian(bandwidth), ...)$.estimate
  }
  same <- pred_normal(c(0, 0), 1)
  other <- pred_normal(c(0, 1), c(1, 2))
  e <- exp
  expect_equal(of(same, c(0, 0)), 1 - sqrt(2) + 1 / sqrt(3))
  expect_equal(of(other, c(1, 0)), e(-sqrt(2)) * (e(-0.5) - 1 / sqrt(2) - 1 / sqrt(5) + e(-1 / 12) / sqrt(6)))
  expect_equal(of(other, c(0, 1)),
               e(-sqrt(2)) * (e(-0.5) - e(-0.25) / sqrt(2) - e(-0.1) / sqrt(5) + e(-1 / 12) / sqrt(6)))
  expect_equal(of(same, c(0, 0), 2), 1 - 2 / sqrt(1.25) + 1 / sqrt(1.5))
  expect_equal(of(other, c(1, 0), 2), e(-sqrt(2)) * (e(-1 / 8) - 1 / sqrt(1.25) - 1 / sqrt(2) + e(-1 / 18) / 1.5))
  expect_equal(of(other, c(0, 1), 2),
               e(-sqrt(2)) * (e(-1 / 8) - e(-0.1) / sqrt(1.25) - e(-1 / 16) / sqrt(2) + e(-1 / 18) / 1.5))
  one <- e(-1 / sqrt(2)) * (e(-0.5) - e(-0.25) / sqrt(2)) + e(-sqrt(2.5)) * (e(-1 / 8) - 1 / sqrt(5))
  two <- e(-sqrt(5) / 2) * (e(-1 / 8) - e(-1 / 16) / sqrt(2)) + e(-sqrt(17) / 2) * (e(-0.5) - e(-9 / 40) / sqrt(5))
  embedding <- function(...) {
    ucme(other, c(0, 0.5), locations = list(...), kernel = kernel_wasserstein(1),
         target_kernel = kernel_gaussian(1))$.estimate
  }
  expect_equal(embedding(x = pred_normal(0.5, 0.5), truth = 1), one^2 / 4)
  expect_equal(embedding(x = pred_normal(c(0.5, -1), c(0.5, 1.5)), truth = c(1, -0.5)), (one^2 + two^2) / 8)

  distance <- function(x) -log(kernel_matrix(kernel_wasserstein(1), x)[1, 2])
  expect_equal(distance(pred_normal(c(0.4, 1.3), c(0.5, 0.8))), sqrt(0.9))
  expect_equal(distance(pred_laplace(c(0.4, 1.3), c(0.5, 0.8))), sqrt(0.99))
  expect_equal(distance(pred_mvnormal(matrix(c(0.4, 1.3), 2, 10), matrix(c(0.25, 0.64), 2, 10))), 3)
  expect_equal(distance(pred_mixture(pred_normal(c(0.4, 1.3), c(0.5, 0.8)), weights = 1)), sqrt(0.9))
  parts <- list(pred_normal(c(0.4, -3), c(0.5, 2)), pred_normal(c(7, 1.3), c(0.1, 0.8)))
  expect_equal(distance(pred_mixture(parts[[1]], parts[[2]], weights = rbind(c(1, 0), c(0, 1)))), sqrt(0.9))

})

test_that("scikit-learn: curves, losses and recalibration", {
  curve <- function(p, y, ...) {
    cells <- tidy(ce_curve(p, y, type = curve_binned(...)))
    c(cells$observed, cells$confidence)
  }
  expect_equal(curve(c(0, 0.1, 0.2, 0.8, 0.9, 1), c(0, 0, 0, 1, 1, 1), n_bins = 2), c(0, 1, 0.1, 0.9))
  expect_equal(curve(c(0, 0.1, 0.2, 0.5, 0.9, 1), c(0, 0, 0, 0, 1, 1), n_bins = 2, bins = "mass"),
               c(0, 2 / 3, 0.1, 0.8))
  refused(curve(-0.1, 1, n_bins = 2))
  y <- c(0, 1, 1, 0, 1, 1)
  p <- c(0.1, 0.8, 0.9, 0.3, 1, 0.95)
  expect_equal(c(score_of(p, y), score_of(y, y), score_of(0.4, 0), score_of(0.4, 1)),
               c(sum((y - p)^2) / 6, 0, 0.16, 0.36))
  refused(score_of(p + 1, y))
  two <- cbind(c(0.5, 0.1, 0.01, 0.9, 0.75, 0.001), c(0.5, 0.9, 0.99, 0.1, 0.25, 0.999))
  expect_equal(score_of(two, c(1, 1, 1, 2, 2, 2), score = "log"), -mean(log(c(0.5, 0.1, 0.01, 0.1, 0.25, 0.999))))
  three <- rbind(c(0.2, 0.7, 0.1), c(0.6, 0.2, 0.2), c(0.6, 0.1, 0.3))
  expect_equal(score_of(three, c(2, 1, 3), score = "log"), 0.6904911, tolerance = 1e-7)
  expect_equal(c(score_of(c(0, 1), c(0, 1), score = "log"), score_of(c(0, 0), c(0, 1), score = "log")), c(0, Inf))
  refused(score_of(rbind(c(0.2, 0.7), c(0.6, 0.5), c(0.4, 0.1), c(0.7, 0.2)), c(1, 2, 2, 1), score = "log"))
  certain <- 1 * (three > 0.5)
  clipped <- pmin(pmax(certain, 0.1), 0.9)
  differs("log-loss-clipped", score_of(certain, c(2, 1, 3), score = score_log(floor = 0.1)),
          score_of(clipped / rowSums(clipped), c(2, 1, 3), score = "log"), 1e-4)
  # outcomes between 0 and 1, as weighted pairs of rows
  weighted <- function(p, y, w, method) {
    suppressWarnings(predict(ce_recalibrate(rep(p, 2), rep(1:0, each = length(p)), method = method,
                                            weights = c(w * y, w * (1 - y)) + 1e-12), p))
  }
  p <- 1:7 / 8
  expect_equal(weighted(p, c(3, 7, 5, 9, 8, 7, 10) / 10, 1, "isotonic"), c(3, 6, 6, 8, 8, 8, 10) / 10, tolerance = 1e-6)
  expect_equal(weighted(p, c(1, 41, 51, 1, 2, 5, 24) / 60, 1:7, "isotonic"), c(1, rep(13.95, 5), 24) / 60,
               tolerance = 1e-6)
  logits <- c(5, -4, 1)
  platt <- weighted(plogis(logits), c(2 / 3, 1 / 4, 1 / 4), 1, map_platt())
  expect_equal(platt, plogis(0.20261354391187855 * logits - 0.65236314980010512), tolerance = 1e-3)
  plain <- suppressWarnings(predict(ce_recalibrate(plogis(logits), c(1, 0, 0), method = map_platt()), plogis(logits)))
  differs("platt-targets", plain, platt, 1e-3)
  expect_equal(terms_of(c(0.3, 0.5, 0.6, 0.7, 0.9, 0.8), c(0, 1, 1, 0, 0, 1), "scaled_brier"),
               1 - mean((c(0.3, 0.5, 0.6, 0.7, 0.9, 0.8) - c(0, 1, 1, 0, 0, 1))^2) / 0.25)
})

test_that("yardstick: log loss and Brier score", {
  p <- c(1, 0.8, 0.51, 0.1, 0.2, 0.3)
  two <- data.frame(truth = factor(rep(c("A", "B"), each = 3)), A = p)
  expect_equal(score_of(two, truth, A, score = "log"), -sum(log(c(1, 0.8, 0.51, 0.9, 0.8, 0.7))) / 6)
  three <- data.frame(truth = factor(c("A", "A", "A", "B", "B", "C")), A = p, B = c(0, 0.05, 0.29, 0.8, 0.6, 0.3),
                      C = c(0, 0.15, 0.2, 0.1, 0.2, 0.4))
  expect_equal(score_of(three, truth, A:C, score = "log"), -sum(log(c(1, 0.8, 0.51, 0.8, 0.6, 0.4))) / 6)
  three$B[2] <- three$C[2] <- NA
  expect_equal(score_of(three, truth, A:C, score = "log"), -sum(log(c(1, 0.51, 0.8, 0.6, 0.4))) / 5)
  expect_identical(score_of(three, truth, A:C, score = "log", na_rm = FALSE), NA_real_)
  issue <- data.frame(No = c(0.860384856004899, 1, 1), truth = factor(c("Yes", "No", "Yes")))
  expect_equal(score_of(issue[1:2, ], truth, No, score = "log"), 0.9844328, tolerance = 1e-6)
  clipped <- function(...) score_of(..., score = score_log(floor = 2^-52))
  expect_equal(clipped(c(0.5, 0.5, 0), c(1, 0, 1)), 12.476649250079, tolerance = 1e-8)
  differs("log-clipped", score_of(issue, truth, No, score = "log"), clipped(issue, truth, No), 1e-6)
  expect_equal(score_of(c(1, 1, 1, 0, 0), c(1, 1, 1, 0, 0)), 0)
  skip_if_not_installed("modeldata")
  two <- getExportedValue("modeldata", "two_class_example")
  four <- getExportedValue("modeldata", "hpc_cv")
  expect_equal(score_of(two, truth, Class1), 0.10561859, tolerance = 1e-7)
  expect_equal(score_of(two, truth, Class1, score = "log"), 0.3283096, tolerance = 1e-6)
  two$truth <- stats::relevel(two$truth, "Class2")
  expect_equal(score_of(two, truth, Class1, event_level = "second"), 0.10561859, tolerance = 1e-7)
  differs("brier-classes", score_of(four, obs, VF:L), score_of(four, obs, VF:L) / 2)
  differs("log-classes", score_of(four, obs, VF:L, score = "log"), clipped(four, obs, VF:L), 1e-7)
  one <- four
  one$VF[1:10] <- NA
  differs("brier-missing", score_of(one, obs, VF:L), score_of(one, obs, VF:L) / 2)
  weights <- rep(c(5L, 1L), c(1, nrow(four) - 1))
  expect_equal(score_of(four, obs, VF:L, weights = weights),
               score_of(four[c(rep(1, 4), seq_len(nrow(four))), ], obs, VF:L))
})

test_that("scoringutils: Brier score, log score and quantile forecasts", {
  expect_equal(score_of(c(0.1, 0.9, 0.8, 0.2), c(0, 1, 1, 0)), 0.025)
  reversed <- data.frame(p = c(0.1, 0.9, 0.8, 0.2), truth = factor(c(0, 1, 1, 0), levels = c("1", "0")))
  expect_equal(suppressWarnings(score_of(reversed, truth, p, event_level = "second")), 0.725)
  probs <- cbind(c(0.8, 0.1, 0.4), c(0.1, 0.2, 0.4), c(0.1, 0.7, 0.2))
  expect_equal(score_of(probs, c(1, 2, 2), score = "log"), -mean(log(c(0.8, 0.2, 0.4))))
  refused(score_of(pred_categorical(probs), c(1, 2, 2), score = "crps"))
  refused(score_of(pred_quantiles(matrix(1:3), 0.5), c(1, -15, 22), score = "crps"))
  q <- rbind(c(-1, 0, 1, 2, 3), c(-2, 1, 2, 2, 4), c(-2, 0, 3, 3, 4))
  y <- c(1, -15, 22)
  interval <- function(a) q[, 6 - a] - q[, a] + 2 / c(0.2, 0.5)[a] * (pmax(q[, a] - y, 0) + pmax(y - q[, 6 - a], 0))
  score <- (abs(y - q[, 3]) + 0.1 * interval(1) + 0.25 * interval(2)) / 3
  wis <- glance(ce_coverage(pred_quantiles(q, c(0.1, 0.25, 0.5, 0.75, 0.9)), y))$wis
  differs("wis", wis, mean(score), 1e-4)
  # their default, the median counted once
  expect_equal(wis, mean(abs(y - q[, 3]) / 2 + 0.1 * interval(1) + 0.25 * interval(2)) / 2.5)
})

test_that("scoringRules and properscoring: CRPS", {
  crps <- function(x, y) score_of(x, y, score = "crps")
  location_scale <- function(make) c(crps(make(0, 1), -3), crps(make(0.1, 1), -2.9), crps(make(0, 0.9), -2.7))
  three <- function(x) x * c(1, 1, 0.9)
  expect_equal(location_scale(pred_normal), three(2.43657473), tolerance = 1e-8)
  expect_equal(location_scale(function(m, s) pred_t(5, m, s)), three(2.33875895), tolerance = 1e-8)
  expect_equal(location_scale(pred_laplace), three(2.29978707), tolerance = 1e-8)
  expect_equal(c(crps(pred_beta(0.7, 1.1), 0.3), crps(pred_lognormal(0.1, 0.9), 3)), c(0.0850102437, 1.13552645),
               tolerance = 1e-8)
  expect_equal(c(crps(pred_gamma(1.1, 1), 0.2), crps(pred_gamma(1.1, 1 / 0.9), 0.18)), c(1, 0.9) * 0.399009355,
               tolerance = 1e-8)
  expect_equal(crps(pred_mixture(pred_normal(-1.4, 0.9), weights = 1), -1), crps(pred_normal(-1.4, 0.9), -1))
  counts <- rbind(c(5, 100, 0.95, 0.53215257681), c(44, 200.1, 0.82, 1.70859687251), c(41, 200.1, 0.83, 1.63833674721),
                  c(222, 2000.1, 0.9, 3.66926727576), c(2222, 20000.1, 0.9, 11.6114812752),
                  c(1999797667, 200000.1, 0.0001, 1045062.81311))
  for (i in 1:6) {
    r <- counts[i, ]
    expect_equal(crps(pred_negbin(r[2] * (1 - r[3]) / r[3], r[2]), r[1]), r[4], tolerance = 1e-8)
  }
  for (rate in c(2, 5e4, 6e4, 1e6)) {
    k <- seq(max(0, floor(rate - 14 * sqrt(rate))), ceiling(rate + 14 * sqrt(rate)) + 30)
    expect_equal(crps(pred_poisson(rate), rate), sum((ppois(k, rate) - (k >= rate))^2), tolerance = 1e-8)
  }
  draws <- list(list(0, c(0, 0), 0), list(0, c(0, 1), 0.25), list(0, c(1, 0), 0.25), list(0, c(1, 1), 1),
                list(2, c(0, 1), 1.25), list(0, c(-1, 1), 0.5), list(0, c(0, 0, 1), 1 / 9), list(1, c(0, 0, 1), 4 / 9),
                list(0, c(-1, 0, 0, 1), 1 / 8))
  for (case in draws) expect_equal(crps(pred_draws(rbind(case[[2]])), case[[1]]), case[[3]])
  refused(crps(pred_draws(matrix(0)), 0))
  z <- qnorm((1:1000 - 0.5) / 1000)
  expect_equal(crps(pred_draws(rbind(0.3 + 0.7 * z)), 1.1), crps(pred_normal(0.3, 0.7), 1.1), tolerance = 1e-4)
  refused(score_of(-1, 0))
  expect_equal(score_of(0.25, 0), 0.0625)
})

test_that("pROC: areas, and DeLong's standard error and interval", {
  with(peer_data, {
    scaled <- function(x) (x - min(x)) / (max(x) - min(x)) * 0.98 + 0.01
    area <- function(x, y, column = "estimate") terms_of(scaled(x), y, "auroc", column = column)
    women <- as_f == 1
    areas <- c(area(as_ndka, as_y), area(as_wfns, as_y), area(nr_p, nr_y), area(as_ndka[women], as_y[women]))
    expect_equal(areas, c(0.611957994579946, 0.823678861788618, 0x1.8ef606a63bd82p-1, 0.6671428571), tolerance = 1e-9)
    error <- area(as_ndka, as_y, "std.error")
    expect_equal(error, (0.722670989888189 - 0.611957994579946) / qnorm(0.975), tolerance = 1e-8)
    expect_equal(area(as_ndka[women], as_y[women], "std.error"), (0.8081458862 - 0.6671428571) / qnorm(0.975),
                 tolerance = 1e-8)
    differs("auroc-interval", c(area(as_ndka, as_y, "conf.low"), area(as_ndka, as_y, "conf.high")),
            area(as_ndka, as_y) + c(-1, 1) * qnorm(0.975) * error, 1e-4)
    models <- list(a = scaled(as_wfns), b = scaled(as_ndka))
    # roc.test(aSAH$outcome, aSAH$wfns, aSAH$ndka)
    compared <- ce_compare(models, as_y, metric = "auroc")
    expect_equal(compared$difference / compared$std.error, 2.7978, tolerance = 1e-4)
    expect_equal(compared$p.value, 0.005146, tolerance = 1e-4)
  })
})

test_that("dcurves: net benefit", {
  cells <- function(n) list(p = rep(c(0.1, 0.1, 0.6, 0.6), n), y = rep(c(0, 1, 0, 1), n))
  benefit <- function(p, y, threshold = 0.25, ...) {
    row <- tidy(ce_decision(p, y, thresholds = threshold, times = 100, recalibration = "isotonic", ...))
    c(row$treat_all, row$net_benefit)
  }
  of <- function(n, ...) with(cells(n), benefit(p, y, ...))
  expect_equal(of(c(573, 33, 72, 72)), c(-0.1466667, 0.064), tolerance = 1e-6)
  expect_equal(of(c(571, 62, 74, 43))[2], 0.02444444, tolerance = 1e-6)
  refused(of(c(554, 81, 91, 24), threshold = 0))
  study <- cells(c(300, 306, 30, 114))
  at_prevalence <- benefit(study$p, study$y, weights = ifelse(study$y == 1, 0.15 / 420, 0.85 / 330))
  expect_equal(at_prevalence, c(-0.13333333, 0.01495671), tolerance = 1e-6)
  skip_if_not_installed("survival")
  with(peer_data, {
    outcome <- survival::Surv(sv_t, sv_e)
    by <- function(high) suppressMessages(benefit(ifelse(high == 1, 0.6, 0.1), outcome, horizon = 1))
    expect_equal(by(sv_hi)[1], -0.13695058, tolerance = 1e-6)
    differs("net-benefit-marker", by(sv_hi)[2], tolerance = 1e-4)
    differs("net-benefit-age", by(sv_age)[2], tolerance = 1e-4)
  })
})

test_that("cumulcalib and reliabilitydiag: walks and decompositions of their examples", {
  withr::local_seed(1)
  p <- rbeta(1000, 1, 5)
  y <- rbinom(1000, 1, p)
  walk <- ks_error(p, y)
  expect_equal(walk$.estimate, 0.00740996981029672)
  summary <- glance(ce_validate(p, y, times = 20))
  expect_equal(summary$prevalence - summary$mean_prediction, 0.00532270104567871)
  withr::local_seed(1)
  bridge <- ce_test(p, y, test = test_cumulative("bridge", times = 4000))
  expect_equal(bridge$statistic[[1]], -2 * (log(0.624632509005787) + log(0.385979705481866)))
  differs("bridge-p", bridge$p.value, stats::pchisq(bridge$statistic[[1]], 4, lower.tail = FALSE), 0.05)
  differs("bridge-place", walk$location, tolerance = 1e-3)
  parts <- with(peer_data, ce_decompose(ni_p, ni_y, method = "isotonic"))
  expect_equal(unlist(parts[c("mean_score", "calibration", "sharpness", "entropy")], use.names = FALSE),
               c(0.232, 0.0183, 0.0305, 0.244), tolerance = 3e-3)
})

test_that("PyCalib: losses and binned errors", {
  two <- rbind(c(0.1, 0.9), c(0.6, 0.4))
  for (first in 1:2) {
    p <- c(0.1, 0.9)[first]
    expect_equal(score_of(two, c(first, 2), score = "log"), -(log(p) + log(0.4)) / 2)
    expect_equal(score_of(two, c(first, 2)), mean(c((1 - p)^2, (1 - p)^2, 0.36, 0.36)))
  }
  expect_equal(error_of(rep(0.6, 10), rep(1:0, c(6, 4))), 0)
  three <- matrix(c(0.6, 0.2, 0.2), 10, 3, byrow = TRUE)
  for (notion in c("top_label", "class_wise", "canonical")) {
    expect_equal(error_of(three, rep(1:3, c(6, 2, 2)), notion = notion), 0)
  }
  expect_equal(error_of(matrix(1 / 3, 2, 3), c(1, 1), p = Inf, notion = "top_label"), 2 / 3)
  refused(error_of(matrix(c(1 / 3, 0.3, 0.3), 3, 3, byrow = TRUE), 1:3, p = Inf))
  p <- c(0.4, 0.4, 0.4, 0.4, 0.7, 0.7, 0.8, 0.8)
  expect_equal(error_of(p, c(1, 0, 0, 0, 0, 0, 0, 0), n_bins = 2, p = Inf), 0.75)
  expect_equal(error_of(p, c(1, 0, 0, 0, 0, 1, 1, 1), n_bins = 2, p = Inf), 0.15)
})

test_that("riskRegression, rms and relplot: areas, scaled Brier scores, val.prob and the smooth ECE", {
  # rms::val.prob(), run on these rows
  withr::local_seed(1)
  x <- rnorm(200)
  p <- plogis(x + rnorm(200) * 0.5)
  y <- rbinom(200, 1, plogis(0.8 * x))
  cox <- cox_calibration(p, y)
  expect_equal(cox$.estimate[c(1, 2, 4)], c(-0.0353852, 0.7150495, 2.8798553), tolerance = 1e-6)
  expect_equal(cox$p.value[4], 0.2369449, tolerance = 1e-6)
  expect_equal(terms_of(p, y, c("auroc", "brier")), c(0.6998, 0.2228935), tolerance = 1e-6)
  expect_equal(unlist(spiegelhalter(p, y)[c(".estimate", "p.value")], use.names = FALSE), c(1.5383797, 0.1239558),
               tolerance = 1e-6)
  smooth <- stats::lowess(p, y, iter = 0)
  distance <- abs(stats::approx(smooth, xout = p)$y - p)
  theirs <- c(mean(distance), stats::quantile(distance, 0.9), max(distance))
  differs("val-prob", ici(p, y)$.estimate[c(1, 3, 4)], theirs, 0.01)
  p <- (1:1010 - 0.5) / 1010
  cells <- tidy(ce_curve(p, as.integer((1:1010 * 7919) %% 1010 < 1:1010), type = curve_binned(n_bins = 10)))
  expect_equal((cells$left + cells$right) / 2, seq(0.05, 0.95, 0.1))
  withr::local_seed(4)
  p <- runif(10000)
  y <- as.integer(runif(10000) > 1 - (p + 0.2 * sin(2 * pi * p)))
  expect_equal(smooth_ece(p, y)$.estimate, 0.1155616, tolerance = 0.1)
})

test_that("survival, yardstick and riskRegression: scores of censored outcomes", {
  skip_if_not_installed("survival")
  quiet <- function(code) suppressWarnings(suppressMessages(code))
  outcome <- with(survival::lung, survival::Surv(time, status == 2))
  of_lung <- function(p, horizon) quiet(score_of(1 - p, outcome, horizon = horizon))
  differs("brier-survival-100", of_lung(peer_data$lu_100, 100), of_lung(peer_data$lu_100, 100) * 227 / 228)
  differs("brier-survival-300", of_lung(peer_data$lu_300, 300))
  # follow-up is cut at the horizon
  withr::local_seed(1)
  p <- runif(1000, 0.05, 0.6)
  time <- rexp(1000, -log(1 - p) / 5)
  event <- as.integer(time <= 5)
  time <- pmin(time, 5)
  for (horizon in c(5, 4.999)) {
    brier <- quiet(score_of(p, survival::Surv(time, event), horizon = horizon))
    expect_equal(brier, mean((event - p)^2), tolerance = 1e-8)
  }
  expect_equal(terms_of(p, survival::Surv(time, event), "oe_ratio", horizon = 5), mean(event) / mean(p))

  d <- survival::rotterdam
  early <- with(d, recur == 0 & death == 1 & rtime < dtime)
  d$status <- with(d, ifelse(recur == 1 | early, recur, death))
  d$years <- with(d, ifelse(recur == 1 | early, rtime, dtime)) / 365.25
  fit <- survival::coxph(survival::Surv(years, status) ~ meno + size + pmin(nodes, 12), d)
  horizons <- c(2, 4, 6, 8)
  risk <- 1 - summary(survival::survfit(fit, newdata = d), times = horizons)$surv
  for (i in 1:4) {
    w <- survival::rttright(survival::Surv(years, status) ~ 1, d, times = horizons[i])
    w <- w / sum(w)
    y <- as.numeric(d$years <= horizons[i] & d$status == 1)
    score <- sum(w * (y - risk[i, ])^2)
    of <- function(terms, ...) terms_of(risk[i, ], survival::Surv(d$years, d$status), terms, horizon = horizons[i], ...)
    expect_equal(of(c("brier", "scaled_brier")), c(score, 1 - score / sum(w * (y - sum(w * y))^2)))
    if (i != 2) next
    # riskRegression::Score(), run on these rows; its weights are estimated, ours are taken as known. Risks of the same
    # covariates can differ in the last digit, which breaks ties.
    expect_equal(of(c("auroc", "brier")), c(0.709669, 0.2012671), tolerance = 1e-5)
    expect_equal(of(c("auroc", "brier"), column = "std.error"), c(0.01011915, 0.003312613), tolerance = 1e-3)
  }
})
