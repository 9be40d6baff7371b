# Rows of a chunk into the sums of a state.

#' @rdname ce_state
#' @export
update.ce_state <- function(object, data, truth, ..., weights = NULL, cluster = NULL, id = NULL, horizon = NULL,
                            in_database = FALSE) {
  check_state(object)
  stop_if(missing(data), "{.arg data} must be given: the rows to add.", "x" = "It is missing.",
          "i" = "As in {.code update(state, data, truth)}.", arg = "data")
  truth <- enquo(truth)
  given <- list(weights = enquo(weights), cluster = enquo(cluster), id = enquo(id))
  dots <- column_dots(...)
  given$horizon <- check_state_horizon(as_horizon(horizon))
  check_flag(in_database)
  if (in_database) return(add_table(object, data, truth, dots, given))
  if (is_table(data)) data <- table_source(data, 1e5, meant_columns(data))
  if (is.function(data)) data <- ce_source(data)
  if (inherits(data, "ce_source")) return(update_from_source(object, data, chunk_taker(truth, dots, given)))
  # a frame of this process means nothing to another
  if (is_bare_list(data) && length(data) > 0 && all(vapply(data, inherits, NA, "ce_source"))) {
    return(update_from_sources(object, data, chunk_taker(truth, dots, given)))
  }
  update_chunk(object, data, truth, dots, given)
}

# function(state, piece) that holds what was selected, and no rows.
chunk_taker <- function(truth, dots, given) {
  force(list(truth, dots, given))
  function(state, piece) update_chunk(state, piece, truth, dots, given)
}

update_chunk <- function(object, data, truth, dots, given) {
  if (!is.data.frame(data)) check_kind(data, "data")
  if (NROW(data) == 0) return(object)
  horizon <- given$horizon
  data <- at_horizon(data, horizon)
  given <- lapply(given[c("weights", "cluster", "id")], evaluate_once, data)
  columns <- Map(function(quo, arg) design_column(quo, data, NROW(data), arg), given, names(given))
  if (!is.null(horizon)) {
    truth <- evaluate_once(truth, data)
    horizon$strata <- evaluate_once(horizon$strata, data)
    # the weight of a row; those that integers repeat are repeated
    own <- if (is.null(columns$weights) || is_frequency(columns$weights)) 1 else as_numbers(columns$weights)
    columns$weights <- outcomes_at(truth, data, horizon)$censoring$weights * own
  }
  check_ids(columns$id)
  columns[c("cluster", "id")] <- Map(exact_ids, columns[c("cluster", "id")], c("cluster", "id"))
  # the other clusters come in other chunks, of which the first says what concerns their columns
  known <- c(warning_class("cluster"), if (object$n > 0) c(warning_class("direction"), "calibrisk_message_columns"))
  predictions <- rlang::try_fetch(
    unsaid(as_predictions(data, truth, dots, object$spec$event_level, TRUE,
                          design = design_input(given$weights, given$cluster, horizon)), known),
    calibrisk_error_empty = identity
  )
  if (inherits(predictions, "calibrisk_error_empty")) {
    # rows of weight 0 are complete, censored ones too
    object$dropped <- object$dropped + predictions$dropped
    return(add_follow_up(object, predictions))
  }
  add_chunk(object, predictions, columns, named_horizon(horizon))
}

# `of`: list(events, censored) of rows with a horizon, either missing for none.
add_follow_up <- function(state, of) {
  state$follow_up <- state$follow_up + c(of$events %||% 0, of$censored %||% 0)
  state
}

# Rows before and after the chunk are censored too.
check_state_horizon <- function(horizon) {
  if (is.null(horizon) || !is.null(horizon$censoring)) return(horizon)
  stop_input("A state needs a {.arg horizon} with the follow-up of all rows.",
             "x" = "Censoring weights depend on the follow-up of all rows, and a chunk has its own rows only.",
             "i" = "{.code ce_horizon({format(horizon$time)}, censoring = all)}, where {.code all} has the columns \\
                    {.field time} and {.field status} of all rows: a first pass reads these.",
             class = c("horizon", "state"), arg = "horizon")
}

check_ids <- function(id) {
  if (is.null(id)) return(invisible())
  ok <- is.numeric(id) || is.character(id) || is.factor(id)
  stop_if(!ok || anyNA(id), "{.arg id} must be numbers, text or a factor without missing values.",
          "x" = if (ok) "Row {which(is.na(id))[1]} has none." else "It is {.cls {class(id)[1]}}.", arg = "id")
}

