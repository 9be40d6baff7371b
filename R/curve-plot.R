#' Draw a reliability curve
#'
#' @param object,x A `ce_curve`.
#' @param bands `"conf"`: intervals (darker) and the simultaneous band (lighter) around the curve; `"null"`: where
#'   the curve of a calibrated model lies, around the diagonal; `"none"`.
#' @param histogram Whether to draw the distribution of the predictions underneath; of a binary notion events point
#'   up and the others down.
#' @param numbers Whether calibration error, slope and number of rows stand in the corner (see the Value of
#'   [ce_curve()]).
#' @param facet Whether several models or groups get a panel each instead of a colour.
#' @param ... Not used; of `plot()`, the arguments of `autoplot()`.
#' @return A ggplot object; `plot()` draws it and returns `x`.
#' @name autoplot.ce_curve
#' @exportS3Method ggplot2::autoplot
autoplot.ce_curve <- function(object, bands = c("conf", "null", "none"), histogram = TRUE, facet = FALSE,
                              numbers = FALSE, ...) {
  rlang::check_installed("ggplot2", reason = "to plot.")
  bands <- check_choice(bands, c("conf", "null", "none"))
  check_flag(histogram)
  check_flag(facet)
  check_flag(numbers)
  data <- curve_layers(object, facet)
  plot <- if (object$type == "pit") {
    autoplot_pit(object, data, bands)
  } else {
    autoplot_reliability(object, data, bands, histogram)
  }
  if (numbers) plot <- plot + corner_layer(data$summary)
  plot <- plot + curve_titles(object, bands, histogram) + theme_ce() +
    ggplot2::theme(panel.grid.major = ggplot2::element_blank())
  if (nlevels(data$curve$panel) > 1) {
    plot <- plot + ggplot2::facet_wrap(ggplot2::vars(.data$panel)) + panel_theme(nlevels(data$curve$panel))
  }
  if (nlevels(data$curve$colour) < 2) plot <- plot + ggplot2::theme(legend.position = "none")
  plot
}

# Many panels in 6 inches: small words.
panel_theme <- function(n) {
  few <- n <= 6
  ggplot2::theme(panel.spacing.x = ggplot2::unit(if (few) 1.2 else 0.6, "lines"),
                 panel.spacing.y = ggplot2::unit(if (few) 0.5 else 0.1, "lines"),
                 strip.text = ggplot2::element_text(size = ggplot2::rel(if (few) 1 else 0.8),
                                                    margin = ggplot2::margin(2, 0, 1, 0)),
                 axis.text = ggplot2::element_text(size = ggplot2::rel(if (few) 1 else 0.75)))
}

# Ticks of the unit interval, as many as the panels have room for.
unit_scale <- function(scale, n) {
  at <- if (n == 1) seq(0, 1, 0.25) else if (n <= 6) c(0, 0.5, 1) else c(0, 1)
  scale(breaks = at, labels = format(at, drop0trailing = TRUE, trim = TRUE))
}

# Curves with what is told apart by colour and what by panel.
curve_layers <- function(x, facet) {
  by_colour <- setdiff(x$keys, "class")
  by_panel <- intersect(x$keys, "class")
  if (facet) {
    by_panel <- x$keys
    by_colour <- character()
  }
  label <- function(rows, keys) {
    text <- curve_labels(rows, keys)
    factor(text, levels = unique(text))
  }
  add <- function(rows) {
    rows$colour <- label(rows, by_colour)
    rows$panel <- label(rows, by_panel)
    # the axis says what the panels are
    if (identical(by_panel, "class")) levels(rows$panel) <- sub("^class ", "", levels(rows$panel))
    rows
  }
  list(curve = add(x$curve), histogram = add(x$histogram), summary = add(x$summary))
}

strip <- c(bottom = -0.21, top = -0.03) # where the histogram lies, below the unit square

autoplot_reliability <- function(x, data, bands, histogram) {
  curve <- data$curve
  several <- nlevels(curve$colour) > 1
  colours <- colours_for(levels(curve$colour))
  plot <- ggplot2::ggplot(curve, ggplot2::aes(x = .data$confidence, y = .data$observed, colour = .data$colour,
                                              fill = .data$colour)) +
    ggplot2::scale_colour_manual(values = colours, aesthetics = c("colour", "fill"))
  for (layer in band_layers(bands)) {
    plot <- plot + band_layer(x$type, layer, if (bands == "null") "grey55" else NULL, several)
  }
  plot <- plot + ggplot2::annotate("segment", x = 0, y = 0, xend = 1, yend = 1, colour = "grey35", linewidth = 0.35,
                                   linetype = "22")
  if (histogram) plot <- plot + histogram_layers(data$histogram, several, x$notion == "binary" && x$type != "quantile")
  plot <- plot + ggplot2::geom_line(linewidth = 0.6)
  if (x$type == "binned") plot <- plot + ggplot2::geom_point(size = 1.5)
  plot +
    unit_scale(ggplot2::scale_x_continuous, nlevels(curve$panel)) +
    unit_scale(ggplot2::scale_y_continuous, nlevels(curve$panel)) +
    ggplot2::coord_fixed(xlim = c(0, 1), ylim = c(if (histogram) strip[["bottom"]] else 0, 1), expand = FALSE,
                         clip = "on")
}

