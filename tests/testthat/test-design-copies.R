# Functions that take rows with counts: their results are those of the repeated rows, up to rounding.
copies_metrics <- c(
  design_metrics[c("width", "mass", "discrete", "debiased", "largest", "sweep", "rbs", "ks")],
  design_tables[c("cox", "spiegelhalter", "score", "bound")],
  list(both = function(...) ece(..., n_bins = c(4, 15)), class_wise = function(...) ece(..., notion = "class_wise"),
       estimate = function(...) ce_estimate(...), top_label = function(...) ce_estimate(..., notion = "top_label"))
)
# Those of densities, smooth curves and pairs. The panel has most of them together.
copies_classical <- c(
  design_metrics[c("mmce", "mmce_unbiased", "smooth", "kde")],
  design_tables[c("ici", "ici_isotonic", "kde_chosen", "discrete_parts", "isotonic_parts", "panel", "skce",
                  "joint")],
  # the rank of repeated rows is their number
  list(narrow = function(...) ici(..., span = .3), ckce = function(...) within(ckce(..., ridge = "loo"), rm(rank, path)),
       hierarchy = ce_hierarchy, dirichlet = kde_error)
)
copies_bootstraps <- lapply(list(ece = ece, ks = ks_error, rbs = rbs), function(metric) {
  function(...) withr::with_seed(1, metric(..., times = 20))
})

copies_frame <- function(n = 80, most = 4, seed = 1) {
  data <- design_rows_frame(n, seed)
  withr::with_seed(seed + 1, {
    data$copies <- sample(0:most, n, TRUE)
    data$part <- rep(c("a", "b"), length.out = n)
    data$prob <- pmin(pmax(data$prob, .01), .99)
    data$time <- stats::rexp(n, .3)
    data$status <- stats::rbinom(n, 1, .7)
  })
  data
}

repeat_frame <- function(data) data[rep(seq_len(nrow(data)), ifelse(is.na(data$copies), 0, data$copies)), ]

# Up to rounding.
expect_same_columns <- function(a, b) expect_equal(lapply(a, c), lapply(b, c), tolerance = 1e-10)

expect_copies <- function(verb, data, truth, ...) {
  truth <- rlang::enquo(truth)
  of <- function(rows, ...) suppressWarnings(suppressMessages(verb(rows, !!truth, prob, ...)))
  counted <- of(data, ..., weights = copies)
  repeated <- of(repeat_frame(data), ...)
  expect_same_columns(counted, repeated)
  expect_identical(attr(counted, "design"), attr(repeated, "design"))
}

test_that("rows with counts give the numbers of repeated rows, in clusters too", {
  data <- copies_frame()
  expect_copies(design_tables$hosmer, data, y)
  for (verb in c(copies_metrics, copies_bootstraps)) {
    expect_copies(verb, data, y)
    expect_copies(verb, data, y, cluster = centre)
  }
})

test_that("densities, smooth curves and pairs of rows with counts are those of repeated rows", {
  data <- copies_frame()
  tied <- transform(data, prob = round(prob, 1))
  parts <- function(...) withr::with_seed(1, suppressWarnings(ce_decompose(..., times = 10)))
  for (verb in c(copies_classical, list(parts = parts))) {
    expect_copies(verb, data, y)
    expect_copies(verb, tied, y)
    expect_copies(verb, data, y, cluster = centre)
  }
  skip_if_not_installed("survival")
  for (verb in copies_classical) expect_copies(verb, data, survival::Surv(time, status), horizon = 1.5)
})

test_that("censoring weights times counts are those of repeated rows", {
  skip_if_not_installed("survival")
  data <- copies_frame()
  for (verb in c(copies_metrics, copies_bootstraps)) {
    expect_copies(verb, data, survival::Surv(time, status), horizon = 1.5)
  }
  for (verb in copies_metrics[c("debiased", "ks", "cox", "spiegelhalter", "estimate")]) {
    expect_copies(verb, data, survival::Surv(time, status), horizon = 1.5, cluster = centre)
    expect_copies(verb, data, survival::Surv(time, status), horizon = ce_horizon(1.5, strata = part))
  }
})

