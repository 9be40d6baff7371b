# Validations at several horizons: print, table and figure, with the horizons side by side.

# One for each model, group and class.
horizons_labels <- function(x) unique(unlist(lapply(x$results, function(one) curve_labels(one$sample, one$keys))))

# of(validation, row of its sample) at each horizon; NULL where too few of a group are followed.
at_horizons <- function(x, label, of) {
  lapply(x$results, function(one) {
    i <- match(label, curve_labels(one$sample, one$keys))
    if (!is.na(i)) of(one, i)
  })
}

# A column of numbers with their intervals for each horizon.
horizons_display <- function(x, label, digits = 3) {
  shown <- at_horizons(x, label, function(one, i) validation_display(validation_parts(one)[[i]], digits))
  out <- do.call(rbind, shown)
  out <- out[!duplicated(out$term), c("level", "term")]
  out[horizon_names(x)] <- lapply(shown, function(one) {
    text <- (one$estimate %||% character())[match(out$term, one$term)]
    ifelse(is.na(text), "", text)
  })
  # p-values alone are those of the verdict
  out[rowSums(out[horizon_names(x)] != "") > 0, ]
}

horizon_names <- function(x) paste("by", format(x$keys$horizon, trim = TRUE))

# The rows and events at each horizon; then one verdict for each label, by Holm's rule over all tests of the page.
horizons_samples <- function(x, label) {
  unlist(at_horizons(x, label, function(one, i) {
    sample_sentence(one$sample[i, ], one$notion, one$event$label, one$horizon)
  }))
}

horizons_verdicts <- function(x) {
  parts <- lapply(horizons_labels(x), function(label) {
    vctrs::vec_rbind(!!!at_horizons(x, label, function(one, i) {
      rows <- validation_parts(one)[[i]]
      vctrs::vec_cbind(rows, columns_frame(at = rep(horizon_text(unname(one$horizon), " at "), nrow(rows))))
    }))
  })
  tests <- lapply(parts, function(rows) {
    rows <- rows[rows$term %in% c("calibration_error", "all_groups"), ]
    setNames(rows$p.value, paste0(ifelse(rows$term == "all_groups", "test of all groups", "joint test"), rows$at))
  })
  level <- x$results[[1]]$level
  unlist(Map(function(rows, verdict) {
    paste(c(verdict$text, alone_sentence(rows, verdict, level, paste0(term_label(rows$term), rows$at))), collapse = " ")
  }, parts, page_verdicts(tests, level)))
}

# "Note by 12, by 24: ...", of all horizons "Note: ...".
horizons_notes <- function(x, label) {
  notes <- at_horizons(x, label, function(one, i) one$notes[[i]])
  vapply(unique(unlist(notes)), function(note) {
    has <- vapply(notes, function(of) note %in% of, NA)
    paste0("Note", if (!all(has)) paste0(" (", paste(horizon_names(x)[has], collapse = ", "), ")"), ": ", note)
  }, "")
}

#' @export
print.ce_horizons <- function(x, ...) {
  first <- x$results[[1]]
  cat("<ce_validation> ", gsub("_", "-", first$notion), ", intervals at ", percent_text(first$level), ", ",
      nrow(x$keys), " horizons\n", sep = "")
  labels <- horizons_labels(x)
  verdicts <- horizons_verdicts(x)
  for (i in seq_along(labels)) {
    if (nzchar(labels[i])) cat("\n", labels[i], "\n", sep = "")
    print_lines(horizons_samples(x, labels[i]))
    display <- horizons_display(x, labels[i])
    print_blocks(display$term, display[-(1:2)])
    cat("\n")
    print_lines(c(verdicts[i], horizons_notes(x, labels[i])))
  }
  print_lines(unique(unlist(lapply(x$results, function(one) facts_lines(one$event$hint, one$design, one$dropped)))))
  invisible(x)
}

# As many columns beside the names as the console is wide, the others below.
print_blocks <- function(names, columns) {
  cells <- Map(function(column, title) format(c(title, column)), columns, names(columns))
  names <- format(c("", names))
  fit <- max(1, (getOption("width") - nchar(names[1])) %/% (max(vapply(cells, function(cell) nchar(cell[1]), 1)) + 2))
  for (block in split(cells, (seq_along(cells) - 1) %/% fit)) {
    cat("\n")
    cat(sub(" +$", "", do.call(paste, c(list(names), unname(block), sep = "  "))), sep = "\n")
  }
}

#' @export
paper_table.ce_horizons <- function(x, digits = 3) {
  labels <- horizons_labels(x)
  out <- do.call(rbind, lapply(labels, function(label) {
    display <- horizons_display(x, label, digits)
    if (length(labels) > 1) data.frame(of = label, display, check.names = FALSE) else display
  }))
  of_horizon <- names(out) %in% horizon_names(x)
  names(out)[of_horizon] <- interval_title(names(out)[of_horizon], x$results[[1]]$level)
  out
}

#' @export
paper_sentences.ce_horizons <- function(x) {
  labels <- horizons_labels(x)
  said <- vapply(labels, function(label) paste0(horizons_samples(x, label), ".", collapse = " "), "")
  paste0(ifelse(nzchar(labels), paste0(labels, ": "), ""), said, " ", horizons_verdicts(x))
}

#' @rdname ce_validation_tables
#' @method autoplot ce_horizons
#' @exportS3Method ggplot2::autoplot ce_horizons
autoplot.ce_horizons <- function(object, ...) {
  check_empty(...)
  terms <- c("oe_ratio", "calibration_error", "auroc", "brier")
  panel <- function(term) factor(term_label(term), term_label(terms))
  rows <- tidy(object)
  rows <- rows[rows$term %in% terms, ]
  rows$label <- labels_factor(rows, object$results[[1]]$keys)
  rows$term <- panel(rows$term)
  calibrated <- data.frame(term = panel(terms[1:2]), at = number_fact(terms[1:2], "null"))
  several <- nlevels(rows$label) > 1
  # side by side
  beside <- ggplot2::position_dodge(if (several) min(diff(object$keys$horizon)) / 3 else 0)
  ggplot2::ggplot(rows, ggplot2::aes(.data$horizon, .data$estimate, colour = .data$label, shape = .data$label)) +
    ggplot2::geom_hline(ggplot2::aes(yintercept = .data$at), calibrated, colour = "grey60", linewidth = 0.3) +
    ggplot2::geom_line(linewidth = 0.3, position = beside, na.rm = TRUE) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = .data$conf.low, ymax = .data$conf.high), linewidth = 0.6,
                            position = beside, na.rm = TRUE) +
    ggplot2::geom_point(size = 2, position = beside, na.rm = TRUE) +
    ggplot2::facet_wrap("term", scales = "free_y") +
    ggplot2::scale_x_continuous(breaks = object$keys$horizon, guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    shape_scales(levels(rows$label)) +
    ggplot2::labs(x = paste0("horizon", horizon_text(object$results[[1]]$horizon, NULL)), y = NULL) +
    theme_ce()
}
