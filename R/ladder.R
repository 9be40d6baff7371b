# The headline: the calibration error from leave-one-out projections on a ladder of bases (rungs).
# Each rung gives an estimate of the squared error that its basis sees, psi, unbiased whatever the
# outcomes' variances, since a row's own outcome is left out of its gap; it may be negative. No folds,
# no random numbers. One rung: inst/include/calibrisk/ladder/rung.h; its limits: est-limits.R.
#
# A ladder is a list:
#   estimate, std.error (root scale, NA below twice its noise), low, high, lower_bound (roots),
#   p.value and the statistic of the rung that decides it, upper_bound (upper limit of the root Brier
#   score), resolution (knots of the finest basis), weights (of the rungs in the estimate), value (the squared estimate
#   with its influence rows, R/influence.R), rungs, upper (a function: the upper limits of the error and of the root
#   Brier score that are missed with the probability `tail`; high and upper_bound are those of (1 - level) / 2)

# The rungs of a notion for n rows. With two classes every notion is a function of one probability.
ladder_bases <- function(notion, n_classes, n) {
  if (notion != "canonical" || n_classes <= 2) {
    knots <- c(2, 8, min(100, ceiling(sqrt(n))))
    return(lapply(knots, function(m) list(recipe = "hats", own = m)))
  }
  m <- max(4, ceiling(n^(1 / 3)))
  landmarks <- min(100, max(4, floor(n / 10)))
  out <- list(
    list(recipe = "temperature"),
    list(recipe = "own_top", own = m, fine = m),
    list(recipe = "own_both", own = min(m, 8), coarse = min(m, 8), fine = m),
    if (n_classes^2 <= n / 4) list(recipe = "top_affine"),
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
       residuals = do.call(cbind, lapply(problems, `[[`, "residuals")), design = predictions$design)
}

# The weights and clusters of a problem, as the core reads them.
core_ladder <- function(problem, bases, moments, threads) {
  design <- problem$design
  cpp_ladder(problem$features, problem$residuals, design$w %||% numeric(), design$copies %||% numeric(),
             design$cluster %||% integer(), bases, moments, threads)
}

run_ladder <- function(problem, bases, level, threads) {
  design <- problem$design
  facts <- score_facts(rowSums(problem$residuals^2), design, if (ncol(problem$residuals) == 1) 1 else 2)
  rungs <- predicted_noise(core_ladder(problem, bases, TRUE, threads), facts, function() {
    problem$residuals <- predicted_residuals(problem$features)
    problem$design$cluster <- NULL
    core_ladder(problem, bases, TRUE, threads)
  })
  out <- finish_ladder(rungs, design, facts, level, design_df(design), threads)
  out$value <- if (length(out$rungs) == 0) {
    new_estimate(NA_real_, NULL, design, power = 2)
  } else {
    stacked_estimate(out$rungs, out$weights, design)
  }
  out
}

# From the rungs of a basis to the numbers of a ladder, without its value. `facts`: of the squared residuals, see
# score_facts(); `df`: of the draws, see design_df().
finish_ladder <- function(rungs, design, facts, level, df = Inf, threads = 1L) {
  resolution <- max(vapply(rungs, function(rung) rung_resolution(rung$shape), 0))
  columns <- max(vapply(rungs, function(rung) rung$columns / ncol(rung$gap), 0))
  rungs <- Filter(function(rung) is.finite(rung$noise) && rung$noise > 0 && df > 0, rungs)
  upper <- nested_upper(rungs, columns, facts, df)
  limits <- upper((1 - level) / 2)
  if (length(rungs) == 0) {
    sure <- facts$mean == 0 && df > 0
    return(list(estimate = if (sure) 0 else NA_real_, std.error = NA_real_, low = 0, high = limits[1], lower_bound = 0,
                p.value = NA_real_, statistic = NA_real_, upper_bound = limits[2], resolution = resolution,
                weights = numeric(), rungs = rungs, upper = upper))
  }
  m <- length(rungs)
  psi <- vapply(rungs, `[[`, 0, "psi")
  w <- stack_weights(gap_products(rungs, design, threads), psi)
  squared <- stacked_square(w, psi)
  alpha <- 1 - level
  p_values <- vapply(rungs, rung_p_value, 0, df)
  lows <- vapply(rungs, rung_low, 0, 1 - alpha / (2 * m), df)
  low <- sqrt(max(lows))
  high <- max(low, limits[1])
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
    low = low, high = high, lower_bound = min(sqrt(max(vapply(rungs, rung_low, 0, 1 - alpha / m, df))), high),
    p.value = min(1, 2 * m * min(p_values)), statistic = rung_statistic(rungs[[which.min(p_values)]]),
    upper_bound = limits[2], resolution = resolution, weights = w, rungs = rungs, upper = upper
  )
}

