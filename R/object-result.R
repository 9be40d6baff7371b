# Fields of groups of results, of summaries and of tables. Curves, decision curves, validations, tests and rankings are
# ordinary lists: whoever changes a field gets R's own error.

level_rule <- function(x, o) {
  first_fault(
    a_number(0, 1)(x, o), fault_if(x == 0 || x == 1, "a number strictly between 0 and 1", x)
  )
}

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
