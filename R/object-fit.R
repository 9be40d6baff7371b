# Fields of pair forms, fits and results of ce_tune().

# NULL, a vector or a matrix of the size of the features.
core_rule <- function(size) {
  force(size)
  function(x, o) {
    if (is.null(x)) return(NULL)
    n <- size(o)
    if (is.matrix(x)) return(a_matrix(n, n)(x, o))
    numbers(n)(x, o)
  }
}

# Fields of every form; `size`: of its features where it may have a core.
form_fields <- function(..., size = NULL, also = function(x) NULL) {
  fields(..., core = if (is.null(size)) no_field else core_rule(size), gap = a_flag, also = also)
}

basis_size <- function(o) if (is.matrix(o$basis)) ncol(o$basis)

describe_object("ce_form_bins", form_fields(
  edges = numbers(sorted = TRUE), values = numbers(function(o) length(o$edges) + 1)
))

describe_object("ce_form_steps", form_fields(
  parts = each(fields(edges = numbers(sorted = TRUE), b = numbers(function(o) length(o$edges) + 1),
                      v = numbers(function(o) length(o$edges) + 1, lower = 0)), least = 1),
  size = function(o) length(o$parts) + sum(vapply(o$parts, function(part) sum(part$v > 0), 0L))
))

describe_object("ce_form_kde", form_fields(
  features = a_matrix(lower = -1e-6, upper = 1 + 1e-6),
  labels = function(x, o) {
    k <- ncol(o$features)
    numbers(nrow(o$features), if (k == 1) 0 else 1, k, whole = TRUE)(x, o)
  },
  bandwidth = a_number(1e-100, 1e100), weights = maybe(numbers(function(o) nrow(o$features), lower = 0)),
  also = function(x) if (length(x$features) == 0) fault("a matrix with rows and columns", x$features, "$features")
))

describe_object("ce_form_taylor", form_fields(
  map = fields(centre = a_number(), gamma = a_number(0), scale = a_number(0), rank = a_count(1, 1e6)),
  basis = function(x, o) a_matrix(o$map$rank)(x, o), size = basis_size
))

describe_object("ce_form_factor", form_fields(
  map = fields(kernel = described("ce_kernel"), pivot_rows = a_matrix(),
               triangle = function(x, o) a_matrix(nrow(o$pivot_rows), nrow(o$pivot_rows))(x, o)),
  basis = function(x, o) a_matrix(nrow(o$map$triangle))(x, o), size = basis_size
))

describe_object("ce_form_gram", form_fields(
  map = fields(kernel = described("ce_kernel"), rows = a_matrix()),
  basis = function(x, o) a_matrix(nrow(o$map$rows))(x, o), size = basis_size
))

describe_object("ce_form_power", form_fields(exponent = a_number(0)))

describe_object("ce_form_function", form_fields(f = a_function, na_rm = a_flag))

shape_rule <- function(dimension) {
  force(dimension)
  fields(
    recipe = one_of(c("hats", "temperature", "own_top", "own_both", "top_affine", "kernel")),
    own = each(numbers(sorted = TRUE, least = 1)), fine = numbers(sorted = TRUE), coarse = numbers(sorted = TRUE),
    landmarks = a_matrix(), scale = a_number(0), weights = each(a_matrix()),
    also = function(x) shape_fault(x, dimension)
  )
}

# Which knots a recipe has, and a row of its weights for every column (inst/include/calibrisk/ladder/recipes.h).
shape_fault <- function(x, dimension) {
  shared <- x$recipe %in% c("top_affine", "kernel")
  first_fault(
    fault_if(!shared && x$recipe != "temperature" && length(x$own) != dimension,
             paste("knots of", dimension, "coordinates"), x$own, "$own"),
    fault_if(x$recipe %in% c("own_top", "own_both") && length(x$fine) == 0, "knots", x$fine, "$fine"),
    fault_if(x$recipe == "own_both" && length(x$coarse) == 0, "knots", x$coarse, "$coarse"),
    fault_if(x$recipe == "kernel" && nrow(x$landmarks) > 0 && (ncol(x$landmarks) != dimension || x$scale == 0),
             paste("of", dimension, "columns, and their scale above 0"), x$landmarks, "$landmarks"),
    shape_weights_fault(x, dimension, if (shared) dimension else 1L)
  )
}

