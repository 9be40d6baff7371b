# Algorithm 1 of bins on a database's rows: sums over the cells between all edges of a fold's bins, for any number, come
# from one query per fold (one in all for equal width).

database_tune <- function(x, truth, dots, by, notion, methods, folds, test, repeats, event_level, na_rm, level, threads,
                          design, call) {
  check_database_methods(methods, call)
  if (isTRUE(repeats > 1)) stop_unsupported("there is one split", "{.arg repeats} is given.", call, "repeats")
  if (!is_share(test)) stop_unsupported("{.arg test} is a share", "It is a vector of rows.", call, "test")
  split <- database_folds(x, folds, call)
  rows <- read_database(split$db, truth, dots, by, notion, event_level, na_rm, design, call, split$column)
  database_by_groups(rows, function(g) {
    check_complete(list(na = lacks_rows(rows, g), dropped = rows$counts$n_all[g] - rows$counts$n[g]), call)
    part <- tuned_rows(rows, g, split, test, call)
    tune_database(part, methods, headline_of_tune(rows, g, level, threads, call), level, call)
  }, new_grouped, call)
}

# Risks are made of sums of any number of rows; the headline of weights is not, nor that of many clusters.
headline_of_tune <- function(rows, g, level, threads, call) {
  rlang::try_fetch(database_headline(rows, g, level, threads, call), calibrisk_error_headline = function(cnd) {
    tell(c("!" = "The calibration error was not estimated: in a database {cnd$rule}.", "x" = cnd$fact), "headline")
    missing_estimate(rows$notion, "adaptive", database_design(rows, g)$n)
  })
}

# The published methods that can be computed from sums.
database_methods <- function(notion) {
  if (identical(notion, "canonical")) notion <- NULL
  Filter(function(method) inherits(method, "ce_method_bins"), ce_methods(notion %||% "top_label"))
}

check_database_methods <- function(methods, call) {
  other <- names(methods)[!vapply(methods, inherits, NA, "ce_method_bins")]
  if (length(other) == 0) return(invisible())
  stop_input(c(
    "In a database methods are bins, whose risk is made of sums over cells.",
    "x" = "{.val {other}} {?is/are} not.",
    "i" = "{.code update(ce_state(), source, truth)} reads the rows once, in pieces, for other methods, and \\
           {.code dplyr::collect(x)} all at once."
  ), c("unsupported", "database", "method"), arg = "methods", call = call)
}

# A number of folds, or the column that has them.
database_folds <- function(x, folds, call) {
  db <- as_database(x, call)
  expr <- rlang::quo_get_expr(folds)
  name <- if (rlang::is_symbol(expr) || rlang::is_string(expr)) as.character(expr) else ""
  if (name %in% names(db$columns)) return(list(db = db, column = name))
  value <- rlang::try_fetch(rlang::eval_tidy(folds), error = function(cnd) {
    stop_input(c("{.arg folds} must be a number, or a column of {.arg x}."), "folds", arg = "folds", parent = cnd,
               call = call)
  })
  if (rlang::is_string(value) && value %in% names(db$columns)) return(list(db = db, column = value))
  if (length(value) != 1) {
    stop_input(c(
      "If {.arg x} is a table of a database, {.arg folds} must be a number, or a column of {.arg x}.",
      "x" = "It is {describe(value)}.",
      "i" = "With an {.field id}: {.code mutate(x, fold = id %% 5L + 1L)}, then {.code folds = fold}."
    ), "folds", arg = "folds", value = value, call = call)
  }
  check_count(value, "folds", lower = 2, call = call)
  list(db = db, k = value)
}

