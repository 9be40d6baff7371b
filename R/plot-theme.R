# Shared by all figures: a quiet theme and colours that survive colour blindness and greyscale (Okabe & Ito).

ce_colours <- c("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")

colours_for <- function(names) {
  setNames(rep_len(ce_colours, length(names)), names)
}

# Types that also differ in grey print, the most different ones first. Where colours begin again the types are others.
line_types_for <- function(names) {
  if (length(names) < 2) return(rep("solid", length(names)))
  at <- seq_along(names) - 1
  c("solid", "62", "1343", "12", "33", "2262", "821212", "93")[(at + at %/% 8) %% 8 + 1]
}

# Scales of lines that are told apart by both, with these labels in the legend.
line_scales <- function(names, labels = names, guide = wrapped_legend(labels), aesthetics = "colour",
                        colours = colours_for(names), types = line_types_for(names), ...) {
  scale <- function(make, values, ...) {
    make(values = stats::setNames(values, names), labels = labels, guide = guide, ...)
  }
  list(scale(ggplot2::scale_colour_manual, colours, aesthetics = aesthetics, ...),
       scale(ggplot2::scale_linetype_manual, types, ...))
}

theme_ce <- function() {
  ggplot2::theme_bw() +
    ggplot2::theme(
      panel.grid.minor = ggplot2::element_blank(),
      panel.grid.major = ggplot2::element_line(colour = "grey92", linewidth = 0.3),
      strip.background = ggplot2::element_blank(),
      strip.text = ggplot2::element_text(face = "bold", hjust = 0),
      legend.position = "bottom",
      legend.title = ggplot2::element_blank(),
      plot.title.position = "plot",
      plot.caption.position = "plot",
      strip.clip = "off",
      plot.subtitle = ggplot2::element_text(colour = "grey30", size = ggplot2::rel(0.9)),
      plot.caption = ggplot2::element_text(colour = "grey40", hjust = 0, size = ggplot2::rel(0.75)),
      legend.text = ggplot2::element_text(size = ggplot2::rel(0.7)),
      legend.key.width = ggplot2::unit(1.8, "lines"),
      legend.key.height = ggplot2::unit(0.85, "lines"),
      legend.margin = ggplot2::margin(0, 0, 0, 0)
    )
}

# The same of figures with a line of their own for each row.
theme_rows <- function(...) theme_ce() + ggplot2::theme(panel.grid.major.y = ggplot2::element_blank(), ...)

# A panel for each level of a factor; none where it has one.
panels_by <- function(rows, by) if (nlevels(rows[[by]]) > 1) ggplot2::facet_wrap(by)

# Text above a figure of 6 inches; with a width of 58, the caption of one of 90 mm.
wrap_text <- function(text, width = 78) paste(strwrap(text, width), collapse = "\n")

# A legend below the figure, in as many rows as a column of a journal needs, or with an entry per row; none of fewer
# labels than `least`.
wrapped_legend <- function(labels, one_column = FALSE, least = 2) {
  if (length(labels) < least) return("none")
  rows <- if (one_column) length(labels) else legend_rows(nchar(labels))
  ggplot2::guide_legend(nrow = rows, byrow = TRUE)
}

# The fewest rows in which a legend fits into 90 mm. Each column is as wide as its longest label of `sizes` letters.
legend_rows <- function(sizes, width = 60, key = 9) {
  fits <- function(columns) sum(tapply(sizes, (seq_along(sizes) - 1) %% columns, max) + key) <= width
  columns <- rev(seq_along(sizes))
  ceiling(length(sizes) / c(columns[vapply(columns, fits, NA)], 1)[1])
}
