# The printed and the drawn summary of several models.

#' @export
print.ce_models_summary <- function(x, ...) {
  about <- attr(x, "about")
  if (is.null(about) || nrow(x) == 0 || !has_columns(x, models_numbers, c("model", ".metric"))) return(NextMethod())
  cat(about$line, "\n", sep = "")
  print_lines(about$facts)
  short <- short_names(x$model)
  rows <- seq_len(nrow(x))
  shown <- drop_null(list(
    model = paste0(ifelse(x$can_be_best, "* ", "  "), short),
    accuracy = if (!is.null(x[["accuracy"]])) fixed_text(x$accuracy, 3),
    AUROC = if (!is.null(x[["auroc"]])) fixed_text(x$auroc, 3),
    "calibration error" = if (has_columns(x, models_errors)) {
      interval_text(x$calibration_error, x$error.low, x$error.high)
    },
    value = fixed_text(x$estimate, max(printed_digits(x$estimate))),
    "- best" = ifelse(rows == 1, "", fixed_text(x$difference, max(printed_digits(x$difference[-1])))),
    p = sub("= ", "", p_text(x$p.value))
  ))
  names(shown)[match(c("value", "p"), names(shown))] <- c(x$.metric[1], if (length(rows) > 2) "p (Holm)" else "p")
  shown$model <- format(c("model", shown$model))[-1]
  cat("\n")
  print(as.data.frame(shown, optional = TRUE, check.names = FALSE), row.names = FALSE)
  print_lines(models_sentences(x, about, short))
  invisible(x)
}

models_numbers <- c("estimate", "difference", "p.value", "can_be_best")
models_errors <- c("calibration_error", "error.low", "error.high")

models_sentences <- function(x, about, short) {
  pairs <- choose(nrow(x), 2)
  c(paste0("* can be the best by ", about$title, if (about$sign < 0) " (larger is better)", ": ",
           best_names(short, x$can_be_best), " (paired differences of all rows, ",
           count_of(pairs, "p-value"), if (pairs > 1) " adjusted by Holm's rule", ", ", percent_text(1 - about$level),
           " level)."),
    if (has_columns(x, models_errors)) paste(
      "Do not choose a model by its calibration error: one that predicts the same frequency for every row is",
      "calibrated."
    ),
    cut_names_line(short))
}

#' @rdname summary.ce_models
#' @method autoplot ce_models_summary
#' @exportS3Method ggplot2::autoplot ce_models_summary
autoplot.ce_models_summary <- function(object, ...) {
  check_empty(...)
  about <- attr(object, "about")
  errors <- has_columns(object, models_errors)
  title <- c(paste0(wrap_text(about$title, 18), "\nminus the best"), "calibration\nerror")
  part <- function(panel, at, low, high) {
    data.frame(model = object$model, panel = panel, difference = object[[at]], conf.low = object[[low]],
               conf.high = object[[high]], best = object$can_be_best)
  }
  rows <- rbind(part(title[1], "difference", "conf.low", "conf.high"),
                if (errors) part(title[2], "calibration_error", "error.low", "error.high"))
  rows$panel <- factor(rows$panel, title)
  rows$model <- factor(rows$model, rev(object$model))
  models_figure(ggplot2::ggplot(rows, ggplot2::aes(x = .data$difference, y = .data$model)), about$level,
                if (nrow(object) > 2) paste0(if (errors) ", on the left", " simultaneous")) +
    ggplot2::facet_wrap(ggplot2::vars(.data$panel), scales = "free_x")
}

#' @rdname summary.ce_models
#' @export
plot.ce_models <- function(x, ...) plot(summary(x, ...))

#' @rdname summary.ce_models
#' @method autoplot ce_models
#' @exportS3Method ggplot2::autoplot ce_models
autoplot.ce_models <- function(object, ...) ggplot2::autoplot(summary(object, ...))
