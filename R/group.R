# Grouped data frames and `.by`: one mechanism for every function. `fn` gets the rows of one group (a plain tibble) and
# returns a tibble; group columns come first.

by_groups <- function(x, by, fn, call = caller_env()) {
  if (missing(x)) stop_no_predictions(call)
  if (is_read(x)) return(fn(x))
  x <- read_results(x, call)
  groups <- find_groups(x, by, call)
  if (is.null(groups)) return(as_counted(collect_kept(metric_table(as_result(fn(x))), "designs")))
  x <- ungroup_frame(x)
  found <- collect_kept(run_groups(groups, function(rows) fn(vctrs::vec_slice(x, rows)), call), "designs")
  out <- bind_parts(groups$keys, found$value)
  if (all(c(".metric", ".estimate") %in% names(out))) class(out) <- c("ce_table", class(out))
  as_counted(list(value = metric_table(as_result(out)), kept = found$kept))
}

# Tables of metrics print in their own way.
metric_table <- function(out) {
  if (all(c(".metric", ".estimate") %in% names(out)) && !inherits(out, "ce_metrics")) {
    class(out) <- c("ce_metrics", class(out))
  }
  out
}

# A table of results, which plot() can tell from one of data.
as_result <- function(out) {
  if (is_plain_tibble(out)) class(out) <- c("ce_result", class(out))
  out
}

# A result that says whose survival it is of: see design_sentence(). `found`: what collect_kept() returns.
as_counted <- function(found) {
  if (length(found$kept) == 0) return(found$value)
  said <- design_sentence(found$kept)
  if (is.data.frame(found$value)) {
    attr(found$value, "design") <- said
  } else if (is.list(found$value)) {
    found$value$counted <- found$value$counted %||% said
  }
  found$value
}

# The results of fn(rows), one per group; an error in place of a group whose data do not suffice (R/group-missing.R).
run_groups <- function(groups, fn, call) {
  one <- function(g) {
    rows <- groups$rows[[g]]
    rlang::try_fetch(in_group(fn(rows), groups$keys, g, call, rows), calibrisk_error_group = function(cnd) {
      if (is.null(data_condition(cnd))) rlang::zap() else cnd
    })
  }
  found <- collect_kept(while_in_groups(told_once(warned_once(warned_once(
    lapply(seq_along(groups$rows), one), "calibrisk_warning_cluster"), "calibrisk_warning_direction"))), "designs")
  check_group_events(found$kept, call)
  parts <- found$value
  failed <- vapply(parts, rlang::is_error, NA)
  if (all(failed)) rlang::cnd_signal(parts[[1]])
  if (any(failed)) warn_groups(groups$keys, parts, failed)
  parts
}

# See check_horizon().
check_group_events <- function(designs, call) {
  if (length(designs) == 0) return(invisible())
  events <- vapply(designs, function(design) design$follow_up$events, 0)
  if (all(events == 0)) stop_no_event(designs[[1]]$follow_up$horizon, NULL, call)
}

# Errors say in which group they arose; the rows they name are counted within it.
in_group <- function(value, keys, g, call, rows = NULL) {
  rlang::try_fetch(value, error = function(cnd) {
    row <- if (is.null(cnd$row)) NULL else rows[cnd$row]
    stop_input("In group {.val {group_label(keys, g)}}.",
               "i" = if (!is.null(row)) "Its row {cnd$row} is row {row} of the data.", class = "group", row = row,
               parent = cnd, call = call)
  })
}

# The same for functions that return an object: one per group (see R/grouped.R).
objects_by_groups <- function(x, by, fn, call = caller_env()) {
  if (missing(x)) stop_no_predictions(call)
  if (is_read(x)) return(fn(x))
  x <- read_results(x, call)
  groups <- find_groups(x, by, call)
  if (is.null(groups)) return(as_counted(collect_kept(fn(x), "designs")))
  x <- ungroup_frame(x)
  new_grouped(groups$keys, run_groups(groups, function(rows) {
    as_counted(collect_kept(fn(vctrs::vec_slice(x, rows)), "designs"))
  }, call))
}

# `by` is a quosure. NULL where there are no groups.
find_groups <- function(x, by, call) {
  by_given <- !rlang::quo_is_null(by)
  if (!is.data.frame(x)) {
    stop_if(by_given, "{.arg .by} needs a data frame.", "x" = "{.arg x} is {.cls {class(x)[1]}}.", by_remedy(call),
            class = "group", arg = ".by", call = call)
    return(NULL)
  }
  grouped <- inherits(x, "grouped_df")
  stop_if(by_given && grouped, "{.arg .by} cannot be used with a grouped data frame.",
          "i" = "Ungroup it, or drop {.arg .by}.", class = "group", arg = ".by", call = call)
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
  columns <- select_columns(by, x, ".by", call)
  # a selection of no column groups nothing, as `.by = all_of(character())` of a program
  if (nrow(x) == 0 || length(columns) == 0) return(NULL)
  loc <- vctrs::vec_group_loc(ungroup_frame(x)[unname(columns)])
  loc <- vctrs::vec_slice(loc, level_order(loc$key))
  list(keys = tibble::as_tibble(loc$key), rows = as.list(loc$loc))
}

# Vectors as columns of one data frame.
by_remedy <- function(call) {
  typed <- typed_call(call)
  parts <- lapply(c("x", "truth", ".by"), function(name) typed_argument(typed, name))
  line <- if (!any(vapply(parts, is.null, NA)) && !is.matrix(get0("x", call, inherits = FALSE))) {
    frame <- as.call(c(quote(data.frame), setNames(parts, c("p", "y", "group"))))
    others <- !names(typed$places) %in% c("x", "truth", ".by", "")
    line_text(as.call(c(typed$expr[[1]], frame, quote(y), quote(p), typed$args[typed$places[others]],
                        list(.by = quote(group)))))
  }
  remedy("Put the predictions, the truth and the group in one data frame", line)
}

# As in grouped data frames: levels of factors in their order, all else sorted, text as in the C locale.
level_order <- function(keys) {
  do.call(order, c(unname(lapply(keys, vctrs::vec_proxy_order)), list(method = "radix")))
}

ungroup_frame <- function(x) {
  if (is_plain_tibble(x)) return(x)
  attr(x, "groups") <- NULL
  tibble::as_tibble(as.data.frame(x))
}

group_label <- function(keys, g) {
  key <- vctrs::vec_slice(keys, g)
  paste0(names(key), " = ", vapply(key, function(v) format(v)[1], ""), collapse = ", ")
}

# Those of all rows of a table of keys, "" without keys.
key_labels <- function(keys) {
  if (ncol(keys) == 0) return(rep("", nrow(keys)))
  vapply(seq_len(nrow(keys)), function(g) group_label(keys, g), "")
}