test_that("missing counts, outcomes and predictions leave rows out", {
  data <- copies_frame()
  data$copies[3] <- NA
  data$y[5] <- NA
  data$prob[7] <- NA
  for (verb in copies_metrics) expect_copies(verb, data, y)
  expect_identical(ece(data, y, prob, weights = copies)$n, sum(data$copies[-c(3, 5, 7)]))
  expect_identical(ece(data, y, prob, weights = copies, na_rm = FALSE)$.estimate, NA_real_)
})

test_that("counts of several classes are those of repeated rows", {
  data <- copies_frame()
  p <- withr::with_seed(4, matrix(stats::rexp(240), 80))
  p <- round(p / rowSums(p), 2)
  p[, 3] <- 1 - p[, 1] - p[, 2]
  y <- factor(withr::with_seed(5, sample(3, 80, TRUE)))
  at <- rep(1:80, data$copies)
  verbs <- list(
    ece = ece, class_wise = function(...) ece(..., notion = "class_wise", p = 2, debias = TRUE), ks = ks_error,
    ks_classes = function(...) ks_error(..., notion = "class_wise"), rbs = rbs, estimate = ce_estimate,
    score = function(...) ce_score(..., score = c("log", "brier")), kde = kde_error, hierarchy = ce_hierarchy,
    medians = function(...) ece(..., notion = "canonical", type = "median_variance", p = 2, debias = TRUE),
    quantiles = function(...) ece(..., preset = "netcal", type = "mass"),
    chunks = function(...) ece(..., preset = "better-uncertainty-calibration", type = "mass", notion = "class_wise")
  )
  for (verb in verbs) {
    expect_same_columns(verb(p, y, weights = data$copies), verb(p[at, ], y[at]))
    expect_same_columns(verb(p, y, weights = data$copies, cluster = data$centre),
                        verb(p[at, ], y[at], cluster = data$centre[at]))
  }
})

test_that("kernel errors, tuning and headlines of classes with counts are those of repeated rows", {
  data <- withr::with_seed(6, {
    p <- to_simplex(matrix(stats::rexp(160), 40))
    p[31:40, ] <- p[1:10, ]
    list(p = p, y = apply(p, 1, function(q) sample(4, 1, prob = q)), few = sample(0:6, 40, TRUE),
         many = sample(500:700, 40, TRUE))
  })
  same <- function(of, weights, tolerance = 1e-10) {
    at <- rep(1:40, weights)
    counted <- withr::with_seed(1, of(data$p, data$y, weights = weights))
    repeated <- withr::with_seed(1, of(data$p[at, ], data$y[at], weights = NULL))
    expect_equal(lapply(counted, c), lapply(repeated, c), tolerance = tolerance)
  }
  kernels <- list(NULL, kernel_gaussian("median"), kernel_laplace(.3) + kernel_tv("median"), kernel_hellinger(), "ckce")
  for (kernel in kernels) same(function(...) skce(..., kernel = kernel), data$few)
  same(function(...) skce(..., type = "biased", target_kernel = kernel_gaussian(1)), data$few)
  same(function(...) skce(..., tolerance = 1e-4), data$few)
  for (debias in c("none", "off_diagonal", "null_mean")) {
    conditional <- function(..., ridge = c(.1, .001)) {
      ckce(..., ridge = ridge, debias = debias, target_kernel = kernel_gaussian(1))[c(".estimate", "conf.low", "n")]
    }
    same(conditional, data$few, 1e-8)
    same(function(...) conditional(..., ridge = NULL, computation = computation("low_rank", tolerance = 1e-10)), data$few)
  }
  # above and below the number of rows whose labels are redrawn
  for (weights in list(data$few, data$many)) {
    same(function(...) ce_estimate(..., notion = c("class_wise", "canonical")), weights)
    same(function(...) tidy(ce_test(...)), weights)
  }
  for (notion in c("binary", "top_label")) {
    one <- list(top_label = function(x, y, ...) ce_tune(x, y, ...), binary = function(x, y, ...) {
      ce_tune(if (is.matrix(x)) x[, 1] else x, y == 1, ..., methods = ce_methods("binary"))
    })[[notion]]
    same(function(x, y, ...) glance(one(x, y, notion = notion, ...)), data$many %/% 10L)
  }
  same(function(...) glance(ce_tune(..., notion = "canonical", methods = list(method_kde(.1), method_kkr(1e-3)))),
       data$many %/% 10L, 1e-8)
  same(function(...) glance(ce_tune(..., notion = "top_label", methods = method_bins(c(5, 10)), repeats = 2)), data$few)
})

