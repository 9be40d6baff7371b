# From metrics on all observations (metrics x models) and on subsamples (metrics x models x subsamples) to the tables of
# a ce_rank, its print and its tidiers. `compared`: per metric the p-values of pairs, as ce_compare() has them.

# `signs`: -1 of metrics of which larger values are better.
new_rank <- function(full, draws, n, n_sub, level, compared = list(), core = list(), n_classes = NULL, counted = NULL,
                     titles = stats::setNames(rownames(full), rownames(full)),
                     signs = stats::setNames(rep(1, nrow(full)), rownames(full)), beside = list()) {
  metrics <- rownames(full)
  # models, and models x subsamples
  of_metrics <- function(table) do.call(rbind, lapply(metrics, function(metric) {
    table(metric, full[metric, ], matrix(draws[metric, , ], ncol(full)), signs[[metric]])
  }))
  structure(
    list(
      estimates = of_metrics(function(metric, overall, values, sign) {
        rank_estimates(metric, overall, values, sign, level, compared[[metric]])
      }),
      orders = of_metrics(rank_orders), pairs = of_metrics(rank_pairs),
      draws = columns_frame(
        sample = rep(seq_len(dim(draws)[3]), each = prod(dim(draws)[1:2])),
        metric = rep(metrics, times = prod(dim(draws)[2:3])),
        model = rep(rep(colnames(full), each = length(metrics)), times = dim(draws)[3]),
        estimate = as.numeric(draws)
      ),
      n = n, n_sub = n_sub, times = dim(draws)[3], level = level, core = drop_null(core),
      n_classes = n_classes, counted = counted, titles = titles, tests = compared, signs = signs, beside = beside
    ),
    class = c("ce_rank", "ce_result")
  )
}

rank_estimates <- function(metric, overall, values, sign, level, compared) {
  models <- names(overall)
  overall <- unname(overall)
  of_samples <- if (ncol(values) > 0) cpp_rank_samples(values, sign, level)
  out <- columns_frame(
    metric = metric, model = models, estimate = overall,
    rank = cpp_ranks(cbind(sign * overall))[, 1], !!!of_samples,
    can_be_best = !is.na(overall) & !models %in% shown_worse(compared, 1 - level, sign)
  )
  out[order(sign * out$estimate), ]
}

# The models of which another is better by the test of a pair.
shown_worse <- function(pairs, alpha, sign = 1) {
  apart <- which(pairs$p.value < alpha)
  ifelse(sign * pairs$difference > 0, pairs$a, pairs$b)[apart]
}

# By how much each model is above the best one, with simultaneous limits and p-value, from the tests of all pairs.
to_best <- function(tests, best, models) {
  rows <- vapply(models, function(model) {
    match(TRUE, tests$a %in% c(best, model) & tests$b %in% c(best, model) & model != best)
  }, 1L)
  turned <- ifelse(tests$a[rows] == best, -1, 1)
  limits <- cbind(tests$conf.low[rows], tests$conf.high[rows]) * turned
  columns_frame(model = models, difference = ifelse(models == best, 0, turned * tests$difference[rows]),
                conf.low = pmin(limits[, 1], limits[, 2]), conf.high = pmax(limits[, 1], limits[, 2]),
                p.value = tests$p.value[rows])
}

# "a < b = c" for every column of ranks; "a > b" where larger values, with a `sign` of -1, are better.
order_labels <- function(ranks, models, sign) {
  better <- if (sign < 0) " > " else " < "
  apply(ranks, 2, function(own) {
    at <- order(own)
    paste0(c("", ifelse(diff(own[at]) %in% 0L, " = ", better)), models[at], collapse = "")
  })
}

rank_orders <- function(metric, overall, values, sign) {
  seen <- if (ncol(values) > 0) order_labels(cpp_ranks(sign * values), names(overall), sign)
  reference <- order_labels(cpp_ranks(sign * cbind(overall)), names(overall), sign)
  counts <- table(factor(seen, levels = union(reference, unique(seen))))
  out <- columns_frame(
    metric = metric, order = names(counts), count = as.integer(counts),
    share = if (ncol(values) > 0) as.integer(counts) / ncol(values) else NA_real_,
    full = names(counts) == reference
  )
  out[order(-out$count, !out$full), ]
}

