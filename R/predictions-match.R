# Which column is the probability of which level: the one place where names of columns are compared with levels.

# The column of every level, by their names; NULL if the names do not say it one to one. Names match exactly, or after a
# common prefix or suffix, letter case and what make.names() changes, or each after a word for a probability.
matched_columns <- function(names, levels) {
  if (length(names) != length(levels) || anyDuplicated(names) > 0) return(NULL)
  at <- match(levels, names)
  if (!anyNA(at)) return(at)
  # what has no valid characters has no prefix or letter case
  if (!all(validUTF8(c(names, levels)))) return(NULL)
  for (texts in name_forms(names, levels)) {
    at <- match_affixed(texts$names, texts$levels)
    if (!is.null(at)) return(at)
  }
  at <- match(seq_along(levels), named_levels(names, levels))
  if (!anyNA(at)) at
}

# Names and levels made comparable, from the strictest form to the loosest; without forms in which two levels are one.
name_forms <- function(names, levels) {
  plain <- function(text) gsub("[^[:alnum:]]", ".", text)
  made <- make.names(levels)
  forms <- list(identity, tolower, plain, function(text) tolower(plain(text)))
  out <- lapply(forms, function(form) {
    lapply(list(levels, made), function(of) list(names = form(names), levels = form(of)))
  })
  Filter(function(texts) anyDuplicated(texts$levels) == 0, unlist(out, FALSE))
}

# All names are levels with the same text before and after. Its length follows from the numbers of characters.
match_affixed <- function(names, levels) {
  size <- (sum(nchar(names)) - sum(nchar(levels))) / length(levels)
  if (size < 0 || size != round(size)) return(NULL)
  first <- names[1]
  for (before in 0:size) {
    prefix <- substr(first, 1, before)
    suffix <- substring(first, nchar(first) - (size - before) + 1)
    at <- match(paste0(prefix, levels, suffix), names)
    if (!anyNA(at)) return(at)
  }
  NULL
}

probability_words <- paste0("(p|pr|prob|probs|proba|probability|pred|predicted|prediction|phat|risk|score|posterior|",
                            "class)")

# The level that each name says on its own, NA if none: the level itself, in some form, with or without words for a
# probability before or after it.
named_levels <- function(names, levels) {
  out <- match(names, paste0(".pred_", levels))
  out[is.na(out)] <- match(names[is.na(out)], levels)
  if (!anyNA(out) || !all(validUTF8(c(names, levels)))) return(out)
  for (cores in name_cores(names)) {
    for (texts in name_forms(cores, levels)) {
      found <- match(texts$names, texts$levels)
      out[is.na(out)] <- found[is.na(out)]
    }
  }
  out
}

# Names without up to three words before and two after the level.
name_cores <- function(names) {
  before <- further_cores(list(names), paste0("^[.]?", probability_words, "[._ -]"), 3)
  further_cores(before, paste0("[._ -]", probability_words, "$"), 2)
}

# `cores`, and what is left of them without the pattern, up to so many times.
further_cores <- function(cores, pattern, times) {
  newest <- cores
  for (i in seq_len(times)) {
    more <- unique(c(cores, lapply(newest, function(text) sub(pattern, "", text, ignore.case = TRUE))))
    newest <- more[-seq_along(cores)]
    if (length(newest) == 0) break
    cores <- more
  }
  cores
}

# The levels that single names say, where the names do not say all of them: also after a common prefix or suffix.
partly_named <- function(names, levels) {
  best <- named_levels(names, levels)
  if (any(!is.na(best)) || !all(validUTF8(c(names, levels)))) return(best)
  for (cores in shared_cores(names)) {
    for (texts in name_forms(cores, levels)) {
      found <- match(texts$names, texts$levels)
      if (sum(!is.na(found)) > sum(!is.na(best))) best <- found
    }
  }
  best
}