test_that("counts have no limit where rows stand for several, and one where rows are made of them", {
  data <- copies_frame()
  data$many <- data$copies * 2e7L
  data$prob <- (3 * data$prob + data$y) / 4
  whole <- ece(data, y, prob, weights = many)
  expect_equal(whole$.estimate, ece(data, y, prob, weights = copies)$.estimate)
  expect_identical(whole$n, sum(as.numeric(data$many)))
  expect_lt(whole$std.error, 1e-4)
  expect_true(all(is.finite(ce_validate(data, y, prob, weights = many)$table$estimate)))
  expect_false(anyNA(ce_decision(data, y, prob, weights = many)$curve$changed))
  expect_error(ce_decision(data, y, prob, weights = many, cluster = centre),
               "must sum to at most 50,000,000: so many rows are made", class = "calibrisk_error_size")
})

expect_same_parts <- function(parts, counted, repeated) {
  for (part in parts) expect_same_columns(counted[[part]], repeated[[part]])
}

test_that("curves of rows with counts are those of repeated rows", {
  data <- copies_frame()
  tied <- transform(data, prob = round(prob, 1))
  parts <- c("curve", "histogram", "summary", "ends", "counted")
  of <- function(rows, ...) suppressWarnings(ce_curve(rows, y, prob, ...))
  types <- list("binned", curve_binned(n_bins = 5, bins = "mass"), "isotonic", "smooth")
  for (type in types) {
    expect_same_parts(parts, of(data, weights = copies, type = type), of(repeat_frame(data), type = type))
    expect_same_parts(parts, of(tied, weights = copies, type = type), of(repeat_frame(tied), type = type))
    expect_same_parts(parts, of(data, weights = copies, type = type, cluster = centre),
                      of(repeat_frame(data), type = type, cluster = centre))
  }
  at <- rep(1:80, data$copies)
  laws <- list(normal = pred_normal(data$mean, data$sd), counts = pred_poisson(exp(data$mean / 4)))
  outcomes <- list(normal = data$z, counts = withr::with_seed(1, stats::rpois(80, exp(data$mean / 4))))
  for (law in names(laws)) for (type in c("pit", "quantile")) {
    own <- function(rows, ...) ce_curve(laws[[law]][rows], outcomes[[law]][rows], type = type, ...)
    expect_same_parts(parts, own(1:80, weights = data$copies), own(at))
    expect_same_parts(parts, own(1:80, weights = data$copies, cluster = data$centre),
                      own(at, cluster = data$centre[at]))
  }
})

test_that("validations of rows with counts are those of repeated rows", {
  data <- copies_frame()
  of <- function(rows, ...) suppressWarnings(ce_validate(rows, ..., prob, group = part, delta = .2, times = 20))
  parts <- c("table", "sample", "notes", "design")
  repeated <- repeat_frame(data)
  expect_same_parts(parts, of(data, y, weights = copies), of(repeated, y))
  expect_same_parts(parts, of(data, y, weights = copies, cluster = centre), of(repeated, y, cluster = centre))
  skip_if_not_installed("survival")
  expect_same_parts(parts, of(data, survival::Surv(time, status), weights = copies, horizon = 1.5),
                    of(repeated, survival::Surv(time, status), horizon = 1.5))
})

test_that("redrawn events of rows with copies have their binomial distribution", {
  # of one prediction the isotonic fit is the mean: null limits are quantiles of the number of events
  limits <- function(prob, copies, level = .5) {
    curve <- ce_curve(prob, rep(0:1, length.out = length(prob)), weights = as.integer(copies), level = level,
                      type = curve_isotonic(times = 4000))
    unlist(tidy(curve)[1, c("null.low", "null.high")])
  }
  # few rows, a normal law, rare events, and their opposite
  for (k in 1:4) {
    n <- c(100, 1e5, 15000, 15000)[k]
    prob <- c(.03, .6, 2e-4, 1 - 2e-4)[k]
    for (level in c(.5, .95)) {
      found <- round(limits(rep(prob, 2), c(n, n), level) * 2 * n)
      share <- (1 + c(-1, 1) * level) / 2
      expect_true(all(found >= stats::qbinom(share - .02, 2 * n, prob)))
      expect_true(all(found <= stats::qbinom(pmin(share + .02, 1), 2 * n, prob)))
    }
  }
  for (n in c(30, 9000)) expect_identical(limits(c(.1, .1), c(n, n)), limits(rep(.1, 2 * n), rep(1, 2 * n)))
})

