# How all vignettes draw figures, set tables and read stored results.
source("small-png.R")
bitmap_args <- if (capabilities("cairo")) list(type = "cairo", antialias = "gray")
knitr::opts_chunk$set(
  collapse = TRUE, comment = "#>", fig.retina = 1, fig.width = 7, dpi = 144,
  dev = "bmp", dev.args = bitmap_args, fig.ext = "png", fig.process = small_png,
  # what the console shows, except tables and text that are ready for the page
  render = function(x, ...) {
    if (inherits(x, c("knitr_kable", "knit_asis"))) knitr::knit_print(x, ...) else knitr::normal_print(x)
  }
)
# The device on which knitr records a figure: text must have the same size there.
options(device = function(width, height, ...) {
  do.call(grDevices::bmp, c(list(tempfile(), width, height, units = "in", res = 144), bitmap_args))
})
# A figure without a caption has its description as one.
knitr::opts_hooks$set(fig.alt = function(options) {
  if (is.null(options$fig.cap)) options$fig.cap <- options$fig.alt
  options
})

if (requireNamespace("ggplot2", quietly = TRUE)) {
  ggplot2::theme_set(
    ggplot2::theme_bw(base_size = 12) +
      ggplot2::theme(panel.grid.minor = ggplot2::element_blank(), strip.background = ggplot2::element_blank(),
                     legend.position = "bottom", legend.margin = ggplot2::margin(2, 0, 0, 0),
                     legend.box.spacing = grid::unit(4, "pt"), legend.key.height = grid::unit(1.1, "lines"))
  )
}
# Blue, orange, green, purple, grey: distinct to the colour-blind (Okabe and Ito). They are about as dark as each other,
# so series also differ in shape or type of line.
page_colours <- c("#0072B2", "#D55E00", "#009E73", "#CC79A7", "grey40")

# A table with a caption. Columns of numbers are aligned right, also those that are formatted already. The cells of a
# table that fits into the page's width are not wrapped.
paper_table <- function(data, caption, align = NULL, class = "table", ...) {
  number <- "^[-+<]?[0-9.,]*( ?%)?( ?[(\u00b1\\[].*)?$"
  right <- vapply(data, function(x) is.numeric(x) || all(grepl(number, x) | is.na(x)), NA)
  if (is.null(align)) align <- ifelse(right, "r", "l")
  table <- knitr::kable(data, format = "pipe", caption = caption, align = align, row.names = FALSE, ...)
  longest <- vapply(data, function(x) max(0L, nchar(as.character(x)), na.rm = TRUE), 0)
  if (sum(pmax(longest, 4) + 2) <= 100) class <- c(class, "fits")
  opening <- paste0("\n::: {", paste0(".", class, collapse = " "), "}\n")
  knitr::asis_output(paste(c(opening, table, "\n:::\n"), collapse = "\n"))
}
# The items of a paper, rows of four words each: a table, on a phone one block per item.
items_table <- function(items, caption) {
  items <- as.data.frame(items)
  names(items) <- c("item", "where here", "n; repetitions: ours (theirs)", "agrees within")
  paper_table(items, caption, align = "llll", class = c("table", "items"))
}

# ---- Stored results --------------------------------------------------------------------------
# All of them, from precomputed/<page>.rds, which data-raw/papers/<page>.R writes; one, by its name. `page`: of another
# vignette.
stored_results <- function(page = NULL) {
  if (is.null(page)) page <- sub("[.]Rmd$", "", knitr::current_input())
  readRDS(file.path("precomputed", paste0(page, ".rds")))
}
stored <- function(name, page = NULL) {
  table <- stored_results(page)[[name]]
  if (is.null(table)) stop("There is no stored result ", name, ".")
  table
}

# Where the stored results `names` come from, in words.
provenance <- function(names, page = NULL) {
  about <- stored_results(page)$about
  about <- about[match(names, about$result), ]
  if (anyNA(about$result)) stop("There is no stored result ", toString(names[is.na(about$result)]), ".")
  several <- function(x) grepl(" to | and |per ", x)
  from <- paste0("<code>", about$script, "</code>",
                 ifelse(grepl("published/", about$script), "", paste0(" with calibrisk ", about$version)),
                 ifelse(is.na(about$commit), "", paste0(" (commit ", about$commit, ")")), ", ", about$date)
  details <- paste0(
    ifelse(is.na(about$seed), "", paste0(ifelse(several(about$seed), ", seeds: ", ", seed "), about$seed)),
    ifelse(is.na(about$repetitions), "", paste0(", ", about$repetitions,
                                                ifelse(about$repetitions == "1", " repetition", " repetitions"))),
    ifelse(is.na(about$seconds), "", paste0(", ", format_seconds(about$seconds))),
    # by `make check-papers`, a step of the package's own checks
    ifelse(is.na(about$checked), "", paste0(", ", about$checked, " rows compared with every version"))
  )
  # results of the same script and day share their first words
  text <- vapply(split(details, from), function(d) paste(sub("^, ", "", unique(d)), collapse = "; "), "")
  text <- paste0(names(text), ifelse(nzchar(text), ", ", ""), text)
  kinds <- split(text, ifelse(grepl("published/", text), "Published numbers: ", "Stored result: "))
  paste0(rev(names(kinds)), vapply(rev(kinds), paste, "", collapse = "; "), ".", collapse = " ")
}
format_seconds <- function(x) {
  ifelse(x >= 5400, sprintf("%.1f hours", x / 3600),
         ifelse(x >= 90, sprintf("%.0f minutes", x / 60), sprintf("%s seconds", signif(x, 2))))
}
# Chunk option `from`: the stored results that a figure or table shows, of the page `from_page`; the line stands under it.
knitr::knit_hooks$set(from = function(before, options) {
  if (!before) paste0("\n\n<p class=\"provenance\">", provenance(options$from, options$from_page), "</p>\n\n")
})

