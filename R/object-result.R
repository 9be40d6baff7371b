# Fields of what the other functions return: tables that are printed, drawn and written down.

keys_rule <- maybe(texts(unique = TRUE))

level_rule <- function(x, o) {
  first_fault(a_number(0, 1)(x, o), fault_if(x == 0 || x == 1, "a number strictly between 0 and 1", x))
}

event_labels_rule <- fields(label = maybe(a_text), hint = maybe(texts()))

# `tables`: names of tables with the columns of `keys`; each of their rows belongs to a row of the first, which has
# none twice.
keys_fault <- function(x, tables, keys = x$keys) {
  if (length(keys) == 0) return(NULL)
  of_keys <- of_type("any", keys)
  for (name in tables) {
    found <- columns_fault(x[[name]], of_keys)
    if (!is.null(found)) return(within_field(found, paste0("$", name)))
  }
  known <- x[[tables[1]]][keys]
  if (vctrs::vec_duplicate_any(known)) return(fault("a table with a row for each curve", known, paste0("$", tables[1])))
  for (name in tables[-1]) {
    given <- x[[name]][keys]
    same <- identical(vctrs::vec_ptype(given), vctrs::vec_ptype(known)) && all(vctrs::vec_in(given, known))
    if (!same) return(fault(paste0("a table of the rows of `", tables[1], "`"), given, paste0("$", name)))
  }
}

curve_limits <- c("conf.low", "conf.high", "band.low", "band.high", "null.low", "null.high", "null_band.low",
                  "null_band.high")

describe_object("ce_curve", fields(
  curve = a_table(of_type("numeric", "confidence", "observed", "n", "left", "right", curve_limits), least = 1),
  summary = a_table(of_type("numeric", "n", "event_rate", "mean_confidence", "outside", "bandwidth", "slope", "error"),
                    rejected = "logical", least = 1),
  histogram = a_table(of_type("finite", "left", "right", "n", "events"), least = 1),
  ends = a_table(of_type("finite", "from", "to"), rows = function(o) nrow(o$summary)),
  keys = keys_rule, counted = maybe(texts()), type = one_of(c("binned", "isotonic", "smooth", "quantile", "pit")),
  notion = whether(function(o) o$type %in% c("quantile", "pit"), no_field,
                   one_of(c("binary", "top_label", "class_wise"))),
  event = maybe(event_labels_rule),
  axis = whether(function(o) identical(o$notion, "binary"), a_text, maybe(a_text)),
  control = fields(level = level_rule, threads = a_count(1)),
  also = function(x) curve_fault(x)
))

curve_fault <- function(x) {
  counts <- c(x$histogram[["n"]], x$histogram[["events"]])
  bars <- x$control[["n_bins"]]
  first_fault(
    fault_if(any(counts < 0 | is.na(counts)), "with counts of at least 0", x$histogram, "$histogram"),
    fault_if(any(x$histogram$events > x$histogram$n * (1 + 1e-9)), "with at most `n` events", x$histogram,
             "$histogram"),
    fault_if(anyNA(x$summary$rejected), "TRUE or FALSE", NA, "$summary$rejected"),
    if (x$type == "binned") within_field(numbers(1)(bars, x), "$control$n_bins"),
    if (x$type == "binned") within_field(a_bins_type(x$control[["bins"]], x), "$control$bins"),
    if (length(x$keys) == 0) fault_if(nrow(x$summary) != 1, "a table of one row", x$summary, "$summary"),
    keys_fault(x, c("summary", "curve", "histogram", "ends")),
    fault_if(x$type == "pit" && !are_bars(x$curve, x$keys), "with bins beside each other", x$curve, "$curve")
  )
}

# Bars have a width, and stand around their middles in the order of the rows of each curve.
are_bars <- function(curve, keys) {
  same <- diff(vctrs::vec_group_id(curve[keys])) == 0
  before <- curve[["right"]][-nrow(curve)]
  isTRUE(all(curve$right > curve$left, abs(curve$left + curve$right - 2 * curve$confidence) < 1e-9,
             (curve$left[-1] > before - 1e-9)[same]))
}

a_bins_type <- one_of(c("width", "mass"))

decision_limits <- c("std.error", "conf.low", "conf.high", "band.low", "band.high")

describe_object("ce_decision", fields(
  curve = a_table(of_type("numeric", "threshold", "net_benefit", "treat_all", "loss", decision_limits, "recalibrated",
                          "changed"), least = 1),
  summary = a_table(of_type("numeric", "n", "event_rate", "area", "std.error", "conf.low", "conf.high", "loss"),
                    least = 1),
  keys = keys_rule, axis = a_text, level = level_rule, dropped = a_count(), design = maybe(texts()),
  event = maybe(event_labels_rule),
  differences = maybe(a_table(of_type("text", "a", "b"), of_type("numeric", "threshold", "difference",
                                                                 decision_limits))),
  recalibration = fields(label = a_text),
  also = function(x) {
    first_fault(
      if (length(x$keys) == 0) fault_if(nrow(x$summary) != 1, "a table of one row", x$summary, "$summary"),
      keys_fault(x, c("summary", "curve")),
      if (!is.null(x$differences)) {
        within_field(columns_fault(x$differences, of_type("any", setdiff(x$keys, "model"))), "$differences")
      }
    )
  }
))

