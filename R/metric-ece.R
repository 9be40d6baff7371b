# The numbers of ece(): its bins, the errors of a problem and their intervals.

# An option of other bins would be ignored.
check_bin_options <- function(scheme, preset, given) {
  if (length(given) == 0) return(invisible())
  owners <- list(n_bins = c("width", "mass"), min_size = "median_variance")
  for (arg in given[given %in% names(owners)]) {
    if (scheme$type %in% owners[[arg]]) next
    kinds <- paste0("type = \"", owners[[arg]], "\"")
    stop_input("{.arg {arg}} is not an option of {.code type = \"{scheme$type}\"}.",
               "i" = "It is an option of {.or {.code {kinds}}}.", arg = arg)
  }
  refused <- if (!is.null(preset)) intersect(c("distance", "breaks"), given)
  stop_if(length(refused) > 0, "{.arg {refused[1]}} is not an option of a {.arg preset}.",
          "x" = "The preset is {.val {preset}}.", arg = refused[1])
  stop_if("breaks" %in% given && identical(scheme$notion, "canonical"),
          "Whole probability vectors have no bins between {.arg breaks}.", arg = "breaks")
}

# A scheme has everything about an estimate except the data:
#   notion, type, n_bins, p, debias, preset
#   ends(sorted, n_bins)            -> bin ends
#   default(predictions)            -> the notion, if it is NULL
#   problems(predictions, notion)   -> scalar problems
#   average                         whether the mean over classes is taken, or the sum
#   own                             whether a state's bins are those of its panel
#   breaks                          inner edges of bins of the type "breaks"
plain_scheme <- function(n_bins, type, p, debias, notion, min_size = 10) {
  check_bins(n_bins, size = NULL)
  check_count(min_size, "min_size")
  if (!identical(p, Inf)) check_exponent(p)
  check_flag(debias)
  stop_if(debias && p != 2, "{.code debias = TRUE} needs {.code p = 2}.", "x" = "{.arg p} is {.val {p}}.",
          arg = "debias")
  stop_if(identical(notion, "canonical") && type %in% c("mass", "sweep"),
          "Whole probability vectors have no order, hence no {.val {type}} bins.",
          "i" = "Use {.code type = \"discrete\"}, {.code \"median_variance\"} or {.code \"width\"} (a product grid).",
          arg = "type")
  stop_if(!identical(notion, "canonical") && type == "median_variance",
          "{.code type = \"median_variance\"} bins whole probability vectors.",
          "x" = if (!is.null(notion)) "{.arg notion} is {.val {notion}}.",
          "i" = "Use {.code notion = \"canonical\"}, or {.code type = \"mass\"}.", arg = "type")
  if (type %in% c("sweep", "discrete", "median_variance")) n_bins <- NA_integer_
  list(
    notion = notion, type = type, n_bins = n_bins, p = p, debias = debias, min_size = min_size,
    preset = NULL, average = TRUE,
    ends = function(sorted, n_bins) bin_ends(sorted, type, n_bins),
    default = default_notion,
    problems = notion_problems
  )
}

# The scheme with bins that end at `upper`.
scheme_of_breaks <- function(scheme, upper) {
  scheme$n_bins <- length(upper)
  scheme$ends <- function(sorted, n_bins) edge_ends(sorted, upper)
  scheme
}

# Inner edges of bins of equal width, as metric_frame() takes them; none where a state's own bins are used.
scheme_edges <- function(scheme) {
  if (scheme$type == "breaks") return(setNames(scheme$breaks, rep("breaks", length(scheme$breaks))))
  if (scheme$type != "width" || !is.null(scheme$preset)) return(NULL)
  if (scheme$own) return(numeric())
  edges <- as.numeric(unlist(lapply(scheme$n_bins, function(b) seq_len(b - 1) / b)))
  setNames(edges, rep("n_bins", length(edges)))
}

ece_columns <- function(predictions, scheme, interval) {
  if (scheme$notion == "canonical") return(canonical_columns(predictions, scheme, interval))
  if (scheme$own && !is.null(predictions$bins)) scheme <- scheme_of_breaks(scheme, predictions$bins[-1])
  problems <- function() scheme$problems(predictions, scheme$notion)
  # the mean over the classes, in one pass for each and each number of bins
  counted <- scheme$notion == "class_wise" && length(scheme$n_bins) <= 8 && is.finite(scheme$p) && !scheme$debias &&
    is_counted(predictions, scheme)
  value <- if (counted) class_ece(predictions, scheme) else scalar_ece(problems(), scheme)
  columns <- error_columns(value$estimates, interval, problems(), function(part) {
    vapply(scalar_ece(part, scheme, honest = FALSE)$estimates, `[[`, 0, "value")
  })
  c(columns, list(n_bins = value$n_bins, n = n_obs(predictions)))
}

# An estimate per entry of n_bins; p-th powers are averaged over problems (the largest taken where p = Inf).
scalar_ece <- function(problems, scheme, honest = TRUE) {
  parts <- lapply(problems, problem_ece, scheme, honest)
  counts <- scheme$n_bins
  estimates <- if (length(parts) == 1) parts[[1]] else lapply(seq_along(counts), function(b) {
    here <- lapply(parts, `[[`, b)
    if (is.infinite(scheme$p)) return(here[[which.max(vapply(here, `[[`, 0, "value"))]])
    if (scheme$average) class_mean(here) else combine_estimates(here)
  })
  if (all(is.na(counts))) counts <- as.numeric(max(vapply(parts, function(part) part[[1]]$n_bins, 0L)))
  list(estimates = estimates, n_bins = counts)
}

