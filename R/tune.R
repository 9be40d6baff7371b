# Algorithm 1 of ce_tune(): splits of the rows, the methods on them, the fit that is selected.

# list(predictions, splits). The first split is that of a single one, with the same seed. Copies of a single random one
# are counted in their folds, of others they are rows.
split_rows <- function(predictions, folds, test, repeats, n_methods) {
  n <- n_obs(predictions)
  random <- length(folds) == 1 && is_share(test)
  stop_if(!random && isTRUE(repeats > 1), "{.arg repeats} needs random splits.",
          "x" = "{.arg {if (is_share(test)) 'folds' else 'test'}} gives the split.", arg = "repeats", value = repeats)
  few <- if (n < 500) 10 else if (n < 2000) 5 else 1
  repeats <- repeats %||% if (random && n_methods > 1) few else 1
  if (random && repeats == 1) predictions <- deal_copies(predictions, folds, test)
  if (is.null(predictions$fold)) {
    predictions <- repeat_copies(predictions)
    return(list(predictions = predictions,
                splits = lapply(seq_len(repeats), function(r) split_predictions(predictions, folds, test))))
  }
  k <- max(predictions$fold)
  list(predictions = predictions, splits = list(structure(list(
    fold = predictions$fold, k = k, sizes = copies_by_group(predictions$design$copies, predictions$fold + 1L, k + 1)
  ), class = "ce_split")))
}

tune_predictions <- function(predictions, notion, methods, splits, level, headline = NULL) {
  notion <- notion %||% default_notion(predictions)
  problems <- notion_problems(predictions, notion)
  split <- splits[[1]]
  n_train <- sum(split_sizes(split)[-1]) * (split$k - 1) / split$k
  grids <- lapply(methods, method_grid, notion = notion, n = n_train)
  lapply(grids, check_grid)
  results <- tune_jobs(methods, problems, splits, grids)
  # what methods shared of many rows makes room for the headline: the collector does not know how large it is
  if (notion == "canonical" && length(problems[[1]]$features) > 1e5) gc()
  if (is.null(headline)) {
    ladder <- notion_ladder(redrawn_rows(predictions, notion), notion, level)
    headline <- headline_row(ladder, notion, entered_rows(predictions$design))
  }
  out <- new_tune(results, methods, grids, headline, problems, list(
    histogram = tune_histogram(problems, notion),
    fingerprint = fit_fingerprint(predictions, problems), notion = notion, level = level, split = split,
    n_splits = length(splits), n = n_obs(predictions), counted = design_sentence(list(predictions$design)),
    dropped = predictions$dropped,
    levels = predictions$levels, event = predictions$event, scalar = is.null(predictions$probs)
  ))
  warn_impossible(out$glance, problems)
  out
}

# Every method on every problem, combined per method.
tune_jobs <- function(methods, problems, splits, grids) {
  jobs <- unlist(lapply(names(methods), function(m) {
    lapply(seq_along(problems), function(j) {
      list(method = methods[[m]], grid = grids[[m]], problem = problems[[j]], m = m, j = j)
    })
  }), recursive = FALSE)
  parts <- if (length(jobs) > 1 && has_workers()) {
    alone <- function(job) tune_problem(job$method, job$problem, splits, job$grid, new_context())
    over_workers(jobs, sealed(alone, splits = splits))
  } else {
    with_bar("Tuning", function(progress) {
      # methods share factors of a problem; classes do not
      contexts <- lapply(problems, function(problem) new_context(progress))
      Map(function(job, k) {
        context <- part_of(contexts[[job$j]], (k - 1) / length(jobs), k / length(jobs))
        tune_problem(job$method, job$problem, splits, job$grid, context)
      }, jobs, seq_along(jobs))
    })
  }
  method <- vapply(jobs, `[[`, "", "m")
  lapply(split(parts, factor(method, names(methods))), combine_problems)
}

# `about`: what was tuned on.
new_tune <- function(results, methods, grids, headline, problems, about) {
  structure(
    c(list(
      tidy = tune_tidy(results, methods, grids, problems),
      glance = tune_glance(results, methods, grids, headline),
      headline = headline,
      zero_root_risk = vapply(results, function(r) mean_root(fold_values(r, "zero_risk")), 0),
      forms = lapply(results, `[[`, "forms"),
      diagnostics = lapply(results, `[[`, "diagnostics"), labels = vapply(methods, format, "")
    ), about),
    class = c("ce_tune", "ce_result")
  )
}

