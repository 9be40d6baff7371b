# Models on the same rows: a metric of each, and their paired differences.

compare_models <- function(objects, truth, columns, metric, settings) {
  metric <- as_metric(metric)
  read <- is_models(objects)
  # a grouped data frame has an attribute of that name
  if (read) check_no_groups(objects)
  if (read) check_models_alone(called_verb()) else
    stop_if(rlang::quo_is_missing(truth), "{.arg truth} must be given.", "x" = "It is missing in {.fn ce_compare}.",
            "i" = "The outcomes follow the models.", class = "truth", arg = "truth")
  if (is.data.frame(objects)) {
    return(by_groups(objects, settings$by, function(part) {
      models <- told_once(warned_once(column_models(part, truth, columns, settings), "calibrisk_warning_cluster"))
      with_read(compare_pairs(common_rows(models), metric, settings), models)
    }))
  }
  stop_if(!rlang::quo_is_null(settings$by), "{.arg .by} needs the models as columns of one data frame.",
          class = "group", arg = ".by")
  models <- if (read) objects else {
    told_once(warned_once(list_models(objects, truth, settings), "calibrisk_warning_cluster"))
  }
  as_counted(all_rows(with_read(compare_pairs(common_rows(models), metric, settings), models)))
}

# A list of matrices, vectors (of probabilities or distributions) or data frames with the same rows.
list_models <- function(models, truth, settings) {
  names(models) <- list_names(models, rep("model", length(models)))
  for (model in models) check_ordered(model, "x")
  models <- Map(function(x, name) in_model(read_results(x), name), models, names(models))
  beside <- evaluate_design_once(settings$design, Filter(Negate(is.data.frame), models))
  design_of <- function(x) if (is.data.frame(x)) settings$design else beside
  first <- models[[1]]
  design <- design_of(first)
  outcomes <- if (is.null(design$horizon)) rank_truth(models, truth, settings$own) else {
    # survival outcomes are those of the first model's rows, which are everybody's
    at <- outcomes_at(truth, first, design$horizon, read_design(design, first, NROW(first))$weights)
    list(values = at$values, censoring = at$censoring, column = names(first)[at$column])
  }
  called <- if (length(outcomes$column) == 1) outcomes$column else outcome_name(truth, NULL)
  parts <- each_direction(names(models), function(name) {
    in_model({
      x <- models[[name]]
      values <- outcomes$own[[name]] %||% outcomes$values
      law <- law_given(x, list())
      raw <- read_design(design_of(x), x, if (is.null(law)) NROW(x) else NROW(values))
      raw$censoring <- outcomes$censoring
      if (is.null(law)) {
        if (is.data.frame(x)) x <- rank_columns(x, outcomes$column)
        out <- new_predictions(x, values, settings$event_level, TRUE, raw = raw)
        out[c("truth_name", "event_level")] <- list(called, settings$event_level)
        out
      } else {
        law_or_classes(join_laws(law, values, settings$event_level, TRUE, raw))
      }
    }, name)
  })
  align_events(parts)
}

