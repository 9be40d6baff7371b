# Variance scaling for regression: s2 -> w s2 + b, the mean unchanged, by the mean Dawid-Sebastiani score r / v + log v,
# r = (mean - y)^2 (Gruber & Buettner 2022, section 5 and appendix G.5;
# inst/include/calibrisk/recal/variance_scaling.h).

write_moments <- function(mean, variance, layout) {
  if (layout$type == "law") {
    ok <- which(!is.na(variance))
    return(write_laws(pred_normal(mean[ok], sqrt(variance[ok])), ok, length(mean), layout))
  }
  out <- do.call(cbind, list(mean = mean, variance = variance, sd = sqrt(variance))[layout$roles])
  colnames(out) <- layout$columns
  if (layout$frame) tibble::as_tibble(out) else out
}

#' @export
recalibrate.map_variance <- function(method, part, input) {
  data <- deal_copies(read_moments(part, input$truth, input$dots, design = input$design), input$folds)
  check_moments(data$outcome, data)
  r <- (data$mean - data$outcome)^2
  full <- rep(NA_real_, data$n_rows)
  of <- list(
    fit = function(rows) fit_variance(data$variance[rows], r[rows], design_rows(data$design, rows)),
    apply = function(fit, rows) as.matrix(scale_variance(fit$map, data$variance[rows])),
    before = function() dss(data$variance, r, data$design),
    loss = function(variance) dss(variance[, 1], r, data$design),
    write = function(variance) {
      write_moments(replace(full, data$rows, data$mean), replace(full, data$rows, variance), data$layout)
    }
  )
  fit_recalibration(method, of, data, data$layout, input$folds, n_classes = NA_integer_,
                    kind = "distribution", fingerprint = fingerprint(cbind(data$mean, data$variance)))
}

# Their squares are finite.
check_moments <- function(outcome, moments, arg = "x") {
  check_magnitude(outcome, list(mean = moments$mean, sd = sqrt(moments$variance)), arg)
}

# Mean Dawid-Sebastiani score from variances and squared residuals.
dss <- function(variance, r, design = new_design(length(r))) row_mean(dss_terms(variance, r), design)

scale_variance <- function(map, variance) map$w * variance + map$b

fit_variance <- function(variance, r, design) {
  stop_if(
    all(r == 0), "There must be at least one residual that is not 0.",
    "x" = "All {copy_count(design)} predicted means equal the outcome: the best variance is 0, with a score of minus \\
           infinity.",
    class = "degenerate", arg = "truth", n = copy_count(design)
  )
  fit <- cpp_variance_scaling(variance, r, row_shares(design))
  new_map_fit(
    new_map("variance", w = fit$w, b = fit$b), map_terms(c("scale", "shift"), c(fit$w, fit$b)), !fit$falls,
    fit$candidates,
    if (fit$falls) "Variances of 0 belong to exact means: the score falls without end as the shift goes to 0." else "",
    injectivity(fit$w > 0, "the scale is not 0", "the scale is 0: one variance for all")
  )
}

predict_variance <- function(object, new) {
  layout <- object$layout
  stop_if(is.data.frame(new) && is.null(layout$columns),
          "{.arg new} must have the shape of the data that the map was fitted to.",
          "x" = "It is a data frame; the fit saw a vector, or a matrix without names of columns.", class = "columns",
          arg = "new")
  x <- if (is.data.frame(new) && !is.null(layout$law)) {
    in_argument(law_in_frame(new, list(layout$law)), "new", "...")
  } else if (is.data.frame(new)) {
    check_fitted_columns(new, layout)
    if (layout$type == "law") new[[layout$columns]] else as.matrix(new[layout$columns])
  } else {
    new
  }
  moments <- in_argument(moments_of(x, layout$columns), "new")
  ok <- !is.na(moments$mean) & !is.na(moments$variance)
  check_moments(numeric(), moments, "new")
  warn_fitted_rows(fingerprint(cbind(moments$mean, moments$variance)[ok, , drop = FALSE]), object$fingerprint)
  write_moments(moments$mean, scale_variance(object$map, moments$variance), layout)
}
