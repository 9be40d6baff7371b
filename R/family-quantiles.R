#' @rdname pred
#' @export
pred_quantiles <- function(values, levels, unit = NULL) {
  if (!is.null(unit)) return(long_quantiles(values, levels, unit))
  values <- check_parameter(values, "values")
  levels <- check_levels(levels)
  if (is.null(dim(values))) values <- matrix(values, 1)
  stop_if(length(dim(values)) != 2 || ncol(values) != length(levels),
          "{.arg values} must be a matrix with a column per level, {length(levels)} here.",
          "x" = "It is {describe_shape(values)}.",
          "i" = "The columns of {.arg values} are in the order of {.arg levels}, one row per prediction.",
          class = "distribution")
  order <- order(levels)
  values <- values[, order, drop = FALSE]
  levels <- levels[order]
  crossing <- which(values[, -1, drop = FALSE] < values[, -ncol(values), drop = FALSE], arr.ind = TRUE)
  if (nrow(crossing) > 0) {
    first <- crossing[order(crossing[, 1]), , drop = FALSE][1, ]
    rows <- length(unique(crossing[, 1]))
    stop_input(
      "Quantiles must not cross: the value of a higher level must not be smaller.",
      "x" = "Row {first[1]} has {.val {signif(values[first[1], first[2]], 4)}} at level {levels[first[2]]} and \\
             {.val {signif(values[first[1], first[2] + 1], 4)}} at level {levels[first[2] + 1]}; {rows} of \\
             {nrow(values)} rows {?is/are} affected.",
      class = "distribution", arg = "values", row = first[[1]]
    )
  }
  new_distribution(list(values = values, levels = matrix(levels, nrow(values), length(levels), byrow = TRUE)),
                   "quantiles")
}

# A value for each unit and level: a forecast per unit, in the order of unique().
long_quantiles <- function(values, levels, unit) {
  sizes <- c(length(values), length(levels), vctrs::vec_size(unit))
  stop_if(any(sizes != sizes[1]), "With {.arg unit}, every value must have its level and its unit.",
          "x" = "There are {sizes[1]} values, {sizes[2]} levels and {sizes[3]} units.", class = "distribution")
  levels <- round(levels, 9)
  known <- sort(unique(levels))
  id <- vctrs::vec_group_id(unit)
  cell <- cbind(c(id), match(levels, known))
  second <- anyDuplicated(cell)
  stop_if(second > 0, "A unit must have one value at each level.",
          "x" = "Row {second} is its second at level {levels[second]}.", class = "distribution", row = second)
  wide <- matrix(NA_real_, max(id, 0), length(known))
  wide[cell] <- values
  gap <- which(is.na(wide), arr.ind = TRUE)
  stop_if(nrow(gap) > 0, "Every unit must have a value at each of the levels.",
          "x" = "The unit of row {match(gap[1, 1], id)} has none at level {known[gap[1, 2]]}; {nrow(gap)} \\
                 value{?s} {?is/are} missing.", class = "distribution")
  pred_quantiles(wide, known)
}

check_levels <- function(levels) {
  levels <- as.vector(check_parameter(levels, "levels"))
  stop_if(length(levels) < 2 || any(levels <= 0 | levels >= 1) || anyDuplicated(levels),
          "{.arg levels} must be two or more different numbers between 0 and 1.", "x" = "They are {.val {levels}}.",
          "x" = if (any(levels > 1) && all(levels > 0 & levels < 100)) "They lie in 0 to 100, as percentages do.",
          class = "distribution")
  levels
}

# "open" is P(Y < y).
quantile_law <- function(at, values, levels, what) cpp_quantile_forecast(values, levels, as.numeric(at), what)

# Quantiles of counts: the distribution is at their level or above it, nobody knows how far.
all_whole <- function(...) cpp_all_whole(c(...), -Inf, Inf)

# Equal quantiles are jumps. Between two levels that all rows have, only the number of outcomes is known.
quantile_pit <- function(law, y) {
  parts <- parameters_of(law)
  values <- parts$values
  levels <- common_levels(parts$levels)
  high <- quantile_law(y, values, parts$levels, "cdf")
  tied <- values[, -1, drop = FALSE] == values[, -ncol(values), drop = FALSE]
  whole <- all_whole(y, values)
  if (!any(tied)) return(new_pit(high, high, levels = levels, whole = whole))
  jumps <- function(rows) {
    point_jumps(tied[rows, , drop = FALSE], values[rows, -1, drop = FALSE], function(at, value, open) {
      here <- lapply(parts, function(m) m[rows[at], , drop = FALSE])
      quantile_law(value, here$values, here$levels, if (open) "open" else "cdf")
    })
  }
  new_pit(quantile_law(y, values, parts$levels, "open"), high, jumps, levels = levels, whole = whole)
}

# The levels that all rows have; NULL if there are none.
common_levels <- function(levels) {
  first <- levels[1, ]
  if (all(levels == rep(first, each = nrow(levels)))) return(first)
  rows <- unique(levels)
  common <- Reduce(intersect, lapply(seq_len(nrow(rows)), function(i) rows[i, ]))
  if (length(common) > 0) common
}

# The formulas are those of law/quantile_forecast.h.
family_quantiles <- family_record(
  "quantiles", list(values = c(-Inf, Inf), levels = c(-Inf, Inf)),
  moments = function(values, levels) {
    list(mean = quantile_law(0, values, levels, "mean"), variance = quantile_law(0, values, levels, "variance"))
  },
  cdf = function(y, values, levels) quantile_law(y, values, levels, "cdf"),
  quantile = function(u, values, levels) quantile_law(u, values, levels, "quantile"), draw = NULL,
  density = function(y, values, levels, log = FALSE) {
    value <- quantile_law(y, values, levels, "log")
    if (log) value else exp(value)
  },
  support = "real", crps = function(y, values, levels) quantile_law(y, values, levels, "crps"),
  features = function(values, levels) values,
  pit = quantile_pit,
  # between its levels a forecast says nothing
  cells = function(law) {
    parts <- parameters_of(law)
    function(rows) cpp_quantile_jumps(parts$values[rows, , drop = FALSE], parts$levels[rows, , drop = FALSE])
  },
  format = function(law, number) {
    values <- vctrs::field(law, "values")
    paste0("quantiles[", ncol(values), "](", number(values[, 1]), ", ", number(values[, ncol(values)]), ")")
  }
)