rank_pairs <- function(metric, overall, values, sign) {
  found <- cpp_rank_pairs(overall, values, sign)
  found[1:2] <- lapply(found[1:2], function(at) names(overall)[at])
  columns_frame(metric = metric, !!!found)
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
  drawn <- x$times > 0
  cat("<ce_rank> ", length(unique(x$estimates$model)), " models, ", count_of(x$n, "observation"),
      if (drawn) paste0("; ", count_of(x$times, "subsample"), " of ", big(x$n_sub), " without replacement"), "\n",
      counted_line(x), sep = "")
  summary <- glance(x)
  short <- short_names(unique(x$estimates$model))
  for (i in seq_len(nrow(summary))) {
    row <- summary[i, ]
    one <- x$estimates[x$estimates$metric == row$metric, ]
    cat("\n", row$metric, if (drawn) paste0(
      ": this order", if (grepl(" = ", row$order, fixed = TRUE)) " (with equal models)", " in ", percent(row$share),
      " of subsamples"), if (x$signs[[row$metric]] < 0) " (larger is better)", "\n", sep = "")
    columns <- if (drawn) {
      list(paste0(format(one$mean, digits = 3), " +- ", format(one$std.deviation, digits = 2)), percent(one$best_share))
    } else {
      list(difference_text(to_best(x$tests[[row$metric]], one$model[1], one$model)))
    }
    names(columns) <- if (drawn) c("mean +- sd at n_sub", paste("first with", big(x$n_sub), "new rows")) else
      paste0("minus the best (", percent_text(x$level), " CI)")
    if (!drawn) columns <- c(columns, lapply(x$beside, function(v) fixed_text(v[one$model], 3)))
    print(data.frame(" " = one$rank, model = short[one$model], estimate = format(one$estimate, digits = 3), columns,
                     check.names = FALSE), row.names = FALSE)
    one$model <- short[one$model]
    print_lines(best_sentence(one, x))
  }
  for (note in c(cut_names_line(short), if (length(unique(summary$best)) > 1) several_questions,
                 lapply(names(x$core), ckce_note, x$core), binary_note(x))) {
    if (length(note) == 0) next
    cat("\n")
    print_lines(note)
  }
  invisible(x)
}

several_questions <- paste(
  "The metrics have different best models: they ask different questions. A calibration error alone does not choose a",
  "model, since one that predicts the same frequency for everybody is calibrated."
)

# "0.012 (0.008 to 0.016)", nothing of the best itself.
difference_text <- function(rows) {
  digits <- max(printed_digits(rows$difference, rows$conf.low, rows$conf.high), na.rm = TRUE)
  ifelse(is.na(rows$p.value) & rows$difference %in% 0, "",
         interval_text(rows$difference, rows$conf.low, rows$conf.high, digits))
}

# Names that fit beside numbers, named by the whole ones. If some are longer than `width`, without the words that all
# begin or end with, and without the middle of those longer than `most`, unless two are then the same.
short_names <- function(names, width = 20, most = width) {
  short <- names
  if (length(names) > 1 && max(nchar(names)) > width) {
    words <- without_common(without_common(strsplit(names, "(?<=[._ -])", perl = TRUE)), rev)
    short <- sub("[._ -]+$", "", vapply(words, paste, "", collapse = ""))
    long <- nchar(short) > most
    half <- (most - 2) %/% 2
    short[long] <- paste0(substr(short, 1, half), "..", substring(short, nchar(short) - half + 1))[long]
    if (anyDuplicated(short) > 0 || !all(nzchar(short))) short <- names
  }
  stats::setNames(short, names)
}

# Said where names are cut.
cut_names_line <- function(short) {
  if (any(short != names(short))) paste0("Names are cut, such as ", names(short)[short != names(short)][1], ".")
}

# Lists of words without the first ones that they share; one word of each is left.
without_common <- function(words, turn = identity) {
  words <- lapply(words, turn)
  shared <- Position(function(i) length(unique(vapply(words, `[`, "", i))) > 1, seq_len(min(lengths(words)) - 1),
                     nomatch = min(lengths(words))) - 1
  lapply(words, function(one) turn(one[seq_along(one) > shared]))
}

best_names <- function(names, best) {
  if (all(best)) "each model" else if (any(best)) toString(names[best]) else "no model, since none has a value"
}

best_sentence <- function(one, x) {
  paste0("Can be the best: ", best_names(one$model, one$can_be_best),
         " (paired differences of ", if (x$n > 1) "all ", count_of(x$n, "row"), " at ", percent_text(1 - x$level),
         if (nrow(one) > 2) ", Holm", if (nrow(one) > 2 && x$times == 0) "; intervals are simultaneous", ").")
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