# The wider band first.
band_layers <- function(bands) {
  switch(bands,
    conf = list(list("band.low", "band.high", 0.14), list("conf.low", "conf.high", 0.26)),
    null = list(list("null_band.low", "null_band.high", 0.22), list("null.low", "null.high", 0.34)),
    none = list()
  )
}

# Bins are separate statements: bars. Curves: ribbons.
band_layer <- function(type, layer, fill, several) {
  low <- rlang::sym(layer[[1]])
  high <- rlang::sym(layer[[2]])
  alpha <- layer[[3]] * if (several) 0.6 else 1
  aes <- ggplot2::aes(ymin = !!low, ymax = !!high)
  if (type == "binned" && is.null(fill)) {
    return(ggplot2::geom_linerange(aes, linewidth = if (layer[[1]] == "conf.low") 0.9 else 0.4,
                                   alpha = if (several) 0.7 else 0.9, na.rm = TRUE))
  }
  if (is.null(fill)) return(ggplot2::geom_ribbon(aes, alpha = alpha, colour = NA, na.rm = TRUE))
  ggplot2::geom_ribbon(aes, fill = fill, alpha = alpha, colour = NA, na.rm = TRUE)
}

autoplot_pit <- function(x, data, bands) {
  curve <- data$curve
  several <- nlevels(curve$colour) > 1
  plot <- ggplot2::ggplot(curve, ggplot2::aes(x = .data$confidence, y = .data$observed)) +
    ggplot2::scale_colour_manual(values = colours_for(levels(curve$colour)), aesthetics = c("colour", "fill"))
  width <- min(curve$right - curve$left)
  if (several) {
    plot <- plot + ggplot2::geom_col(ggplot2::aes(fill = .data$colour), width = 0.9 * width,
                                     position = ggplot2::position_dodge())
  } else {
    plot <- plot + ggplot2::geom_col(fill = "grey78", colour = "white", width = width, linewidth = 0.3)
  }
  dodge <- ggplot2::position_dodge(width = if (several) 0.9 * width else 0)
  for (layer in band_layers(bands)) {
    low <- rlang::sym(layer[[1]])
    high <- rlang::sym(layer[[2]])
    plot <- plot + if (bands == "null") {
      ggplot2::geom_rect(ggplot2::aes(xmin = .data$left, xmax = .data$right, ymin = !!low, ymax = !!high),
                         fill = ce_colours[1], alpha = layer[[3]] * 0.7)
    } else {
      ggplot2::geom_linerange(ggplot2::aes(ymin = !!low, ymax = !!high, group = .data$colour), colour = "grey20",
                              linewidth = if (layer[[1]] == "conf.low") 0.9 else 0.4, position = dodge)
    }
  }
  plot + ggplot2::geom_hline(yintercept = 1, linetype = "22", colour = "grey35", linewidth = 0.35) +
    ggplot2::scale_x_continuous(breaks = seq(0, 1, 0.25), labels = c("0", "0.25", "0.5", "0.75", "1"),
                                expand = c(0, 0.01)) +
    ggplot2::scale_y_continuous(expand = ggplot2::expansion(c(0, 0.06)), limits = c(0, NA))
}

curve_axes <- function(x) {
  switch(x$type,
    pit = c("probability integral transform", "density"),
    quantile = c("nominal level", "share of outcomes below the predicted quantile"),
    switch(x$notion,
      top_label = c("confidence", "accuracy"),
      binary = c(paste("predicted", x$axis), sub("probability", "observed frequency", x$axis)),
      class_wise = c("predicted probability of the class", "observed frequency")
    )
  )
}

curve_titles <- function(x, bands, histogram) {
  level <- paste0(format(100 * x$control$level), " %")
  shade <- if (x$type %in% c("binned", "pit") && bands == "conf") c("Thick bars", "thin bars") else c("Dark", "light")
  about <- switch(bands,
    conf = paste0(shade[1], ": ", level, " pointwise; ", shade[2], ": jointly"),
    null = paste0("Grey: calibrated models; dark: ", level, " pointwise, light: jointly"),
    none = NULL
  )
  if (x$type == "pit") about <- sub("^Grey", "Blue", about)
  below <- if (histogram && x$type != "pit") {
    paste0("Below: ", if (x$type == "quantile") "PIT values" else if (x$notion == "binary") {
      "predictions of events (up) and of the others (down)"
    } else {
      "predictions"
    }, ", square root scale")
  }
  # a square figure leaves half of the width
  caption <- paste(vapply(c(about, below), wrap_text, "", width = if (x$type == "pit") 100 else 52), collapse = "\n")
  axes <- curve_axes(x)
  ggplot2::labs(x = axes[1], y = axes[2], caption = if (nzchar(caption)) caption)
}
