# Canonical states: sums over the features phi(p) = T^-1 k(p, landmarks), T T' the kernel's matrix of the landmarks
# (those that are not combinations of others). With residuals e, of every block the sums of
#   squares   w (e, phi)(e, phi)': S = sum w e e', C = sum w phi e', G = sum w phi phi'
#   rows      (1, w)(1, w)'
# Rows that have these sums are those of Algorithm 1, see R/state-tune-blocks.R.

most_landmarks <- 40

check_landmarks <- function(landmarks) {
  if (is.data.frame(landmarks)) landmarks <- as.matrix(landmarks)
  if (!is.matrix(landmarks)) {
    check_counts(landmarks, "landmarks", lower = 2, upper = most_landmarks, size = 1L)
    return(as.numeric(landmarks))
  }
  ok <- is.numeric(landmarks) && nrow(landmarks) >= 2 && nrow(landmarks) <= most_landmarks &&
    all(is.finite(landmarks) & landmarks >= 0)
  sums <- if (ok) rowSums(landmarks) else 1
  stop_if(
    any(off <- abs(sums - 1) >= sum_tolerance$float), "Rows of {.arg landmarks} must sum to 1.",
    "x" = "Row {which(off)[1]} sums to {.val {sums[off][1]}}; {sum(off)} of {nrow(landmarks)} rows are off by more \\
           than {.val {sum_tolerance$float}}.", arg = "landmarks", row = which(off)[1], value = sums[off][1]
  )
  stop_if(!ok, "{.arg landmarks} must be a number, or a matrix of 2 to {most_landmarks} rows of probabilities.",
          "x" = "It is a {nrow(landmarks)} x {ncol(landmarks)} matrix{if (!is.numeric(landmarks)) ' of text'}.",
          arg = "landmarks", value = landmarks)
  landmarks
}

# Landmarks and kernel of a state with these first rows. The order of the rows and of the classes does not matter,
# except that the order of the classes chooses among the rows of a tie (symmetric_order.h) if not all of them become
# landmarks. The rows are sorted because every kernel that depends on distances takes the first row first.
frozen_landmarks <- function(spec, probs, levels, most = 5000) {
  landmarks <- spec$landmarks
  if (is.matrix(landmarks)) {
    stop_if(ncol(landmarks) != length(levels),
            "{.arg landmarks} must have a column for each of the {length(levels)} classes.",
            "x" = "It has {ncol(landmarks)}.", class = c("state", "argument"), arg = "landmarks")
    order <- column_order(colnames(landmarks), levels, "landmarks", "classes of the state")
    landmarks <- unname(landmarks[, order, drop = FALSE])
    return(list(landmarks = landmarks, kernel = resolve_kernel(spec$kernel, landmarks)))
  }
  rows <- unique(unname(probs))
  rows <- rows[do.call(order, as.data.frame(rows)), , drop = FALSE]
  rows <- rows[cpp_symmetric_order(rows), , drop = FALSE]
  rows <- rows[unique(round(seq(1, nrow(rows), length.out = min(most, nrow(rows))))), , drop = FALSE]
  kernel <- resolve_kernel(spec$kernel, rows)
  pivots <- cpp_pivoted_cholesky(kernel, rows, landmark_tolerance, landmarks, 1L)$pivots
  stop_if(length(pivots) < 2,
          "The first chunk must have two different rows of probabilities: the landmarks are taken from it.",
          "x" = "It has {nrow(rows)}.",
          "i" = "Update with more rows at once, or give {.arg landmarks} in {.fn ce_state}: a matrix.",
          class = c("state", "landmarks"), arg = "landmarks")
  list(landmarks = rows[pivots, , drop = FALSE], kernel = kernel)
}

# For the trace: what is left of a landmark beside the others is more than rounding.
landmark_tolerance <- 1e-9

# As forms of a factor have it.
landmark_map <- function(about) {
  factor <- cpp_pivoted_cholesky(about$kernel, about$landmarks, landmark_tolerance, nrow(about$landmarks), 1L)
  list(kernel = about$kernel, pivot_rows = about$landmarks[factor$pivots, , drop = FALSE],
       triangle = factor$L[factor$pivots, , drop = FALSE])
}

add_canonical <- function(sums, problem, block, weights, about, spec) {
  phi <- factor_map_features(landmark_map(about), problem$features)
  w <- if (length(weights) > 0) weights else rep(1, nrow(phi))
  rows <- list(squares = sqrt(w) * cbind(problem$residuals, phi), rows = cbind(1, w))
  Map(function(before, x) {
    cpp_add_products(before %||% matrix(0, choose(ncol(x) + 1, 2) * spec$blocks, 2), unname(x), block)
  }, if (length(sums) == 0) lapply(rows, function(x) NULL) else sums[names(rows)], rows)
}

# A row per block: of (1, w), or of S, C and G.
canonical_sums <- function(state, name) {
  t(matrix(rowSums(state$sums[[1]][[name]]), ncol = state$spec$blocks))
}

# Any root of a block's sums has rows (e, phi) with them: pairs are those of different blocks.
landmark_problem <- function(state, blocks) {
  classes <- seq_along(state$about$levels)
  weight <- canonical_sums(state, "rows")[blocks$used, 2]
  roots <- apply(canonical_sums(state, "squares")[blocks$used, , drop = FALSE], 1, function(squares) {
    spectrum <- eigen(symmetric(squares), TRUE)
    t(spectrum$vectors[, spectrum$values > 0, drop = FALSE]) * sqrt(spectrum$values[spectrum$values > 0])
  }, simplify = FALSE)
  n <- vapply(roots, nrow, 0L)
  rows <- do.call(rbind, roots) / sqrt(rep(weight / n, n))
  w <- rep(weight / n, n) * (state$n / sum(weight))
  out <- new_problem(rows[, -classes, drop = FALSE], rows[, classes, drop = FALSE], rep(1L, length(w)),
                     design = new_design(length(w), w, rep(seq_along(n), n)))
  out[c("part", "map")] <- list(rep(blocks$used, n), landmark_map(state$about))
  out
}
