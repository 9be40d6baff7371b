# Weights and clusters of the rows. A design is a list:
#   n        rows
#   w        numeric n, what each row counts in a mean; NULL: 1
#   copies   numeric n, how many equal rows each stands for, each of the weight w / copies; NULL: 1
#   cluster  integer n in 1..C; NULL where rows are independent
#   strata, drawn  of a survey: integer n, and how many clusters (rows) were drawn in each row's stratum; else NULL
#   dealt    where the copies of a row are in several rows, one for each fold by its values (copies_by_fold()): what
#            says which; else NULL
#   follow_up  list(horizon, events, censored) of survival outcomes: `censored` rows are not among the n, but are in
#            every printed number of rows (entered_rows()), `horizon` is a named_horizon(); else NULL
#
# Frequency weights are copies where a function takes them (design_input(copies = TRUE)). For all others the rows are
# repeated when they are read (R/design-read.R). Every number, error and test is that of the repeated rows.

new_design <- function(n, w = copies, cluster = NULL, copies = NULL) {
  # the core takes doubles
  if (is.integer(w)) w <- as.numeric(w)
  if (is.integer(copies)) copies <- as.numeric(copies)
  out <- list(n = n, w = w, cluster = cluster)
  out$copies <- copies
  out
}

is_plain <- function(design) is.null(design$w) && is.null(design$cluster) && is.null(design$strata)

# The argument that weights come from.
weights_arg <- function(design) if (is.null(design$follow_up)) "weights" else "horizon"

# Whether rows are independent copies of one weight.
is_unweighted <- function(design) is.null(design$cluster) && cpp_equal_copies(design)

# The same rows with other weights, `each` of a copy.
reweighted <- function(design, each) {
  w <- if (all(each == each[1]) %in% TRUE) design$copies else each * (design$copies %||% 1)
  new_design(design$n, w, design$cluster, design$copies)
}

# Number of rows with their copies, an integer if it is small enough.
copy_count <- function(design) {
  if (is.null(design$copies)) return(design$n)
  n <- sum(design$copies)
  if (n == round(n) && n <= .Machine$integer.max) as.integer(n) else n
}

# All rows that entered, those that were censored by the horizon too.
entered_rows <- function(design) copy_count(design) + (design$follow_up$censored %||% 0L)

# The sum of weight^k over the copies of every row: w^k / copies^(k - 1).
copy_powers <- function(design, k) {
  w <- design_weights(design)
  if (is.null(design$copies)) w^k else w * (w / design$copies)^(k - 1)
}

# (w v)^k of every independent unit: of each cluster, whose rows are added up first, or summed over the copies of each
# row.
unit_powers <- function(v, design, k) {
  if (is.null(design$cluster)) return(if (is.null(design$w)) v^k else copy_powers(design, k) * v^k)
  sum_by_cluster(if (is.null(design$w)) v else design$w * v, design$cluster)^k
}

# The rows with other numbers of copies of the same weights.
recounted <- function(design, copies) {
  w <- if (cpp_equal_copies(design)) copies else design$w * (copies / (design$copies %||% 1))
  new_design(design$n, w, design$cluster, copies)
}

design_rows <- function(design, rows) {
  out <- if (is_plain(design)) {
    new_design(if (is.logical(rows)) sum(rows) else length(rows))
  } else {
    cluster <- design$cluster[rows]
    w <- design$w[rows]
    new_design(length(cluster %||% w %||% design$strata[rows]), w, if (!is.null(cluster)) cluster_codes(cluster),
               design$copies[rows])
  }
  for (part in c("strata", "drawn")) out[[part]] <- design[[part]][rows]
  # of a part nobody knows how many were censored
  if (isTRUE(out$n == design$n)) out$follow_up <- design$follow_up
  out
}

# 1..C in the order of the labels.
cluster_codes <- function(labels) {
  (if (is.integer(labels)) cpp_label_ranks(labels)) %||% match(labels, sort(unique(labels)))
}

# Sums of the rows of a vector or matrix over the clusters 1..n.
sum_by_cluster <- function(x, cluster, n = max(cluster, 0L)) {
  sums <- cpp_cluster_sums(as.matrix(x), cluster, n)
  if (is.matrix(x)) sums else sums[, 1]
}

# Number of copies in each of the groups 1, ..., n of rows that stand for so many copies.
copies_by_group <- function(copies, group, n) {
  if (is.null(copies)) tabulate(group, n) else sum_by_cluster(as.numeric(copies), group, n)
}

design_weights <- function(design) design$w %||% rep(1, design$n)

# Weights of mean 1, NULL for unweighted rows: for iterations whose tolerance depends on the number of rows.
relative_weights <- function(design) if (!is.null(design$w)) design$w / mean(design$w)

# W1 = sum w
total_weight <- function(design) if (is.null(design$w)) design$n else sum(design$w)

# w / W1
row_shares <- function(design) if (is.null(design$w)) rep(1 / design$n, design$n) else design$w / sum(design$w)

# sum w^2 / W1^2 over all copies: 1 over their effective number
weight_concentration <- function(design) {
  if (is.null(design$w)) 1 / design$n else sum(copy_powers(design, 2)) / sum(design$w)^2
}

row_mean <- function(rows, design) {
  if (!is.null(design$w)) return(sum(design$w * rows) / sum(design$w))
  if (is_many(rows)) cpp_row_moments(rows)[1] else mean(rows)
}

# mean() takes four times as long as the core, but of few rows a call of the core takes longer.
is_many <- function(rows) length(rows) >= 1000 && is.double(rows)

