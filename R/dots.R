# `...` selects columns. Arguments come after it, so a misspelt one would select columns, too. Therefore what has a name
# is not taken as a selection.

# The selections of a function, whose environment is `.call`.
column_dots <- function(..., .call = caller_env()) check_dot_names(quote_dots(...), .call)

# enquos(), which takes long of no dots.
quote_dots <- function(...) if (...length() == 0) no_dots else enquos(...)

no_dots <- rlang::quos()

check_dot_names <- function(dots, call, rule = "{.arg ...} selects columns and takes no named arguments.") {
  if (length(dots) == 0) return(dots)
  named <- names(dots)[nzchar(rlang::names2(dots))]
  if (length(named) == 0) return(dots)
  check_no_formula(call)
  stop_input(rule, "x" = "{.arg {named[1]}} is not an argument of {verb_text(call)}.", dot_remedy(named[1], dots, call),
             arg = named[1], call = call)
}

# Meaning of a named argument that the function does not have: a column, another argument, or nothing here. `dots` are
# all arguments that it does not have: the line mends them all.
dot_remedy <- function(name, dots, call) {
  value <- dot_value(dots[[name]])
  if (name %in% column_words && selects_column(value, call)) {
    return(remedy("Columns are selected without a name", mended_line(call, rename = setNames("", name))))
  }
  # elsewhere `bins` is their number
  owned <- owner_remedy(name, dots, call, if (name == "bins" && is.numeric(value)) "n_bins" else name)
  owned %||% other_name_remedy(name, value, dots, call) %||% note_remedy(name, call) %||%
    omission_remedy(name, verb_arguments(call), call)
}

# The remedy for an argument by another of its names, an argument of another function, or a column.
other_name_remedy <- function(name, value, dots, call) {
  known <- c(verb_arguments(call), missing_data(call))
  column <- "truth" %in% missing_data(call) && !is.null(selected_name(value, call))
  foreign <- if (!column) foreign_remedy(name, known, call)
  if (!is.null(foreign)) return(foreign)
  near <- if (column) "truth" else near_argument(name, c(known, taken_options(call)))
  if (is.null(near)) return(NULL)
  if (near %in% known) near_remedy(name, near, dots, known, call) else owner_remedy(name, dots, call, near)
}

note_remedy <- function(name, call) {
  if (!name %in% names(argument_notes)) return(NULL)
  note <- argument_notes[[name]]
  remedy(note, if (!note %in% c(figure_note, model_note)) mended_line(call, drop = name))
}

omission_remedy <- function(name, arguments, call) {
  if (!"truth" %in% names(formals(frame_function(call)))) return(remedy("Leave it out", complete_line(call, name)))
  c("i" = paste0("The arguments are ", toString(ticks(arguments)), "."),
    remedy("Leave it out", mended_line(call, drop = name)))
}

# Options belong to values: those that the call makes, as in `ce_power(assume_logit(0, 1), slope = 0.7)`, or to choices
# that it names or leaves out, as in `ce_curve(p, y, n_bins = 10)`. `option`: what `name` stands for.
owner_remedy <- function(name, dots, call, option = name) {
  typed <- typed_call(call)
  if (is.null(typed)) return(NULL)
  kinds <- choice_arguments[[verb_name(call)]]
  args <- named_choices(typed, kinds, option)
  options <- setNames(nm = setdiff(names(dots), ""))
  options[name] <- option
  for (at in which(!rlang::names2(args) %in% names(options))) {
    maker <- package_call(args[[at]])
    if (is.null(maker) || !is_maker(get(maker, topenv())) && !sub("_.*", "", maker) %in% names(kinds)) next
    moved <- options[options %in% setdiff(names(formals(maker)), names(args[[at]])) & names(options) %in% names(args)]
    if (!option %in% moved) next
    args[[at]][moved] <- args[names(moved)]
    args[names(moved)] <- NULL
    what <- if (option == name) "It" else paste0("{.arg ", option, "}")
    return(remedy(paste0(what, " is an option of {.fn ", maker, "}"), line_text(as.call(c(typed$expr[[1]], args)))))
  }
  metric_owner(typed, option, options, call) %||% other_owners(option, kinds, verb_name(call))
}

# For functions that take one metric.
metric_owner <- function(typed, option, options, call) {
  if (!verb_name(call) %in% c("ce_rank", "ce_compare")) return(NULL)
  expr <- typed_argument(typed, "metric") %||% formals(frame_function(call))$metric
  metric <- typed_eval(call("ce_metric", expr), call)
  arguments <- if (!is.null(metric)) names(formals(metric$fn))
  moved <- options[options %in% arguments & names(options) %in% names(typed$args)]
  if (!option %in% moved) return(NULL)
  args <- typed$args
  args[names(moved)] <- NULL
  args$metric <- as.call(c(quote(ce_metric), expr, setNames(typed$args[names(moved)], moved)))
  remedy(paste0("{.arg ", option, "} is an option of the metric"), line_text(as.call(c(typed$expr[[1]], args))))
}

