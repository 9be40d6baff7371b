# Factors that do not compress: the accuracy is tied to the selected ridge. All ridges are evaluated at two ranks, and
# their difference gives the residual trace that the selected ridge needs. The rank then grows for that ridge and its
# neighbours until its reported numbers are stable. NULL if that takes a rank of more than the share `limits$spaces` of
# the rows.

adapt_rank <- function(bases, type, ridges, tolerance, limits, context) {
  level <- 1
  part <- function() part_of(context, min(0.1 + 0.2 * level, 0.9), min(0.3 + 0.2 * level, 1))
  step <- factor_step(bases, limits$start, tolerance, limits, context)
  path <- bases$path(type, ridges, step$rank, part())
  n <- length(ridges)
  rank <- rep(step$rank, n)
  trace <- rep(step$residual_trace, n)
  errors <- list(risk = rep(Inf, n), squared_error = rep(Inf, n))
  rows <- seq_len(n)
  step <- factor_step(bases, limits$start * limits$growth, tolerance, limits, context)
  repeat {
    level <- level + 1
    finer <- bases$path(type, ridges[rows], step$rank, part())
    before <- lapply(path, function(x) x[rows, , drop = FALSE])
    found <- path_errors(before, finer, trace[rows], step$residual_trace)
    for (name in names(errors)) errors[[name]][rows] <- if (step$exact) 0 else found[[name]]
    for (name in names(path)) path[[name]][rows, ] <- finer[[name]]
    rank[rows] <- step$rank
    trace[rows] <- step$residual_trace
    v <- select_value(nan_to_na(path$risk), ridges)
    excess <- max(errors$risk[v] / limits$risk, errors$squared_error[v] / limits$squared_error)
    others <- rivals(v, ridges, rowMeans(path$risk, na.rm = TRUE), errors$risk)
    rows <- others[rank[others] < step$rank]
    if (length(rows) > 0) next
    # a rival that is not known to a risk's accuracy may still be the smallest
    excess <- max(excess, errors$risk[setdiff(others, v)] / limits$risk)
    if (excess <= 1 || step$last) break
    step <- finer_step(bases, step, excess, tolerance, limits, context)
    if (step$rank > limits$spaces * nrow(bases$features)) return(NULL)
    rows <- union(neighbours(v, ridges), rivals(v, ridges, rowMeans(path$risk, na.rm = TRUE), errors$risk))
  }
  tuned_ridge(bases, type, ridges, path, rank, trace, errors,
              errors$risk <= limits$risk & errors$squared_error <= limits$squared_error)
}

# Errors are about proportional to the residual trace. The next trace would halve the allowed errors, but is between
# 1/10 and 1/2 of the present one. It is a half power of ten, so that kkr and ukkr use the same ranks and share their
# bases.
finer_step <- function(bases, step, excess, tolerance, limits, context) {
  target <- step$residual_trace * min(max(0.5 / excess, 1 / 10), 1 / 2)
  target <- 10^(floor(2 * log10(target)) / 2)
  enough <- min(limits$most, 2 * step$rank)
  steps <- bases$extend(max(target, tolerance), enough, part_of(context, 0, 0))
  rank <- min(steps$rank[steps$residual_trace <= target], enough)
  factor_step(bases, rank, tolerance, limits, context)
}

# The selected ridge v and those that might have a smaller risk, within five times the errors, which are extrapolated.
# Beyond a ridge whose risk is surely a fiftieth larger the fit is noise: no smaller one is looked at. (A bound closer
# to the smallest risk would not do: from no signal to signal the risk rises first.)
rivals <- function(v, ridges, risk, error) {
  spread <- 5 * error * abs(risk)
  noise <- ridges < ridges[v] & risk - spread > 1.02 * risk[v]
  lowest <- max(ridges[which(noise)], 0)
  union(v, which(risk - spread < risk[v] + spread[v] & ridges > lowest))
}

# The selected ridge and the next smaller and larger one.
neighbours <- function(v, ridges) {
  position <- order(ridges)
  at <- match(v, position)
  sort(position[seq(max(at - 1, 1), min(at + 1, length(ridges)))])
}

# The factor cut at the first of its steps with at least `rank` columns.
factor_step <- function(bases, rank, tolerance, limits, context) {
  steps <- bases$extend(tolerance, rank, part_of(context, 0, 0))
  exact <- steps$residual_trace <= steps$tolerance
  at <- c(which(steps$rank >= rank | exact), length(steps$rank))[1]
  exact <- exact[at] || (steps$full && at == length(steps$rank))
  list(rank = steps$rank[at], residual_trace = steps$residual_trace[at], exact = exact,
       last = exact || rank >= limits$most)
}

# Relative errors of the finer of two evaluations. An error is about proportional to the residual trace of its factor,
# so the change between the two says how large it is.
path_errors <- function(coarse, fine, coarse_trace, fine_trace) {
  left <- fine_trace / pmax(coarse_trace - fine_trace, .Machine$double.xmin)
  change <- function(name, scale) {
    difference <- abs(rowMeans(coarse[[name]] - fine[[name]], na.rm = TRUE))
    relative <- difference / scale
    replace(relative, is.nan(relative), 0)
  }
  risk <- rowMeans(fine$risk, na.rm = TRUE)
  # squared errors near zero are judged on the scale of the risk's root
  squared <- pmax(abs(rowMeans(fine$squared_error, na.rm = TRUE)), 1e-3 * sqrt(abs(risk)), na.rm = TRUE)
  changes <- list(
    risk = change("risk", risk),
    squared_error = pmax(change("squared_error", squared), change("squared_error_test", squared))
  )
  # for a larger change proportionality is not assumed
  lapply(changes, function(x) ifelse(x > 0.1, x, x * left))
}

# One ridge on all rows: the form of the single fit.
fit_ridge <- function(bases, type, ridge, exact, context) {
  if (is.null(bases$extend)) return(bases$form(type, ridge, 1L, bases$rank, bases$rank))
  limits <- factor_limits(context)
  tolerance <- factor_tolerance(ridge)
  step <- factor_step(bases, if (exact) Inf else limits$direct, 0, limits, context)
  if (!step$exact) step <- factor_step(bases, limits$single, tolerance, limits, context)
  form <- function(rank) {
    bases$path(type, ridge, rank, context)
    bases$form(type, ridge, 1L, rank, rank)
  }
  if (step$exact) return(form(step$rank))
  fit_adapted(bases, ridge, tolerance, limits, form, context)
}

# The rank grows until the mean of h(p, p) on the training rows stands.
fit_adapted <- function(bases, ridge, tolerance, limits, form, context) {
  # a block of rows at a time, whose features of that rank need not be kept
  x <- bases$features
  blocks <- split(seq_len(nrow(x)), (seq_len(nrow(x)) - 1) %/% 8192)
  squared <- function(form) {
    sum(vapply(blocks, function(at) sum(form_squared(form, x[at, , drop = FALSE])), 0)) / nrow(x)
  }
  step <- factor_step(bases, limits$start, tolerance, limits, context)
  value <- squared(form(step$rank))
  trace <- step$residual_trace
  step <- factor_step(bases, limits$start * limits$growth, tolerance, limits, context)
  repeat {
    fitted <- form(step$rank)
    finer <- squared(fitted)
    left <- step$residual_trace / max(trace - step$residual_trace, .Machine$double.xmin)
    excess <- abs(finer - value) * left / (abs(finer) * limits$squared_error)
    if (!isTRUE(excess > 1) || step$last) return(fitted)
    value <- finer
    trace <- step$residual_trace
    step <- finer_step(bases, step, excess, tolerance, limits, context)
  }
}
