#' Choose and tune a calibration error estimator by its risk
#'
#' Fits every method at every value of its hyperparameter on the training part of each
#' fold, estimates the risk on the held-out part, selects the value with the smallest mean
#' risk and reports the calibration error of the folds' averaged functions on test rows that
#' no fit has seen (Gruber & Bach 2025, Algorithm 1). Below it stands the headline: the estimate and
#' interval of [ce_estimate()]. Of rows that are not in one place a [ce_state()] takes the place of `x`; then only
#' `level` and `threads` may be given.
#'
#' @inheritParams ce_args
#' @inheritParams ece
#' @param methods A list of methods, see [ce_methods]; names (else the constructors') are
#'   the column `method`.
#' @param folds The number of folds; or an integer vector with the fold of each non-test
#'   row (or of every row; fold 0 then marks the test rows); or an rsample `rset` that holds out every row once. Of a
#'   table of a database a number, or a column of it (see [ce_database()]).
#' @param test The share of rows kept for the estimate, or their row numbers. With 0 the
#'   estimate is taken on the held-out rows of the folds.
#' @param repeats Number of random splits that risks are averaged over; `NULL`: 10 below 500 rows, 5 below 2,000, else
#'   1, and 1 where one method or a split is given.
#' @param progress Show a progress bar in interactive sessions?
#' @return A `ce_tune`. `tidy()` has one row per method, value and fold (of each split), `glance()` one row per
#'   method, [autoplot()][autoplot.ce_tune] draws risks, estimates and gaps, `predict()` and [ce_risk()] use
#'   the averaged functions. For grouped data a `ce_grouped` list of them.
#' @section Definition:
#' Rows are shuffled once with R's random numbers; the first 80 % tune, the rest test;
#' folds are consecutive blocks. With \eqn{h_{i,\eta}} fitted outside fold \eqn{i},
#' \eqn{\hat\eta = \arg\min_\eta \frac1k \sum_i R_i(h_{i,\eta})} (ties: the smallest),
#' \eqn{h = \frac1k \sum_i h_{i,\hat\eta}} and \eqn{CE^2} is the mean of \eqn{h(p,p)} on the test
#' rows. Class-wise, values are selected per class and the squared errors summed. With few rows the choice hangs on the
#' split: risks are then averaged over `repeats` splits, and `won` says in which share of them each method was best.
#'
#' The rows of a cluster are in one fold, and on one side of the test split; shares and numbers of folds are those of
#' clusters. Weighted and clustered rows count as in [ce_risk()]; fits are weighted, and every one of them is computed
#' by itself, without the short cuts over grids and folds.
#'
#' The risk says *which function* describes the miscalibration best. *How large* it is says the headline, the same for
#' every method because the target is the same: the estimate and interval of [ce_estimate()], from all rows. The
#' interval is for the error visible at the stated resolution; it uses no method, and `estimate_holdout` may lie
#' outside.
#' @section Errors:
#' Of class `calibrisk_error_<what>`: `probs` (rows that are negative, infinite or do not sum to 1, `NaN`, logits),
#' `truth` (outcomes that are no classes of `x`), `columns` (none selected, unknown, not one per class, names that fit
#' the levels only in part), `length`, `empty`, `missing` (with `na_rm = FALSE`), `notion` (one that the data or a
#' method does not have), `method`, `folds` (fewer rows than folds, or a vector of another length), `argument`, and
#' `group`, which names the group. The other verbs have the same ones. An estimate that is larger than every residual
#' (kkr on a few rows) is a warning of class `calibrisk_warning_impossible_estimate`.
#' @section Cost:
#' Linear in the number of rows for scalar notions; see the vignettes for measured times.
#' Long work can be interrupted. Under a [future::plan()] of several workers methods and classes are tuned there, with
#' the same digits (unless a function of [method_function()] draws random numbers); a worker that is lost is an error of
#' class `calibrisk_error_worker`.
#' @references `r ref_gruber_bach()`
#' @export
#' @examples
#' set.seed(1)
#' tuned <- ce_tune(vehicle_predictions, truth)
#' tuned
#' glance(tuned)
ce_tune <- function(x, truth, ..., notion = NULL, methods = ce_methods(notion), folds = 5,
                    test = 0.2, repeats = NULL, .by = NULL, level = 0.95, event_level = "first", na_rm = TRUE,
                    progress = TRUE, threads = NULL, weights = NULL, cluster = NULL, horizon = NULL) {
  call <- current_env()
  if (inherits(x, "ce_state")) {
    check_state_call(missing(truth), match.call(), c("x", "level", "threads"), call)
    check_level(level)
    return(state_tune(x, level, resolve_threads(threads), call))
  }
  notion <- check_notion(notion)
  methods <- check_methods(if (missing(methods) && is_database(x)) database_methods(notion) else methods)
  check_bins_notion(methods, notion, call)
  check_count(repeats, null = TRUE)
  check_level(level)
  check_flag(progress)
  threads <- resolve_threads(threads)
  design <- design_input(enquo(weights), enquo(cluster), horizon)
  if (is_database(x)) {
    return(database_tune(x, enquo(truth), column_dots(...), enquo(.by), notion, methods, enquo(folds), test, repeats,
                         event_level, na_rm, level, threads, design, call))
  }
  fit_groups(x, enquo(truth), column_dots(...), enquo(.by), event_level, na_rm, design, function(predictions) {
    splits <- repeated_splits(predictions, folds, test, repeats, length(methods), call)
    told_once(tune_predictions(predictions, notion, methods, splits, level, progress, threads, call))
  }, call)
}