# Quantiles of weighted values, of the types 1 and 7 of quantile(): inst/include/calibrisk/math/weighted_quantile.h.
# `copies`: how many equal values each stands for, of the weight w in all.
weighted_quantile <- function(values, probs, w = NULL, type = 7, copies = NULL) {
  cpp_weighted_quantile(values, probs, w %||% numeric(), copies %||% numeric(), type == 7)
}

design_quantile <- function(p, design, df = cpp_design_df(design)) if (df < 1) NA_real_ else stats::qt(p, df)

# Degrees of freedom of a paired difference of losses, the mean of `rows`: with few events nearly all of its error is
# that of the rarer class. `y`: numbers or labels of two classes, of which 1 is one.
paired_df <- function(rows, y, n_classes, design) {
  min(cpp_design_df(design), c(cpp_few_rows(rows, design), if (n_classes == 2) cpp_few_events(y == 1, design)) - 1)
}

# Rows of a bootstrap sample: those of single copies, or of whole clusters.
resampled_rows <- function(design) {
  n <- copy_count(design)
  if (is.null(design$cluster)) return(rows_of_copies(sample.int(n, n, replace = TRUE), design))
  members <- split(seq_len(design$n), design$cluster)
  unlist(members[sample.int(length(members), replace = TRUE)], use.names = FALSE)
}

# The row of each of these copies, which are numbered from 1.
rows_of_copies <- function(at, design) {
  if (is.null(design$copies)) at else findInterval(at - 1, cumsum(design$copies)) + 1L
}

# Beyond it repeated rows would take more memory than most computers have.
most_repeated_rows <- 5e7

# With more rows a thousand random numbers for each row take seconds.
many_rows <- 1e5

# The number of copies of every row in a bootstrap sample. Many copies are drawn at once: their numbers are multinomial,
# as those of single draws; where no integer holds their sum, they are Poisson numbers.
resampled_copies <- function(design) {
  n <- copy_count(design)
  if (is.null(design$cluster) && n > max(many_rows, 2 * design$n)) {
    return(if (is.integer(n)) stats::rmultinom(1, n, design$copies)[, 1] else stats::rpois(design$n, design$copies))
  }
  times <- tabulate(resampled_rows(design), design$n)
  if (is.null(design$cluster)) times else times * (design$copies %||% 1)
}

# NULL where rows are independent.
cluster_count <- function(design) if (!is.null(design$cluster)) max(design$cluster, 0)

check_clusters <- function(design, needed = 2) {
  clusters <- cluster_count(design)
  stop_if(!is.null(clusters) && clusters < needed,
          "At least {needed} clusters are needed: pairs and sets are those across clusters.",
          "x" = "There {cli::qty(clusters)}{?is/are} {clusters}.", class = c("rows", "argument"), arg = "cluster")
}

# A sentence on the weights and clusters of rows, from the least to the most of several groups; NULL for plain rows.
# `rows`: whether it counts them; if not, another line has done so.
design_sentence <- function(designs, rows = TRUE) {
  if (all(vapply(designs, function(design) length(drop_null(design)) == 1, NA))) return(NULL)
  effective <- function(design) 1 / weight_concentration(design)
  of <- function(value) vapply(designs, value, 0)
  span <- function(v, keep = 15) paste(unique(lapply(signif(range(of(v)), keep), count_text)), collapse = " to ")
  given <- function(name) !vapply(lapply(designs, `[[`, name), is.null, NA)
  counted <- if (!rows) {
    NULL
  } else if (length(designs) > 0 && all(given("follow_up"))) {
    follow_up_text(of(entered_rows), of(function(design) design$follow_up$events),
                   of(function(design) design$follow_up$censored), of(effective), designs[[1]]$follow_up$horizon)
  } else if (!all(vapply(designs, cpp_equal_copies, NA))) {
    paste0("rows are weighted: effective sample size ", span(effective, 3), " of ", span(copy_count))
  }
  clustered <- if (any(given("cluster"))) {
    clusters <- function(design) cluster_count(design) %||% copy_count(design)
    paste0(if (span(clusters) == "1") "all rows are one cluster" else {
      paste("standard errors treat the", span(clusters), "clusters as independent units")
    }, if (any(given("strata"))) {
             paste(" in", span(function(design) length(unique(design$strata))), "strata")
           })
  }
  said <- paste(c(counted, clustered), collapse = "; ")
  if (nzchar(said)) paste0(first_upper(said), ".")
}

# "686 rows, 285 events by 1826, 280 censored before; effective sample size 338".
follow_up_text <- function(n, events, censored, effective, horizon) {
  span <- function(values) paste(unique(count_text(round(range(values)))), collapse = " to ")
  paste0(span(n), " row", if (any(n != 1)) "s", ", ",
         span(events), " event", if (any(events != 1)) "s", horizon_text(horizon), ", ",
         if (all(censored == 0)) "none" else span(censored), " censored before",
         if (any(censored > 0)) paste0("; effective sample size ", span(effective)))
}

# Number of rows with their copies.
n_obs <- function(predictions) {
  # of sums, and of predictive distributions
  if (!is.null(predictions[["n"]])) return(predictions[["n"]])
  if (!is.null(predictions$design$copies)) return(copy_count(predictions$design))
  if (is.null(predictions$probs)) length(predictions$prob) else nrow(predictions$probs)
}

new_ce_predictions <- function(probs = NULL, truth = NULL, prob = NULL, outcome = NULL, levels,
                               event, rows, dropped, na, n_input, column = NULL, named = FALSE,
                               design = new_design(length(rows))) {
  out <- list(probs = probs, truth = truth, prob = prob, outcome = outcome, levels = levels, event = event, rows = rows,
              dropped = dropped, na = na, column = column, named = named, n_input = n_input, design = design)
  attr(out, "is_read") <- TRUE
  out
}
