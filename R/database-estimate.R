# The headline of a database's rows. For few different rows their counts are sent and run as repeated rows; of many the
# sums that R/ladder-cells.R needs, of the cells between the knots. Knots are those in memory.

database_estimate <- function(x, truth, dots, by, notion, event_level, na_rm, level, threads, design, call) {
  several <- notion %||% list(NULL)
  dropped <- NULL
  parts <- told_once(warned_once(lapply(several, function(one) {
    rows <- read_database(x, truth, dots, by, one, event_level, na_rm, design, call)
    dropped <<- c(sum(rows$counts$n_all - rows$counts$n), sum(rows$counts$n_all))
    list(rows = rows, row = function(g) database_headline(rows, g, level, threads, call))
  }), "calibrisk_warning_direction"))
  rows <- parts[[1]]$rows
  out <- database_by_groups(rows, function(g) {
    vctrs::vec_rbind(!!!lapply(parts, function(part) part$row(g)))
  }, bind_parts, call)
  attr(out, "dropped") <- if (na_rm) dropped
  attr(out, "design") <- design_sentence(lapply(seq_len(nrow(rows$counts)), function(g) database_design(rows, g)))
  is_binary <- vapply(parts, function(part) part$rows$notion == "binary", NA)
  new_estimate_table(out, level, if (any(is_binary)) database_events(parts[[which(is_binary)[1]]]$rows))
}

# list(label, hint) of add_events(); they are not counted.
database_events <- function(rows) {
  list(label = event_label(rows), hint = event_hint(rows))
}

check_database_estimate <- function(method, bases, call) {
  if (is_method(method)) {
    stop_unsupported("the calibration error is the adaptive estimate", "{.arg method} is given.", call, "method")
  }
  if (!is.null(bases)) stop_unsupported("bases are the default ones", "{.arg bases} is given.", call, "bases")
}

# Whether incomplete rows make the result of a group missing.
lacks_rows <- function(rows, g) !rows$na_rm && rows$counts$n[g] < rows$counts$n_all[g]

database_headline <- function(rows, g, level, threads, call) {
  design <- database_design(rows, g)
  counts <- rows$counts[g, ]
  if (lacks_rows(rows, g)) {
    return(missing_estimate(rows$notion, "adaptive", design$n + counts$n_all - counts$n))
  }
  headline_row(database_ladder(rows, g, level, threads, call), rows$notion, design$n)
}

database_ladder <- function(rows, g, level, threads, call) {
  design <- database_design(rows, g)
  pairs <- group_pairs(rows, g)
  weight <- row_copies(rows)
  if (is_clustered(rows) || !is.null(design$sums)) return(sent_ladder(rows, pairs, design, level, threads, call))
  different <- paste0("SELECT DISTINCT p, y FROM (", pairs, ") ce_pairs LIMIT ", few_rows + 1)
  different <- database_query(rows$db, paste0("SELECT ", sql_double("COUNT(*)"), " AS n FROM (", different,
                                              ") ce_different"), call)$n
  if (different <= few_rows) {
    found <- database_query(rows$db, paste0("SELECT p, y, ", sql_sums(c(n = weight)), " FROM (", pairs,
                                            ") ce_pairs GROUP BY p, y ORDER BY p, y"), call)
    return(joint_ladder(as.numeric(found$p), as.numeric(found$y), as.numeric(found$n), level, threads))
  }
  knots <- database_knots(rows, pairs, weight, design$n, call)
  edges <- sort(unique(unlist(knots)))
  moment_ladder(edges, database_moments(rows, pairs, weight, edges, call), knots, level, threads)
}

# Those of every rung: all values where there are no more, else quantiles of type 2 (to a rounding of where a whole
# number of rows is reached); all rungs with one query.
database_knots <- function(rows, pairs, weight, n, call) {
  sizes <- vapply(ladder_bases("binary", 1, n), `[[`, 0, "own")
  targets <- unlist(lapply(sizes, function(m) (seq_len(m) - 1) / (m - 1) * n))
  slack <- 1e-12 * n
  different <- database_query(rows$db, paste0("SELECT DISTINCT p FROM (", pairs, ") ce_pairs LIMIT ", max(sizes) + 1),
                              call)$p
  if (length(different) <= min(sizes)) return(rep(list(sort(different)), length(sizes)))
  values <- database_quantiles(rows, pairs, weight, c(targets - slack, pmin(targets + slack, n - slack)), call)
  quantiles <- lapply(split(rowMeans(matrix(values, ncol = 2)), rep(seq_along(sizes), sizes)), unique)
  lapply(seq_along(sizes), function(m) if (length(different) <= sizes[m]) sort(different) else quantiles[[m]])
}