compare_pairs <- function(models, metric, settings) {
  check_two_models(models)
  check_law_metric(metric, models[[1]])
  # functions of others are given rows
  if (is.null(metric$of)) models <- lapply(models, single_copies)
  if (n_obs(models[[1]]) == 0) stop_empty(1)
  at <- utils::combn(length(models), 2)
  several <- settings$adjust != "none" && ncol(at) > 1
  alpha <- 1 - settings$level
  # limits that hold together, and those of the models too (Bonferroni): Holm's test begins with the same levels
  if (several) settings$level <- 1 - alpha / ncol(at)
  if ("level" %in% names(formals(metric$fn))) metric$options$level <- metric$options$level %||% settings$level
  found <- metric_values(models, metric)
  # the copies of a row are in other folds for each model
  if (any(vapply(found, function(one) isTRUE(one$estimate$design$dealt), NA))) {
    models <- lapply(models, single_copies)
    found <- metric_values(models, metric)
  }
  values <- vapply(found, `[[`, 0, "value")
  estimates <- lapply(found, `[[`, "estimate")
  errors <- if (any(vapply(estimates, is.null, NA))) {
    bootstrap_differences(models, metric, values, at, settings)
  } else {
    influence_differences(estimates, values, at, settings$level)
  }
  # the same predictions twice do not differ, up to the last digit
  predicted <- lapply(models, function(one) unname(unclass(one)[c("prob", "probs", "law")]))
  same <- apply(at, 2, function(pair) identical(predicted[[pair[1]]], predicted[[pair[2]]]))
  values[at[2, same]] <- values[at[1, same]]
  errors[c("std.error", "conf.low", "conf.high")] <-
    lapply(errors[c("std.error", "conf.low", "conf.high")], function(v) ifelse(same & !is.na(v), 0, v))
  errors$p.value[same] <- 1
  out <- columns_frame(
    a = names(models)[at[1, ]], b = names(models)[at[2, ]], .metric = found[[1]]$name, notion = found[[1]]$notion,
    estimate_a = values[at[1, ]], estimate_b = values[at[2, ]], difference = values[at[1, ]] - values[at[2, ]],
    std.error = errors$std.error, conf.low = errors$conf.low, conf.high = errors$conf.high, p.value = errors$p.value
  )
  if (several) {
    out$p.adjusted <- stats::p.adjust(out$p.value, settings$adjust)
    # it goes on with larger ones: a limit beyond 0 then is 0
    apart <- sign(out$difference) * (out$p.adjusted < alpha) %in% TRUE
    out$conf.low <- ifelse(apart > 0, pmax(out$conf.low, 0), out$conf.low)
    out$conf.high <- ifelse(apart < 0, pmin(out$conf.high, 0), out$conf.high)
  }
  out$n <- n_obs(models[[1]])
  if (is.null(settings$margin)) out else add_margin(out, settings$margin, metric_sign(metric))
}

# By the interval; a `sign` of -1 is that of metrics of which larger values are better.
add_margin <- function(out, margin, sign = 1) {
  low <- if (sign < 0) -out$conf.high else out$conf.low
  high <- if (sign < 0) -out$conf.low else out$conf.high
  a <- high < margin
  b <- low > -margin
  out$superior <- ifelse(high < 0, "a", ifelse(low > 0, "b", "neither"))
  out$noninferior <- ifelse(a & b, "both", ifelse(a, "a", ifelse(b, "b", "neither")))
  out
}

metric_values <- function(models, metric) {
  jobs <- unname(Map(function(name, model) list(name = name, model = model), names(models), models))
  value <- model_valuer(metric)
  # what a user's function takes from the global environment is not in a worker
  if (!isNamespace(environment(metric$fn) %||% baseenv())) return(lapply(jobs, value))
  unless_random(jobs, value)
}

model_valuer <- function(metric) {
  force(list(metric))
  function(job) in_model(metric_value(metric, job$model), job$name)
}

check_two_models <- function(models, arg = "objects") {
  stop_if(length(models) < 2, "Two or more models are needed.", "x" = "There is {length(models)}.",
          "i" = "A single model needs no comparison, as in {.code ece(p, y)}.", arg = arg)
  real <- vapply(models, is_real, NA)
  stop_if(any(real) && !all(real), "All models must predict numbers, or all classes.",
          "x" = "Numbers: {.val {names(models)[real]}}; classes: {.val {names(models)[!real]}}.", class = "length",
          arg = arg)
  size <- vapply(models, n_classes, 1L)
  other <- which(size != size[1])[1]
  stop_if(!is.na(other), "All models must predict the same classes.",
          "x" = "Model {.val {names(models)[1]}} has {size[1]}, model {.val {names(models)[other]}} has {size[other]}.",
          class = "length", arg = arg)
}

