# The panels of states: the metrics of the rows that stand for theirs, and scores of their own sums.

# `given`: names of the options that were given; `n_bins`: of a table's state; `input`: see by_predictions().
panel_of_sums <- function(x, given, n_bins, level, input) UseMethod("panel_of_sums")

#' @export
panel_of_sums.ce_state <- function(x, given, n_bins, level, input) {
  check_sums_options(x, given)
  check_state_input(input, x$about$notion)
  state_panel(x, level)
}

state_panel <- function(x, level) {
  check_state(x)
  check_state_rows(x)
  check_level(level)
  parts <- lapply(seq_along(x$sums), function(j) {
    predictions <- state_predictions(x, j)
    problem <- predictions$problem
    problem[c("log", "between")] <- predictions[c("log", "between")]
    part <- class_frame(NULL, predictions, function() {
      c(vctrs::vec_rbind(!!!lapply(cell_metrics(x$spec, level), panel_rows, problem, level)), n = x$n)
    }, list(notion = predictions$notion, level = level))
    if (x$about$blocked) part$detail <- block_detail(x, part$detail)
    part
  })
  if (x$about$notion == "class_wise") {
    whole <- vctrs::vec_cbind(all_classes(x, level), parts[[1]][1, c(".estimator", "n", "notion", "level")])
    parts <- Map(function(part, class) tibble::add_column(part, class = class, .before = 1), c(parts, list(whole)),
                 c(x$about$levels, NA))
  }
  state_table(vctrs::vec_rbind(!!!parts), x)
}

#' @rdname ce_state
#' @export
tidy.ce_state <- function(x, ..., level = 0.95) {
  check_empty(...)
  tidy(state_panel(x, level))
}

# `whole`: the rows of all parts together, since what fewer of them lose is then no rounding of parts with few rows.
panel_cells <- function(state, j, blocks = state$about$blocked) {
  edges <- state$spec$edges
  problem <- state_problem(state, j, blocks)
  # sorted once; the cumulated residual is known at the upper edges of cells
  sorted <- sort_problem(problem)
  ends <- cpp_count_below(sorted$x, edges[-1], TRUE)
  sorted$ties <- unique(ends[ends > 0])
  problem[c("sorted", "cells")] <- list(sorted, TRUE)
  problem$extreme <- state_scores(state, j)[["extreme"]] > 0
  most <- (if (blocks) moments_of_block else moments_of_cell) %/% 2
  whole <- function(fewer = FALSE) {
    moments <- over_parts(if (blocks) block_moments(state, j) else state_moments(state, j))
    rows <- cells_problem(edges, array(moments, c(dim(moments), 1)), most - fewer)
    replace(rows, "extreme", problem$extreme)
  }
  if (!blocks) problem$whole <- whole
  # within a cell the nodes of both outcomes do not interleave as the rows do
  problem$auroc <- function() {
    nodes <- function(of) {
      list(x = as.numeric(of$features), event = as.numeric(of$labels), weight = design_weights(of$design))
    }
    cpp_cell_auroc(nodes(whole()), nodes(problem), edges, most)
  }
  problem
}

block_detail <- function(state, detail) paste0(detail, "; errors from ", count_of(used_blocks(state), "block"))

cell_metrics <- function(spec, level) scalar_metrics("cells", level, spec$n_bins, bins = spec$bins)

panel_rows <- function(...) columns_frame(!!!panel_part(...)[panel_columns])

# Over the classes, as for rows in memory: Brier scores are summed, binned errors averaged. A block has all classes of
# its rows.
all_classes <- function(state, level) {
  problems <- lapply(seq_along(state$sums), panel_cells, state = state, blocks = TRUE)
  vctrs::vec_rbind(!!!lapply(Filter(function(metric) !is.null(metric$over), cell_metrics(state$spec, level)),
                             function(metric) {
    combine <- if (metric$over == "mean") class_mean else combine_estimates
    numbers <- metric$numbers
    metric$numbers <- function(problems) combine(lapply(problems, function(problem) over_blocks(numbers(problem))))
    metric$detail <- block_detail(state, paste0(metric$detail, "; ", metric$over, " over the classes"))
    panel_rows(metric, problems, level)
  }))
}

# An estimate with an influence for every block instead of its rows.
over_blocks <- function(estimate) {
  design <- estimate$design
  blocks <- block_means(design_weights(design), design$cluster, cluster_count(design))
  estimate$influence <- blocks$mean(influence_rows(estimate))
  estimate$design <- blocks$design
  if (!is.null(estimate$honest)) estimate$honest <- over_blocks(estimate$honest)
  estimate
}

# By how much the cumulated residual within the cells may exceed this error.
between_text <- function(problem, edges, value) {
  d <- design_weights(problem$design) * problem$residuals[, 1]
  more <- max(0, cpp_most_between(problem$features, d, edges) / total_weight(problem$design) - value)
  paste0("at the edges of ", length(edges) - 1, " cells, at most ", format(more, digits = 1), " more in between")
}

log_estimate <- function(state, j) {
  scores <- state_scores(state, j)
  design <- new_design(state$n)
  if (scores[["infinite"]] > 0) return(new_estimate(Inf, NULL, design))
  if (!state$about$blocked) {
    mean <- scores[["log"]] / state$n
    no_rows <- function() stop_input("An estimate from sums has no influence of rows.", class = "unsupported")
    return(new_estimate(mean, no_rows, design, squares = scores[["log_square"]] - state$n * mean^2))
  }
  weight <- block_weights(block_moments(state, j))
  used <- which(weight > 0)
  sums <- sum_array(state$sums[[j]]$scores, c(length(score_sums), length(weight)))[1, used]
  mean_estimate(sums / weight[used], new_design(length(used), weight[used], seq_along(used)))
}