# Numbers that are exact: those beyond 2^53 have lost their last digits where they are doubles.
exact_ids <- function(x, arg) {
  if (inherits(x, "integer64")) {
    rlang::check_installed("bit64", reason = "to read 64-bit integers.")
    return(as.character(x))
  }
  if (!is.double(x) || is.object(x) || length(large <- which(abs(x) >= 2^53)) == 0) return(x)
  stop_input(
    "Numbers in {.arg {arg}} must be below 2^53, about 9e15: above it different ones are the same double.",
    "x" = "Row {large[1]} has {format(x[large[1]], digits = 17)}; affected: {length(large)} of {length(x)} rows.",
    "i" = "Read the column as text, such as {.code read.csv(colClasses = )} with {.val character}.",
    class = c("argument", "size"), arg = arg, row = large[1], value = x[large[1]]
  )
}

add_chunk <- function(state, predictions, columns, horizon = NULL) {
  spec <- state$spec
  kind <- if (is.null(columns$weights)) "none" else if (is_frequency(columns$weights)) "frequency" else "importance"
  importance <- kind == "importance"
  notion <- spec$notion %||% default_notion(predictions)
  owner <- columns$cluster %||% columns$id
  about <- list(notion = notion, levels = predictions$levels, event = predictions$event,
                scalar = is.null(predictions$probs), blocked = importance || !is.null(columns$cluster),
                weights = kind, owner = row_owner(columns))
  about$horizon <- horizon
  problems <- notion_problems(predictions, notion)
  check_same_rows(state$about, about)
  rows <- predictions$rows
  units <- if (is.null(owner)) value_units(predictions) else id_units(owner[rows])
  parts <- list(moments = if (about$blocked) block_parts(units, spec) else fold_parts(units, spec),
                blocks = block_parts(units, spec))
  weights <- if (importance) as_numbers(columns$weights)[rows] else numeric()
  if (length(state$sums) == 0) state$sums <- lapply(problems, function(problem) empty_sums(spec, about))
  m <- c(moments_of_cell, moments_of_block, moments_of_narrow)
  state$sums <- Map(function(sums, problem) {
    y <- as.integer(problem$labels)
    cpp_add_chunk(sums, problem$features[, 1], y, parts$moments, parts$blocks, weights, spec, m)
  }, state$sums, problems)
  if (notion == "class_wise") {
    # for the residuals of two classes, times the squared weights
    e <- do.call(cbind, lapply(problems, `[[`, "residuals")) * if (importance) weights else 1
    before <- state$sums[[1]]$cross %||% matrix(0, ncol(e) * (ncol(e) + 1) / 2, 2)
    state$sums[[1]]$cross <- cpp_add_products(before, e, integer(nrow(e)))
  }
  state$about <- about
  state$n <- state$n + length(rows)
  state$dropped <- state$dropped + predictions$dropped
  add_follow_up(state, predictions$design$follow_up)
}

# The identifier of rows, as it is hashed: see id_units().
row_owner <- function(columns) {
  given <- c(names(drop_null(columns[c("cluster", "id")])), "none")[1]
  c(given = given, as = if (given == "none") "" else if (is.numeric(columns[[given]])) "numbers" else "text")
}

# Numbers in [0, 1) that depend on nothing but the row.
value_units <- function(predictions) {
  labels <- as.integer(predictions$truth %||% predictions$outcome)
  cpp_row_keys(predictions$probs %||% matrix(predictions$prob), labels)
}

id_units <- function(id) {
  if (is.numeric(id)) return(cpp_id_units(as_numbers(id)))
  cpp_id_units(enc2utf8(as.character(id)))
}

# Fold 0 tests, counted from 0.
fold_parts <- function(units, spec) {
  inside <- (units - spec$test) / (1 - spec$test)
  as.integer(pmin(pmax(floor(inside * spec$folds) + 1, 0), spec$folds))
}

block_parts <- function(units, spec) as.integer(floor(units * spec$blocks))

# Pairs of sums and what rounding took from them, see inst/include/calibrisk/states/sums.h.
# `fine` has the sums of rows in folds, or in blocks for weighted or clustered rows. `blocks` has those of classes,
# since only blocks keep the classes of a row together. For weighted or clustered rows, `counts` and `squares` are their
# number and the sum of their squared weights in the panel's bins.
empty_sums <- function(spec, about) {
  lapply(sums_dim(spec, about), function(dim) {
    if (prod(dim) > 1e7) check_memory(prod(dim), 2, "the sums of a state")
    matrix(0, prod(dim), 2)
  })
}