test_that("tests of rows with counts are those of repeated rows", {
  data <- copies_frame()
  at <- rep(1:80, data$copies)
  same <- function(test, ...) {
    fields <- c("statistic", "p.value", "conf.int", "estimate", "n", "parameter", "method", "details")
    expect_equal(test(1:80, weights = data$copies)[fields], test(at)[fields], tolerance = 1e-8)
  }
  of <- function(rows, ...) withr::with_seed(1, ce_test(data$prob[rows], data$y[rows], ...))
  same(of)
  same(function(rows, ...) of(rows, cluster = data$centre[rows], ...))
  same(function(rows, ...) of(rows, delta = .3, ...))
  # outcomes of copies are redrawn by other random numbers
  cme <- test_cme(list(x = c(.2, .5), truth = 0:1))
  for (test in list("conditional", "bootstrap", "block", "cumulative", test_cumulative("ks"), cme)) {
    counted <- of(1:80, test = test, weights = data$copies)
    repeated <- of(at, test = test)
    for (part in c("statistic", "estimate", "n")) expect_equal(counted[[part]], repeated[[part]], tolerance = 1e-7)
    expect_lt(abs(counted$p.value - repeated$p.value), .09)
  }
  # these repeat the rows
  same(function(rows, ...) of(rows, test = test_joint(bases = c(hats = 4)), ...))
  many <- suppressWarnings(ce_test(data$prob, data$y, weights = data$copies * 2e7L))
  expect_identical(many$n, sum(data$copies) * 2e7)
})

test_that("coverage, moments and ranks of rows with counts are those of repeated rows", {
  data <- copies_frame()
  same <- function(verb) expect_same_columns(verb(1:80, weights = data$copies), verb(rep(1:80, data$copies)))
  of <- function(i, ...) ce_coverage(pred_normal(data$mean[i], data$sd[i]), data$z[i], ...)
  for (part in c("levels", "scores", "quantiles")) same(function(...) of(...)[[part]])
  same(function(...) tidy(of(...), "curve"))
  same(function(i, ...) ce_moments(cbind(mean = data$mean, sd = data$sd)[i, ], data$z[i], ...))
  p_values <- function(i, ...) ce_moments(pred_normal(data$mean[i], data$sd[i]), data$z[i], ...)$p.value
  expect_lt(max(abs(p_values(1:80, weights = data$copies) - p_values(rep(1:80, data$copies))), na.rm = TRUE), .06)
  models <- function(i) list(a = data$prob[i], b = data$prob[i]^2)
  rank <- function(i, ...) tidy(ce_rank(models(i), data$y[i], metric = list("ckce", ks_error), ...))
  for (times in c(0, 5)) same(function(...) withr::with_seed(1, rank(..., times = times)))
})

