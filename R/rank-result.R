# From metrics on all observations (metrics x models) and on subsamples (metrics x models x
# trials) to the tables of a ce_rank, its print and its tidiers.

new_rank <- function(full, draws, n, n_sub, level, choices) {
  metrics <- rownames(full)
  structure(
    list(
      estimates = do.call(rbind, lapply(metrics, rank_estimates, full, draws, level)),
      orders = do.call(rbind, lapply(metrics, rank_orders, full, draws, level)),
      pairs = do.call(rbind, lapply(metrics, rank_pairs, full, draws, level)),
      draws = tibble::tibble(
        trial = rep(seq_len(dim(draws)[3]), each = prod(dim(draws)[1:2])),
        metric = rep(metrics, times = prod(dim(draws)[2:3])),
        model = rep(rep(colnames(full), each = length(metrics)), times = dim(draws)[3]),
        estimate = as.numeric(draws)
      ),
      n = n, n_sub = n_sub, trials = dim(draws)[3], level = level, choices = choices
    ),
    class = "ce_rank"
  )
}

# Wilson's score interval of a share.
wilson_interval <- function(successes, trials, level = 0.95, z = qnorm((1 + level) / 2)) {
  share <- successes / trials
  centre <- share + z^2 / (2 * trials)
  half <- z * sqrt(share * (1 - share) / trials + z^2 / (4 * trials^2))
  # at the ends the two terms cancel exactly, but not in floating point
  low <- ifelse(successes == 0, 0, (centre - half) / (1 + z^2 / trials))
  high <- ifelse(successes == trials, 1, (centre + half) / (1 + z^2 / trials))
  list(share = share, low = low, high = high)
}

rank_estimates <- function(metric, full, draws, level) {
  values <- matrix(draws[metric, , ], ncol(full))
  winners <- apply(values, 2, function(v) order(v)[1])
  best <- wilson_interval(tabulate(winners, ncol(full)), ncol(values), level)
  range <- apply(values, 1, quantile, c((1 - level) / 2, (1 + level) / 2), na.rm = TRUE, names = FALSE)
  overall <- as.numeric(full[metric, ])
  out <- tibble::tibble(
    metric = metric, model = colnames(full), estimate = overall,
    rank = as.integer(rank(overall, ties.method = "min", na.last = "keep")),
    mean = rowMeans(values), std.deviation = apply(values, 1, sd),
    low = range[1, ], high = range[2, ],
    best_share = best$share, best_low = best$low, best_high = best$high
  )
  out[order(out$estimate), ]
}

order_label <- function(values, models) paste(models[order(values)], collapse = " < ")

rank_orders <- function(metric, full, draws, level) {
  values <- matrix(draws[metric, , ], ncol(full))
  seen <- apply(values, 2, order_label, colnames(full))
  reference <- order_label(full[metric, ], colnames(full))
  counts <- table(factor(seen, levels = union(reference, unique(seen))))
  wilson <- wilson_interval(as.integer(counts), ncol(values), level)
  out <- tibble::tibble(
    metric = metric, order = names(counts), count = as.integer(counts), share = wilson$share,
    conf.low = wilson$low, conf.high = wilson$high, full = names(counts) == reference
  )
  out[order(-out$count, !out$full), ]
}

# Each pair once, the better one on all observations first.
rank_pairs <- function(metric, full, draws, level) {
  models <- colnames(full)[order(full[metric, ])]
  at <- utils::combn(length(models), 2)
  values <- matrix(draws[metric, , ], ncol(full), dimnames = list(colnames(full), NULL))
  do.call(rbind, lapply(seq_len(ncol(at)), function(p) {
    a <- models[at[1, p]]
    b <- models[at[2, p]]
    gap <- values[a, ] - values[b, ]
    difference <- unname(full[metric, a] - full[metric, b])
    wilson <- wilson_interval(sum(values[a, ] < values[b, ], na.rm = TRUE), length(gap), level)
    tibble::tibble(
      metric = metric, model = a, other = b,
      difference = difference,
      mean = mean(gap), std.deviation = sd(gap), share = wilson$share,
      conf.low = wilson$low, conf.high = wilson$high
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
    tibble::tibble(
      metric = metric, best = x$estimates$model[x$estimates$metric == metric][1],
      order = reference$order, share = reference$share, conf.low = reference$conf.low,
      conf.high = reference$conf.high, n = x$n, n_sub = x$n_sub, trials = x$trials
    )
  }))
}

#' @export
print.ce_rank <- function(x, ...) {
  big <- function(n) format(n, big.mark = ",", trim = TRUE)
  percent <- function(v) paste0(formatC(100 * v, digits = 0, format = "f"))
  cat("<ce_rank> ", length(unique(x$estimates$model)), " models, ", big(x$n), " observations; ",
      big(x$trials), " subsamples of ", big(x$n_sub), " without replacement\n", sep = "")
  summary <- glance(x)
  for (i in seq_len(nrow(summary))) {
    row <- summary[i, ]
    cat("\n", row$metric, ": this order in ", percent(row$share), " % of subsamples [",
        percent(row$conf.low), ", ", percent(row$conf.high), "]\n", sep = "")
    one <- x$estimates[x$estimates$metric == row$metric, ]
    shown <- data.frame(
      " " = one$rank, model = one$model, estimate = format(one$estimate, digits = 3),
      `mean +- sd at n_sub` = paste0(format(one$mean, digits = 3), " +- ", format(one$std.deviation, digits = 2)),
      `first in` = paste0(percent(one$best_share), " % [", percent(one$best_low), ", ", percent(one$best_high), "]"),
      check.names = FALSE
    )
    print(shown, row.names = FALSE)
  }
  if (any(startsWith(summary$metric, "ckce"))) {
    choices <- x$choices
    note <- paste0(
      "ckce: ", format(choices$kernel), ", ridge ",
      if (is.null(choices$ridge)) "n^(-1/4) of each sample" else format(choices$ridge),
      ", bandwidth per ", if (choices$bandwidth == "pooled") "pool of models" else "model and sample",
      "; values at different n are not comparable."
    )
    cat("\n", paste(strwrap(note, 76, exdent = 2), collapse = "\n"), "\n", sep = "")
  }
  invisible(x)
}