# Both values have their influence on the same rows. The test is on the scale on which they are means, where it is
# defined near 0 too.
influence_differences <- function(estimates, values, at, level) {
  # what every pair of a model asks for: its influence, its own limits (the headline's are those of its ladder), and
  # whether it is distinguished from 0, at twice its standard error
  models <- lapply(estimates, function(one) {
    one["influence"] <- list(influence_rows(one))
    if (!is.null(one$honest)) one$honest["influence"] <- list(influence_rows(one$honest))
    limits <- one$limits %||% unlist(summarise_estimates(list(one), level)[c("conf.low", "conf.high")])
    c(one, list(own = limits, told = isTRUE(one$value > 2 * estimate_std_error(one))))
  })
  parts <- lapply(seq_len(ncol(at)), function(k) {
    pair <- models[at[, k]]
    means <- pair_means(pair)
    c(difference_limits(pair, means, values[at[, k]], level), list(p.value = difference_p_value(pair, means)))
  })
  lapply(setNames(nm = names(parts[[1]])), function(name) vapply(parts, `[[`, 0, name))
}

mean_difference <- function(pair, slope = 1) {
  of <- combine_estimates(pair, slope * c(1, -1))
  list(value = of$value, std_error = estimate_std_error(of))
}

# Errors are biased upwards by the noise of their estimated gaps (R/crossfit.R), more so for the model whose gaps are
# small compared with their noise. The difference of two errors is therefore biased. The difference of their honest
# lower bounds is biased the other way, or not at all if both models are calibrated. The interval contains both
# intervals and, except for an end beyond 0, all differences within the models' own limits. The p-value is the larger
# one (1 if the two differences have opposite signs). Without honest bounds the first of the two alone.
pair_means <- function(pair) {
  honest <- lapply(pair, `[[`, "honest")
  if (any(vapply(honest, is.null, NA))) return(list(mean_difference(pair)))
  share <- function(bound, one) if (one$value > 0) bound$value / one$value else 0
  inflation <- honest_inflation(pair[[1]]$power, min(max(min(unlist(Map(share, honest, pair))), 0), 1))
  below <- mean_difference(honest)
  below$std_error <- below$std_error * inflation
  list(mean_difference(pair), c(below, list(bounds = honest, inflation = inflation)))
}

# Of the standard error: a difference of AUROCs of few events has theirs.
pair_df <- function(pair) {
  df <- min(design_df(pair[[1]]$design), pair[[1]]$df)
  if (df < 1) NA_real_ else df
}

difference_p_value <- function(pair, means) {
  value <- vapply(means, `[[`, 0, "value")
  # the same predictions twice
  if (identical(value[1], 0) || isTRUE(value[1] * value[length(value)] <= 0)) return(1)
  z <- value / vapply(means, `[[`, 0, "std_error")
  max(2 * stats::pt(-abs(z), pair_df(pair)))
}

# For a difference of roots r = value^(1/p): from influence / (p r^(p - 1)) where both are distinguished from 0; else
# from their own limits.
difference_limits <- function(pair, means, shown, level) {
  power <- pair[[1]]$power
  quantile <- stats::qt((1 + level) / 2, pair_df(pair))
  around <- function(value, std_error) value + c(-1, 1) * quantile * std_error
  apart <- range(unlist(lapply(means, function(one) around(one$value, one$std_error))))
  if (power != 1 && !all(vapply(pair, `[[`, NA, "told"))) return(limits_of_own(pair, apart, shown))
  slope <- if (power == 1) 1 else 1 / (power * shown^(power - 1))
  std_error <- if (power == 1) means[[1]]$std_error else mean_difference(pair, slope)$std_error
  reach <- around(shown[1] - shown[2], std_error)
  if (length(means) > 1) {
    honest <- means[[2]]
    also <- around(honest$value, honest$std_error)
    if (power != 1) {
      below <- pmax(vapply(honest$bounds, `[[`, 0, "value"), 0)^(1 / power)
      also <- around(below[1] - below[2], mean_difference(honest$bounds, slope)$std_error * honest$inflation)
    }
    own <- vapply(pair, `[[`, c(0, 0), "own")
    # an end beyond 0 is the test's
    end <- function(paired, apart) if (isTRUE(min(paired) > 0)) min(paired) else min(apart, paired, 0)
    reach <- c(end(c(reach[1], also[1]), own[1, 1] - own[2, 2]), -end(-c(reach[2], also[2]), own[1, 2] - own[2, 1]))
  }
  if (power != 1) reach <- tested_reach(reach, pair, apart, shown)
  c(list(std.error = std_error), conf.low = reach[1], conf.high = reach[2])
}

