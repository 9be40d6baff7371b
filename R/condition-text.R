# The words of conditions, in the mark-up of cli: "{.arg {arg}} must be one of {.or {.val {choices}}}." R asks for the
# text of each condition, also of those that are caught or muffled, and cli takes 5 ms and more for each span. So
# text without colours, links and themes is made here, in a tenth of the time; anything else by cli.

# Each template with the values of `envir`, as cli::format_inline() gives it.
inline_text <- function(message, envir) {
  plain <- plain_output()
  message[] <- vapply(message, function(text) {
    (if (plain) plain_inline(text, envir)) %||% cli::format_inline(text, .envir = envir)
  }, "")
  message
}

# All of them as the lines of a condition, as `format`, cli::format_warning() or cli::format_message(), gives them.
bullet_text <- function(message, envir, format) {
  (if (plain_output()) {
    lines <- lapply(message, plain_inline, envir)
    if (!any(vapply(lines, is.null, NA))) plain_bullets(unlist(lines))
  }) %||% format(message, .envir = envir)
}

# Text without colours, in cli's own style.
plain_output <- function() {
  is.null(getOption("cli.theme")) && is.null(getOption("cli.user_theme")) &&
    !isTRUE(getOption("cli.hyperlink")) && cli::num_ansi_colors() == 1
}

# `x` between marks, two of them where it has one in itself.
ticks <- function(x, after = "`") {
  twice <- grepl("`", x, fixed = TRUE)
  paste0(ifelse(twice, "`` ", "`"), x, ifelse(twice, paste0(" ", after, "`"), after))
}

plain_spans <- list(
  arg = ticks,
  code = ticks,
  fn = function(x) ticks(x, "()`"),
  help = function(x) ticks(paste0("?", x), "()`"),
  val = function(x) cli::cli_format(x, list()),
  cls = function(x) paste0("<", paste(x, collapse = "/"), ">"),
  url = function(x) paste0("<", x, ">"),
  field = identity,
  pkg = identity
)

# NULL where a template has what is left to cli: another span, or a plural before its number.
plain_inline <- function(text, envir) {
  values <- list()
  write <- function(text, span = identity, last = "and") {
    done <- ""
    while ((open <- regexpr("{", text, fixed = TRUE)) > 0) {
      close <- closing_brace(text, open)
      part <- write_braces(substr(text, open + 1, close - 1), span, last)
      if (is.null(part)) return()
      done <- paste0(done, unescape_braces(substr(text, 1, open - 1)), part)
      text <- substring(text, close + 1)
    }
    paste0(done, unescape_braces(text))
  }
  write_braces <- function(code, span, last) {
    # of "{{"
    if (!nzchar(code)) return("{")
    switch(substr(code, 1, 1), "?" = plural_form(code, values), "." = write_span(code, last), {
      value <- eval(str2lang(code), envir)
      values <<- list(value)
      if (inherits(value, "cli_noprint")) "" else list_text(span(one_line(value)), last)
    })
  }
  write_span <- function(code, last) {
    name <- sub("^[.]([a-z]+)[[:space:]].*", "\\1", code)
    inner <- sub("^[.][a-z]+[[:space:]]+", "", code)
    if (name == "or") return(write(inner, last = "or"))
    span <- plain_spans[[name]]
    if (is.null(span)) return()
    # a value alone is marked element by element
    alone <- grepl("^[{][^{?]", inner) && closing_brace(inner, 1) == nchar(inner)
    if (alone) return(write(inner, span, last))
    done <- write(inner, last = last)
    if (!is.null(done)) span(one_line(done))
  }
  write(text)
}

# The place of the brace that closes the one at `open`; of "{{" it is the second.
closing_brace <- function(text, open) {
  if (substr(text, open + 1, open + 1) == "{") return(open + 1)
  at <- gregexpr("[{}]", text)[[1]]
  at <- at[at >= open]
  at[cumsum(ifelse(substring(text, at, at) == "{", 1, -1)) == 0][1]
}

unescape_braces <- function(text) gsub("}}", "}", text, fixed = TRUE)

one_line <- function(x) if (is.character(x)) gsub("\n", " ", x, fixed = TRUE) else x

list_text <- function(x, last) {
  x <- paste0(x)
  if (length(x) == 1) return(x)
  cli::ansi_collapse(x, last = paste0(if (length(x) > 2) ", " else " ", last, " "), trunc = 20)
}

# The form of "?is/are" or "?s" for the last of `values`, a number or things to count.
plural_form <- function(code, values) {
  if (length(values) == 0) return()
  forms <- strsplit(paste0(substring(code, 2), "/ "), "/", fixed = TRUE)[[1]]
  forms <- forms[-length(forms)]
  value <- values[[1]]
  n <- if (is.numeric(value) && length(value) > 0) as.integer(value) else length(value)
  switch(length(forms), if (n == 1) "" else forms, forms[(n != 1) + 1], forms[min(n, 2) + 1])
}

# The text of an error of the package, whose causes are too.
plain_message <- function(cnd) {
  if (!is.null(cnd$rlang)) return()
  text <- plain_bullets(c(cnd$message, cnd$body), "Error: ")
  if (is.null(cnd$parent) || is.null(text)) return(text)
  cause <- plain_cause(cnd$parent)
  if (!is.null(cause)) paste0(text, "\n", cause)
}

plain_cause <- function(cnd) {
  # of calls that have a place in a file rlang says it
  if (!inherits(cnd, "calibrisk_error") || !is.null(attr(cnd$call, "srcref"))) return()
  if (!nzchar(rlang::names2(cnd$message)[1])) names(cnd$message) <- "!"
  text <- plain_message(cnd)
  said_in <- paste(c("Caused by error", rlang::format_error_call(cnd$call)), collapse = " in ")
  if (!is.null(text)) paste0(said_in, ":\n", text)
}

# Lines with their bullets, wrapped; `before` takes its width from the first one. NULL where a line has another bullet,
# or letters and breaks that are left to cli.
plain_bullets <- function(lines, before = "") {
  bullets <- names(lines) %||% rep("", length(lines))
  # a line of the source that goes on in the next one
  lines <- gsub(" \\\\\n *", " ", lines)
  if (!all(bullets %in% c("", "x", "i", "!")) || !all(grepl("^[ -~]*$", lines, useBytes = TRUE))) return()
  unicode <- getOption("cli.condition_unicode_bullets") %||% cli::is_utf8_output()
  marks <- c(x = if (unicode) "\u2716" else "x", i = if (unicode) "\u2139" else "i", "!" = "!")[bullets]
  marked <- !is.na(marks)
  if (!marked[1]) lines[1] <- paste0(before, lines[1])
  lines[marked] <- paste0(marks[marked], "\u00a0", lines[marked])
  # one space, or two after a sentence
  lines <- gsub("(?<![.!?]) +", " ", gsub("(?<=[.!?]) {2,}", "  ", trimws(lines), perl = TRUE), perl = TRUE)
  width <- getOption("cli.condition_width") %||% getOption("cli.width") %||% cli::console_width()
  wrapped <- Map(strwrap, lines, width = min(width, 1e6), exdent = ifelse(marked, 2, 0))
  text <- paste(gsub("\u00a0", " ", unlist(wrapped), fixed = TRUE), collapse = "\n")
  sub(paste0("^", before, "?"), "", text)
}
