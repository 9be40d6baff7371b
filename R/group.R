# Grouped data frames and `.by`: one mechanism for every function. `fn` gets the rows of one group (a plain tibble) and
# returns a tibble; group columns come first.

by_groups <- function(x, by, fn, objects = FALSE) {
  if (missing(x)) stop_no_predictions()
  if (is_read(x)) return(with_read(fn(x), NULL))
  x <- read_results(x)
  groups <- find_groups(x, by)
  if (is.null(groups)) {
    all <- all_rows(fn(x))
    return(as_counted(if (objects) all else metric_table(all)))
  }
  parts <- run_groups(groups, group_parts(x, fn))
  if (objects) return(new_grouped(groups$keys, lapply(parts, as_counted)))
  out <- metric_table(bind_parts(groups$keys, lapply(parts, with_read, NULL)), "ce_table")
  as_counted(out, lapply(parts, attr, "read"))
}

# fn(rows) of the rows of a group, which know that they are a part.
group_parts <- function(x, fn) {
  # incomplete rows were dropped once, for all models
  if (is_models(x)) {
    return(function(part) {
      one <- x[[part$model]]
      if (!is.null(part$rows)) one <- take_rows(one, part$rows)
      fn(if (part$first) one else replace(one, "dropped", 0))
    })
  }
  x <- ungroup_frame(x)
  function(rows) fn(structure(vctrs::vec_slice(x, rows), in_group = TRUE, rows = rows))
}

# A value that has what was read for it as an attribute, until a result says it: predictions, laws, or a list of them.
with_read <- function(value, read) {
  attr(value, "read") <- if (!is.null(read)) read_facts(read)
  value
}

# list(event, designs): the event of the last one, to which others are aligned, and the designs of survival outcomes.
read_facts <- function(read) {
  if (is.null(read[["design"]])) return(joint_facts(lapply(unname(read), read_facts)))
  read <- read$predictions %||% read
  follow_up <- read$design$follow_up
  list(event = if (!is.null(read$event_level)) event_label(read, horizon = follow_up),
       designs = if (!is.null(follow_up)) list(read$design))
}

joint_facts <- function(facts) {
  if (length(facts) == 1 && !is.null(facts[[1]])) return(facts[[1]])
  list(event = Find(Negate(is.null), lapply(facts, `[[`, "event"), right = TRUE),
       designs = unlist(lapply(facts, `[[`, "designs"), recursive = FALSE))
}

# The same for functions that return an object: one per group (see R/grouped.R).
objects_by_groups <- function(x, by, fn) by_groups(x, by, fn, objects = TRUE)

# A table of results, which differs from one of data by its class. Tables of metrics print in their own way; `...`: more
# classes of these.
metric_table <- function(out, ...) {
  if (is_plain_tibble(out)) class(out) <- c("ce_result", class(out))
  own <- if (all(c(".metric", ".estimate") %in% names(out))) c("ce_metrics", ...)
  if (!is.null(own)) class(out) <- c(own[!own %in% class(out)], class(out))
  out
}

# A result that says which outcome is its event, and whose survival it is of (see design_sentence()), of these
# read_facts().
as_counted <- function(out, reads = list(attr(out, "read"))) {
  read <- joint_facts(reads)
  out <- name_event(with_read(out, NULL), read$event)
  if (length(read$designs) == 0) return(out)
  said <- design_sentence(read$designs)
  if (is.data.frame(out)) {
    attr(out, "design") <- said
  } else if (is.list(out)) {
    out$counted <- out$counted %||% said
  }
  out
}

# Its number of rows with those that were censored by the horizon.
all_rows <- function(out, censored = NULL) {
  for (design in attr(out, "read")$designs) censored <- c(censored, design$follow_up$censored)
  if (is.list(out) && any(censored > 0) && is.numeric(out[["n"]])) out[["n"]] <- out[["n"]] + min(censored)
  out
}

