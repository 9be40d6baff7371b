# Algorithm 1 on the sums of a state: bins from sums of residuals, kernel ridges from the rows with counts of each fold.
# A part is fold + 1, as test rows are fold 0.

# The result of ce_tune(state).
state_tune <- function(state, level, threads, call) {
  check_state(state, call)
  check_state_rows(state, call)
  spec <- state$spec
  canonical <- state$about$notion == "canonical"
  if (in_blocks(state)) {
    split <- state_folds(state, call)
    problems <- if (canonical) {
      list(landmark_problem(state, split))
    } else {
      lapply(seq_along(state$sums), function(j) block_problem(state, j, split))
    }
    counted <- blocks_sentence(state, length(split$used))
  } else {
    problems <- list(counted_problem(state))
    split <- list(sizes = problems[[1]]$size)
    check_fold_rows(split$sizes, call)
    counted <- "Folds and test rows by the hash of the rows."
  }
  sizes <- split$sizes
  methods <- state_methods(state)
  grids <- lapply(methods, method_grid, notion = state$about$notion, n = sum(sizes[-1]) * (spec$folds - 1) / spec$folds)
  contexts <- lapply(problems, function(problem) new_context(threads))
  results <- Map(function(method, grid) {
    if (!in_blocks(state)) return(tune_counted(method, problems[[1]], grid, contexts[[1]]))
    combine_problems(Map(function(problem, context) tune_blocks(method, problem, grid, context), problems, contexts))
  }, methods, grids)
  none <- function() missing_estimate("canonical", "adaptive", state$n)
  headline <- if (canonical) none() else state_headline(state, level, threads)
  histogram <- if (!canonical) lapply(problems, counted_histogram)
  new_tune(results, methods, grids, headline, problems, list(
    histogram = if (state$about$notion == "class_wise") histogram else histogram[[1]], source = NULL,
    notion = state$about$notion, level = level,
    split = structure(list(sizes = sizes, k = spec$folds), class = "ce_split"), n_splits = 1, n = state$n,
    counted = c(followed_sentence(state), counted), dropped = state$dropped, levels = state$about$levels,
    event = state$about$event, scalar = state$about$scalar
  ), if (in_blocks(state)) split_difference else counted_difference)
}

state_methods <- function(state) {
  if (state$about$notion == "canonical") {
    return(list(kkr = method_kkr(kernel = state$about$kernel), ukkr = method_ukkr(kernel = state$about$kernel)))
  }
  grid <- state$spec$grid
  methods <- list("15 bins" = method_bins(15), bins = method_bins(grid), kkr = method_kkr(), ukkr = method_ukkr())
  if (15 %in% grid) methods else methods[-1]
}

# For one problem: rows with counts and their fold (0 tests), and those of the cells between the edges of all bins.
counted_problem <- function(state) {
  parts <- state$spec$folds + 1
  rows <- part_rows(state$spec$edges, state_moments(state))
  e <- rows$x - rows$y
  by_fold <- function(v) as.vector(rowsum_all(matrix(rows$count * v), factor(rows$part, seq_len(parts))))
  fine <- part_rows(state$spec$fine, sum_array(state$sums[[1]]$fine, fine_dim(state$spec, FALSE)))
  list(features = matrix(rows$x), residuals = matrix(e), labels = as.integer(rows$y),
       design = new_design(length(e), copies = rows$count), fold = rows$part - 1L, rows = rows, fine = fine,
       table = counted_cells(fine, by_fold(e^4), state$spec), size = by_fold(rep(1, length(e))), squares = by_fold(e^2))
}

# The sums that R/tune-cells.R needs; `fourth` is that of more moments.
counted_cells <- function(rows, fourth, spec) {
  inner <- spec$fine[-c(1, length(spec$fine))]
  cells <- length(inner) + 1
  d <- rows$x - rows$y
  at <- findInterval(rows$x, inner, left.open = TRUE) + cells * (rows$part - 1)
  sums <- rowsum_all(rows$count * cbind(1, rows$y, d, d^2, d^3, d^4), factor(at, seq_len(cells * (spec$folds + 1)) - 1))
  names <- c("n", "y", paste0("d", 1:4))
  fold_table(inner, array(sums, c(cells, spec$folds + 1, 6), list(NULL, NULL, names)), fourth)
}

