# Canonical states: sums over the features phi(p) = T^-1 k(p, landmarks), T T' the kernel's matrix of the landmarks
# (those that are not combinations of others). With residuals e, of every fold the sums of
#   squares   (e, phi)(e, phi)': S = sum e e', C = sum phi e', G = sum phi phi'
#   scaled    |e|^2 phi phi', H
#   fourth    phi_a phi_b phi_c phi_d, d <= c <= b <= a: F(M, M) = sum (phi'M phi)^2
#   lengths   (1, |e|^2)(1, |e|^2)'
# From them the kernel ridges of Algorithm 1 are fitted and evaluated, see pair_statistics.h:
#   R = [|S|^2 - 2 tr(C'M C) + tr(M G M G) - (sum |e|^4 - 2 <M, H> + F(M, M))] / (n (n - 1))

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
  if (any(off <- abs(sums - 1) >= sum_tolerance$float)) {
    stop_input(c(
      "Rows of {.arg landmarks} must sum to 1.",
      "x" = "Row {which(off)[1]} sums to {.val {sums[off][1]}}; {sum(off)} of {nrow(landmarks)} rows are off by more \\
             than {.val {sum_tolerance$float}}."
    ), "argument", arg = "landmarks", row = which(off)[1], value = sums[off][1], call = call)
  }
  if (!ok) {
    stop_input(c(
      "{.arg landmarks} must be a number, or a matrix of 2 to {most_landmarks} rows of probabilities.",
      "x" = "It is a {nrow(landmarks)} x {ncol(landmarks)} matrix{if (!is.numeric(landmarks)) ' of text'}."
    ), "argument", arg = "landmarks", value = landmarks, call = call)
  }
  landmarks
}

# Landmarks and kernel of a state with these first rows; whatever the order of the rows.
frozen_landmarks <- function(spec, probs, levels, call, most = 5000) {
  landmarks <- spec$landmarks
  if (is.matrix(landmarks)) {
    if (ncol(landmarks) != length(levels)) {
      stop_input(c(
        "{.arg landmarks} must have a column for each of the {length(levels)} classes.",
        "x" = "It has {ncol(landmarks)}."
      ), c("state", "argument"), arg = "landmarks", call = call)
    }
    landmarks <- unname(landmarks[, landmark_columns(colnames(landmarks), levels, call), drop = FALSE])
    return(list(landmarks = landmarks, kernel = resolve_kernel(spec$kernel, landmarks, 1L, call)))
  }
  rows <- unique(unname(probs))
  rows <- rows[do.call(order, as.data.frame(rows)), , drop = FALSE]
  rows <- rows[unique(round(seq(1, nrow(rows), length.out = min(most, nrow(rows))))), , drop = FALSE]
  kernel <- resolve_kernel(spec$kernel, rows, 1L, call)
  pivots <- cpp_pivoted_cholesky(kernel, rows, landmark_tolerance, landmarks, 1L)$pivots
  if (length(pivots) < 2) {
    stop_input(c(
      "The first chunk must have two different rows of probabilities: the landmarks are taken from it.",
      "x" = "It has {nrow(rows)}.",
      "i" = "Update with more rows at once, or give {.arg landmarks} in {.fn ce_state_spec}: a matrix."
    ), c("state", "landmarks"), arg = "landmarks", call = call)
  }
  list(landmarks = rows[pivots, , drop = FALSE], kernel = kernel)
}

# By name where all have one, `level` or `.pred_level`, else by position.
landmark_columns <- function(names, levels, call) {
  position <- seq_along(levels)
  if (is.null(names)) return(position)
  for (own in list(names, sub("^\\.pred_", "", names))) {
    at <- match(levels, own)
    if (!anyNA(at)) return(at)
  }
  moved <- which(match(own, levels) != position)
  if (length(moved) == 0) return(position)
  stop_input(c(
    "Columns of {.arg landmarks} must be in the order of the classes, or all carry their names.",
    "x" = "Column {moved[1]} is {.field {names[moved[1]]}}, but class {moved[1]} is {.val {levels[moved[1]]}}."
  ), c("columns", "argument"), arg = "landmarks", call = call)
}

# Of the trace: what is left of a landmark beside the others is more than rounding.
landmark_tolerance <- 1e-9

# As factor_map() has it.
landmark_map <- function(about) {
  factor <- cpp_pivoted_cholesky(about$kernel, about$landmarks, landmark_tolerance, nrow(about$landmarks), 1L)
  list(kernel = about$kernel, pivot_rows = about$landmarks[factor$pivots, , drop = FALSE],
       triangle = factor$L[factor$pivots, , drop = FALSE])
}

add_canonical <- function(sums, problem, part, about, spec) {
  phi <- factor_map_features(landmark_map(about), problem$features, 1L)
  e <- problem$residuals
  length <- rowSums(e^2)
  rows <- list(squares = cbind(e, phi), scaled = sqrt(length) * phi, fourth = phi, lengths = cbind(1, length))
  Map(function(before, x, four) {
    if (is.null(before)) before <- matrix(0, product_size(ncol(x), four) * (spec$folds + 1), 2)
    cpp_add_products(before, unname(x), part, four)
  }, if (length(sums) == 0) lapply(rows, function(x) NULL) else sums[names(rows)], rows, names(rows) == "fourth")
}

product_size <- function(q, four) choose(q + if (four) 3 else 1, if (four) 4 else 2)

