# Names, levels, classes and arguments that would be code, or no text, in a template of cli. In every place of every
# function: nothing is evaluated, and every error has a class of the package.
texts <- c("{options(calibrisk.evaluated = TRUE)}", "p{1", "$x^{2}$", "`x`", "{.emph x}", "{?s}}", "risk {%}")

# Arguments that make a call possible, and short.
quick <- list(
  ce_compare = list(metric = rbs), ce_curve = list(type = "binned"), ce_decision = list(thresholds = 0.5, times = 100),
  ce_fit = list(method = method_bins(2)), ce_gain = list(after = "platt"), ce_hierarchy = list(n_bins = 2),
  ce_rank = list(metric = rbs, times = 2), ce_recalibrate = list(method = "platt"), ce_test = list(test = "block"),
  ce_tune = list(methods = method_bins(2:3), folds = 2), ce_validate = list(times = 0), ici = list(times = NULL),
  skce = list(type = "block")
)

hostile_frame <- function(text, n = 24) {
  p <- rep(c(0.2, 0.4, 0.6, 0.8), length.out = n)
  y <- as.numeric((seq_len(n) * 0.618) %% 1 < p)
  d <- data.frame(p, y, level = factor(c("b", text)[y + 1], levels = c("b", text)), group = rep(c(text, "g"), n / 2))
  d[[text]] <- d$p
  d[[paste(text, "y")]] <- d$y
  d
}

# Text that ran, an error without a class or that cannot be shown; else NULL.
hostile_fault <- function(code) {
  withr::local_options(calibrisk.evaluated = NULL)
  out <- tryCatch(suppressWarnings(suppressMessages(utils::capture.output(print(code)))), error = identity)
  text <- if (inherits(out, "error")) tryCatch(conditionMessage(out), error = function(cnd) NULL)
  c(if (inherits(out, "error") && (!inherits(out, "calibrisk_error") || is.null(text))) paste("raw:", text),
    if (!is.null(getOption("calibrisk.evaluated"))) "evaluated")
}

# The calls of a function of predictions and outcomes with the text in each place.
hostile_calls <- function(verb, fn, text) {
  d <- hostile_frame(text)
  names <- c(names(formals(fn))[1], if (verb == "ce_compare") "x" else "truth")
  of <- function(x, truth, ...) {
    function() rlang::inject(fn(!!!stats::setNames(list(x, truth), names), ..., !!!quick[[verb]]))
  }
  column <- as.name(text)
  pair <- function(other) stats::setNames(list(d$p, other), c(text, "q"))
  list(
    unselected = of(d[c(text, "y")], quote(y)), selected = of(d, quote(y), column), level = of(d, quote(level), quote(p)),
    column = of(d, as.name(paste(text, "y")), quote(p)), unknown = of(d[1:2], column, quote(p)),
    group = of(d, quote(y), quote(p), .by = quote(group)), named = of(d, quote(y), quote(p), .by = column),
    argument = function() rlang::inject(fn(d$p, d$y, !!!stats::setNames(list(1), text))),
    class = of(structure(list(1), class = text), d$y), outcome = of(d$p, structure(list(1), class = text)),
    levels = of(d$p, d$level), strings = of(d$p, as.character(d$level)), string = of(text, d$y),
    models = of(pair(d$p^2), d$y), wrong = of(pair(letters), d$y)
  )
}

exported <- function() {
  names <- sort(setdiff(getNamespaceExports("calibrisk"), c("ce_report", "augment", "glance", "tidy")))
  Filter(is.function, stats::setNames(lapply(names, getExportedValue, ns = "calibrisk"), names))
}

test_that("texts in predictions, outcomes and groups are shown, not run", {
  verbs <- Filter(function(fn) "truth" %in% names(formals(fn)), exported())
  k <- 0
  for (verb in setdiff(names(verbs), "score_parts")) {
    k <- k + 1
    # every place and text in one function, some in each
    for (text in if (verb == "ece") texts else texts[1 + k %% length(texts)]) {
      calls <- hostile_calls(verb, verbs[[verb]], text)
      for (place in names(calls)[if (verb == "ece") TRUE else seq_along(calls) %% 4 == k %% 4]) {
        expect_null(hostile_fault(calls[[place]]()), label = paste(verb, place, text))
      }
    }
  }
})

test_that("texts as arguments are shown, not run", {
  d <- hostile_frame("a")
  k <- 0
  for (name in names(exported())) {
    fn <- exported()[[name]]
    needed <- names(formals(fn))[vapply(formals(fn), rlang::is_missing, NA)]
    for (arg in setdiff(names(formals(fn)), "...")) {
      k <- k + 1
      if (k %% 3 > 0) next
      given <- stats::setNames(nm = setdiff(needed, c("...", arg)), as.list(rep(1, length(setdiff(needed, c("...", arg))))))
      if ("truth" %in% names(formals(fn))) {
        given <- quick[[name]]
        given[c(names(formals(fn))[1], if (name == "ce_compare") "x" else "truth")] <- list(d$p, d$y)
      }
      given[[arg]] <- texts[1 + k %% length(texts)]
      expect_null(hostile_fault(rlang::inject(fn(!!!given))), label = paste(name, arg, given[[arg]]))
    }
  }
})

test_that("results with such names are shown", {
  skip_if_not_installed("ggplot2")
  grDevices::pdf(NULL)
  withr::defer(grDevices::dev.off())
  for (text in texts[1:3]) {
    d <- hostile_frame(text)
    pair <- stats::setNames(list(d$p, d$p^2), c(text, "q"))
    results <- suppressWarnings(suppressMessages(list(
      ce_estimate(d, level, p, .by = group), ce_compare(pair, d$y, metric = rbs), ce_curve(pair, d$y, type = "binned"),
      ce_tune(d, level, p, methods = stats::setNames(list(method_bins(2), method_bins(3)), names(pair)), folds = 2)
    )))
    for (result in results) {
      expect_match(paste(utils::capture.output(print(result, width = 200)), collapse = " "), text, fixed = TRUE)
      expect_null(hostile_fault(generics::tidy(result)))
      expect_null(hostile_fault(ce_kable(generics::tidy(result))))
      if (!inherits(result, "ce_differences")) expect_null(hostile_fault(ggplot2::ggplotGrob(ggplot2::autoplot(result))))
    }
  }
})

test_that("names and labels that are marked as bytes are one error of the package", {
  bytes <- "\xff"
  Encoding(bytes) <- "bytes"
  d <- data.frame(y = rep(0:1, 20), p = rep(c(0.2, 0.3, 0.6, 0.9), 10), g = rep(c("a", bytes), each = 20))
  named <- stats::setNames(d, c("y", "p", bytes))
  level <- factor(d$y)
  levels(level)[1] <- bytes
  calls <- list(
    quote(ece(named, y, p)), quote(ece(d, y, p, .by = g)), quote(ce_validate(d, y, p, group = g)),
    quote(ece(d, y, p, cluster = g)), quote(ce_estimate(d$p, level)), quote(ce_estimate(d$p, d$g)),
    quote(ce_rank(stats::setNames(list(d$p, d$p), c("a", bytes)), d$y)), quote(ece(bytes, d$y))
  )
  for (call in calls) expect_error(eval(call), class = "calibrisk_error_text", info = deparse(call))
  expect_error(ece(d, y, p, type = bytes), class = "calibrisk_error_argument")
  expect_error(ce_score(d, y, p, score = bytes), class = "calibrisk_error_score")
})
