# Algorithm 1 on the sums of a state: that of the rows that stand for its own. A part is fold + 1, as test rows are
# fold 0.

# The result of ce_tune() of a state. `split`: names of the options that were `given`, `folds` as a quosure,
# `test` and `repeats`.
tune_sums <- function(x, input, notion, methods, split, level) UseMethod("tune_sums")

#' @export
tune_sums.ce_state <- function(x, input, notion, methods, split, level) {
  state <- check_state(x)
  check_sums_options(x, split$given)
  check_state_rows(state)
  stop_if(isTRUE(state$about$in_database), "The sums of a database have no folds for {.fn ce_tune}.",
          "i" = "Without {.arg in_database} the rows are read, and folds are made of them.",
          class = c("unsupported", "state", "folds"), arg = "x")
  check_state_input(c(input, list(notion = notion)), x$about$notion)
  spec <- state$spec
  notion <- state$about$notion
  fold <- NULL
  if (in_blocks(state)) {
    blocks <- state_folds(state)
    problems <- lapply(seq_along(state$sums), function(j) in_own_blocks(block_problem(state, j), blocks))
    sizes <- blocks$sizes
    counted <- blocks_sentence(state, length(blocks$used))
  } else {
    # cells between the edges of all bins; fourth powers of residuals are sums of their moments
    problems <- list(cells_problem(spec$fine, sum_array(state$sums[[1]]$fine, fine_dim(spec, FALSE))))
    fold <- problems[[1]]$part - 1L
    sizes <- group_sizes(problems[[1]], problems[[1]]$part, spec$folds + 1L)
    check_fold_rows(sizes)
    counted <- "Folds and test rows by the hash of the rows."
  }
  split <- structure(list(sizes = sizes, k = spec$folds), class = "ce_split")
  methods <- state_methods(state)
  grids <- lapply(methods, method_grid, notion = notion, n = sum(sizes[-1]) * (spec$folds - 1) / spec$folds)
  results <- tune_jobs(methods, problems, list(list(fold = fold, k = spec$folds)), grids)
  out <- new_tune(results, methods, grids, state_headline(state, level), problems, list(
    histogram = tune_histogram(problems, notion), source = NULL, notion = notion, level = level, split = split,
    n_splits = 1, n = state_rows(state), counted = c(followed_sentence(state), counted), dropped = state$dropped,
    levels = state$about$levels, event = state$about$event, scalar = state$about$scalar
  ))
  name_event(out, event_label(state$about, horizon = state$about$horizon))
}

state_methods <- function(state) {
  grid <- state$spec$grid
  methods <- list("15 bins" = method_bins(15), bins = method_bins(grid), kkr = method_kkr(), ukkr = method_ukkr())
  if (15 %in% grid) methods else methods[-1]
}

check_fold_rows <- function(sizes) {
  few <- which(sizes < c(1, rep(2, length(sizes) - 1)))
  stop_if(length(few) > 0, "Every fold must have two rows, the test rows one.",
          "x" = if (few[1] == 1) "There are no test rows." else "Fold {few[1] - 1} has {sizes[few[1]]} row{?s}.",
          "i" = "Rows with the same values are in the same fold; give {.arg id} in {.fn update} to tell them apart.",
          class = c("state", "folds"))
}
