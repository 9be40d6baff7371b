#' Draw the coverage of prediction intervals
#'
#' @param object A `ce_coverage`.
#' @param type `"levels"`, or `"curve"` for coverage as a function of the prediction.
#' @param ... Not used.
#' @return A ggplot object: coverage with its limits against nominal coverage, which is that of the dashed line. Models
#'   have a colour and a shape, groups a panel. Curves have a colour and a line type for each level, and models and
#'   groups a panel.
#' @name autoplot.ce_coverage
#' @method autoplot ce_coverage
#' @exportS3Method ggplot2::autoplot ce_coverage
autoplot.ce_coverage <- function(object, type = c("levels", "curve"), ...) {
  check_empty(...)
  if (check_choice(type, c("levels", "curve")) == "curve") return(coverage_curve_plot(object))
  rows <- object$levels
  by_panel <- setdiff(object$keys, "model")
  panel <- do.call(paste, c(unname(lapply(unclass(rows)[by_panel], as.character)), list(sep = ", ")))
  colour <- labels_factor(rows, intersect(object$keys, "model"))
  rows$panel <- if (length(by_panel) > 0) factor(panel, unique(panel)) else factor("")
  rows$colour <- colour
  names <- levels(colour)
  # models next to each other, where their limits would cover each other
  apart <- if (nlevels(rows$panel) > 1) 0.02 else 0.012
  rows$x <- rows$nominal + apart * (as.integer(rows$colour) - (length(names) + 1) / 2)
  ggplot2::ggplot(rows, ggplot2::aes(x = .data$x, y = .data$coverage, colour = .data$colour,
                                     shape = .data$colour)) +
    ggplot2::annotate("segment", x = 0, y = 0, xend = 1, yend = 1, colour = "grey35", linewidth = 0.35,
                      linetype = "22") +
    ggplot2::geom_linerange(ggplot2::aes(ymin = .data$conf.low, ymax = .data$conf.high), linewidth = 0.6) +
    ggplot2::geom_point(size = 1.8) +
    unit_scale(ggplot2::scale_x_continuous, nlevels(rows$panel), 1) +
    unit_scale(ggplot2::scale_y_continuous, nlevels(rows$panel), 1) +
    ggplot2::coord_fixed(xlim = c(0, 1), ylim = c(0, 1), expand = FALSE, clip = "off") +
    shape_scales(names) +
    ggplot2::labs(x = "nominal coverage", y = "coverage", caption = wrap_text(
      paste0("Limits: ", percent_text(object$conf_level), ", of each point."), 58
    )) +
    theme_ce() + ggplot2::theme(panel.grid.major = ggplot2::element_blank()) +
    titled_panels(rows$panel)
}

shape_scales <- function(names) {
  guide <- wrapped_legend(names)
  list(ggplot2::scale_colour_manual(values = colours_for(names), guide = guide),
       ggplot2::scale_shape_manual(values = stats::setNames(rep_len(c(16, 17, 0, 4, 5, 6, 3, 8), length(names)), names),
                                   guide = guide))
}

coverage_curve_plot <- function(x) {
  rows <- coverage_curves(x)
  rows$panel <- labels_factor(rows, x$keys, TRUE)
  names <- percent_text(sort(unique(rows$level)), NULL)
  rows$line <- factor(percent_text(rows$level, NULL), names)
  ribbon <- function(low, high, alpha) {
    ggplot2::geom_ribbon(ggplot2::aes(ymin = .data[[low]], ymax = .data[[high]], fill = .data$line), colour = NA,
                         alpha = alpha)
  }
  ggplot2::ggplot(rows, ggplot2::aes(x = .data$place, y = .data$coverage, colour = .data$line)) +
    ribbon("band.low", "band.high", 0.15) + ribbon("conf.low", "conf.high", 0.25) +
    ggplot2::geom_line(ggplot2::aes(y = .data$nominal, group = .data$line), colour = "grey35", linewidth = 0.35,
                       linetype = "22") +
    ggplot2::geom_line(ggplot2::aes(linetype = .data$line), linewidth = 0.7) +
    line_scales(names, aesthetics = c("colour", "fill")) +
    ggplot2::coord_cartesian(ylim = c(0, 1)) +
    ggplot2::labs(x = x$over %||% "middle of the interval", y = "coverage", caption = wrap_text(paste0(
      percent_text(x$conf_level), " limits at one place (darker) and band of the whole curve (lighter). ",
      "Dashed: nominal coverage."
    ), 58)) +
    theme_ce() + ggplot2::theme(panel.grid.major = ggplot2::element_blank()) +
    titled_panels(rows$panel, scales = "free_x")
}
