# Fields of the values that hold choices: kernels, methods, bases, maps, tests, curves, scores, metrics, horizons,
# sources, families and planned studies. An object of a constructor is made again from its fields.

kernel_leaves <- c("gaussian", "laplace", "tv", "matern", "linear", "white", "wasserstein", "hellinger", "mmd",
                   "embedding")

# Sums of sums of ... are no deeper than this: the C stack of R ends at some 200.
most_nested <- 100

kernel_fault <- function(x, depth = 0) {
  if (!inherits(x, "ce_kernel") || !is.list(x)) return(fault("a <ce_kernel>", x))
  found <- kernel_head(x, NULL)
  if (!is.null(found)) return(found)
  # columns of the features are of the computation
  x$columns <- NULL
  type <- .subset2(x, "type")
  if (type == "function") return(fault_if(!setequal(names(x), c("type", "scale")), "a list of `type` and `scale`", x))
  if (!type %in% c("sum", "product")) return(remade_kernel(x, type))
  # as few frames as can be, since parts are nested
  found <- parts_fault(x, depth)
  if (is.null(found) && depth == 0) remade(check_kernel_scale)(x, NULL) else found
}

kernel_head <- fields(
  # what a user's function is called in results
  type = one_of(c(kernel_leaves, "sum", "product", "function")),
  scale = function(x, o) a_number(kernel_scales[1], kernel_scales[2])(x, o),
  # the first column of the features that it reads, and how many (R/ckce-engine.R)
  columns = maybe(numbers(2, 0, 1e9, whole = TRUE))
)

parts_fault <- function(x, depth) {
  parts <- .subset2(x, "parts")
  if (depth >= most_nested || !is.list(parts) || length(parts) == 0) {
    return(fault(paste("a list of kernels, nested up to", most_nested, "times"), parts, "$parts"))
  }
  for (i in seq_along(parts)) {
    found <- kernel_fault(.subset2(parts, i), depth + 1)
    if (!is.null(found)) return(within_field(found, paste0("$parts[[", i, "]]")))
  }
  fault_if(!setequal(names(x), c("type", "parts", "scale")), "a list of `type`, `parts` and `scale`", x)
}

remade_kernel <- function(x, type) {
  make <- choice_constructor("kernel", type)
  remade(function(x) {
    made <- do.call(make, unclass(x)[intersect(names(formals(make)), names(x))], quote = TRUE)
    made$scale <- x$scale
    made
  })(x, NULL)
}

describe_object("ce_kernel", once(function(x, o) kernel_fault(x)))

# Methods of the package are made again; those of others have a name, a parameter and its values.
describe_object("ce_method", once(function(x, o) {
  if (!is.list(x)) return(fault("a list", x))
  own <- sub("^ce_method_", "", class(x)[1])
  make <- if (paste0("method_", own) %in% getNamespaceExports(topenv())) choice_constructor("method", own)
  if (is.null(make)) return(method_rule(x, o))
  parameter <- make_default(make)$parameter
  remade(function(x) {
    given <- unclass(x)[setdiff(names(x), c("name", "parameter", "values"))]
    if (!is.null(parameter)) given[parameter] <- list(x$values)
    do.call(make, given[intersect(names(given), names(formals(make)))], quote = TRUE)
  })(x, o)
}))

# A function takes the place of the argument of method_function().
make_default <- function(make) if ("f" %in% names(formals(make))) make(function(x, y) 0) else make()

method_rule <- fields(
  name = a_text, parameter = maybe(a_text), values = maybe(function(x, o) {
    if (!all(is.na(x))) numbers()(x, o)
  })
)

describe_object("ce_basis", fields(
  label = a_text,
  spec = fields(
    recipe = one_of(c("hats", "kernel")),
    own = whether(function(o) o$recipe == "hats", a_count(2, 65535)),
    landmarks = whether(function(o) o$recipe == "kernel", a_count(1, 65535))
  )
))

describe_object("ce_choice", once(function(x, o) {
  found <- fields(kind = a_text, name = a_text)(x, o)
  if (!is.null(found)) return(found)
  kind <- .subset2(x, "kind")
  name <- .subset2(x, "name")
  found <- fault_if(class(x)[1] != paste0(kind, "_", name), paste0("that of a <", class(x)[1], ">"), name, "$name")
  # the choices of others are theirs
  own <- class(x)[1] %in% getNamespaceExports(topenv())
  if (!is.null(found) || !own) return(found)
  remade(function(x) {
    options <- choice_options(x)
    make <- choice_constructor(kind, name)
    out <- do.call(make, options[intersect(names(options), names(formals(make)))], quote = TRUE)
    if (is_choice(out, kind)) out else new_choice(kind, name)
  })(x, o)
}))

# Scores are those of the package: other functions, and another smallest value, are of none.
a_limit <- function(x, o) if (!identical(x, -Inf)) a_number()(x, o)

describe_object("ce_score_rule", once(fields(
  name = function(x, o) one_of(names(score_makers))(x, o), kind = one_of(c("class", "real")), value = a_function,
  entropy = a_function, divergence = a_function, infimum = a_limit,
  smallest = a_limit,
  scalar = a_number(0, 1e6), real = maybe(a_function),
  also = function(x) {
    own <- unclass(score_makers[[x$name]]())
    # the least variance is the user's
    kept <- setdiff(names(own), if (identical(x$name, "dss")) "infimum")
    other <- Filter(function(name) !same_choice(.subset2(x, name), own[[name]]), kept)[1]
    fault_if(!is.na(other), paste0("that of the score \"", x$name, "\""), .subset2(x, other), paste0("$", other))
  }
)))

