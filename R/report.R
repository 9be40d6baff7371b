#' A report of a validated model
#'
#' Writes one page with the sentence to report, the table of [ce_validate()], calibration and decision curves, the gain
#' from recalibration, groups and classes, comparisons of models and tests. It ends with the assumptions, the definition
#' of every number, a paragraph of methods with its references, and the session. Titles and the names of models, levels,
#' groups and columns are shown as text: markup, links, formulas and code in them have no effect.
#'
#' The same page is a template in RStudio (*File > New File > R Markdown > From Template > Calibration report*), to be
#' edited.
#'
#' @inheritParams ce_validate
#' @param x A data frame, matrix or vector of probabilities as for [ece()]; or a named list of those, one per model:
#'   then the page compares them. The name of a list of one is the title of the model.
#' @param file Path of the page. The extension sets the format: `.html` (one self-contained file), `.docx` or `.pdf`
#'   (through LaTeX). The file is written in one step at the end, so an error leaves an existing file as it was.
#' @param title Title of the page.
#' @return The path of the file, invisibly. The same call writes the same page: its random numbers have a fixed seed.
#'   The state of R's random numbers does not change.
#' @section Errors:
#' Those of [ce_validate()]; `calibrisk_error_package` where rmarkdown, ggplot2 or pandoc are not installed;
#' `calibrisk_error_file` where the file has another ending, its folder does not exist or
#' cannot be written to, or the disk is full; `calibrisk_error_render`.
#' @section Cost:
#' The cost of [ce_validate()] for every model, and a few seconds for pandoc.
#' @seealso [ce_kable()] for single tables.
#' @concept report
#' @concept TRIPOD
#' @concept validation report
#' @concept Word document
#' @export
#' @examplesIf interactive() && all(vapply(c("MASS", "ggplot2", "rmarkdown"), requireNamespace, NA, quietly = TRUE))
#' fit <- glm(type ~ npreg + glu + bmi, binomial, MASS::Pima.tr)
#' women <- MASS::Pima.te
#' women$risk <- predict(fit, women, type = "response")
#' file <- tempfile(fileext = ".html")
#' ce_report(women, type, risk, event_level = "second", file = file, times = 20)
#' unlink(file)
ce_report <- function(x, truth, ..., file = "calibration.html", title = "Calibration of a prediction model",
                      group = NULL, thresholds = c(0.1, 0.5), delta = NULL, notion = NULL,
                      times = 200, level = 0.95, event_level = "first", floor = NULL, weights = NULL,
                      cluster = NULL, horizon = NULL) {
  format <- check_report(file, title)
  # as decision curves take them
  input <- evaluate_input_once(rows_input(copies = TRUE, clustered = FALSE), x)
  group <- evaluate_once(enquo(group), x)
  check_validation_notion(check_notion(notion))
  options <- c(validation_options(thresholds, floor, times, delta, level),
               list(horizon = input$design$horizon))
  models <- if (is_models(x)) unclass(x) else if (is_bare_list(x)) setNames(x, model_names(x)) else {
    list("The model" = x)
  }
  models <- lapply(models, read_results)
  data <- lapply(models, function(one) {
    predictions <- if (is_models(x)) one else predictions_of(one, input)
    list(predictions = predictions, groups = validation_groups(group, one, predictions$rows, input))
  })
  about <- list(title = title, models = names(models), times = times, level = level, delta = delta,
                horizon = named_horizon(options$horizon),
                incomplete = vapply(data, function(one) one$predictions$dropped, 0))
  with_seed_kept(1, {
    parts <- report_parts(data, notion, options)
    render_report(c(parts, list(about = about)), file, format)
  })
  invisible(file)
}

report_formats <- c(html = "html_document", docx = "word_document", pdf = "pdf_document")

check_report <- function(file, title) {
  check_string(file, "file")
  check_string(title, "title")
  ending <- tolower(tools::file_ext(file))
  stop_if(!ending %in% names(report_formats),
          "{.arg file} must end in {.or {.val {paste0('.', names(report_formats))}}}.", "x" = "It is {.val {file}}.",
          class = c("file", "argument"), arg = "file", value = file)
  stop_if(!dir.exists(dirname(file)), "The folder of {.arg file} must exist.",
          "x" = "There is no {.file {dirname(file)}}.", class = c("file", "argument"), arg = "file", value = file)
  # before minutes of work
  stop_if(file.access(dirname(file), 2) != 0, "The folder of {.arg file} must be writable.",
          "x" = "{.file {dirname(file)}} is not.", class = c("file", "argument"), arg = "file", value = file)
  for (package in c("rmarkdown", "knitr", "ggplot2")) check_package(package, "A report needs")
  stop_if(!rmarkdown::pandoc_available("2.0"), "A report needs pandoc 2.0 or newer.",
          "i" = "RStudio and Quarto bring it along; else see {.url https://pandoc.org/installing.html}.",
          class = "package", package = "pandoc")
  ending
}

# The validation of `data`, list(predictions, groups) of a model that have been read once.
report_validation <- function(data, notion, options) {
  read <- read_curves(data$predictions, rlang::quo(NULL), function(rows) {
    validated_problems(rows, data$groups, notion, options$horizon)
  })
  new_validation(read, notion, options$horizon, options)
}

