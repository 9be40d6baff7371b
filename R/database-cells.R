# Sums over cells of a database's rows, by fold; folds and quantiles without random numbers. `pairs` is the SQL of rows
# (groups, p, y, ce_w) of R/database-rows.R.

# A row per group, fold and cell with these sums (SQL of p, y, d = p - y and w), as doubles. `group`: which of
# rows$keys a row belongs to.
database_cells <- function(rows, pairs, cell, fold, sums, call) {
  split <- paste0("SELECT ", sql_list(rows$by, "p", "y", "p - y AS d", "ce_w AS w", paste0(cell, " AS cell"),
                                      paste0(fold, " AS fold")), " FROM (", pairs, ") ce_pairs")
  keys <- c(rows$by, "fold", "cell")
  found <- database_query(rows$db, paste0("SELECT ", sql_list(keys, sql_sums(sums)), " FROM (", split, ") ce_cells",
                                          sql_group(keys)), call)
  out <- found[c("fold", "cell", names(sums))]
  out[] <- lapply(out, as.numeric)
  out$group <- if (length(rows$by) == 0) rep(1L, nrow(out)) else match_keys(found[rows$by], rows$keys)
  out[order(out$group, out$cell, out$fold), ]
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
  numbered <- paste0("SELECT ", sql_list(columns, paste0(
    "ROW_NUMBER() OVER (PARTITION BY ", sql_list(by, if (clustered) "ce_cluster", "p", "y"),
    " ORDER BY ce_w) AS copy"
  )), " FROM (", pairs, ") ce_pairs")
  start <- paste0("SELECT ", sql_list(columns, paste0(
    "(CAST(ROUND(p * 1073741824) AS BIGINT) * 48271 + CAST(y AS BIGINT) * 1299709 + CAST(copy AS BIGINT) * 15485863)",
    mod, " AS x"
  )), " FROM (", numbered, ") ce_numbered")
  if (clustered) {
    total <- paste0("CAST(SUM(x) OVER (PARTITION BY ", sql_list(by, "ce_cluster"), ")", mod, " AS BIGINT) AS x")
    start <- paste0("SELECT ", sql_list(columns, total), " FROM (", start, ") ce_rows_of_clusters")
    apart <- paste0("DENSE_RANK() OVER (PARTITION BY ", sql_list(by, "x"), " ORDER BY ce_cluster)")
    start <- paste0("SELECT ", sql_list(columns, paste0("(x + ", apart, " * 15485863)", mod, " AS x")), " FROM (",
                    start, ") ce_clusters")
  }
  square <- paste0("SELECT ", sql_list(columns, "x", paste0("(x * x)", mod, " AS x2")), " FROM (", start, ") ce_start")
  fourth <- paste0("SELECT ", sql_list(columns, "x", paste0("(x2 * x2)", mod, " AS x4")), " FROM (", square,
                   ") ce_square")
  paste0("SELECT ", sql_list(columns, paste0("(x4 * x)", mod, " AS scatter")), " FROM (", fourth, ") ce_fourth")
}

# The smallest values up to which the weight (`weight`: SQL, 1 or ce_w) reaches each of the targets. One query: a value
# is sent where a target lies in the stretch of the cumulated weight that it fills.
database_quantiles <- function(rows, pairs, weight, targets, call) {
  edges <- sort(unique(targets))
  values <- paste0("SELECT p, ", sql_double(paste0("SUM(", weight, ")")), " AS size FROM (", pairs,
                   ") ce_pairs GROUP BY p")
  reached <- paste0("SELECT p, SUM(size) OVER (ORDER BY p) AS upto FROM (", values, ") ce_values")
  before <- paste0("SELECT p, upto, LAG(upto) OVER (ORDER BY p) AS below FROM (", reached, ") ce_reached")
  sent <- paste(sql_cell("upto", edges, "<"), ">", sql_cell("COALESCE(below, -1)", edges, "<"))
  found <- database_query(rows$db, paste0("SELECT p, upto FROM (", before, ") ce_before WHERE ", sent, " ORDER BY p"),
                          call)
  found$p[findInterval(targets, found$upto, left.open = TRUE) + 1]
}
