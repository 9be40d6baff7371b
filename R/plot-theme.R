# What all figures share: a quiet theme and colours that survive colour blindness and
# greyscale (Okabe & Ito).

ce_colours <- c("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")

colours_for <- function(names) {
  setNames(rep_len(ce_colours, length(names)), names)
}

theme_ce <- function(base_size = 11) {
  ggplot2::theme_bw(base_size = base_size) +
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
      plot.caption = ggplot2::element_text(colour = "grey40", hjust = 0)
    )
}

# Text above a figure of 6 inches.
wrap_text <- function(text, width = 78) paste(strwrap(text, width), collapse = "\n")

# A legend below the figure in as many rows as 6 inches need.
wrapped_legend <- function(labels, width = 68) {
  ggplot2::guide_legend(nrow = ceiling(sum(nchar(labels) + 6) / width), byrow = TRUE)
}
