# The word that a wrong one means: an argument or a choice as other packages call it, in other letter case, or misspelt.

# Arguments by the names that other packages give them, where these mean the same.
argument_words <- list(
  x = c("data", "df", "predictions", "y_pred", "y_prob", "probs"),
  truth = c("outcome", "obs", "observed", "y", "y_true", "labels", "label", "response", "target", "actual"),
  level = c("conf.level", "conf_level", "conf", "confidence", "confidence_level", "ci", "ci_level"),
  n_bins = c("bins", "nbins", "num_bins", "n.bins"),
  n_groups = c("g", "groups", "n_bins", "bins", "ngroups"),
  draws = c("n_draws", "ndraws"),
  times = c("n_boot", "nboot", "boot", "bootstrap", "bootstraps", "n_bootstrap", "B", "R", "reps", "nrep", "resamples",
            "n_resamples", "nsim", "n_sim", "simulations", "n_perm", "n_draws", "permutations", "replicates",
            "interval"),
  folds = c("v", "k", "nfolds", "n_folds", "cv", "K"),
  p = c("norm", "power", "order", "exponent"),
  score = c("metric", "scoring", "loss", "rule", "measure"),
  metric = c("score", "scoring", "loss", "rule", "measure"),
  .by = c("by", "group", "groups", "group_by", "strata", "subgroup", "subgroups", "facet"),
  cluster = c("id", "ids", "clusters", "subject", "cluster_id", "patient"),
  weights = c("w", "wt", "wts", "case_weights", "sample_weight", "weight"),
  event_level = c("positive", "pos_label", "pos", "event", "positive_class", "positive_level"),
  horizon = c("time", "eval_time", "tau", "at"),
  na_rm = c("na.rm", "na_action", "na.action"),
  bandwidth = c("sigma", "lengthscale", "length_scale", "h", "bw"),
  notion = c("average", "multi_class"),
  thresholds = c("threshold", "cutoffs", "cutoff", "xlim"),
  method = c("map", "calibrator", "estimator", "estimate"),
  methods = c("method", "estimator", "estimators"),
  type = c("strategy", "binning", "method", "smoother"),
  kernel = c("bandwidth", "sigma", "lengthscale", "kernels")
)

# Arguments and choices of other packages that do not exist here, by the sentence that says what does.
absent_words <- list(
  "Own edges of bins are the `breaks` of `ece()` and `ce_state()`." =
    c("breaks", "cuts", "cutpoints", "edges", "bin_edges"),
  "The prevalence is that of the rows, as `weights` count them." = c("prevalence", "prior", "pi"),
  "With competing risks `ce_horizon(time, cause = )` is the `horizon`." = c("cause", "competing", "fail_code")
)

# Choices.
choice_words <- list(
  mass = c("quantile", "quantiles", "equal_mass", "equal_frequency", "equal_freq", "frequency", "adaptive"),
  width = c("uniform", "equal_width", "equal", "fixed"),
  class_wise = c("marginal", "per_class", "ovr", "one_vs_rest", "one_vs_all", "macro"),
  top_label = c("top", "confidence", "conf", "max", "top1"),
  canonical = c("joint", "full", "strong", "multiclass", "distribution"),
  binary = c("scalar", "prob", "event"),
  bootstrap = c("boot", "resampling", "resample", "percentile", "bca"),
  platt = c("logistic", "sigmoid", "platt_scaling", "logit"),
  temperature = c("temp", "ts", "softmax"),
  histogram = c("binning", "bins"),
  isotonic = c("pava", "corp", "monotone", "iso"),
  smooth = c("loess", "lowess", "gam", "spline", "splines", "kernel", "rcs", "flexible"),
  binned = c("bins", "histogram", "reliability"),
  log = c("logloss", "nll", "cross_entropy", "mn_log_loss", "logarithmic"),
  brier = c("quadratic", "bs"),
  rps = "ranked_probability_score",
  `scikit-learn` = "sklearn"
)

plain_word <- function(x) gsub("[^a-z0-9]", "", tolower(encodeString(x)))

# The choice that `value` means; NULL if none is near.
meant_word <- function(value, choices, words = choice_words) {
  if (!rlang::is_string(value) || is.na(value) || length(choices) == 0) return(NULL)
  # also of text that is marked as bytes
  value <- encodeString(value)
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

# What to say of an argument or a choice that does not exist: `meant`, if that is the word, or what there is instead.
word_hint <- function(value, meant, quote = "\"") {
  absent <- if (rlang::is_string(value)) listed_word(value, absent_words)
  absent %||% if (!is.null(meant)) paste0("Did you mean ", quote, meant, quote, "?")
}

# The choice that contains the value or, with `part`, is part of it, and is not much longer or shorter. Else the one
# with the fewest changes, or NULL if more than two fifths of the letters would have to change.
# Words of up to three letters have the same first letter: each is most of a name.
nearest_word <- function(value, choices, part = TRUE) {
  inside <- vapply(choices, function(one) {
    size <- sort(nchar(c(value, one)))
    size[1] > max(2, 0.4 * size[2]) && (grepl(value, one, fixed = TRUE) || part && grepl(one, value, fixed = TRUE))
  }, NA)
  changes <- utils::adist(value, choices, ignore.case = TRUE)[1, ]
  near <- inside | nchar(value) > 1 & changes <= nchar(value) * 0.4
  near <- which(near & (nchar(value) > 3 | substr(choices, 1, 1) == substr(value, 1, 1)))
  if (length(near) > 0) unname(choices[near[order(changes[near] > 2, !inside[near], changes[near])[1]]])
}
