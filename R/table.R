# Result tables: tibbles that say what was estimated above their rows. The estimand is a named character vector; it is
# an attribute, so that the columns stay plain.

new_table <- function(x, estimand, class) {
  attr(x, "estimand") <- estimand
  # as_tibble() would check the names that are there
  class(x) <- unique(c(class, "ce_table", "ce_result", "tbl_df", "tbl", "data.frame"))
  x
}

is_plain_tibble <- function(x) identical(class(x), c("tbl_df", "tbl", "data.frame"))

# tibble() would take longer than most metrics; columns do not see those before them.
columns_frame <- function(...) as_columns_frame(rlang::list2(...))

# Plain columns of one length with names of their own, as most are, need no rules of vctrs either.
as_columns_frame <- function(columns) {
  plain <- cpp_plain_table(columns)
  if (!is.null(plain)) return(plain)
  columns <- vctrs::df_list(!!!columns)
  tibble::new_tibble(columns, nrow = vctrs::vec_size_common(!!!columns))
}

# Tables with the same columns as one.
bind_rows <- function(tables) if (length(tables) == 1) tables[[1]] else vctrs::vec_rbind(!!!tables)

#' @importFrom tibble tbl_sum
#' @method tbl_sum ce_result
#' @export
tbl_sum.ce_result <- function(x, ...) c(attr(x, "estimand"), read_lines(x), NextMethod())

# Which outcome is the event, and whom survival outcomes are of: see design_sentence().
read_lines <- function(x) {
  said <- attr(x, "design")
  c(Event = attr(x, "event", exact = TRUE), if (!is.null(said)) c(Rows = paste(sub("[.]$", "", said), collapse = "; ")))
}

# The same in a print that is not a table, of an object that holds it as `counted`: below its header.
counted_line <- function(x) if (length(x$counted) > 0) paste0(paste(strwrap(x$counted), collapse = "\n"), "\n")

# Columns may be gone, or text, such as numbers that were formatted: what is left is printed as a tibble.
has_columns <- function(x, numbers, others = character()) {
  counts <- function(v) is.numeric(v) || is.logical(v)
  all(others %in% names(x)) && all(vapply(unclass(x)[numbers], counts, NA))
}

# Whole column names and the rest below, rather than all columns with names cut to five letters.
#' @export
print.ce_table <- function(x, ...) {
  if (is.null(getOption("pillar.min_title_chars"))) {
    old <- options(pillar.min_title_chars = 15L)
    on.exit(options(old))
  }
  # a whole table: of another one somebody has chosen the columns
  if ("n" %in% names(x)) {
    plain <- Filter(function(name) !is.logical(x[[name]]) || !any(x[[name]] %in% FALSE), few_ask_for)
    x <- x[setdiff(names(x), c(plain, if (all(x[["method"]] %in% "adaptive")) "method"))]
  }
  NextMethod()
}

# Columns that stay in the object, since few ask for them: unless a flag among them says no, or a method is chosen.
few_ask_for <- c("lower_bound", "upper_bound", "resolution", "injective", "measures", "converged", "power", "debias",
                 "interval")

# Prints the columns of yardstick, the interval, and the columns that differ between rows. The header has the values
# that all rows share; with groups also the metric, to leave room for the interval.
#' @export
print.ce_metrics <- function(x, ...) {
  # without .metric somebody has chosen columns
  if (!".metric" %in% names(x)) return(NextMethod())
  keys <- names(x)[seq_len(match(".metric", names(x)) - 1)]
  estimates <- c(".metric", ".estimator", ".estimate", "std.error", "conf.low", "conf.high", "p.value")
  if (length(keys) > 0 && nrow(x) > 1) estimates <- setdiff(estimates, c(".metric", ".estimator"))
  others <- setdiff(names(x), c(keys, estimates))
  columns <- unclass(x)
  shared <- others[vapply(columns[others], function(column) {
    length(column) == 1 || !is.list(column) && length(unique(column)) == 1
  }, NA)]
  said <- setdiff(shared, few_ask_for)
  first <- intersect(c(keys, ".metric", ".estimator", estimates), names(x))
  shown <- tibble::new_tibble(columns[setdiff(union(first, names(x)), shared)], nrow = nrow(x))
  same <- if (length(said) > 0) paste0("; ", if (nrow(x) > 1) "of all: ", shared_text(columns[said]))
  size <- paste0(count_of(nrow(x), "row"), ", ", length(columns), " columns", same)
  attr(shown, "estimand") <- c(attr(x, "estimand"), read_lines(x), Metrics = size)
  class(shown) <- c("ce_shown", "ce_table", class(shown))
  print(shown, ...)
  invisible(x)
}