# Everything that the page shows, computed before anything is written.
report_parts <- function(data, notion, options) {
  classes <- n_classes(data[[1]]$predictions)
  many <- classes > 2
  whole <- notion %||% if (many) "top_label" else "binary"
  notions <- if (many && is.null(notion)) c("top_label", "class_wise", "canonical") else whole
  list(
    validations = lapply(data, report_validation, whole, options),
    estimates = lapply(data, function(one) {
      ce_estimate(one$predictions, notion = notions, level = options$level)
    }),
    classes = if (many) {
      lapply(data, report_validation, "class_wise", replace(options, "times", 0))
    },
    groups = if (!is.null(data[[1]]$groups)) lapply(data, report_groups, whole, options),
    comparison = report_comparison(data, whole, options),
    decisions = if (!many) lapply(data, function(one) {
      report_optional(ce_decision(one$predictions, thresholds = seq(0.05, 0.95, 0.01), level = options$level))
    }),
    gains = lapply(data, report_gain, options),
    tests = lapply(data, report_tests, whole, options),
    notion = whole, n_classes = classes
  )
}

# The curve of every group in a panel.
report_groups <- function(data, notion, options) {
  groups <- data$groups
  problems <- validated_problems(data$predictions, NULL, notion, options$horizon)
  parts <- unlist(lapply(seq_along(groups$rows), function(g) lapply(problems, group_part, groups, g)), FALSE)
  keys <- vctrs::vec_slice(tibble::as_tibble(groups$values), rep(vapply(groups$rows, min, 0L), each = length(problems)))
  if (length(problems) > 1) keys$class <- vapply(parts, function(part) as.character(part$class), "")
  known <- !vapply(parts, function(part) anyNA(part$design$w), NA)
  about <- problems[[1]]$about
  bind_curves(list(problems = parts[known]), keys[known, ], as_choice("smooth", "curve", "type"), options$level, notion,
              about$axis, about$event$label)
}

# Paired differences of the calibration error and the score of all pairs of models, on the rows that all of them have.
report_comparison <- function(data, notion, options) {
  if (length(data) < 2) return(NULL)
  models <- common_rows(align_events(lapply(data, `[[`, "predictions")))
  if (n_obs(models[[1]]) == 0) return(NULL)
  settings <- list(level = options$level, adjust = "holm", incomplete = function(models) FALSE)
  metrics <- list("calibration error" = ce_metric(ce_estimate, notion = notion), "root Brier score" = ce_metric(rbs))
  tables <- lapply(names(metrics), function(name) {
    out <- compare_pairs(models, metrics[[name]], settings)
    out$.metric <- name
    # the page says it once; the table is narrow
    out[setdiff(names(out), "notion")]
  })
  vctrs::vec_rbind(!!!tables)
}

# Gain of maps fitted to these rows on new ones, by cross-fitting.
report_gain <- function(data, options) {
  maps <- if (n_classes(data$predictions) == 2) {
    list(map_update(), map_platt(), as_choice("isotonic", "map"))
  } else {
    list(map_temperature(), map_matrix(diagonal = TRUE))
  }
  report_optional(ce_gain(data$predictions, maps, level = options$level))
}

# NULL where the rows do not suffice.
report_optional <- function(value) {
  rlang::try_fetch(suppressWarnings(suppressMessages(value)), calibrisk_error = function(cnd) NULL)
}

# Tests of calibration that suit the rows: of clustered ones those that allow for it.
report_tests <- function(data, notion, options) {
  rows <- data$predictions
  attempt <- function(name, value) {
    out <- report_optional(value)
    if (!is.null(out)) columns_frame(test = name, p.value = utils::tail(out$p.value, 1))
  }
  vctrs::vec_rbind(
    columns_frame(test = character(), p.value = numeric()),
    attempt(paste0("Joint test of the ", if (n_classes(rows) > 2) "canonical ", "calibration error"),
            ce_test(rows, test = "joint")),
    attempt("Joint test of intercept and slope (Cox)", cox_calibration(rows, notion = notion, floor = options$floor)),
    attempt("Spiegelhalter", spiegelhalter(rows, notion = notion))
  )
}

# Rendered in a folder of its own; the file appears when all is done.
render_report <- function(parts, file, format) {
  folder <- tempfile("calibrisk-report-")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  source <- system.file("report", package = "calibrisk")
  file.copy(list.files(source, full.names = TRUE), folder)
  options <- if (format != "html") list(toc = FALSE) else {
    list(toc = TRUE, toc_depth = 2, theme = NULL, highlight = NULL, mathjax = NULL, css = "report.css",
         self_contained = TRUE)
  }
  output <- do.call(getExportedValue("rmarkdown", report_formats[[format]]), options)
  # in a document that is being knitted chunks of the same names are others
  old <- options(knitr.duplicate.label = "allow")
  on.exit(options(old), add = TRUE)
  env <- new.env(parent = asNamespace("calibrisk"))
  env$report <- parts
  written <- rlang::try_fetch(
    suppressMessages(rmarkdown::render(file.path(folder, "report.Rmd"), output, envir = env, quiet = TRUE)),
    error = function(cnd) {
      stop_input("The report could not be rendered.", "i" = "A file that was there is unchanged.", class = "render",
                 parent = cnd)
    }
  )
  write_beside(written, file)
}

# A copy cut off by a full disk counts as failed, even if no error was raised.
write_beside <- function(from, file, copy = file.copy) {
  beside <- tempfile("calibrisk-", dirname(file), paste0(".", tools::file_ext(file)))
  on.exit(unlink(beside))
  said <- NULL
  done <- withCallingHandlers(
    copy(from, beside) && isTRUE(file.size(beside) == file.size(from)) && file.rename(beside, file),
    warning = function(cnd) {
      said <<- conditionMessage(cnd)
      rlang::cnd_muffle(cnd)
    }
  )
  stop_if(!done, "The report could not be written.",
          "x" = "{.file {file}} is not writable{if (!is.null(said)) paste0(': ', said)}.",
          "i" = "Is the disk full? A file that was there is unchanged.", class = c("file", "argument"), arg = "file",
          value = file)
  invisible(file)
}
