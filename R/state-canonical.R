# Canonical states: sums over the features phi(p) = T^-1 k(p, landmarks), T T' the kernel's matrix of the landmarks
# (those that are not combinations of others). With residuals e, of every block the sums of
#   squares   w (e, phi)(e, phi)': S = sum w e e', C = sum w phi e', G = sum w phi phi'
#   rows      (1, w)(1, w)'
# From them the kernel ridges of Algorithm 1 are fitted and evaluated, see R/state-tune-blocks.R.

most_landmarks <- 40

check_landmarks <- function(landmarks, call) {
  if (is.data.frame(landmarks)) landmarks <- as.matrix(landmarks)
  if (!is.matrix(landmarks)) {
    check_counts(landmarks, "landmarks", lower = 2, upper = most_landmarks, size = 1L, call = call)
    return(as.numeric(landmarks))
  }
  ok <- is.numeric(landmarks) && nrow(landmarks) >= 2 && nrow(landmarks) <= most_landmarks &&
    all(is.finite(landmarks) & landmarks >= 0)
  sums <- if (ok) rowSums(landmarks) else 1
  stop_if(
    any(off <- abs(sums - 1) >= sum_tolerance$float), "Rows of {.arg landmarks} must sum to 1.",
    "x" = "Row {which(off)[1]} sums to {.val {sums[off][1]}}; {sum(off)} of {nrow(landmarks)} rows are off by more \\
           than {.val {sum_tolerance$float}}.", arg = "landmarks", row = which(off)[1], value = sums[off][1],
    call = call
  )
  stop_if(!ok, "{.arg landmarks} must be a number, or a matrix of 2 to {most_landmarks} rows of probabilities.",
          "x" = "It is a {nrow(landmarks)} x {ncol(landmarks)} matrix{if (!is.numeric(landmarks)) ' of text'}.",
          arg = "landmarks", value = landmarks, call = call)
  landmarks
}

# Landmarks and kernel of a state with these first rows. The order of the rows and of the classes does not matter,
# except that the order of the classes chooses among the rows of a tie (symmetric_order.h) if not all of them become
# landmarks. The rows are sorted because every kernel that depends on distances takes the first row first.
frozen_landmarks <- function(spec, probs, levels, call, most = 5000) {
  landmarks <- spec$landmarks
  if (is.matrix(landmarks)) {
    stop_if(ncol(landmarks) != length(levels),
            "{.arg landmarks} must have a column for each of the {length(levels)} classes.",
            "x" = "It has {ncol(landmarks)}.", class = c("state", "argument"), arg = "landmarks", call = call)
    order <- column_order(colnames(landmarks), levels, call, "landmarks", "classes of the state")
    landmarks <- unname(landmarks[, order, drop = FALSE])
    return(list(landmarks = landmarks, kernel = resolve_kernel(spec$kernel, landmarks, 1L, call)))
  }
  rows <- unique(unname(probs))
  rows <- rows[do.call(order, as.data.frame(rows)), , drop = FALSE]
  rows <- rows[cpp_symmetric_order(rows), , drop = FALSE]
  rows <- rows[unique(round(seq(1, nrow(rows), length.out = min(most, nrow(rows))))), , drop = FALSE]
  kernel <- resolve_kernel(spec$kernel, rows, 1L, call)
  pivots <- cpp_pivoted_cholesky(kernel, rows, landmark_tolerance, landmarks, 1L)$pivots
  stop_if(length(pivots) < 2,
          "The first chunk must have two different rows of probabilities: the landmarks are taken from it.",
          "x" = "It has {nrow(rows)}.",
          "i" = "Update with more rows at once, or give {.arg landmarks} in {.fn ce_state}: a matrix.",
          class = c("state", "landmarks"), arg = "landmarks", call = call)
  list(landmarks = rows[pivots, , drop = FALSE], kernel = kernel)
}

# For the trace: what is left of a landmark beside the others is more than rounding.
landmark_tolerance <- 1e-9

# As factor_map() has it.
landmark_map <- function(about) {
  factor <- cpp_pivoted_cholesky(about$kernel, about$landmarks, landmark_tolerance, nrow(about$landmarks), 1L)
  list(kernel = about$kernel, pivot_rows = about$landmarks[factor$pivots, , drop = FALSE],
       triangle = factor$L[factor$pivots, , drop = FALSE])
}

add_canonical <- function(sums, problem, block, weights, about, spec) {
  phi <- factor_map_features(landmark_map(about), problem$features, 1L)
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

# As block_problem().
landmark_problem <- function(state, split) {
  classes <- seq_along(state$about$levels)
  squares <- apply(canonical_sums(state, "squares")[split$used, , drop = FALSE], 1, symmetric, simplify = FALSE)
  weight <- canonical_sums(state, "rows")[split$used, 2]
  scale <- state$n / sum(weight)
  of <- function(rows, columns) {
    vapply(squares, function(x) scale * c(x[rows, columns]), numeric(length(rows) * length(columns)))
  }
  phi <- setdiff(seq_len(nrow(squares[[1]])), classes)
  out <- list(fold = split$fold, weight = scale * weight, S = of(classes, classes), C = of(phi, classes),
              G = of(phi, phi), map = landmark_map(state$about))
  out$trained <- lapply(seq_len(state$spec$folds), function(f) landmark_spectrum(out, out$fold > 0 & out$fold != f))
  out
}

# As block_forms().
landmark_forms <- function(method, problem, grid) {
  r <- nrow(problem$trained[[1]]$vectors)
  list(
    form = function(v, f) landmark_form(method$name, problem$trained[[f]], grid$value[v], problem$map),
    sums = function(form, blocks) {
      turned <- function(of) crossprod(form$basis, matrix(of, r))
      size <- ncol(form$basis)
      list(C = vapply(blocks, function(b) c(turned(problem$C[, b])), numeric(size * nrow(problem$C) / r)),
           G = vapply(blocks, function(b) c(turned(problem$G[, b]) %*% form$basis), numeric(size^2)))
    }
  )
}

# Eigenvectors of the training rows' G, and C turned by them.
landmark_spectrum <- function(problem, train) {
  add <- function(of) matrix(rowSums(of[, train, drop = FALSE]), sqrt(nrow(problem$G)))
  spectrum <- eigen(add(problem$G), TRUE)
  list(n = sum(problem$weight[train]), s = pmax(spectrum$values, 0), vectors = spectrum$vectors,
       targets = crossprod(spectrum$vectors, add(problem$C)))
}

landmark_form <- function(type, trained, ridge, map) {
  if (type == "ukkr") {
    basis <- trained$vectors %*% (trained$targets / (trained$s + ridge * trained$n))
    return(new_form("factor", map = map, basis = basis, gap = TRUE))
  }
  core <- tcrossprod(trained$targets) / (outer(trained$s, trained$s) + ridge * trained$n^2)
  new_form("factor", map = map, basis = trained$vectors, core = core)
}
