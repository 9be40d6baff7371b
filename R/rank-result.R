# From metrics on all observations (metrics x models) and on subsamples (metrics x models x subsamples) to the tables of
# a ce_rank, its print and its tidiers. `compared`: per metric the p-values of pairs, as ce_compare() has them.

new_rank <- function(full, draws, n, n_sub, level, compared = list(), core = list(), n_classes = NULL, counted = NULL,
                     titles = stats::setNames(rownames(full), rownames(full))) {
  metrics <- rownames(full)
  structure(
    list(
      estimates = do.call(rbind, lapply(metrics, rank_estimates, full, draws, level, compared)),
      orders = do.call(rbind, lapply(metrics, rank_orders, full, draws)),
      pairs = do.call(rbind, lapply(metrics, rank_pairs, full, draws)),
      draws = columns_frame(
        sample = rep(seq_len(dim(draws)[3]), each = prod(dim(draws)[1:2])),
        metric = rep(metrics, times = prod(dim(draws)[2:3])),
        model = rep(rep(colnames(full), each = length(metrics)), times = dim(draws)[3]),
        estimate = as.numeric(draws)
      ),
      n = n, n_sub = n_sub, times = dim(draws)[3], level = level, core = drop_null(core),
      n_classes = n_classes, counted = counted, titles = titles
    ),
    class = c("ce_rank", "ce_result")
  )
}

rank_estimates <- function(metric, full, draws, level, compared) {
  values <- matrix(draws[metric, , ], ncol(full))
  range <- apply(values, 1, quantile, c((1 - level) / 2, (1 + level) / 2), na.rm = TRUE, names = FALSE)
  overall <- as.numeric(full[metric, ])
  out <- columns_frame(
    metric = metric, model = colnames(full), estimate = overall,
    rank = as.integer(rank(tied_values(cbind(overall)), ties.method = "min", na.last = "keep")),
    mean = rowMeans(values), std.deviation = apply(values, 1, sd),
    low = range[1, ], high = range[2, ],
    best_share = rowMeans(first_places(values)),
    can_be_best = !colnames(full) %in% shown_worse(compared[[metric]], 1 - level)
  )
  out[order(out$estimate), ]
}

# The models of which another is better by the test of a pair.
shown_worse <- function(pairs, alpha) {
  apart <- which(pairs$p.value < alpha)
  ifelse(pairs$difference > 0, pairs$a, pairs$b)[apart]
}

# Positions that sort every column.
order_columns <- function(values) order(col(values), values)

# Models x subsamples: in every subsample, values that differ by rounding only become equal, the smallest of them.
tied_values <- function(values, tolerance = 1e-12) {
  at <- order_columns(values)
  sorted <- values
  sorted[] <- values[at]
  for (i in seq_len(nrow(sorted))[-1]) {
    near <- which(sorted[i, ] - sorted[i - 1, ] <= tolerance * abs(sorted[i, ]))
    sorted[i, near] <- sorted[i - 1, near]
  }
  values[at] <- sorted
  values
}

# 1 for the best model of a subsample, shared between equal ones, 0 where none is defined.
first_places <- function(values) {
  values <- tied_values(values)
  least <- do.call(pmin, c(lapply(seq_len(nrow(values)), function(i) values[i, ]), na.rm = TRUE))
  first <- values == rep(least, each = nrow(values))
  first[is.na(first)] <- FALSE
  first / rep(pmax(colSums(first), 1), each = nrow(values))
}

# "a < b = c" for every subsample.
order_labels <- function(values, models) {
  sorted <- tied_values(values)
  at <- order_columns(sorted)
  sorted[] <- sorted[at]
  names <- matrix(models[row(values)[at]], nrow(values))
  labels <- names[1, ]
  for (i in seq_along(models)[-1]) {
    equal <- (sorted[i, ] == sorted[i - 1, ]) %in% TRUE
    labels <- paste0(labels, ifelse(equal, " = ", " < "), names[i, ])
  }
  labels
}

rank_orders <- function(metric, full, draws) {
  values <- matrix(draws[metric, , ], ncol(full))
  seen <- order_labels(values, colnames(full))
  reference <- order_labels(cbind(full[metric, ]), colnames(full))
  counts <- table(factor(seen, levels = union(reference, unique(seen))))
  out <- columns_frame(
    metric = metric, order = names(counts), count = as.integer(counts), share = as.integer(counts) / ncol(values),
    full = names(counts) == reference
  )
  out[order(-out$count, !out$full), ]
}

