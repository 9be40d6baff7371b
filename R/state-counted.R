# Classical errors of rows with counts (x, y, count; R/ladder-cells.R), each row as often as it counts.

# The rows with counts of all parts of moments (an array, the parts last), and which part they are of.
part_rows <- function(edges, moments) {
  parts <- lapply(seq_len(dim(moments)[4]), function(part) {
    rows <- cell_rows(edges, moments[, , , part])
    c(rows, list(part = rep(part, length(rows$x))))
  })
  lapply(setNames(nm = names(parts[[1]])), function(name) unlist(lapply(parts, `[[`, name)))
}

rows_of <- function(rows, part) lapply(rows, `[`, rows$part == part)

# Sums of w, w e, w e^2 and w y in bins with these edges, a column per part, and what R/row-sorted.R makes of them.
counted_table <- function(rows, edges, parts = 1) {
  n_bins <- length(edges) - 1
  bin <- findInterval(rows$x, edges[-c(1, length(edges))], left.open = TRUE)
  if (parts > 1) bin <- bin + (rows$part - 1) * n_bins
  e <- rows$x - rows$y
  sums <- rowsum_all(rows$count * cbind(rep(1, length(e)), e, e^2, rows$y, deparse.level = 0),
                     factor(bin, seq_len(n_bins * parts) - 1))
  kept <- rowSums(matrix(sums[, 1], n_bins)) > 0
  pick <- function(k) matrix(sums[, k], n_bins)[kept, , drop = FALSE]
  list(size = pick(1), d = pick(2), d2 = pick(3), bins = bins_of_sums(pick(1), pick(2), pick(3), pick(4)))
}

# The binned error from such a table. `variance(slope, offset, mean)` of weighted rows.
sums_estimate <- function(table, p, debias, design, variance = function(slope, offset, mean) NULL) {
  value <- binned_power(table$bins, p, debias)
  bound <- crossfit_sums(table$size, table$d, table$d2, table$bins, p)
  new_estimate(
    value$power, no_rows, design, reported_power(p),
    new_estimate(bound$mean, no_rows, design, squares = bound$squares,
                 variance = variance(bound$slope, -bound$offset, bound$mean)),
    value$noise, value$squares, variance = variance(value$slope, value$offset, value$power)
  )
}

# The cumulated residual at the edges, and how far from 0 it may be within each cell.
cumulated_residuals <- function(rows, edges) {
  cell <- factor(pmax(findInterval(rows$x, edges, left.open = TRUE), 1), seq_len(length(edges) - 1))
  e <- rows$count * (rows$x - rows$y)
  sums <- rowsum_all(cbind(e, rows$count * (rows$x - rows$y)^2, pmax(e, 0), pmin(e, 0)), cell)
  at <- cumsum(sums[, 1])
  before <- c(0, at[-length(at)])
  list(at = at, squares = sums[, 2], sums = sums[, 1], within = pmax(abs(before + sums[, 3]), abs(before + sums[, 4])))
}

# As ks_columns(), with the paths of the other parts for the honest end.
counted_ks <- function(rows, n_parts, edges, design) {
  n <- design$n
  parts <- lapply(seq_len(n_parts), function(part) cumulated_residuals(rows_of(rows, part), edges))
  all <- Reduce(`+`, lapply(parts, `[[`, "at"))
  whole <- cumulated_residuals(rows, edges)
  # where no row has been yet the path is 0 for certain
  begun <- cumsum(whole$squares) > 0
  top <- which.max(ifelse(begun, abs(all), -1))
  value <- abs(all[top]) / n
  below <- seq_len(top)
  honest <- vapply(parts, function(part) {
    other <- which.max(abs(all - part$at))
    sign <- sign(all[other] - part$at[other])
    c(sign * part$at[other], sum(part$squares[seq_len(other)]))
  }, numeric(2))
  bound <- sum(honest[1, ]) / n
  spread <- c(known = sum(rows$count * rows$x * (1 - rows$x)), estimated = sum(whole$squares)) / n^2
  list(
    estimate = new_estimate(value, no_rows, design,
                            honest = new_estimate(bound, no_rows, design, squares = sum(honest[2, ]) - n * bound^2),
                            squares = sum(whole$squares[below]) - n * value^2, lower = ks_lower(value, spread)),
    sigma = ks_sigma(value, spread),
    more = max(0, max(whole$within) / n - value)
  )
}

log_estimate <- function(scores, n, design) {
  if (scores[["infinite"]] > 0) return(new_estimate(Inf, NULL, design))
  mean <- scores[["log"]] / n
  new_estimate(mean, no_rows, design, squares = scores[["log_square"]] - n * mean^2)
}

# The ratio of observed to expected events, its interval on the log scale.
oe_columns <- function(rows, level, design) {
  observed <- sum(rows$count * rows$y) / design$n
  expected <- sum(rows$count * rows$x) / design$n
  if (observed == 0 || expected == 0) return(list(.estimate = observed / expected))
  squares <- sum(rows$count * (rows$y / observed - rows$x / expected)^2)
  log <- summarise_estimates(list(new_estimate(log(observed / expected), no_rows, design, squares = squares,
                                               smallest = -Inf)), level)
  list(.estimate = observed / expected, std.error = log$std.error * observed / expected,
       conf.low = exp(log$conf.low), conf.high = exp(log$conf.high),
       p.value = if (isTRUE(log$std.error > 0)) 2 * pnorm(-abs(log$.estimate) / log$std.error))
}

counted_cox <- function(rows, scores, level) {
  missing <- list(.estimate = rep(NA_real_, 4))
  if (scores[["extreme"]] > 0) return(c(missing, reason = "; predictions of 0 or 1 have infinite logits"))
  reason <- ""
  fit <- withCallingHandlers(
    cox_fits(stats::qlogis(rows$x), rows$y, NULL, rows$count),
    calibrisk_warning_convergence = function(cnd) {
      reason <<- paste0("; ", panel_reason(cnd))
      rlang::cnd_muffle(cnd)
    }
  )
  columns <- cox_likelihood(fit, level)
  columns[] <- lapply(columns, function(v) ifelse(fit$ok, v, NA_real_))
  c(columns, reason = reason)
}

counted_spiegelhalter <- function(rows) {
  variance <- sum(rows$count * (1 - 2 * rows$x)^2 * rows$x * (1 - rows$x))
  if (variance == 0) return(NA_real_)
  sum(rows$count * (rows$y - rows$x) * (1 - 2 * rows$x)) / sqrt(variance)
}
