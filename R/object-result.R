# Fields of what the other functions return: tables that are printed, drawn and written down.

keys_rule <- maybe(texts())

describe_object("ce_curve", fields(
  curve = a_table(optional = c(
    confidence = "numeric", observed = "numeric", n = "numeric", left = "numeric", right = "numeric",
    conf.low = "numeric", conf.high = "numeric", band.low = "numeric", band.high = "numeric"
  )),
  summary = a_table(n = "numeric", optional = c(
    event_rate = "numeric", mean_confidence = "numeric", outside = "numeric", rejected = "logical",
    bandwidth = "numeric", slope = "numeric", error = "numeric"
  )),
  histogram = maybe(a_table(left = "numeric", right = "numeric", n = "numeric", optional = c(events = "numeric"))),
  keys = keys_rule, type = a_text, notion = maybe(a_text), axis = maybe(a_text), control = each(any_field),
  also = function(x) {
    counts <- c(x$histogram[["n"]], x$histogram[["events"]])
    if (any(counts < 0 | is.na(counts))) return(fault("with counts of at least 0", x$histogram, "$histogram"))
    shown <- c(
      switch(x$type, pit = c("left", "right"), quantile = character(), c("confidence", "observed")), "conf.low",
      "conf.high", "band.low", "band.high"
    )
    absent <- setdiff(shown, names(x$curve))
    if (length(absent) > 0) return(fault(paste("a table with the column", absent[1]), x$curve, "$curve"))
    if (!x$type %in% c("pit", "quantile") && is.null(x$notion)) return(fault("a text", NULL, "$notion"))
    for (name in c("curve", "summary", "histogram")) {
      if (is.null(x[[name]])) next
      found <- columns_fault(x[[name]], stats::setNames(rep("any", length(x$keys)), x$keys))
      if (!is.null(found)) return(within_field(found, paste0("$", name)))
    }
  }
))

describe_object("ce_decision", fields(
  curve = a_table(threshold = "numeric", net_benefit = "numeric", treat_all = "numeric", loss = "numeric",
                  std.error = "numeric", conf.low = "numeric", conf.high = "numeric"),
  summary = a_table(n = "numeric", event_rate = "numeric", loss = "numeric"), keys = keys_rule, axis = a_text,
  level = a_number(0, 1), dropped = a_count(), differences = maybe(a_table()),
  recalibration = fields(label = a_text)
))

describe_object("ce_validation", fields(
  table = a_table(level = "text", term = "text", estimate = "numeric", std.error = "numeric", conf.low = "numeric",
                  conf.high = "numeric", p.value = "numeric"),
  sample = a_table(n = "numeric", events = "numeric", prevalence = "numeric"), keys = keys_rule,
  data = fields(keys = a_table(), read = fields(problems = each(any_field, least = 1))),
  notes = each(maybe(texts())), resolution = numbers(na = TRUE), design = maybe(texts()), horizon = maybe(numbers(1)),
  event = maybe(fields(label = maybe(texts()), hint = maybe(texts()))), notion = result_notion,
  threads = a_count(1, 1e5), level = a_number(0, 1), dropped = a_count(), axis = a_text
))

describe_object("ce_test", fields(
  statistic = function(x, o) {
    first_fault(numbers(na = TRUE, infinite = TRUE, least = 1)(x, o), fault_if(is.null(names(x)), "with names", x))
  },
  parameter = maybe(numbers(na = TRUE, infinite = TRUE)), p.value = a_number(0, 1, na = TRUE),
  estimate = numbers(na = TRUE, infinite = TRUE, least = 1), method = a_text, data.name = texts(), test = a_text,
  alternative = maybe(a_text),
  n = a_count(), null = maybe(numbers(na = TRUE, infinite = TRUE)),
  conf.int = maybe(numbers(2, na = TRUE, infinite = TRUE)), prediction = maybe(a_text),
  target_form = maybe(a_text), std.error = maybe(numbers(1, na = TRUE)),
  details = maybe(fields(
    neglected = maybe(numbers(na = TRUE)), cumulative = maybe(a_text), place = maybe(numbers(least = 1)),
    extremes = maybe(fields(end = numbers(1), bridge = numbers(1))),
    walk = maybe(fields(place = numbers(least = 1), walk = numbers(least = 1), time = numbers(least = 1),
                        scale = numbers(1)))
  )), kernel = maybe(described("ce_kernel")),
  target_kernel = maybe(described("ce_kernel"))
))

describe_object("ce_rank", fields(
  estimates = a_table(metric = "text", model = "text", estimate = "numeric", rank = "numeric"),
  orders = a_table(metric = "text", order = "text", share = "numeric"),
  pairs = a_table(metric = "text", model = "text", other = "text", difference = "numeric"),
  draws = a_table(trial = "numeric", metric = "text", model = "text", estimate = "numeric"),
  n = a_count(), n_sub = a_count(), trials = a_count(), level = a_number(0, 1),
  choices = fields(kernel = maybe(described("ce_kernel")), built_in = maybe(texts()))
))

describe_object("ce_grouped", fields(
  keys = a_table(), results = each(function(x, o) object_fault(x)),
  also = function(x) {
    n <- .row_names_info(x$keys, 2L)
    if (length(x$results) != n) fault(paste("a result for each of the", n, "groups"), x$results, "$results")
  }
))

describe_object("ce_summary", fields(
  tables = each(a_table()), object = function(x, o) object_fault(x)
))

# Tables may lose rows and columns as any data frame; those that are left are columns of one length.
result_table <- function(numeric = character(), text = character(), ...) {
  a_table(optional = c(stats::setNames(rep("numeric", length(numeric)), numeric),
                       stats::setNames(rep("text", length(text)), text), ...))
}

interval_columns <- c("std.error", "conf.low", "conf.high", "p.value", "n")
describe_object("ce_estimate", result_table(
  c("estimate", "lower_bound", "resolution", interval_columns), c("notion", "method")
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