# Of the rungs only what a limit needs: the function is kept with results. `columns`: of the finest basis.
nested_upper <- function(rungs, columns, facts, df) {
  rungs <- lapply(rungs, `[`, c("psi", "noise", "linear", "scatter"))
  force(list(columns, facts, df))
  function(tail) {
    level <- 1 - 2 * tail
    bound <- brier_bound(facts, level, df)
    unseen <- unseen_error(columns, facts, level)
    if (length(rungs) == 0 && !(facts$mean == 0 && df > 0)) return(c(bound, bound))
    c(min(bound, sqrt(max(vapply(rungs, rung_high, 0, level, df), unseen))), bound)
  }
}

stacked_square <- function(w, psi) if (sum(w) > 0) max(0, sum(w * psi)) / sqrt(sum(w)) else 0

# The squared estimate with its influence rows, the weights of the rungs taken as fixed. Rungs see much the same noise:
# its standard deviation is at most the sum of theirs.
stacked_estimate <- function(rungs, w, design) {
  psi <- vapply(rungs, `[[`, 0, "psi")
  scale <- if (sum(w) > 0) w / sqrt(sum(w)) else w
  noise <- sum(scale * sqrt(vapply(rungs, `[[`, 0, "noise")))^2
  new_estimate(stacked_square(w, psi), weighted_halves(lapply(rungs, `[[`, "half"), scale), design, power = 2,
               noise = noise)
}

# Influence rows that are made where they are asked for: a sum of as many vectors as there are rungs.
weighted_halves <- function(halves, scale) {
  force(list(halves, scale))
  function() 2 * Reduce(`+`, Map(`*`, halves, scale))
}

gap_products <- function(rungs, design, threads) {
  cpp_gap_products(lapply(rungs, `[[`, "gap"), design$w %||% numeric(), threads) / total_weight(design)
}

# Knots per coordinate, or columns where a basis has none.
rung_resolution <- function(shape) {
  knots <- max(lengths(shape$own), 0)
  if (knots > 0) return(knots)
  if (shape$recipe == "columns") nrow(shape$weights[[1]]) else 0
}

# The top-label ladder with the mean outcome of all most probable classes of a row instead of the outcome of the first
# one, which depends on the order of the classes. NULL if every row has one most probable class.
shared_top_ladder <- function(problem, level, threads) {
  confidence <- top_label(problem$features)$confidence
  is_top <- problem$features == confidence
  shared <- rowSums(is_top)
  if (all(shared == 1)) return(NULL)
  problem$residuals <- matrix(rowSums(is_top * problem$residuals) / shared)
  problem$features <- matrix(confidence)
  run_ladder(problem, ladder_bases("top_label", 1, length(confidence)), level, threads)
}

# The ladder of a notion. What bounds one notion from below bounds the finer one: a canonical error is
# never smaller than the class-wise and the top-label error of the same rows (Gruber & Buettner 2022,
# Theorem 3.1), so its estimate, limits and test take theirs into account. `known`: ladders of these rows, by notion.
notion_ladder <- function(predictions, notion, level, threads, bases = NULL, call = caller_env(), known = list(),
                          problem = ladder_problem(predictions, notion, call)) {
  if (is.null(bases) && ncol(problem$residuals) <= 2) return(binary_ladder(problem, level, threads))
  specs <- if (is.null(bases)) {
    ladder_bases(notion, ncol(problem$residuals), nrow(problem$residuals))
  } else {
    basis_specs(bases, problem$features, call)
  }
  own <- run_ladder(problem, specs, level, threads)
  if (notion == "canonical" && ncol(problem$residuals) > 2) {
    own <- canonical_ladder(own, predictions, problem, level, threads, known, call)
  }
  if (is.null(bases)) tested_classes(own, predictions, notion, level, threads, known$class_wise$tests) else own
}

