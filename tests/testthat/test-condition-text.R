# The texts that the package makes are those of cli.

# a template with other values in it: v1, v2, ... of `envir`
with_values <- function(template, envir) {
  pattern <- "[{](?![.?{])[^{}]*[}]"
  i <- 0
  while (grepl("{(", gsub(pattern, "{(", template, perl = TRUE), fixed = TRUE)) {
    i <- i + 1
    name <- paste0("(v", i, ")")
    assign(paste0("v", i), sample(odd_values, 1)[[1]], envir)
    template <- sub(pattern, paste0("\1", name, "\2"), template, perl = TRUE)
  }
  gsub("\2", "}", gsub("\1", "{", template, fixed = TRUE), fixed = TRUE)
}

odd_values <- list(
  1L, 2L, 0.123456789, 12345678.9, Inf, "a", "its `own` text", c("a", "b"), letters[1:3], sprintf("item %d", 1:25), TRUE,
  NA, NULL, character(), "two\nlines", factor("u"), "{brace}", 1e5, 1e-10, "One.  Two sentences "
)

# all templates in the functions of the package
templates <- function() {
  texts <- character()
  walk <- function(x) {
    if (is.character(x)) texts <<- c(texts, x)
    if (is.call(x) || is.pairlist(x)) for (part in as.list(x)) if (!missing(part)) walk(part)
  }
  namespace <- asNamespace("calibrisk")
  for (name in ls(namespace)) if (is.function(namespace[[name]])) walk(body(namespace[[name]]))
  braces <- function(brace) lengths(regmatches(texts, gregexpr(brace, texts, fixed = TRUE)))
  unique(texts[grepl("[{][.][a-z]+ ", texts) & braces("{") == braces("}")])
}

compare_text <- function(template, envir) {
  expected <- try(cli::format_inline(template, .envir = envir), silent = TRUE)
  # what cannot be counted
  if (inherits(expected, "try-error")) return(FALSE)
  text <- plain_inline(template, envir)
  if (is.null(text)) return(FALSE)
  expect_identical(text, expected, info = template)
  lines <- c(expected, x = expected, i = "Short.")
  error <- rlang::error_cnd(message = lines[1], body = lines[-1], use_cli_format = TRUE)
  expect_identical(plain_bullets(lines, "Error: ") %||% conditionMessage(error), conditionMessage(error), info = template)
  message <- c(template, x = template, i = "Short.")
  for (format in list(cli::format_warning, cli::format_message)) {
    expect_identical(bullet_text(message, envir, format), format(message, .envir = envir), info = template)
  }
  TRUE
}

`%||%` <- function(x, y) if (is.null(x)) y else x

test_that("texts are those of cli, whatever the values, the width and the symbols", {
  all <- templates()
  expect_gt(length(all), 400)
  withr::local_seed(1)
  compared <- vapply(c(FALSE, TRUE), function(unicode) {
    withr::local_options(cli.unicode = unicode, cli.condition_unicode_bullets = unicode, cli.width = if (unicode) 40 else 80)
    mean(vapply(sample(all, 6), function(template) {
      envir <- new.env()
      compare_text(with_values(template, envir), envir)
    }, NA))
  }, 0)
  expect_gt(min(compared), .5)
})

test_that("every kind of span is that of cli", {
  one <- "its `own`"
  some <- letters[1:3]
  two <- c("a", "b")
  none <- character()
  spans <- c(
    "{.arg {one}}, {.code {some}}, {.fn {two}} and {.cls {some}} of {.field {two}}", "{.pkg {one}}{.val {none}} {none}.",
    "{.help topic} and {.url https://x.y}", "{.or {.val {some}}}, {.or {.arg {two}}}", "{.code f({.val {1}}, {one})} {{not}}",
    "{length(two)} row{?s} {?is/are} there, {cli::qty(1)}{?it/they} {?does/do}", "{0} {?no/one/many} row{?s}",
    "{.val {two}} {?is/are} \\\n      there. \\\n   Two.   Sentences.", "{.arg plain} {.val \"a\"} {.val {1:2}}"
  )
  for (template in spans) expect_true(compare_text(template, environment()))
})

test_that("what is styled, linked or of another kind is left to cli", {
  number <- 2
  expect_null(plain_inline("{.file a.txt}", environment()))
  expect_null(plain_inline("Row{?s} {number}", environment()))
  expect_null(plain_bullets(c("a", "*" = "b")))
  expect_null(plain_bullets("One.\n\nTwo."))
  expect_null(plain_bullets("Without a space\\\n  before."))
  expect_null(plain_bullets("na\u00efve"))
  expect_identical(inline_text("Row{?s} {number}", environment()), "Rows 2")
  expect_true(plain_output())
  for (styled in list(list(cli.user_theme = list()), list(cli.theme = list()), list(cli.hyperlink = TRUE))) {
    withr::with_options(styled, expect_false(plain_output()))
  }
  withr::with_options(list(cli.num_colors = 256L), {
    expect_false(plain_output())
    coloured <- rlang::catch_cnd(stop_input("{.val a}", "x" = "{.field b}", call = NULL))
    expect_match(conditionMessage(coloured), "\033[", fixed = TRUE)
  })
})

test_that("causes are written as rlang writes them, at every width and with all symbols", {
  call <- quote(ece(p, y, n_bins = 3))
  first <- rlang::catch_cnd(stop_input("{.arg p} has a rule that is longer than a line of forty characters.",
                                       "x" = "It is a fact, which is also longer than a line.", "i" = "Use 1.", call = call))
  second <- rlang::catch_cnd(stop_input("In model {.val a}.", parent = first, call = NULL))
  third <- rlang::catch_cnd(stop_input("The rule.", "x" = "A fact.", "!" = "More.", parent = second, call = quote(f())))
  last <- rlang::catch_cnd(stop_input("x" = "No rule.", parent = third))
  for (unicode in c(FALSE, TRUE)) {
    withr::local_options(cli.unicode = unicode, cli.condition_unicode_bullets = unicode, cli.width = if (unicode) 40 else 80)
    for (cnd in list(second, third, last)) expect_identical(plain_message(cnd), rlang::cnd_message(cnd))
  }
  # of others, and with a place in a file: left to rlang
  other <- rlang::catch_cnd(stop_input("The rule.", parent = simpleError("own")))
  expect_null(plain_message(other))
  expect_identical(conditionMessage(other), rlang::cnd_message(other))
  first$call <- str2lang("f(x)")
  attr(first$call, "srcref") <- attr(parse(text = "f(x)", keep.source = TRUE), "srcref")[[1]]
  second$parent <- first
  expect_null(plain_message(second))
})

test_that("a line of the source that goes on says so, and is no line of the text", {
  expect_identical(grep("[^\\\\]\n", templates(), value = TRUE), character())
})

test_that("an error's text is that of rlang, with its causes", {
  cnd <- rlang::catch_cnd(stop_input("{.arg a} must be \\
                                     {.val {1}}.", "x" = "It is 2.", "i" = "Use 1.", arg = "a"))
  expect_s3_class(cnd, c("calibrisk_error_argument", "calibrisk_error", "rlang_error"), exact = FALSE)
  expect_identical(conditionMessage(cnd), rlang::cnd_message(cnd))
  expect_match(conditionMessage(cnd), "`a` must be 1.\nx It is 2.\ni Use 1.", fixed = TRUE)
  outer <- rlang::catch_cnd(stop_input("The rule.", parent = cnd))
  expect_identical(conditionMessage(outer), rlang::cnd_message(outer))
  expect_match(conditionMessage(outer), "Caused by error")
})
