# Risks along the grid of every method, minus the smallest of all: differences are tiny beside the noise that all
# risks of a fold share, so that only paired ones can be seen.

# Mean over folds of the risk of each method and value, its difference to the smallest and that difference's standard
# error over folds. Class-wise: summed over classes with the same value in each.
risk_table <- function(x) {
  rows <- x$tidy[!is.na(x$tidy$risk), ]
  # a method of your own may have a risk beyond all numbers, which has no place in a figure
  points <- paste(rows$method, rows$value)
  rows <- rows[!points %in% points[is.infinite(rows$risk)], ]
  stop_if(nrow(rows) == 0, "A risk needs at least two held-out rows in a fold.",
          "x" = "No risk of this result is defined and finite.", class = "risk", arg = "type")
  rows <- best_kernels(rows)
  # folds of different splits are different folds
  rows$split <- if (is.null(rows[["split"]])) 1 else rows$split
  rows$unit <- paste(rows$split, rows$fold)
  key <- vctrs::vec_group_id(rows[c("method", "value")])
  sums <- tapply(rows$risk, list(key, rows$unit), sum)
  points <- rows[match(seq_len(nrow(sums)), key), c("method", "value")]
  best <- which.min(rowMeans(sums, na.rm = TRUE))
  gaps <- sums - rep(sums[best, ], each = nrow(sums))
  split <- rows$split[match(colnames(gaps), rows$unit)]
  # NA of a single one
  standard_error <- function(g) sd(g, na.rm = TRUE) / sqrt(sum(!is.na(g)))
  out <- data.frame(
    points, risk = rowMeans(sums, na.rm = TRUE), difference = rowMeans(gaps, na.rm = TRUE),
    std.error = apply(gaps, 1, function(g) mean(tapply(g, split, standard_error), na.rm = TRUE))
  )
  out$std.error[best] <- 0
  out$method <- factor(out$method, levels = x$glance$method)
  out <- out[order(out$method, out$value), ]
  out$chosen <- stats::ave(out$risk, out$method, FUN = function(r) seq_along(r) == which.min(r)) == 1
  rownames(out) <- NULL
  out
}

# If there are several kernels: the one with the smallest mean risk at each value (and class).
best_kernels <- function(rows) {
  if (is.null(rows[["kernel"]])) return(rows)
  label <- function(columns) do.call(paste, c(lapply(columns, function(name) rows[[name]]), sep = "\r"))
  points <- label(intersect(c("method", "class", "value"), names(rows)))
  means <- tapply(rows$risk, list(points, paste(rows$kernel)), mean)
  best <- colnames(means)[apply(means, 1, which.min)]
  rows[paste(rows$kernel) == best[match(points, rownames(means))], ]
}

# Place along the path: from smooth (0) to flexible (1), in decades where the grid spans more than two. A single value
# is in the middle.
path_place <- function(value, parameter) {
  out <- rep(0.5, length(value))
  at <- which(!is.na(value))
  if (length(unique(value[at])) < 2) return(out)
  v <- value[at]
  if (min(v) > 0 && max(v) / min(v) > 100) v <- log10(v)
  share <- (v - min(v)) / diff(range(v))
  out[at] <- if (parameter %in% c("ridge", "bandwidth")) 1 - share else share
  out
}

risk_curve <- function(x) {
  table <- risk_table(x)
  # by method, as the rows are
  parameter <- x$glance$parameter[match(levels(table$method), x$glance$method)]
  table$place <- unlist(Map(path_place, split(table$value, table$method), parameter))
  table
}

# Mean risk of h = 0 on the same folds, minus the smallest.
zero_difference <- function(x, table) {
  row <- which(is.finite(x$glance$skill) & x$glance$skill < 1)[1]
  x$glance$risk[row] / (1 - x$glance$skill[row]) - min(table$risk)
}

# Small ridges can have huge risks, and h = 0 can be far away: show where the methods' best values differ.
risk_limits <- function(table) {
  table$std.error[is.na(table$std.error)] <- 0
  best <- table[table$chosen, ]
  c(min(best$difference - best$std.error),
    1.4 * max(best$difference + best$std.error, stats::median(table$std.error), 1e-15))
}