describe_object("ce_metric_value", fields(
  fn = a_function, name = maybe(a_text),
  options = function(x, o) {
    named <- is.list(x) && (length(x) == 0 || rlang::is_named(x) && !anyDuplicated(names(x)))
    if (!named) fault("a list of options with different names", x)
  },
  also = function(x) within_field(object_fault(x$options$score), "$options$score")
))

a_quosure <- function(x, o) {
  whole <- rlang::is_quosure(x) && is.call(x) && length(x) == 2 && is.environment(attr(x, ".Environment"))
  if (!whole) fault("an expression of rows", x)
}

describe_object("ce_horizon", fields(
  time = a_number(1e-300), strata = a_quosure,
  censoring = maybe(fields(
    time = numbers(), count = numbers(function(o) length(o$time), lower = 0),
    event = function(x, o) {
      if (!is.logical(x) || anyNA(x) || length(x) != length(o$time)) fault("TRUE or FALSE for each time", x)
    },
    strata = maybe(texts(function(o) length(o$time), na = TRUE))
  ))
))

describe_object("ce_source", fields(open = a_function, label = a_text))

describe_object("ce_assumption", fields(
  p = numbers(lower = 0, upper = 1, least = 1),
  share = numbers(function(o) length(o$p), lower = 0, upper = 1),
  eta = numbers(function(o) length(o$p), lower = 0, upper = 1),
  logit = numbers(function(o) length(o$p), -1e8, 1e8), reach = a_number(0, 1e8), label = a_text,
  intercept = whether(function(o) o$reach > 0, a_number(), maybe(a_number())),
  slope = whether(function(o) o$reach > 0, a_number(), maybe(a_number())),
  event = maybe(fields(label = maybe(a_text), hint = maybe(texts()))),
  also = function(x) {
    if (abs(sum(x$share) - 1) > 1e-6) return(fault("shares that sum to 1", sum(x$share), "$share"))
    if (is.unsorted(x$p)) fault("in increasing order", x$p, "$p")
  }
))

describe_object("ce_family", fields(
  name = a_text, ranges = maybe(each(numbers(2, infinite = TRUE))),
  support = maybe(one_of(c("real", "positive", "unit", "count"))),
  cdf = maybe(a_function), quantile = maybe(a_function),
  moments = maybe(a_function), draw = maybe(a_function), density = maybe(a_function), crps = maybe(a_function),
  features = maybe(a_function), closed_forms = maybe(each(a_function))
))

describe_object("ce_distribution", function(x, o) {
  values <- unclass(x)
  family <- attr(x, "family")
  record <- attr(x, "record")
  first_fault(
    within_field(a_text(family, o), "$family"), within_field(a_count(1)(attr(x, "dimension"), o), "$dimension"),
    if (!is.null(record)) within_field(described("ce_family")(record, o), "$record"),
    fault_if(is.null(record) && is.null(families[[family]]), "a family of the package", family, "$family"),
    fault_if(!is.list(values) || length(values) == 0, "a list of parameters", values),
    parameters_fault(values, (record %||% families[[family]])$ranges),
    if (is.null(record) && family != "quantiles") columns_of_one(values, names(families[[family]]$ranges)),
    switch(family, quantiles = quantiles_fault(values), draws = draws_fault(values$draws, attr(x, "dimension")))
  )
})

parameters_fault <- function(values, ranges) {
  missing <- setdiff(names(ranges), names(values))
  if (length(missing) > 0) return(fault("numbers", NULL, paste0("$", missing[1])))
  n <- NROW(values[[1]])
  for (name in names(values)) {
    value <- values[[name]]
    range <- ranges[[name]] %||% c(-Inf, Inf)
    found <- first_fault(
      numbers(lower = range[1], upper = range[2], na = TRUE)(if (is.matrix(value)) c(value) else value, NULL),
      fault_if(!is.double(value) || NROW(value) != n, paste(n, "rows of numbers"), value)
    )
    if (!is.null(found)) return(within_field(found, paste0("$", name)))
  }
  # a missing prediction has no parameter
  if (!anyNA(values, recursive = TRUE)) return(NULL)
  missing <- do.call(cbind, lapply(unname(values), is.na))
  fault_if(any(rowSums(missing) %% ncol(missing) != 0), "whole, or missing in all parameters of a row", NA,
           paste0("$", names(values)[1]))
}

# Parameters with a range are single numbers.
columns_of_one <- function(values, names) {
  wide <- Filter(function(name) NCOL(values[[name]]) != 1, names)[1]
  fault_if(!is.na(wide), "a number for each prediction", values[[wide]], paste0("$", wide))
}

quantiles_fault <- function(values) {
  levels <- values$levels
  like <- is.matrix(levels) && identical(dim(levels), dim(values$values)) && ncol(levels) >= 2
  rising <- function(m) all(m[, -1, drop = FALSE] - m[, -ncol(m), drop = FALSE] >= 0, na.rm = TRUE)
  first_fault(
    fault_if(!like, "a level for each of `values`", levels, "$levels"),
    fault_if(any(levels <= 0 | levels >= 1, na.rm = TRUE) || !rising(levels), "increasing numbers between 0 and 1",
             levels, "$levels"),
    fault_if(!rising(values$values), "in increasing order", values$values, "$values")
  )
}

draws_fault <- function(draws, dimension) {
  fault_if(NCOL(draws) < 2 * dimension || NCOL(draws) %% dimension != 0, "two draws of every prediction at least",
           draws, "$draws")
}
