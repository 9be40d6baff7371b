# Variance scaling for regression: s2 -> w s2 + b, the mean unchanged, by the mean
# Dawid-Sebastiani score r / v + log v, r = (mean - y)^2 (Gruber & Buettner 2022, section 5 and appendix G.5).

write_moments <- function(mean, variance, layout) {
  if (layout$type == "law") {
    out <- rep(pred_normal(0, 1), length(mean))
    ok <- !is.na(variance)
    out[ok] <- pred_normal(mean[ok], sqrt(variance[ok]))
    out[!ok] <- NA
    return(if (layout$frame) columns_frame(!!layout$columns := out) else out)
  }
  out <- do.call(cbind, list(mean = mean, variance = variance, sd = sqrt(variance))[layout$roles])
  colnames(out) <- layout$columns
  if (layout$frame) tibble::as_tibble(out) else out
}

#' @export
map_loss.map_variance <- function(method) "dss"

#' @export
recalibrate.map_variance <- function(method, part, input, threads, call) {
  data <- read_moments(part, input$truth, input$dots, input$na_rm, call, design = input$design)
  if (data$na) stop_incomplete_map(call)
  check_moments(data$outcome, data, call)
  r <- (data$mean - data$outcome)^2
  full <- rep(NA_real_, data$n_rows)
  of <- list(
    fit = function(rows) fit_variance(data$variance[rows], r[rows], design_rows(data$design, rows), call),
    apply = function(fit, rows) scale_variance(fit$map, data$variance[rows]),
    loss = function(variance) dss(variance[, 1], r, data$design),
    write = function(variance) {
      write_moments(replace(full, data$rows, data$mean), replace(full, data$rows, variance), data$layout)
    }
  )
  fit_recalibration(method, of, matrix(data$variance), data, data$layout, input$folds, call, n_classes = NA_integer_,
                    kind = "distribution", fingerprint = fingerprint(cbind(data$mean, data$variance)))
}

# Their squares are finite.
check_moments <- function(outcome, moments, call, arg = "x") {
  check_magnitude(outcome, list(mean = moments$mean, sd = sqrt(moments$variance)), call, arg)
}

# Mean Dawid-Sebastiani score from variances and squared residuals.
dss <- function(variance, r, design = new_design(length(r))) row_mean(dss_terms(variance, r), design)

scale_variance <- function(map, variance) map$w * variance + map$b

# The score is not convex in (w, b): several starts, and the two edges b = 0 and w = 0,
# whose optima are known (mean(r / s2) and mean(r)). In units of mean(r) and mean(s2).
fit_variance <- function(variance, r, design, call) {
  mean <- function(rows) row_mean(rows, design)
  unit <- mean(r)
  stop_if(
    unit == 0, "There must be at least one residual that is not 0.",
    "x" = "All {length(r)} predicted means equal the outcome: the best variance is 0, with a score of minus infinity.",
    class = "degenerate", arg = "truth", n = length(r), call = call
  )
  scale <- mean(variance)
  s <- if (scale > 0) variance / scale else variance
  u <- r / unit
  objective <- function(t) {
    v <- t[1] * s + t[2]
    if (any(v <= 0)) Inf else mean(u / v + log(v))
  }
  gradient <- function(t) {
    v <- t[1] * s + t[2]
    g <- (v - u) / v^2
    c(mean(g * s), mean(g))
  }
  hessian <- function(t) {
    v <- t[1] * s + t[2]
    h <- (2 * u - v) / v^3
    matrix(c(mean(h * s^2), mean(h * s), mean(h * s), mean(h)), 2)
  }
  lowest <- if (any(s == 0)) 1e-8 else 0 # a variance of 0 needs b > 0 for a finite score
  edges <- list(c(0, 1))
  if (all(s > 0)) edges <- c(edges, list(c(mean(u / s), 0)))
  candidates <- edges
  iterations <- 0
  if (max(s) - min(s) > 1e-10 * max(s)) {
    starts <- c(list(c(1, 1e-3), c(0.5, 0.5), c(1e-3, 1)),
                if (all(s > 0)) list(c(mean(u / s), 1e-3), c(mean(u / s), 1) / 2))
    fits <- lapply(starts, function(start) {
      fit <- stats::nlminb(pmax(start, c(1e-9, lowest)), objective, gradient, hessian, lower = c(0, max(lowest, 1e-12)),
                           control = list(rel.tol = 1e-14, x.tol = 1e-12, iter.max = 500, eval.max = 1000))
      iterations <<- max(iterations, fit$iterations)
      fit$par
    })
    candidates <- c(edges, fits)
  }
  values <- vapply(candidates, objective, 0)
  best <- candidates[[which.min(values)]]
  for (edge in edges) if (objective(edge) <= min(values) + 1e-12) best <- edge
  w <- if (scale > 0) best[1] * unit / scale else 0
  b <- best[2] * unit
  stuck <- lowest > 0 && best[2] <= 1.01 * lowest
  new_map_fit(
    new_map("variance", w = w, b = b), map_terms(c("scale", "shift"), c(w, b)), !stuck, iterations,
    if (stuck) "Variances of 0 belong to exact means: the score falls without end as the shift goes to 0." else "",
    if (w > 0) injectivity(TRUE, "the scale is not 0") else injectivity(FALSE, "the scale is 0: one variance for all")
  )
}

predict_variance <- function(object, new, call = caller_env()) {
  layout <- object$layout
  stop_if(is.data.frame(new) && is.null(layout$columns),
          "{.arg new} must have the shape of the data that the map was fitted to.",
          "x" = "It is a data frame; the fit saw a vector, or a matrix without names of columns.", class = "columns",
          arg = "new", call = call)
  x <- if (is.data.frame(new) && !is.null(layout$law)) {
    rlang::eval_tidy(layout$law, data = new)
  } else if (is.data.frame(new)) {
    check_fitted_columns(new, layout, call)
    if (layout$type == "law") new[[layout$columns]] else as.matrix(new[layout$columns])
  } else {
    new
  }
  moments <- moments_of(x, call, layout$columns)
  ok <- !is.na(moments$mean) & !is.na(moments$variance)
  check_moments(numeric(), moments, call, "new")
  same <- fitted_rows(fingerprint(cbind(moments$mean, moments$variance)[ok, , drop = FALSE]), object$fingerprint)
  if (same > 0) warn_same_rows(same, sum(ok))
  write_moments(moments$mean, scale_variance(object$map, moments$variance), layout)
}
