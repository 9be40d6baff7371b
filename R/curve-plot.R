#' Draw a calibration curve
#'
#' @param object A `ce_curve`.
#' @param bands `"conf"`: intervals (darker) and the simultaneous band (lighter) around the curve; `"null"`: where
#'   the curve of a calibrated model lies, around the diagonal; `"none"`. By default `"conf"`, and `"none"` for curves
#'   that share a panel.
#' @param histogram Whether to draw the distribution of the predictions underneath. For binary calibration, events point
#'   up and non-events down. Curves that share a panel have a strip each.
#' @param numbers Whether to print numbers: calibration error, slope and number of rows, or those of [ce_validate()] on
#'   its figure. They are in the corner of a panel, or in the legend for curves that share a panel.
#' @param facet Whether several models or groups get a panel each instead of a colour. By default of `"pit"`, and if
#'   there are more than six.
#' @param scale `"linear"` or `"logit"` axes. By default logit ones if three of four predictions of every curve are
#'   below .1 while the axes would go up to 1. Values beyond logit axes are drawn at their ends.
#' @param ... Not used.
#' @return A ggplot object. Smooth and isotonic curves are drawn from the fifth
#'   smallest to the fifth largest prediction (of 20 rows or more); `tidy()` has all of them. Both axes end at .1, .2 or
#'   .5 where all predictions, curves and intervals are below.
#' @name autoplot.ce_curve
#' @method autoplot ce_curve
#' @exportS3Method ggplot2::autoplot ce_curve
autoplot.ce_curve <- function(object, bands = NULL, histogram = TRUE, facet = NULL, numbers = FALSE,
                              scale = c("auto", "linear", "logit"), ...) {
  check_empty(...)
  facet <- facet %||% (object$type == "pit" || (!"class" %in% object$keys && nrow(object$summary) > many_curves))
  scale <- check_choice(scale, c("auto", "linear", "logit"))
  shared <- !isTRUE(facet) && length(setdiff(object$keys, "class")) > 0
  bands <- bands %||% if (shared && object$type != "pit") "none" else "conf"
  bands <- check_choice(bands, c("conf", "null", "none"))
  check_flag(histogram)
  check_flag(facet)
  check_flag(numbers)
  logit <- on_logit(object, scale)
  data <- curve_layers(object, facet, logit)
  plot <- if (object$type == "pit") {
    autoplot_pit(data, bands)
  } else {
    autoplot_reliability(object, data, bands, histogram)
  }
  colours <- levels(data$curve$colour)
  shared <- length(colours) > 1
  labels <- short_names(colours)
  if (numbers) {
    lines <- object$numbers %||% Map(function(error, slope, n) {
      drop_missing(c("calibration error" = figure_number(error, 3), slope = figure_number(slope, 2), n = count_text(n)))
    }, object$summary$error, object$summary$slope, object$summary$n)
    if (shared) labels <- legend_labels(data$summary, lines, colours, labels)
    if (!shared) plot <- plot + corner_layer(data$summary, lines)
  }
  # one curve needs no legend, in any theme
  guide <- wrapped_legend(labels, one_column = numbers || length(colours) > many_curves)
  plot <- plot + line_scales(colours, unname(labels), guide, aesthetics = c("colour", "fill")) +
    curve_titles(object, bands, histogram, shared, numbers, logit) + theme_ce() +
    ggplot2::theme(panel.grid.major = ggplot2::element_blank())
  if (shared && length(colours) > many_curves) plot <- plot + ggplot2::theme(legend.position = "right")
  plot + titled_panels(data$curve$panel)
}

# More share no panel by default, nor a legend below it.
many_curves <- 6

# A title above a panel of 16 mm, broken after a separator if both parts then fit.
two_lines <- function(text, width = 12) {
  if (nchar(text) <= width) return(text)
  after <- gregexpr("[._ -]", text)[[1]]
  after <- after[after > 0 & after <= width & nchar(text) - after <= width]
  at <- if (length(after) > 0) max(after) else width
  paste0(substr(text, 1, at), "\n", substring(text, at + 1))
}

