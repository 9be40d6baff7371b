# The headline of outcomes that are 0 or 1: one test and the interval that agrees with it. The formulas are in
# inst/include/calibrisk/joint. Outcomes are redrawn from the predictions, whose variances p (1 - p) are known at
# calibration. Those of clusters, and of weights that may depend on the outcome, are not known. Such rows have the upper
# limits of nested bases (ladder.R), and their test flips the signs of the clusters' sums. Where weights depend on the
# prediction, few rows make these sums, and flips reject too often: of weights the outcomes are redrawn as well, and the
# larger p-value counts, which is valid where one of the two is.

# As many as the second digit of a p-value near .05 needs.
joint_redraws <- 1999L

# Below 11 in 2,000 a p-value is of an exponential tail. If the sum of the outcomes' `variance` is small, redraws take
# few values and that tail is too thin. Such p-values are of more redraws. `test(redraws)`: list(p.value, ...).
redrawn_test <- function(test, variance, size, p_value = function(found) found$p.value) {
  found <- test(joint_redraws)
  again <- isTRUE(p_value(found) < 0.0055) && sum(variance) < 20 && size <= 5000
  c(if (again) test(20L * joint_redraws) else found, list(redraws = if (again) 20L * joint_redraws else joint_redraws))
}

redrawn_joint <- function(p, y, w, n, knots, level) {
  copies <- if (length(n) > 0) n else rep(1, length(p))
  redrawn_test(function(redraws) {
    cpp_joint(p, as.matrix(as.numeric(y)), w, n, knots, level, redraws, thread_count())[[1]]
  }, copies * p * (1 - p), sum(copies))
}

# A cluster of one row is that row.
are_alone <- function(design) is.null(design$cluster) || is.null(design$copies) && anyDuplicated(design$cluster) == 0

# Whether outcomes drawn from the predictions are as those of a calibrated model would be.
can_redraw <- function(design) {
  each <- design$w / (design$copies %||% 1)
  copy_count(design) > 1 && are_alone(design) && all(each == each[1])
}

# The ladder of a problem with one residual per row, or with the two of two classes.
binary_ladder <- function(problem, level) {
  classes <- ncol(problem$residuals)
  p <- problem$features
  if (ncol(p) > 1) p <- p[, 1]
  y <- if (classes == 1) problem$labels else round(p - problem$residuals[, 1])
  if (!can_redraw(problem$design)) {
    out <- run_ladder(problem, ladder_bases("binary", classes, copy_count(problem$design)), level)
    return(flipped_ladder(out, p, y, problem$design, level, classes = classes))
  }
  out <- joint_ladder(p, y, problem$design$copies, level)
  out$value$design <- problem$design
  if (classes == 2) doubled_ladder(out) else out
}

# `counts`: of the rows, NULL for 1; `knots`: a vector for each of the two rungs of hats, NULL for quantiles.
joint_ladder <- function(p, y, counts, level, knots = NULL) {
  # nothing is known about other rows from a single one
  if (!is.null(counts) && sum(counts) < 1.5) {
    return(run_ladder(scalar_problem(p[1], y[1]), ladder_bases("binary", 1, 1), level))
  }
  n <- counts %||% numeric()
  design <- new_design(length(p), counts)
  found <- redrawn_joint(p, y, n, n, knots %||% list(), level)
  # predictions that are certain and right leave nothing to test
  refuted_ladder(list(
    estimate = found$estimate, std.error = replace(found$std.error, is.nan(found$std.error), NA_real_),
    low = found$low, high = found$high, lower_bound = found$lower_bound,
    p.value = if (p[1] == y[1] && all(p == y)) NA_real_ else found$p.value, statistic = found$statistic,
    upper_bound = found$cap, resolution = found$resolution, weights = found$weights, redraws = found$redraws,
    upper = joint_upper(found$upper), found = group_claim(found$group),
    value = new_estimate(found$square, found$influence, design, power = 2, noise = found$noise)
  ), p, y, design, level)
}

impossible_sentence <- function(p) if (isTRUE(p == 0)) "Outcomes happened that were predicted to be impossible."