# Importance weights are numbers of their own, and a cluster's rows are left out together: such rows are sent where
# there are few, those that are the same in a cluster once.
sent_ladder <- function(rows, pairs, design, level, threads, call) {
  weighted <- !is.null(design$sums)
  clustered <- is_clustered(rows)
  columns <- c("p", "y", if (weighted) "ce_w", if (clustered) "ce_code")
  if (clustered) {
    pairs <- paste0("SELECT p, y, ce_w, DENSE_RANK() OVER (ORDER BY ce_cluster) AS ce_code FROM (", pairs, ") ce_pairs")
  }
  weight <- row_copies(rows)
  copies <- sql_sums(c(copies = weight))
  keys <- paste(columns, collapse = ", ")
  found <- database_query(rows$db, paste0("SELECT ", keys, ", ", copies, " FROM (", pairs, ") ce_coded GROUP BY ", keys,
                                          " ORDER BY ", keys, " LIMIT ", few_rows + 1), call)
  if (nrow(found) > few_rows || design$n > most_repeated_rows) {
    if (!weighted) return(clustered_ladder(rows, pairs, weight, design, level, threads, call))
    stop_unsupported(paste0("`ce_estimate()` takes importance weights of at most ", count_text(few_rows),
                            " different rows"),
                     paste0("There are more among ", count_text(design$n), "."), call, "weights", state = TRUE,
                     class = "headline")
  }
  found <- lapply(found, function(v) rep(as.numeric(v), as.numeric(found$copies)))
  problem <- scalar_problem(found$p, found$y)
  problem$design <- new_design(design$n, if (weighted) found$ce_w, if (clustered) as.integer(found$ce_code))
  binary_ladder(problem, level, threads)
}

# Sums by cluster of all that is squared are sums of powers of u: those of every cluster (`ce_code` of the pairs) and
# cell stand for its rows.
clustered_ladder <- function(rows, pairs, weight, design, level, threads, call, most = 1e5) {
  knots <- database_knots(rows, pairs, weight, design$n, call)
  edges <- sort(unique(unlist(knots)))
  if (length(edges) == 1) edges <- c(0, 1)
  size <- design$draws * (length(edges) - 1)
  if (size > most) {
    stop_unsupported(paste0("`ce_estimate()` takes clusters of at most ", count_text(few_rows),
                            " different rows, or ", count_text(most), " sums"),
                     paste0("There are more rows, and ", count_text(size), " sums of a cluster and a cell."), call,
                     "cluster", state = TRUE, class = "headline")
  }
  own <- part_rows(edges, database_moments(rows, pairs, weight, edges, call, draws = design$draws))
  e <- own$x - own$y
  problem <- list(features = matrix(own$x), residuals = matrix(e),
                  design = new_design(length(e), own$count, match(own$part, sort(unique(own$part)))))
  bases <- lapply(knots, function(at) list(recipe = "hats", at = list(at)))
  squares <- c(sum(own$count * e^2), sum(rowsum(own$count * e, own$part)^2))
  rungs <- lapply(core_ladder(problem, bases, TRUE, threads), function(rung) {
    rung$scatter <- 4 * max(squares) / design$n^2
    rung
  })
  facts <- score_facts(e^2, problem$design, 1, design$n)
  rungs <- predicted_noise(rungs, facts, function() {
    cpp_ladder(problem$features, predicted_residuals(problem$features), own$count, own$count, integer(), bases, TRUE,
               threads)
  })
  out <- finish_ladder(rungs, problem$design, facts, level, design_df(design))
  flipped_ladder(out, own$x, own$y, problem$design, level, threads, knots[-1])
}

# The moments of every cell between two edges, of rows with outcome 0 and 1, from sums of powers of u; of so many
# clusters (`draws`) those of each.
database_moments <- function(rows, pairs, weight, edges, call, m = 12, draws = NULL) {
  code <- if (!is.null(draws)) "ce_code"
  cells <- length(edges) - 1
  inner <- edges[-c(1, length(edges))]
  placed <- paste0("SELECT ", sql_list(code, "y"), ", ", sql_double(weight), " AS w, ", sql_cell("p", inner),
                   " AS cell, (p - ",
                   sql_choice("p", inner, edges[-length(edges)]), ") * ", sql_choice("p", inner, 2 / diff(edges)),
                   " - ", sql_number(1), " AS u1 FROM (", pairs, ") ce_pairs", sql_fence)
  for (known in 2^(seq_len(ceiling(log2(m - 1))) - 1)) {
    # u2 of u1, u3 and u4 of these, u5 to u8 of those
    next_ones <- seq(known + 1, min(2 * known, m - 1))
    powers <- paste0("u", next_ones - known, " * u", known, " AS u", next_ones)
    placed <- paste0("SELECT ", sql_list(code, "y, w, cell", paste0("u", seq_len(known)), powers), " FROM (", placed,
                     ") ce_power", known, sql_fence)
  }
  sums <- setNames(c("w", paste0("w * u", seq_len(m - 1))), paste0("s", seq_len(m) - 1))
  keys <- sql_list("cell", "y", code)
  found <- database_query(rows$db, paste0("SELECT ", keys, ", ", sql_sums(sums), " FROM (", placed,
                                          ") ce_placed GROUP BY ", keys), call)
  out <- array(0, c(m, 2, cells, draws))
  at <- cbind(rep(seq_len(m), each = nrow(found)), as.numeric(found$y) + 1, as.numeric(found$cell) + 1,
              if (!is.null(draws)) as.numeric(found$ce_code))
  out[at] <- unlist(lapply(found[names(sums)], as.numeric), use.names = FALSE)
  array(monomial_to_chebyshev(m) %*% matrix(out, m), dim(out))
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