check_fold_rows <- function(sizes, call) {
  few <- which(sizes < c(1, rep(2, length(sizes) - 1)))
  if (length(few) == 0) return(invisible())
  stop_input(c(
    "Every fold must have two rows, the test rows one.",
    "x" = if (few[1] == 1) "There are no test rows." else "Fold {few[1] - 1} has {sizes[few[1]]} row{?s}.",
    "i" = "Rows with the same values are in the same fold; give {.arg id} in {.fn update} to tell them apart."
  ), c("state", "folds"), call = call)
}

# As tune_problem().
tune_counted <- function(method, problem, grid, context) {
  folds <- length(problem$size) - 1
  bins <- inherits(method, "ce_method_bins")
  out <- if (bins) {
    edges <- lapply(grid$value, function(b) seq_len(b - 1) / b)
    tune_cells(method, grid, rep(list(edges), folds), rep(list(problem$table), folds), folds)
  } else {
    counted_ridge(method, problem, grid, context)
  }
  forms <- out$forms[[1]]
  out$risks[[1]] <- Map(function(risk, form, f) {
    rows <- rows_of(problem$fine, f + 1)
    c(risk, list(count = rows$count, projections = counted_projections(form, rows, context$threads)))
  }, out$risks[[1]], forms, seq_len(folds))
  test <- rows_of(if (bins) problem$fine else problem$rows, 1)
  squared <- lapply(forms, form_squared, matrix(test$x), context$threads)
  out$squared <- list(counted_mean(test, Reduce(`+`, squared) / folds, new_design(sum(test$count))))
  out
}

counted_ridge <- function(method, problem, grid, context) {
  folds <- length(problem$size) - 1
  path <- tune_path(method, problem, problem$fold, grid, context)
  path$risk <- pmax(path$risk, 0)
  v <- select_value(path$risk, grid$value)
  pairs <- problem$size * (problem$size - 1)
  zero <- (problem$squares^2 - problem$table$fourth) / pairs
  list(
    paths = list(list(path)), v = v, forms = list(lapply(seq_len(folds), function(f) path$form(v, f))),
    diagnostics = list(path$diagnostics),
    risks = list(lapply(seq_len(folds), function(f) list(risk = path$risk[v, f], zero_risk = zero[f + 1])))
  )
}

# Projections of the risk at rows with counts.
counted_projections <- function(form, rows, threads) {
  design <- new_design(length(rows$x), copies = rows$count)
  if (length(rows$x) == 0) return(numeric())
  form_risk(form, matrix(rows$x), matrix(rows$x - rows$y), threads, design)$projections
}

# As split_difference(), of rows with counts.
counted_difference <- function(a, b) {
  mean_difference(Map(function(x, y) {
    if (is.null(x$projections)) return(c(x$risk - y$risk, NA))
    difference <- x$projections - y$projections
    n <- sum(x$count)
    mean <- sum(x$count * difference) / n
    difference_of_sums(n, mean, sum(x$count * (difference - mean)^2))
  }, a$risks[[1]], b$risks[[1]]))
}

# For rows with counts, or of cells by their upper edges.
counted_histogram <- function(problem, n_bins = 100L) {
  rows <- problem$fine %||% list(x = c(problem$edges, 1), count = rowSums(problem$n))
  bin <- findInterval(rows$x, seq_len(n_bins - 1) / n_bins, left.open = TRUE)
  counts <- rowsum_all(matrix(rows$count), factor(bin, seq_len(n_bins) - 1))[, 1]
  list(breaks = seq(0, 1, length.out = n_bins + 1), counts = as.integer(round(counts)))
}