# "n 332, notion binary"; missing values tell nothing, lists are only named.
shared_text <- function(columns) {
  text <- vapply(columns, function(column) {
    if (is.list(column)) return("(list)")
    if (!is.numeric(column)) return(as.character(column[1]))
    if (column[1] %in% trunc(column[1])) count_text(column[1]) else format(signif(column[1], 4))
  }, "")
  toString(paste(names(text), text)[!is.na(text) & text != "NA"])
}

#' @method tbl_sum ce_shown
#' @export
tbl_sum.ce_shown <- function(x, ...) attr(x, "estimand")

# Errors that are sums over groups of observations: the list column `groups` holds the terms.
with_terms <- function(x) {
  if (!"groups" %in% names(x)) return(x)
  class(x) <- unique(c("ce_terms", class(x)))
  x
}

#' @export
print.ce_terms <- function(x, ...) {
  NextMethod()
  if ("groups" %in% names(x)) {
    cat("\nTerms of the groups:\n")
    print(tidy(x), ...)
  }
  invisible(x)
}

#' Results as plain tables
#'
#' `tidy()` returns every result of this package as a plain tibble, with the column names that broom uses. `glance()`
#' returns one row per result; so does `summary()` of a result other than a table.
#'
#' @param x,object A table of results: of a metric, [ce_panel()], [ce_compare()], [ce_risk()], [ce_gain()],
#'   [ce_hierarchy()], [ce_decompose()] and others.
#' @param ... Not used.
#' @return A tibble with the rows of `x`, without list columns. Columns of groups come first. `term` is the name of the
#'   number (`.metric` or `quantity` in `x`), and `estimate` is the number (`.estimate`, `risk`, `gain`, `value` or
#'   `difference` in `x`), to which `std.error`, `conf.low`, `conf.high` and `p.value` belong. Other columns keep their
#'   names. If a metric is a sum over bins (`groups` in `x`), `tidy()` returns the terms of that sum, and `glance()` its
#'   value. For a table with one number, or one number per group, `glance()` returns the same as `tidy()`.
#' @section Errors:
#' `calibrisk_error_argument` for `glance()` of a table of several numbers, which have no summary in one row.
#' @name ce_tables
#' @export
#' @examples
#' tidy(ece(vehicle_predictions, truth))
#' tidy(ce_panel(vehicle_predictions, truth))
tidy.ce_result <- function(x, ...) {
  columns <- as.list(x)[!vapply(x, is.list, NA)]
  names <- names(columns)
  number <- intersect(c("estimate", ".estimate", "risk", "gain", "value", "difference"), names)
  names[match(number[1], names, 0)] <- "estimate"
  names[match(c(".metric", "quantity"), names, 0)] <- "term"
  names[match(".estimator", names, 0)] <- "estimator"
  tibble::new_tibble(stats::setNames(columns, names), nrow = nrow(x))
}

#' @rdname ce_tables
#' @export
glance.ce_result <- function(x, ...) {
  stop_if(nrow(x) > 1 && !(".metric" %in% names(x) && length(unique(x$.metric)) == 1),
          "A table of several numbers has no summary in one row.", "i" = "Use {.fn tidy}.", arg = "x")
  tidy.ce_result(x)
}

#' @rdname ce_tables
#' @export
summary.ce_result <- function(object, ...) if (is.data.frame(object)) NextMethod() else glance(object)

# A result that is a list becomes its tidy() table.
#' @export
as.data.frame.ce_result <- function(x, row.names = NULL, optional = FALSE, ...) {
  if (is.data.frame(x)) return(NextMethod())
  as.data.frame(tidy(x), row.names, optional, ...)
}

# The groups of every row: first what tells the rows apart, the columns of `.by`.
#' @export
tidy.ce_terms <- function(x, ...) {
  if (!"groups" %in% names(x)) return(NextMethod())
  keys <- seq_len(match(".metric", names(x), nomatch = 1) - 1)
  plain <- tibble::as_tibble(vctrs::new_data_frame(unclass(x), n = nrow(x)))
  parts <- lapply(seq_len(nrow(x)), function(i) {
    terms <- x$groups[[i]]
    # rows whose value is missing have no terms
    if (is.null(terms)) return(NULL)
    vctrs::vec_cbind(vctrs::vec_rep(vctrs::vec_slice(plain[keys], i), nrow(terms)), terms)
  })
  vctrs::vec_rbind(!!!parts)
}

# A whole number below 1,000, on which every setting of format() agrees; else NULL. format() takes 30 times as long.
small_text <- function(n) if (length(n) == 1 && !is.na(n) && n >= 0 && n < 1000 && n == trunc(n)) as.character(n)

