# Where next to no outcome surprises, squares of residuals say little of the variance that they have: among 300
# predictions of .999 that were all right nothing varies, but the accuracy may be .99 (all are right in 5% of such
# samples), and all are right in three of four samples of a calibrated model. What a sample has not seen is then added.
# A sample's failures are counted in units of the largest squared residual.

few_failures <- 10

# Of squared residuals by row: their mean, its standard error and third central moment; the effective number of
# independent draws (`size`) and of rows; `largest`: the largest that there can be.
score_facts <- function(scores, design, largest, rows = 1 / weight_concentration(design)) {
  mean <- row_mean(scores, design)
  if (is_plain(design)) {
    n <- design$n
    return(list(mean = mean, error = row_std_error(scores, design), third = sum((scores - mean)^3) / n^3, size = n,
                rows = rows, largest = largest))
  }
  total <- total_weight(design)
  list(mean = mean, error = row_std_error(scores, design), third = sum(unit_powers(scores - mean, design, 3)) / total^3,
       size = total^2 / sum(unit_powers(rep(1, design$n), design, 2)), rows = rows, largest = largest)
}

# The share of failures that a sample of none says nothing of: none of so many in `size` draws has the probability
# (1 - level) / 2.
unseen_share <- function(facts, level) 1 - ((1 - level) / 2)^(1 / facts$size)

failures <- function(facts) facts$rows * facts$mean / facts$largest

# 1 where there are none, 0 from `most` on.
lack_of_failures <- function(facts, most = few_failures) max(0, 1 - failures(facts) / most)

# Upper limit of the root Brier score, which no calibration error exceeds, from the facts of its square. The variance of
# a mean of few large squares grows with the mean, by their skewness: the limit is the largest mean that a normal test
# with this variance does not reject, as rung_high(). From 25 of them (1 / skewness^2 of the mean) that makes no
# difference.
brier_bound <- function(facts, level, df = Inf) {
  # nothing is known about other rows from a single one
  if (is.na(facts$error)) return(sqrt(facts$largest))
  z <- if (df < 1) NA_real_ else stats::qt((1 + level) / 2, df)
  slope <- if (facts$error > 0 && facts$third > 0) {
    facts$third / facts$error^2 * max(0, 1 - facts$error^6 / facts$third^2 / 25)
  } else {
    0
  }
  high <- facts$mean + z^2 * slope / 2 + z * sqrt(facts$error^2 + z^2 * slope^2 / 4)
  unseen <- facts$largest * unseen_share(facts, level) * lack_of_failures(facts, 1)
  sqrt(min(facts$largest, max(high, unseen)))
}

# A rung's variance where predictions are calibrated, from the variances that they give: what squares of residuals that
# are mostly absent understate. Rows are taken as independent here.
predicted_noise <- function(rungs, facts, rungs_of) {
  lack <- lack_of_failures(facts)
  if (lack == 0) return(rungs)
  Map(function(rung, expected) {
    noise <- lack * expected$noise
    if (isTRUE(noise > rung$noise)) rung[c("noise", "skew")] <- list(noise, expected$skew)
    rung$scatter <- max(rung$scatter, lack * expected$scatter)
    rung
  }, rungs, rungs_of())
}

predicted_residuals <- function(features) {
  out <- sqrt(pmax(features * (1 - features), 0))
  out[is.na(out)] <- 0
  out
}

# The largest squared error of gaps whose failures would all be unseen: a share u of the rows, at most all of it in the
# rows of one column of the basis. Of k columns a gap of u k in one has the square u^2 k.
unseen_error <- function(columns, facts, level) {
  u <- unseen_share(facts, level)
  facts$largest * min(u^2 * max(columns, 1), u) * lack_of_failures(facts, 3)
}