# Names of panels that do not reach into the next one.
panel_titles <- function(panel) {
  many <- nlevels(panel) > many_curves
  titles <- short_names(levels(panel), if (many) 12 else 24, 24)
  if (many) titles[] <- vapply(titles, two_lines, "")
  ggplot2::as_labeller(titles)
}

# A panel for each level; many in 6 inches have small words.
titled_panels <- function(panel, ...) {
  if (nlevels(panel) < 2) return(NULL)
  few <- nlevels(panel) <= many_curves
  list(
    ggplot2::facet_wrap("panel", labeller = panel_titles(panel), ...),
    ggplot2::theme(panel.spacing.x = ggplot2::unit(if (few) 1.2 else 0.6, "lines"),
                   panel.spacing.y = ggplot2::unit(if (few) 0.5 else 0.1, "lines"),
                   strip.text = ggplot2::element_text(size = ggplot2::rel(if (few) 1 else 0.55), vjust = 0,
                                                      face = if (few) "bold" else "plain",
                                                      margin = ggplot2::margin(2, 0, 1, 0)),
                   axis.text = ggplot2::element_text(size = ggplot2::rel(if (few) 1 else 0.75)))
  )
}

# Ticks from 0 to the end of the axis, as many as the panels have room for. `logit`: the ends of logit axes.
unit_scale <- function(scale, n, top, logit = NULL, ...) {
  if (!is.null(logit)) {
    at <- if (n > 1) c(0.01, 0.5, 0.99) else c(1e-4, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
    at <- at[stats::qlogis(at) >= logit[1] & stats::qlogis(at) <= logit[2]]
    labels <- vapply(at, format, "", scientific = FALSE, drop0trailing = TRUE)
    return(scale(breaks = logit_place(at, logit), labels = labels,
                 guide = ggplot2::guide_axis(check.overlap = TRUE)))
  }
  at <- top * if (n == 1) seq(0, 1, 0.25) else if (n <= 6) c(0, 0.5, 1) else c(0, 1)
  scale(breaks = at, labels = format(at, drop0trailing = TRUE, trim = TRUE), ...)
}

# Curves with what is told apart by colour and what by panel.
curve_layers <- function(x, facet, logit = FALSE) {
  by_colour <- setdiff(x$keys, "class")
  by_panel <- intersect(x$keys, "class")
  if (facet) {
    by_panel <- x$keys
    by_colour <- character()
  }
  drawn <- function(rows) {
    if (!x$type %in% c("smooth", "isotonic")) return(rows)
    ends <- vctrs::vec_match(rows[x$keys], x$ends[x$keys])
    rows[rows$confidence >= x$ends$from[ends] & rows$confidence <= x$ends$to[ends], ]
  }
  add <- function(rows) {
    # at once: a group may have one of these names
    rows[c("colour", "panel")] <- list(labels_factor(rows, by_colour, TRUE), labels_factor(rows, by_panel, TRUE))
    # the axis says what the panels are
    if (identical(by_panel, "class")) levels(rows$panel) <- sub("^class ", "", levels(rows$panel))
    rows
  }
  curve <- add(drawn(x$curve))
  if (logit) return(logit_layers(curve, add(x$logits), add(x$summary)))
  top <- if (x$type %in% c("pit", "quantile")) 1 else axis_end(curve)
  list(curve = curve, histogram = coarse_histogram(add(x$histogram), top), summary = add(x$summary), top = top)
}

# Whether axes are logit ones: predictions of rare events lie in a corner of linear ones.
on_logit <- function(x, scale) {
  if (x$type %in% c("pit", "quantile") || is.null(x$logits)) return(FALSE)
  if (scale != "auto") return(scale == "logit")
  rows <- x$histogram
  key <- vctrs::vec_group_id(rows[x$keys])
  low <- tapply(rows$n * (rows$right <= 0.1 + 1e-9), key, sum) / tapply(rows$n, key, sum)
  places <- x$curve$confidence
  axis_end(x$curve) == 1 && all(low > 0.75) && all(places > 0 & places < 1)
}

# Places of probabilities on axes from 0 to 1 whose ends are these logits.
logit_place <- function(p, ends) (pmin(pmax(stats::qlogis(p), ends[1]), ends[2]) - ends[1]) / (ends[2] - ends[1])

logit_layers <- function(curve, histogram, summary) {
  drawn <- c(curve$confidence, curve$observed)
  drawn <- drawn[is.finite(drawn) & drawn > 0 & drawn < 1]
  ends <- stats::qlogis(range(pmin(pmax(if (length(drawn) > 0) drawn else c(0.01, 0.99), 1e-4), 1 - 1e-4)))
  ends <- ends + c(-0.2, 0.2)
  columns <- intersect(c("confidence", "observed", "left", "right", band_columns), names(curve))
  curve[columns] <- lapply(curve[columns], logit_place, ends)
  histogram <- histogram[histogram$left >= ends[1] & histogram$right <= ends[2], ]
  place <- function(z) (z - ends[1]) / (ends[2] - ends[1])
  histogram[c("left", "right")] <- lapply(histogram[c("left", "right")], place)
  list(curve = curve, histogram = histogram, summary = summary, top = 1, logit = ends)
}

# Both axes end earlier than 1 if rare events leave most of the unit square empty.
axis_end <- function(curve) {
  furthest <- max(curve$confidence, curve$observed, curve$conf.high, 0, na.rm = TRUE)
  ends <- c(0.1, 0.2, 0.5, 1)
  ends[match(TRUE, ends >= furthest, nomatch = length(ends))]
}

# Fifty bars up to the end of the axis.
coarse_histogram <- function(fine, top, bars = 50) {
  fine <- fine[fine$right <= top + 1e-9, ]
  bar <- floor(fine$left * bars / top + 1e-6)
  key <- vctrs::vec_group_id(data.frame(bar, fine$colour, fine$panel))
  out <- fine[!duplicated(key), ]
  out$left <- bar[!duplicated(key)] * top / bars
  out$right <- out$left + top / bars
  out[c("n", "events")] <- unname(rowsum(as.matrix(fine[c("n", "events")]), as.integer(key)))
  out
}

autoplot_reliability <- function(x, data, bands, histogram) {
  curve <- data$curve
  several <- nlevels(curve$colour) > 1
  # of equal predictions there is one place
  single <- all(table(curve$colour, curve$panel) <= 1)
  type <- if (single) "binned" else x$type
  plot <- ggplot2::ggplot(curve, ggplot2::aes(x = .data$confidence, y = .data$observed, colour = .data$colour,
                                              fill = .data$colour, linetype = .data$colour))
  plot <- plot + if (bands == "null") limit_layers(bands, FALSE, several, fill = "grey55") else
    limit_layers(bands, type == "binned", several)
  plot <- plot + ggplot2::annotate("segment", x = 0, y = 0, xend = data$top, yend = data$top, colour = "grey35",
                                   linewidth = 0.35, linetype = "22")
  split <- !several && x$notion == "binary" && x$type != "quantile"
  if (histogram) plot <- plot + histogram_layers(data$histogram, split, data$top)
  if (!single) plot <- plot + ggplot2::geom_line(linewidth = 0.6)
  if (type == "binned") plot <- plot + ggplot2::geom_point(size = 1.5)
  plot +
    unit_scale(ggplot2::scale_x_continuous, nlevels(curve$panel), data$top, data$logit) +
    unit_scale(ggplot2::scale_y_continuous, nlevels(curve$panel), data$top, data$logit) +
    ggplot2::coord_fixed(xlim = c(0, data$top), expand = FALSE, clip = "on",
                         ylim = data$top * c(if (histogram) strip_bottom(nlevels(curve$colour)) else 0, 1))
}

# The wider band first.
band_layers <- function(bands) {
  switch(bands,
    conf = list(list("band.low", "band.high", 0.14), list("conf.low", "conf.high", 0.26)),
    null = list(list("null_band.low", "null_band.high", 0.22), list("null.low", "null.high", 0.34)),
    none = list()
  )
}

# Bins are separate statements: bars. Curves: ribbons. `...`: what does not come from the figure.
limit_layers <- function(bands, bars, several = FALSE, ...) {
  lapply(band_layers(bands), function(layer) {
    aes <- ggplot2::aes(y = NULL, ymin = .data[[layer[[1]]]], ymax = .data[[layer[[2]]]])
    if (!bars) {
      return(ggplot2::geom_ribbon(aes, alpha = layer[[3]] * if (several) 0.6 else 1, colour = NA, na.rm = TRUE, ...))
    }
    ggplot2::geom_linerange(aes, linewidth = if (layer[[1]] == "conf.low") 0.9 else 0.4,
                            alpha = if (several) 0.7 else 0.9, na.rm = TRUE, ...)
  })
}

autoplot_pit <- function(data, bands) {
  curve <- data$curve
  several <- nlevels(curve$colour) > 1
  plot <- ggplot2::ggplot(curve, ggplot2::aes(x = .data$confidence, y = .data$observed, group = .data$colour))
  width <- min(curve$right - curve$left)
  if (several) {
    plot <- plot + ggplot2::geom_col(ggplot2::aes(fill = .data$colour), width = 0.9 * width,
                                     position = ggplot2::position_dodge())
  } else {
    plot <- plot + ggplot2::geom_col(fill = "grey78", colour = "white", width = width, linewidth = 0.3)
  }
  dodge <- ggplot2::position_dodge(width = if (several) 0.9 * width else 0)
  limits <- if (bands != "null") limit_layers(bands, TRUE, colour = "grey20", position = dodge) else
    lapply(band_layers(bands), function(layer) {
      ggplot2::geom_rect(ggplot2::aes(xmin = .data$left, xmax = .data$right, ymin = .data[[layer[[1]]]],
                                      ymax = .data[[layer[[2]]]]), fill = ce_colours[1], alpha = layer[[3]] * 0.7)
    })
  plot + limits + ggplot2::geom_hline(yintercept = 1, linetype = "22", colour = "grey35", linewidth = 0.35) +
    unit_scale(ggplot2::scale_x_continuous, nlevels(curve$panel), 1, expand = c(0, 0.01)) +
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

curve_titles <- function(x, bands, histogram, shared, numbers, logit) {
  level <- percent_text(x$control$level)
  shade <- if (x$type %in% c("binned", "pit") && bands == "conf") c("Thick bars", "thin bars") else c("Dark", "light")
  about <- switch(bands,
    conf = paste0(shade[1], ": ", level, " at each place; ", shade[2], ": at all places together."),
    null = paste0("Grey: where calibrated models lie; dark: ", level, " at each place, light: at all together."),
    none = NULL
  )
  if (x$type == "pit") about <- sub("^Grey", "Blue", about)
  below <- if (histogram && x$type != "pit") {
    paste0("Below: ", if (x$type == "quantile") "PIT values" else if (x$notion == "binary" && !shared) {
      "predictions of events (up) and of the others (down)"
    } else {
      "predictions"
    }, ", square root scale.")
  }
  if (shared && numbers) below <- paste0("CE: calibration error. ", below)
  if (logit) below <- c(below, "Logit scales, cut at the ends of the axes.")
  lines <- c(event_sentence(x$event$label), about, below)
  caption <- paste(vapply(lines, wrap_text, "", width = 58), collapse = "\n")
  axes <- curve_axes(x)
  ggplot2::labs(x = axes[1], y = axes[2], caption = if (nzchar(caption)) caption)
}
