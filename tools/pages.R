# What must hold for the built pages of the vignettes: functions for tools/check.R and tools/render.R.
#
# - no table shows as raw pipes, no heading or caption is NA;
# - every figure and every table has a caption, that of a figure one line;
# - a page has at most 1 MB;
# - the page of a paper names each of the paper's figures and tables, listed in tools/paper-items.csv.

page_limit <- 1e6
caption_limit <- 120 # characters: a line of the page

# The faults of a page, in words; none: character().
page_faults <- function(file, items = paper_items(file)) {
  page <- xml2::read_html(file)
  at <- function(path) xml2::xml_find_all(page, path)
  text <- function(nodes) trimws(xml2::xml_text(nodes))
  excerpt <- function(x) paste0("'", substr(gsub("\\s+", " ", x), 1, 60), "'")

  piped <- Filter(function(x) grepl("(^|\n) *\\|[^\n]*\\|[ \r]*(\n|$)", x), text(at("//pre | //p")))
  headings <- text(at("//h1 | //h2 | //h3 | //h4 | //th | //caption | //p[@class='caption'] | //figcaption"))
  unnamed <- at("//table[not(caption[normalize-space()])]")
  # a figure is an image beside its caption
  caption <- "p[@class='caption'][normalize-space()] or figcaption[normalize-space()]"
  bare <- at(sprintf("//img[not(ancestor::*[@class='figure' or self::figure][%s])]", caption))
  captions <- text(at("//p[@class='caption'] | //figcaption"))
  long <- captions[nchar(captions) > caption_limit]
  words <- gsub("\\s+", " ", xml2::xml_text(xml2::xml_find_first(page, "//body")))
  named <- vapply(items, function(item) grepl(paste0("\\b", item, "[a-z]?\\b"), words, perl = TRUE), NA)

  c(
    if (length(piped) > 0) paste0("raw pipes: ", excerpt(piped)),
    if (any(headings == "NA")) "a heading or caption is NA",
    if (length(unnamed) > 0) paste0("a table without a caption: ", excerpt(text(unnamed))),
    if (length(bare) > 0) paste0("a figure without a caption: ", excerpt(xml2::xml_attr(bare, "alt", default = ""))),
    if (length(long) > 0) paste0("a caption of more than a line: ", excerpt(long)),
    if (file.size(file) > page_limit) sprintf("%.2f MB, more than %.0f", file.size(file) / 1e6, page_limit / 1e6),
    if (!all(named)) paste0("not named: ", toString(items[!named]))
  )
}

# The figures and tables of the paper that a page reproduces.
paper_items <- function(file) {
  all <- utils::read.csv(file.path("tools", "paper-items.csv"))
  all$item[all$page == sub("[.]html$", "", basename(file))]
}

# Prints size and faults of pages and returns the number of faults.
report_pages <- function(files) {
  faults <- lapply(files, page_faults)
  for (i in seq_along(files)) {
    cat(sprintf("%s: %.0f kB\n", basename(files[i]), file.size(files[i]) / 1000))
    for (fault in faults[[i]]) cat("  ", fault, "\n", sep = "")
  }
  sum(lengths(faults))
}