# The estimate of each number of bins, with the number that there are.
problem_ece <- function(problem, scheme, honest) {
  counted <- is_counted(problem, scheme)
  if (honest && !counted) problem <- fold_copies(problem)
  fold <- if (honest) problem_folds(problem)
  lapply((if (counted) errors_of_counts else errors_of_sorted)(problem, scheme, fold), function(of) {
    bound <- of[["bound"]]
    honest <- if (!is.null(bound)) {
      new_estimate(bound$mean, of$bound_rows, problem$design, squares = bound$squares, known = bound$known)
    }
    value <- of$value
    estimate <- new_estimate(value$power, of$rows, problem$design, reported_power(scheme$p), honest, value$noise,
                             value$squares, size = of$size, largest = 1, pairs = value$pairs, lone = value$lone)
    c(estimate, list(n_bins = of$n_bins))
  })
}

# Whether the sums of bins can do without a sort.
is_counted <- function(problem, scheme) {
  scheme$type == "width" && is.null(scheme$preset) && sum(as.numeric(scheme$n_bins)) <= many_bins &&
    is_plain(problem$design) && is.null(problem$sorted)
}

class_ece <- function(predictions, scheme) {
  probs <- simplex_probs(predictions)
  truth <- simplex_truth(predictions)
  design <- predictions$design
  fold <- design_folds(probs, truth, design)
  parts <- lapply(scheme$n_bins, function(n_bins) {
    mean <- cpp_class_widths(probs, truth, fold, n_bins, crossfit_folds, scheme$p)
    # for `known` and `largest` see combine_estimates()
    honest <- new_estimate(mean$bound, mean$bound_rows, design, known = 2 * mean$known)
    new_estimate(mean$power, mean$rows, design, scheme$p, honest, mean$noise, largest = min(1, 2 / ncol(probs)))
  })
  list(estimates = parts, n_bins = scheme$n_bins)
}

# The error and its bound for each number of bins, and the influences of the rows when they are asked for; without
# folds there is no bound. Here from one pass over the rows as they are.
errors_of_counts <- function(problem, scheme, fold) {
  counts <- scheme$n_bins
  cells <- cpp_width_cells(problem$features, problem$labels, fold %||% integer(), counts, crossfit_folds, scheme$p)
  Map(function(cell, n_bins) {
    bins <- cell$bins
    value <- binned_power(bins, scheme$p, scheme$debias)
    terms <- function(slope, offset, fold = integer()) {
      cpp_interval_terms(problem$features, problem$residuals, seq_len(n_bins - 1) / n_bins, fold, slope, offset)
    }
    # rows are looked at where they are asked for: a copy of a column takes as long as the sums
    list(value = value, size = if (is.infinite(scheme$p)) bins$size[which.max(abs(bins$gap))],
         rows = function() terms(value$slope, value$offset), bound = cell$bound,
         bound_rows = function() terms(cell$bound$slope, -cell$bound$offset, fold), n_bins = length(bins$size))
  }, cells, counts)
}

# More bins than this are treated in blocks.
many_bins <- 20000L

errors_of_sorted <- function(problem, scheme, fold) {
  sorted <- sort_problem(problem)
  ends <- lapply(scheme$n_bins, function(n_bins) {
    ends <- scheme$ends(sorted, n_bins)
    unique(ends[ends > 0])
  })
  many <- lengths(ends) > many_bins & is.finite(scheme$p)
  out <- replace(ends, many, lapply(ends[many], function(of) errors_of_blocks(sorted, of, scheme, fold)))
  replace(out, !many, errors_of_bins(sorted, ends[!many], scheme, fold))
}

errors_of_bins <- function(sorted, ends, scheme, fold) {
  tables <- lapply(ends, function(of) cpp_bin_table(sorted, of))
  bounds <- if (is.null(fold)) vector("list", length(tables)) else cpp_sorted_bounds(sorted, fold, tables, scheme$p)
  Map(function(bins, bound) {
    value <- binned_power(bins, scheme$p, scheme$debias)
    list(value = value, size = if (is.infinite(scheme$p)) bins$copies[which.max(abs(bins$gap))],
         rows = function() row_influence(sorted, bins, value$slope, value$offset), bound = bound,
         bound_rows = function() row_influence(sorted, bins, bound$slope, -bound$offset, fold),
         n_bins = length(bins$ends))
  }, tables, bounds)
}

errors_of_blocks <- function(sorted, ends, scheme, fold, at_once = many_bins) {
  whole <- function() errors_of_bins(sorted, list(ends), scheme, fold)[[1]]
  list(value = cpp_blocks_power(sorted, ends, scheme$p, scheme$debias, at_once), rows = function() whole()$rows(),
       bound = if (!is.null(fold)) {
         bound <- cpp_crossfit_bound(sorted$d, sorted$w %||% numeric(), fold, sorted$order, ends, scheme$p)
         replace(bound, "known", bound$known / if (is.null(sorted$w)) sorted$n else sorted$n^2 / sum(sorted$w2))
       },
       bound_rows = function() whole()$bound_rows(), n_bins = length(ends))
}

# With p = Inf the error is the largest gap itself, not a root.
reported_power <- function(p) if (is.infinite(p)) 1 else p
