# The printed table and the forest plot of differences between groups.

#' @export
print.ce_meta <- function(x, ...) {
  shown <- x[setdiff(names(x), c("statistic", "p.value"))]
  class(shown) <- setdiff(class(x), "ce_meta")
  print(shown, ...)
  apart <- x$term[which(x$p.adjusted < 0.05)]
  print_lines(if (length(apart) > 0) paste0("The groups differ in: ", toString(term_label(apart)), " (Holm, at 5%)."))
  invisible(x)
}

#' @exportS3Method ggplot2::autoplot ce_meta
autoplot.ce_meta <- function(object, ...) {
  check_empty(...)
  rows <- attr(object, "groups")
  short <- function(term) sub("^calibration ", "", term_label(term))
  panel <- function(term) factor(short(term), short(object$term))
  all <- columns_frame(term = object$term, group = "all", estimate = object$estimate, conf.low = object$conf.low,
                       conf.high = object$conf.high, low = object$pred.low, high = object$pred.high,
                       right = unname(c(oe_ratio = 1, in_the_large = 0, slope = 1)[object$term]))
  drawn <- vctrs::vec_rbind(rows[names(all)[1:5]], all)
  drawn$panel <- panel(drawn$term)
  ggplot2::ggplot(drawn, ggplot2::aes(y = .data$group)) +
    ggplot2::geom_vline(ggplot2::aes(xintercept = .data$right), drawn, colour = "grey60", na.rm = TRUE) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = .data$low, xmax = .data$high), linewidth = 2.5, colour = "grey75",
                            na.rm = TRUE) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = .data$conf.low, xmax = .data$conf.high), na.rm = TRUE) +
    ggplot2::geom_point(ggplot2::aes(x = .data$estimate, shape = .data$group == "all"), na.rm = TRUE, size = 2) +
    ggplot2::scale_shape_manual(values = c(16, 18), guide = "none") +
    ggplot2::scale_y_discrete(limits = rev(unique(drawn$group))) +
    ggplot2::scale_x_continuous(n.breaks = 4) +
    ggplot2::facet_wrap("panel", scales = "free_x", ncol = 2) +
    ggplot2::labs(x = NULL, y = NULL, subtitle = "Simultaneous limits; grey: a new group") +
    theme_rows()
}