shape_weights_fault <- function(x, dimension, columns) {
  rows <- switch(x$recipe,
    temperature = rep(7, dimension), top_affine = rep(1 + dimension, 1 + dimension),
    kernel = 1 + dimension + nrow(x$landmarks),
    hats = lengths(x$own), own_top = lengths(x$own) + 2 + length(x$fine),
    own_both = lengths(x$own) + length(x$coarse) + length(x$fine)
  )
  # no weights: of a top class that no row of the fit had
  fit <- function(w, n) identical(dim(w), as.integer(c(n, columns))) || x$recipe == "top_affine" && length(w) == 0
  fault_if(length(x$weights) != length(rows) || !all(mapply(fit, x$weights, rows)),
           paste("matrices of", toString(rows), "rows"), x$weights, "$weights")
}

describe_object("ce_form_stack", form_fields(
  dimension = a_count(1, 1e6), shapes = function(x, o) each(shape_rule(o$dimension))(x, o),
  weights = numbers(function(o) length(o$shapes))
))

describe_object("ce_form_ensemble", form_fields(
  forms = each(described("ce_form"), least = 1), size = function(o) NULL
))

# Forms from outside of the package have these alone.
describe_object("ce_form", form_fields(size = function(o) NULL))

# Columns of the features that a form takes; NULL where any will do.
form_inputs <- function(form) {
  switch(sub("^ce_form_", "", class(form)[1]),
    bins = , steps = , taylor = 1L, kde = ncol(form$features), factor = ncol(form$map$pivot_rows),
    gram = ncol(form$map$rows), stack = as.integer(form$dimension),
    ensemble = {
      inputs <- unique(unlist(lapply(form$forms, form_inputs)))
      if (length(inputs) > 1) -1L else inputs
    }
  )
}

# Columns of the features of a form whose features are residuals; those of others are not.
form_outputs <- function(form) {
  switch(sub("^ce_form_", "", class(form)[1]),
    taylor = , factor = , gram = ncol(form$basis), steps = , "function" = 0L,
    ensemble = {
      outputs <- unique(unlist(lapply(form$forms, form_outputs)))
      if (length(outputs) > 1) -1L else outputs
    }
  )
}

result_notion <- function(x, o) one_of(ce_notions)(x, o)

# `forms`: one for each problem of the notion, on features of as many columns as it has.
forms_fault <- function(forms, notion, levels, at) {
  problems <- if (notion == "class_wise") length(levels) else 1
  if (length(forms) != problems) return(fault(paste("a list of", problems), forms, at))
  columns <- if (notion == "canonical") length(levels) else 1
  for (j in seq_along(forms)) {
    inputs <- form_inputs(forms[[j]])
    # a stack has the dimension of the residuals
    if (!is.null(inputs) && inputs != columns) {
      return(fault(paste("of features of", columns, "columns"), forms[[j]], paste0(at, "[[", j, "]]")))
    }
    outputs <- if (forms[[j]]$gap) form_outputs(forms[[j]])
    if (!is.null(outputs) && outputs != columns) {
      return(fault("FALSE, since its features are not residuals", TRUE, paste0(at, "[[", j, "]]$gap")))
    }
  }
}

histogram_rule <- fields(
  breaks = numbers(sorted = TRUE, least = 2), counts = numbers(function(o) length(o$breaks) - 1, lower = 0),
  also = function(x) fault_if(sum(x$counts) == 0, "with a count above 0", x$counts, "$counts")
)

# For every scalar feature.
histograms_rule <- function(x, o) {
  switch(o$notion,
    canonical = no_field(x, o), class_wise = each(histogram_rule, length(o$levels))(x, o), histogram_rule(x, o)
  )
}

fingerprint_rule <- maybe(fields(
  truth = a_text, features = a_matrix(), keys = numbers(), n_keys = a_count()
))

