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
    "calibration error" = if (has_columns(x, models_errors)) interval_text(x$calibration_error, x$error.low, x$error.high),
    value = fixed_text(x$estimate, max(printed_digits(x$estimate))),
    "- best" = ifelse(rows == 1, "", fixed_text(x$difference, max(printed_digits(x$difference[-1])))),
    "p (Holm)" = sub("= ", "", p_text(x$p.value))
  ))
  names(shown)[names(shown) == "value"] <- x$.metric[1]
  shown$model <- format(c("model", shown$model))[-1]
  cat("\n")
  print(as.data.frame(shown, optional = TRUE, check.names = FALSE), row.names = FALSE)
  print_lines(models_sentences(x, about, any(short != x$model)))
  invisible(x)
}

models_numbers <- c("estimate", "difference", "p.value", "can_be_best")
models_errors <- c("calibration_error", "error.low", "error.high")

models_sentences <- function(x, about, cut) {
  best <- x$model[x$can_be_best]
  pairs <- choose(nrow(x), 2)
  c(paste0("* can be the best by ", about$title, if (about$sign < 0) " (larger is better)", ": ",
           if (length(best) == nrow(x)) "each model" else toString(best), " (paired differences of all rows, ",
           count_of(pairs, "p-value"), if (pairs > 1) " adjusted by Holm's rule", ", ", percent_text(1 - about$level),
           " level)."),
    if (has_columns(x, models_errors)) paste(
      "Do not choose a model by its calibration error: one that predicts the same frequency for every row is calibrated."
    ),
    if (cut) "Names are cut: whole ones are in the column `model`.")
}

#' @rdname summary.ce_models
#' @method autoplot ce_models_summary
#' @exportS3Method ggplot2::autoplot ce_models_summary
autoplot.ce_models_summary <- function(object, ...) {
  check_empty(...)
  about <- attr(object, "about")
  title <- c(paste(about$title, "minus the best"), "calibration error")
  part <- function(panel, at, low, high) {
    data.frame(model = object$model, panel = panel, at = object[[at]], low = object[[low]], high = object[[high]],
               best = object$can_be_best)
  }
  rows <- rbind(part(title[1], "difference", "conf.low", "conf.high"),
                if (has_columns(object, models_errors)) part(title[2], "calibration_error", "error.low", "error.high"))
  rows$panel <- factor(wrap_each(rows$panel, 26), wrap_each(title, 26))
  rows$model <- factor(rows$model, rev(object$model))
  ggplot2::ggplot(rows, ggplot2::aes(x = .data$at, y = .data$model)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey70", linewidth = 0.4) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = .data$low, xmax = .data$high), colour = ce_colours[1],
                            linewidth = 0.7, na.rm = TRUE) +
    ggplot2::geom_point(ggplot2::aes(fill = .data$best), shape = 21, colour = ce_colours[1], size = 2.2,
                        show.legend = FALSE) +
    ggplot2::facet_wrap(ggplot2::vars(.data$panel), scales = "free_x") +
    ggplot2::scale_fill_manual(values = c("FALSE" = "white", "TRUE" = ce_colours[1])) +
    ggplot2::scale_y_discrete(labels = short_names(object$model, 16)) +
    ggplot2::scale_x_continuous(n.breaks = 3) +
    ggplot2::labs(x = NULL, y = NULL, caption = wrap_text(paste0(
      "Filled: can be the best (Holm, ", percent_text(1 - about$level), " level). Lines: ", percent_text(about$level),
      " intervals, on the left simultaneous."
    ), 58)) +
    theme_rows(panel.spacing.x = ggplot2::unit(1, "lines"))
}

wrap_each <- function(text, width) vapply(text, wrap_text, "", width, USE.NAMES = FALSE)

#' @rdname summary.ce_models
#' @export
plot.ce_models <- function(x, ...) plot(summary(x, ...))

#' @rdname summary.ce_models
#' @method autoplot ce_models
#' @exportS3Method ggplot2::autoplot ce_models
autoplot.ce_models <- function(object, ...) ggplot2::autoplot(summary(object, ...))
