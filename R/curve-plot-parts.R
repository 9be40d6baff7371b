# Beside the curves of a reliability figure: the predictions below them, numbers in the corner.

# The lines of a corner: one per number, or one per curve where several share the panel.
corner_text <- function(rows) {
  text <- lapply(seq_len(nrow(rows)), function(i) {
    c(if (is.finite(rows$error[i])) paste("CE", format(round(rows$error[i], 3), nsmall = 3)),
      if (is.finite(rows$slope[i])) paste("slope", format(round(rows$slope[i], 2), nsmall = 2)),
      paste("n", count_text(rows$n[i])))
  })
  if (length(text) == 1) return(text[[1]])
  paste0(rows$colour, ": ", vapply(text, paste, "", collapse = ", "))
}

corner_layer <- function(summary) {
  parts <- lapply(split(summary, summary$panel), function(rows) {
    text <- corner_text(rows)
    data.frame(text = paste0(" ", text), panel = rows$panel[1], line = seq_along(text))
  })
  # at the upper left, one line below the other
  ggplot2::geom_text(data = do.call(rbind, unname(parts)), inherit.aes = FALSE, hjust = 0, size = 2.8,
                     colour = "grey20",
                     ggplot2::aes(x = -Inf, y = Inf, label = .data$text, vjust = 0.3 + 1.3 * .data$line))
}

# Square root heights, so that rare confidences stay visible where most lie near 1. With `split`, events stand on a line
# in the middle of the strip and the others hang from it.
histogram_layers <- function(histogram, several, split) {
  key <- interaction(histogram$colour, histogram$panel, drop = TRUE)
  height <- strip[["top"]] - strip[["bottom"]]
  scaled <- function(n, most) height * sqrt(n / pmax(most, 1))
  if (split) {
    most <- stats::ave(pmax(histogram$events, histogram$n - histogram$events), key, FUN = max)
    histogram$base <- mean(strip)
    histogram$top <- histogram$base + scaled(histogram$events, most) / 2
    histogram$bottom <- histogram$base - scaled(histogram$n - histogram$events, most) / 2
  } else {
    histogram$base <- histogram$bottom <- strip[["bottom"]]
    histogram$top <- histogram$base + scaled(histogram$n, stats::ave(histogram$n, key, FUN = max))
  }
  floor <- ggplot2::annotate("segment", x = 0, xend = 1, y = 0, yend = 0, colour = "grey70", linewidth = 0.3)
  middle <- if (split) ggplot2::annotate("segment", x = 0, xend = 1, y = mean(strip), yend = mean(strip),
                                         colour = "grey70", linewidth = 0.3)
  if (!several) {
    bars <- histogram[histogram$n > 0, ]
    bar <- function(low, high, fill) {
      ggplot2::geom_rect(data = bars, inherit.aes = FALSE, fill = fill,
                         ggplot2::aes(xmin = .data$left, xmax = .data$right, ymin = .data[[low]], ymax = .data[[high]]))
    }
    return(list(bar("base", "top", if (split) "grey35" else "grey60"), if (split) bar("bottom", "base", "grey70"),
                middle, floor))
  }
  step <- function(side) {
    ggplot2::geom_step(data = histogram, ggplot2::aes(x = .data$left, y = .data[[side]]), linewidth = 0.4)
  }
  list(step("top"), if (split) step("bottom"), middle, floor)
}