# The first split is that of a single one, with the same seed.
repeated_splits <- function(predictions, folds, test, repeats, n_methods, call) {
  n <- n_obs(predictions)
  random <- length(folds) == 1 && is_share(test)
  if (!random && isTRUE(repeats > 1)) {
    stop_input(c(
      "{.arg repeats} needs random splits.",
      "x" = "{.arg {if (is_share(test)) 'folds' else 'test'}} gives the split."
    ), "argument", arg = "repeats", value = repeats, call = call)
  }
  few <- if (n < 500) 10 else if (n < 2000) 5 else 1
  repeats <- repeats %||% if (random && n_methods > 1) few else 1
  lapply(seq_len(repeats), function(r) split_predictions(predictions, folds, test, call))
}

tune_predictions <- function(predictions, notion, methods, splits, level, progress, threads, call,
                             headline = NULL) {
  notion <- notion %||% default_notion(predictions)
  problems <- notion_problems(predictions, notion, call)
  split <- splits[[1]]
  n_train <- sum(split$fold > 0) * (split$k - 1) / split$k
  grids <- lapply(methods, method_grid, notion = notion, n = n_train)
  results <- tune_jobs(methods, problems, splits, grids, progress, threads, call)
  # what methods shared of many rows makes room for the headline: the collector does not know how large it is
  if (notion == "canonical" && length(problems[[1]]$features) > 1e5) gc()
  if (is.null(headline)) {
    problem <- if (length(problems) == 1) problems[[1]] else ladder_problem(predictions, notion, call)
    headline <- headline_row(notion_ladder(predictions, notion, level, threads, call = call, problem = problem), notion,
                             n_obs(predictions))
  }
  out <- new_tune(results, methods, grids, headline, problems, list(
    histogram = tune_histogram(problems, notion, threads), source = fit_source(predictions, problems, threads),
    notion = notion, level = level, split = split, n_splits = length(splits),
    n = n_obs(predictions), counted = design_sentence(list(predictions$design)), dropped = predictions$dropped,
    levels = predictions$levels, event = predictions$event, scalar = is.null(predictions$probs)
  ))
  warn_impossible(out$glance, problems)
  out
}

# Every method on every problem, combined per method.
tune_jobs <- function(methods, problems, splits, grids, progress, threads, call) {
  jobs <- unlist(lapply(names(methods), function(m) {
    lapply(seq_along(problems), function(j) {
      list(method = methods[[m]], grid = grids[[m]], problem = problems[[j]], m = m, j = j)
    })
  }), recursive = FALSE)
  parts <- if (length(jobs) > 1 && has_workers()) {
    over_workers(jobs, tuner_alone(splits, threads), call)
  } else {
    tune_here(jobs, splits, tune_progress(methods, problems, progress), threads)
  }
  method <- vapply(jobs, `[[`, "", "m")
  lapply(split(parts, factor(method, names(methods))), combine_problems)
}

tuner_alone <- function(splits, threads) {
  force(list(splits, threads))
  function(job) tune_problem(job$method, job$problem, splits, job$grid, new_context(threads))
}

tune_here <- function(jobs, splits, bar, threads) {
  context <- new_context(threads)
  parts <- lapply(jobs, function(job) {
    context$progress <- bar$step()
    # methods share factors of a problem; classes do not
    context$cache <- bar$cache(job$j)
    tune_problem(job$method, job$problem, splits, job$grid, context)
  })
  bar$done()
  parts
}