# The choices that have the option where the one that was named, or is made here, has not.
other_owners <- function(option, kinds, verb) {
  kind <- sub("_.*", "", verb)
  if (kind %in% unlist(lapply(choice_arguments, names))) kinds <- setNames("", kind)
  owners <- option_owners(kinds, option)
  if (length(owners) == 0 || verb %in% owners) return(NULL)
  c("i" = paste0("{.arg ", option, "} is an option of ", toString(ticks(paste0(owners, "()"))), "."))
}

# The typed arguments with calls in place of the names of choices, and of one left out with the usual choice that has
# the option.
named_choices <- function(typed, kinds, option) {
  args <- typed$args
  for (kind in names(kinds)) {
    at <- unname(typed$places[kinds[[kind]]])
    owners <- option_owners(kinds[kind], option)
    if (is.na(at)) {
      if (length(owners) > 0) args[[kinds[[kind]]]] <- call(owners[1])
    } else if (rlang::is_string(args[[at]], made_choices(kind))) {
      args[[at]] <- call(paste0(kind, "_", args[[at]]))
    }
  }
  args
}

# The arguments of functions that take choices, by the choice's kind.
choice_arguments <- list(
  ce_test = c(test = "test"), ce_recalibrate = c(map = "method"), ce_curve = c(curve = "type"),
  ckce = c(computation = "computation", ridge = "ridge"), skce = c(computation = "computation"),
  ce_power = c(assume = "x")
)

usual_choices <- c("test_conditional", "curve_smooth", "map_temperature", "computation_auto")

# The functions that make choices with this option, the usual one first.
option_owners <- function(kinds, option) {
  owners <- unlist(lapply(names(kinds), function(kind) {
    paste0(kind, "_", Filter(function(name) option %in% option_names(kind, name), made_choices(kind)), recycle0 = TRUE)
  }))
  c(intersect(usual_choices, owners), setdiff(owners, usual_choices))
}

# All options of the choices that the function takes.
taken_options <- function(call) {
  kinds <- choice_arguments[[verb_name(call)]]
  unique(unlist(lapply(names(kinds), function(kind) lapply(made_choices(kind), option_names, kind = kind))))
}

near_remedy <- function(name, near, dots, known, call) {
  line <- if (near == "truth") {
    mended_line(call, rename = setNames("truth", name))
  } else {
    meant_line(dots, known, call)
  }
  remedy(paste0("Did you mean {.arg ", near, "}?"), line)
}

# An argument of another function of the package, and no other name of one that this function has.
foreign_remedy <- function(name, known, call) {
  verb <- if (name %in% names(argument_verbs)) argument_verbs[[name]]
  listed <- plain_word(name) %in% plain_word(known) ||
    !is.null(listed_word(name, argument_words[intersect(known, names(argument_words))]))
  if (listed || is.null(verb) || !all(c("x", "truth") %in% names(typed_call(call)$places))) return(NULL)
  own <- if (name %in% c("threshold", "metric")) paste0(name, "s") else name
  line <- mended_line(call, only = c("x", "truth", "", name), verb = verb, rename = setNames(own, name))
  if (!is.null(line)) remedy(paste0("{.arg ", own, "} is an argument of {.fn ", verb, "}"), line)
}

dot_value <- function(dot) if (rlang::is_quosure(dot)) rlang::quo_get_expr(dot) else dot

# The typed call without an argument; NULL if it would lack one that is required.
complete_line <- function(call, drop) {
  given <- setdiff(names(typed_call(call)$places), "")
  if (all(required_arguments(frame_function(call)) %in% given)) mended_line(call, drop = drop)
}

# The typed call in which each of the named `dots` has the nearest name of those not given, or is left out.
meant_line <- function(dots, arguments, call) {
  rename <- set <- drop <- NULL
  for (name in setdiff(names(dots), "")) {
    near <- near_argument(name, setdiff(arguments, c(rename, names(typed_call(call)$args))))
    if (is.null(near)) {
      drop <- c(drop, name)
    } else {
      rename[name] <- near
      set[name] <- list(argument_value(name, near, dot_value(dots[[name]]), verb_text(call)))
    }
  }
  mended_line(call, set, drop = drop, rename = rename)
}