# The test is that of the difference before roots are taken, with the limits `apart`. Limits of the roots that include 0
# where it rejects, or exclude 0 where it does not, get the end next to 0 that agrees with it.
tested_reach <- function(reach, pair, apart, shown) {
  if (anyNA(apart) || anyNA(reach)) return(reach)
  if (apart[1] <= 0 && apart[2] >= 0) return(c(min(reach[1], 0), max(reach[2], 0)))
  if (reach[1] > 0 || reach[2] < 0) return(reach)
  own <- limits_of_own(pair, apart, shown)
  if (apart[1] > 0) c(own$conf.low, reach[2]) else c(reach[1], own$conf.high)
}

# Smallest and largest a - b of roots within their own limits. If the limits `apart` of a^p - b^p exclude 0, which is
# when the p-value is below 1 - level, the end next to 0 is that of the roots that are at least so far apart.
limits_of_own <- function(pair, apart, shown) {
  power <- pair[[1]]$power
  own <- pmax(vapply(pair, `[[`, c(0, 0), "own"), 0)
  most <- function(a, b, apart) {
    if (!isTRUE(apart < 0)) return(a[2] - b[1])
    b <- min(b[2], (a[2]^power - apart)^(1 / power))
    min(a[2], max(b^power + apart, 0)^(1 / power)) - b
  }
  difference <- shown[1] - shown[2]
  list(std.error = NA_real_, conf.low = min(-most(own[, 2], own[, 1], -apart[1]), difference),
       conf.high = max(most(own[, 1], own[, 2], apart[2]), difference))
}

# The same resampled rows, or clusters, for all models. Resampling adds bias once more: all of it for smooth functions
# of means, sqrt(2) - 1 of it for the absolute value of pure noise. The bias of the difference is therefore assumed to
# lie between 0 and 1 + sqrt(2) times what resampling adds. Limits and test are valid at both ends.
bootstrap_differences <- function(models, metric, values, at, settings) {
  design <- models[[1]]$design
  counted <- !is.null(design$copies)
  draws <- vapply(seq_len(settings$times), function(b) {
    rows <- if (counted) resampled_copies(design) else resampled_rows(design)
    drawn <- vapply(models, function(model) {
      sample <- if (counted) sampled_rows(model, rows) else take_rows(model, rows)
      suppressMessages(metric_value(metric, sample)$value)
    }, 0)
    drawn[at[1, ]] - drawn[at[2, ]]
  }, numeric(ncol(at)))
  draws <- matrix(draws, ncol(at))
  difference <- values[at[1, ]] - values[at[2, ]]
  corrected <- difference - (1 + sqrt(2)) * (rowMeans(draws) - difference)
  std_error <- apply(draws, 1, sd)
  half <- design_quantile((1 + settings$level) / 2, design) * std_error
  # of Inf and -Inf there is neither spread nor a limit
  finite <- function(v) ifelse(is.finite(v) & is.finite(difference), v, NA_real_)
  least <- ifelse(difference * corrected > 0, pmin(abs(difference), abs(corrected)), 0)
  p_value <- ifelse(std_error > 0, 2 * stats::pt(-least / std_error, design_df(design)), as.numeric(least == 0))
  list(std.error = finite(std_error), conf.low = finite(pmin(difference, corrected) - half),
       conf.high = finite(pmax(difference, corrected) + half), p.value = finite(p_value))
}
