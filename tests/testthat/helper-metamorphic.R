# Verbs for the battery of test-metamorphic.R: functions of a frame (columns `truth`, probabilities .pred_<class> and
# `fold`) whose numbers no change may move that means nothing. `jitter` is how far 1e-8 in the predictions may move
# them (relative to the largest number of a kind; NULL: not continuous), `rows` and `classes` how far another order of
# rows or classes may (NULL: rows or classes have an order there, or draws belong to them).
new_law <- function(verb, jitter = 1e-5, rows = 1e-9, classes = 1e-9) {
  list(verb = verb, jitter = jitter, rows = rows, classes = classes)
}

# Maps whose parameters an optimiser finds.
map_law <- function(map, jitter = 1e-5) {
  new_law(function(d) predict_in_order(d, map), jitter = jitter, rows = 1e-8, classes = 1e-8)
}

# The first class against the others.
binary_law <- function(verb, ...) {
  new_law(function(d) result_numbers(verb(first_class(d)$p, first_class(d)$happened)), classes = NULL, ...)
}

# The predictions of the frame and others that are surer.
with_sharpened <- function(d) {
  probs <- as.matrix(d[paste0(".pred_", levels(d$truth))])
  list(model = probs, sharpened = probs^2 / rowSums(probs^2))
}

plain_kernel <- kernel_gaussian(0.5)

metamorphic_verbs <- list(
  ece = new_law(function(d) ece(d, truth), jitter = NULL),
  ece_mass = new_law(function(d) ece(d, truth, type = "mass", n_bins = 6, p = 2, debias = TRUE), jitter = NULL),
  ece_class_wise = new_law(function(d) ece(d, truth, notion = "class_wise", n_bins = 5), jitter = NULL),
  ece_canonical = new_law(function(d) ece(d, truth, notion = "canonical", n_bins = 4), jitter = NULL),
  rbs = new_law(function(d) rbs(d, truth)),
  # folds of lower limits belong to values: a changed digit is another split
  ks_error = new_law(function(d) ks_error(d, truth)[c(".estimate", "std.error", "conf.high", "kuiper", "p.value")]),
  mmce = new_law(function(d) mmce(d, truth)),
  smooth_ece = new_law(function(d) smooth_ece(d, truth, bandwidth = 0.1)$.estimate),
  kde_error = new_law(function(d) kde_error(d, truth, bandwidth = 0.1)),
  panel = new_law(function(d) suppressMessages(ce_panel(d, truth, floor = 0.01)), jitter = NULL),
  hierarchy = new_law(function(d) ce_hierarchy(d, truth, n_bins = 4), jitter = NULL),
  headline = new_law(function(d) ce_estimate(d, truth, notion = c("top_label", "class_wise", "canonical"))[2:9],
                     jitter = 1e-4),
  score = new_law(function(d) ce_score(d, truth, score = c("brier", "spherical", "log"))),
  bound = new_law(function(d) ce_score(d, truth, bound = TRUE)),
  skce = new_law(function(d) skce(d, truth, kernel = plain_kernel)),
  skce_biased = new_law(function(d) skce(d, truth, type = "biased")),
  ckce = new_law(function(d) ckce(d, truth, kernel = plain_kernel, ridge = 0.1)),
  jkce = new_law(function(d) skce(d, truth, kernel = plain_kernel)),
  ridge_path = new_law(function(d) loo_errors(d, truth, ridge = c(0.01, 0.1, 1))),
  test_bound = new_law(function(d) glance(ce_test(d, truth, test = "bound"))),
  test_joint = new_law(function(d) glance(ce_test(d, truth, test = "joint")), jitter = 1e-4),
  risks = new_law(function(d) {
    methods <- list(bins = method_bins(5), kde = method_kde(0.1), kkr = method_kkr(0.01), ukkr = method_ukkr(0.1))
    test <- which(d$fold == 0)
    lapply(methods, function(method) {
      glance(ce_tune(d, truth, methods = list(method), folds = d$fold, test = test))[-1]
    })
  }, jitter = NULL),
  canonical_risks = new_law(function(d) {
    tuned <- ce_tune(d, truth, notion = "canonical", methods = list(method_kde(0.1), method_kkr(0.01), method_power(2)),
                     folds = d$fold, test = which(d$fold == 0))
    tidy(tuned)[c("risk", "squared_error", "squared_error_test")]
  }),
  temperature = map_law(map_temperature()), ets = map_law(map_ets()), vector = map_law(map_vector()),
  matrix = map_law(map_matrix(penalty = 0.01)), matrix_free = map_law(map_matrix()),
  dirichlet = map_law(map_dirichlet()),
  # another minimum may be the next
  diag = map_law(map_diag(hidden = c(4, 3)), jitter = NULL),
  isotonic = new_law(function(d) predict_in_order(d, "isotonic"), jitter = NULL, classes = NULL),
  # points nearer than a digit are one
  isotonic_curve = new_law(function(d) tidy(ce_curve(d, truth, type = curve_isotonic(20)))$conf.high, jitter = NULL),
  smooth_curve = new_law(function(d) tidy(ce_curve(d, truth, type = curve_smooth(times = 20)))$observed, jitter = NULL),
  # its limits, which take draws, are not looked at
  validate = new_law(function(d) tidy(ce_validate(first_class(d), happened, p, times = 0))$estimate, rows = 1e-8,
                     classes = NULL),
  decision = new_law(function(d) tidy(ce_decision(first_class(d), happened, p))[c("net_benefit", "loss", "std.error")],
                     jitter = NULL, classes = NULL),
  cox = binary_law(cox_calibration), ici = binary_law(ici, jitter = NULL),
  hosmer_lemeshow = binary_law(hosmer_lemeshow, jitter = NULL), spiegelhalter = binary_law(spiegelhalter),
  decompose = new_law(function(d) ce_decompose(first_class(d)$p, first_class(d)$happened, method = "isotonic"),
                      jitter = NULL, classes = NULL),
  # subsamples and folds are drawn of rows
  rank = new_law(function(d) ce_rank(with_sharpened(d), d$truth, n_sub = 150, times = 2)$estimates$estimate),
  rank_ece = new_law(function(d) ce_rank(with_sharpened(d), d$truth, metric = ece, n_sub = 150, times = 2)$estimates$estimate,
                     jitter = NULL),
  compare = new_law(function(d) ce_compare(with_sharpened(d), truth = d$truth, metric = skce)),
  gain = new_law(function(d) {
    models <- with_sharpened(d)
    ce_gain(models$model, models$sharpened, d$truth, score = "spherical")
  }),
  ucme = new_law(function(d) ucme(d, truth, locations = 3, kernel = plain_kernel), rows = NULL, classes = NULL),
  u_score = new_law(function(d) {
    ce_score(d, truth, score = function(p1, y1, p2, y2) rowSums((p1 - p2)^2) * (y1 == y2))
  })
)
# The first class against the others.
first_class <- function(d) data.frame(happened = as.numeric(d$truth == levels(d$truth)[1]), p = class_column(d, 1))

