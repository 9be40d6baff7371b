# The estimated gap over the confidence: of the one probability per row, or of each class.

# A list of list(label, histogram, forms), with one element per class, or a single one for one probability per row.
gap_parts <- function(x, classes = NULL) {
  stop_if(x$notion == "canonical", "Only binary, top-label and class-wise calibration can be drawn.",
          "x" = "The result has {.code notion = \"{x$notion}\"}.",
          "i" = "{.code predict(x, new, type = \"gap\")} gives its coordinates.", class = "notion", arg = "type")
  if (x$notion != "class_wise") {
    return(list(list(label = "", histogram = x$histogram, forms = lapply(x$forms, `[[`, 1))))
  }
  classes <- classes %||% x$levels
  check_among(classes, x$levels, "result")
  lapply(match(as.character(classes), x$levels), function(j) {
    list(label = x$levels[j], histogram = x$histogram[[j]], forms = lapply(x$forms, `[[`, j))
  })
}

# The estimated gap on a grid of confidences within the range of the data. Pointwise limits at the result's level are
# from the jackknife: the functions of the folds each leave one fold out.
gap_curve <- function(x, classes = NULL, n_points = 601L) {
  parts <- gap_parts(x, classes)
  methods <- x$glance$method
  # the selected method, or the first of those drawn
  shown <- c(methods[x$glance$selected %in% TRUE], methods)[1]
  out <- do.call(rbind, lapply(parts, function(part) {
    used <- range(which(part$histogram$counts > 0))
    at <- seq(part$histogram$breaks[used[1]], part$histogram$breaks[used[2] + 1], length.out = n_points)
    do.call(rbind, lapply(methods, function(m) {
      forms <- part$forms[[m]]
      is_gap <- isTRUE(ensemble_form(forms)$gap)
      gap_of <- function(form) {
        if (is_gap) form_gap(form, matrix(at))[, 1] else {
          sqrt(pmax(form_squared(form, matrix(at)), 0))
        }
      }
      gap <- gap_of(ensemble_form(forms))
      t <- stats::qt((1 + (x[["level"]] %||% 0.95)) / 2, max(length(forms) - 1, 1))
      half <- t * jackknife_error(vapply(forms, gap_of, at))
      data.frame(method = paste0(method_words(m), if (!is_gap) " (size only)"), confidence = at, gap = gap,
                 low = gap - half, high = gap + half, chosen = m == shown, class = part$label)
    }))
  }))
  out$class <- factor(out$class, levels = unique(out$class))
  out
}

# Rows: places; columns: functions fitted without one of k parts.
jackknife_error <- function(values) {
  k <- ncol(values)
  if (k < 2) return(rep(NA_real_, nrow(values)))
  sqrt((k - 1) / k * rowSums((values - rowMeans(values))^2))
}

# The bars of every panel, in a strip below the curves: `range` is that of all gaps. Square-root heights: confidences
# crowd near 1, and rare ones should stay visible.
gap_bars <- function(x, classes, range) {
  height <- 0.18 * diff(range)
  base <- range[1] - 1.3 * height
  do.call(rbind, lapply(gap_parts(x, classes), function(part) {
    breaks <- part$histogram$breaks
    tall <- sqrt(part$histogram$counts) / sqrt(max(part$histogram$counts))
    data.frame(left = breaks[-length(breaks)], right = breaks[-1], bottom = base, top = base + height * tall,
               class = part$label)[tall > 0, ]
  }))
}

# Curves of all panels, those of the chosen method named and coloured, and the bars below them.
autoplot_gap <- function(panels, classes = NULL) {
  curve <- bind_panels(panels, function(x) gap_curve(x, classes))
  front <- curve[curve$chosen, ]
  inside <- c(curve$gap, front$low, front$high)
  range <- range(inside[is.finite(inside)], 0)
  # a band that is wider than a few times the gaps themselves is cut
  widest <- 2.5 * range(curve$gap[is.finite(curve$gap)], 0.02, -0.02)
  range <- c(max(range[1], widest[1]), min(range[2], widest[2]))
  bars <- bind_panels(panels, function(x) gap_bars(x, classes, range))
  bars$class <- factor(bars$class, levels = levels(curve$class))
  chosen <- unique(front$method)
  others <- setdiff(unique(curve$method), chosen)
  # a fit has no band, and an empty ribbon cannot be drawn
  band <- any(is.finite(front$low))
  notion <- panels[[1]]$notion
  # no band reaches into the strip
  front$low <- pmax(front$low, range[1])
  colours <- colours_for(chosen)
  types <- setNames(rep_len(c("solid", "22", "42", "13", "1343"), length(others)), others)
  several <- length(others) > 0 || length(chosen) > 1
  level <- panels[[1]][["level"]] %||% 0.95
  reading <- switch(notion,
    top_label = "Above zero the model is overconfident",
    class_wise = "Above zero the class is predicted too often",
    "Above zero the probability is predicted too high"
  )
  caption <- paste0(
    reading, if (band) paste0("; band: ", percent_text(level), " pointwise (jackknife over folds)"),
    if (length(others) > 0) "; grey: other methods", "; below: the predictions (square root scale)"
  )
  by_group <- length(panels) > 1
  facets <- if (by_group && notion == "class_wise") {
    ggplot2::facet_grid(ggplot2::vars(.data$panel), ggplot2::vars(.data$class))
  } else if (by_group || notion == "class_wise") {
    ggplot2::facet_wrap(if (by_group) "panel" else "class")
  }
  ggplot2::ggplot(front, ggplot2::aes(x = .data$confidence, y = .data$gap)) +
    ggplot2::geom_rect(
      data = bars, fill = "grey80", inherit.aes = FALSE,
      ggplot2::aes(xmin = .data$left, xmax = .data$right, ymin = .data$bottom, ymax = .data$top)
    ) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey40", linewidth = 0.4) +
    ggplot2::geom_line(data = curve[!curve$chosen, ], ggplot2::aes(linetype = .data$method),
                       colour = "grey60", linewidth = 0.4, na.rm = TRUE) +
    (if (band) {
      ggplot2::geom_ribbon(ggplot2::aes(ymin = .data$low, ymax = .data$high, fill = .data$method), alpha = 0.2,
                           na.rm = TRUE)
    }) +
    ggplot2::geom_line(ggplot2::aes(colour = .data$method), linewidth = 0.8, na.rm = TRUE) +
    ggplot2::scale_colour_manual(values = colours, aesthetics = c("colour", "fill"),
                                 guide = if (several) ggplot2::guide_legend(order = 1) else "none") +
    ggplot2::scale_linetype_manual(values = types, guide = wrapped_legend(others, least = 1)) +
    ggplot2::geom_hline(yintercept = range[1], colour = "grey20", linewidth = 0.35) +
    ggplot2::scale_y_continuous(breaks = Filter(function(y) y >= range[1], pretty(range, 4)),
                                expand = ggplot2::expansion(c(0, 0.05))) +
    ggplot2::coord_cartesian(ylim = c(min(bars$bottom), range[2])) +
    ggplot2::labs(x = gap_axis(panels[[1]]), y = "estimated miscalibration\n(predicted minus observed)",
                  caption = wrap_text(caption, 58)) +
    theme_ce() +
    # leaves the height of a legend of many rows to the panel
    ggplot2::theme(legend.spacing.y = ggplot2::unit(0, "pt"), legend.box = "vertical",
                   panel.spacing.x = ggplot2::unit(1.2, "lines")) +
    facets
}

gap_axis <- function(x) {
  switch(x$notion, top_label = "confidence", binary = paste("predicted", probability_of(x)),
         "predicted probability of the class")
}
