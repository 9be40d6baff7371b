# The arguments `weights`, `cluster` and `horizon` of the functions that take outcomes: columns of the data (selected as
# `truth` is), or vectors beside vectors.

# Quosures, evaluated once, with the data they belong to, and the horizon of survival outcomes (R/horizon.R). `copies`:
# whether the function takes rows that stand for several, and whether those in clusters; else rows are repeated by
# frequency weights.
design_input <- function(weights, cluster, horizon = NULL, copies = FALSE, clustered = copies) {
  list(weights = weights, cluster = cluster, horizon = as_horizon(horizon), copies = copies, clustered = clustered)
}

takes_copies <- function(input, cluster) isTRUE(if (is.null(cluster)) input$copies else input$clustered)

# Arguments of the function that runs in `frame`, as a list: the quosures of outcomes, groups and columns, how events
# and missing values are read, and how rows count. `dots` reads the columns: column_dots(), or quote_dots() where names
# are checked later.
rows_input <- function(dots = column_dots, copies = FALSE, clustered = copies, frame = caller_env()) {
  quos <- rlang::eval_bare(if (exists(".by", frame, inherits = FALSE)) enquo_groups else enquo_rows, frame)
  list(truth = quos$truth, dots = rlang::eval_bare(as.call(list(dots, quote(...))), frame), by = quos$by,
       event_level = frame$event_level, na_rm = frame$na_rm %||% TRUE,
       design = design_input(quos$weights, quos$cluster, frame$horizon, copies, clustered))
}

# The arguments of rows_input() as quosures, with groups and without: one evaluation of them all.
enquo_groups <- quote(list(truth = enquo(truth), by = enquo(.by), weights = enquo(weights), cluster = enquo(cluster)))
enquo_rows <- enquo_groups[names(enquo_groups) != "by"]

# The same, of which vectors are evaluated once for all models and groups.
evaluate_input_once <- function(input, x) {
  input$truth <- evaluate_once(input$truth, x)
  input$design <- evaluate_design_once(input$design, x)
  input
}

# Beside matrices and vectors (or a list of them) an expression is a vector, which is evaluated once, however many
# models read it: a draw of weights would be another one for each. Beside a data frame it is a column of that.
evaluate_once <- function(quo, x) {
  if (!is_given(quo)) return(quo)
  beside <- if (is_bare_list(x)) x else list(x)
  if (length(beside) == 0 || is_table(x) || is_survey(x) || any(vapply(beside, is.data.frame, NA))) return(quo)
  # what cannot be evaluated is an error of the one that reads it
  tryCatch({
    structure(rlang::new_quosure(rlang::eval_tidy(quo), rlang::empty_env()),
              name = variable_name(rlang::quo_get_expr(quo)))
  }, error = function(cnd) quo)
}

evaluate_design_once <- function(input, x) {
  if (is.null(input)) return(NULL)
  for (arg in c("weights", "cluster")) input[[arg]] <- evaluate_once(input[[arg]], x)
  for (arg in intersect(c("strata", "entry"), names(input$horizon))) {
    input$horizon[[arg]] <- evaluate_once(input$horizon[[arg]], x)
  }
  input
}

# The raw columns for the rows of x: list(weights, cluster, kind, copies), NULL where not given; the reader of outcomes
# adds `censoring`, see outcomes_at().
read_design <- function(input, x, n) {
  survey <- survey_design(input, x)
  if (!is.null(survey)) return(survey)
  if (is.null(input) || !is_given(input$weights) && !is_given(input$cluster)) return(list())
  args <- c("weights", "cluster")
  out <- lapply(setNames(nm = args), function(arg) design_column(input[[arg]], x, n, arg))
  if (!is.null(out$weights)) {
    out$kind <- weight_kind(out$weights)
    out$copies <- out$kind == "frequency" && takes_copies(input, out$cluster)
    out$weights <- check_weights(as_numbers(out$weights), out$kind == "frequency" && !out$copies)
  }
  out
}

# Position of the one column that the argument selects; NULL if it is not given or selects none.
select_column <- function(quo, x, arg) {
  if (!is_given(quo)) return(NULL)
  columns <- select_columns(quo, x, arg)
  stop_if(length(columns) > 1, "{.arg {arg}} must select one column.", "x" = "It selects {length(columns)}.",
          class = "columns", arg = arg)
  if (length(columns) == 1) columns
}

# A vector beside predictions that are not a data frame; or an expression of the columns of `data`.
row_vector <- function(quo, arg, data = NULL) {
  tryCatch(rlang::eval_tidy(quo, data), error = function(cnd) {
    stop_input("{.arg {arg}} cannot be evaluated.",
               "i" = if (is.null(data)) "Beside a matrix or a vector, {.arg {arg}} is a vector with a value per row, \\
                      not the name of a column.", class = if (arg == "truth") arg else "argument", arg = arg,
               parent = cnd)
  })
}

design_column <- function(quo, x, n, arg) {
  if (!is_given(quo)) return(NULL)
  column <- if (is.data.frame(x)) select_column(quo, x, arg)
  if (is.data.frame(x) && is.null(column)) return(NULL)
  value <- if (is.null(column)) row_vector(quo, arg) else x[[column]]
  if (is.numeric(value) && arg %in% c("strata", "entry")) value <- as_numbers(value)
  stop_if(
    !is.null(value) && length(value) != n, "{.arg {arg}} must have a value for every row.",
    "x" = if (is.data.frame(value)) "It is a data frame." else "It has {length(value)}, {.arg x} has {n} row{?s}.",
    "i" = if (rlang::is_string(value)) {
      "{.val {value}} would be a column of a data frame; beside a matrix or a vector give its values."
    }, class = "length", arg = arg
  )
  stop_if(arg == "cluster" && is.list(value), "{.arg cluster} must be numbers, text or a factor.",
          "x" = "It is {describe(value)}.", arg = arg)
  check_text(value, arg)
  value
}

