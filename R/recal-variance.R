# Variance scaling for regression: s2 -> w s2 + b, the mean unchanged, by the mean Dawid-Sebastiani score r / v + log v,
# r = (mean - y)^2 (Gruber & Buettner 2022, section 5 and appendix G.5).

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
recalibrate.map_variance <- function(method, part, input) {
  data <- read_moments(part, input$truth, input$dots, design = input$design)
  data <- deal_copies(data, input$folds)
  check_moments(data$outcome, data)
  r <- (data$mean - data$outcome)^2
  full <- rep(NA_real_, data$n_rows)
  of <- list(
    fit = function(rows) fit_variance(data$variance[rows], r[rows], design_rows(data$design, rows)),
    apply = function(fit, rows) scale_variance(fit$map, data$variance[rows]),
    loss = function(variance) dss(variance[, 1], r, data$design),
    write = function(variance) {
      write_moments(replace(full, data$rows, data$mean), replace(full, data$rows, variance), data$layout)
    }
  )
  fit_recalibration(method, of, matrix(data$variance), data, data$layout, input$folds, n_classes = NA_integer_,
                    kind = "distribution", fingerprint = fingerprint(cbind(data$mean, data$variance)))
}

# Their squares are finite.
check_moments <- function(outcome, moments, arg = "x") {
  check_magnitude(outcome, list(mean = moments$mean, sd = sqrt(moments$variance)), arg)
}

# Mean Dawid-Sebastiani score from variances and squared residuals.
dss <- function(variance, r, design = new_design(length(r))) row_mean(dss_terms(variance, r), design)

scale_variance <- function(map, variance) map$w * variance + map$b

# In units of mean(r) and mean(s2) the best w and b of a ratio e^z = w / b are mean(r / (e^z s2 + 1)) times e^z and 1.
# The score of z alone may have several minima. The candidates are all roots of its slope between the points of a grid,
# and the two edges w = 0 and b = 0.
fit_variance <- function(variance, r, design) {
  mean <- function(rows) row_mean(rows, design)
  unit <- mean(r)
  stop_if(
    unit == 0, "There must be at least one residual that is not 0.",
    "x" = "All {copy_count(design)} predicted means equal the outcome: the best variance is 0, with a score of minus \\
           infinity.",
    class = "degenerate", arg = "truth", n = copy_count(design)
  )
  scale <- mean(variance)
  s <- if (scale > 0) variance / scale else variance
  u <- r / unit
  positive <- s > 0
  at_ratio <- function(z) mean(u / (exp(z) * s + 1)) * c(exp(z), 1)
  candidates <- c(list(c(0, 1)), if (all(positive)) list(c(mean(u / s), 0)))
  iterations <- 0L
  if (max(s) - min(s) > 1e-10 * max(s)) {
    slope <- function(z) {
      v <- exp(z) * s + 1
      mean((v - 1) / v) - mean(u * (v - 1) / v^2) / mean(u / v)
    }
    reach <- c(-log(max(s)) - 18, 18 - log(min(s[positive])))
    grid <- seq(reach[1], reach[2], length.out = 2 * ceiling(diff(reach)))
    slopes <- vapply(grid, slope, 0)
    roots <- lapply(which(slopes[-length(slopes)] < 0 & slopes[-1] >= 0), function(i) {
      stats::uniroot(slope, grid[i + 0:1], tol = 1e-14)
    })
    iterations <- as.integer(max(0, vapply(roots, `[[`, 0, "iter")))
    candidates <- c(candidates, lapply(roots, function(root) at_ratio(root$root)))
    # a variance of 0 needs b > 0 for a finite score
    if (!all(positive) && slopes[length(slopes)] < 0) {
      candidates <- c(candidates, list(c(mean(ifelse(positive, u / s, 0)) / mean(positive), 1e-8)))
    }
  }
  values <- vapply(candidates, function(t) mean(u / (t[1] * s + t[2]) + log(t[1] * s + t[2])), 0)
  # an edge unless an inner point is better
  best <- candidates[[which(values <= min(values) + 1e-12)[1]]]
  w <- if (scale > 0) best[1] * unit / scale else 0
  b <- best[2] * unit
  stuck <- !all(positive) && best[2] <= 1e-8
  new_map_fit(
    new_map("variance", w = w, b = b), map_terms(c("scale", "shift"), c(w, b)), !stuck, iterations,
    if (stuck) "Variances of 0 belong to exact means: the score falls without end as the shift goes to 0." else "",
    if (w > 0) injectivity(TRUE, "the scale is not 0") else injectivity(FALSE, "the scale is 0: one variance for all")
  )
}

predict_variance <- function(object, new) {
  layout <- object$layout
  stop_if(is.data.frame(new) && is.null(layout$columns),
          "{.arg new} must have the shape of the data that the map was fitted to.",
          "x" = "It is a data frame; the fit saw a vector, or a matrix without names of columns.", class = "columns",
          arg = "new")
  x <- if (is.data.frame(new) && !is.null(layout$law)) {
    rlang::eval_tidy(layout$law, data = new)
  } else if (is.data.frame(new)) {
    check_fitted_columns(new, layout)
    if (layout$type == "law") new[[layout$columns]] else as.matrix(new[layout$columns])
  } else {
    new
  }
  moments <- moments_of(x, layout$columns)
  ok <- !is.na(moments$mean) & !is.na(moments$variance)
  check_moments(numeric(), moments, "new")
  same <- fitted_rows(fingerprint(cbind(moments$mean, moments$variance)[ok, , drop = FALSE]), object$fingerprint)
  if (same > 0) warn_same_rows(same, sum(ok))
  write_moments(moments$mean, scale_variance(object$map, moments$variance), layout)
}
