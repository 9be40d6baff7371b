# The test that the interval of ce_estimate() inverts, and that of an error below delta by its upper limit.

check_joint_test <- function(test, laws) {
  stop_if(!is.null(laws$group) || !is.null(laws$law) && (!is.null(test$delta) || dimension_of(laws$law) > 1),
          if (is.null(test$delta)) {
            "The joint test takes class probabilities or distributions of a number, without groups."
          } else {
            "{.arg delta} needs an upper limit of the calibration error, which class probabilities without groups have."
          }, "x" = if (is.null(laws$law)) "{.arg group} is given." else "The predictions are {family_text(laws)}.",
          class = "test", arg = if (is.null(test$delta)) "test" else "delta")
  stop_if(!is.null(laws$law) && !is.null(test$bases), "Predictive distributions are tested without bases.",
          "x" = "{.arg bases} is given.", arg = "bases")
}

joint_test <- function(test, laws, level) {
  check_joint_test(test, laws)
  if (!is.null(laws$law)) return(law_test(laws, level))
  notion <- if (ncol(laws$probs) == 2) "binary" else "canonical"
  predictions <- redrawn_rows(laws$predictions, notion)
  if (notion == "binary") predictions$event <- 2L
  ladder <- notion_ladder(predictions, notion, level, check_bases(test$bases, notion))
  if (!is.null(test$delta)) return(equivalence_test(ladder, notion, test$delta, level))
  flipped <- !is.null(ladder$flips)
  untested <- is.na(ladder$p.value)
  said <- c(impossible_sentence(ladder$p.value), if (untested) paste0(untested_words(ladder$estimate), "."),
            ladder$found, ladder$note, few_clusters_sentence(ladder$least, level))
  redrawn <- !flipped && (is.null(ladder$numbers) || !is.null(ladder$found))
  list(
    estimate = ladder$estimate, statistic = c(T = if (untested) NA_real_ else ladder$statistic),
    parameter = if (redrawn) {
      c(simulations = ladder$redraws)
    } else if (flipped) {
      c(flips = ladder$flips)
    } else {
      c(bases = ncol(ladder$numbers))
    },
    p.value = ladder$p.value,
    method = paste(if (redrawn || flipped) "Joint test of" else "Leave-one-out test on nested bases of", notion,
                   "calibration"),
    conf.int = structure(c(ladder$low, ladder$high), conf.level = level), std.error = ladder$std.error,
    details = if (length(said) > 0) list(found = paste(said, collapse = " "))
  )
}

# The interval is the one-sided one at `level`, whose upper limit is the two-sided one at 2 level - 1.
equivalence_test <- function(ladder, notion, delta, level) {
  found <- equivalence(ladder, delta, level)
  list(
    estimate = ladder$estimate, statistic = c("upper limit" = found$high), parameter = c(delta = delta),
    p.value = found$p.value,
    method = paste("Equivalence test of", notion, "calibration by the upper limit of its error"),
    conf.int = structure(c(0, found$high), conf.level = level), std.error = ladder$std.error, null.value = delta,
    alternative = "less"
  )
}

