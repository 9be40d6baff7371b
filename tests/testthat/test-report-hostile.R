# A page of hostile data: what a reader and a browser get.

hostile_rows <- function(texts, n = 120) {
  withr::with_seed(4, {
    p <- stats::plogis(rnorm(n))
    y <- factor(rbinom(n, 1, p), labels = texts[c("script", "image")])
    group <- c(paste0(texts["frame"], "\n\n", texts["image"], "\n\n"), texts["inline"])
    data <- data.frame(p, q = p^1.5, y, g = rep(group, n / 2))
    stats::setNames(data, c("p", "q", texts[["raw"]], texts[["handler"]]))
  })
}

# Words of a docx, and what its parts refer to.
docx_parts <- function(file) {
  folder <- withr::local_tempdir()
  utils::unzip(file, exdir = folder)
  read <- function(name) paste(readLines(file.path(folder, "word", name), encoding = "UTF-8", warn = FALSE),
                               collapse = "\n")
  list(document = read("document.xml"), relations = read("_rels/document.xml.rels"),
       media = list.files(file.path(folder, "word", "media")))
}

shown <- function(words, texts, names) {
  for (name in names) expect_true(grepl(seen_text(texts[[name]]), words, fixed = TRUE), info = name)
}

test_that("names, levels and titles are text on a page of HTML", {
  skip_without_pandoc()
  folder <- hostile_folder()
  texts <- hostile_texts(folder)
  d <- hostile_rows(texts)
  file <- file.path(folder, "page.html")
  models <- stats::setNames(list(d[-2], stats::setNames(d[-1], names(d)[-2])), texts[c("heading", "include")])
  truth <- rlang::sym(texts[["raw"]])
  group <- rlang::sym(texts[["handler"]])
  ce_report(models, !!truth, p, group = !!group, event_level = "second", file = file, times = 0,
            title = paste(texts[c("script", "yaml", "inline", "formula")], collapse = " "))
  page <- paste(readLines(file, encoding = "UTF-8"), collapse = "\n")
  expect_identical(page_marks(page), character())
  expect_false(grepl("opensesame", page))
  expect_setequal(list.files(folder), c("page.html", "secret.svg", "secret.txt"))
  shown(page_words(file), texts,
        c("script", "image", "frame", "inline", "heading", "include", "raw", "handler", "yaml", "formula"))
  dom <- page_after_scripts(file)
  expect_false(grepl("<html[^>]*data-hit|<iframe|opensesame", dom))
})

test_that("names of classes are text in a Word document", {
  skip_without_pandoc()
  folder <- hostile_folder()
  texts <- hostile_texts(folder)
  file <- file.path(folder, "page.docx")
  x <- withr::with_seed(2, to_simplex(matrix(rexp(360), ncol = 3)))
  truth <- factor(rep(1:3, 40), labels = texts[c("image", "link", "cells")])
  ce_report(setNames(list(x), texts[["formula"]]), truth, file = file, times = 0, title = texts[["yaml"]])
  parts <- docx_parts(file)
  expect_false(grepl("m:oMath", parts$document))
  outside <- unlist(regmatches(parts$relations, gregexpr("Target=\"[^\"]*\" TargetMode=\"External\"", parts$relations)))
  expect_true(all(startsWith(outside, "Target=\"https://doi.org/10.")))
  expect_true(all(grepl("[.]png$", parts$media)))
  expect_setequal(list.files(folder), c("page.docx", "secret.svg", "secret.txt"))
  shown(page_words(file), texts, c("image", "link", "cells", "yaml", "formula"))
})

test_that("tables in a user's document are text in every format", {
  skip_without_pandoc()
  folder <- hostile_folder()
  texts <- hostile_texts(folder)
  d <- hostile_rows(texts)
  names(d)[3] <- "y"
  group <- texts[["handler"]]
  estimates <- ce_estimate(d, y, p, event_level = "second", .by = tidyselect::all_of(group))
  kinds <- c("pipe", "html", "simple")
  writeLines(c("---", "title: a page", "---", "```{r, echo = FALSE, results = 'asis'}",
               "for (format in kinds) print(ce_kable(estimates, format = format, caption = texts[['image']]))",
               "```", "```{r, echo = FALSE}", "estimates", "```"), file.path(folder, "mine.Rmd"))
  env <- rlang::env(parent = globalenv(), kinds = kinds, estimates = estimates, texts = texts, ce_kable = ce_kable)
  options <- list(theme = NULL, highlight = NULL, mathjax = NULL, self_contained = TRUE)
  out <- rmarkdown::render(file.path(folder, "mine.Rmd"), "html_document", output_options = options, envir = env,
                           quiet = TRUE)
  page <- paste(readLines(out, encoding = "UTF-8"), collapse = "\n")
  expect_identical(page_marks(page), character())
  expect_false(grepl("<img|opensesame", page))
  expect_setequal(list.files(folder), c("mine.Rmd", "mine.html", "secret.svg", "secret.txt"))
  words <- page_words(out)
  for (name in c("frame", "inline", "image", "handler")) {
    # in every table, and in the sentences below the last
    expect_gte(length(gregexpr(seen_text(texts[[name]]), words, fixed = TRUE)[[1]]), 3)
  }
  dom <- page_after_scripts(out)
  expect_false(grepl("<html[^>]*data-hit|<iframe|opensesame", dom))
  # the same document in LaTeX
  env$kinds <- c("pipe", "simple", "latex")
  texts[["image"]] <- texts[["include"]]
  env$texts <- texts
  out <- rmarkdown::render(file.path(folder, "mine.Rmd"), "latex_document", envir = env, quiet = TRUE)
  page <- sub(".*begin[{]document[}]", "", paste(readLines(out, encoding = "UTF-8"), collapse = "\n"))
  expect_false(grepl("\\\\(input|include|includegraphics|href|url)[{]", page))
  expect_gte(length(gregexpr("textbackslash\\{?\\}? ?input\\\\\\{", page)[[1]]), 3)
  # columns that a user names, and markup on request
  table <- ce_kable(estimates[1, c("notion", "n")], format = "html", col.names = c("<b>", "n"))
  expect_match(table, "&#60;b&#62;", fixed = TRUE)
  expect_match(ce_kable(estimates[1, ], format = "html", caption = "<b>c</b>", escape = FALSE), "<caption><b>c</b>",
               fixed = TRUE)
  expect_match(ce_kable(estimates, format = "latex", caption = "50% & $x$"), "\\caption{50\\% \\& \\$x\\$}",
               fixed = TRUE)
  expect_error(ce_kable(estimates, format = "rst"), "format", class = "calibrisk_error_argument")
  expect_error(ce_kable(estimates, caption = 3), "caption", class = "calibrisk_error_argument")
})