# Names without what all of them begin and end with, or a part of it; the whole names first.
shared_cores <- function(names) {
  if (length(names) < 2) return(list(names))
  size <- nchar(names)
  shared <- function(part) {
    sum(cumprod(vapply(seq_len(min(size)), function(i) length(unique(part(i))) == 1, NA)))
  }
  front <- shared(function(i) substr(names, i, i))
  back <- shared(function(i) substr(names, size - i + 1, size - i + 1))
  cuts <- expand.grid(after = 0:back, before = 0:front)
  cuts <- cuts[cuts$before + cuts$after <= min(size), ]
  Map(function(before, after) substr(names, before + 1, size - after), cuts$before, cuts$after)
}

# The column of every level: by name, else that of `position`, which a message says; an error if some names match.
column_order <- function(names, levels, arg = "x", what = "levels of `truth`", position = seq_along(levels)) {
  names[is.na(names)] <- ""
  # NULL too
  if (!any(nzchar(names))) {
    if (!in_numeric_order(levels)) tell_column_order(rep("", length(levels)), levels, position)
    return(position)
  }
  at <- matched_columns(names, levels)
  if (!is.null(at)) return(at)
  named <- partly_named(names, levels)
  # the one column without a name is that of the one level without a column
  if (sum(!nzchar(names)) == 1 && sum(is.na(named)) == 1 && anyDuplicated(stats::na.omit(named)) == 0) {
    named[is.na(named)] <- setdiff(seq_along(levels), named)
    return(order(named))
  }
  if (any(!is.na(named))) stop_partly_named(names, levels, named, arg, what)
  tell_column_order(names, levels, position)
  position
}

stop_partly_named <- function(names, levels, named, arg = "x", what = "levels of `truth`") {
  hit <- which(!is.na(named))
  twice <- hit[named[hit] %in% named[hit][duplicated(named[hit])]]
  pair <- twice[named[twice] == named[twice[1]]]
  stop_input(
    "Names of probability columns must match all {what}, or none.",
    "x" = if (length(twice) > 0) {
      "Columns {.val {names[pair]}} are all named after {.val {levels[named[pair[1]]]}}."
    } else if (length(hit) == length(names)) {
      "There is no column of {.val {levels[-named]}}."
    } else {
      "{cli::qty(length(hit))}{.val {names[hit]}} {?is/are} named after {.val {levels[named[hit]]}}, but \\
       {.val {names[is.na(named)]}} after none of them."
    },
    "x" = "Columns: {.val {names}}.", "x" = "Levels: {.val {levels}}.",
    "i" = "Name all columns {.code .pred_<level>}. The columns of a matrix without names are in the order of the \\
           levels.", class = c("columns", "argument"[arg != "x"]), arg = arg, columns = names, levels = levels
  )
}

# FALSE for numbers after one stem that are sorted as text, such as "1", "10", "2".
in_numeric_order <- function(levels) {
  number <- suppressWarnings(as.numeric(sub("^[^0-9]*", "", levels)))
  anyNA(number) || length(unique(sub("[0-9].*", "", levels))) > 1 || !is.unsorted(number)
}

# `at`: the column of every level.
tell_column_order <- function(names, levels, at, most = 30) {
  pairs <- paste(ifelse(nzchar(names[at]), names[at], paste("column", at)), "=", levels)
  if (length(pairs) > most) pairs <- c(pairs[seq_len(most)], paste(length(pairs) - most, "more"))
  fact <- if (any(nzchar(names))) "names of the probability columns match no level" else
    "probability columns have no names"
  tell("i" = "The {fact}, so they are taken in the order of the levels: {toString(pairs)}.",
       "i" = "Name them {.code .pred_<level>} if this is wrong.", class = "columns", key = toString(pairs),
       columns = names, levels = levels)
}

# The level that the name of a lone column says, NULL if none.
named_level <- function(column, levels) {
  if (is.null(column) || is.na(column)) return(NULL)
  at <- named_levels(column, levels)
  if (!is.na(at)) at
}