# Integers are frequencies, doubles importance weights, and the classes of hardhat what they say.
is_frequency <- function(weights) is.integer(weights) || inherits(weights, c("hardhat_frequency_weights", "integer64"))

weight_kind <- function(weights) {
  if (is_frequency(weights)) return("frequency")
  if (inherits(weights, "hardhat_importance_weights")) return("importance")
  stop_if(!is.numeric(weights), "{.arg weights} must be numbers.", "x" = "They are {.cls {class(weights)[1]}}.",
          "i" = "Integers (or {.fn hardhat::frequency_weights}) are frequencies, doubles (or \\
                 {.fn hardhat::importance_weights}) importance weights.", class = "weights", arg = "weights")
  whole <- weights[!is.na(weights)]
  if (any(whole != whole[1]) && all(is.finite(whole) & whole == round(whole))) {
    tell("i" = "{.arg weights} are whole numbers of type double and are taken as importance weights.",
         "i" = "Rows that stand for several are given by integers, {.code as.integer(weights)}.", class = "weights")
  }
  "importance"
}

# `repeated`: whether rows are made of them.
check_weights <- function(weights, repeated) {
  # products of several are summed up
  bad <- which(!(is.na(weights) & !is.nan(weights) | weights == 0 | weights >= 1e-50 & weights <= 1e50))
  stop_if(length(bad) > 0, "{.arg weights} must be 0, or between 1e-50 and 1e50.",
          "x" = "Row {bad[1]} has the weight {.val {signif(weights[bad[1]], 4)}}; affected: {length(bad)} of \\
                 {length(weights)} rows.", "i" = "A weight of 0 leaves a row out. Only ratios of weights count.",
          class = c("weights", "size"), arg = "weights", row = bad[1], value = weights[bad[1]])
  if (repeated) check_repeated(weights)
  weights
}

# Rows are made of frequency weights.
check_repeated <- function(weights) {
  sum <- sum(weights, na.rm = TRUE)
  stop_if(
    sum > most_repeated_rows,
    "Frequency weights must sum to at most {count_text(most_repeated_rows)}: so many rows are made of them.",
    "x" = "They sum to {count_text(sum)}, in {count_text(length(weights))} rows.",
    "i" = "{.code update(ce_state(), ...)} takes rows in chunks and keeps sums.",
    "i" = "{.code as.numeric(weights)} are importance weights: means over rows are the same, but standard errors \\
           and tests are those of {count_text(length(weights))} rows.", class = c("size", "weights"), arg = "weights"
  )
}

# The rows that are used, of those that are complete: without the ones of weight 0, repeated by their frequencies unless
# these are copies; and the number of those that are left out as censored, each with its frequency, NULL without a
# horizon.
design_kept <- function(raw, rows) {
  if (is.null(raw$weights) && is.null(raw$censoring)) return(list(rows = rows))
  weights <- raw$weights %||% rep(1, max(rows, 0))
  frequency <- identical(raw$kind, "frequency")
  censored <- if (!is.null(raw$censoring)) {
    out <- raw$censoring$weights[rows] == 0
    left <- weights[rows[out]]
    rows <- rows[!out]
    if (frequency) sum(left) else sum(left > 0)
  }
  rows <- if (frequency && !raw$copies) rep(rows, weights[rows]) else rows[weights[rows] > 0]
  list(rows = rows, censored = censored)
}

# The design of these rows of the input, beside so many censored ones. Codes of clusters do not depend on the order of
# the rows.
bind_design <- function(raw, rows, censored = NULL) {
  if (length(raw) == 0) return(new_design(length(rows)))
  cluster <- raw$cluster[rows]
  # of each copy
  w <- if (identical(raw$kind, "importance")) raw$weights[rows]
  copies <- if (isTRUE(raw$copies)) raw$weights[rows]
  if (all(copies == 1)) copies <- NULL
  if (!is.null(raw$censoring)) w <- raw$censoring$weights[rows] * (w %||% 1)
  # weights of one value are none; of a part of the rows they still say how much it counts beside the others
  if (length(w) > 0 && all(w == w[1])) w <- NULL
  if (!is.null(copies)) w <- if (is.null(w)) copies else w * copies
  out <- new_design(length(rows), w, if (!is.null(cluster)) cluster_codes(cluster), copies)
  warn_if(length(cluster) > 0 && all(cluster == cluster[1]) && copy_count(out) > 1,
          "Standard errors, intervals, tests and means over pairs need two clusters or more.",
          "x" = "{.arg cluster} is the same for all {copy_count(out)} rows.",
          "i" = "Drop {.arg cluster} if rows are independent.", class = "cluster")
  for (part in c("strata", "drawn")) out[[part]] <- raw[[part]][rows]
  if (!is.null(censored)) {
    out$follow_up <- list(horizon = raw$censoring$horizon,
                          events = sum(raw$censoring$outcomes[rows] * (copies %||% 1)), censored = censored)
  }
  out
}