test_that("maps of rows with counts are those of repeated rows", {
  data <- copies_frame()
  at <- rep(1:80, data$copies)
  kept <- which(data$copies > 0)
  compare <- function(counted, repeated) {
    for (part in c("terms", "tests", "objective", "objective_crossfit", "injective", "n", "fold_terms")) {
      expect_equal(counted[[part]], repeated[[part]], tolerance = 1e-8)
    }
    if (!is.null(counted$fold)) return()
    expect_equal(vctrs::vec_slice(counted$fitted, kept), vctrs::vec_slice(repeated$fitted, match(kept, at)),
                 tolerance = 1e-8)
  }
  p <- data$prob
  data$y <- withr::with_seed(6, stats::rbinom(80, 1, p))
  classes <- to_simplex(withr::with_seed(4, matrix(stats::rexp(240), 80)))
  label <- factor(withr::with_seed(5, sample(3, 80, TRUE)))
  fit <- function(...) suppressWarnings(withr::with_seed(1, ce_recalibrate(...)))
  methods <- c("temperature", "platt", "beta", "isotonic", "histogram", "update", "label_frequency",
               "constant_confidence")
  for (method in methods) for (folds in list(NULL, 4)) {
    compare(fit(p, data$y, weights = data$copies, method = method, folds = folds),
            fit(p[at], data$y[at], method = method, folds = folds))
    compare(fit(p, data$y, weights = data$copies, method = method, folds = folds, cluster = data$centre),
            fit(p[at], data$y[at], method = method, folds = folds, cluster = data$centre[at]))
  }
  for (method in c("ets", "vector", "matrix")) for (folds in list(NULL, 3)) {
    compare(fit(classes, label, weights = data$copies, method = method, folds = folds),
            fit(classes[at, ], label[at], method = method, folds = folds))
  }
  # a small network: the optimiser of a larger one may stop elsewhere
  small <- map_diag(hidden = 2)
  diag <- list(fit(p, data$y, weights = data$copies, method = small), fit(p[at], data$y[at], method = small))
  expect_equal(diag[[1]]$objective, diag[[2]]$objective, tolerance = 1e-6)
  normal <- pred_normal(data$mean, data$sd)
  for (method in c("temperature", "variance")) for (folds in list(NULL, 4)) {
    compare(fit(normal, data$z, weights = data$copies, method = method, folds = folds),
            fit(normal[at], data$z[at], method = method, folds = folds))
  }
})

test_that("a row has the mean of its copies' predictions out of fold", {
  data <- copies_frame()
  map <- withr::with_seed(1, ce_recalibrate(data$prob, data$y, weights = data$copies, method = "platt", folds = 4))
  split <- withr::with_seed(1, make_split(sum(data$copies), 4, test = integer()))
  slopes <- matrix(vapply(map$fold_terms, function(terms) terms$estimate, numeric(2)), 2)
  copies <- stats::plogis(stats::qlogis(data$prob[rep(1:80, data$copies)]) * slopes[1, split$fold] +
                            slopes[2, split$fold])
  expect_equal(map$fitted[data$copies > 0], unname(tapply(copies, rep(1:80, data$copies), mean)), ignore_attr = TRUE)
  many <- suppressWarnings(ce_recalibrate(data$prob, data$y, weights = data$copies * 2e7L, method = "platt", folds = 4))
  expect_equal(many$n, sum(data$copies) * 2e7)
  # each fold has a quarter of every row's copies
  expect_equal(many$objective_crossfit, many$objective[["after"]], tolerance = 1e-6)
})

test_that("models of rows with counts are those of repeated rows, alone and compared", {
  data <- copies_frame()
  data$other <- data$prob^1.4
  rows <- repeat_frame(data)
  of_models <- function(verb, data, ...) {
    suppressMessages(suppressWarnings(verb(ce_models(data, y, prob, other, ...))))
  }
  verbs <- c(copies_metrics[c("width", "ks", "debiased", "rbs", "estimate")], copies_classical[c("skce", "ckce", "panel")],
             list(ici = function(m) ici(m, times = NULL)))
  for (verb in verbs) {
    expect_same_columns(of_models(verb, data, weights = copies), of_models(verb, rows))
    expect_same_columns(of_models(verb, data, weights = copies, cluster = centre), of_models(verb, rows, cluster = centre))
  }
  mean_gap <- function(x, truth) mean(abs(x - truth))
  for (metric in list(ece, ks_error, rbs, "log", ici, "skce", "ckce", "auroc", "ece_pointwise", ce_estimate, mean_gap)) {
    compared <- function(data, ...) {
      withr::with_seed(1, suppressMessages(ce_compare(data, y, prob, other, metric = metric, times = 20, ...)))
    }
    expect_same_columns(compared(data, weights = copies), compared(rows))
    expect_same_columns(compared(data, weights = copies, cluster = centre), compared(rows, cluster = centre))
  }
  # more than rows can be made of
  data$copies <- rep(1e6L, nrow(data))
  expect_equal(ce_compare(data, y, prob, other, metric = ece, weights = copies)$n, 8e7)
  expect_error(ce_compare(data, y, prob, other, metric = mean_gap, weights = copies), class = "calibrisk_error_size")
})
