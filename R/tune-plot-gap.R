# The estimated gap over the confidence: of a scalar notion, or of each class.

# Counts of the scalar feature under the gap; class-wise a list of them.
tune_histogram <- function(problems, notion) {
  switch(notion,
    top_label = , binary = feature_histogram(problems[[1]]),
    class_wise = lapply(problems, feature_histogram)
  )
}

# A list of list(label, histogram, forms) with one element per class, or the one of a scalar notion.
gap_parts <- function(x, classes = NULL, call = caller_env()) {
  if (x$notion == "canonical") {
    stop_input(c(
      "The gap is drawn for scalar notions, and for each class.",
      "x" = "The notion is {.val {x$notion}}.",
      "i" = "Use {.code type = \"risk\"} or {.val estimate}, or tune with {.code notion = \"top_label\"} or \\
             {.val class_wise}."
    ), "notion", arg = "type", call = call)
  }
  if (x$notion != "class_wise") {
    return(list(list(label = "", histogram = x$histogram, forms = lapply(x$forms, `[[`, 1))))
  }
  classes <- classes %||% x$levels
  unknown <- setdiff(as.character(classes), x$levels)
  if (length(unknown) > 0) {
    stop_input(c(
      "{.arg classes} must name classes of the result.",
      "x" = "{.val {unknown}} {?is/are} not among {.val {x$levels}}."
    ), "argument", arg = "classes", call = call)
  }
  lapply(match(as.character(classes), x$levels), function(j) {
    list(label = x$levels[j], histogram = x$histogram[[j]], forms = lapply(x$forms, `[[`, j))
  })
}

# The estimated gap on a grid of confidences, within the range of the data.
gap_curve <- function(x, classes = NULL, n_points = 601L, call = caller_env()) {
  parts <- gap_parts(x, classes, call)
  threads <- resolve_threads()
  out <- do.call(rbind, lapply(parts, function(part) {
    used <- range(which(part$histogram$counts > 0))
    at <- seq(part$histogram$breaks[used[1]], part$histogram$breaks[used[2] + 1], length.out = n_points)
    do.call(rbind, lapply(x$glance$method, function(m) {
      form <- ensemble_form(part$forms[[m]])
      is_gap <- isTRUE(form$gap)
      gap <- if (is_gap) form_gap(form, matrix(at), threads)[, 1] else {
        sqrt(pmax(form_squared(form, matrix(at), threads), 0))
      }
      data.frame(method = if (is_gap) m else paste0(m, " (size only)"), confidence = at, gap = gap, class = part$label)
    }))
  }))
  out$class <- factor(out$class, levels = unique(out$class))
  out
}

# Square-root heights: confidences crowd near 1, and rare ones should stay visible.
histogram_bars <- function(histogram, base, height) {
  tall <- sqrt(histogram$counts) / sqrt(max(histogram$counts))
  n <- length(tall)
  data.frame(left = histogram$breaks[-(n + 1)], right = histogram$breaks[-1], bottom = base,
             top = base + height * tall)[tall > 0, ]
}

# The bars of every panel, below the curves: `range` is that of all gaps.
gap_bars <- function(x, classes, range) {
  height <- 0.18 * diff(range)
  do.call(rbind, lapply(gap_parts(x, classes), function(part) {
    bars <- histogram_bars(part$histogram, base = range[1] - 1.25 * height, height = height)
    bars$class <- part$label
    bars
  }))
}

autoplot_gap <- function(panels, classes = NULL, call = caller_env()) {
  curve <- bind_panels(panels, function(x) gap_curve(x, classes, call = call))
  curve$method <- factor(curve$method, levels = unique(curve$method))
  range <- range(curve$gap[is.finite(curve$gap)], 0)
  bars <- bind_panels(panels, function(x) gap_bars(x, classes, range))
  bars$class <- factor(bars$class, levels = levels(curve$class))
  notion <- panels[[1]]$notion
  plot <- ggplot2::ggplot(curve) +
    ggplot2::geom_rect(
      data = bars, fill = "grey80",
      ggplot2::aes(xmin = .data$left, xmax = .data$right, ymin = .data$bottom, ymax = .data$top)
    ) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey40", linewidth = 0.4) +
    ggplot2::geom_line(ggplot2::aes(x = .data$confidence, y = .data$gap, colour = .data$method,
                                    linetype = .data$method),
                       linewidth = 0.6, na.rm = TRUE) +
    ggplot2::scale_colour_manual(values = colours_for(levels(curve$method))) +
    ggplot2::labs(
      x = if (notion == "top_label") "confidence" else if (notion == "binary") "predicted probability" else {
        "predicted probability of the class"
      },
      y = "estimated gap (prediction - outcome)",
      subtitle = paste0("Above zero ", if (notion == "class_wise") "the class is predicted too often" else {
        "the model is overconfident"
      }, "; grey: how many predictions lie there (square root scale)")
    ) +
    theme_ce()
  groups <- length(panels) > 1
  if (groups && notion == "class_wise") {
    plot <- plot + ggplot2::facet_grid(ggplot2::vars(.data$panel), ggplot2::vars(.data$class))
  } else if (groups) {
    plot <- plot + ggplot2::facet_wrap(ggplot2::vars(.data$panel))
  } else if (notion == "class_wise") {
    plot <- plot + ggplot2::facet_wrap(ggplot2::vars(.data$class))
  }
  plot + ggplot2::theme(panel.spacing.x = ggplot2::unit(1.2, "lines"))
}
