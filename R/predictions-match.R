# Which column is the probability of which level: the one place where names of columns are compared with levels.

# The column of every level; NULL if the names do not say it. Names match exactly, or with a prefix and a suffix that
# all of them have, and then up to letter case and what make.names() changes. `more`: other levels may have columns.
matched_columns <- function(names, levels, more = FALSE) {
  if (length(names) != length(levels) && !(more && length(names) > length(levels))) return(NULL)
  if (anyDuplicated(names) > 0) return(NULL)
  at <- match(levels, names)
  if (!anyNA(at)) return(at)
  # what has no valid characters has no prefix or letter case
  if (!all(validUTF8(c(names, levels)))) return(NULL)
  match_affixed(names, levels) %||% match_affixed(plain_name(names), plain_name(levels)) %||%
    match_affixed(plain_name(names), plain_name(make.names(levels)))
}

plain_name <- function(text) gsub("[^[:alnum:]]", ".", tolower(text))

# The text before and after a level is that around the longest one, in any of the names.
match_affixed <- function(names, levels) {
  if (anyDuplicated(names) > 0 || anyDuplicated(levels) > 0) return(NULL)
  longest <- levels[which.max(nchar(levels))]
  for (name in names[grepl(longest, names, fixed = TRUE)]) {
    for (start in gregexpr(longest, name, fixed = TRUE)[[1]]) {
      before <- substr(name, 1, start - 1)
      after <- substring(name, start + nchar(longest))
      at <- match(paste0(before, levels, after), names)
      if (!anyNA(at) && all(startsWith(names, before) & endsWith(names, after))) return(at)
    }
  }
}

# The column of every level: by name, else that of `position`, which a message says; an error if some names match.
column_order <- function(names, levels, arg = "x", what = "levels of `truth`", position = seq_along(levels)) {
  names <- names %||% character(length(levels))
  names[is.na(names)] <- ""
  if (!any(nzchar(names))) {
    if (!in_numeric_order(levels)) tell_column_order(names, levels, position)
    return(position)
  }
  at <- matched_columns(names, levels)
  if (!is.null(at)) return(at)
  if (any(names_level(names, levels))) stop_columns(names, levels, arg, what)
  tell_column_order(names, levels, position)
  position
}

# Which of the levels are a name, or a word of one.
names_level <- function(names, levels) {
  if (!all(validUTF8(c(names, levels)))) return(levels %in% names)
  framed <- function(text) paste0(".", plain_name(text), ".")
  names <- framed(names)
  has <- function(text) vapply(framed(text), function(word) any(grepl(word, names, fixed = TRUE)), NA)
  grepl("[^.]", framed(levels)) & (has(levels) | has(make.names(levels)))
}

stop_columns <- function(names, levels, arg = "x", what = "levels of `truth`") {
  absent <- levels[!names_level(names, levels)]
  stop_input("Names of probability columns must match all {what}, or none.",
             "x" = if (length(absent) > 0) "There is no column of {.val {absent}}." else
               "They have no prefix or suffix in common.",
             "x" = "Columns: {.val {names}}.", "x" = "Levels: {.val {levels}}.",
             "i" = "Name all columns {.code .pred_<level>}. The columns of a matrix without names are in the order of \\
                    the levels.", class = c("columns", "argument"[arg != "x"]), arg = arg, columns = names,
             levels = levels)
}

# FALSE for numbers after one stem that are sorted as text, such as "1", "10", "2".
in_numeric_order <- function(levels) {
  number <- suppressWarnings(as.numeric(sub("^[^0-9]*", "", levels)))
  anyNA(number) || length(unique(sub("[0-9].*", "", levels))) > 1 || !is.unsorted(number)
}

# `at`: the column of every level.
tell_column_order <- function(names, levels, at) {
  pairs <- paste(ifelse(nzchar(names[at]), names[at], paste("column", at)), "=", levels)
  if (length(pairs) > 30) pairs <- c(pairs[1:30], paste(length(pairs) - 30, "more"))
  fact <- if (any(nzchar(names))) "names of the probability columns match no level" else
    "probability columns have no names"
  tell("i" = "The {fact}, so they are taken in the order of the levels: {toString(pairs)}.",
       "i" = "Name them {.code .pred_<level>} if this is wrong.", class = "columns", key = toString(pairs),
       columns = names, levels = levels)
}

probability_words <- "(p|pr|prob|probs|proba|probability|pred|predicted|prediction|phat|risk|score|posterior|class)"

# The level that the name of a lone column says, beside words for a probability; NULL if none.
named_level <- function(column, levels) {
  if (is.null(column) || is.na(column) || !all(validUTF8(c(column, levels)))) return(NULL)
  # most names have no level in them, nor what make.names() adds to
  plain <- plain_name(c(levels, column))
  if (!any(vapply(plain[seq_along(levels)], grepl, NA, plain[length(plain)], fixed = TRUE))) return(NULL)
  plain <- plain[seq_along(levels)]
  cores <- column
  for (times in c("", "+")) {
    before <- sub(paste0("(?i)^[.]?(", probability_words, "[._ -])", times), "", column, perl = TRUE)
    after <- paste0("(?i)([._ -]", probability_words, ")+$")
    cores <- c(cores, before, sub(after, "", c(before, column), perl = TRUE))
  }
  made <- plain_name(make.names(levels))
  found <- c(match(cores, levels), match(plain_name(cores), plain), match(plain_name(cores), made))
  found[!is.na(found)][1] %|% NULL
}
