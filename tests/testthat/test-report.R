report_rows <- function(n = 200) {
  withr::with_seed(4, {
    p <- stats::plogis(rnorm(n))
    data.frame(p = p, y = factor(rbinom(n, 1, p), labels = c("No", "Yes")), sex = rep(c("f", "m"), n / 2),
               site = rep(1:20, length.out = n), w = rexp(n))
  })
}

# A page in which no figure is drawn, which takes half of its time, for tests that look at none.
local_no_figures <- function(env = parent.frame()) {
  local_stand_ins(list(write_figure = function(...) NULL), frame = env)
}

# expect_match() writes down the whole page first
has <- function(page, text, ...) grepl(text, page, ...)

test_that("a page has the numbers of the verbs, in one file", {
  skip_without_pandoc()
  d <- report_rows()
  file <- withr::local_tempfile(fileext = ".html")
  withr::local_seed(9)
  runif(1)
  before <- get(".Random.seed", globalenv())
  out <- ce_report(list(glm = d), y, p, group = sex, event_level = "second", file = file, times = 20, delta = 0.3)
  expect_identical(out, file)
  expect_identical(get(".Random.seed", globalenv()), before)
  text <- paste(readLines(file), collapse = "\n")
  v <- tidy(ce_validate(d, y, p, group = sex, event_level = "second", times = 0, delta = 0.3))
  for (term in c("oe_ratio", "slope", "auroc", "oe_ratio(sex = f)", "net_benefit(0.1)", "equivalence(0.3)")) {
    row <- v[v$term == term, ]
    expect_true(has(text, interval_text(row$estimate, row$conf.low, row$conf.high), fixed = TRUE), info = term)
  }
  expect_true(has(text, "glm (200 rows, ", fixed = TRUE))
  expect_true(has(text, "calibration error below 0.3", fixed = TRUE))
  plain <- gsub("\\s+", " ", gsub("<[^>]*>", " ", sub("(?s).*<body>", "", text, perl = TRUE)))
  # to sign, and below the table
  expect_length(gregexpr("The calibration error is below 0.3: p &lt; 0.001.", plain, fixed = TRUE)[[1]], 2)
  expect_identical(contradictions(plain, v), character())
  expect_true(has(plain, "vidence of miscalibration: "))
  expect_true(has(text, "sex = f", fixed = TRUE))
  # nothing is loaded from elsewhere, and figures say what they show
  expect_false(has(text, "<(script|link|img)[^>]*(src|href)=\"(http|report)"))
  expect_true(has(text, "alt=\"Smooth calibration curve", fixed = TRUE))
})

test_that("the verdict of several classes is over the tests of all notions", {
  v <- ce_validate(vehicle_predictions, truth, notion = "top_label", times = 0)
  notions <- ce_estimate(vehicle_predictions, truth, notion = c("top_label", "class_wise", "canonical"))
  others <- other_tests(list(notion = "top_label", estimates = list(m = notions)), "m")
  expect_identical(others, setNames(notions$p.value[-1], paste("joint test of the", c("class-wise", "canonical"), "error")))
  p <- stats::p.adjust(notions$p.value, "holm")
  expect_match(sign_sentences("m", v, others), paste("p", p_text(min(p)), "(adjusted by Holm's rule)"), fixed = TRUE)
})

test_that("models are compared, weights and clusters go through", {
  skip_without_pandoc()
  d <- report_rows()
  data <- lapply(list(a = d, b = transform(d, p = p^2)), function(one) {
    quo <- rlang::quo
    predictions <- as_predictions(one, quo(y), rlang::quos(p), "second", design = design_input(quo(w), quo(site)))
    list(predictions = predictions, groups = NULL)
  })
  options <- validation_options(.3, NULL, 0, 0.2, .95)
  parts <- report_parts(data, "binary", options)
  expect_equal(tidy(parts$validations$b), tidy(ce_validate(transform(d, p = p^2), y, p, event_level = "second",
                                                           weights = w, cluster = site, thresholds = .3, delta = 0.2,
                                                           times = 0)))
  direct <- ce_compare(transform(d, a = p, b = p^2), y, a, b, metric = rbs, event_level = "second", weights = w,
                       cluster = site)
  expect_equal(parts$comparison$difference[2], direct$difference)
  expect_false(any(grepl("redrawn", parts$tests$a$test)))
})

test_that("an error leaves what was there, and nothing else", {
  skip_without_pandoc()
  folder <- withr::local_tempdir()
  file <- file.path(folder, "a.html")
  writeLines("old", file)
  d <- report_rows(60)
  expect_error(ce_report(d, y, q, file = file), class = "calibrisk_error_columns")
  expect_error(ce_report(d, y, p, file = file, event_level = "second", thresholds = 2),
               class = "calibrisk_error_argument")
  broken <- list(about = list(title = "a"), validations = list(1))
  expect_error(render_report(broken, file, "html"), class = "calibrisk_error_render")
  expect_identical(readLines(file), "old")
  expect_identical(list.files(folder), "a.html")
  expect_error(ce_report(d, y, p, file = "a.txt"), "must end in", class = "calibrisk_error_file")
  expect_error(ce_report(d, y, p, file = "no/such/a.html"), "no/such", class = "calibrisk_error_file")
  expect_error(ce_report(d, y, p, file = 3), class = "calibrisk_error_argument")
})

test_that("a copy that a full disk cut off does not replace a report", {
  folder <- withr::local_tempdir()
  file <- file.path(folder, "a.html")
  writeLines("old", file)
  page <- withr::local_tempfile(lines = strrep("a page ", 1000))
  fake <- list(
    cut = function(from, to) {
      writeLines("a page", to)
      TRUE
    },
    none = function(from, to) {
      warning("no space left")
      FALSE
    },
    stopped = function(from, to) rlang::interrupt()
  )
  for (name in names(fake)) {
    outcome <- tryCatch(write_beside(page, file, fake[[name]]), error = identity, interrupt = identity)
    expect_s3_class(outcome, if (name == "stopped") "interrupt" else "calibrisk_error_file")
    expect_identical(list.files(folder), "a.html")
    expect_identical(readLines(file), "old")
  }
})

test_that("a document that is being knitted may write a report", {
  skip_without_pandoc()
  local_no_figures()
  folder <- withr::local_tempdir()
  withr::local_dir(folder)
  d <- report_rows()
  text <- c("```{r setup}", "a <- 1", "```", "```{r block, results = 'hide'}",
            "ce_report(d, y, p, event_level = 'second', file = 'page.html', times = 20)", "```",
            "```{r tests}", "a + 1", "```", "`r a + 2`")
  out <- knitr::knit(text = text, quiet = TRUE, envir = rlang::env(d = d))
  expect_match(out, "## [1] 2", fixed = TRUE)
  expect_match(out, "\n3", fixed = TRUE)
  expect_true(any(has(readLines("page.html"), "What is assumed", fixed = TRUE)))
})

test_that("a report says how many rows, events and censored ones there are", {
  skip_without_pandoc()
  local_no_figures()
  d <- followed_rows(150, 1)
  file <- withr::local_tempfile(fileext = ".html")
  suppressMessages(ce_report(d, s, p10, horizon = 10, file = file, times = 0))
  gone <- sum(d$s[, "time"] < 10 & d$s[, "status"] == 0)
  expect_match(paste(readLines(file), collapse = " "),
               paste0("150 rows, [0-9]+ events by 10, ", gone, " censored before; effective sample size"))
})
