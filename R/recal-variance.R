# Variance scaling for regression: s2 -> w s2 + b, the mean unchanged, by the mean
# Dawid-Sebastiani score r / v + log v, r = (mean - y)^2 (Gruber & Buettner 2022, section 5 and appendix G.5).

# Means, variances and outcomes from a vector of normal predictions, two columns, or a frame
# with either. `layout` remembers which, so that results are written alike.
# `design`: the arguments `weights` and `cluster`; `raw`: their columns, where they have been read.
read_moments <- function(x, truth, dots, na_rm, call, design = NULL, raw = NULL, any_family = FALSE) {
  frame <- if (is.data.frame(x)) ungroup_frame(x)
  layout <- list(frame = is.data.frame(x), type = "matrix", columns = if (!is_distribution_like(x)) colnames(x))
  law <- if (layout$frame && length(dots) == 1) law_in_frame(ungroup_frame(x), dots, call)
  if (!is.null(law)) {
    x <- ungroup_frame(x)
    outcome <- x[[select_columns(truth, x, "truth", call)[1]]]
    layout["columns"] <- list(".pred")
    layout$law <- dots[[1]]
    x <- law
  } else if (layout$frame) {
    x <- ungroup_frame(x)
    outcome <- x[[select_columns(truth, x, "truth", call)[1]]]
    columns <- if (length(dots) > 0) {
      names(x)[select_columns(rlang::quo(c(!!!dots)), x, "...", call)]
    } else {
      setdiff(names(x)[startsWith(names(x), ".pred_")], names(select_columns(truth, x, "truth", call)))
    }
    if (length(dots) == 0 && length(columns) == 0) columns <- names(x)[vapply(x, is_distribution_like, NA)]
    layout$columns <- columns
    x <- if (length(columns) == 1) x[[columns]] else as.matrix(x[columns])
  } else {
    if (length(dots) > 0) as_predictions(x, truth, dots, call = call) # its error
    outcome <- rlang::eval_tidy(truth)
  }
  check_no_survival(outcome, call)
  moments <- moments_of(x, call, any_family = any_family)
  layout$type <- moments$type
  layout$roles <- moments$roles
  if (!is.numeric(outcome) && !is.logical(outcome)) {
    stop_input(c(
      "{.arg truth} must be numeric for a regression.",
      "x" = "It is {.cls {class(outcome)[1]}}."
    ), "truth", arg = "truth", call = call)
  }
  outcome <- as.numeric(outcome)
  check_length(length(moments$mean), length(outcome), call)
  if (any(is.infinite(outcome) | is.nan(outcome))) {
    row <- which(is.infinite(outcome) | is.nan(outcome))[1]
    stop_input(c("{.arg truth} must be finite.", "x" = "Row {row} is {.val {outcome[row]}}."),
               "truth", arg = "truth", row = row, call = call)
  }
  raw <- raw %||% read_design(design, frame, length(outcome), call)
  complete <- !is.na(moments$mean) & !is.na(moments$variance) & !is.na(outcome) &
    design_complete(raw, length(outcome))
  keep <- design_kept(raw, which(complete))
  if (length(keep) == 0) stop_empty(sum(!complete), call, raw)
  list(mean = moments$mean[keep], variance = moments$variance[keep], outcome = outcome[keep], rows = keep,
       n_rows = length(outcome), na = !na_rm && !all(complete), layout = layout, raw = raw,
       design = bind_design(raw, keep))
}

# What as_distribution() converts.
is_distribution_like <- function(x) inherits(x, c("ce_distribution", "distribution", "rvar"))

# `any_family`: moments of all predictions of a number are taken, not only those of normal ones, which a map keeps.
# `columns`: names where `x` has none, of a matrix like the one of the fit.
moments_of <- function(x, call, columns = NULL, any_family = FALSE) {
  if (is_distribution_like(x)) {
    missing <- law_missing(x)
    x <- as_distribution(fill_missing(x, missing))
    if (any_family && dimension_of(x) == 1 && is.null(class_probs(x))) {
      moments <- score_moments(x, call)
      return(list(mean = replace(moments$mean, missing, NA), variance = replace(moments$variance, missing, NA),
                  type = "law"))
    }
    if (family_of(x) != "normal") {
      stop_input(c(
        "Means and variances can be read from normal predictions.",
        "x" = "These are {.val {family_of(x)}}.",
        "i" = if (family_of(x) == "draws") {
          "Give a normal with the draws' moments, {.code pred_normal(mean, sd)}."
        } else {
          "Give two columns named {.code mean} and {.code variance}."
        }
      ), "distribution", arg = "x", call = call)
    }
    return(list(mean = replace(vctrs::field(x, "mean"), missing, NA),
                variance = replace(vctrs::field(x, "sd")^2, missing, NA), type = "law"))
  }
  if (!is.matrix(x) || !is.numeric(x) || ncol(x) != 2) {
    stop_input(c(
      "A regression needs the predicted means and variances.",
      "x" = "{.arg x} is {.val {describe_shape(x)}}.",
      "i" = "Give {.code pred_normal(mean, sd)}, or two columns named {.code mean} and {.code variance}."
    ), "columns", arg = "x", call = call)
  }
  roles <- moment_roles(colnames(x) %||% columns, call)
  x <- cbind(x[, roles == "mean"], x[, roles != "mean"])
  deviation <- "sd" %in% roles
  bad <- which(!is.na(x[, 2]) & (x[, 2] < 0 | is.infinite(x[, 2])) | is.nan(rowSums(x)) | is.infinite(x[, 1]))
  if (length(bad) > 0) {
    stop_input(c(
      "Means must be finite and variances finite and not negative.",
      "x" = "Row {bad[1]} is mean {.val {x[bad[1], 1]}}, {if (deviation) 'sd' else 'variance'} \\
             {.val {x[bad[1], 2]}}; {length(bad)} of {nrow(x)} rows are affected."
    ), "variance", arg = "x", row = bad[1], call = call)
  }
  list(mean = unname(x[, 1]), variance = unname(x[, 2])^(1 + deviation), type = "matrix", roles = roles)
}