# An argument by another of its names, or the nearest.
near_argument <- function(name, arguments) {
  exact <- arguments[match(plain_word(name), plain_word(arguments))]
  if (!is.na(exact)) return(exact)
  listed_word(name, argument_words[intersect(arguments, names(argument_words))]) %||% nearest_word(name, arguments)
}

# `x` and `truth` if the call lacks one of them.
missing_data <- function(call) {
  typed <- typed_call(call)
  given <- names(typed$places)
  if (is.null(typed) || !"truth" %in% names(formals(frame_function(call)))) return(NULL)
  c(if (!"x" %in% given || any(given == "data")) "x", if (!"truth" %in% given) "truth")
}

# Does it select columns of the data?
selects_column <- function(value, call) {
  rlang::is_call(value) && is_frame_call(call) || !is.null(selected_name(value, call))
}

# The column of the data that it names; NULL if it names none.
selected_name <- function(value, call) {
  x <- tryCatch(get0("x", call, inherits = FALSE), error = function(cnd) NULL)
  name <- if (is.name(value) || rlang::is_string(value)) as.character(value)
  if (is.data.frame(x) && length(name) == 1 && name %in% names(x)) name
}

# `x` is missing, or was given by another name.
stop_no_predictions <- function(call) {
  check_no_formula(call)
  typed <- typed_call(call)
  name <- intersect(rlang::names2(typed$args), argument_words$x)
  stop_input(
    "{.arg x} must be given: the predictions.",
    "x" = if (length(name) == 0) "It is missing." else "{.arg {name[1]}} is not an argument of {verb_text(call)}.",
    if (length(name) > 0) {
      remedy("Did you mean {.arg x}?", mended_line(call, rename = c(setNames("x", name[1]))))
    } else {
      predictions_remedy()
    }, class = c("probs", "argument"), arg = "x", call = call
  )
}

predictions_remedy <- function() {
  remedy("A data frame and the names of its columns, or a vector of probabilities and one of outcomes, as in",
         "ece(data, outcome, .pred_yes)")
}

# The value (an expression) of an argument that another package calls `old`, for our argument `new`.
argument_value <- function(old, new, value, verb = "") {
  translate <- argument_values[[new]] %||% parameter_values[[new]]
  if (is.null(translate)) return(value)
  if (length(formals(translate)) == 3) translate(value, old, verb) else translate(value, old)
}

# A number for a level or a norm, our word for a choice, a kernel for its bandwidth.
argument_values <- list(
  level = function(value, old) {
    if (old == "alpha") return(if (is.numeric(value)) 1 - value else call("-", 1, value))
    if (is.numeric(value) && value > 1 && value < 100) value / 100 else value
  },
  event_level = function(value, old) if (is.name(value) || value %in% c("first", "second")) value else "second",
  p = function(value, old) {
    norms <- c(l1 = 1, l2 = 2, linf = Inf, max = Inf, inf = Inf)
    if (is.character(value) && plain_word(value) %in% names(norms)) norms[[plain_word(value)]] else value
  },
  type = function(value, old) {
    listed <- if (is.character(value)) {
      listed_word(value, choice_words[c("mass", "width", "smooth", "isotonic", "binned")])
    }
    listed %||% value
  },
  times = function(value, old) sample_number(value),
  method = function(value, old) method_expr(value),
  methods = function(value, old) method_expr(value),
  kernel = function(value, old) if (startsWith(old, "kernel")) value else call("kernel_gaussian", value)
)

# The number of samples for a kind of interval: none but the bootstrap has any.
sample_number <- function(value) {
  if (is.numeric(value)) value else if (grepl("^(b|true)", tolower(as.character(value)[1]))) 1000
}

method_expr <- function(value) {
  name <- if (rlang::is_string(value)) meant_word(value, c("bins", "kde", "kkr", "ukkr"))
  if (is.null(name)) value else call(paste0("method_", name))
}

# For a function that selects no columns.
check_empty <- function(..., call = caller_env()) {
  if (...length() == 0) return(invisible())
  rule <- "{.arg ...} must be empty."
  dots <- check_dot_names(enquos(...), call, rule)
  stop_if(length(dots) > 0, rule, "x" = "{length(dots)} extra argument{?s} given.", positional_remedy(call),
          arg = "...", call = call)
}

# Arguments of the function that runs in this environment, without its `data`.
verb_arguments <- function(call, data = c("x", "truth")) {
  verb <- frame_function(call)
  setdiff(if (!is.null(verb)) names(formals(verb)), c("...", data))
}

# "`ece()`"
verb_text <- function(call) {
  name <- verb_name(call)
  if (nzchar(name)) paste0("`", name, "()`") else "this function"
}

verb_name <- function(call) {
  verb <- rlang::error_call(call)
  (if (rlang::is_call(verb)) rlang::call_name(verb)) %||% ""
}
