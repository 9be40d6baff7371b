# The rungs of each notion, and what follows from one notion for another.

# The rungs of a notion for n rows. With two classes every notion is a function of one probability.
ladder_bases <- function(notion, n_classes, n) {
  if (notion != "canonical" || n_classes <= 2) {
    knots <- c(2, 8, min(100, ceiling(sqrt(n))))
    return(lapply(knots, function(m) list(recipe = "hats", own = m)))
  }
  m <- max(4, ceiling(n^(1 / 3)))
  landmarks <- min(100, max(4, floor(n / 10)))
  drop_null(list(
    list(recipe = "temperature"),
    list(recipe = "own_top", own = m, fine = m),
    list(recipe = "own_both", own = min(m, 8), coarse = min(m, 8), fine = m),
    if (n_classes^2 <= n / 4) list(recipe = "top_affine"),
    if (n_classes * (n_classes + landmarks) <= most_shared_columns) list(recipe = "kernel", landmarks = landmarks)
  ))
}

# A shared basis has its columns once per class: above this many its sums over pairs are too large.
most_shared_columns <- 5000

# Features and residuals of all coordinates. Those of all classes one by one are those of the whole simplex.
ladder_problem <- function(predictions, notion) {
  notion_problems(predictions, if (identical(notion, "class_wise")) "canonical" else notion)[[1]]
}

# The ladder of a notion. A lower bound of one notion bounds the finer one: a canonical error is never smaller than the
# class-wise and the top-label error of the same rows (Gruber & Buettner 2022, Theorem 3.1). So its estimate, limits and
# test take theirs into account. `known`: ladders of these rows, by notion.
notion_ladder <- function(predictions, notion, level, bases = NULL, known = list()) {
  # of a state
  if (!is.null(predictions$ladder)) return(predictions$ladder(level))
  problem <- ladder_problem(predictions, notion)
  if (is.null(bases) && ncol(problem$residuals) <= 2) return(binary_ladder(problem, level))
  specs <- if (is.null(bases)) {
    tell_forecast(nrow(problem$residuals), ncol(problem$residuals), notion)
    ladder_bases(notion, ncol(problem$residuals), copy_count(problem$design))
  } else {
    basis_specs(bases, problem$features)
  }
  own <- run_ladder(problem, specs, level)
  if (notion == "canonical" && ncol(problem$residuals) > 2) {
    own <- canonical_ladder(own, predictions, problem, level, known)
  }
  if (is.null(bases)) own <- tested_classes(own, predictions, notion, level, known$class_wise$tests)
  refuted_ladder(own, problem$features, problem$features - problem$residuals, problem$design, level)
}

# Says beforehand how long n rows of k classes take. Seconds of one processor, as measured: for each probability, and
# for each row and pair of columns of the shared basis.
tell_forecast <- function(n, k, notion) {
  seconds <- n * k * c(class_wise = 1e-6, canonical = 2e-6)[[notion]]
  shared <- k * (k + 100)
  if (notion == "canonical" && shared <= most_shared_columns) seconds <- seconds + 5.5e-11 * n * shared^2
  if (seconds <= 10) return(invisible())
  name <- sub("_", "-", notion, fixed = TRUE)
  tell("i" = "The {name} error of {k} classes takes about {signif(seconds, 1)} seconds of one processor. That of the \\
              predicted class, {.code notion = \"top_label\"}, takes seconds.", class = "forecast")
}

# Takes the limits of coarser notions into account, all of them by their nested bases.
canonical_ladder <- function(own, predictions, problem, level, known) {
  class_wise <- known$class_wise$nested %||% known$class_wise %||%
    run_ladder(problem, ladder_bases("class_wise", ncol(problem$residuals), copy_count(problem$design)), level)
  all <- c(list(own, class_wise), top_ladders(predictions, problem, level, known), scaling_ladder(problem, level))
  # three conservative tests keep the level together; the one of the top label alone uses all of it
  tested <- Filter(function(ladder) !is.null(ladder$numbers), all)
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

# An upper limit for miscalibration that vector scaling mends, as that of networks: its tangents at the temperatures 2
# and 4, whose coefficients all residuals of a row share. The residuals are therefore clusters of one long column.
scaling_ladder <- function(problem, level, most = 2e7) {
  design <- problem$design
  n <- copy_count(design)
  k <- ncol(problem$features)
  columns <- 4 * k + 3
  if (columns > n / 10 || columns * n * k > most) return(NULL)
  rows <- rep(seq_len(design$n), design$copies %||% 1)
  numbers <- cpp_scaling_rung(problem$features[rows, , drop = FALSE], problem$residuals[rows, , drop = FALSE],
                              if (cpp_equal_copies(design)) numeric() else (design$w / (design$copies %||% 1))[rows],
                              if (is.null(design$cluster)) seq_along(rows) else design$cluster[rows], thread_count())
  upper <- nested_upper(numbers, columns, square_facts(problem), cpp_design_df(design))
  list(list(estimate = 0, high = upper((1 - level) / 2)[1], upper = upper))
}

# The largest of several, within the bound of the first.
largest_upper <- function(uppers) {
  force(uppers)
  function(tail) {
    limits <- vapply(uppers, function(upper) upper(tail), c(0, 0))
    c(min(max(limits[1, ]), limits[2, 1]), limits[2, 1])
  }
}

# Ladders of the top label, which bound the canonical error: by nested bases, and as its own row has it.
top_ladders <- function(predictions, problem, level, known) {
  confidence <- top_label(problem$features)$confidence
  is_top <- problem$features == confidence
  shared <- rowSums(is_top)
  if (any(shared != 1)) {
    # the outcome of the first of several most probable classes would depend on their order: the mean outcome of them
    problem$residuals <- matrix(rowSums(is_top * problem$residuals) / shared)
    problem$features <- matrix(confidence)
    return(list(run_ladder(problem, ladder_bases("top_label", 1, copy_count(problem$design)), level)))
  }
  top <- ladder_problem(predictions, "top_label")
  c(list(run_ladder(top, ladder_bases("top_label", 1, copy_count(top$design)), level)),
    if (can_redraw(top$design)) list(known$top_label %||% binary_ladder(top, level)))
}