# ---- Scripts and style -----------------------------------------------------------------------
# The scripts behind the stored results, as folded text at the end of the page.
page_scripts <- function() {
  file <- file.path("precomputed", sub("[.]Rmd$", ".rds", knitr::current_input()))
  scripts <- if (file.exists(file)) readRDS(file)$scripts
  lapply(names(scripts), function(name) {
    c("", paste0("<details class=\"script\"><summary>", name, "</summary>"), "",
      if (endsWith(name, ".cpp")) "```cpp" else "```r", scripts[[name]], "```", "", "</details>", "")
  })
}
# The style is at the end of the page, since all pages share it and none has to name it. What is wider than a phone
# scrolls.
knitr::knit_hooks$set(document = function(x) {
  scripts <- unlist(page_scripts())
  c(x, if (length(scripts) > 0) c("", "## Scripts of the stored results", scripts), "", "<style>",
    ".table, .sourceCode { overflow-x: auto; }",
    "table { width: auto !important; margin-left: 0; margin-right: 0; }",
    "table col { width: auto !important; }",
    "table td, table th { padding: 0.2em 0.6em; vertical-align: top; }",
    "th:not([align]):not([style]) { text-align: left; }",
    "caption { caption-side: top; text-align: left; padding: 0.4em 0; }",
    "p.caption, caption, p.provenance { font-size: 90%; color: #444; }",
    "p.provenance { margin-top: -0.4em; font-size: 80%; overflow-wrap: anywhere; }",
    ".fits td, .table td:first-child { white-space: nowrap; }",
    "td[align=\"right\"], td[style*=\"right\"] { white-space: nowrap; }",
    "table td { border-bottom-style: none; }",
    "tr:has(> td:first-child:empty) > td { border-top-style: none; }",
    "div.figure { text-align: left; }",
    "img { max-width: 100%; height: auto; box-sizing: border-box; border: none; margin: 0; padding: 0; }",
    "math[display=\"block\"] { overflow-x: auto; overflow-y: hidden; }",
    "@media screen and (min-width: 800px) {", # a table that is wider than the text takes the margin at its right
    "  body > .section .table:not(.items) { width: max-content; max-width: min(900px, 50vw + 330px); }",
    "}",
    "@media screen and (max-width: 600px) {",
    "  body { padding: 0 14px; }",
    "  :not(pre) > code { overflow-wrap: anywhere; }",
    "  h1 { font-size: 1.5em; line-height: 1.3; }",
    "  table { display: block; overflow-x: auto; }",
    "  .figure { overflow-x: auto; }",
    "  .section > table td { min-width: 8em; }",
    "  .table td:first-child { white-space: normal; min-width: 6em; }",
    "  .figure img:not([width$=\"px\"]) { max-width: none; width: 500px; }", # text of 7 pt or more
    "  caption, .items tbody, .items tr, .items td { display: block; white-space: normal; }",
    "  .items thead, .items td:empty { display: none; }",
    "  .items td { border-style: none; padding: 0 0.6em; }",
    "  .items td:nth-child(1) { font-weight: bold; padding-top: 0.5em; }",
    "  .items td:nth-child(2)::before { content: \"where here: \"; color: #444; }",
    "  .items td:nth-child(3)::before { content: \"n; repetitions, ours (theirs): \"; color: #444; }",
    "  .items td:nth-child(4)::before { content: \"agrees within: \"; color: #444; }",
    "}",
    "@media screen and (max-width: 528px) {", # a figure of 500 pixels is wider than the window
    "  .figure:has(img:not([width$=\"px\"]))::before { content: \"the figure scrolls \\2192\"; display: block;",
    "    position: sticky; left: 0; text-align: right; font-size: 80%; color: #444; }",
    "}",
    "@media print {", # nothing scrolls on paper, and no figure is cut by the end of a page
    "  body { max-width: none; padding: 0; font-size: 10pt; }",
    "  .table, .figure { overflow: visible; }",
    "  table { font-size: 88%; }",
    "  .figure, .fits, tr, p.provenance, math { break-inside: avoid; }",
    "  .figure, h1, h2, h3, h4 { break-after: avoid; }",
    "  .figure img { max-width: 165mm; }",
    "}",
    "</style>", "")
})