levels_rule <- texts(unique = TRUE, least = 2)
event_rule <- function(x, o) a_count(1, length(o$levels))(x, o)
# A single probability is of two classes.
scalar_rule <- function(x, o) first_fault(a_flag(x, o), fault_if(x && length(o$levels) != 2, "FALSE", x))

describe_object("ce_fit", once(fields(
  notion = result_notion, levels = levels_rule, event = event_rule, scalar = scalar_rule,
  forms = each(described("ce_form"), least = 1),
  method = a_text, parameter = texts(1, na = TRUE), value = numbers(1, na = TRUE, infinite = TRUE), label = a_text,
  histogram = histograms_rule, fingerprint = fingerprint_rule, n = a_count(), counted = maybe(texts()),
  also = function(x) forms_fault(x$forms, x$notion, x$levels, "$forms")
)))

# A row of numbers for each value of a method's grid.
path_diagnostics <- fields(reliable = maybe(function(x, o) if (!is.logical(x)) fault("TRUE or FALSE", x)))

tune_columns <- c(
  method = "text", parameter = "text", value = "numeric", root_risk = "numeric", risk_std.error = "numeric",
  estimate_holdout = "numeric", std.error_holdout = "numeric", estimate = "numeric", std.error = "numeric",
  conf.low = "numeric", conf.high = "numeric", selected = "logical", won = "numeric", risk = "numeric",
  difference = "numeric", difference_std.error = "numeric", skill = "numeric", squared_holdout = "numeric"
)

describe_object("ce_tune", once(fields(
  notion = result_notion, levels = levels_rule, event = event_rule, scalar = scalar_rule,
  level = function(x, o) level_rule(x, o),
  tidy = a_table(method = "text", parameter = "text", value = "numeric", fold = "numeric", risk = "numeric",
                 squared_error = "numeric", squared_error_test = "numeric"),
  glance = a_table(tune_columns),
  headline = a_table(notion = "text", estimate = "numeric", std.error = "numeric", conf.low = "numeric",
                     conf.high = "numeric", p.value = "numeric", n = "numeric"),
  zero_root_risk = numbers(na = TRUE), labels = texts(),
  forms = each(each(each(described("ce_form"), least = 1), least = 1), least = 1),
  diagnostics = each(each(maybe(path_diagnostics))),
  histogram = histograms_rule, fingerprint = fingerprint_rule,
  split = fields(k = a_count(1, 1e6), fold = maybe(numbers(lower = 0, whole = TRUE)),
                 sizes = maybe(numbers(function(o) o$k + 1, lower = 0)),
                 also = function(x) {
                   if (is.null(x$fold) == is.null(x$sizes)) return(fault("one of `fold` and `sizes`", NULL))
                   if (!is.null(x$fold) && max(x$fold, 0) != x$k) fault(paste("folds up to", x$k), x$fold, "$fold")
                 }),
  n_splits = a_count(1), n = a_count(), counted = maybe(texts()), dropped = a_count(),
  also = function(x) methods_fault(x, x$glance$method)
)))

# Fields of each method.
methods_fault <- function(x, methods) {
  named <- c("forms", "labels", "zero_root_risk", "diagnostics")
  other <- Filter(function(name) !identical(names(x[[name]]), as.character(methods)), named)[1]
  first_fault(
    fault_if(anyNA(methods) || anyDuplicated(methods) > 0, "different methods", methods, "$glance$method"),
    fault_if(!is.na(other), "one for each method, by name", x[[other]], paste0("$", other)),
    fault_if(!all(x$tidy$method %in% methods), "those of `glance`", x$tidy$method, "$tidy$method"),
    first_of(as.character(methods), function(m) fold_forms_fault(x, m))
  )
}

# The first fault that rule() finds in values.
first_of <- function(values, rule) {
  for (value in values) {
    found <- rule(value)
    if (!is.null(found)) return(found)
  }
}

# For a method: a form for each problem and fold.
fold_forms_fault <- function(x, method) {
  forms <- x$forms[[method]]
  if (any(lengths(forms) != x$split$k)) return(fault("a form for each fold", forms, "$forms"))
  first_of(seq_len(x$split$k), function(f) {
    forms_fault(lapply(forms, `[[`, f), x$notion, x$levels, paste0("$forms$", method))
  })
}
