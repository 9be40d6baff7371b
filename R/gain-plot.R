#' Draw the gains of several maps
#'
#' The gain of each map of a table of [ce_gain()], with its interval. To the right of the dashed line a map improves the
#' score of rows that did not fit it.
#'
#' @param object A table of [ce_gain()] of maps to be fitted.
#' @param ... Not used.
#' @return A ggplot object, with a panel for each group.
#' @section Errors:
#' `calibrisk_error_argument` for the gain of given predictions, which is one number.
#' @name autoplot.ce_gain
#' @method autoplot ce_gain
#' @exportS3Method ggplot2::autoplot ce_gain
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' set.seed(1)
#' p <- runif(300)
#' y <- rbinom(300, 1, plogis(0.5 * qlogis(p)))
#' plot(ce_gain(p, c("temperature", "platt", "isotonic", "update"), y))
autoplot.ce_gain <- function(object, ...) {
  check_empty(...)
  stop_if(!"map" %in% names(object), "A figure of gains needs several maps.",
          "x" = "It is the gain of given predictions.",
          "i" = "As in {.code ce_gain(before, list(map_platt(), map_update()), truth)}.", arg = "object")
  rows <- rows_of_groups(object, "map")
  rows$map <- factor(rows$map, unique(rows$map))
  shown <- rows[rows$map != "none", ]
  score <- rows$score[1]
  ggplot2::ggplot(shown, ggplot2::aes(x = .data$gain, y = .data$map)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey35", linewidth = 0.35, linetype = "22") +
    interval_layers() +
    ggplot2::labs(
      x = paste0("gain in ", number_fact(score, "words") %|% score, " (before minus after)"), y = NULL,
      subtitle = paste0("Evaluated on rows not used to fit the map; ", percent_text(rows$level[1]),
                        " intervals; dashed: no map")
    ) +
    panels_by(rows, "group")
}
