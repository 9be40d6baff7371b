# Functions that make values: test_block(), map_platt(), pred_normal(), ce_monitor(). They take no further arguments and
# miss none, which R/zzz-check-calls.R writes into them.

# Refuses what is in the dots.
check_no_more <- function(..., .call = caller_env()) {
  dots <- enquos(...)
  named <- names(dots)[nzchar(names(dots))]
  arguments <- verb_arguments(.call, NULL)
  n_more <- length(dots)
  stop_input(
    switch(min(length(arguments), 2) + 1, "{verb_text(.call)} takes no arguments.",
           "{verb_text(.call)} takes the argument {.arg {arguments}}.",
           "{verb_text(.call)} takes the arguments {.arg {arguments}}."),
    "x" = if (length(named) > 0) {
      "{.arg {named[1]}} is not {if (length(arguments) > 1) 'one of them' else 'an argument of it'}."
    } else {
      "{n_more} more {?is/are} given."
    },
    if (length(named) > 0) {
      near <- near_argument(named[1], arguments)
      (if (is.null(near)) single_remedy(named[1], .call) %||% form_remedy(.call)) %||% dot_remedy(named[1], dots, .call)
    } else {
      maker_remedy(.call) %||% remedy("Leave it out", complete_line(.call, ""))
    }, arg = c(named, "...")[1], call = .call
  )
}

is_maker <- function(fn) is.function(fn) && "check_no_more" %in% all.names(body(fn))

# The first argument without a default that is missing. `missing`: whether each is.
check_given <- function(missing, call = caller_env()) {
  if (!any(missing)) return(invisible())
  arg <- names(missing)[missing][1]
  stop_input("{.arg {arg}} must be given.", "x" = "It is missing.", form_remedy(call), arg = arg, call = call)
}

# The call with its required arguments; NULL if all of them were given.
form_remedy <- function(call) {
  required <- required_arguments(frame_function(call))
  if (all(required %in% names(typed_call(call)$places)) && !is.null(typed_call(call))) return(NULL)
  form <- as.call(c(rlang::error_call(call)[[1]], lapply(required, as.name)))
  remedy("The call has the form", line_text(form))
}

# An only argument, which has no default, is meant by any name.
single_remedy <- function(name, call) {
  only <- verb_arguments(call, NULL)
  required <- identical(only, required_arguments(frame_function(call)))
  if (length(only) != 1 || !required || only %in% names(typed_call(call)$places)) return(NULL)
  remedy(paste0("Did you mean {.arg ", only, "}?"), mended_line(call, rename = setNames(only, name)))
}

# The calls of these functions in an expression.
calls_in <- function(expr, names) {
  if (!is.call(expr)) return(NULL)
  c(if (rlang::is_call(expr, names)) list(expr), unlist(lapply(as.list(expr), calls_in, names), FALSE))
}

# Names of the arguments without a default.
required_arguments <- function(fn) {
  empty <- vapply(as.list(formals(fn)), rlang::is_missing, NA)
  setdiff(names(empty)[empty], "...")
}

# Values are for functions that take the data: of predictions given to a maker, the line of that function.
maker_verbs <- list(
  score = c("ce_score", "score"), test = c("ce_test", "test"), map = c("ce_recalibrate", "method"),
  curve = c("ce_curve", "type"), kernel = c("skce", "kernel"), method = c("ce_fit", "method")
)

maker_remedy <- function(call) {
  typed <- typed_call(call)
  if (is.null(typed) || length(typed$args) < 2) return(NULL)
  name <- rlang::call_name(typed$expr)
  verb <- maker_verbs[[sub("_.*", "", name)]]
  first <- typed_eval(typed$args[[1]], call)
  if (is.null(verb) || length(first) < 2) return(NULL)
  # a kernel cannot do without
  bandwidth <- if ("bandwidth" %in% required_arguments(frame_function(call))) "median"
  value <- setNames(list(as.call(c(verb_symbol(typed$expr[[1]], name), bandwidth))), verb[2])
  remedy(paste0("It makes a value for {.fn ", verb[1], "}, which takes the data"),
         line_text(as.call(c(verb_symbol(typed$expr[[1]], verb[1]), typed$args, value))))
}

# Values of parameters that other packages measure otherwise; `verb` is the maker.
parameter_values <- list(
  # gamma of other packages: exp(-gamma d^2), exp(-gamma d)
  bandwidth = function(value, old, verb) {
    if (old != "gamma") return(value)
    call("/", 1, if (grepl("gaussian", verb)) call("sqrt", call("*", 2, value)) else value)
  },
  rate = function(value, old) if (old %in% c("scale", "theta")) call("/", 1, value) else value,
  sd = function(value, old) if (old %in% c("var", "variance", "sigma2")) call("sqrt", value) else value,
  exponent = function(value, old) if (old == "temperature") call("/", 1, value) else value,
  # of an e-value
  alpha = function(value, old) {
    if (!is.numeric(value)) return(value)
    if (value > 1) 1 / value else if (value > 0.5) signif(1 - value, 7) else value
  }
)