# Differences in units of a power of ten.
risk_shown <- function(panels) {
  curve <- bind_panels(panels, function(x) risk_curve(x))
  zero <- bind_panels(panels, function(x) data.frame(zero = zero_difference(x, risk_curve(x))))
  limits <- range(unlist(lapply(split(curve, curve$panel), risk_limits)))
  power <- floor(log10(max(limits)))
  unit <- 10^power
  for (name in c("difference", "std.error")) curve[[name]] <- curve[[name]] / unit
  zero$zero <- zero$zero / unit
  list(curve = curve, zero = zero, limits = limits / unit, power = power, labels = method_labels(panels, curve))
}

# The axis: each method, and below it its value of smallest mean risk (one panel).
method_labels <- function(panels, curve) {
  methods <- levels(curve$method)
  words <- method_words(methods)
  if (length(panels) > 1) return(stats::setNames(words, methods))
  chosen <- curve[curve$chosen, ]
  row <- match(methods, chosen$method)
  parameter <- panels[[1]]$glance$parameter
  value <- vapply(signif(chosen$value[row], 2), format, "")
  stats::setNames(ifelse(is.na(row) | is.na(parameter) | is.na(chosen$value[row]), words,
                         paste0(words, "\n", parameter, " = ", value)), methods)
}

risk_caption <- function(shown) {
  far <- is.finite(shown$zero$zero) & shown$zero$zero > shown$limits[2]
  wrap_text(paste0(
    "Dots: each method's smallest mean risk; bars: paired standard error over folds; lines below: its grid, from ",
    "smooth (top) to flexible; ",
    if (all(far)) {
      paste0("assuming perfect calibration is to the right, at ", format(signif(min(shown$zero$zero), 2)))
    } else {
      "dashed: assuming perfect calibration"
    }
  ), 58)
}

# A row per method: its best value, and below it the path along its grid.
autoplot_risk <- function(panels) {
  shown <- risk_shown(panels)
  curve <- shown$curve
  # methods without a drawn risk have no row
  curve$method <- droplevels(curve$method)
  methods <- levels(curve$method)
  curve$row <- length(methods) - as.integer(curve$method)
  curve$path <- curve$row - 0.2 - 0.45 * curve$place
  # a line needs two points
  key <- paste(curve$method, curve$panel)
  paths <- curve[duplicated(key) | duplicated(key, fromLast = TRUE), ]
  ggplot2::ggplot(curve[curve$chosen, ], ggplot2::aes(x = .data$difference, y = .data$row)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey70", linewidth = 0.3) +
    ggplot2::geom_vline(ggplot2::aes(xintercept = .data$zero), shown$zero, linetype = "dashed", colour = "grey40",
                        linewidth = 0.4, na.rm = TRUE) +
    ggplot2::geom_path(ggplot2::aes(y = .data$path, group = .data$method), paths, colour = "grey55", linewidth = 0.4) +
    ggplot2::geom_point(ggplot2::aes(y = .data$path), paths, colour = "grey55", size = 0.7) +
    ggplot2::geom_linerange(ggplot2::aes(xmin = .data$difference - .data$std.error,
                                         xmax = .data$difference + .data$std.error),
                            linewidth = 0.7, colour = ce_colours[1], na.rm = TRUE) +
    ggplot2::geom_point(size = 2.4, colour = ce_colours[1]) +
    ggplot2::scale_y_continuous(breaks = rev(seq_along(methods)) - 1, labels = unname(shown$labels[methods]),
                                expand = ggplot2::expansion(0.07)) +
    ggplot2::coord_cartesian(xlim = shown$limits) +
    ggplot2::labs(x = bquote("risk minus smallest" %*% 10^.(-shown$power)), y = NULL,
                  caption = risk_caption(shown)) +
    theme_rows() +
    panels_by(curve, "panel")
}
