# The headline of a database's rows, from the problem of R/database-problem.R. Knots are those in memory.

# `few`: the problem of few different rows, if it is known.
database_ladder <- function(rows, level, few = few_problem(rows, NULL)) {
  if (!is.null(few)) return(binary_ladder(repeated_problem(few), level))
  design <- database_design(rows)
  check_few_weights(rows, design)
  knots <- database_knots(rows, rows$pairs, row_copies(rows), design$n)
  problem <- many_problem(rows, NULL, sort(unique(unlist(knots))))
  if (is_clustered(rows)) return(clustered_ladder(problem, knots, design, level))
  joint_ladder(problem$features[, 1], problem$labels, problem$count, level, knots[-1])
}

# The squares of the weights of single rows would be needed.
check_few_weights <- function(rows, design) {
  unsupported_if(is_weighted(rows),
                 "{.fn ce_estimate} takes importance weights of at most {count_text(few_rows)} different rows",
                 "There are more among {count_text(design$n)}.", "weights", state = TRUE, class = "headline")
}

# Rows with weights or clusters are repeated as in memory, where there is room; without `copies` all rows.
repeated_problem <- function(problem, copies = TRUE) {
  if (copies && is_unweighted(problem$design) || is.null(problem$count)) return(problem)
  if (sum(problem$count) > most_repeated_rows) return(problem)
  problem$design$copies <- problem$count
  replace(repeat_copies(problem), "count", list(NULL))
}

# Those of every rung: all values where there are no more, else quantiles of type 2 (to a rounding of where a whole
# number of rows is reached); all rungs with one query.
database_knots <- function(rows, pairs, weight, n) {
  sizes <- vapply(ladder_bases("binary", 1, n), `[[`, 0, "own")
  targets <- unlist(lapply(sizes, function(m) (seq_len(m) - 1) / (m - 1) * n))
  slack <- 1e-12 * n
  different <- database_query(rows$db, paste0("SELECT DISTINCT p FROM (", pairs, ") ce_pairs LIMIT ", max(sizes) + 1))$p
  if (length(different) <= min(sizes)) return(rep(list(sort(different)), length(sizes)))
  values <- database_quantiles(rows, pairs, weight, c(targets - slack, pmin(targets + slack, n - slack)))
  quantiles <- lapply(split(rowMeans(matrix(values, ncol = 2)), rep(seq_along(sizes), sizes)), unique)
  lapply(seq_along(sizes), function(m) if (length(different) <= sizes[m]) sort(different) else quantiles[[m]])
}

# Sums by cluster of all that is squared are sums of powers of the predictions: the rows that stand for every cluster
# and cell have them.
clustered_ladder <- function(problem, knots, design, level) {
  own <- problem$design
  weighted <- design_weights(own) * problem$residuals[, 1]
  squares <- c(sum(weighted * problem$residuals[, 1]), sum(sum_by_cluster(weighted, own$cluster)^2))
  out <- clustered_cells_ladder(problem, list(knots), squares, design$n, design$n, design_df(design), level)
  flipped_ladder(out, problem$features[, 1], problem$labels, own, level, knots[-1])
}

# The value of the cell of the expression.
sql_choice <- function(expression, edges, values) {
  if (length(edges) == 0) return(sql_number(values))
  middle <- (length(edges) + 1) %/% 2
  below <- seq_len(middle)
  paste0("CASE WHEN ", expression, " <= ", sql_number(edges[middle]), " THEN ",
         sql_choice(expression, edges[seq_len(middle - 1)], values[below]), " ELSE ",
         sql_choice(expression, edges[-below], values[-below]), " END")
}