# The rows of a group with their fold 0, 1, ..., k, as one group.
tuned_rows <- function(rows, g, split, test, call) {
  pairs <- group_pairs(rows, g)
  labels <- if (!is.null(split$column)) fold_labels(rows, pairs, call)
  clusters <- if (is_clustered(rows)) rows$counts$clusters[g]
  if (!is.null(clusters) && is.null(labels)) {
    check_fold_count(split$k, floor((1 - test) * clusters + 1e-9), clusters, call)
  }
  fold <- if (is.null(labels)) {
    paste0("1 + ", if (is.null(clusters)) "scatter" else "(place - 1)", " % ", split$k)
  } else {
    values <- labels[labels > 0]
    paste0("CASE ce_fold ", paste0("WHEN ", values, " THEN ", seq_along(values), collapse = " "), " ELSE 0 END")
  }
  if (test > 0 && !any(labels == 0)) {
    tested <- if (is.null(clusters)) {
      paste("scatter <", floor(test * hash_modulus))
    } else {
      # whole clusters are dealt in the order of their hash: there may be few
      paste("place >", if (is.null(labels)) floor((1 - test) * clusters + 1e-9) else clusters - round(test * clusters))
    }
    fold <- paste0("CASE WHEN ", tested, " THEN 0 ELSE ", fold, " END")
  }
  source <- if (grepl("scatter|place", fold)) sql_scatter(pairs, character(), rows$extra) else pairs
  cluster <- if (!is.null(clusters)) "ce_cluster"
  if (grepl("place", fold)) {
    source <- paste0("SELECT ", sql_list("p, y, ce_w", rows$extra,
                                         "DENSE_RANK() OVER (ORDER BY scatter) AS place"),
                     " FROM (", source, ") ce_hashed")
  }
  rows$pairs <- paste0("SELECT ", sql_list("p, y, ce_w", cluster, paste0(fold, " AS ce_fold")), " FROM (", source,
                       ") ce_scattered")
  rows$extra <- cluster
  if (!is.null(labels) && !is.null(cluster)) check_clusters_in_folds(rows, call)
  rows$k <- if (is.null(labels)) split$k else sum(labels > 0)
  rows$counts <- rows$counts[g, ]
  rows$by <- character()
  rows
}

check_clusters_in_folds <- function(rows, call) {
  cut <- paste0("SELECT ce_cluster FROM (", rows$pairs,
                ") ce_folds GROUP BY ce_cluster HAVING MIN(ce_fold) <> MAX(ce_fold)")
  torn <- database_query(rows$db, paste0("SELECT ", sql_double("COUNT(*)"), " AS n FROM (", cut, ") ce_cut"), call)$n
  if (torn == 0) return(invisible())
  stop_input(c(
    "The rows of a cluster must be in one fold, or all be test rows.",
    "x" = "The folds cut {count_of(torn, 'cluster')}."
  ), c("cluster", "folds"), arg = "folds", call = call)
}

fold_labels <- function(rows, pairs, call, most = 1000) {
  found <- database_query(rows$db, paste0("SELECT DISTINCT ce_fold FROM (", pairs, ") ce_pairs LIMIT ", most + 1),
                          call)$ce_fold
  values <- if (is.numeric(found)) as.numeric(found) else NA
  if (anyNA(values) || any(values < 0 | values != round(values)) || length(values) > most) {
    stop_input(c(
      "The column {.arg folds} must hold the fold of every row: whole numbers, 0 for test rows.",
      "x" = if (anyNA(values)) "It holds missing values, or no numbers." else "It holds other numbers."
    ), "folds", arg = "folds", call = call)
  }
  if (sum(values > 0) < 2) {
    stop_input(c("{.arg folds} must make at least two folds of the tuning rows.",
                 "x" = "There {?is/are} {sum(values > 0)}."), "folds", arg = "folds", call = call)
  }
  sort(values)
}

# --- One group -------------------------------------------------------------------------------------------------------

tune_database <- function(rows, methods, headline, level, call) {
  k <- rows$k
  sizes <- fold_sizes(rows, call)
  n_train <- sum(sizes[-1]) * (k - 1) / k
  grids <- lapply(methods, method_grid, notion = rows$notion, n = n_train)
  check_union(methods, grids, call)
  edges <- fold_edges(rows, methods, grids, call)
  tables <- fold_tables(rows, edges$all, call)
  results <- lapply(names(methods), function(m) {
    tune_cells(methods[[m]], grids[[m]], lapply(edges$own, `[[`, m), tables, k)
  })
  names(results) <- names(methods)
  results <- add_holdout(results, rows, tables, sizes, call)
  new_tune(results, methods, grids, headline, list(list(class = NULL)), list(
    histogram = database_histogram(rows, call), source = NULL, notion = rows$notion, level = level,
    split = structure(list(sizes = sizes, k = k), class = "ce_split"), n_splits = 1, n = database_design(rows)$n,
    counted = design_sentence(list(database_design(rows))), dropped = rows$counts$n_all - rows$counts$n,
    levels = rows$levels, event = rows$event, scalar = rows$scalar
  ), function(a, b) cells_difference(a, b, tables))
}

