# Groups whose data do not suffice, where others do: their rows are NA, and one warning names them. Wrong arguments
# and wrong values remain errors.

# The error among `cnd` and its parents that says that the data do not suffice.
data_condition <- function(cnd) {
  while (!is.null(cnd)) {
    if (inherits(cnd, c("calibrisk_error_rows", "calibrisk_error_empty", "calibrisk_error_degenerate"))) return(cnd)
    cnd <- cnd$parent
  }
}

warn_groups <- function(keys, parts, failed) {
  at <- which(failed)
  shown <- utils::head(at, 3)
  reasons <- vapply(shown, function(g) {
    cnd <- data_condition(parts[[g]])
    paste(c(paste0(group_label(keys, g), ":"), rlang::cnd_header(cnd), unname(cnd$body["x"])), collapse = " ")
  }, "")
  warn_result("{length(at)} of {length(parts)} groups {cli::qty(length(at))}{?has/have} too little data and {?is/are} \\
               missing (NA).", "x" = "{reasons[1]}", "x" = if (length(at) > 1) "{reasons[2]}",
              "x" = if (length(at) > 2) "{reasons[3]}", "i" = if (length(at) > 3) "{length(at) - 3} more.",
              class = "group", groups = vctrs::vec_slice(keys, at))
}

# Columns of groups stand beside these.
check_keys_free <- function(keys, names) {
  clash <- intersect(names(keys), names)
  stop_if(length(clash) > 0, "A column of groups must not have the name of a column of the result.",
          "x" = "It is {.field {clash}}.", "i" = "Rename it in the data.", class = "group", arg = ".by")
}

# Results, or errors, of groups -> one table, groups first.
bind_parts <- function(keys, parts) {
  failed <- vapply(parts, rlang::is_error, NA)
  worked <- parts[!failed]
  if (length(worked) > 0) check_keys_free(keys, names(worked[[1]]))
  parts[failed] <- lapply(parts[failed], function(cnd) missing_part(worked, data_condition(cnd)$n))
  vctrs::vec_rbind(!!!Map(function(g, part) {
    vctrs::vec_cbind(vctrs::vec_rep(vctrs::vec_slice(keys, g), nrow(part)), part)
  }, seq_along(parts), parts))
}

# The rows of a group that worked, without what was computed from them. `n`: rows that were complete.
missing_part <- function(worked, n) {
  like <- worked[[1]]
  choices <- c("level", "p", "target", if (nrow(like) > 1) c("n_bins", "term"))
  for (name in names(like)) {
    column <- like[[name]]
    # for a kernel's description the bandwidth may be the rows'
    kept <- if (is.numeric(column)) name %in% choices else !is.list(column) &&
      !name %in% c("kernel", "target_kernel", "target_computation") &&
      all(vapply(worked, function(part) identical(part[[name]], column), NA))
    if (!kept) like[[name]] <- vctrs::vec_init(column, nrow(like))
  }
  if (!is.null(n) && "n" %in% names(like)) like$n <- vctrs::vec_rep(vctrs::vec_cast(n, like$n), nrow(like))
  like
}
