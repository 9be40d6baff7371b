test_that("a text is its characters to every reader of markdown", {
  skip_without_pandoc("jsonlite")
  texts <- hostile_texts()
  # one document, whose paragraphs are the texts
  readers <- c("markdown+autolink_bare_uris+tex_math_single_backslash+emoji", "gfm", "commonmark_x+emoji+autolink_bare_uris")
  for (from in readers) {
    blocks <- pandoc_blocks(paste(plain_text(texts), collapse = "\n\n"), from)
    expect_identical(blocks, unname(paste("Para:", seen_text(texts))), info = from)
    # the texts themselves are markup
    expect_true(any(grepl("<(RawInline|Math|Cite|Link|Image|Code)>", pandoc_blocks(paste(texts, collapse = "\n\n"), from))))
  }
})

test_that("a text is its characters in a table of HTML and in LaTeX", {
  skip_without_pandoc("jsonlite")
  texts <- hostile_texts()
  cells <- sprintf("<table>\n  <tr>\n   <td> %s </td>\n  </tr>\n</table>", plain_text(texts, "html"))
  blocks <- pandoc_blocks(paste(cells, collapse = "\n\n"), "markdown+autolink_bare_uris+tex_math_single_backslash")
  expect_identical(sub("^Para|^Plain", "", blocks[!startsWith(blocks, "RawBlock")]), unname(paste(":", seen_text(texts))))
  # pandoc's reader of LaTeX draws quotes, dots and dashes, and has a mark for braces
  drawn <- function(x) gsub("[\"'`|\u2018\u2019\u2026]|[.]{3}|<Span>|\\[|\\]|[*]| ", "", x)
  blocks <- pandoc_blocks(paste(plain_text(texts, "latex"), collapse = "\n\n"), "latex")
  expect_identical(drawn(blocks), unname(drawn(paste("Para:", gsub("[[*]|\\]", "", seen_text(texts))))))
})

test_that("a text has no bare character that LaTeX acts on", {
  text <- plain_text("\\input{a} $b$ &c #d _e %f ~g ^h <i> |j| \"k\" `l` [m] *n* o--p ''q ,,r", "latex")
  bare <- gsub("\\\\([{}$&#_%]|(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|textasciigrave|symbol[{]34[}])([{][}])?)|[{][][*]?[}]|[-',][{][}]", "", text)
  expect_identical(bare, "inputa b c d e f g h i j k l m n o-p 'q ,r")
  # an argument of the end of a row
  expect_match(plain_text("[1ex]", "latex"), "^[{][[][}]")
})

test_that("plain words, numbers and our own labels stay as they are", {
  plain <- c("O:E ratio, sex = f", "0.092 (0.055 to 0.131)", "-0.12", "< 0.001", "a_b", "AT & T", "*", "10%", "caf\u00e9",
             "class 3", "above *", "n = 1,000.", "x/y", "95% CI", "net benefit at 0.2")
  expect_identical(plain_text(plain), plain)
  expect_identical(plain_text(c(NA, "", "  a\n b ", "\xe9")), c("", "", "a b", "&#60;e9&#62;"))
  expect_identical(plain_text(character()), character())
  expect_identical(plain_text(factor("b")), "b")
  latin <- "caf\xe9"
  Encoding(latin) <- "latin1"
  expect_identical(plain_text(latin), "caf\u00e9")
})