# The rows behind the figure of a validation.
problem_rule <- fields(
  features = function(x, o) a_matrix(cols = 1, lower = 0, upper = 1)(x, o),
  labels = numbers(function(o) nrow(o$features), 0, 1, whole = TRUE),
  design = function(x, o) design_rule(nrow(o$features))(x, o)
)

design_rule <- function(rows) {
  fields(
    n = a_count(rows, rows), w = maybe(numbers(rows, lower = 0)),
    cluster = maybe(numbers(rows, 1, rows, whole = TRUE)),
    follow_up = maybe(fields(horizon = a_number(), events = a_count(), censored = a_count()))
  )
}

describe_object("ce_validation", fields(
  table = a_table(of_type("text", "level", "term"),
                  of_type("numeric", "estimate", "std.error", "conf.low", "conf.high", "p.value")),
  sample = a_table(of_type("numeric", "n", "events", "prevalence", "mean_prediction", "n_effective"), least = 1),
  keys = keys_rule,
  # not of states and tables of a database
  data = maybe(fields(read = fields(
    problems = each(problem_rule, least = 1),
    keys = each(a_table(rows = function(o) 1), function(o) length(o$problems))
  ), keys = a_table(rows = function(o) length(o$read$problems)))),
  notes = each(maybe(texts()), function(o) nrow(o$sample)), resolution = numbers(na = TRUE), design = maybe(texts()),
  horizon = maybe(a_number()), event = maybe(event_labels_rule), notion = result_notion, threads = a_count(1, 1e5),
  level = level_rule, dropped = a_count(), axis = a_text,
  also = function(x) {
    problems <- if (is.null(x$data)) nrow(x$sample) else length(x$data$read$problems)
    first_fault(
      fault_if(nrow(x$sample) != problems, paste("a table of", problems, "rows"), x$sample, "$sample"),
      if (!is.null(x$horizon)) within_field(columns_fault(x$sample, c(n_censored = "numeric")), "$sample"),
      keys_fault(x, c("sample", "table")),
      if (!is.null(x$data)) within_field(columns_fault(x$data$keys, of_type("any", x$keys)), "$data$keys")
    )
  }
))

# Numbers with names, as in print().
named_numbers <- function(size = NULL, least = 1) {
  force(list(size, least))
  function(x, o) {
    first_fault(numbers(size, na = TRUE, infinite = TRUE, least = least)(x, o),
                fault_if(is.null(names(x)), "with names", x))
  }
}

# Fields of a test of cumulated residuals, which has all of them.
of_walk <- function(rule) {
  whether(function(o) !all(vapply(o[c("cumulative", "place", "extremes", "walk")], is.null, NA)), rule)
}

describe_object("ce_test", fields(
  statistic = named_numbers(1), parameter = maybe(named_numbers()), p.value = a_number(0, 1, na = TRUE),
  estimate = named_numbers(1), null.value = maybe(named_numbers(1)), method = a_text, data.name = texts(),
  test = a_text, alternative = maybe(a_text), n = a_count(), null = maybe(numbers(na = TRUE, infinite = TRUE)),
  conf.int = maybe(numbers(2, na = TRUE, infinite = TRUE)), prediction = maybe(a_text), counted = maybe(texts()),
  std.error = maybe(numbers(1, na = TRUE)),
  details = maybe(fields(
    rank = maybe(a_count()),
    neglected = whether(function(o) !is.null(o$rank), numbers(1, na = TRUE), maybe(numbers(na = TRUE))),
    found = maybe(a_text),
    cumulative = of_walk(one_of(c("bridge", "kuiper", "ks"))),
    walk = of_walk(fields(place = numbers(least = 1), walk = numbers(function(o) length(o$place)),
                          time = numbers(function(o) length(o$place)), scale = numbers(1))),
    place = of_walk(function(x, o) {
      first_fault(numbers(least = 1)(x, o), fault_if(any(!x %in% c(0, o$walk$place)), "places of the walk", x))
    }),
    extremes = of_walk(fields(end = numbers(1), bridge = numbers(1)))
  )),
  kernel = maybe(described("ce_kernel")),
  target_kernel = whether(function(o) !is.null(o$kernel), described("ce_kernel"), maybe(described("ce_kernel"))),
  target_computation = whether(function(o) !is.null(o$kernel), a_text, maybe(a_text)),
  also = function(x) {
    level <- attr(x$conf.int, "conf.level")
    if (!is.null(level)) within_field(level_rule(level, x), "$conf.int")
  }
))

