# Updating of a prediction model (Vergouwe et al. 2017): as little change as the data ask for, chosen by a closed test.

update_models <- c("none", "intercept", "slope", "flexible")

#' @rdname ce_maps
#' @export
map_update <- function(model = NULL, df = 3, alpha = 0.05) {
  if (!is.null(model)) model <- check_choice(model, update_models)
  check_count(df, lower = 2)
  stop_if(df > 6, "{.arg df} must be at most 6.", "x" = "It is {df}.",
          "i" = "{.val isotonic} follows any increasing shape.", arg = "df", value = df)
  check_number(alpha, lower = 0, upper = 1, open = TRUE)
  new_choice("map", "update", model = model, df = df, alpha = alpha)
}

#' @export
fit_scalar.map_update <- function(method, p, log_p, log_q, outcome, design) {
  z <- log_p - log_q
  # Harrell's places: equally spaced quantiles, the outer ones by their number
  outer <- if (method$df == 2) 0.1 else if (method$df < 6) 0.05 else 0.025
  knots <- unique(weighted_quantile(z, seq(outer, 1 - outer, length.out = method$df + 1), design$w, type = 1))
  fits <- update_fits(z, knots, outcome, design)
  tests <- update_tests(fits, outcome, z, design, method)
  chosen <- method$model %||% closed_choice(tests, method$alpha)
  tests$chosen <- tests$model == chosen
  failed <- Filter(function(fit) !is.null(fit) && !fit$converged, fits)
  fit <- fits[[chosen]]
  # it was asked for
  stop_if(chosen != "none" && is.null(fit), "The {.val {chosen}} model needs more distinct predictions.",
          "x" = "There {?is/are} {length(unique(z))}.",
          "i" = "{.code map_update()} takes the models that can be fitted.", class = c("rows", "degenerate"),
          arg = "method")
  theta <- fit$theta
  splines <- if (chosen == "flexible") paste0("spline_", seq_len(length(theta) - 2))
  new_map_fit(
    switch(chosen,
      none = new_map("identity"),
      intercept = new_map("logit", a = 1, b = 1, c = theta),
      slope = new_map("logit", a = theta[1], b = theta[1], c = theta[2]),
      flexible = new_map("spline", knots = knots, theta = theta)
    ),
    if (is.null(fit)) map_terms(character(), numeric()) else {
      map_terms(c(if (length(theta) > 1) "slope", splines, "intercept"), theta, std.error = fit$std.error)
    },
    length(failed) == 0, max(0L, vapply(drop_null(fits), `[[`, 0L, "iterations")),
    if (length(failed) > 0) failed[[1]]$message else "", update_injective(chosen, fit, knots), tests,
    if (chosen == "none") matrix(0, 0, 0) else fit$covariance
  )
}

# The regressions on the logit, each NULL where there are too few distinct predictions for it; of the model without a
# change there is nothing to fit.
update_fits <- function(z, knots, outcome, design) {
  distinct <- length(unique(z))
  regression <- function(x, centre, offset = NULL) {
    logit_fit(cbind(x, 1, deparse.level = 0), outcome, centre, 0, design, offset = offset)
  }
  list(
    intercept = regression(matrix(0, length(z), 0), 0, z),
    slope = if (distinct > 1) regression(z, c(1, 0)),
    flexible = if (length(knots) > 2 && distinct > length(knots)) {
      regression(cpp_cubic_basis(z, knots), c(1, rep(0, length(knots) - 1)))
    }
  )
}

# A row per model: the largest that has an optimum against it.
update_tests <- function(fits, outcome, z, design, method) {
  usable <- vapply(fits, function(fit) isTRUE(fit$converged), NA)
  top <- utils::tail(names(fits)[usable], 1)
  n <- copy_count(design)
  identity <- sum(row_shares(design) * (pmax(z, 0) + log1p(exp(-abs(z))) - outcome * z))
  loss <- c(none = identity, vapply(fits, function(fit) if (isTRUE(fit$converged)) fit$value else NA_real_, 0))
  size <- c(none = 0, intercept = 1, slope = 2, flexible = length(fits$flexible$theta %||% numeric(method$df + 1)))
  statistic <- p.value <- test_df <- rep(NA_real_, length(loss))
  kind <- if (is_unweighted(design)) "likelihood ratio" else "Rao-Scott"
  below <- if (length(top) > 0) seq_len(match(top, update_models) - 1) else integer()
  for (m in below[!is.na(loss[below])]) {
    test_df[m] <- size[[top]] - size[[m]]
    ratio <- max(2 * n * (loss[[m]] - loss[[top]]), 0)
    test <- if (is_unweighted(design)) {
      list(statistic = ratio, p.value = stats::pchisq(ratio, test_df[m], lower.tail = FALSE))
    } else {
      robust_update_test(fits[[top]], ratio, update_models[m], design, needed = is.null(method$model))
    }
    statistic[m] <- test$statistic
    p.value[m] <- test$p.value
  }
  columns_frame(model = update_models, class = NA_character_, n_parameters = unname(size),
                log_likelihood = unname(-n * loss), test = kind, statistic = statistic, df = test_df, p.value = p.value)
}

