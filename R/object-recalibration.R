# Fields of recalibration maps and of what ce_recalibrate() returns.

describe_object("ce_map_temperature", fields(b = a_number(0)))
describe_object("ce_map_ets", fields(b = a_number(0), w = numbers(3, 0, 1 + 1e-9)))
describe_object("ce_map_linear", fields(
  w = a_matrix(function(o) length(o$b), function(o) length(o$b)), b = numbers(least = 2)
))
describe_object("ce_map_logit", fields(a = a_number(), b = a_number(), c = a_number()))
describe_object("ce_map_isotonic", fields(
  x = numbers(least = 1), value = numbers(function(o) length(o$x), 0, 1),
  also = function(x) {
    if (is.unsorted(x$x, strictly = TRUE)) return(fault("in increasing order", x$x, "$x"))
    if (is.unsorted(x$value)) fault("in increasing order", x$value, "$value")
  }
))
describe_object("ce_map_histogram", fields(
  edges = numbers(sorted = TRUE), value = numbers(function(o) length(o$edges) + 1, 0, 1)
))
describe_object("ce_map_identity", fields())
describe_object("ce_map_spline", fields(
  knots = numbers(sorted = TRUE, least = 3), theta = numbers(function(o) length(o$knots))
))
describe_object("ce_map_one_vs_rest", fields(maps = function(x, o) {
  each(function(map, o) {
    if (has_method("map_scalar", map)) object_fault(map) else fault("a map of one probability", map)
  }, least = 1)(x, o)
}))
describe_object("ce_map_network", fields(
  hidden = function(x, o) numbers(lower = 1, upper = most_parameters, whole = TRUE, least = 1)(x, o),
  parameters = function(x, o) numbers(network_size(o$hidden))(x, o),
  range = numbers(2, sorted = TRUE)
))
describe_object("ce_map_label", fields(images = function(x, o) {
  found <- a_matrix(nrow(x), nrow(x), 0, 1)(x, o)
  if (is.null(found) && nrow(x) < 2) fault("a matrix of the classes", x) else found
}))
describe_object("ce_map_variance", fields(w = a_number(0), b = a_number(0)))
describe_object("ce_map_density", fields(temperature = a_number(0), w = a_number(), b = a_number(), family = a_text))

# Classes that a map takes; NULL where any number of them will do.
map_inputs <- function(map) {
  switch(sub("^ce_map_", "", class(map)[1]),
    linear = length(map$b), label = nrow(map$images), one_vs_rest = max(length(map$maps), 2L)
  )
}

layout_rule <- fields(
  frame = a_flag,
  # of classes
  order = maybe(numbers(lower = 1, whole = TRUE)), levels = maybe(texts(unique = TRUE, least = 2)),
  event = maybe(a_count(1)), logits = maybe(a_flag), floor = maybe(a_number(1e-300, 0.1)),
  # of distributions
  type = maybe(one_of(c("law", "matrix"))), columns = maybe(texts()), roles = maybe(texts())
)

terms_columns <- c(term = "text", class = "text", estimate = "numeric", std.error = "numeric")

describe_object("ce_recalibration", once(fields(
  method = a_text, choice = described("ce_choice"), loss = one_of(c("log", "brier", "dss")),
  kind = one_of(c("scalar", "matrix", "distribution")),
  layout = layout_rule, map = described("ce_map"), terms = a_table(terms_columns),
  tests = maybe(a_table(model = "text", class = "text", log_likelihood = "numeric", p.value = "numeric",
                        chosen = "logical")),
  convergence = fields(converged = a_flag, iterations = numbers(1, na = TRUE), message = a_text),
  injective = fields(value = a_flag, reason = a_text), counted = maybe(texts()),
  objective = function(x, o) {
    found <- numbers(2, infinite = TRUE)(x, o)
    if (is.null(found) && !identical(names(x), c("before", "after"))) fault("named `before` and `after`", x) else found
  },
  objective_crossfit = maybe(numbers(1, infinite = TRUE)),
  n = a_count(1), n_classes = a_count(na = TRUE), fingerprint = numbers(infinite = TRUE),
  rows = numbers(lower = 1, whole = TRUE), n_rows = a_count(), fitted = any_field,
  fold = maybe(numbers(lower = 1, whole = TRUE, least = 1)),
  also = function(x) recalibration_fault(x)
)))

recalibration_fault <- function(x) {
  laws <- inherits(x$map, c("ce_map_variance", "ce_map_density"))
  first_fault(
    fault_if(x$method != x$choice$name, dQuote(x$choice$name, FALSE), x$method, "$method"),
    fault_if(laws != (x$kind == "distribution"), if (laws) "that of a map of distributions" else "that of classes",
             x$kind, "$kind"),
    fault_if(is.null(x[["fold"]]) != is.null(x[["fold_terms"]]), "the fold of each row", x[["fold"]], "$fold"),
    if (laws) distributions_fault(x$layout, inherits(x$map, "ce_map_density")),
    if (!laws) classes_fault(x, x$layout, x$n_classes)
  )
}

# A map of distributions: how they were given, in a frame in one column or in two of their moments.
distributions_fault <- function(layout, density) {
  type <- layout$type
  columns <- if (identical(type, "matrix")) 2 else 1
  roles <- list(c("mean", "sd"), c("mean", "variance"))
  first_fault(
    fault_if(is.null(type), "given", NULL, "$layout$type"),
    fault_if(density && type != "law", dQuote("law", FALSE), type, "$layout$type"),
    fault_if(type == "matrix" && !list(sort(layout$roles)) %in% roles, "`mean`, and `variance` or `sd`", layout$roles,
             "$layout$roles"),
    fault_if(!length(layout$columns) %in% c(columns, if (!layout$frame) 0), paste("the names of", columns, "columns"),
             layout$columns, "$layout$columns")
  )
}

# A map of k classes.
classes_fault <- function(x, layout, k) {
  absent <- Filter(function(name) is.null(layout[[name]]), c("levels", "event", "logits", "floor"))
  scalar <- x$kind == "scalar"
  columns <- if (scalar) 1 else k
  maps <- map_inputs(x$map)
  first_fault(
    fault_if(length(absent) > 0, "given", NULL, paste0("$layout$", absent[1])),
    fault_if(is.na(k) || length(layout$levels) != k, paste(k, "classes"), layout$levels, "$layout$levels"),
    fault_if(layout$event > k, paste("at most", k), layout$event, "$layout$event"),
    fault_if(scalar && k != 2, "2", k, "$n_classes"),
    fault_if(scalar && !is.null(layout$order), "missing", layout$order, "$layout$order"),
    fault_if(!scalar && !identical(sort(as.numeric(layout$order)), as.numeric(seq_len(k))),
             paste("the numbers 1 to", k), layout$order, "$layout$order"),
    fault_if(!length(layout$columns) %in% c(columns, if (!layout$frame) 0), paste("the names of", columns, "columns"),
             layout$columns, "$layout$columns"),
    fault_if(!is.null(maps) && maps != k, paste("of", k, "classes"), x$map, "$map")
  )
}

has_method <- function(generic, x) {
  any(vapply(class(x), function(class) !is.null(utils::getS3method(generic, class, optional = TRUE)), NA))
}