class_column <- function(d, k) d[[paste0(".pred_", levels(d$truth)[k])]]

# Numbers as outcomes of normal distributions.
normal_verb <- function(verb, ...) {
  new_law(function(d) verb(pred_normal(class_column(d, 1), 1 + class_column(d, 2)), class_column(d, 3), ...),
          classes = NULL)
}

# What a map makes of fixed predictions.
predict_in_order <- function(d, map) {
  new <- data.frame(.pred_a = c(0.2, 0.5, 0.1), .pred_b = c(0.3, 0.1, 0.8), .pred_c = c(0.5, 0.4, 0.1))
  # classes keep their columns in any order of the levels
  names(new) <- paste0(".pred_", sort(levels(d$truth)))
  after <- predict(ce_recalibrate(d, truth, tidyselect::all_of(names(new)), method = map), new)
  unname(as.matrix(as.data.frame(after)[names(new)]))
}

metamorphic_frame <- function(n = 150) {
  withr::with_seed(5, {
    probs <- to_simplex(matrix(stats::rgamma(3 * n, 1), n))
    truth <- apply(probs^1.5, 1, function(p) sample.int(3, 1, prob = p))
    out <- data.frame(truth = factor(letters[truth], letters[1:3]), .pred_a = probs[, 1], .pred_b = probs[, 2],
                      .pred_c = probs[, 3], fold = rep_len(0:4, n))
  })
  out
}

# All numbers of a result: columns that are choices or text are left out.
result_numbers <- function(result) {
  if (is.data.frame(result) || (is.list(result) && !is.numeric(result))) {
    kept <- Filter(function(column) is.numeric(column) || is.data.frame(column) || is.list(column), as.list(result))
    return(unlist(lapply(kept[!grepl("^[.]estimates$|groups", names(kept))], result_numbers)))
  }
  as.numeric(result)
}

# Largest difference relative to the larger of the number and the mean size of all.
expect_moved_less <- function(now, was, tolerance, info) {
  testthat::expect_identical(is.na(now), is.na(was), info = info)
  size <- pmax(abs(was), 1e-3, na.rm = TRUE)
  moved <- max(0, abs(now - was) / size, na.rm = TRUE)
  testthat::expect(moved <= tolerance, sprintf("%s moved by %.2g, more than %.0e.", info, moved, tolerance))
}

distances <- kernel_wasserstein(0.5)

metamorphic_verbs <- c(metamorphic_verbs, list(
  normal_skce = normal_verb(skce, kernel = distances), normal_moments = normal_verb(ce_moments),
  normal_ckce = normal_verb(ckce, kernel = distances, ridge = 0.1),
  normal_coverage = normal_verb(function(x, y) tidy(ce_coverage(x, y))),
  normal_test = normal_verb(function(x, y) glance(ce_test(x, y, test = "bound"))),
  normal_score = normal_verb(ce_score, score = c("crps", "dss"))
))
