# A group of a database's rows as an ordinary problem, whose design has weights, copies and clusters. Few different rows
# are sent with their counts. If they are many, sums of the first powers of the prediction are sent, by outcome and by
# narrow cell (and by fold and cluster). They stand for rows with the same sums of every polynomial of the prediction up
# to degree 5 in a cell. A problem also has
#   fold    of each row, where they have one
#   count   how many rows each stands for; NULL: one
#   upper   upper edge of the cell that each is from, of which bins of equal mass take quantiles; NULL: its feature

# As many sums of a cluster and a cell as are sent.
most_cluster_sums <- 1e6

# Columns that tell different rows apart.
row_columns <- function(rows, weighted = is_weighted(rows)) {
  c("p", "y", if (weighted) "ce_w", if (is_clustered(rows)) "ce_cluster")
}

# The problem of few different rows; NULL if they are many, which the database finds without counting them all.
# `fold`: the column of folds, or NULL.
few_problem <- function(rows, fold) {
  columns <- row_columns(rows)
  different <- sql_select(paste("DISTINCT", sql_list(columns)), rows$pairs, "ce_pairs", " LIMIT ", few_rows + 1)
  if (count_query(rows$db, "*", different) > few_rows) return(NULL)
  columns <- c(columns, fold)
  counted <- paste0(counted_rows(rows, columns), " ORDER BY ", sql_list(columns))
  counted_problem(rows, database_query(rows$db, counted))
}

# Those of every group, with one query; NULL of groups with many.
few_problems <- function(rows) {
  if (length(rows$by) == 0) return(list(few_problem(rows, NULL)))
  # weights that are one in a group may differ in others
  columns <- c(rows$by, row_columns(rows, rows$kind == "importance"))
  different <- sql_select(c("*", paste0("COUNT(*) OVER (PARTITION BY ", sql_list(rows$by), ") AS ce_different")),
                          counted_rows(rows, columns), "ce_counted")
  found <- database_query(rows$db, sql_select(c(columns, "n"), different, "ce_sizes", " WHERE ce_different <= ",
                                              few_rows, " ORDER BY ", sql_list(columns)))
  group <- match_keys(found[rows$by], rows$keys)
  lapply(seq_len(nrow(rows$keys)), function(g) {
    if (g %in% group) counted_problem(rows_of_group(rows, g), found[group == g, -seq_along(rows$by)])
  })
}

# The problem of many; `edges`: where cells must end. `scattered`: whether sums are by fold, by the hash of the rows.
many_problem <- function(rows, fold, edges, scattered = FALSE) {
  pairs <- rows$pairs
  if (scattered) {
    fold <- "ce_fold"
    pairs <- sql_select(c("p", "y", "ce_w", rows$extra, paste("1 +", scatter_fold(), "AS ce_fold")),
                        sql_scatter(pairs, character(), rows$extra), "ce_scattered")
  }
  sent_problem(rows, rows_of_sums(rows, pairs, c(fold, if (is_clustered(rows)) "ce_cluster"), edges))
}

# The problem of rows that were sent.
sent_problem <- function(rows, found) {
  out <- scalar_problem(found$p, found$y)
  out$fold <- if (!is.null(found$ce_fold)) as.integer(found$ce_fold)
  count <- if (any(found$n != 1)) found$n
  w <- if (is_weighted(rows)) found$w else count
  out$design <- if (is_clustered(rows)) {
    new_design(length(found$p), w, cluster_codes(found$ce_cluster))
  } else {
    new_design(length(found$p), w, copies = found$copies %||% count)
  }
  out[c("count", "upper")] <- list(count, found$upper)
  out
}

count_query <- function(db, what, from) {
  count <- paste0(sql_double(paste0("COUNT(", what, ")")), " AS n")
  database_query(db, sql_select(count, from, "ce_counted"))$n
}

# SQL of the different rows with their number `n`.
counted_rows <- function(rows, columns) {
  sql_select(c(columns, sql_sums(c(n = row_copies(rows)))), rows$pairs, "ce_pairs", sql_group(columns))
}

# The problem of those that were sent.
counted_problem <- function(rows, found) {
  found <- numbers_of(found)
  if (is_weighted(rows)) found$w <- found$ce_w * found$n
  sent_problem(rows, found)
}

# Drivers have several types of numbers; a cluster may be anything.
numbers_of <- function(found) {
  number <- setdiff(names(found), "ce_cluster")
  replace(as.list(found), number, lapply(found[number], as.numeric))
}

# The width of a box. Every prediction is within one box of the middle of two, however the database rounds; places in
# this stretch are exact.
box_width <- 1 / 256

# The same of rows that have the sums of a cell, box and outcome (and of `keys`). Weights of a group count as W1^2 / W2
# equal ones, W1 and W2 their sum and that of their squares.
rows_of_sums <- function(rows, pairs, keys, edges, m = 6) {
  weighted <- is_weighted(rows)
  box <- paste0("CAST(p * ", sql_number(1 / box_width), " AS INTEGER)")
  placed <- paste0("SELECT ", sql_list(keys, "p", "y", paste(sql_double("ce_w"), "AS w"),
                                       paste(sql_cell("p", edges), "AS cell"), paste(box, "AS box")),
                   " FROM (", pairs, ") ce_pairs", sql_fence)
  u <- paste0(" * (p * ", sql_number(1 / box_width), " - box)")
  w <- if (weighted || rows$kind == "frequency") "w" else "1"
  sums <- setNames(paste0(w, strrep(u, seq_len(m) - 1)), paste0("s", seq_len(m) - 1))
  if (weighted) sums <- c(sums, n = "1", w2 = "w * w")
  keys <- c(keys, "y", "cell", "box")
  limit <- if (is_clustered(rows)) paste(" LIMIT", format(most_cluster_sums + 1, scientific = FALSE))
  found <- database_query(rows$db, sql_select(c(keys, sql_sums(sums)), placed, "ce_placed", sql_group(keys),
                                              " ORDER BY ", sql_list(keys), limit))
  unsupported_if(!is.null(limit) && nrow(found) > most_cluster_sums,
                 "at most {count_text(most_cluster_sums)} sums of a cluster and a cell are sent",
                 "There are more; fewer or smaller numbers of bins make fewer cells.", "cluster", class = "headline")
  found <- numbers_of(found)
  moments <- monomial_to_chebyshev(m) %*% t(do.call(cbind, found[paste0("s", seq_len(m) - 1)]))
  upper <- c(edges, 1)[found$cell + 1]
  own <- cpp_group_rows((found$box - 1) * box_width, (found$box + 1) * box_width, c(-Inf, edges)[found$cell + 1],
                        upper, moments, m, m %/% 2L)
  out <- lapply(c(found, list(upper = upper)), `[`, own[, 1])
  c(out[c("y", "upper", intersect(names(found), c("ce_fold", "ce_cluster")))],
    list(p = pmax(own[, 2], 0), w = own[, 3], n = own[, 3] * if (weighted) out$n / out$s0 else 1,
         copies = if (weighted) own[, 3] * out$s0 / out$w2))
}
