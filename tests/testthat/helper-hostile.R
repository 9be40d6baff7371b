# Texts that are markup for one of the ways to a page, and the ways back to what a reader sees.

# `folder`: has the files that must not be read, with the word "opensesame".
hostile_texts <- function(folder = "/tmp") {
  file <- function(name) file.path(folder, name)
  run <- function(name) sprintf("document.documentElement.setAttribute('data-hit', '%s')", name)
  c(
    script = sprintf("</title></td><script>%s</script>", run("script")),
    handler = sprintf("a\"><img src=x onerror=\"%s\">", run("handler")),
    frame = sprintf("<iframe src=\"file://%s\"></iframe>", file("secret.txt")),
    image = sprintf("![](%s)", file("secret.svg")), link = sprintf("[b](javascript:%s)", run("link")),
    address = "see https://evil.example/x, www.evil.example or mailto:a@evil.example",
    yaml = sprintf("\"\nheader-includes: !r file.create(\"%s\")\nx: \"", file("ran-yaml")),
    inline = sprintf("`r file.create(\"%s\")`", file("ran-inline")),
    include = sprintf("$\\input{%s}$ \\include{%s} {{< include %s >}}", file("secret.txt"), file("s"), file("secret.txt")),
    raw = "`<b>x</b>`{=html} `\\newpage`{=latex}", formula = "$x^2$ \\(y\\) \\[z\\] H~2~O", cited = "@doe [@roe2020] ^[a note]",
    heading = "c\n\n# d\n\n===\n\n---\nx: y\n---", list = "1. one", caption = "Table: two", div = "::: {.sign}\ne\n:::",
    cells = "f | g \\\\ & h % i\n|j|", emphasis = "*k* __l__ ~~m~~ a_b _c_ 'n' \"o\" p--q ...", reference = "&lt;r&gt; &#60; AT&T :smile:",
    turned = "s\u202et\u2028u\tv"
  )
}

skip_without_pandoc <- function(package = "ggplot2") {
  for (needed in c("rmarkdown", package)) skip_if_not_installed(needed)
  skip_if_not(rmarkdown::pandoc_available("2.0"), "pandoc")
}

hostile_folder <- function(frame = rlang::caller_env()) {
  folder <- withr::local_tempdir(.local_envir = frame)
  writeLines("opensesame", file.path(folder, "secret.txt"))
  writeLines("<svg xmlns='http://www.w3.org/2000/svg'><text>opensesame</text></svg>", file.path(folder, "secret.svg"))
  normalizePath(folder)
}

# What a reader sees of a text: one line.
seen_text <- function(x) trimws(gsub("[\\p{C}\\p{Z}]+", " ", enc2utf8(x), perl = TRUE))

# Blocks of markdown as pandoc reads it: "Para: text", where a mark inside of a text is "<its name>".
pandoc_blocks <- function(text, from) {
  file <- withr::local_tempfile()
  writeLines(enc2utf8(text), file, useBytes = TRUE)
  json <- paste(system2(rmarkdown::pandoc_exec(), c("-f", from, "-t", "json", file), stdout = TRUE), collapse = "")
  blocks <- jsonlite::fromJSON(enc2utf8(json), simplifyVector = FALSE)$blocks
  vapply(blocks, function(block) {
    words <- vapply(if (block$t %in% c("Para", "Plain")) block$c else list(), function(part) {
      switch(part$t, Str = part$c, Space = " ", paste0("<", part$t, ">"))
    }, "")
    paste0(block$t, ": ", paste(words, collapse = ""))
  }, "")
}

# A page without its figures, which are most of it.
without_figures <- function(page) gsub("data:image/png;base64,[A-Za-z0-9+/=]*\"", "figure\"", page, perl = TRUE)

# The text of a rendered page, without line breaks; marks are gone.
page_words <- function(file) {
  if (endsWith(file, ".html")) {
    file <- withr::local_tempfile(lines = without_figures(readLines(file, encoding = "UTF-8")), fileext = ".html")
  }
  out <- withr::local_tempfile(fileext = ".txt")
  rmarkdown::pandoc_convert(normalizePath(file), to = "plain", output = out, options = c("--wrap=none", "--standalone"),
                            wd = dirname(out))
  gsub("\\s+", " ", paste(readLines(out, encoding = "UTF-8"), collapse = " "))
}

chromium <- function() {
  found <- Sys.which(c("chromium", "chromium-browser", "google-chrome", "chrome"))
  unname(found[nzchar(found)])
}

# What a page holds that is not text: attributes of tags, scripts, without the figures' texts.
page_marks <- function(page) {
  page <- without_figures(page)
  bare <- gsub("alt=\"[^\"]*\"", "", page, perl = TRUE)
  tags <- unlist(regmatches(bare, gregexpr("<[a-zA-Z][^>]*>", bare, perl = TRUE)))
  own <- "https://doi.org/10"
  found <- grep("^<(iframe|embed|object|math)| on[a-z]+=|javascript:|src=\"?x|data:(image/svg|text)|class=\"math|href=\"?[a-z]+:|=\"?www",
                tags, value = TRUE)
  scripts <- unlist(regmatches(page, gregexpr("(?s)<script.*?</script>", page, perl = TRUE)))
  c(found[!grepl(own, found, fixed = TRUE)], grep("data-hit", scripts, value = TRUE))
}

# The page after its scripts have run.
page_after_scripts <- function(file) {
  skip_if(length(chromium()) == 0, "no Chromium")
  home <- withr::local_tempdir()
  out <- suppressWarnings(system2(chromium()[1], c(
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", paste0("--user-data-dir=", home),
    "--allow-file-access-from-files", "--virtual-time-budget=3000", "--dump-dom", shQuote(paste0("file://", file))
  ), stdout = TRUE, stderr = FALSE, timeout = 120))
  skip_if(length(out) == 0, "Chromium does not start")
  paste(out, collapse = "\n")
}