# An outcome that was predicted to be impossible refutes calibration with certainty: no other p-value is 0. `p`, `y`:
# probabilities and outcomes, of several classes in columns; the limit is that of src/limits.cpp.
refuted_ladder <- function(ladder, p, y, design, level, scale = 1) {
  size <- min(1 / weight_concentration(design), cluster_count(design))
  low <- scale * cpp_refuted_low(as.matrix(p), as.matrix(y), design$w %||% numeric(), size, (1 - level) / c(2, 1))
  if (low[1] == 0) return(ladder)
  ladder <- agreeing_ladder(ladder, list(p.value = 0, statistic = ladder$statistic), low[1])
  ladder$lower_bound <- max(ladder$lower_bound, low[2])
  ladder$high <- max(ladder$high, ladder$lower_bound)
  ladder
}

# `group`: of the part of groups where it rejects, least and largest prediction, rows, events and expected events.
group_claim <- function(group) {
  if (length(group) == 0) return(NULL)
  range <- unique(signif(group[1:2], 2))
  paste0("The test finds ", if (group[4] > group[5]) "more" else "fewer", " events than predicted in a group of ",
         count_text(round(group[3])), " rows with ",
         if (length(range) > 1) paste("predictions of", range[1], "to", range[2]) else paste("the prediction", range),
         ": ", count_text(round(group[4])), " where ", signif(group[5], 2), " were expected.")
}

joint_upper <- function(facts) {
  force(facts)
  function(tail) cpp_joint_upper(facts, tail)
}

# Test and lower limits of rows that are not redrawn, by flips of their clusters' signs; all else is that of the nested
# bases.
flipped_ladder <- function(ladder, p, y, design, level, knots = list(), classes = 1) {
  if (is.na(ladder$p.value)) return(ladder)
  w <- design$w %||% numeric()
  n <- design$copies %||% numeric()
  found <- cpp_joint_flips(p, y, w, n, design$cluster %||% integer(), knots, level, joint_redraws, thread_count())
  if (are_alone(design)) {
    drawn <- redrawn_joint(p, y, w, n, knots, level)
    if (isTRUE(drawn$p.value > found$p.value)) found[c("p.value", "statistic")] <- drawn[c("p.value", "statistic")]
    found$low <- min(found$low, drawn$low)
  }
  refuted_ladder(with_flips(ladder, found, sqrt(classes) * found$low, design), p, y, design, level, sqrt(classes))
}

with_flips <- function(ladder, found, low, design) {
  replace(agreeing_ladder(ladder, found, low), c("flips", "least"),
          list(found$flips, setNames(found$least, if (is.null(design$cluster)) "row" else "cluster")))
}

# A ladder with another test, whose lower limit is `low`, 0 where it does not reject.
agreeing_ladder <- function(ladder, found, low = found$low) {
  ladder$low <- if (low > 0) max(ladder$low, low) else 0
  ladder$lower_bound <- if (low > 0) max(ladder$lower_bound, low) else 0
  ladder$high <- max(ladder$high, ladder$lower_bound)
  if (ladder$estimate < ladder$low) {
    ladder$estimate <- ladder$low
    ladder$value$value <- ladder$low^2
  }
  ladder[c("p.value", "statistic")] <- found[c("p.value", "statistic")]
  ladder
}

# `least`: of ladders, the smallest p-value that flips can have, with its unit as name.
few_clusters_sentence <- function(least, level) {
  least <- least[which.max(least)]
  if (length(least) == 0 || rejects_at(least, level)) return(NULL)
  paste0("With ", count_of(1 - log2(least), names(least)), " no calibration error could be significant at the ",
         percent_text(1 - level), " level: the smallest possible p-value of its test is ", signif(least, 3), ".")
}

# The residuals of two classes are e and -e: the squared error of both is twice that of one.
doubled_ladder <- function(ladder) {
  roots <- c("estimate", "std.error", "low", "high", "lower_bound", "upper_bound")
  ladder[roots] <- lapply(ladder[roots], `*`, sqrt(2))
  of_one <- ladder$upper
  ladder$upper <- function(tail) sqrt(2) * of_one(tail)
  one <- ladder$value
  ladder$value <- new_estimate(2 * one$value, 2 * one$influence, one$design, power = 2, noise = 4 * one$noise)
  ladder
}

# More than two classes: the parts, in the order of inst/include/calibrisk/joint/class_test.h. Those of single classes
# and the temperature see the class-wise error.
class_parts <- c("temperature", "biases", "bias", "slope", "gap", "confidence", "steps")
tested_parts <- list(class_wise = class_parts[1:5], canonical = class_parts)

