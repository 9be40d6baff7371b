# The marginalised target kernel h_Y of predictions and outcomes, as a source for the core
# (src/as_source.h): a closed form where there is one, means over draws otherwise. Returns
# list(spec, kernel = resolved, computation = "closed form", "quantiles (S)" or "draws (S)").

bind_target <- function(kernel, laws, draws) {
  check_feature_kernel(kernel, "target_kernel")
  if (is.null(laws$law)) {
    classes <- seq_len(ncol(laws$probs))
    kernel <- resolve_kernel(kernel, matrix(as.numeric(classes)))
    return(bind_finite(kernel, laws$probs, laws$y, classes))
  }
  kernel <- resolve_kernel(kernel, laws$y)
  bind_law(kernel, laws, draws)
}

bind_law <- function(kernel, laws, draws) {
  family <- family_of(laws$law)
  if (is_count(laws$law)) {
    finite <- count_probs(laws$law, laws$y)
    return(bind_finite(kernel, finite$probs, laws$y, finite$support))
  }
  if (kernel$type == "sum") {
    parts <- lapply(kernel$parts, bind_law, laws, draws)
    return(list(spec = list(kind = "sum", scale = kernel$scale, parts = lapply(parts, `[[`, "spec")), kernel = kernel,
                computation = setdiff(vapply(parts, `[[`, "", "computation"), "closed form")[1] %|% "closed form"))
  }
  stop_if(kernel$type == "white", "{.fn kernel_white} cannot compare continuous outcomes.",
          "x" = "The predictions are {.val {family}}.",
          "i" = "Use {.fn kernel_gaussian}, {.fn kernel_laplace} or {.fn kernel_matern}.", class = "kernel",
          arg = "target_kernel")
  stop_if(!kernel$type %in% c("gaussian", "laplace", "matern", "linear", "product"),
          "{.code {format(kernel)}} is not a kernel for numeric outcomes.", class = "kernel", arg = "target_kernel")
  spec <- closed_form(kernel, laws)
  if (!is.null(spec)) {
    if (kernel$scale != 1) spec <- list(kind = "sum", scale = kernel$scale, parts = list(spec))
    return(list(spec = spec, kernel = kernel, computation = "closed form"))
  }
  quantiles <- has_quantiles(laws$law)
  values <- points_of(laws$law, draws)
  spec <- list(kind = "draws", kernel = kernel, draws = values, y = laws$y)
  # Mean features of the draws replace S^2 evaluations per pair of predictions, unless direct sums are fast, or the
  # kernel has no small factor (Laplace, Matern). On the line these have sums of their own, see
  # inst/include/calibrisk/targets/draws_line.h.
  if (nrow(values)^2 * (ncol(values) / ncol(laws$y))^2 >= embedding_pairs) {
    spec$embedding <- with_bar("Embedding draws", function(progress) {
      cpp_draws_embedding(kernel, values, laws$y, thread_count(), progress)
    })
  }
  if (quantiles) {
    spec <- quantile_spec(spec)
  } else if (is.null(spec$embedding)) {
    spec$draws <- affordable_draws(kernel, values, ncol(laws$y))
  }
  list(spec = spec, kernel = kernel, computation = draws_text(spec, values, if (quantiles) "quantiles" else "draws"))
}

# Quantiles are not random draws: the expectation over two outcomes is the mean over all pairs of them, also of a
# quantile with itself. For a Gaussian kernel a prediction is then a mixture of points.
quantile_spec <- function(spec) {
  if (!is.null(spec$embedding)) {
    spec$embedding$own[] <- 0
  } else if (spec$kernel$type == "gaussian" && spec$kernel$scale == 1) {
    size <- dim(spec$draws)
    return(list(kind = "normal_gaussian", weight = matrix(1 / size[2], size[1], size[2]), location = spec$draws,
                scale = matrix(0, size[1], size[2]), gamma = 1 / (2 * spec$kernel$bandwidth^2), y = spec$y,
                draws = spec$draws))
  } else {
    spec$draws <- affordable_draws(spec$kernel, spec$draws, ncol(spec$y))
  }
  spec
}

# Points that stand for each prediction: its draws, evenly spaced quantiles, or else draws from it.
points_of <- function(law, draws) {
  points <- record_of(law)$points
  if (!is.null(points)) return(points(law))
  if (has_quantiles(law)) return(spaced_quantiles(law, draws))
  par_of(pred_draws(draw_law(law, draws)), "draws")
}

draws_text <- function(spec, values, what) {
  d <- ncol(spec$y)
  used <- ncol(spec$draws) / d
  all <- ncol(values) / d
  missed <- spec$embedding$missed %||% 0
  paste0(what, " (", used, if (used < all) paste(" of", all), ")",
         if (missed > 1e-12) paste0(", features to ", format(missed, digits = 1)))
}

embedding_pairs <- 1e6

# Evenly spaced draws where direct sums over all pairs of draws would take minutes: n^2 S^2 / 2 evaluations of a kernel
# that has no small factor.
affordable_draws <- function(kernel, draws, d, evaluations = direct_evaluations) {
  s <- ncol(draws) / d
  wanted <- max(least_draws, floor(sqrt(2 * evaluations) / nrow(draws)))
  on_the_line <- d == 1 && kernel$type %in% c("laplace", "matern")
  if (on_the_line || s <= wanted) return(draws)
  kept <- round(seq(1, s, length.out = wanted))
  draws[, rep((kept - 1) * d, each = d) + seq_len(d), drop = FALSE]
}

