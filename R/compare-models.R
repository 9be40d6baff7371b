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
      models <- said_once(column_models(part, truth, columns, settings), "cluster")
      with_read(compare_pairs(common_rows(models), metric, settings), models)
    }))
  }
  stop_if(!rlang::quo_is_null(settings$by), "{.arg .by} needs the models as columns of one data frame.",
          class = "group", arg = ".by")
  models <- if (read) objects else {
    said_once(list_models(objects, truth, settings), "cluster")
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
  values <- vapply(found, `[[`, 0, "value")
  estimates <- lapply(found, `[[`, "estimate")
  df <- paired_df(NULL, simplex_truth(models[[1]]), n_classes(models[[1]]), models[[1]]$design)
  errors <- if (any(vapply(estimates, is.null, NA))) {
    bootstrap_differences(models, metric, values, at, settings, df)
  } else {
    influence_differences(estimates, values, at, settings$level, df)
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
  out$superior <- as.character(ifelse(high < 0, "a", ifelse(low > 0, "b", "neither")))
  out$noninferior <- as.character(ifelse(a & b, "both", ifelse(a, "a", ifelse(b, "b", "neither"))))
  out
}

metric_values <- function(models, metric) {
  jobs <- unname(Map(function(name, model) list(name = name, model = model), names(models), models))
  value <- sealed(function(job) in_model(metric_value(metric, job$model), job$name), metric = metric)
  # what a user's function takes from the global environment is not in a worker
  if (!isNamespace(environment(metric$fn) %||% baseenv())) return(lapply(jobs, value))
  unless_random(jobs, value)
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

# Both values have their influence on the same rows; see inst/include/calibrisk/classical/model_difference.h.
influence_differences <- function(estimates, values, at, level, df) {
  # what every pair of a model asks for: its influence, its own limits (the headline's are those of its ladder), and
  # whether it is distinguished from 0, at twice its standard error
  models <- lapply(estimates, function(one) {
    one["influence"] <- list(influence_rows(one))
    if (!is.null(one$honest)) one$honest["influence"] <- list(influence_rows(one$honest))
    limits <- one$limits %||% unlist(summarise_estimates(list(one), level)[c("conf.low", "conf.high")])
    c(one, list(own = limits, told = isTRUE(one$value > 2 * cpp_estimate_std_error(one))))
  })
  power <- models[[1]]$power
  parts <- vapply(seq_len(ncol(at)), function(k) {
    pair <- models[at[, k]]
    # the copies of a row are in other folds for each model
    if (!is.null(pair[[1]]$design$dealt)) pair <- cpp_joint_copies(pair)
    shown <- values[at[, k]]
    honest <- lapply(pair, `[[`, "honest")
    both <- c(list(pair), if (all(lengths(honest) > 0)) list(honest))
    told <- pair[[1]]$told && pair[[2]]$told
    apart <- vapply(both, function(of) {
      own <- error_apart(of, c(1, -1))
      if (power == 1 || !told) return(own[c(1, 1, 2)])
      c(own[1], error_apart(of, 1 / (power * shown^(power - 1)) * c(1, -1))[1], own[2])
    }, numeric(3))
    bounds <- if (length(both) == 1) NA else vapply(honest, `[[`, 0, "value")
    errors <- rbind(vapply(pair, `[[`, 0, "value"), bounds, shown, vapply(pair, `[[`, c(0, 0), "own"))
    # a difference of AUROCs of few events has those of its standard error
    df <- min(df, models[[1]]$df, apart[3, 1] - 1)
    cpp_model_difference(errors, apart[1:2, , drop = FALSE], power, told, if (df < 1) NA else df, level)
  }, numeric(4))
  list(std.error = parts[1, ], conf.low = parts[2, ], conf.high = parts[3, ], p.value = parts[4, ])
}

# The standard error of this combination of two estimates, and of how many rows it is.
error_apart <- function(pair, scale) {
  cpp_error_apart(lapply(pair, `[[`, "influence"), scale, pair[[1]]$design, combined_noise(pair, scale))
}

# The same resampled rows, or clusters, for all models. Resampling adds bias once more: all of it for smooth functions
# of means, sqrt(2) - 1 of it for the absolute value of pure noise. The bias of the difference is therefore assumed to
# lie between 0 and 1 + sqrt(2) times what resampling adds. Limits and test are valid at both ends.
bootstrap_differences <- function(models, metric, values, at, settings, df) {
  design <- models[[1]]$design
  counted <- !is.null(design$copies)
  draws <- vapply(seq_len(settings$times), function(b) {
    rows <- if (counted) resampled_copies(design) else resampled_rows(design)
    drawn <- vapply(models, function(model) {
      sample <- if (counted) sampled_rows(model, rows) else take_rows(model, rows)
      # p-values and limits are not asked for
      sample$design$resampled <- TRUE
      suppressMessages(unsaid(metric_value(metric, sample)$value, "calibrisk_message"))
    }, 0)
    drawn[at[1, ]] - drawn[at[2, ]]
  }, numeric(ncol(at)))
  cpp_sampled_differences(matrix(draws, ncol(at)), values[at[1, ]] - values[at[2, ]], 1 + sqrt(2), df, settings$level)
}
