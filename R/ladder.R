# The headline: the calibration error from leave-one-out projections on a ladder of bases (rungs).
# Each rung gives an estimate of the squared error that its basis sees, psi, unbiased whatever the
# outcomes' variances, since a row's own outcome is left out of its gap; it may be negative. No folds,
# no random numbers. One rung: inst/include/calibrisk/ladder/rung.h; its limits: ladder-limits.R.
#
# A ladder is a list:
#   estimate, std.error (root scale, NA below twice its noise), low, high, lower_bound (roots),
#   p.value and the statistic of the rung that decides it, cap (upper limit of the root Brier score), resolution (knots
#   of the finest basis), weights (of the rungs in the estimate), influence (per row, of the squared estimate), rungs

# The rungs of a notion; V is the number of rows (copies counted).
ladder_bases <- function(notion, n_classes, V) {
  if (notion != "canonical") {
    knots <- c(2, 8, min(100, ceiling(sqrt(V))))
    return(lapply(knots, function(m) list(recipe = "hats", own = m)))
  }
  m <- max(4, ceiling(V^(1 / 3)))
  landmarks <- min(100, max(4, floor(V / 10)))
  out <- list(
    list(recipe = "temperature"),
    list(recipe = "own_top", own = m, fine = m),
    list(recipe = "own_both", own = min(m, 8), coarse = min(m, 8), fine = m),
    if (n_classes^2 <= V / 4) list(recipe = "top_affine"),
    if (n_classes * (n_classes + landmarks) <= most_shared_columns) list(recipe = "kernel", landmarks = landmarks)
  )
  out[!vapply(out, is.null, NA)]
}

# A shared basis has its columns once per class: above this many its sums over pairs are too large.
most_shared_columns <- 5000

# Features and residuals of all coordinates; class-wise, the classes side by side.
ladder_problem <- function(predictions, notion, call) {
  problems <- notion_problems(predictions, notion, call)
  if (length(problems) == 1) return(problems[[1]])
  list(features = do.call(cbind, lapply(problems, `[[`, "features")),
       residuals = do.call(cbind, lapply(problems, `[[`, "residuals")))
}

# weights: numeric (of the rows) or NULL; kind "none", "frequency" (copies) or "importance".
run_ladder <- function(problem, bases, level, threads, weights = NULL, kind = "none") {
  residuals <- problem$residuals
  n <- nrow(residuals)
  v <- weights %||% rep(1, n)
  total <- sum(v)
  cap <- brier_limit(rowSums(residuals^2), v, kind, level)
  rungs <- cpp_ladder(problem$features, residuals, v, kind, bases, TRUE, threads)
  resolution <- max(vapply(rungs, function(rung) rung_resolution(rung$shape), 0))
  rungs <- Filter(function(rung) is.finite(rung$noise) && rung$noise > 0, rungs)
  if (length(rungs) == 0) {
    return(list(estimate = if (cap == 0) 0 else NA_real_, std.error = NA_real_, low = 0, high = cap, lower_bound = 0,
                p.value = NA_real_, statistic = NA_real_, cap = cap, resolution = resolution, weights = numeric(),
                influence = rep(NA_real_, n), rungs = rungs))
  }
  m <- length(rungs)
  psi <- vapply(rungs, `[[`, 0, "psi")
  w <- stack_weights(gap_products(rungs, v, total), psi)
  squared <- if (sum(w) > 0) max(0, sum(w * psi)) / sqrt(sum(w)) else 0
  alpha <- 1 - level
  p_values <- vapply(rungs, rung_p_value, 0)
  lows <- vapply(rungs, rung_low, 0, 1 - alpha / (2 * m))
  low <- sqrt(max(lows))
  high <- max(low, min(cap, sqrt(max(vapply(rungs, rung_high, 0, level)))))
  leading <- which.max(w)
  if (squared < low^2) {
    # the stack shrinks noisy rungs; one of them is sure of more than all of them together
    leading <- which.max(lows)
    w <- replace(numeric(m), leading, 1)
    squared <- psi[leading]
  }
  estimate <- min(sqrt(squared), high)
  leading <- rungs[[leading]]
  seen <- leading$psi >= 2 * sqrt(leading$noise)
  list(
    estimate = estimate,
    std.error = if (seen && estimate > 0) {
      sqrt(leading$noise + rung_slope(leading) * leading$psi) / (2 * estimate)
    } else {
      NA_real_
    },
    low = low, high = high, lower_bound = sqrt(max(vapply(rungs, rung_low, 0, 1 - alpha / m))),
    p.value = min(1, 2 * m * min(p_values)), statistic = rung_statistic(rungs[[which.min(p_values)]]),
    cap = cap, resolution = resolution, weights = w,
    influence = Reduce(`+`, Map(function(rung, weight) {
      weight * 2 * (rung$half * if (kind == "importance") n * v / total else 1) - 2 * weight * rung$psi
    }, rungs, w)),
    rungs = rungs
  )
}

