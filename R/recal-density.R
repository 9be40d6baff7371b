# Temperature scaling of densities: p^(1/T), normalised (Widmann et al. 2021, appendix F). In families that are
# closed under it the best T is a mean: with -log p = k log(scale) + a + constant, T = mean(a) / k. A record has under
# `temper` the order k, the exponents a, the volume scale^k, the constant, the map, and the power of T that the variance
# is multiplied by.

# The values of the rows are temperatures.
recalibrate_density <- function(method, part, laws, folds) {
  frame <- is.data.frame(part)
  columns <- if (frame) names(part)[vapply(part, is_law, NA)]
  layout <- list(frame = frame, type = "law", columns = if (length(columns) == 1) columns else ".pred", logits = FALSE)
  laws <- deal_copies(laws, folds)
  law <- laws$law
  check_tempered(law)
  temper <- record_of(law)$temper
  a <- temper$exponents(law, laws$y)
  k <- temper$order(law)
  base <- log(temper$volume(law)) + temper$constant(law)
  of <- list(
    fit = function(rows) fit_density(a[rows], k, method$range, law, design_rows(laws$design, rows)),
    apply = function(fit, rows) matrix(fit$map$temperature, length(rows)),
    before = function() row_mean(base + a, laws$design),
    loss = function(t) row_mean(base + k * log(t[, 1]) + a / t[, 1], laws$design),
    write = function(t) write_laws(temper_law(law, t[, 1]), laws$rows, laws$n_input, layout)
  )
  data <- list(design = laws$design, rows = laws$rows, n_rows = laws$n_input, fold = laws$fold)
  fit_recalibration(method, of, data, layout, folds, n_classes = NA_integer_,
                    kind = "distribution", fingerprint = density_fingerprint(law))
}

check_tempered <- function(law) {
  family <- family_of(law)
  temper <- record_of(law)$temper
  stop_if(is.null(temper), "The temperature of densities is for normal and Laplace predictions.",
          "x" = "The family is {.val {family}}.",
          "i" = "Another family does not keep its form; {.code pred_normal(mean, sd)} may stand for it.",
          class = "distribution", arg = "x")
  flat <- which(!(temper$volume(law) > 0))
  stop_if(length(flat) > 0, "Predictions without spread have no density.",
          "x" = "Row {flat[1]} has none; affected: {length(flat)} of {length(law)} rows.", class = "distribution",
          arg = "x", row = flat[1])
}

fit_density <- function(a, k, range, law, design) {
  best <- row_mean(a, design) / k
  temperature <- min(max(best, range[1]), range[2])
  inside <- best == temperature
  # of log T: k is the curvature of the mean loss at the optimum
  std.error <- if (!inside) {
    NA_real_
  } else if (is_unweighted(design)) {
    1 / sqrt(k * copy_count(design))
  } else {
    cpp_row_std_error(a, design) / (k * temperature)
  }
  # the map of the variance, which is what a figure shows
  w <- temperature^record_of(law)$temper$variance_power
  new_map_fit(
    new_map("density", temperature = temperature, w = w, b = 0, family = family_of(law)),
    map_terms("temperature", temperature, std.error = std.error), inside, 0L,
    if (inside) "" else paste0("The best temperature, ", format(best, digits = 3), ", is outside `range`."),
    injectivity(TRUE, "p -> p^(1/T), normalised, is one to one")
  )
}

# Predictions whose densities are p^(1/T), one T or one for each.
temper_law <- function(law, temperature) record_of(law)$temper$apply(law, temperature)

density_fingerprint <- function(law) fingerprint(parameter_features(list(law = law)))

# Distributions of the rows kept among all, as a vector or a column of the name that it had.
write_laws <- function(law, rows, n_rows, layout) {
  out <- vctrs::vec_init(law, n_rows)
  vctrs::vec_slice(out, rows) <- law
  if (layout$frame) columns_frame(!!layout$columns := out) else out
}

predict_density <- function(object, new) {
  layout <- object$layout
  if (is.data.frame(new)) check_fitted_columns(new, layout)
  law <- if (is.data.frame(new)) new[[layout$columns]] else new
  stop_if(!is_law(law), "{.arg new} must hold predictive distributions, as the data of the fit did.",
          "x" = "It is {.cls {class(law)[1]}}.", class = "distribution", arg = "new")
  missing <- law_missing(law)
  law <- as_distribution(fill_missing(law, missing))
  n <- vctrs::vec_size(law)
  missing <- rep_len(missing, n)
  check_tempered(law)
  kept <- law[!missing]
  warn_fitted_rows(density_fingerprint(kept), object$fingerprint)
  layout$frame <- is.data.frame(new)
  write_laws(temper_law(kept, object$map$temperature), which(!missing), n, layout)
}