# Each pair once, the better one on all observations first.
rank_pairs <- function(metric, full, draws) {
  models <- colnames(full)[order(full[metric, ])]
  at <- utils::combn(length(models), 2)
  values <- matrix(draws[metric, , ], ncol(full), dimnames = list(colnames(full), NULL))
  do.call(rbind, lapply(seq_len(ncol(at)), function(p) {
    a <- models[at[1, p]]
    b <- models[at[2, p]]
    gap <- values[a, ] - values[b, ]
    difference <- unname(full[metric, a] - full[metric, b])
    both <- tied_values(values[c(a, b), , drop = FALSE])
    ties <- sum(both[1, ] == both[2, ], na.rm = TRUE)
    columns_frame(
      metric = metric, model = a, other = b,
      difference = difference,
      mean = mean(gap), std.deviation = sd(gap),
      share = (sum(both[1, ] < both[2, ], na.rm = TRUE) + ties / 2) / length(gap), ties = ties / length(gap)
    )
  }))
}

#' @export
tidy.ce_rank <- function(x, ...) {
  out <- x$estimates
  out$n <- x$n
  out
}

#' @export
glance.ce_rank <- function(x, ...) {
  metrics <- unique(x$estimates$metric)
  do.call(rbind, lapply(metrics, function(metric) {
    reference <- x$orders[x$orders$metric == metric & x$orders$full, ]
    columns_frame(
      metric = metric, best = x$estimates$model[x$estimates$metric == metric][1],
      order = reference$order, share = reference$share, n = x$n, n_sub = x$n_sub, times = x$times
    )
  }))
}

#' @export
print.ce_rank <- function(x, ...) {
  big <- count_text
  percent <- function(v) percent_text(v, 0)
  cat("<ce_rank> ", length(unique(x$estimates$model)), " models, ", big(x$n), " observations; ",
      big(x$times), " subsamples of ", big(x$n_sub), " without replacement\n", counted_line(x), sep = "")
  summary <- glance(x)
  for (i in seq_len(nrow(summary))) {
    row <- summary[i, ]
    cat("\n", row$metric, ": this order", if (grepl(" = ", row$order, fixed = TRUE)) " (with equal models)", " in ",
        percent(row$share), " of subsamples\n", sep = "")
    one <- x$estimates[x$estimates$metric == row$metric, ]
    shown <- data.frame(
      " " = one$rank, model = one$model, estimate = format(one$estimate, digits = 3),
      `mean +- sd at n_sub` = paste0(format(one$mean, digits = 3), " +- ", format(one$std.deviation, digits = 2)),
      first = percent(one$best_share), check.names = FALSE
    )
    names(shown)[5] <- paste("first with", big(x$n_sub), "new rows")
    print(shown, row.names = FALSE)
    print_lines(best_sentence(one, x))
  }
  for (note in c(lapply(names(x$core), ckce_note, x$core), binary_note(x))) {
    if (length(note) == 0) next
    cat("\n")
    print_lines(note)
  }
  invisible(x)
}

best_sentence <- function(one, x) {
  paste0("Can be the best: ", if (all(one$can_be_best)) "each model" else toString(one$model[one$can_be_best]),
         " (paired differences of all ", count_text(x$n), " rows at ", percent_text(1 - x$level),
         if (nrow(one) > 2) ", Holm", ").")
}

ckce_note <- function(name, core) {
  one <- core[[name]]
  if (!startsWith(one$row, "ckce")) return(NULL)
  paste0(name, ": ", format(one$kernel), ", ridge ", if (is.null(one$ridge)) "n^(-1/4) of each sample" else
    format(one$ridge), ", bandwidth per model and sample; values at different n are not comparable.")
}

# Metrics of two classes that a factor of 2 may be missing from.
binary_note <- function(x) {
  if (is.null(x$n_classes) || x$n_classes > 2) return(NULL)
  rows <- vapply(x$core, `[[`, "", "row")
  sums <- names(rows)[rows %in% c("ece_canonical", "ece_pointwise")]
  c(if ("brier" %in% rows) "brier: mean (p - y)^2, half the sum over both classes.",
    if (length(sums) > 0) paste0(toString(sums), ": summed over both classes, twice the value of one."))
}
