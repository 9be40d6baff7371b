# The probability integral transform of an outcome: the interval (low, high) over which the predicted distribution
# function jumps there; low = high if it is continuous. `jumps(rows)` returns all jumps of the distributions of some
# rows, which outcomes drawn from the predictions would give (NULL if none has a jump). `members` is the size of an
# ensemble, else NULL. `levels` are the levels of quantile forecasts, between which the transform is unknown, else NULL.

pit_of <- function(law, y) {
  pit <- family_pit(law, y)
  stop_if(is.null(pit), "The probability integral transform needs predictions of one real number.",
          "x" = "These are {.val {family_of(law)}} in dimension {dimension_of(law)}.",
          "i" = if (family_of(law) %in% c("bernoulli", "categorical")) "Give their probabilities without `pred_*()`.",
          class = "distribution", arg = "x")
  pit
}

family_pit <- function(law, y) {
  record <- record_of(law)
  if (!is.null(record$pit)) return(record$pit(law, y))
  if (is_count(law)) return(count_pit(law, y))
  parts <- components_of(law)
  if (!is.null(parts)) return(location_scale_pit(parts, y))
  if (is.null(record$cdf)) return(NULL)
  level <- record$cdf(law, y)
  new_pit(level, level)
}

# Counts: jumps between the values of the distribution function, except in tails of 1e-10. Above a standard deviation of
# 100 they are narrower than .004: a continuous distribution.
count_pit <- function(law, y) {
  cdf <- record_of(law)$cdf
  low <- cdf(law, y - 1)
  high <- cdf(law, y)
  wide <- law_moments(law)$cov[, 1] > 1e4
  if (all(wide)) return(new_pit((low + high) / 2, (low + high) / 2))
  new_pit(low, high, function(rows) {
    part <- law[rows]
    window <- count_window(part, 1e-10)
    count <- ifelse(wide[rows], 0, window$to - window$from + 1)
    each <- part[rep(seq_along(rows), count)]
    high <- cdf(each, sequence(count, window$from))
    low <- c(0, high[-length(high)])
    at <- (cumsum(count) - count + 1)[count > 0]
    low[at] <- cdf(part, window$from - 1)[count > 0]
    jump_table(count, low, high)
  })
}

location_scale_pit <- function(parts, y) {
  high <- cpp_mixture_cdf(parts, y)
  points <- parts$scale == 0 & parts$weight > 0
  if (!any(points)) return(new_pit(high, high))
  new_pit(cpp_mixture_cdf(parts, y, open = TRUE), high, function(rows) {
    point_jumps(points[rows, , drop = FALSE], parts$location[rows, , drop = FALSE], function(at, value, open) {
      here <- lapply(parts[c("location", "scale", "weight")], function(v) v[rows[at], , drop = FALSE])
      cpp_mixture_cdf(c(here, parts["laplace"]), value, open)
    })
  })
}

# A problem for each model that is a column.
read_pits <- function(x, input) {
  models <- law_models(x, input) %||% list(read_one_law(x, input))
  lapply(seq_along(models), function(m) {
    data <- models[[m]]
    c(list(pit = pit_of(data$law, as.vector(data$y)), design = data$design), model = names(models)[m])
  })
}

# Predictive distributions (vector or column), or two columns, mean and variance of a normal one.
read_one_law <- function(x, input) {
  law <- if (is_read(x)) x$law else law_given(x, input$dots)
  if (is.null(law)) {
    data <- read_moments(x, input$truth, input$dots, design = input$design)
    return(list(law = pred_normal(data$mean, sqrt(data$variance)), y = data$outcome, design = data$design))
  }
  data <- laws_of(x, input)
  # class probabilities are not predictive distributions of a number
  if (is.null(data$law)) pit_of(as_distribution(law), NULL)
  data
}
