# Outcomes with a known calibration error on the predictions of networks, and what ce_tune() says of them, for
# data-raw/papers/choosing-an-estimator.R. A law is list(p, q, order): confidences and the probability of being right
# given the confidence, or the probabilities of the classes as predicted and given the prediction; and the authors' row
# order where it is known.

# Top-label: the logit of q is a cubic in the logit of the confidence, fitted to the network's own outcomes. The logit
# is cut where few outcomes can show a slope.
top_label_law <- function(name, authors = FALSE) {
  set <- read_network(if (grepl("wideresnet", name)) "cifar100" else "toplabel", name)
  if (is.null(set$confidence)) {
    set$confidence <- apply(set$probs, 1, max)
    set$pred <- max.col(set$probs, "first")
  }
  logit <- pmin(stats::qlogis(set$confidence), stats::qlogis(1 - 1e-5))
  fit <- stats::glm((set$pred == set$truth) ~ poly(logit, 3), family = stats::binomial())
  list(p = set$confidence, q = unname(stats::fitted(fit)), order = if (authors) numpy_order(length(logit)))
}

# Canonical: vector scaling, fitted to the network's own outcomes.
scaling_law <- function(folder, name) {
  set <- read_network(folder, name)
  p <- pmax(set$probs, 1e-12)
  p <- p / rowSums(p)
  list(p = p, q = fit_scaling(p, set$truth, TRUE))
}

# the splits that ce_tune() makes of n rows
random_splits <- function(n) {
  splits <- if (n < 500) 10 else if (n < 2000) 5 else 1
  lapply(seq_len(splits), function(r) calibrisk:::make_split(n))
}

# A draw: n rows of the network, new outcomes for them. A row per method, and one for ce_estimate(): the error of the
# estimate, with its sign, the mean risk, and how much it is above the smallest one, with the paired standard error. The
# truth is that of the rows that an estimate is read from: the test rows, or all.
one_draw <- function(law, n, seed) {
  set.seed(seed)
  in_order <- n == NROW(law$p) && !is.null(law$order)
  rows <- if (in_order) law$order else sample.int(NROW(law$p), n)
  of_classes <- is.matrix(law$p)
  p <- if (of_classes) law$p[rows, ] else law$p[rows]
  q <- if (of_classes) law$q[rows, ] else law$q[rows]
  y <- if (of_classes) draw_labels(q) else as.numeric(runif(n) < q)
  notion <- if (of_classes) "canonical" else "top_label"
  squared_gap <- rowSums(as.matrix(p - q)^2)
  if (in_order) {
    fold <- c(rep(1:5, each = 0.16 * n), integer(0.2 * n))
    splits <- list(list(fold = fold))
    tuned <- ce_tune(p, y, notion = notion, folds = fold)
  } else {
    set.seed(seed)
    splits <- random_splits(n)
    set.seed(seed)
    tuned <- ce_tune(p, y, notion = notion)
  }
  stopifnot(identical(tuned$split$fold, splits[[1]]$fold), tuned$n_splits == length(splits))
  truth <- sqrt(mean(vapply(splits, function(split) mean(squared_gap[split$fold == 0]), 0)))
  cells <- glance(tuned)
  methods <- data.frame(method = cells$method, error = cells$estimate_holdout - truth, risk = cells$risk,
                        above = cells$difference, above_se = cells$difference_std.error)
  all_rows <- data.frame(method = "ce_estimate()", error = cells$estimate[1] - sqrt(mean(squared_gap)), risk = NA,
                         above = NA, above_se = NA)
  cbind(draw = seed, rbind(methods, all_rows))
}
draws_of <- function(law, n, draws) do.call(rbind, lapply(seq_len(draws), one_draw, law = law, n = n))