gap_products <- function(rungs, v, total) {
  gaps <- vapply(rungs, function(rung) as.vector(rung$gap), numeric(length(rungs[[1]]$gap)))
  crossprod(gaps, rep_len(v, nrow(gaps)) * gaps) / total
}

# Upper limit of the root Brier score, which no calibration error exceeds.
brier_limit <- function(scores, v, kind, level) {
  n <- length(scores)
  total <- sum(v)
  mean <- sum(v * scores) / total
  if (n < 2) return(sqrt(mean))
  variance <- if (kind == "frequency") {
    sum(v * (scores - mean)^2) / (total * (total - 1))
  } else {
    n / (n - 1) * sum(v^2 * (scores - mean)^2) / total^2
  }
  sqrt(mean + qnorm((1 + level) / 2) * sqrt(variance))
}

# Knots per coordinate, or columns where a basis has none.
rung_resolution <- function(shape) {
  knots <- max(lengths(shape$own), 0)
  if (knots > 0) return(knots)
  if (shape$recipe == "columns") nrow(shape$weights[[1]]) else 0
}

# The ladder of a notion. What bounds one notion from below bounds the finer one: a canonical error is
# never smaller than the class-wise and the top-label error of the same rows (Gruber & Buettner 2022,
# Theorem 3.1), so its estimate, limits and test take theirs into account. `known`: ladders of these rows, by notion.
notion_ladder <- function(predictions, notion, level, threads, bases = NULL, call = caller_env(), known = list()) {
  problem <- ladder_problem(predictions, notion, call)
  specs <- if (is.null(bases)) {
    ladder_bases(notion, ncol(problem$residuals), nrow(problem$residuals))
  } else {
    basis_specs(bases, problem$features, call)
  }
  own <- run_ladder(problem, specs, level, threads)
  if (notion != "canonical") return(own)
  lower <- lapply(c("class_wise", "top_label"), function(coarser) {
    known[[coarser]] %||% notion_ladder(predictions, coarser, level, threads, call = call)
  })
  all <- c(list(own), lower)
  largest <- function(field) max(vapply(all, `[[`, 0, field), na.rm = TRUE)
  most <- which.max(vapply(all, `[[`, 0, "estimate"))
  if (length(most) == 1 && most > 1) {
    # the number and its error are those of the notion that sees more
    own[c("estimate", "std.error", "influence")] <- all[[most]][c("estimate", "std.error", "influence")]
  }
  for (field in c("low", "high")) own[[field]] <- largest(field)
  # the largest of three bounds at 95 % each would hold in 91 % of calibrated samples only
  own$lower_bound <- own$low
  own$high <- min(own$high, max(own$cap, own$low))
  p_values <- vapply(all, `[[`, 0, "p.value")
  if (!all(is.na(p_values))) own[c("p.value", "statistic")] <- all[[which.min(p_values)]][c("p.value", "statistic")]
  own
}
