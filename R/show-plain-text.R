# Text on a page. Names, levels, titles and captions come from a caller or from data, which may be somebody else's: on a
# page they are text and nothing else, no markup, link, image, formula, citation or code. Every text of a table, a
# sentence or a heading goes through plain_text(), once, where it is written.

# `x` in the markup of a page, such that the reader sees its characters. Markdown and HTML name characters that have a
# meaning by numeric references, which are never markup: pandoc reads markdown in the cells of HTML tables, too, and a
# bracket after a backslash opens a formula.
plain_text <- function(x, format = "markdown") {
  # valid UTF-8 in one line: control characters, also those that turn the direction of writing, become spaces
  x <- iconv(enc2utf8(as.character(x)), "UTF-8", "UTF-8", sub = "byte")
  x[is.na(x)] <- ""
  x <- trimws(gsub("[\\p{C}\\p{Z}]+", " ", x, perl = TRUE))
  switch(format,
    latex = latex_text(x),
    html = numeric_references(x, paste0(special_markdown, "|[<&*]")),
    # "*" alone is the mark of the best row
    replace(numeric_references(x, special_markdown), x == "*", "*")
  )
}

# Characters that pandoc, R Markdown, Quarto or GitHub read as markdown, in the places where they do.
special_markdown <- paste(
  c("[\\\\`{}\\[\\]>#$@^~|\"']|<(?!\\s|$)|^[*]|(?<=\\S)[*]|[*](?=\\S)",
    # emphasis, but not within a word
    "(?<![[:alnum:]])_|_(?![[:alnum:]])",
    # references
    "&(?=[#[:alnum:]])",
    # addresses and emojis
    "(?<=[[:alnum:]+.-]{2}):(?=\\S)|:(?=[[:alpha:]]{2})|(?i)(?<=www)[.](?-i)",
    # dashes and dots that are drawn together
    "-(?=-)|(?<=-)-|[.](?=[.])",
    # at the start of a line: lists, definitions, captions, titles, underlines
    "^[-+=%:](?=\\s|$|[-=:])|^[(]?([[:alpha:]]|[ivxlcdmIVXLCDM]+|[0-9]+)\\K[.)](?=\\s|$)|^[Tt]able\\K:"),
  collapse = "|"
)

numeric_references <- function(x, special) {
  replace_found(x, special, function(found) paste0("&#", vapply(found, utf8ToInt, 0L), ";"))
}

latex_text <- function(x) {
  commands <- c("\\" = "\\textbackslash{}", "~" = "\\textasciitilde{}", "^" = "\\textasciicircum{}",
                "<" = "\\textless{}", ">" = "\\textgreater{}", "|" = "\\textbar{}", "`" = "\\textasciigrave{}",
                "\"" = "\\symbol{34}", "[" = "{[}", "]" = "{]}", "*" = "{*}", "-" = "-{}", "'" = "'{}", "," = ",{}")
  # brackets and asterisks after the end of a row are its arguments; doubled signs are ligatures
  replace_found(x, "[\\\\{}$&#_%~^<>|\"`*\\[\\]]|-(?=-)|'(?=')|,(?=,)", function(found) {
    ifelse(found %in% names(commands), commands[found], paste0("\\", found))
  })
}

# `by`: a function of all that the pattern finds in a text.
replace_found <- function(x, pattern, by) {
  at <- gregexpr(pattern, x, perl = TRUE)
  regmatches(x, at) <- lapply(regmatches(x, at), function(found) if (length(found) > 0) unname(by(found)) else found)
  x
}

# Markup of the document that is being knitted.
document_format <- function() {
  switch(knitr::opts_knit$get("out.format") %||% "markdown",
         latex = , listings = , sweave = "latex", html = "html", "markdown")
}

# ---- Writing into a page, for chunks with results = "asis" -----------------------------------------------------------

write_heading <- function(text, level = 2) cat("\n\n", strrep("#", level), " ", plain_text(text), "\n\n", sep = "")

write_paragraphs <- function(...) {
  text <- plain_text(c(...))
  cat(text[nzchar(text)], "", sep = "\n\n")
}

write_list <- function(lines) cat("", paste("-", plain_text(lines)), "", sep = "\n")

# Drawn once: knitr would draw it to record it, and again to show it. `alt`: what a page of HTML says of it;
# `height`: in inches.
write_figure <- function(plot, alt, height = 6) {
  latex <- knitr::is_latex_output()
  file <- basename(tempfile("figure-", ".", if (latex) ".pdf" else ".png"))
  if (latex) grDevices::pdf(file, 7, height) else grDevices::png(file, 7, height, "in", res = 240)
  tryCatch(print(plot), finally = grDevices::dev.off())
  if (!knitr::is_html_output()) return(cat("\n\n![](", file, ")\n\n", sep = ""))
  cat("\n\n<p><img src=\"", file, "\" alt=\"", plain_text(alt, "html"), "\" width=\"840\" /></p>\n\n", sep = "")
}

write_table <- function(table, ...) {
  print(if (inherits(table, "knitr_kable")) table else text_table(table, ...))
  cat("\n\n")
}
