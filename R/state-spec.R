# The cells, bins and folds of a state are fixed before the first row. A spec is a list of the choices with
#   edges  of the cells: every hundredth, the edges of the panel's bins, the given knots, and towards 0 and 1 halved
#          octaves, on which functions of logit(p) are smooth
#   bins   edges of the panel's bins
#   fine   edges of the cells whose unions are the bins of Algorithm 1, and every hundredth
#   inner  knots the ladder may choose among

#' @rdname ce_state
#' @export
ce_state_spec <- function(notion = NULL, n_bins = 15, knots = NULL, grid = seq(5, 100, by = 5), folds = 5, test = 0.2,
                          blocks = 64, event_level = "first", landmarks = 20, kernel = kernel_gaussian(1 / sqrt(2)),
                          breaks = NULL) {
  call <- current_env()
  check_notion(notion)
  canonical <- identical(notion, "canonical")
  if (canonical) {
    landmarks <- check_landmarks(landmarks, call)
    check_feature_kernel(check_kernel(kernel))
  }
  check_counts(n_bins, "n_bins", upper = 1000, size = 1L)
  check_counts(grid, "grid", upper = 1000)
  check_counts(folds, "folds", lower = 2, upper = 100, size = 1L)
  check_counts(blocks, "blocks", lower = 8, upper = 1000, size = 1L)
  breaks <- check_breaks(breaks, !missing(n_bins), call)
  check_numbers(knots, "knots", lower = 0, upper = 1, null = TRUE)
  # 15L and 15 are one choice, and so are knots in any order
  folds <- as.numeric(folds)
  blocks <- as.numeric(blocks)
  grid <- sort(unique(as.numeric(grid)))
  knots <- check_many_edges(knots, "knots")
  if (!is_share(test) || test == 0) {
    stop_input(c("{.arg test} must be a share of the rows, above 0 and below 1.",
                 "x" = "It is {describe(test)}."), "argument", arg = "test", value = test)
  }
  bins <- if (is.null(breaks)) (0:n_bins) / n_bins else c(0, breaks, 1)
  fixed <- sort(unique(c(cell_edges(), bins)))
  # a knot that is an edge up to rounding is that edge
  own <- knots[vapply(knots, function(knot) min(abs(knot - fixed)) > 1e-12, NA)]
  edges <- sort(unique(c(fixed, own)))
  inner <- if (is.null(knots)) edges else edges[vapply(edges, function(edge) min(abs(edge - knots)) <= 1e-12, NA)]
  structure(
    list(notion = notion, n_bins = length(bins) - 1, bins = bins, grid = grid, folds = folds, test = test,
         blocks = blocks, event_level = check_choice(event_level, c("first", "second")), knots = knots, edges = edges,
         inner = inner,
         fine = sort(unique(c((0:100) / 100, unlist(lapply(grid, function(b) seq_len(b) / b))))),
         landmarks = if (canonical) landmarks, kernel = if (canonical) kernel),
    class = "ce_state_spec"
  )
}

check_breaks <- function(breaks, n_bins_given, call) {
  if (is.null(breaks)) return(NULL)
  if (n_bins_given) {
    stop_input(c("{.arg breaks} takes the place of {.arg n_bins}.", "i" = "Give one or the other."), "argument",
               arg = "breaks", call = call)
  }
  check_numbers(breaks, "breaks", lower = 0, upper = 1, call = call)
  if (length(breaks) == 0 || any(breaks <= 0 | breaks >= 1)) {
    stop_input(c(
      "{.arg breaks} must be the inner edges of bins, above 0 and below 1.",
      "x" = if (length(breaks) == 0) "There are none." else "They reach {.val {range(breaks)}}.",
      "i" = "For example quantiles, {.code quantile(p, 1:9 / 10)}, if none of them is 0 or 1."
    ), "argument", arg = "breaks", value = breaks, call = call)
  }
  check_many_edges(breaks, "breaks", call)
}

# Every knot, or break, is an edge of cells, of which each block has its sums.
most_edges <- 1000

# Sorted, as they are one choice in any order.
check_many_edges <- function(values, arg, call = caller_env()) {
  if (is.null(values)) return(NULL)
  values <- sort(unique(as.numeric(values)))
  if (length(values) > most_edges) {
    stop_input(c(
      "{.arg {arg}} must be at most {count_text(most_edges)}.",
      "x" = "They are {count_text(length(values))} different numbers.",
      "i" = "Give quantiles, {.code quantile({arg}, 1:99 / 100)}."
    ), c("argument", "size"), arg = arg, value = length(values), call = call)
  }
  values
}

# Moments kept of a cell, by outcome; of a block's cell and of a narrow one.
moments_of_cell <- 10L
moments_of_block <- 4L

moments_dim <- function(spec, blocked) {
  c(if (blocked) moments_of_block else moments_of_cell, 2, length(spec$edges) - 1, n_parts(spec, blocked))
}

bins_dim <- function(spec) c(1L, 2, spec$n_bins, spec$blocks)

# In blocks the sums of w and w e of a narrow cell, else its moments by outcome.
fine_dim <- function(spec, blocks) {
  c(if (blocks) 1L else moments_of_block, 2, length(spec$fine) - 1, n_parts(spec, blocks))
}

cell_edges <- function(octaves = 7:20) {
  tail <- sort(c(2^-octaves, 0.75 * 2^-octaves))
  sort(unique(c((0:100) / 100, tail, 1 - tail)))
}

#' @export
print.ce_state_spec <- function(x, ...) {
  cat("<ce_state_spec> ", spec_words(x), "\n", sep = "")
  invisible(x)
}

spec_words <- function(spec) {
  if (identical(spec$notion, "canonical")) {
    of <- if (is.matrix(spec$landmarks)) {
      paste(nrow(spec$landmarks), "given landmarks")
    } else {
      paste("up to", spec$landmarks, "landmarks of the first rows")
    }
    return(paste0("canonical, ", of, ", ", format(spec$kernel), "; Algorithm 1: ", spec$folds, " folds, test share ",
                  format(spec$test)))
  }
  paste0(
    spec$notion %||% "default notion", ", ", length(spec$edges) - 1, " cells", if (!is.null(spec$knots)) {
      paste0(" (", count_of(length(spec$knots), "given knot"), ")")
    }, ", ", count_of(spec$n_bins, "bin"), "; Algorithm 1: ", spec$folds, " folds, test share ",
    format(spec$test), ", bins ", paste(unique(range(spec$grid)), collapse = " to "), "; ", spec$blocks, " blocks"
  )
}