# With what the coarser notions say of the canonical error, all of them by their nested bases.
canonical_ladder <- function(own, predictions, problem, level, threads, known, call) {
  class_wise <- known$class_wise$nested %||% known$class_wise %||% {
    classes <- ladder_problem(predictions, "class_wise", call)
    run_ladder(classes, ladder_bases("class_wise", ncol(classes$residuals), nrow(classes$residuals)), level, threads)
  }
  all <- c(list(own, class_wise), top_ladders(predictions, problem, level, threads, known, call))
  # three conservative tests keep the level together; the one of the top label alone uses all of it
  tested <- Filter(function(ladder) !is.null(ladder$rungs), all)
  largest <- function(field, of = all) max(vapply(of, `[[`, 0, field), na.rm = TRUE)
  most <- which.max(vapply(all, `[[`, 0, "estimate"))
  if (length(most) == 1 && most > 1) {
    # the number and its error are those of the notion that sees more
    own[c("estimate", "std.error", "value")] <- all[[most]][c("estimate", "std.error", "value")]
  }
  own$low <- largest("low", tested)
  own$high <- largest("high")
  own$upper <- largest_upper(lapply(all, `[[`, "upper"))
  # the largest of three bounds at 95% each would hold in 91% of calibrated samples only
  own$lower_bound <- own$low
  own$high <- min(own$high, max(own$upper_bound, own$low))
  p_values <- vapply(tested, `[[`, 0, "p.value")
  if (!all(is.na(p_values))) own[c("p.value", "statistic")] <- tested[[which.min(p_values)]][c("p.value", "statistic")]
  own
}

# The largest of several, within the bound of the first.
largest_upper <- function(uppers) {
  force(uppers)
  function(tail) {
    limits <- vapply(uppers, function(upper) upper(tail), c(0, 0))
    c(min(max(limits[1, ]), limits[2, 1]), limits[2, 1])
  }
}

# What the top label says of the canonical error: by nested bases, and as its own row has it.
top_ladders <- function(predictions, problem, level, threads, known, call) {
  shared <- shared_top_ladder(problem, level, threads)
  if (!is.null(shared)) return(list(shared))
  top <- ladder_problem(predictions, "top_label", call)
  c(list(run_ladder(top, ladder_bases("top_label", 1, nrow(top$features)), level, threads)),
    if (can_redraw(top$design)) list(known$top_label %||% binary_ladder(top, level, threads)))
}

new_estimate_table <- function(x, level, events = NULL) {
  attr(x, "level") <- level
  attr(x, "event_hint") <- events$hint
  new_table(x, c("Calibration error" = "root, squared (L2) norm",
                 "Interval" = paste0(percent_text(level), " for the error detectable at the resolution"),
                 if (!is.null(events)) c("Outcomes" = events_text(events$n, events$label))),
            "ce_estimate")
}

headline_row <- function(ladder, notion, n) {
  columns_frame(
    notion = notion, estimate = ladder$estimate, std.error = ladder$std.error, conf.low = ladder$low,
    conf.high = ladder$high, lower_bound = ladder$lower_bound, p.value = ladder$p.value,
    resolution = ladder$resolution, upper_bound = ladder$upper_bound, method = "adaptive", n = n
  )
}

missing_estimate <- function(notion, method, n) {
  row <- headline_row(list(estimate = NA_real_, std.error = NA_real_, low = NA_real_, high = NA_real_,
                           lower_bound = NA_real_, p.value = NA_real_, resolution = NA_real_, upper_bound = NA_real_),
                      notion, n)
  row$method <- method
  row
}