# Beyond, the redraws would take minutes. More classes than these have not been simulated.
most_redrawn <- list(rows = 20000, classes = 100, probs = 5e5)

are_redrawn <- function(predictions) {
  size <- c(n_obs(predictions), n_classes(predictions))
  all(c(size, prod(size)) <= unlist(most_redrawn))
}

# Copies of rows whose labels are redrawn, for some of these notions, become rows.
redrawn_rows <- function(predictions, notion) {
  redrawn <- any(notion %in% names(tested_parts)) && are_redrawn(predictions)
  if (redrawn) repeat_copies(predictions) else predictions
}

# The ladder of nested bases, with the test of redrawn labels in place of its own, or of flips where labels are not
# redrawn; `nested` is what it was. `tests`: those of both notions, from one set of redraws, where a ladder of these
# rows has them.
tested_classes <- function(ladder, predictions, notion, level, tests = NULL) {
  if (is.na(ladder$p.value)) return(ladder)
  if (!are_redrawn(predictions)) {
    ladder$note <- paste0(
      "With more than ", count_text(most_redrawn$rows), " rows, ", most_redrawn$classes, " classes or ",
      count_text(most_redrawn$probs), " probabilities the test is that of nested bases. The test of fewer rows, which ",
      "simulates labels, can reject where this one does not."
    )
    return(ladder)
  }
  parts <- tested_parts[[notion]]
  if (can_redraw(predictions$design)) {
    tests <- tests %||% redrawn_test(function(redraws) {
      cpp_class_test(predictions$probs, as.matrix(as.integer(predictions$truth)),
                     lapply(tested_parts, function(parts) match(parts, class_parts) - 1L), level, redraws,
                     thread_count())
    }, predictions$probs * (1 - predictions$probs), length(predictions$probs),
    function(tests) min(vapply(tests, function(one) one[[1]]$p.value, 0)))
    found <- tests[[notion]][[1]]
    out <- agreeing_ladder(ladder, found)
    out[c("tests", "redraws")] <- list(tests, tests$redraws)
  } else {
    design <- predictions$design
    found <- cpp_class_flips(predictions$probs, as.integer(predictions$truth), design$w %||% numeric(),
                             design$cluster %||% integer(), notion == "canonical", level, joint_redraws, thread_count())
    parts <- class_parts[found$parts + 1]
    out <- with_flips(ladder, found, found$low, design)
  }
  replace(out, c("nested", "found"), list(ladder, class_claims(parts, found, predictions$levels, level)))
}

# The findings of the parts that reject, the strongest evidence first.
class_claims <- function(parts, found, levels, level) {
  part_claims(found, found$lows > 0, parts, level, function(m) {
    class <- if (found$classes[m] > 0) paste0("class \"", levels[found$classes[m]], "\" ")
    above <- found$signs[m] > 0
    switch(parts[m],
      temperature = paste("probabilities are too",
                          if (above) "extreme (overconfident)" else "moderate (underconfident)"),
      biases = "classes are not as frequent as their mean probabilities",
      bias = paste0(class, "has too ", if (above) "high" else "low", " probabilities on average"),
      slope = paste0(class, "has another intercept and slope than 0 and 1"),
      gap = paste0(class, "is not as frequent as its probability says"),
      confidence = paste0("confidences in the predicted class are too ", if (above) "high" else "low",
                          " on average, or have the wrong slope"),
      steps = "the predicted class is not as often right as its confidence says"
    )
  })
}

# Why there is no p-value.
untested_words <- function(estimate) {
  if (isTRUE(estimate == 0)) "Every outcome was predicted with certainty" else
    "Too few rows or clusters for an estimate"
}

# The claims of the parts that reject, `claim(m)` that of part m, in the order of their evidence.
part_claims <- function(found, rejects, parts, level, claim) {
  at <- order(found$weighted)
  at <- at[rejects[at]]
  if (length(at) == 0) return(paste0("No part of the test rejects at the ", percent_text(1 - level), " level."))
  paste0("What the test finds at the ", percent_text(1 - level), " level (part): ",
         paste0(vapply(at, claim, ""), " (", parts[at], ")", collapse = "; "), ".")
}