direct_evaluations <- 2e9
least_draws <- 8

# NULL where there is none.
closed_form <- function(kernel, laws) {
  law <- laws$law
  spec <- switch(kernel$type,
    linear = list(kind = "linear", mean = law_moments(law)$mean),
    gaussian = c(gaussian_form(law), list(gamma = 1 / (2 * kernel$bandwidth^2))),
    # the Laplace kernel is the Matern kernel with nu = 1/2
    laplace = c(matern_form(law, 0.5, kernel$bandwidth), list(gamma = 1 / kernel$bandwidth)),
    matern = c(matern_form(law, kernel$nu, kernel$bandwidth), list(gamma = 1 / kernel$bandwidth))
  )
  if (!is.null(spec$kind)) c(spec, list(y = laws$y))
}

# A family's own form, or that of the mixture of normal or Laplace distributions that it is.
gaussian_form <- function(law) {
  own <- closed_form_of(law, "gaussian")
  if (!is.null(own)) return(own(law))
  parts <- components_of(law)
  if (!is.null(parts)) c(kind = if (parts$laplace) "laplace_gaussian" else "normal_gaussian", parts[1:3])
}

matern_form <- function(law, nu, bandwidth) {
  parts <- components_of(law)
  if (is.null(parts)) return(NULL)
  if (!parts$laplace) return(c(kind = "normal_matern", parts[1:3], nu = nu, rate = sqrt(2 * nu) / bandwidth))
  if (nu == 0.5) c(kind = "laplace_laplace", parts[1:3])
}

# Outcomes `support[1], ..., support[m]` with probabilities `probs`; y is the value.
bind_finite <- function(kernel, probs, y, support) {
  residuals <- canonical_residuals(probs, match(as.vector(y), support))
  white <- kernel$type == "white" && kernel$scale == 1
  times <- function(values, power = 1) if (white) values else times_gram(values, kernel, support, power)
  square <- times(probs, 2)
  own <- if (white) 1 else drop(probs %*% cpp_gram_diagonal(kernel, matrix(as.numeric(support))))
  right <- times(probs)
  list(spec = list(kind = "finite", residuals = residuals, right = times(residuals), support = support, probs = probs,
                   probs_right = right, squares = square, own = matrix(own - rowSums(probs * right))),
       kernel = kernel, computation = "closed form")
}

# values %*% gram^power by entry, where the Gram matrix of thousands of counts is larger than all else.
times_gram <- function(values, kernel, support, power) {
  points <- matrix(as.numeric(support))
  columns <- seq_along(support)
  parts <- lapply(split(columns, (columns - 1) %/% gram_columns), function(some) {
    values %*% cpp_gram(kernel, points, points[some, , drop = FALSE], thread_count())^power
  })
  do.call(cbind, unname(parts))
}

gram_columns <- 512L

# One new outcome per observation from its prediction.
redraw_outcomes <- function(laws) {
  if (is.null(laws$law)) {
    laws$y <- matrix(as.numeric(cpp_draw_classes(laws$probs)))
  } else {
    laws$y <- matrix(draw_law(laws$law, 1, laws$roots %||% law_roots(laws$law)), laws$n)
  }
  laws
}

kept_rows <- 256L

# Beside what the rows cost, with as many numbers of each as the pivots that law_redraws() takes.
is_label_matrix_small <- function(target, n) ncol(target$probs)^2 <= 64 * max(n, kept_rows)

redraw_tolerance <- 1e-6  # of the kernel's mean diagonal

# Sets of outcomes side by side, n x (sets d); one sum per set (inst/include/calibrisk/skce/outcome_sums.h).
draw_outcomes <- function(laws, sets) {
  laws$roots <- laws$roots %||% law_roots(laws$law)
  do.call(cbind, lapply(seq_len(sets), function(r) redraw_outcomes(laws)$y))
}

outcome_sums <- function(weights, target, kernel, y, sets, progress = NULL) {
  cpp_outcome_sums(weights, target, kernel, y, target_points(target, y), sets, thread_count(), progress)
}

# Outcomes as a target takes them: positions in a finite support.
target_points <- function(target, y) {
  if (is.null(target$support)) return(y)
  y[] <- as.numeric(match(y, target$support))
  y
}

outcome_candidates <- 2048L

# Pivots of a factor of the target kernel, the factor at the pivots, and E l(t, Z_i) for every prediction. The pivots
# are outcomes drawn from predictions: the factor must not depend on what was observed.
outcome_factor <- function(problem, rank = max(16, min(64, 2e6 %/% problem$n))) {
  laws <- problem$laws
  n <- problem$n
  rows <- round(seq(1, n, length.out = min(n, outcome_candidates)))
  drawn <- redraw_outcomes(take_rows(laws, rows))$y
  kernel <- problem$target_kernel
  tolerance <- redraw_tolerance * mean(cpp_gram_diagonal(kernel, drawn))
  factor <- cpp_pivoted_cholesky(kernel, drawn, tolerance, rank, thread_count())
  pivots <- drawn[factor$pivots, , drop = FALSE]
  list(pivots = pivots, triangle = factor$L[factor$pivots, , drop = FALSE],
       expected = cpp_target_expectation(problem$target, target_points(problem$target, pivots), thread_count()))
}
