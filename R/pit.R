# The probability integral transform of an outcome: the interval (low, high) over which the predicted
# distribution function jumps there; low = high where it is continuous. `jumps(rows)`, NULL where no
# law has one: all jumps of the laws of some rows, what outcomes drawn from the predictions would
# give; members: the size of an ensemble, else NULL.

new_pit <- function(low, high, jumps = NULL, members = NULL) {
  list(low = low, high = high, jumps = jumps, members = members)
}

pit_middle <- function(pit) (pit$low + pit$high) / 2

pit_of <- function(law, y, call = caller_env()) {
  if (family_of(law) == "draws" && dimension_of(law) == 1) return(ensemble_pit(vctrs::field(law, "draws"), y))
  if (family_of(law) == "poisson") return(poisson_pit(vctrs::field(law, "rate"), y))
  parts <- location_scale_parts(law)
  if (is.null(parts)) {
    stop_input(c(
      "The probability integral transform needs predictions of one real number.",
      "x" = "These are {.val {family_of(law)}} in dimension {dimension_of(law)}."
    ), "distribution", arg = "x", call = call)
  }
  location_scale_pit(parts, y)
}

# Jumps as a table: those of row i are start[i] + 1 to start[i + 1].
jump_table <- function(count, low, high) list(start = c(0L, cumsum(as.integer(count))), low = low, high = high)

# Poisson: jumps between the values of the distribution function, but for tails of 1e-10. Above a rate of 10,000
# they are narrower than .004: a continuous law.
poisson_pit <- function(rate, y) {
  low <- stats::ppois(y - 1, rate)
  high <- stats::ppois(y, rate)
  if (all(rate > 1e4)) return(new_pit((low + high) / 2, (low + high) / 2))
  new_pit(low, high, function(rows) {
    rate <- rate[rows]
    first <- stats::qpois(1e-10, rate)
    count <- ifelse(rate > 1e4, 0, stats::qpois(1e-10, rate, lower.tail = FALSE) - first + 1)
    each <- rep(rate, count)
    high <- stats::ppois(sequence(count, first), each)
    low <- c(0, high[-length(high)])
    at <- (cumsum(count) - count + 1)[count > 0]
    low[at] <- stats::ppois(first - 1, rate)[count > 0]
    jump_table(count, low, high)
  })
}

# An ensemble: the outcome's rank among its members and itself is uniform on 1..S+1 if they are draws from one law;
# ties share their ranks. Given the S + 1 values each is the outcome with the same probability: no law is estimated.
ensemble_pit <- function(draws, y) {
  size <- ncol(draws) + 1
  new_pit(rowSums(draws < y) / size, (rowSums(draws <= y) + 1) / size, function(rows) {
    values <- cbind(draws[rows, , drop = FALSE], y[rows])
    row <- rep(seq_along(rows), size)
    order <- order(row, values, method = "radix")
    sorted <- values[order]
    last <- c(sorted[-1] != sorted[-length(sorted)], TRUE)
    last[seq_along(rows) * size] <- TRUE
    at <- which(last)
    high <- ((at - 1) %% size + 1) / size
    low <- c(0, high[-length(high)])
    low[low == 1] <- 0 # the row before has ended
    jump_table(tabulate((at - 1) %/% size + 1, length(rows)), low, high)
  }, members = size - 1)
}

# Normal and Laplace laws and their mixtures: n x components, and the standard law's distribution function.
location_scale_parts <- function(law) {
  family <- family_of(law)
  names <- switch(family, normal = c("mean", "sd"), c("location", "scale"))
  if (!family %in% c("normal", "laplace", "mixture_normal", "mixture_laplace")) return(NULL)
  location <- par_of(law, names[1])
  list(location = location, scale = par_of(law, names[2]),
       weight = if (startsWith(family, "mixture")) par_of(law, "weight") else 1 + 0 * location,
       cdf = if (endsWith(family, "normal")) stats::pnorm else standard_laplace_cdf)
}

standard_laplace_cdf <- function(z) ifelse(z < 0, exp(pmin(z, 0)) / 2, 1 - exp(-pmax(z, 0)) / 2)

# P(Y <= y), or P(Y < y), by row. A component of scale 0 is a point.
location_scale_cdf <- function(parts, y, open = FALSE) {
  point <- parts$scale == 0
  below <- if (open) parts$location < y else parts$location <= y
  value <- ifelse(point, below, parts$cdf((y - parts$location) / ifelse(point, 1, parts$scale)))
  # weights sum to 1 up to rounding
  pmin(rowSums(parts$weight * value), 1)
}

location_scale_pit <- function(parts, y) {
  high <- location_scale_cdf(parts, y)
  points <- parts$scale == 0 & parts$weight > 0
  if (!any(points)) return(new_pit(high, high))
  new_pit(location_scale_cdf(parts, y, open = TRUE), high, function(rows) {
    some <- lapply(parts[c("location", "scale", "weight")], function(v) v[rows, , drop = FALSE])
    some$cdf <- parts$cdf
    at <- which(points[rows, , drop = FALSE], arr.ind = TRUE)
    value <- some$location[at]
    order <- order(at[, 1], value)
    row <- at[order, 1]
    value <- value[order]
    once <- !duplicated(cbind(row, value))
    row <- row[once]
    here <- lapply(some[c("location", "scale", "weight")], function(v) v[row, , drop = FALSE])
    here$cdf <- parts$cdf
    jump_table(tabulate(row, length(rows)), location_scale_cdf(here, value[once], open = TRUE),
               location_scale_cdf(here, value[once]))
  })
}

# PIT of a law (vector or column) or of two columns, mean and variance of a normal one.
read_pit <- function(x, truth, dots, na_rm, call) {
  law <- if (is.data.frame(x)) law_in_frame(ungroup_frame(x), dots, call) else if (is_law(x)) x
  if (is.null(law)) {
    data <- read_moments(x, truth, dots, na_rm, call)
    data <- list(law = pred_normal(data$mean, sqrt(data$variance)), y = data$outcome, na = data$na)
  } else {
    data <- read_laws(x, truth, dots, na_rm = na_rm, call = call)
    # classes have no law of a number
    if (is.null(data$law)) pit_of(as_distribution(law), NULL, call)
  }
  if (data$na) stop_missing_curve(call)
  pit_of(data$law, as.vector(data$y), call)
}