moment_names <- list(mean = c("mean", "mu", ".pred"), variance = c("variance", "var", "sigma2"), sd = c("sd", "sigma"))

# What two columns are, by their names; said once for each pair of names.
moment_roles <- function(columns, call) {
  plain <- tolower(sub("^\\.pred_", "", columns %||% c("", "")))
  role <- vapply(plain, function(name) {
    at <- vapply(moment_names, function(known) name %in% known, NA)
    if (any(at)) names(moment_names)[at] else ""
  }, "", USE.NAMES = FALSE)
  if (sum(role == "mean") != 1 || !all(nzchar(role))) {
    stop_input(c(
      "Two numbers per prediction are a mean and a variance or standard deviation only where their names say so.",
      "x" = if (is.null(columns)) "They have no names." else "They are named {.field {columns}}.",
      "i" = "Give {.code pred_normal(mean, sd)}, or columns named {.code mean} and {.code variance} (or {.code sd})."
    ), "columns", arg = "x", call = call)
  }
  says <- c(variance = "variance", sd = "standard deviation")[[role[role != "mean"]]]
  tell(c("i" = "Read {.field {columns[role == 'mean']}} as the mean, \\
                {.field {columns[role != 'mean']}} as the {says}."),
       "moments", .frequency = "once", .frequency_id = paste(c("calibrisk_moments", columns), collapse = "_"))
  role
}

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

#' @rdname ce_maps
#' @export
map_variance <- function() new_choice("map", "variance")

#' @export
map_loss.map_variance <- function(method) "dss"

#' @export
recalibrate.map_variance <- function(method, part, input, threads, call) {
  data <- read_moments(part, input$truth, input$dots, input$na_rm, call, design = input$design)
  if (data$na) {
    stop_input(c("A recalibration map cannot be fitted to missing values.",
                 "i" = "Use {.code na_rm = TRUE} to drop them."), "missing", arg = "na_rm", call = call)
  }
  r <- (data$mean - data$outcome)^2
  fit <- fit_variance(data$variance, r, data$design, call)
  after <- scale_variance(fit$map, data$variance)
  out <- new_recalibration(
    method, data$layout, fit, data$design,
    objective = c(before = dss(data$variance, r, data$design), after = dss(after, r, data$design)),
    n = length(r), n_classes = NA_integer_, kind = "distribution",
    fingerprint = fingerprint(cbind(data$mean, data$variance)), rows = data$rows, n_rows = data$n_rows
  )
  if (!is.null(input$folds)) {
    fold <- recal_folds(input$folds, length(r), data$rows, data$n_rows, call, data$design$cluster)
    out$fold_terms <- lapply(seq_len(max(fold)), function(f) {
      fit <- fit_variance(data$variance[fold != f], r[fold != f], design_rows(data$design, fold != f), call)
      after[fold == f] <<- scale_variance(fit$map, data$variance[fold == f])
      fit$terms
    })
    out$fold <- fold
    out$objective_crossfit <- dss(after, r, data$design)
  }
  full <- rep(NA_real_, data$n_rows)
  out$fitted <- write_moments(replace(full, data$rows, data$mean), replace(full, data$rows, after), data$layout)
  warn_convergence(fit, "variance")
  out
}

# Mean Dawid-Sebastiani score from variances and squared residuals.
dss <- function(variance, r, design = new_design(length(r))) row_mean(dss_terms(variance, r), design)

# A variance of 0 scores -Inf where the mean is exact, else +Inf.
dss_terms <- function(variance, r) ifelse(variance == 0 & r > 0, Inf,
                                          ifelse(variance == 0, -Inf, r / variance + log(variance)))

scale_variance <- function(map, variance) map$w * variance + map$b

# The score is not convex in (w, b): several starts, and the two edges b = 0 and w = 0,
# whose optima are known (mean(r / s2) and mean(r)). In units of mean(r) and mean(s2).
fit_variance <- function(variance, r, design, call) {
  mean <- function(rows) row_mean(rows, design)
  unit <- mean(r)
  if (unit == 0) {
    stop_input(c(
      "There must be at least one residual that is not 0.",
      "x" = "All {length(r)} predicted means equal the outcome: the best variance is 0, with a score of minus infinity."
    ), "degenerate", arg = "truth", n = length(r), call = call)
  }
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
  x <- if (is.data.frame(new) && !is.null(layout$law)) {
    rlang::eval_tidy(layout$law, data = new)
  } else if (is.data.frame(new)) {
    absent <- setdiff(layout$columns, names(new))
    if (length(absent) > 0) {
      stop_input(c("{.arg new} must have the columns that the map was fitted to.",
                   "x" = "{.field {absent}} {?is/are} missing."), "columns", arg = "new", call = call)
    }
    if (layout$type == "law") new[[layout$columns]] else as.matrix(new[layout$columns])
  } else {
    new
  }
  moments <- moments_of(x, call, layout$columns)
  ok <- !is.na(moments$mean) & !is.na(moments$variance)
  same <- fitted_rows(fingerprint(cbind(moments$mean, moments$variance)[ok, , drop = FALSE]), object$fingerprint)
  if (same > 0) warn_same_rows(same, sum(ok))
  write_moments(moments$mean, scale_variance(object$map, moments$variance), layout)
}
