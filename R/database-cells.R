# Sums over cells of a database's rows, by fold; folds and quantiles without random numbers. `pairs` is the SQL of rows
# (groups, p, y, ce_w) of R/database-rows.R.

# A row per fold and cell with these sums (SQL of p, y, d = p - y and w), as doubles.
database_cells <- function(rows, pairs, cell, fold, sums) {
  columns <- c("p", "y", "p - y AS d", "ce_w AS w", paste(cell, "AS cell"), paste(fold, "AS fold"))
  keys <- c("fold", "cell")
  out <- database_query(rows$db, sql_select(c(keys, sql_sums(sums)), sql_select(columns, pairs, "ce_pairs"), "ce_cells",
                                            sql_group(keys)))
  out[] <- lapply(out, as.numeric)
  out[order(out$cell, out$fold), ]
}

match_keys <- function(found, keys) {
  vctrs::vec_match(tibble::as_tibble(setNames(found, names(keys))), keys)
}

# The prime 2^31 - 1: x^5 permutes what is left on division by it, and products of two fit into 63 bits.
hash_modulus <- 2147483647

# The rows with a hash of their values in 0, ..., 2^31 - 2, the column `scatter`: equal rows are told apart by a number
# within them, and which of them has which changes nothing. The rows of a cluster share one hash, that of all their
# values; it does not depend on the cluster's name.
sql_scatter <- function(pairs, by, extra = character()) {
  columns <- c(by, "p", "y", "ce_w", extra)
  clustered <- "ce_cluster" %in% extra
  mod <- paste0(" % ", hash_modulus)
  alike <- sql_list(by, if (clustered) "ce_cluster", "p", "y")
  copy <- paste0("ROW_NUMBER() OVER (PARTITION BY ", alike, " ORDER BY ce_w) AS copy")
  start <- sql_select(c(columns, paste0(
    "(CAST(ROUND(p * 1073741824) AS BIGINT) * 48271 + CAST(y AS BIGINT) * 1299709 + CAST(copy AS BIGINT) * 15485863)",
    mod, " AS x"
  )), sql_select(c(columns, copy), pairs, "ce_pairs"), "ce_numbered")
  if (clustered) {
    total <- paste0("CAST(SUM(x) OVER (PARTITION BY ", sql_list(by, "ce_cluster"), ")", mod, " AS BIGINT) AS x")
    start <- sql_select(c(columns, total), start, "ce_rows_of_clusters")
    apart <- paste0("DENSE_RANK() OVER (PARTITION BY ", sql_list(by, "x"), " ORDER BY ce_cluster)")
    start <- sql_select(c(columns, paste0("(x + ", apart, " * 15485863)", mod, " AS x")), start, "ce_clusters")
  }
  square <- sql_select(c(columns, "x", paste0("(x * x)", mod, " AS x2")), start, "ce_start")
  fourth <- sql_select(c(columns, "x", paste0("(x2 * x2)", mod, " AS x4")), square, "ce_square")
  sql_select(c(columns, paste0("(x4 * x)", mod, " AS scatter")), fourth, "ce_fourth")
}

# The smallest values up to which the weight (`weight`: SQL, 1 or ce_w) reaches each of the targets. One query: a value
# is sent where a target lies in the stretch of the cumulated weight that it fills.
database_quantiles <- function(rows, pairs, weight, targets) {
  edges <- sort(unique(targets))
  values <- sql_select(c("p", sql_sums(c(size = weight))), pairs, "ce_pairs", " GROUP BY p")
  reached <- sql_select("p, SUM(size) OVER (ORDER BY p) AS upto", values, "ce_values")
  before <- sql_select("p, upto, LAG(upto) OVER (ORDER BY p) AS below", reached, "ce_reached")
  sent <- paste(sql_cell("upto", edges, "<"), ">", sql_cell("COALESCE(below, -1)", edges, "<"))
  found <- database_query(rows$db, sql_select("p, upto", before, "ce_before", " WHERE ", sent, " ORDER BY p"))
  found$p[findInterval(targets, found$upto, left.open = TRUE) + 1]
}