# `about`: what was tuned on; `difference`: of two methods' risks.
new_tune <- function(results, methods, grids, headline, problems, about, difference = split_difference) {
  structure(
    c(list(
      tidy = tune_tidy(results, methods, grids, problems),
      glance = tune_glance(results, methods, grids, headline, difference),
      headline = headline,
      zero_root_risk = vapply(results, function(r) mean_root(fold_values(r, "zero_risk")), 0),
      forms = lapply(results, `[[`, "forms"),
      diagnostics = lapply(results, `[[`, "diagnostics"),
      labels = vapply(methods, format, "")
    ), about),
    class = "ce_tune"
  )
}

split_predictions <- function(predictions, folds, test, call) {
  rows <- keep_rows(folds, test, predictions, call)
  make_split(n_obs(predictions), rows$folds, rows$test, call, predictions$design$cluster)
}

# Folds and test rows are given for the rows of the input; after incomplete rows are
# dropped (and others repeated by their frequencies) they follow the rows that are left.
keep_rows <- function(folds, test, predictions, call) {
  kept <- predictions$rows
  n_input <- predictions$n_input %||% (length(kept) + predictions$dropped)
  if (identical(as.integer(kept), seq_len(n_input))) return(list(folds = folds, test = test))
  fixed_test <- is_test_rows(test)
  test_rows <- if (fixed_test) check_test_rows(test, n_input, call) else integer()
  if (inherits(folds, "rset")) folds <- rset_folds(folds, call)
  if (length(folds) == n_input) {
    folds <- folds[kept]
  } else if (fixed_test && length(folds) == n_input - length(test_rows)) {
    given <- integer(n_input)
    given[setdiff(seq_len(n_input), test_rows)] <- folds
    folds <- given[kept[!kept %in% test_rows]]
  }
  list(folds = folds, test = if (fixed_test) which(kept %in% test_rows) else test)
}

# One method on one problem: risks over the grid and all splits, the value of the smallest mean risk, the
# first split's selected forms, and what each split's forms say on held-out and test rows.
tune_problem <- function(method, problem, splits, grid, context) {
  progress <- context$progress
  # what methods share of a problem depends on its folds
  caches <- lapply(seq_along(splits), split_cache, cache = context$cache)
  paths <- lapply(seq_along(splits), function(s) {
    if (!is.null(progress)) context$progress <- function(fraction) progress((s - 1 + fraction) / length(splits))
    context$cache <- caches[[s]]
    path <- tune_path(method, problem, splits[[s]]$fold, grid, context)
    # a mean of squares: below 0 by rounding only
    path$risk <- pmax(path$risk, 0)
    path
  })
  v <- select_value(do.call(cbind, lapply(paths, `[[`, "risk")), grid$value)
  # made once: a path fits or assembles its form at each call
  forms <- Map(function(path, split) lapply(seq_len(split$k), function(f) path$form(v, f)), paths, splits)
  parts <- lapply(seq_along(splits), function(s) {
    unseen_parts(problem, splits[[s]]$fold, caches[[s]], context$threads)
  })
  unseen <- lapply(seq_along(splits), function(s) {
    rows <- parts[[s]]
    known <- if (!is.null(paths[[s]]$unseen)) paths[[s]]$unseen(v)
    lapply(seq_len(splits[[s]]$k), function(f) {
      unseen_rows(known[[f]], paths[[s]]$risk[v, f], forms[[s]][[f]], rows$held_out[[f]], rows$test, context$threads)
    })
  })
  list(
    paths = lapply(paths, `[`, c("risk", "squared_error", "squared_error_test")), v = v,
    forms = forms[[1]],
    risks = lapply(unseen, lapply, `[[`, "risk"),
    squared = Map(function(rows, split) {
      if (!any(split$fold == 0)) return(unlist(lapply(rows, function(row) row$risk$squared)))
      Reduce(`+`, lapply(rows, `[[`, "test_squared")) / split$k
    }, unseen, splits),
    # of the rows of `squared`: test rows, or all in the order of the folds
    designs = lapply(parts, `[[`, "design"),
    diagnostics = paths[[1]]$diagnostics
  )
}

split_cache <- function(cache, s) {
  name <- paste0("split ", s)
  if (is.null(cache[[name]])) cache[[name]] <- new.env(parent = emptyenv())
  cache[[name]]
}

