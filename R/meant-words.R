# Guesses the meaning of a wrong word: arguments and choices as other packages call them, other letter case, the nearest
# spelling.

# Other names of arguments.
argument_words <- list(
  x = c("data", "df", "predictions", "y_pred", "y_prob", "probs"),
  truth = c("outcome", "obs", "observed", "y", "y_true", "labels", "label", "response", "target", "actual"),
  data = c("x", "df", "newdata", "new_data", "new"),
  new = c("newdata", "new_data", "data", "x", "df"),
  newdata = c("data", "new_data", "new", "df", "test", "x"),
  smoother = c("method", "type"),
  before = "x",
  level = c("conf.level", "conf_level", "conf", "confidence", "confidence_level", "ci", "ci_level", "alpha"),
  n_bins = c("bins", "nbins", "num_bins", "n.bins", "breaks", "groups", "g", "cuts", "k"),
  n_groups = c("g", "groups", "n_bins", "bins", "ngroups"),
  times = c("n_boot", "nboot", "boot", "bootstrap", "bootstraps", "n_bootstrap", "B", "R", "reps", "n_rep", "nrep",
            "resamples", "n_resamples", "nsim", "n_sim", "simulations", "n_perm", "nperm", "permutations", "replicates",
            "n_replicates", "n_draws", "ndraws", "redraws", "trials", "n_trials", "interval", "ci_type"),
  folds = c("v", "k", "nfolds", "n_folds", "cv", "K"),
  repeats = c("reps", "times"),
  p = c("norm", "power", "order", "exponent"),
  score = c("metric", "scoring", "loss", "rule", "measure"),
  metric = c("score", "scoring", "loss", "rule", "measure"),
  .by = c("by", "group", "groups", "group_by", "strata", "subgroup", "subgroups", "facet"),
  cluster = c("id", "ids", "clusters", "subject", "cluster_id", "patient", "groups"),
  weights = c("w", "wt", "wts", "case_weights", "sample_weight", "weight"),
  event_level = c("positive", "pos_label", "pos", "event", "positive_class", "positive_level"),
  horizon = c("time", "eval_time", "tau", "at", "times"),
  na_rm = c("na.rm", "na_action", "na.action"),
  bandwidth = c("sigma", "gamma", "lengthscale", "length_scale", "scale", "h", "bw", "span", "smoothing", "ell"),
  nu = c("smoothness", "order"),
  penalty = c("lambda", "alpha", "ridge", "reg", "regularisation", "regularization", "l2", "C"),
  ridge = c("lambda", "alpha", "penalty", "reg"),
  knots = c("df", "n_knots", "nknots", "n_bins", "bins"),
  mean = c("mu", "location", "loc", "m"),
  sd = c("sigma", "scale", "std", "stddev", "s", "se", "var", "variance", "sigma2"),
  size = c("theta", "dispersion", "r", "k"),
  location = c("mu", "mean", "loc"),
  scale = c("sigma", "sd", "b"),
  df = c("nu", "dof", "degrees"),
  rate = c("lambda", "beta", "scale", "theta"),
  shape = c("alpha", "k", "a"),
  shape1 = c("alpha", "a"),
  shape2 = c("beta", "b"),
  meanlog = c("mu", "mean"),
  sdlog = c("sigma", "sd"),
  prob = c("p", "probability", "probs"),
  probs = c("p", "prob", "probabilities"),
  levels = c("probs", "tau", "taus", "p", "quantile_levels", "quantiles"),
  draws = c("samples", "ensemble", "members", "x"),
  block = c("size", "block_size", "batch", "batch_size"),
  statistic = c("type", "method", "test"),
  n = c("n_bins", "nbins", "bins", "num_bins", "N", "nobs", "size"),
  exponent = c("temperature", "t", "power"),
  floor = c("eps", "epsilon", "clip"),
  time = c("horizon", "t", "tau", "times", "at"),
  notion = c("type", "kind", "average", "multi_class"),
  half_life = c("halflife", "window", "decay"),
  file = c("output", "path", "filename", "output_file", "out"),
  n_sub = c("size", "n", "nsub", "subsample", "sub", "m"),
  after = c("method", "map", "calibrator", "recalibrated"),
  alpha = c("level", "significance", "threshold"),
  thresholds = c("threshold", "cutoffs", "cutoff", "xlim"),
  method = c("map", "calibrator", "estimator", "estimate"),
  methods = c("method", "estimator", "estimators"),
  test = "method",
  type = c("strategy", "binning", "method", "smoother"),
  kernel = c("bandwidth", "gamma", "sigma", "lengthscale", "kernels"),
  threads = c("cores", "n_jobs", "ncores", "n_cores", "nthreads", "workers")
)

# Columns of predictions, as other packages name them; here they have no name.
column_words <- c("estimate", ".estimate", "estimates", "prob", "probs", "pred", "preds", "predicted", "prediction",
                  "predictions", "probabilities", "probability", "phat", "y_pred", "y_prob", "y_hat", "model",
                  "models", "fitted", "score")

# Arguments that take a choice by its name, or a value that a function makes.
word_arguments <- c("notion", "type", "test", "method", "methods", "recalibration", "preset", "smoother",
                    "event_level", "bandwidth", "metric", "score", "adjust", "reference", "statistic", "computation",
                    "group_kernel", "draws_diagonal", "pairs", "kernel", "target_kernel", "format", "distance", "loss",
                    "debias", "support", "bins")

# Arguments of one function that people give to another.
argument_verbs <- c(delta = "ce_test", metric = "ce_panel", metrics = "ce_panel",
                    thresholds = "ce_decision", threshold = "ce_decision", after = "ce_gain", score = "ce_score")

