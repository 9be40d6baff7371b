notes <- function(x) paste(utils::capture.output(print(x)), collapse = " ")

test_that("print says why risks are missing", {
  v <- vehicle_predictions
  set.seed(1)
  none <- ce_tune(v[1:12, ], truth, folds = 1:10, test = 11:12, methods = list(method_bins(5)))
  expect_match(notes(none), "no\\s+fold holds out two")
  some <- ce_tune(v[1:20, ], truth, folds = c(rep(1:2, each = 8), 3, 0, 0, 0), methods = list(method_bins(5)))
  expect_match(notes(some), "No risk in 1 of 3 folds")
  all <- ce_tune(v, truth, methods = list(method_bins(5)))
  expect_no_match(notes(all), "No risk|no fold")
})

# All that is written in a figure.
plot_texts <- function(plot) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  collect <- function(grob) {
    c(if (inherits(grob, "text")) as.character(grob$label), unlist(lapply(c(grob$grobs, grob$children), collect)))
  }
  collect(ggplot2::ggplotGrob(plot))
}

test_that("print and figures name the kernel methods in words, columns by their constructors", {
  skip_if_not_installed("ggplot2")
  expect_identical(method_words(c("kkr", "ukkr_1", "kde", "15 bins", "kkr of mine", "a")),
                   c("kernel ridge", "two-step kernel ridge 1", "kernel density", "15 bins", "kkr of mine", "a"))
  expect_identical(method_words(character()), character())
  methods <- c("bins", "kde", "kkr", "ukkr")
  tuned <- withr::with_seed(1, ce_tune(vehicle_predictions, truth, methods = ce_methods()[methods]))
  expect_identical(glance(tuned)$method, methods)
  printed <- utils::capture.output(print(tuned))
  expect_lte(max(nchar(printed)), 80)
  expect_match(printed, "chosen: the method's n, bandwidth or ridge.", fixed = TRUE, all = FALSE)
  figures <- lapply(c("risk", "gap", "estimate"), function(type) plot_texts(ggplot2::autoplot(tuned, type)))
  for (shown in c(list(printed, ce_kable(tuned, format = "pipe")), figures)) {
    expect_match(shown, "two-step kernel ridge", all = FALSE)
    expect_match(shown, "kernel density", all = FALSE)
    expect_false(any(grepl("\\b(u?kkr|kde|h = 0)\\b", shown, perl = TRUE)))
  }
})