# Per fold, test rows first: n, S, C, G, H, F, sum |e|^4.
canonical_folds <- function(state) {
  k <- length(state$about$levels)
  sums <- lapply(state$sums[[1]], function(pairs) matrix(rowSums(pairs), ncol = state$spec$folds + 1))
  lapply(seq_len(state$spec$folds + 1), function(part) {
    squares <- symmetric(sums$squares[, part])
    lengths <- symmetric(sums$lengths[, part])
    phi <- seq_len(nrow(squares) - k) + k
    list(n = lengths[1, 1], S = squares[seq_len(k), seq_len(k)], C = squares[phi, seq_len(k), drop = FALSE],
         G = squares[phi, phi, drop = FALSE], H = symmetric(sums$scaled[, part]), fourth = sums$fourth[, part],
         Q = lengths[2, 2])
  })
}

# F(M, M): each set of four indices with the number of its orders, a third of which has each pairing.
fourth_form <- function(m, fourth, at) {
  pairs <- m[at[, 1:2]] * m[at[, 3:4]] + m[at[, c(1, 3)]] * m[at[, c(2, 4)]] + m[at[, c(1, 4)]] * m[at[, 2:3]]
  sum(at[, 5] * pairs * fourth) / 3
}

# Indices d <= c <= b <= a in the order of the sums, and the number of orders of each.
fourth_index <- function(r) {
  up_to <- function(x) cbind(x[rep(seq_len(nrow(x)), x[, ncol(x)]), , drop = FALSE], sequence(x[, ncol(x)]))
  at <- unname(up_to(up_to(up_to(matrix(seq_len(r))))))
  same <- at[, -1, drop = FALSE] == at[, -4, drop = FALSE]
  runs <- 1 + same[, 1]
  total <- runs
  for (j in 2:3) {
    runs <- ifelse(same[, j], runs + 1, 1)
    total <- total * runs
  }
  cbind(at, 24 / total)
}

canonical_tune <- function(state, level, call) {
  spec <- state$spec
  folds <- canonical_folds(state)
  sizes <- vapply(folds, `[[`, 0, "n")
  check_fold_rows(sizes, call)
  kernel <- state$about$kernel
  methods <- list(kkr = method_kkr(kernel = kernel), ukkr = method_ukkr(kernel = kernel))
  grids <- lapply(methods, method_grid, notion = "canonical", n = sum(sizes[-1]) * (spec$folds - 1) / spec$folds)
  map <- landmark_map(state$about)
  at <- fourth_index(ncol(map$triangle))
  trained <- lapply(seq_len(spec$folds), function(f) landmark_spectrum(folds[-c(1, f + 1)]))
  results <- Map(function(method, grid) tune_landmarks(method, grid, folds, trained, map, at), methods, grids)
  new_tune(results, methods, grids, missing_estimate("canonical", "ladder", state$n), list(list(class = NULL)), list(
    histogram = NULL, source = NULL, notion = "canonical", level = level,
    split = structure(list(sizes = sizes, k = spec$folds), class = "ce_split"), n_splits = 1, n = state$n,
    counted = paste0("Folds and test rows by the hash of the rows; kernel on ", nrow(map$pivot_rows), " landmarks."),
    dropped = state$dropped, levels = state$about$levels, event = state$about$event, scalar = state$about$scalar
  ), counted_difference)
}

# Eigenvectors of the training rows' G, and C turned by them.
landmark_spectrum <- function(parts) {
  add <- function(name) Reduce(`+`, lapply(parts, `[[`, name))
  spectrum <- eigen(add("G"), TRUE)
  list(n = add("n"), s = pmax(spectrum$values, 0), vectors = spectrum$vectors,
       targets = crossprod(spectrum$vectors, add("C")))
}

landmark_form <- function(type, trained, ridge, map) {
  if (type == "ukkr") {
    basis <- trained$vectors %*% (trained$targets / (trained$s + ridge * trained$n))
    return(new_form("factor", map = map, basis = basis, gap = TRUE))
  }
  core <- tcrossprod(trained$targets) / (outer(trained$s, trained$s) + ridge * trained$n^2)
  new_form("factor", map = map, basis = trained$vectors, core = core)
}

# M of h(p, p') = phi(p)'M phi(p')
landmark_core <- function(form) form$basis %*% core_product(form$core, t(form$basis))

tune_landmarks <- function(method, grid, folds, trained, map, at) {
  k <- length(trained)
  path <- new_path(nrow(grid), k)
  for (f in seq_len(k)) {
    for (v in seq_len(nrow(grid))) {
      m <- landmark_core(landmark_form(method$name, trained[[f]], grid$value[v], map))
      path$risk[v, f] <- max(0, landmark_risk(folds[[f + 1]], m, at))
      path$squared_error[v, f] <- sum(m * folds[[f + 1]]$G) / folds[[f + 1]]$n
      path$squared_error_test[v, f] <- sum(m * folds[[1]]$G) / folds[[1]]$n
    }
  }
  v <- select_value(path$risk, grid$value)
  forms <- lapply(trained, function(one) landmark_form(method$name, one, grid$value[v], map))
  cores <- lapply(forms, landmark_core)
  test <- folds[[1]]
  m <- Reduce(`+`, cores) / k
  mean <- sum(m * test$G) / test$n
  list(
    paths = list(list(path)), v = v, forms = list(forms), diagnostics = list(NULL),
    risks = list(lapply(seq_len(k), function(f) {
      list(risk = path$risk[v, f], zero_risk = max(0, landmark_risk(folds[[f + 1]], 0 * cores[[f]], at)))
    })),
    squared = list(new_estimate(mean, no_rows, new_design(test$n),
                                squares = fourth_form(m, test$fourth, at) - test$n * mean^2))
  )
}

landmark_risk <- function(fold, m, at) {
  product <- m %*% fold$G
  losses <- sum(fold$S^2) - 2 * sum(fold$C * (m %*% fold$C)) + sum(product * t(product))
  own <- fold$Q - 2 * sum(m * fold$H) + fourth_form(m, fold$fourth, at)
  (losses - own) / (fold$n * (fold$n - 1))
}