# With no line: without the argument the call would not be right either.
model_note <- "Predictions come first: {.code ce_predictions(model, newdata)} adds those of a model to new data"
figure_note <- "Figures of {.fn autoplot} are ggplots: add to them, as in {.code autoplot(x) + ggplot2::ggtitle(\"A\")}"

# Arguments of other packages that have no counterpart here.
argument_notes <- c(
  seed = "Call {.fn set.seed} before",
  grid = "Methods hold their own grids, such as {.code method_bins(c(5, 10))}",
  n_boot = "The interval needs no resampling",
  boot = "The interval needs no resampling",
  B = "The interval needs no resampling",
  n = "The number of rows follows from the data",
  plot = "{.fn plot} draws the result",
  harm = "The net benefit has no cost of the prediction itself",
  xstart = "Give {.arg thresholds}, such as {.code seq(0.1, 0.5, by = 0.01)}",
  xstop = "Give {.arg thresholds}, such as {.code seq(0.1, 0.5, by = 0.01)}",
  paired = "Models of the same rows are always compared in pairs",
  cause = "Code other causes as censored in {.code status}",
  verbose = "Drop it",
  title = figure_note,
  main = figure_note,
  xlab = figure_note,
  ylab = figure_note,
  xlim = figure_note,
  ylim = figure_note,
  model = "{.fn ce_predictions} adds the predictions of a model to new data",
  newdata = model_note,
  new_data = model_note
)

# Other names of choices.
choice_words <- list(
  mass = c("quantile", "quantiles", "equal_mass", "equal_frequency", "equal_freq", "frequency", "adaptive"),
  width = c("uniform", "equal_width", "equal", "fixed"),
  sweep = "monotonic",
  class_wise = c("marginal", "per_class", "ovr", "one_vs_rest", "one_vs_all", "macro"),
  top_label = c("top", "confidence", "conf", "max", "top1"),
  canonical = c("joint", "full", "strong", "multiclass", "distribution"),
  binary = c("scalar", "prob", "event"),
  bootstrap = c("boot", "resampling", "resample", "percentile", "bca"),
  analytic = c("normal", "wald", "delta", "asymptotic"),
  platt = c("logistic", "sigmoid", "platt_scaling", "logit"),
  temperature = c("temp", "ts", "softmax"),
  histogram = c("binning", "bins"),
  isotonic = c("pava", "corp", "monotone", "iso"),
  smooth = c("loess", "lowess", "gam", "spline", "splines", "kernel", "rcs", "flexible"),
  binned = c("bins", "histogram", "reliability"),
  log = c("logloss", "nll", "cross_entropy", "deviance", "mn_log_loss", "ll", "logarithmic"),
  brier = c("quadratic", "bs"),
  crps = c("pinball", "quantile", "quantile_loss", "interval", "wis", "rps"),
  `scikit-learn` = "sklearn",
  unbiased = "u",
  biased = "v",
  gaussian = c("rbf", "normal", "squared_exponential", "se"),
  laplace = c("laplacian", "exponential"),
  kde = c("kernel_density", "density", "dirichlet"),
  bins = c("histogram", "binning", "ece", "binned"),
  kkr = c("ridge", "kernel_ridge", "krr"),
  auroc = c("auc", "roc_auc", "c_statistic", "cstat", "c_index", "c"),
  oe_ratio = c("oe", "or", "eo", "citl", "ratio"),
  first = "1",
  second = "2"
)

# Metrics and tests that have a function of their own.
verb_words <- list(
  ce_validate = c("auc", "roc_auc", "auroc", "roc", "c_index", "cindex", "concordance"),
  hosmer_lemeshow = c("hosmer", "hosmer_lemeshow", "hl", "chisq"),
  spiegelhalter = c("spiegelhalter", "z"),
  ece = c("ece", "expected_calibration_error"),
  ks_error = c("ks", "kolmogorov")
)

plain_word <- function(x) gsub("[^a-z0-9]", "", tolower(x))

# The choice that `value` means; NULL if none is near.
meant_word <- function(value, choices, words = choice_words) {
  if (!rlang::is_string(value) || is.na(value) || length(choices) == 0) return(NULL)
  key <- plain_word(value)
  if (key %in% plain_word(choices) && nzchar(key)) return(choices[match(key, plain_word(choices))])
  known <- listed_word(value, words[intersect(choices, names(words))])
  if (!is.null(known)) return(known)
  nearest_word(value, choices)
}

# The name of the element of `words` that holds the value.
listed_word <- function(value, words) {
  key <- plain_word(value)
  at <- which(vapply(words, function(list) nzchar(key) && key %in% plain_word(list), NA))
  if (length(at) > 0) names(words)[at[1]]
}

# The choice that differs by one or two letters, contains the value or is part of it. Else the one with the fewest
# changes, or NULL if more than two fifths of the letters would have to change.
nearest_word <- function(value, choices) {
  part <- vapply(choices, function(one) {
    min(nchar(c(value, one))) > 2 && (grepl(value, one, fixed = TRUE) || grepl(one, value, fixed = TRUE))
  }, NA)
  changes <- utils::adist(value, choices, ignore.case = TRUE)[1, ]
  near <- which(part | nchar(value) > 1 & changes <= nchar(value) * 0.4)
  if (length(near) > 0) unname(choices[near[order(changes[near] > 2, !part[near], changes[near])[1]]])
}

# The function that is for what the value names.
meant_verb <- function(value) if (rlang::is_string(value)) listed_word(value, verb_words)
