# Counts of a database's rows, and errors for values that are not predictions (see R/database-rows.R).

sql_complete <- function(rows, k) {
  paste(c(paste0("ce_p", seq_len(k)), "ce_t", "ce_w", if (is_clustered(rows)) "ce_cluster"), "IS NOT NULL",
        collapse = " AND ")
}

# One query counts the rows and finds values that no prediction has; NaN is above all numbers where there is one.
count_rows <- function(rows, inner, k) {
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
  found <- database_query(rows$db, sql)
  number <- setdiff(names(found), rows$by)
  found[number] <- lapply(found[number], as.numeric)
  if (length(rows$by) > 0) {
    keys <- tibble::as_tibble(setNames(found[rows$by], rows$groups))
    order <- level_order(keys)
    found <- found[order, ]
    rows$keys <- vctrs::vec_slice(keys, order)
  }
  rows$counts <- found
  check_row_counts(rows, k)
  rows
}

sql_group <- function(columns) if (length(columns) > 0) paste(" GROUP BY", paste(columns, collapse = ", ")) else ""

# The errors of predictions in memory, without the number of a row, which tables do not have.
check_row_counts <- function(rows, k) {
  some <- function(name) sum(rows$counts[[name]], na.rm = TRUE)
  extreme <- function(low, high) range(unlist(rows$counts[c(low, high)]), na.rm = TRUE)
  n <- some("n_all")
  if (some("outside") > 0) stop_outside(rows, k, some)
  if (some("off") > 0) {
    value <- extreme("low", "high")
    value <- value[which.max(abs(value - 1))]
    stop_input(
      "Rows of {.arg x} must sum to 1.",
      "x" = "One sums to {.val {value}}; {some('off')} of {n} rows are off by more than {.val {sum_tolerance$float}}.",
      class = "probs", arg = "x", value = value
    )
  }
  if (some("inexact") > 0) {
    tell("i" = "Renormalised {some('inexact')} of {n} rows that summed to 1 only nearly (single precision?).",
         class = "renormalised")
  }
  if (some("bad_weight") > 0) {
    value <- extreme("least_weight", "most_weight")
    stop_input(
      "{.arg weights} must be finite and not negative.",
      "x" = "One is {.val {value[if (value[1] < 0) 1 else 2]}}; {some('bad_weight')} of {n} rows are affected.",
      class = "weights", arg = "weights"
    )
  }
  if (length(rows$by) == 0 && is_empty_group(rows, 1)) stop_no_rows(rows, 1)
}

stop_outside <- function(rows, k, some) {
  values <- unlist(rows$counts[c(paste0("low", seq_len(k)), paste0("high", seq_len(k)))])
  n <- some("n_all")
  # where a database knows NaN it is above all numbers
  stop_if(any(is.nan(values)), "Probabilities must not be NaN.", "x" = "{some('nan')} of {n} rows are not finite.",
          "i" = "Mark values that are truly missing as NULL.", class = "probs", arg = "x", value = NaN)
  value <- range(values, na.rm = TRUE)
  value <- value[if (value[1] < 0) 1 else 2]
  stop_input(
    if (k == 1) "Probabilities must lie between 0 and 1." else "Probabilities must be finite and not negative.",
    "x" = "One is {.val {value}}; {some('outside')} of {n} rows are {if (k == 1) 'outside' else 'affected'}.",
    class = "probs", arg = "x", value = value
  )
}

# No row counts, and the result is not missing because of others.
is_empty_group <- function(rows, g) {
  counts <- rows$counts[g, ]
  is.na(counts$used) || (counts$used == 0 && (rows$na_rm || counts$n == counts$n_all))
}

stop_no_rows <- function(rows, g) {
  counts <- rows$counts
  dropped <- if (nrow(counts) == 0) 0 else sum(counts$n_all[g], -counts$n[g], na.rm = TRUE)
  stop_empty(dropped, list(weights = if (rows$kind != "none") 0))
}

# The same warning as of rows in memory, of the group where it is clearest.
database_direction <- function(rows, inner, coded, event_level) {
  k <- length(coded$columns)
  classes <- if (k <= 2) coded$event else falling_classes(rows, inner, k)
  trends <- lapply(classes, function(class) {
    pairs <- if (k == 1) rows$pairs else paste("SELECT", class_pairs(rows, class), class_rows(rows, inner, k))
    database_trend(rows, pairs)
  })
  falls <- vapply(trends, function(trend) isTRUE(trend$z < falling_z), NA)
  if (any(falls)) warn_trends(trends[falls], coded$levels[classes[falls]], c(coded, list(column = coded$columns)),
                              event_level)
}

class_pairs <- function(rows, class) {
  sql_list(rows$by, "ce_w", paste0("ce_p", class, " AS p"), paste("CASE WHEN ce_t =", class, "THEN 1 ELSE 0 END AS y"))
}

class_rows <- function(rows, inner, k) {
  paste0("FROM (", inner, ") ce_inner WHERE ", sql_complete(rows, k), " AND ce_w > 0")
}

# Classes whose mean prediction is smaller among their rows than among the others, in some group.
falling_classes <- function(rows, inner, k) {
  w <- row_copies(rows)
  sums <- unlist(lapply(seq_len(k), function(class) {
    own <- paste0("CASE WHEN ce_t = ", class, " THEN ", w, " ELSE 0 END")
    setNames(c(own, paste0(own, " * ce_p", class), paste0(w, " * ce_p", class)), paste0(c("n", "own", "all"), class))
  }))
  found <- database_query(rows$db, paste("SELECT", sql_list(rows$by, sql_sums(c(n = w, sums))),
                                         class_rows(rows, inner, k), sql_group(rows$by)))
  Filter(function(class) {
    of <- function(what) found[[paste0(what, class)]]
    any(of("own") / of("n") < (of("all") - of("own")) / (found$n - of("n")), na.rm = TRUE)
  }, seq_len(k))
}

# From the counts of the distinct predictions.
database_trend <- function(rows, pairs) {
  w <- row_copies(rows)
  counts <- sql_list(rows$by, "p", paste0("SUM(", w, ") AS n"), paste0("SUM(", w, " * y) AS events"))
  values <- paste0("SELECT ", counts, " FROM (", pairs, ") ce_pairs", sql_group(c(rows$by, "p")))
  window <- paste0("(", if (length(rows$by) > 0) paste0("PARTITION BY ", paste(rows$by, collapse = ", "), " "),
                   "ORDER BY p)")
  ranked <- paste0("SELECT ", sql_list(rows$by, "n", "events", paste0(
    "SUM(n) OVER ", window, " - (n - ", sql_number(1), ") / 2 AS place"
  )), " FROM (", values, ") ce_values")
  found <- database_query(rows$db, paste0("SELECT ", sql_list(rows$by, sql_sums(c(
    n = "n", events = "events", ranks = "place * events", ties = paste0(sql_double("n"), " * n * n - n")
  ))), " FROM (", ranked, ") ce_ranked", sql_group(rows$by)))
  trends <- Map(trend_of_sums, found$n, found$events, found$ranks, found$ties)
  z <- vapply(trends, `[[`, 0, "z")
  if (any(!is.na(z))) trends[[which.min(z)]]
}