# The likelihood ratio of weighted or clustered rows is a sum of chi-squared variables, each times an eigenvalue of the
# tested coefficients' robust covariance in units of that from the information (Rao and Scott 1984). Satterthwaite's
# approximation has its mean and variance. It is compared with F, with the degrees of freedom of weights or clusters.
# The parameters of the larger model are those of the logit first, the intercept last.
robust_update_test <- function(fit, ratio, model, design, needed) {
  size <- length(fit$theta)
  tested <- switch(model, none = seq_len(size), intercept = seq_len(size - 1), slope = seq_len(size - 1)[-1])
  df <- cpp_design_df(design)
  covariance <- fit$covariance[tested, tested, drop = FALSE]
  few <- df <= length(tested)
  unit <- if (is.null(design$cluster)) c("effective rows", "weights") else c("clusters", "cluster")
  stop_if(
    few && needed, "More than {length(tested) + 1} {unit[1]} are needed to choose a model by tests.",
    "x" = "There are {signif(df + 1, 3)}; {length(tested)} parameter{?s} {?is/are} tested.",
    "i" = "Name the model, as in {.code map_update(\"slope\")} or {.code map_platt()}, or take a smaller {.arg df}.",
    class = c("rows", unit[2]), arg = unit[2]
  )
  if (few || !all(is.finite(covariance))) return(list(statistic = NA_real_, p.value = NA_real_))
  # columns of splines are of very different sizes
  information <- fit$information[tested, tested, drop = FALSE]
  size <- sqrt(diag(information))
  effects <- solve(information / outer(size, size), covariance / outer(size, size), tol = 0)
  total <- sum(diag(effects))
  own_df <- total^2 / sum(effects * t(effects))
  list(statistic = length(tested) * ratio / total,
       p.value = stats::pf(ratio / total, own_df, own_df * df, lower.tail = FALSE))
}

# The first model that the largest is not significantly better than, else the largest that has an optimum.
closed_choice <- function(tests, alpha) {
  kept <- which(tests$p.value >= alpha)
  if (length(kept) > 0) return(tests$model[kept[1]])
  utils::tail(tests$model[!is.na(tests$log_likelihood)], 1)
}

update_injective <- function(model, fit, knots) {
  theta <- fit$theta
  if (model %in% c("none", "intercept")) return(injectivity(TRUE, "the slope is 1"))
  if (model == "slope") return(injectivity(theta[1] != 0, "the slope is not 0", "the slope is 0"))
  # linear beyond the outer knots, whose slopes the points outside show
  reach <- max(diff(knots))
  at <- seq(min(knots) - reach, max(knots) + reach, length.out = 2001)
  steps <- diff(spline_logit(at, knots, theta))
  injectivity(all(steps > 0) || all(steps < 0), paste("strictly", if (steps[1] > 0) "increasing" else "decreasing"),
              "the curve rises and falls")
}

spline_logit <- function(z, knots, theta) drop(cbind(cpp_cubic_basis(z, knots), 1, deparse.level = 0) %*% theta)

#' @export
map_scalar.ce_map_identity <- function(map, p, log_p, log_q) p

#' @export
map_scalar.ce_map_spline <- function(map, p, log_p, log_q) {
  stats::plogis(spline_logit(log_p - log_q, map$knots, map$theta))
}

# A line per class for print().
update_text <- function(tests) {
  parts <- split(tests, factor(tests$class, unique(tests$class), exclude = NULL))
  vapply(parts, function(part) {
    tested <- part[!is.na(part$p.value), ]
    p <- ifelse(tested$p.value < 0.001, "p < 0.001", paste("p =", formatC(tested$p.value, 3, format = "f")))
    chosen <- part$model[part$chosen]
    larger <- utils::tail(part$model[!is.na(part$log_likelihood)], 1)
    paste0(
      if (!is.na(part$class[1])) paste0("class ", part$class[1], ", "), "model: ", chosen,
      if (nrow(tested) > 0) paste0(" (", larger, " against ", paste0(tested$model, ": ", p, collapse = ", "), ")")
    )
  }, "", USE.NAMES = FALSE)
}