# 12,345; with a decimal comma 12.345.
count_text <- function(n) {
  point <- getOption("OutDec")
  small_text(n) %||% format(n, big.mark = if (identical(point, ",")) "." else ",", decimal.mark = point, trim = TRUE,
                            scientific = FALSE)
}

# "1 row", "2,000 rows"
count_of <- function(n, what) paste0(count_text(n), " ", what, if (!isTRUE(n == 1)) "s")

first_upper <- function(text) paste0(toupper(substr(text, 1, 1)), substring(text, 2))

# "95%", of each; with as many digits after the point as asked for, else as many as it has.
percent_text <- function(share, digits = NULL) {
  number <- function(v) {
    if (is.null(digits)) small_text(v) %||% format(v, digits = 7) else formatC(v, digits, format = "f")
  }
  paste0(vapply(100 * share, number, ""), "%", recycle0 = TRUE)
}

# Digits after the point of a number and its limits, at least `digits`: two significant ones of the largest of them, one
# of the width of the interval, and two of the number if its standard error, a quarter of that width, has as many.
printed_digits <- function(estimate, low = NA, high = NA, digits = 3) {
  places <- function(v) ifelse(is.finite(v) & v > 0, ceiling(-log10(v) - 1e-9), -Inf)
  size <- pmax(abs(estimate), abs(low), abs(high), na.rm = TRUE)
  number <- pmin(places(abs(estimate)), places((high - low) / 4)) + 1
  pmin(pmax(digits, places(size) + 1, places(high - low), number), 15)
}

# 0.040, not -0.000
fixed_text <- function(v, digits = printed_digits(v)) {
  digits <- rep_len(digits, length(v))
  vapply(seq_along(v), function(i) formatC(round(v[i], digits[i]) + 0, digits = digits[i], format = "f"), "")
}

# "0.092 (0.055 to 0.131)"; with a level "0.092 (95% CI 0.055 to 0.131)".
interval_text <- function(estimate, low, high, digits = 3, level = NULL) {
  digits <- printed_digits(estimate, low, high, digits)
  text <- ifelse(is.na(estimate), "", trimws(fixed_text(estimate, digits)))
  limits <- paste0("(", if (!is.null(level)) paste0(percent_text(level), " CI "), fixed_text(low, digits), " to ",
                   fixed_text(high, digits), ")")
  ifelse(is.na(low) | is.na(high), text, trimws(paste(text, limits)))
}

# Lines on the rows that all prints and pages share: a hint if the event may not be the one that was meant, how the rows
# count (design_sentence()), and how many were dropped.
facts_lines <- function(hint = NULL, design = NULL, dropped = 0) c(hint, design, dropped_text(dropped))

dropped_text <- function(dropped) {
  if (!isTRUE(dropped > 0)) return(NULL)
  paste0(count_text(dropped), " incomplete ", if (dropped == 1) "row was" else "rows were", " dropped.")
}

# Each line on its own, wrapped.
print_lines <- function(lines) if (length(lines) > 0) writeLines(strwrap(lines, exdent = 2))

# The pages of several models, groups or classes.
print_pages <- function(n, page, most = 20) {
  for (i in seq_len(min(n, most))) page(i)
  if (n > most) print_lines(paste0("The first ", most, " of ", count_text(n), " are printed; tidy() has all."))
}

# The names of a list, defaults where there are none, made unique.
list_names <- function(x, defaults) {
  names <- names(x) %||% rep("", length(x))
  check_text(names, "names")
  names[names == ""] <- defaults[names == ""]
  make.unique(names, sep = "_")
}

group_label <- function(keys, g) {
  key <- vctrs::vec_slice(keys, g)
  paste0(names(key), " = ", vapply(key, function(v) format(v)[1], ""), collapse = ", ")
}

# A plain tibble. Columns that nobody uses may have the same name, or none, which is then "...4" by their place.
ungroup_frame <- function(x) {
  names <- names(x)
  unnamed <- is.na(names) | !nzchar(names)
  if (any(unnamed)) names(x)[unnamed] <- paste0("...", which(unnamed))
  if (is_plain_tibble(x)) return(x)
  attr(x, "groups") <- NULL
  if (!identical(class(x), "data.frame")) return(tibble::as_tibble(as.data.frame(x), .name_repair = "minimal"))
  # what as_tibble() makes of it, in a tenth of the time
  structure(x, row.names = .set_row_names(nrow(x)), class = c("tbl_df", "tbl", "data.frame"))
}

# The columns whose names are theirs alone, which an expression can mean.
data_mask <- function(x) if (anyDuplicated(names(x)) > 0) x[!names(x) %in% names(x)[duplicated(names(x))]] else x
