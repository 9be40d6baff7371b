# Regression: is the outcome a draw from its predicted distribution? The probability integral
# transform u = F(y) is then uniform.

# PIT histogram, as densities. Counts are binomial under calibration; at once: Bonferroni, whose
# loss is small for counts that sum to n.
curve_pit <- function(u, control) {
  m <- control$n_bins
  n <- length(u)
  counts <- tabulate(findInterval(u, seq_len(m - 1) / m, left.open = TRUE) + 1L, m)
  density <- function(v) v * m / n
  conf <- lapply(wilson(counts, n, control$level), `*`, m)
  band <- lapply(clopper_pearson(counts, n, (1 - control$level) / (2 * m)), `*`, m)
  null <- function(tail) {
    list(low = density(stats::qbinom(tail, n, 1 / m)),
         high = density(stats::qbinom(tail, n, 1 / m, lower.tail = FALSE)))
  }
  curve_frame((seq_len(m) - 0.5) / m, density(counts), counts, (seq_len(m) - 1) / m, seq_len(m) / m,
              conf, band, null((1 - control$level) / 2), null((1 - control$level) / (2 * m)), upper = Inf)
}

# Share of outcomes below the predicted quantile of each level; at once: Dvoretzky, Kiefer
# & Wolfowitz with Massart's constant.
curve_quantile <- function(u, control, n_places = 101L) {
  n <- length(u)
  levels <- seq(0, 1, length.out = n_places)
  below <- findInterval(levels, sort(u))
  tail <- (1 - control$level) / 2
  half <- sqrt(log(2 / (1 - control$level)) / (2 * n))
  curve_frame(
    levels, below / n,
    conf = wilson(below, n, control$level), band = list(low = below / n - half, high = below / n + half),
    null = list(low = stats::qbinom(tail, n, levels) / n,
                high = stats::qbinom(tail, n, levels, lower.tail = FALSE) / n),
    null_band = list(low = levels - half, high = levels + half)
  )
}

# F(y), for laws with mass points the middle of its jump.
pit_values <- function(law, y, call) {
  field <- function(name) vctrs::field(law, name)
  cdf <- switch(family_of(law),
    normal = function(y) stats::pnorm(y, field("mean"), field("sd")),
    laplace = function(y) laplace_cdf(y, field("location"), field("scale")),
    mixture_normal = function(y) rowSums(field("weight") * stats::pnorm(y, field("location"), field("scale"))),
    mixture_laplace = function(y) rowSums(field("weight") * laplace_cdf(y, field("location"), field("scale"))),
    poisson = function(y) (stats::ppois(y, field("rate")) + stats::ppois(y - 1, field("rate"))) / 2,
    draws = if (dimension_of(law) == 1) function(y) (rowMeans(field("draws") <= y) + rowMeans(field("draws") < y)) / 2
  )
  if (is.null(cdf)) {
    stop_input(c(
      "The probability integral transform needs predictions of one real number.",
      "x" = "These are {.val {family_of(law)}} in dimension {dimension_of(law)}."
    ), "distribution", arg = "x", call = call)
  }
  cdf(y)
}

laplace_cdf <- function(y, location, scale) {
  z <- (y - location) / scale
  ifelse(z < 0, exp(pmin(z, 0)) / 2, 1 - exp(-pmax(z, 0)) / 2)
}

# PIT values of a law (vector or column) or of two columns, mean and variance of a normal one.
read_pit <- function(x, truth, dots, na_rm, call) {
  law <- if (is.data.frame(x)) law_in_frame(x, dots, call) else if (is_distribution_like(x)) x
  if (!is.null(law)) {
    y <- if (is.data.frame(x)) x[[truth_column(truth, x, call)]] else rlang::eval_tidy(truth)
    missing <- law_missing(law)
    law <- as_distribution(fill_missing(law, missing))
    if (!is.numeric(y)) stop_input("{.arg truth} must be numeric.", "truth", arg = "truth", call = call)
    check_length(length(law), length(y), call)
    keep <- !is.na(y) & !missing
    u <- pit_values(law[keep], y[keep], call)
  } else {
    moments <- read_moments(x, truth, dots, na_rm, call)
    sd <- sqrt(moments$variance)
    u <- stats::pnorm(moments$outcome, moments$mean, sd)
    exact <- sd == 0 & moments$outcome == moments$mean
    u[exact] <- 0.5
  }
  if (length(u) == 0) stop_empty(0, call)
  u
}