# How many rows a row stands for.
row_weight <- function(rows) if (rows$kind == "frequency") "w" else "1"

is_weighted <- function(rows) !is.null(database_design(rows)$sums)

# The sums that give a mean of one number per cell and its standard error.
mean_sums <- function(rows) {
  if (is_weighted(rows)) weighted_sums()[c("n", "rows", "w2d0")] else c(n = row_weight(rows))
}

fold_sizes <- function(rows, call) {
  found <- database_cells(rows, rows$pairs, "0", "ce_fold", c(n = row_weight(rows)), call)
  sizes <- numeric(rows$k + 1)
  sizes[found$fold + 1] <- found$n
  check_fold_count(rows$k, sum(sizes[-1]), sum(sizes), call)
  sizes
}

check_union <- function(methods, grids, call, most = 5000) {
  size <- sum(vapply(grids, function(grid) sum(grid$value - 1), 0))
  if (size > most) {
    stop_unsupported(paste0("all numbers of bins together are at most ", count_text(most)),
                     paste0("They are ", count_text(size), "."), call, "methods")
  }
}

# Inner edges of every fold's bins: `own`, by fold, method and value; `all`, by fold, those that its query needs.
fold_edges <- function(rows, methods, grids, call) {
  mass <- vapply(methods, function(method) method$type == "mass", NA)
  counts <- unique(unlist(lapply(grids[mass], `[[`, "value")))
  own <- lapply(seq_len(rows$k), function(f) {
    found <- if (any(mass)) mass_edges(rows, f, counts, call)
    Map(function(grid, by_mass) {
      lapply(grid$value, function(b) if (by_mass) found[[match(b, counts)]] else seq_len(b - 1) / b)
    }, grids, mass)
  })
  list(own = own, all = lapply(own, function(edges) sort(unique(unlist(edges)))))
}

# Order statistics of the rows that train fold f, for every number of bins: one query.
mass_edges <- function(rows, f, counts, call) {
  train <- paste0("SELECT * FROM (", rows$pairs, ") ce_folds WHERE ce_fold > 0 AND ce_fold <> ", f)
  weighted <- is_weighted(rows)
  weight <- if (weighted) "ce_w" else row_copies(rows)
  n <- database_query(rows$db, paste0("SELECT ", sql_sums(c(n = weight)), " FROM (", train, ") ce_train"), call)$n
  ranks <- lapply(counts, function(b) {
    if (weighted) seq_len(b - 1) / b * n * (1 - 1e-12) else (n * seq_len(b - 1) + b - 1) %/% b - 0.5
  })
  values <- if (any(lengths(ranks) > 0)) database_quantiles(rows, train, weight, unlist(ranks), call)
  lapply(split(values, factor(rep(seq_along(counts), lengths(ranks)), seq_along(counts))), unique)
}

# Per fold f: its edges and the sums of w, w y, w d, ..., w d^4 (or those of weights, R/tune-weighted.R), an array of
# cells, folds 0..k and sums.
fold_tables <- function(rows, edges, call) {
  if (is_clustered(rows)) return(clustered_tables(rows, edges, call))
  w <- row_weight(rows)
  sums <- c(n = w, y = paste(w, "* y"), d1 = paste(w, "* d"), d2 = paste(w, "* d * d"), d3 = paste(w, "* d * d * d"),
            d4 = paste(w, "* d * d * d * d"))
  if (is_weighted(rows)) sums <- weighted_sums()
  different <- unique(edges)
  tables <- lapply(different, function(at) {
    found <- database_cells(rows, rows$pairs, sql_cell("p", at), "ce_fold", sums, call)
    out <- array(0, c(length(at) + 1, rows$k + 1, length(sums)), list(NULL, NULL, names(sums)))
    for (name in names(sums)) out[cbind(found$cell + 1, found$fold + 1, match(name, names(sums)))] <- found[[name]]
    fold_table(at, out, colSums(matrix(out[, , if ("w2d4" %in% names(sums)) "w2d4" else "d4"], length(at) + 1)))
  })
  tables[match(edges, different)]
}

database_histogram <- function(rows, call, n_bins = 100L) {
  found <- database_cells(rows, rows$pairs, sql_width_cell("p", n_bins), "0", c(n = row_weight(rows)), call)
  counts <- integer(n_bins)
  counts[found$cell + 1] <- as.integer(found$n)
  list(breaks = seq(0, 1, length.out = n_bins + 1), counts = counts)
}
