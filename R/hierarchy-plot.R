#' Draw a hierarchy of calibration errors
#'
#' Every error as a dot, in the order of the chain, with a line to the error that bounds it from
#' above: the room that the inequality leaves. Groups have a panel each.
#'
#' @param object A [ce_hierarchy()].
#' @param ... Not used.
#' @return A ggplot object.
#' @name autoplot.ce_hierarchy
#' @method autoplot ce_hierarchy
#' @exportS3Method ggplot2::autoplot ce_hierarchy
autoplot.ce_hierarchy <- function(object, ...) {
  check_empty(...)
  rows <- hierarchy_display(object)
  labels <- rows$label[match(levels(rows$quantity), rows$quantity)]
  all_hold <- all(rows$state == "holds")
  colours <- c(holds = ce_colours[1], violated = ce_colours[2], `not asserted` = "grey60")
  ggplot2::ggplot(rows, ggplot2::aes(x = .data$value, y = .data$quantity)) +
    ggplot2::geom_segment(ggplot2::aes(xend = .data$bound, yend = .data$quantity, colour = .data$state),
                          linewidth = 0.4, na.rm = TRUE) +
    ggplot2::geom_point(data = rows[!is.na(rows$bound), ], ggplot2::aes(x = .data$bound, colour = .data$state),
                        shape = 124, size = 3) +
    ggplot2::geom_point(ggplot2::aes(colour = .data$state), size = 2.4, na.rm = TRUE) +
    ggplot2::scale_y_discrete(limits = rev, labels = function(at) labels[match(at, levels(rows$quantity))]) +
    ggplot2::scale_colour_manual(values = colours) +
    ggplot2::expand_limits(x = 0) +
    ggplot2::labs(x = "error", y = NULL,
                  subtitle = paste0("Dot: the error; line: up to the error that bounds it (tick)",
                                    if (all_hold) ". All inequalities hold.")) +
    theme_rows(axis.text.y = ggplot2::element_text(hjust = 0), legend.position = if (all_hold) "none" else "bottom") +
    panels_by(rows, "group")
}

# The depth of each error below the ceiling.
hierarchy_depth <- function(quantity, below) {
  depth <- integer(length(quantity))
  for (i in seq_along(quantity)[-1]) depth[i] <- depth[match(below[i], quantity)] + 1L
  depth
}

hierarchy_display <- function(x) {
  rows <- rows_of_groups(x, "quantity")
  parts <- lapply(split(rows, rows$group), function(one) {
    depth <- hierarchy_depth(one$quantity, one$below)
    one$label <- paste0(strrep("    ", depth), ifelse(depth > 0, ">= ", ""), one$quantity)
    one$bound <- one$value[match(one$below, one$quantity)]
    one
  })
  rows <- do.call(rbind, unname(parts))
  rows$quantity <- factor(rows$quantity, levels = unique(rows$quantity))
  asserted <- is.na(rows$below) | !is.na(rows$holds)
  rows$state <- ifelse(!asserted, "not asserted", ifelse(rows$holds %in% FALSE, "violated", "holds"))
  rows
}

#' @export
print.ce_hierarchy <- function(x, ...) {
  if (names(x)[1] != "quantity") return(invisible(print(tidy(x), ...)))
  numbers <- c("p", "n_classes", "n", "n_distinct", "holds", "value", "conf.low", "conf.high")
  if (!has_columns(x, numbers, "below") || nrow(x) == 0) return(NextMethod())
  cat("Hierarchy of calibration errors (p = ", format(x$p[1]), ", ", x$n_classes[1], " classes, n = ",
      x$n[1], ")\n", counted_line(list(counted = attr(x, "design"))), sep = "")
  depth <- hierarchy_depth(x$quantity, x$below)
  name <- paste0(strrep("  ", depth), ifelse(depth > 0, ">= ", ""), x$quantity)
  note <- ifelse(is.na(x$holds), ifelse(is.na(x$below), "", "(not asserted for p > 2)"),
                 ifelse(x$holds, "", "VIOLATED"))
  number <- function(v) fixed_text(v, 4)
  interval <- ifelse(is.na(x$conf.low), "", paste0("[", number(x$conf.low), ", ", number(x$conf.high), "]"))
  cat(paste0(format(name), "  ", number(x$value), "  ", format(interval), "  ", note), sep = "\n")
  cat(if (anyNA(x$value)) {
    "Values are missing.\n"
  } else if (all(x$holds, na.rm = TRUE)) {
    "All inequalities hold.\n"
  } else {
    "Some inequalities do not hold: please report this.\n"
  })
  if (!anyNA(x$value) && isTRUE(x$n_distinct[1] > x$n[1] / 2)) {
    cat(x$n_distinct[1], " of ", x$n[1], " predictions are distinct: errors without bins (CE, CWCE, TCE) are\n",
        "as large as they can be. They describe these rows, not the model.\n", sep = "")
  }
  invisible(x)
}