# With the name of the event, unless it is of another type of calibration: an attribute of a table, of other results the
# first sentence below the header.
name_event <- function(out, event) {
  notion <- .subset2(out, "notion")
  if (is.null(event) || !is.null(notion) && !"binary" %in% notion) return(out)
  if (is.data.frame(out)) {
    attr(out, "event") <- event
  } else if (is.list(out)) {
    out$counted <- c(event_sentence(event), out$counted)
  }
  out
}

# The results of fn(rows), one per group; an error in place of a group whose data do not suffice (R/group-missing.R).
run_groups <- function(groups, fn) {
  one <- function(g) {
    rows <- groups$rows[[g]]
    value <- function() in_group(all_rows(fn(rows)), groups$keys, g, rows)
    rlang::try_fetch(value(), calibrisk_error_group = function(cnd) {
      if (is.null(data_condition(cnd))) rlang::zap() else cnd
    })
  }
  parts <- said_once(lapply(seq_along(groups$rows), one), c("cluster", "direction", "distinct"))
  follow_ups <- lapply(joint_facts(lapply(parts, attr, "read"))$designs, `[[`, "follow_up")
  # see check_horizon()
  if (length(follow_ups) > 0 && all(vapply(follow_ups, `[[`, 0, "events") == 0)) {
    stop_no_event(follow_ups[[1]]$horizon, NULL)
  }
  failed <- vapply(parts, rlang::is_error, NA)
  if (all(failed)) rlang::cnd_signal(parts[[1]])
  if (any(failed)) warn_groups(groups$keys, parts, failed)
  parts
}

# Warnings and errors say in which group they arose; the rows they name are counted within it.
in_group <- function(value, keys, g, rows = NULL) {
  rlang::try_fetch(value, calibrisk_warning = function(cnd) {
    warning(replace(cnd, "message", paste0("In group \"", group_label(keys, g), "\": ", cnd$message)))
    rlang::cnd_muffle(cnd)
  }, error = function(cnd) {
    # models have been read
    row <- if (!is.null(cnd$row) && is.numeric(rows)) rows[cnd$row]
    stop_input("In group {.val {group_label(keys, g)}}.",
               "i" = if (!is.null(row)) "Its row {cnd$row} is row {row} of the data.", class = "group", row = row,
               parent = cnd)
  })
}

# `by` is a quosure. NULL where there are no groups.
find_groups <- function(x, by) if (is_models(x)) model_groups(x) else row_groups(x, by)

# The parts are the models, by their names, or groups of each.
model_groups <- function(x) {
  check_models_alone(called_verb())
  groups <- attr(x, "groups")
  each <- max(length(groups$rows), 1)
  keys <- columns_frame(model = rep(names(x), each = each))
  if (!is.null(groups)) keys <- vctrs::vec_cbind(keys, vctrs::vec_rep(groups$keys, length(x)))
  parts <- lapply(seq_len(nrow(keys)), function(k) {
    list(model = keys$model[k], rows = groups$rows[[(k - 1) %% each + 1]], first = k == 1)
  })
  list(keys = keys, rows = parts)
}

# The groups of models whose rows are those of these frames.
groups_of_models <- function(models, by, frames) {
  if (rlang::quo_is_null(by)) return(models)
  stop_if(!is.null(models[[1]]$design$follow_up), "Survival outcomes of several models have no groups.",
          "x" = "{.arg .by} and {.arg horizon} are given.",
          "i" = "Censoring weights are those of all rows.", class = c("unsupported", "argument"), arg = ".by")
  groups <- row_groups(frames[[1]], by)
  check_keys_free(groups$keys, "model")
  other <- 1 + which(!vapply(frames[-1], function(frame) {
    isTRUE(all.equal(row_groups(frame, by), groups, check.attributes = FALSE))
  }, NA))[1]
  stop_if(!is.na(other), "All models must have the same groups in the same order.",
          "x" = "Models {.val {names(models)[1]}} and {.val {names(models)[other]}} differ.",
          class = c("group", "models"), arg = ".by")
  rows <- lapply(groups$rows, function(rows) which(models[[1]]$rows %in% rows))
  kept <- lengths(rows) > 0
  if (any(kept)) attr(models, "groups") <- list(keys = vctrs::vec_slice(groups$keys, kept), rows = rows[kept])
  models
}

