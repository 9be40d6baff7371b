test_that("canonical cells are products of right-closed bins", {
  for (seed in 1:4) {
    data <- withr::with_seed(seed, random_classes(40, 3, 1))
    for (n_bins in c(2, 5, 10)) {
      cell <- do.call(paste, lapply(1:3, function(k) oracle_width_bin(data$p[, k], n_bins)))
      d <- data$p
      d[cbind(seq_along(data$y), data$y)] <- d[cbind(seq_along(data$y), data$y)] - 1
      power <- sum(vapply(unique(cell), function(b) {
        rows <- cell == b
        mean(rows) * sum(colMeans(d[rows, , drop = FALSE])^2)
      }, 0))
      found <- ece(data$p, data$y, n_bins = n_bins, p = 2, notion = "canonical")
      expect_equal(found$power, power)
    }
  }
})

test_that("median-variance bins: sets and errors of worked examples", {
  sets <- function(p, min_size) unname(split(seq_len(nrow(p)), cpp_median_cells(p, min_size)))
  same_sets <- function(found, expected) expect_setequal(lapply(found, as.numeric), expected)
  p <- rbind(c(.7, .2, .1), c(.1, .8, .1), c(.25, .25, .5), c(.6, .3, .1), c(.05, .15, .8), c(.4, .35, .25))
  y <- c(1, 2, 1, 3, 3, 2)
  of <- function(min_size) {
    ece(p, y, type = "median_variance", min_size = min_size, notion = "canonical")[c(".estimate", "n_bins")]
  }
  expect_equal(unlist(of(1)), c(.estimate = 2 * .5, n_bins = 6))
  expect_equal(unlist(of(2)), c(.estimate = 2 * .208333333333, n_bins = 2), tolerance = 1e-11)
  same_sets(sets(p, 2), list(c(1, 2, 4), c(3, 5, 6)))
  same_sets(sets(p, 3), list(c(1, 2, 4), c(3, 5, 6)))
  five <- rbind(c(.4, .1, .5), c(.5, .3, .2), c(.3, .7, 0), c(.1, 0, .9), c(.8, .1, .1))
  same_sets(sets(five, 2), list(c(3, 5), c(1, 2, 4)))
  expect_length(sets(five, 1), 5)
  expect_length(sets(five, 3), 1)
  expect_error(ece(p, y, type = "median_variance"), class = "calibrisk_error_argument")
  expect_error(ece(p, y, type = "median_variance", notion = "canonical", min_size = 0),
               class = "calibrisk_error_argument")
})

test_that("canonical bins equal the released errors of all networks", {
  skip_if_no_shared("data", "cifar10", "widmann-reference-errors.csv")
  reference <- utils::read.csv(shared_path("data", "cifar10", "widmann-reference-errors.csv"))
  for (model in reference$model) {
    data <- readRDS(shared_path("data", "cifar10", paste0("widmann-", model, ".rds")))
    found <- suppressMessages(ece(data$probs, data$label, n_bins = 10, notion = "canonical"))
    # total variation is half the L1 norm
    expect_equal(found$.estimate / 2, reference$ECE_uniform[reference$model == model], tolerance = 1e-6, label = model)
    found <- suppressMessages(ece(data$probs, data$label, type = "median_variance", min_size = 100,
                                  notion = "canonical"))
    dynamic <- reference$ECE_dynamic[reference$model == model]
    # rows renormalised from single precision can change sides at a median: 1.2e-6 for one network
    expect_equal(found$.estimate / 2, dynamic, tolerance = 2e-6, label = model)
    cell <- cpp_median_cells(data$probs, 100)
    gaps <- rowsum(canonical_residuals(data$probs, data$label), cell)
    expect_equal(sum(abs(gaps)) / 20000, dynamic, tolerance = 1e-8, label = model)
    if (model == "resnet18") expect_equal(found$n_bins, 64)
  }
})

test_that("the canonical error in other distances", {
  data <- withr::with_seed(1, list(p = matrix(rgamma(240, 1), 80), y = sample(3, 80, TRUE)))
  p <- data$p / rowSums(data$p)
  of <- function(distance, ...) ece(p, data$y, notion = "canonical", type = "median_variance", distance = distance, ...)
  plain <- function(p_norm) ece(p, data$y, notion = "canonical", type = "median_variance", p = p_norm)
  expect_equal(of("tv")$.estimate, plain(1)$.estimate / 2)
  expect_equal(of(function(a, b) rowSums((a - b)^2))$.estimate, plain(2)$power)
  cell <- cpp_median_cells(p, 10)
  onehot <- diag(3)[data$y, ]
  loop <- function(dist) {
    sum(vapply(unique(cell), function(b) {
      rows <- which(cell == b)
      length(rows) / 80 * dist(colMeans(onehot[rows, ]), colMeans(p[rows, ]))
    }, 0))
  }
  expect_equal(of("euclidean")$.estimate, loop(function(a, b) sqrt(sum((a - b)^2))))
  expect_equal(of("hellinger")$.estimate, loop(function(a, b) sqrt(1 - sum(sqrt(a * b)))))
  expect_identical(of("tv")$std.error, NA_real_)
  boot <- withr::with_seed(2, of("hellinger", times = 30))
  expect_true(boot$std.error > 0 && boot$conf.low <= boot$conf.high)
  expect_identical(boot$distance, "hellinger")
  expect_false("distance" %in% names(plain(1)))
  expect_equal(ece(p, data$y, notion = "canonical", type = "width", n_bins = 2:3, distance = "tv")$n_bins, 2:3)
  expect_error(ece(p, data$y, distance = "tv"), class = "calibrisk_error_argument")
  expect_error(of("kl"), class = "calibrisk_error_argument")
  expect_error(of("tv", p = 2), class = "calibrisk_error_argument")
  expect_error(of(function(a, b) -1), class = "calibrisk_error_function")
  expect_error(of(function(a) stop("mine")), class = "calibrisk_error_function")
})