# Predictive distributions of a number, from the jumps of their distribution functions at the outcomes: the formulas are
# in inst/include/calibrisk/joint/law_test.h. The members of an ensemble and the outcome are exchangeable, so is what
# stands for the size of the prediction; of quantile forecasts the cells between the levels are known.
law_test <- function(laws, level, at_once = 2e6) {
  n <- laws$n
  tied <- on_quantiles(laws)
  stop_if(any(tied), "Outcomes that equal a predicted quantile have no known level.",
          "x" = "Those of {sum(tied)} of {n} rows do.", "i" = "Use {.code test = \"conditional\"}.", class = "test")
  check_rows(n, 2, "The joint test")
  law <- laws$law
  y <- laws$y[, 1]
  pit <- pit_of(law, y)
  moments <- law_moments(if (is.null(pit$members)) law else pred_draws(cbind(par_of(law, "draws"), y)))
  cells <- record_of(law)$cells
  cells <- if (is.null(cells)) pit$jumps else cells(law)
  # the redraws of a number of rows are the same in all samples: fewer would move the level and the power by a point
  times <- as.integer(max(499, min(9999, 4e7 %/% n)))
  deviation <- sqrt(moments$cov[, 1])
  chunk <- max(1L, min(2000L, as.integer(at_once %/% (pit$members %||% 1))))
  found <- with_bar("Redrawing outcomes", function(progress) {
    cpp_law_test(pit$low, pit$high, moments$mean[, 1], deviation, laws$design$w %||% rep(1, n), cells, chunk, level,
                 times, thread_count(), progress)
  })
  never <- cannot_occur_sentence(law, y, pit, deviation)
  strongest <- which.min(found$weighted)
  list(
    estimate = setNames(found$estimate, law_parts)[strongest], statistic = c(evidence = found$evidence[times + 1]),
    parameter = c(simulations = times), p.value = if (is.null(never)) found$p.value else 0,
    method = "Joint test of predictive distributions", alternative = "two.sided", null = found$evidence[seq_len(times)],
    details = list(
      found = never %||% law_claims(found, level),
      parts = columns_frame(part = law_parts, estimate = found$estimate, sign = found$rejects)
    )
  )
}

# Quantiles of counts do not say how likely what is between them is.
check_no_counts <- function(laws) {
  counts <- !is.null(laws$law) && !is.null(record_of(laws$law)$cells) &&
    all_whole(laws$y[, 1], par_of(laws$law, "values"))
  stop_if(counts, "Quantile forecasts of counts have no known distribution.",
          "x" = "Quantiles and outcomes are whole numbers.",
          "i" = "{.fn ce_coverage} tests whether they cover their level.", class = "test")
}

# Rows of quantile forecasts whose outcome is one of their quantiles: neither its level nor its cell is known.
on_quantiles <- function(laws) {
  if (!is.null(record_of(laws$law)$cells)) rowSums(par_of(laws$law, "values") == laws$y[, 1]) > 0
}

# In the order of law_test.h.
law_parts <- c("place", "spread", "place by mean", "spread by deviation", "spread by mean", "skewness", "tails", "PIT")

# On outcomes outside of the support, or beside a point; NULL if there are none.
cannot_occur_sentence <- function(law, y, pit, deviation) {
  support <- record_of(law)$support
  rows <- which(support != "real" & y < 0 | support == "unit" & y > 1 | support == "count" & y != round(y) |
                  deviation %in% 0 & pit$low == pit$high)
  if (length(rows) == 0) return(NULL)
  paste0(count_of(length(rows), "outcome"), " cannot occur by ", if (length(rows) == 1) "its prediction" else
    "their predictions", ", the first is ", signif(y[rows[1]], 4), " in row ", rows[1], " of those tested.")
}

# The findings of the parts that reject, the strongest evidence first.
law_claims <- function(found, level) {
  claims <- ifelse(found$rejects > 0, c(
    "outcomes are higher than predicted", "outcomes scatter more than predicted",
    "predicted means vary too little", "predicted spreads vary too little",
    "spreads are too small where predicted means are high, against those where they are low",
    "outcomes are more skewed to the right than predicted", "more outcomes lie in the tails than predicted",
    "outcomes lie in the upper half of their distributions too often"
  ), c(
    "outcomes are lower than predicted", "outcomes scatter less than predicted",
    "predicted means vary too much", "predicted spreads vary too much",
    "spreads are too large where predicted means are high, against those where they are low",
    "outcomes are more skewed to the left than predicted", "fewer outcomes lie in the tails than predicted",
    "outcomes lie in the lower half of their distributions too often"
  ))
  part_claims(found, found$rejects != 0, law_parts, level, function(m) claims[m])
}
