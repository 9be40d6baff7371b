# Differences of net benefit between models on the same rows: what acting on the one brings beyond acting on the other.

# A row per pair of models, group and threshold; NULL where there is no pair. `found`: the parts of the curves.
decision_differences <- function(found, keys, settings) {
  if (!"model" %in% names(keys)) return(NULL)
  groups <- keys[setdiff(names(keys), "model")]
  id <- if (length(groups) == 0) rep(1L, nrow(keys)) else vctrs::vec_group_id(groups)
  parts <- lapply(split(seq_along(id), id), function(at) {
    if (length(at) < 2) return(NULL)
    pairs <- utils::combn(at, 2)
    lapply(seq_len(ncol(pairs)), function(k) {
      a <- found[[pairs[1, k]]]
      b <- found[[pairs[2, k]]]
      if (!on_same_rows(a, b)) return(NULL)
      table <- decision_difference(a$problem, b$problem, settings)
      names <- columns_frame(a = as.character(keys$model[pairs[1, k]]), b = as.character(keys$model[pairs[2, k]]))
      vctrs::vec_cbind(vctrs::vec_rep(vctrs::vec_cbind(names, vctrs::vec_slice(groups, at[1])), nrow(table)), table)
    })
  })
  tables <- drop_null(unlist(parts, recursive = FALSE))
  if (length(tables) > 0) vctrs::vec_rbind(!!!tables)
}

# Models of a list may have different outcomes, or other rows that are complete.
on_same_rows <- function(a, b) {
  same <- function(field) identical(a[[field]], b[[field]])
  same("rows") && identical(as.numeric(a$problem$labels), as.numeric(b$problem$labels)) &&
    identical(a$problem$design, b$problem$design)
}

# Who changes from b to a changes decisions, as who recalibrates does: NB(a) - NB(b) has the rows of that loss.
decision_difference <- function(a, b, settings) {
  thresholds <- settings$thresholds
  y <- as.numeric(a$labels)
  limits <- changed_limits(b$features[, 1], a$features[, 1], y, a$design, "loss", settings)
  columns_frame(threshold = thresholds, difference = limits$estimate, !!!limits[-1])
}

stop_no_differences <- function(call) {
  stop_input(c("Differences are those of several models on the same rows.",
               "i" = "As in {.code ce_decision(data, truth, a, b)}."), "argument", arg = "type", call = call)
}

# "more than b at thresholds 0.1 to 0.3", where the band leaves no doubt.
difference_sentences <- function(differences, keys, level) {
  labels <- paste0(differences$a, " against ", differences$b)
  by <- setdiff(keys, "model")
  if (length(by) > 0) labels <- paste0(curve_labels(differences, by), ", ", labels)
  rows <- split(seq_along(labels), factor(labels, unique(labels)))
  vapply(names(rows), function(label) {
    one <- differences[rows[[label]], ]
    if (anyNA(one$band.low)) return(paste0(label, ": too few rows for limits."))
    if (all(one$difference == 0 & one$band.high == 0)) return(paste0(label, ": the same decisions."))
    more <- one$band.low > 0
    less <- one$band.high < 0
    said <- c(if (any(more)) paste("more net benefit at", threshold_ranges(one$threshold, more)),
              if (any(less)) paste("less at", threshold_ranges(one$threshold, less)))
    if (length(said) == 0) said <- "a difference in net benefit is shown at no threshold"
    paste0(label, ": ", paste(said, collapse = ", "), " (", format(100 * level), " % jointly).")
  }, "", USE.NAMES = FALSE)
}

# A panel per pair, and per group beside it.
autoplot_differences <- function(object, thresholds, call) {
  if (is.null(object$differences)) stop_no_differences(call)
  rows <- within_thresholds(object$differences, thresholds, call)
  pair <- paste(rows$a, "-", rows$b)
  rows$pair <- factor(pair, unique(pair))
  by <- setdiff(object$keys, "model")
  group <- curve_labels(rows, by)
  rows$group <- factor(group, unique(group))
  plot <- ggplot2::ggplot(rows, ggplot2::aes(x = .data$threshold, y = .data$difference)) +
    ggplot2::geom_hline(yintercept = 0, colour = "grey35", linewidth = 0.35)
  for (layer in band_layers("conf")) {
    plot <- plot + ggplot2::geom_ribbon(
      ggplot2::aes(y = NULL, ymin = !!rlang::sym(layer[[1]]), ymax = !!rlang::sym(layer[[2]])),
      fill = ce_colours[1], alpha = layer[[3]], na.rm = TRUE
    )
  }
  plot +
    ggplot2::geom_line(colour = ce_colours[1], linewidth = 0.6, na.rm = TRUE) +
    ggplot2::facet_grid(ggplot2::vars(.data$pair), if (nlevels(rows$group) > 1) ggplot2::vars(.data$group)) +
    ggplot2::labs(x = "threshold", y = "difference of net benefit",
                  caption = paste("Dark:", format(100 * object$level), "% at one threshold; light: at all jointly.")) +
    theme_ce()
}
