# Conditional coverage: the smooth curve of ce_curve() of whether an interval holds its outcome.

# `x$rows`: of each row of `x$row_keys` list(levels, at, hit, nominal: a column per level, design).
coverage_curves <- function(x) {
  of <- function(rows) {
    bind_rows(lapply(seq_along(rows$levels), function(k) {
      curve <- coverage_curve(rows$at[, k], rows$hit[, k], rows$nominal[, k], rows$design, x$conf_level)
      vctrs::vec_cbind(columns_frame(level = rep(rows$levels[k], nrow(curve))), curve)
    }))
  }
  bind_parts(x$row_keys, lapply(seq_along(x$rows), function(g) {
    if (length(x$keys) == 0) of(x$rows[[g]]) else in_group(of(x$rows[[g]]), x$row_keys, g)
  }))
}

# Over the ranks of the places, as ce_curve() is over logits: those of p near 1/2 are in proportion to p - 1/2, which is
# so small that the curve is a fit of the outcomes themselves.
coverage_curve <- function(at, hit, nominal, design, level) {
  known <- which(!is.na(at))
  distinct <- length(unique(at[known]))
  stop_if(distinct < 2, "A curve of coverage needs two distinct places or more on its axis.",
          "x" = "{length(known)} of {length(at)} row{?s} {?has/have} a place; {distinct} {?is/are} distinct.",
          "i" = if (distinct == 1) "{.arg over} gives another axis.", class = c("rows", "distinct"), arg = "over")
  design <- design_rows(design, known)
  at <- at[known]
  hit <- hit[known]
  nominal <- nominal[known]
  rank <- cpp_mean_ranks(at, design$copies) / (copy_count(design) + 1)
  step <- 1e-4
  p <- stats::plogis(step * (rank - 0.5))
  counts <- row_counts(p, hit, rep(row_mean(hit, design), length(hit)), design, level)
  control <- c(choice_options(curve_smooth()), list(level = level))
  found <- with_seed_kept(1, curve_points(curve_smooth(), list(labels = hit, design = design), p, control, counts))
  place <- stats::qlogis(found$confidence) / step + 0.5
  ends <- cpp_drawn_ends(rank, as.numeric(design$copies))
  # the equal steps and the quantiles of ranks are the same places
  kept <- place >= ends$from - 1e-6 & place <= ends$to + 1e-6 & c(TRUE, diff(place) > 1e-6 / length(at))
  place <- place[kept]
  # what the curve would be if outcomes were their expectations
  expected <- if (diff(range(nominal)) < 1e-9) rep(nominal[1], length(place)) else
    cpp_local_line(rank, nominal, design_weights(design), place, attr(found, "bandwidth") / step)
  limits <- lapply(unclass(found)[c("conf.low", "conf.high", "band.low", "band.high")], `[`, kept)
  columns_frame(place = stats::approx(rank, at, place, ties = mean, rule = 2)$y, nominal = pmin(pmax(expected, 0), 1),
                coverage = found$observed[kept], !!!limits)
}