# Held-out rows of each fold and features of the test rows, the same for all methods. `design`: that of the test rows,
# or of all in the order of the folds.
unseen_parts <- function(problem, fold, cache, threads) {
  of <- list(problem, fold)
  if (!identical(cache$unseen$of, of)) {
    test <- rows_of_fold(fold, 0, threads)
    rows <- lapply(seq_len(max(fold)), rows_of_fold, fold = fold, threads = threads)
    cache$unseen <- list(
      of = of, rows = rows, held_out = lapply(rows, take_rows, data = problem, threads = threads),
      test = if (length(test) > 0) problem$features[test, , drop = FALSE],
      design = design_rows(problem$design, if (length(test) > 0) test else order(fold))
    )
  }
  cache$unseen
}

# What the function fitted without fold f says of rows that it has not seen: its risk on the fold, whose value is
# that of the path (its own way of summing has other last digits, and tables of a path and of its selected
# value show the same ones), and h(p, p) on the test rows. A path may have both already.
unseen_rows <- function(known, risk, form, held_out, test, threads) {
  out <- known %||% list(
    risk = form_risk(form, held_out$features, held_out$residuals, threads, held_out$design),
    test_squared = if (!is.null(test)) form_squared(form, test, threads)
  )
  out$risk$risk <- risk
  out$risk$design <- held_out$design
  out
}

# Smallest mean risk, over the folds in which it is defined; the smallest value on ties.
select_value <- function(risk, value) {
  mean_risk <- rowMeans(risk, na.rm = TRUE)
  if (all(is.na(mean_risk))) return(1L)
  order <- order(mean_risk, value)
  order[1]
}

# Class-wise: sums over the classes, value by value selected per class. risks: per split and fold.
combine_problems <- function(parts) {
  list(
    paths = lapply(parts, `[[`, "paths"),
    v = vapply(parts, `[[`, 0L, "v"),
    forms = lapply(parts, `[[`, "forms"),
    risks = lapply(seq_along(parts[[1]]$risks), function(s) {
      lapply(seq_along(parts[[1]]$risks[[s]]), function(f) add_risks(lapply(parts, function(p) p$risks[[s]][[f]])))
    }),
    squared = lapply(seq_along(parts[[1]]$squared), function(s) {
      squared <- Reduce(`+`, lapply(parts, function(p) p$squared[[s]]))
      design <- parts[[1]]$designs[[s]]
      if (!isTRUE(parts[[1]]$forms[[1]]$na_rm)) return(mean_estimate(squared, design))
      mean_estimate(squared[!is.na(squared)], design_rows(design, !is.na(squared)))
    }),
    diagnostics = lapply(parts, `[[`, "diagnostics")
  )
}

# Counts of the scalar feature, for the density under the gap plot.
feature_histogram <- function(problem, threads, n_bins = 100L) {
  breaks <- seq(0, 1, length.out = n_bins + 1)
  inner <- breaks[-c(1, n_bins + 1)]
  list(breaks = breaks, counts = tabulate(cpp_intervals(problem$features, inner, threads), n_bins))
}

# The averaged function of one method as a fit.
tune_fit <- function(x, method = NULL, call = caller_env()) {
  methods <- x$glance$method
  method <- method %||% methods[x$glance$selected][1]
  method <- if (is.na(method)) methods[1] else method
  check_choice(method, methods, "method", call)
  row <- x$glance[x$glance$method == method, ]
  structure(
    list(forms = lapply(x$forms[[method]], ensemble_form), notion = x$notion, method = method,
         parameter = row$parameter, value = row$value,
         label = paste0(method, ", mean over ", x$split$k, " folds", chosen_text(row)),
         n = sum(split_sizes(x$split)[-1]), histogram = x$histogram, source = x$source, levels = x$levels,
         event = x$event, scalar = x$scalar),
    class = "ce_fit"
  )
}

chosen_text <- function(row) {
  if (is.na(row$parameter)) return("")
  value <- if (is.na(row$value)) "chosen per class" else format(row$value, digits = 3)
  paste0(" (", row$parameter, " = ", value, ")")
}

#' @rdname predict.ce_fit
#' @export
predict.ce_tune <- function(object, new, ..., type = c("squared", "pairs", "gap"), method = NULL,
                            threads = NULL) {
  predict(tune_fit(object, method), new, ..., type = type, threads = threads)
}