# Folds and test rows are given for the rows of the input; after incomplete rows are dropped (and others repeated by
# their frequencies) they follow the rows that are left.
split_predictions <- function(predictions, folds, test) {
  kept <- predictions$rows
  n_input <- predictions$n_input %||% (length(kept) + predictions$dropped)
  if (!identical(as.integer(kept), seq_len(n_input))) {
    fixed_test <- !is_share(test)
    tested <- if (fixed_test) check_test_rows(test, n_input)
    if (inherits(folds, "rset")) folds <- rset_folds(folds)
    if (fixed_test && length(folds) == n_input - length(tested)) {
      folds <- replace(integer(n_input), setdiff(seq_len(n_input), tested), folds)
    }
    if (length(folds) == n_input) folds <- folds[kept]
    if (fixed_test) test <- which(kept %in% tested)
  }
  make_split(n_obs(predictions), folds, test, predictions$design$cluster)
}

# Tunes one method on one problem. A list of the risks over the grid and all splits, the value with the smallest mean
# risk, the first split's selected forms, and each split's results on held-out and test rows.
tune_problem <- function(method, problem, splits, grid, context) {
  if (!is.null(problem$per_block)) {
    of <- problem$per_block(method)
    return(of$by_block(tune_problem(method, of$problem, of$splits, grid, context)))
  }
  progress <- context$progress
  # what methods share of a problem depends on its folds
  caches <- lapply(seq_along(splits), function(s) {
    cached(context$cache, paste("split", s), new.env(parent = emptyenv()))
  })
  paths <- lapply(seq_along(splits), function(s) {
    if (!is.null(progress)) context$progress <- function(fraction) progress((s - 1 + fraction) / length(splits))
    context$cache <- caches[[s]]
    path <- tune_checked(method, problem, splits[[s]]$fold, grid, context)
    # a mean of squares: below 0 by rounding only
    path$risk[which(path$risk < 0)] <- 0
    path
  })
  v <- select_value(do.call(cbind, lapply(paths, `[[`, "risk")), grid$value)
  # A path fits or assembles its form at each call. The forms of the first split are returned; those of other splits
  # are arguments of unseen_rows(), which evaluates them only where it needs them.
  forms <- lapply(seq_len(splits[[1]]$k), function(f) paths[[1]]$form(v, f))
  parts <- lapply(seq_along(splits), function(s) {
    unseen_parts(problem, splits[[s]]$fold, caches[[s]])
  })
  unseen <- lapply(seq_along(splits), function(s) {
    rows <- parts[[s]]
    known <- if (!is.null(paths[[s]]$unseen)) paths[[s]]$unseen(v)
    lapply(seq_len(splits[[s]]$k), function(f) {
      unseen_rows(known[[f]], paths[[s]]$risk[v, f], if (s == 1) forms[[f]] else paths[[s]]$form(v, f),
                  rows$held_out[[f]], rows$test)
    })
  })
  list(
    paths = lapply(paths, `[`, c("risk", "squared_error", "squared_error_test")), v = v,
    forms = forms,
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
feature_histogram <- function(problem) {
  breaks <- seq(0, 1, length.out = 101)
  bin <- cpp_intervals(problem$features, breaks[2:100], thread_count())
  list(breaks = breaks, counts = as.integer(group_sizes(problem, bin, 100L)))
}

# Number of rows in each of the groups 1, ..., n of a problem. Counts of rows that stand for those of a cell are whole
# only up to rounding.
group_sizes <- function(problem, group, n) round(copies_by_group(problem$count %||% problem$design$copies, group, n))

# The averaged function of one method as a fit.
tune_fit <- function(x, method = NULL) {
  methods <- x$glance$method
  method <- method %||% methods[x$glance$selected][1]
  method <- if (is.na(method)) methods[1] else method
  check_choice(method, methods, "method")
  row <- x$glance[x$glance$method == method, ]
  value <- if (is.na(row$value)) "chosen per class" else format(row$value, digits = 3)
  structure(
    list(forms = lapply(x$forms[[method]], ensemble_form), notion = x$notion, method = method,
         parameter = row$parameter, value = row$value,
         label = paste0(method, ", mean over ", x$split$k, " folds",
                        if (!is.na(row$parameter)) paste0(" (", row$parameter, " = ", value, ")")),
         n = sum(split_sizes(x$split)[-1]), histogram = x$histogram, fingerprint = x$fingerprint, levels = x$levels,
         event = x$event, scalar = x$scalar),
    class = c("ce_fit", "ce_result")
  )
}

#' @rdname predict.ce_fit
#' @export
predict.ce_tune <- function(object, new, ..., type = c("squared", "pairs", "gap"), method = NULL) {
  predict(tune_fit(object, method), new, ..., type = type)
}

# Counts of the scalar feature under the gap; class-wise a list of them.
tune_histogram <- function(problems, notion) {
  switch(notion,
    top_label = , binary = feature_histogram(problems[[1]]),
    class_wise = lapply(problems, feature_histogram)
  )
}