# Functions that pair the models take all of their rows.
check_no_groups <- function(models) {
  stop_if(!is.null(attr(models, "groups")), "Models are compared on all of their rows.",
          "x" = "{.fn ce_models} has read them with {.arg .by}.", class = c("models", "argument"), arg = ".by")
}

row_groups <- function(x, by) {
  by_given <- !rlang::quo_is_null(by)
  if (!is.data.frame(x)) {
    stop_if(by_given, "{.arg .by} needs a data frame.", "x" = "{.arg x} is {.cls {class(x)[1]}}.",
            class = "group", arg = ".by")
    return(NULL)
  }
  grouped <- inherits(x, "grouped_df")
  stop_if(by_given && grouped, "{.arg .by} cannot be used with a grouped data frame.",
          "i" = "Ungroup it, or drop {.arg .by}.", class = "group", arg = ".by")
  if (grouped) {
    data <- attr(x, "groups")
    # without rows there are no groups: the function says that there are none
    filled <- lengths(data$.rows) > 0
    # nor in an empty level that `.drop = FALSE` keeps, unless all are
    if (any(filled)) data <- data[filled, ]
    if (nrow(data) == 0) return(NULL)
    keys <- data[setdiff(names(data), ".rows")]
    attr(keys, ".drop") <- NULL
    return(list(keys = tibble::as_tibble(keys), rows = as.list(data$.rows)))
  }
  if (!by_given) return(NULL)
  columns <- select_columns(by, x, ".by")
  # a selection of no column groups nothing, as `.by = all_of(character())` of a program
  if (nrow(x) == 0 || length(columns) == 0) return(NULL)
  keys <- ungroup_frame(x)[unname(columns)]
  for (key in keys) check_text(key, ".by")
  bad <- which(vapply(keys, function(key) is.complex(key) || is.character(key) && !all(validUTF8(key)), NA))
  stop_if(length(bad) > 0, "Groups must be numbers, factors or valid text.",
          "x" = "{.field {names(keys)[bad[1]]}} is {describe(keys[[bad[1]]])}.", class = c("group", "argument"),
          arg = ".by")
  loc <- vctrs::vec_group_loc(keys)
  loc <- vctrs::vec_slice(loc, level_order(loc$key))
  list(keys = tibble::as_tibble(loc$key), rows = as.list(loc$loc))
}

# Models have been read: arguments that say how would have no effect.
check_models_alone <- function(frame) {
  of_rows <- intersect(frame_arguments(frame)[-1], c("x", "truth", ".by", "weights", "cluster", "horizon"))
  given <- Filter(function(arg) is_given(rlang::eval_bare(call("enquo", as.symbol(arg)), frame)), of_rows)
  more <- if (exists("...", frame, inherits = FALSE)) rlang::eval_bare(quote(...length()), frame) > 0
  call <- sys.calls()[[match(TRUE, vapply(sys.frames(), identical, NA, frame))]]
  named <- intersect(c("event_level", "na_rm"), names(call))
  given <- c(given, named, "..."[isTRUE(more)])
  stop_if(length(given) > 0, "Predictions of {.fn ce_models} have been read, with outcomes and how rows count.",
          "x" = "{.arg {given[1]}} is given, too.",
          "i" = if (given[1] == ".by") "{.fn ce_models} has {.arg .by}.", class = c("models", "argument"),
          arg = given[1])
}

# As in grouped data frames: levels of factors in their order, all else sorted, text as in the C locale.
level_order <- function(keys) {
  # a column may have several proxies; of a single column the proxy is no data frame
  proxies <- vctrs::vec_proxy_order(vctrs::data_frame(keys, seq_len(nrow(keys)), .name_repair = "minimal"))
  do.call(order, c(unname(as.list(proxies)), list(method = "radix")))
}

# Those of all rows of a table of keys, "" without keys.
key_labels <- function(keys) {
  if (ncol(keys) == 0) return(rep("", nrow(keys)))
  vapply(seq_len(nrow(keys)), function(g) group_label(keys, g), "")
}
