# Counts of a database's rows, and the errors of values that are no predictions (see R/database-rows.R).

sql_complete <- function(rows, k) {
  paste(c(paste0("ce_p", seq_len(k)), "ce_t", "ce_w", if (is_clustered(rows)) "ce_cluster"), "IS NOT NULL",
        collapse = " AND ")
}

# One query counts the rows and finds values that no prediction has; NaN is above all numbers where there is one.
count_rows <- function(rows, inner, k, coded, call) {
  p <- paste0("ce_p", seq_len(k))
  total <- paste(p, collapse = " + ")
  count <- function(condition) paste0("CASE WHEN ", condition, " THEN 1 ELSE 0 END")
  complete <- sql_complete(rows, k)
  used <- paste(complete, "AND ce_w > 0")
  off <- function(tolerance) {
    count(paste0(complete, " AND ABS(", total, " - 1) > ", sql_number(tolerance)))
  }
  outside <- paste0("(", paste0(p, " < 0 OR ", p, " > ", sql_number(if (k == 1) 1 else 1e300), collapse = " OR "), ")")
  among_used <- function(expression) paste0("CASE WHEN ", used, " THEN ", expression, " END")
  sums <- c(n_all = "1", n = count(complete), used = count(used), outside = count(outside),
            nan = count(paste0("(", paste0(p, " > ", sql_number(1.7976931348623157e308), collapse = " OR "), ")")),
            bad_weight = count(paste0("(ce_w < 0 OR ce_w > ", sql_number(1e300), ")")),
            off = if (k > 1) off(sum_tolerance$float), inexact = if (k > 1) off(sum_tolerance$exact),
            weight = among_used("ce_w"), weight2 = among_used("ce_w * ce_w"))
  extremes <- paste0("MIN(", p, ") AS low", seq_len(k), ", MAX(", p, ") AS high", seq_len(k), collapse = ", ")
  # a complete row's weights only
  weights <- paste0("MIN(", among_used("ce_w"), ") AS low_weight, MAX(", among_used("ce_w"), ") AS high_weight, ",
                    "MIN(ce_w) AS least_weight, MAX(ce_w) AS most_weight")
  clusters <- if (is_clustered(rows)) {
    paste0(sql_double(paste0("COUNT(DISTINCT ", among_used("ce_cluster"), ")")), " AS clusters")
  }
  sql <- paste0("SELECT ", sql_list(rows$by, sql_sums(sums), extremes, weights, clusters,
                                    if (k > 1) paste0("MIN(", total, ") AS low, MAX(", total, ") AS high")),
                " FROM (", inner, ") ce_inner", sql_group(rows$by))
  found <- database_query(rows$db, sql, call)
  number <- setdiff(names(found), rows$by)
  found[number] <- lapply(found[number], as.numeric)
  if (length(rows$by) > 0) {
    keys <- tibble::as_tibble(setNames(found[rows$by], rows$groups))
    order <- level_order(keys)
    found <- found[order, ]
    rows$keys <- vctrs::vec_slice(keys, order)
  }
  rows$counts <- found
  check_row_counts(rows, k, call)
  rows
}

sql_group <- function(columns) if (length(columns) > 0) paste(" GROUP BY", paste(columns, collapse = ", ")) else ""

# The errors of predictions in memory, without the number of a row, which tables do not have.
check_row_counts <- function(rows, k, call) {
  some <- function(name) sum(rows$counts[[name]], na.rm = TRUE)
  extreme <- function(low, high) range(unlist(rows$counts[c(low, high)]), na.rm = TRUE)
  n <- some("n_all")
  if (some("outside") > 0) stop_outside(rows, k, some, call)
  if (some("off") > 0) {
    value <- extreme("low", "high")
    value <- value[which.max(abs(value - 1))]
    stop_input(c(
      "Rows of {.arg x} must sum to 1.",
      "x" = "One sums to {.val {value}}; {some('off')} of {n} rows are off by more than {.val {sum_tolerance$float}}."
    ), "probs", arg = "x", value = value, call = call)
  }
  if (some("inexact") > 0) {
    tell(c("i" = "Renormalised {some('inexact')} of {n} rows that summed to 1 only nearly (single precision?)."),
         "renormalised")
  }
  if (some("bad_weight") > 0) {
    value <- extreme("least_weight", "most_weight")
    stop_input(c(
      "{.arg weights} must be finite and not negative.",
      "x" = "One is {.val {value[if (value[1] < 0) 1 else 2]}}; {some('bad_weight')} of {n} rows are affected."
    ), "weights", arg = "weights", call = call)
  }
  if (length(rows$by) == 0 && is_empty_group(rows, 1)) stop_no_rows(rows, 1, call)
}

stop_outside <- function(rows, k, some, call) {
  values <- unlist(rows$counts[c(paste0("low", seq_len(k)), paste0("high", seq_len(k)))])
  n <- some("n_all")
  # where a database knows NaN it is above all numbers
  if (any(is.nan(values))) {
    stop_input(c("Probabilities must not be NaN.", "x" = "{some('nan')} of {n} rows are not finite.",
                 "i" = "Mark values that are truly missing as NULL."), "probs", arg = "x", value = NaN, call = call)
  }
  value <- range(values, na.rm = TRUE)
  value <- value[if (value[1] < 0) 1 else 2]
  stop_input(c(
    if (k == 1) "Probabilities must lie between 0 and 1." else "Probabilities must be finite and not negative.",
    "x" = "One is {.val {value}}; {some('outside')} of {n} rows are {if (k == 1) 'outside' else 'affected'}.",
    "i" = "If these are logits, apply {if (k == 1) 'the logistic function' else 'a softmax'} first."
  ), "probs", arg = "x", value = value, call = call)
}

# No row counts, and the result is not missing because of others.
is_empty_group <- function(rows, g) {
  counts <- rows$counts[g, ]
  is.na(counts$used) || (counts$used == 0 && (rows$na_rm || counts$n == counts$n_all))
}

stop_no_rows <- function(rows, g, call) {
  counts <- rows$counts
  dropped <- if (nrow(counts) == 0) 0 else sum(counts$n_all[g], -counts$n[g], na.rm = TRUE)
  stop_empty(dropped, call, list(weights = if (rows$kind != "none") 0))
}

# The same areas under the curve as of rows in memory, from the counts of the distinct predictions.
database_direction <- function(rows, event_level, call) {
  w <- row_copies(rows)
  counts <- sql_list(rows$by, "p", paste0("SUM(", w, ") AS n"), paste0("SUM(", w, " * y) AS events"))
  values <- paste0("SELECT ", counts, " FROM (", rows$pairs, ") ce_pairs", sql_group(c(rows$by, "p")))
  window <- paste0("(", if (length(rows$by) > 0) paste0("PARTITION BY ", paste(rows$by, collapse = ", "), " "),
                   "ORDER BY p)")
  ranked <- paste0("SELECT ", sql_list(rows$by, "n", "events", paste0(
    "SUM(n) OVER ", window, " - (n - ", sql_number(1), ") / 2 AS place"
  )), " FROM (", values, ") ce_values")
  found <- database_query(rows$db, paste0("SELECT ", sql_list(rows$by, sql_sums(c(
    n = "n", events = "events", ranks = "place * events", ties = paste0(sql_double("n"), " * n * n - n")
  ))), " FROM (", ranked, ") ce_ranked", sql_group(rows$by)), call)
  for (g in seq_len(nrow(found))) {
    trend <- trend_of_sums(found$n[g], found$events[g], found$ranks[g], found$ties[g])
    warn_trend(trend, rows$levels, event_level)
  }
}
