# Conditional coverage: the smooth curve of ce_curve() of whether an interval holds its outcome.

# `x$rows`: of each row of `x$row_keys` list(levels, at, hit, nominal: a column per level, design).
coverage_curves <- function(x) {
  bind_parts(x$row_keys, lapply(x$rows, function(rows) {
    bind_rows(lapply(seq_along(rows$levels), function(k) {
      curve <- coverage_curve(rows$at[, k], rows$hit[, k], rows$nominal[, k], rows$design, x$conf_level)
      vctrs::vec_cbind(columns_frame(level = rep(rows$levels[k], nrow(curve))), curve)
    }))
  }))
}

# Over the ranks of the places, as ce_curve() is over logits: those of p near 1/2 are in proportion to p - 1/2, which is
# so small that the curve is a fit of the outcomes themselves.
coverage_curve <- function(at, hit, nominal, design, level) {
  known <- which(!is.na(at))
  stop_if(length(known) < 2, "A curve of coverage needs two rows or more with a place on its axis.",
          "x" = "There {cli::qty(length(known))}{?is/are} {length(known)}.", class = "rows", arg = "over")
  design <- design_rows(design, known)
  at <- at[known]
  hit <- hit[known]
  nominal <- nominal[known]
  rank <- rank(at) / (length(at) + 1)
  step <- 1e-4
  p <- stats::plogis(step * (rank - 0.5))
  counts <- row_counts(p, hit, rep(row_mean(hit, design), length(hit)), design, level)
  control <- c(choice_options(curve_smooth()), list(level = level))
  found <- with_seed_kept(1, curve_points(curve_smooth(), list(labels = hit, design = design), p, control, counts))
  place <- stats::qlogis(found$confidence) / step + 0.5
  ends <- drawn_ends(rank)
  kept <- place >= ends$from - 1e-6 & place <= ends$to + 1e-6
  place <- place[kept]
  expected <- if (diff(range(nominal)) < 1e-9) rep(nominal[1], length(place)) else
    local_line(rank, nominal, design_weights(design), place, attr(found, "bandwidth") / step)
  limits <- lapply(unclass(found)[c("conf.low", "conf.high", "band.low", "band.high")], `[`, kept)
  columns_frame(place = stats::approx(rank, at, place, ties = mean, rule = 2)$y, nominal = pmin(pmax(expected, 0), 1),
                coverage = found$observed[kept], !!!limits)
}

# What the curve would be if outcomes were their expectations: its local linear fit with the bandwidth h, of 500 cells.
local_line <- function(rank, value, w, place, h) {
  sums <- rowsum(w * cbind(1, rank, value), ceiling(500 * rank))
  off <- outer(sums[, 2] / sums[, 1], place, `-`)
  k <- sums[, 1] * stats::dnorm(off / h)
  value <- sums[, 3] / sums[, 1]
  moment <- function(of) colSums(k * of)
  (moment(off^2) * moment(value) - moment(off) * moment(off * value)) / (moment(1) * moment(off^2) - moment(off)^2)
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
  guide <- if (length(names) < 2) "none" else wrapped_legend(names)
  plot <- ggplot2::ggplot(rows, ggplot2::aes(x = .data$place, y = .data$coverage, colour = .data$line)) +
    ribbon("band.low", "band.high", 0.15) + ribbon("conf.low", "conf.high", 0.25) +
    ggplot2::geom_line(ggplot2::aes(y = .data$nominal, group = .data$line), colour = "grey35", linewidth = 0.35,
                       linetype = "22") +
    ggplot2::geom_line(ggplot2::aes(linetype = .data$line), linewidth = 0.7) +
    ggplot2::scale_colour_manual(values = colours_for(names), guide = guide, aesthetics = c("colour", "fill")) +
    ggplot2::scale_linetype_manual(values = stats::setNames(line_types_for(names), names), guide = guide) +
    ggplot2::coord_cartesian(ylim = c(0, 1)) +
    ggplot2::labs(x = x$over %||% "middle of the interval", y = "coverage", caption = wrap_text(paste0(
      percent_text(x$conf_level), " limits at one place (darker) and band of the whole curve (lighter). ",
      "Dashed: nominal coverage."
    ), 58)) +
    theme_ce() + ggplot2::theme(panel.grid.major = ggplot2::element_blank())
  if (nlevels(rows$panel) < 2) return(plot)
  plot + ggplot2::facet_wrap(ggplot2::vars(.data$panel), scales = "free_x") + panel_theme(nlevels(rows$panel))
}