describe_object("ce_rank", fields(
  estimates = a_table(
    of_type("text", "metric", "model"), of_type("numeric", "estimate", "rank", "mean", "std.deviation", "low", "high",
                                                "best_share", "best_low", "best_high"), least = 1
  ),
  orders = a_table(of_type("text", "metric", "order"), of_type("numeric", "count", "share", "conf.low", "conf.high"),
                   full = "logical"),
  pairs = a_table(of_type("text", "metric", "model", "other"), of_type("numeric", "difference", "mean", "std.deviation",
                                                                       "share", "conf.low", "conf.high", "ties")),
  draws = a_table(metric = "text", model = "text", sample = "numeric", estimate = "numeric"),
  n = a_count(), n_sub = a_count(), times = a_count(), level = level_rule, counted = maybe(texts()), titles = texts(),
  core = each(fields(row = a_text, kernel = described("ce_kernel"), ridge = maybe(numbers()))),
  n_classes = maybe(a_count()),
  also = function(x) {
    metrics <- unique(as.character(x$estimates$metric))
    full <- as.character(x$orders$metric[x$orders$full %in% TRUE])
    pairs <- paste(x$draws$metric, x$draws$sample, x$draws$model)
    first_fault(
      fault_if(anyNA(metrics), "the name of a metric", NA, "$estimates$metric"),
      fault_if(!setequal(full, metrics) || anyDuplicated(full) > 0, "TRUE for one order of each metric",
               x$orders$full, "$orders$full"),
      fault_if(anyNA(x$orders$full), "TRUE or FALSE", NA, "$orders$full"),
      fault_if(anyDuplicated(pairs) > 0 || !setequal(x$draws$metric, metrics),
               "an estimate of each model and subsample", x$draws, "$draws")
    )
  }
))

# Results that groups have, and that a summary is of.
group_results <- c("ce_fit", "ce_tune", "ce_recalibration", "ce_test", "ce_curve", "ce_summary")
summarised <- c("ce_fit", "ce_curve", "ce_recalibration", "ce_test", "ce_rank", "ce_decision", "ce_tune")

result_of <- function(classes) {
  force(classes)
  function(x, o) if (inherits(x, classes)) object_fault(x) else fault("a result of this package", x)
}

describe_object("ce_grouped", fields(
  keys = a_table(), results = each(result_of(group_results)),
  missing = maybe(fields(
    keys = a_table(), errors = each(function(x, o) if (!rlang::is_error(x)) fault("an error", x),
                                    function(o) .row_names_info(o$keys, 2L)),
    at = numbers(function(o) length(o$errors), lower = 1, whole = TRUE)
  )),
  also = function(x) {
    n <- .row_names_info(x$keys, 2L)
    if (length(x$results) != n) return(fault(paste("a result for each of the", n, "groups"), x$results, "$results"))
    kinds <- unique(lapply(x$results, class))
    first_fault(
      fault_if(length(kinds) > 1, "results of one class", x$results, "$results"),
      if (!is.null(x$missing)) missing_groups_fault(x, n)
    )
  }
))

# Groups without a result: those at these places of all groups.
missing_groups_fault <- function(x, n) {
  at <- x$missing$at
  first_fault(
    fault_if(anyDuplicated(at) > 0 || any(at > n + length(at)), paste("different places among", n + length(at)), at,
             "$missing$at"),
    fault_if(!identical(vctrs::vec_ptype(x$missing$keys), vctrs::vec_ptype(x$keys)), "a table like `keys`",
             x$missing$keys, "$missing$keys")
  )
}

describe_object("ce_summary", fields(tables = each(a_table()), object = result_of(summarised)))

# Tables may lose rows and columns as any data frame; those that are left are columns of one length.
result_table <- function(numeric = character(), text = character(), ...) {
  a_table(optional = c(stats::setNames(rep("numeric", length(numeric)), numeric),
                       stats::setNames(rep("label", length(text)), text), ...))
}

interval_columns <- c("std.error", "conf.low", "conf.high", "p.value", "n")
describe_object("ce_estimate", result_table(
  c("estimate", "lower_bound", "upper_bound", "resolution", interval_columns), c("notion", "method")
))
describe_object("ce_hierarchy", result_table(
  c("value", "std.error", "conf.low", "conf.high", "slack", "p", "n_classes", "n_distinct", "n"),
  c("quantity", "below"), holds = "logical"
))
describe_object("ce_gain", result_table(c("before", "after", "gain", interval_columns), c("score", "scale")))
describe_object("ce_power", result_table(c("target", "n", "events"), c("criterion", "quantity")))
describe_object("ce_differences", result_table(c("difference", interval_columns)))
describe_object("ce_table", result_table())
describe_object("ce_result", result_table())

describe_object("ce_metrics", result_table(c(".estimate", interval_columns), ".metric"))

describe_object("ce_terms", function(x, o) {
  found <- result_table(c(".estimate", interval_columns), ".metric")(x, o)
  if (is.null(found)) within_field(each(maybe(a_table()))(.subset2(x, "groups") %||% list(), x), "$groups") else found
})
