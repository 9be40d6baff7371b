# Beside the curves of a reliability figure: the predictions below them, numbers in the corner or in the legend.

figure_number <- function(x, digits) {
  if (is.finite(x)) fixed_text(x, printed_digits(x, digits = digits)) else NA_character_
}

drop_missing <- function(x) x[!is.na(x)]

# Numbers that tell models apart, behind the names of a legend: as many as the column of a journal has room for.
legend_labels <- function(rows, lines, names, short = names, width = 60) {
  labels <- function(shown) {
    text <- vapply(lines, function(line) {
      line <- line[intersect(shown, names(line))]
      paste(sub("calibration error", "CE", names(line)), line, collapse = ", ")
    }, "")
    paste0(short, ": ", text[match(names, as.character(rows$colour))])
  }
  choices <- list(c("O:E", "slope", "C", "calibration error"), c("O:E", "slope", "calibration error"),
                  c("O:E", "calibration error"), "calibration error")
  found <- lapply(choices, labels)
  fits <- vapply(found, function(text) max(nchar(text)) <= width, NA)
  found[[match(TRUE, fits, nomatch = length(found))]]
}

# At the upper left, above the diagonal, one line below the other; in many panels fewer and smaller ones.
corner_layer <- function(rows, lines) {
  panels <- nlevels(rows$panel)
  size <- if (panels == 1) 2.6 else if (panels <= 6) 2.4 else 2
  parts <- lapply(seq_len(nrow(rows)), function(i) {
    line <- lines[[i]]
    if (panels > 1) line <- line[intersect(names(line), c("O:E", "slope", "calibration error", "n"))]
    if (panels > 6) line <- line[intersect(names(line), c("slope", "calibration error"))]
    data.frame(text = paste0(" ", names(line), " ", line), panel = rep(rows$panel[i], length(line)),
               line = seq_along(line))
  })
  ggplot2::geom_text(data = do.call(rbind, parts), inherit.aes = FALSE, hjust = 0, size = size, colour = "grey20",
                     ggplot2::aes(x = -Inf, y = Inf, label = .data$text, vjust = 1.7 * .data$line))
}

# The histogram lies below the unit square; curves that share a panel have a lane each.
strip_top <- -0.03

strip_bottom <- function(lanes) if (lanes < 2) -0.21 else strip_top - min(0.08 * lanes, 0.4)

# Square root heights, so that rare predictions stay visible where most lie near 1. With `split`, events stand on a line
# in the middle of the strip and the others hang from it.
histogram_layers <- function(histogram, split, top) {
  lanes <- nlevels(histogram$colour)
  key <- interaction(histogram$colour, histogram$panel, drop = TRUE)
  lane <- top * (strip_top - strip_bottom(lanes)) / lanes
  scaled <- function(n, most, height) height * sqrt(n / pmax(most, 1))
  floor <- top * strip_top - lane * as.integer(histogram$colour)
  if (split) {
    most <- stats::ave(pmax(histogram$events, histogram$n - histogram$events), key, FUN = max)
    histogram$base <- floor + lane / 2
    histogram$top <- histogram$base + scaled(histogram$events, most, lane / 2)
    histogram$bottom <- histogram$base - scaled(pmax(histogram$n - histogram$events, 0), most, lane / 2)
  } else {
    histogram$base <- floor
    # a little air between lanes
    height <- lane * if (lanes > 1) 0.85 else 1
    histogram$top <- floor + scaled(histogram$n, stats::ave(histogram$n, key, FUN = max), height)
  }
  line <- function(y) {
    ggplot2::annotate("segment", x = 0, xend = top, y = y, yend = y, colour = "grey70", linewidth = 0.3)
  }
  bars <- histogram[histogram$n > 0, ]
  bar <- function(low, high, fill) {
    aes <- ggplot2::aes(xmin = .data$left, xmax = .data$right, ymin = .data[[low]], ymax = .data[[high]])
    if (!is.null(fill)) return(ggplot2::geom_rect(aes, bars, inherit.aes = FALSE, fill = fill))
    aes$fill <- ggplot2::aes(fill = .data$colour)$fill
    ggplot2::geom_rect(aes, bars, inherit.aes = FALSE, show.legend = FALSE)
  }
  list(bar("base", "top", if (lanes > 1) NULL else if (split) "grey35" else "grey60"),
       if (split) bar("bottom", "base", "grey70"), line(c(0, unique(if (split) histogram$base else floor[lanes > 1]))))
}
