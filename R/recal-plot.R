#' Draw a recalibration map
#'
#' Without data, draws the map itself: the recalibrated against the predicted probability (or variance). With data that
#' it was not fitted to, draws calibration curves before and after.
#'
#' @section Definition:
#' With more than two classes a map has no single curve. The figure shows the recalibrated probability of a class whose
#' prediction moves from 0 to 1 while the other classes share the rest equally. Maps that treat all classes equally
#' (`"temperature"`, `"ets"`, `"diag"`, `"constant_confidence"`) have one curve, others one per class.
#'
#' @param object A `ce_recalibration`, or a [ce_grouped] list of them.
#' @param new,truth Predictions and outcomes as in [ce_recalibrate()], for calibration curves; best those of
#'   other rows than the fit's. Not for `"variance"`; see [ce_moments()].
#' @param classes Which classes' curves to draw, by name; by default all, at most the first eight.
#' @param ... With `new`: passed on to [ce_curve()]. Without: not used.
#' @return A ggplot object.
#' @section Errors:
#' `calibrisk_error_argument` for `new` without `truth`, unknown classes, and calibration curves of a variance map.
#' @name autoplot.ce_recalibration
#' @method autoplot ce_recalibration
#' @exportS3Method ggplot2::autoplot ce_recalibration
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' set.seed(1)
#' p <- runif(500)
#' y <- rbinom(500, 1, plogis(0.5 * qlogis(p)))
#' map <- ce_recalibrate(p[1:250], y[1:250], method = "beta")
#' plot(map)
#' plot(map, p[251:500], y[251:500])
autoplot.ce_recalibration <- function(object, new = NULL, truth, ..., classes = NULL) {
  if (is.null(new)) return(autoplot_maps(list(object), classes = classes))
  ggplot2::autoplot(before_after(object, new, enquo(truth), ...))
}

# Reliability curves of the same rows before and after the map.
before_after <- function(map, new, truth, ...) {
  stop_if(map$kind == "distribution", "Reliability curves are drawn for class probabilities.",
          "x" = "It is a map of variances.",
          "i" = "{.code ce_moments(new, truth, after = map)} compares before and after.", arg = "new")
  stop_if(rlang::quo_is_missing(truth), "{.arg truth} must be given with {.arg new}.",
          "i" = "Without both, the map itself is drawn.", arg = "truth")
  outcome <- read_outcomes(truth, new, NULL)$values
  after <- predict(map, new)
  before <- without_logits(new, map)
  if (is.data.frame(before)) before <- before[map$layout$columns]
  # a map fitted to a frame answers with one, also where `new` is a matrix
  pair <- lapply(list(before = before, after = after), function(p) {
    if (is.data.frame(p)) p <- as.matrix(p)
    if (is_lone_column(p)) p[, 1] else p
  })
  ce_curve(pair, outcome, ...)
}

equivariant_maps <- c("temperature", "ets", "diag", "constant_confidence")
most_classes <- 8L

# Prediction, recalibrated and class on a grid; `share` is TRUE where other classes share the rest.
map_curve <- function(x, classes = NULL, n_points = 401L) {
  if (x$kind == "distribution") return(variance_curve(x, n_points))
  at <- seq(0, 1, length.out = n_points)
  layout <- x$layout
  layout$logits <- FALSE
  if (x$kind == "scalar") {
    after <- map_probs(x$map, given_rows(at, layout))[, 2]
    return(data.frame(before = at, after = after, class = ""))
  }
  k <- x$n_classes
  drawn <- map_classes(x, classes)
  curves <- lapply(drawn, function(j) {
    probs <- matrix((1 - at) / (k - 1), n_points, k)
    probs[, j] <- at
    map_probs(x$map, given_rows(probs, layout))[, j]
  })
  names <- if (length(drawn) == 1 && k > 2 && x$method %in% equivariant_maps) "every class" else layout$levels[drawn]
  data.frame(before = at, after = unlist(curves), class = rep(factor(names, levels = names), each = n_points))
}

map_classes <- function(x, classes) {
  levels <- x$layout$levels
  if (!is.null(classes)) {
    check_among(classes, levels, "map")
    return(match(as.character(classes), levels))
  }
  if (x$method %in% equivariant_maps) return(1L)
  if (x$n_classes == 2) return(x$layout$event)
  seq_len(min(x$n_classes, most_classes))
}

# Up to the largest variance of the fit, which its image gives back unless all are the same.
variance_curve <- function(x, n_points) {
  fitted <- x$fitted
  if (is.data.frame(fitted)) fitted <- if (x$layout$type == "law") fitted[[1]] else as.matrix(fitted)
  image <- moments_of(fitted)$variance
  w <- x$map$w
  largest <- if (w > 0) max(image - x$map$b, na.rm = TRUE) / w else 2 * max(image, na.rm = TRUE)
  at <- seq(0, largest, length.out = n_points)
  data.frame(before = at, after = scale_variance(x$map, at), class = "")
}

map_subtitle <- function(x) {
  text <- paste0("Map: ", gsub("_", " ", x$method), "; dashed: unchanged")
  if (x$kind != "matrix" || x$n_classes == 2) return(text)
  shown <- if (x$n_classes > most_classes && !x$method %in% equivariant_maps) {
    paste0(" (the first ", most_classes, " of ", x$n_classes, ")")
  }
  paste0(text, "\nThe probability of a class", shown, " while the others share the rest equally")
}

autoplot_maps <- function(panels, classes = NULL) {
  first <- panels[[1]]
  curve <- bind_panels(panels, function(x) map_curve(x, classes))
  curve$class <- factor(curve$class, levels = unique(curve$class))
  real <- first$kind == "distribution"
  what <- if (real) "variance" else "probability"
  ggplot2::ggplot(curve, ggplot2::aes(x = .data$before, y = .data$after, colour = .data$class)) +
    ggplot2::geom_abline(slope = 1, intercept = 0, colour = "grey35", linewidth = 0.35, linetype = "22") +
    ggplot2::geom_line(linewidth = 0.7) +
    ggplot2::scale_colour_manual(values = colours_for(levels(curve$class))) +
    ggplot2::labs(x = paste("predicted", what), y = paste("recalibrated", what),
                  subtitle = if (is.null(classes)) map_subtitle(first)) +
    theme_ce() +
    ggplot2::theme(legend.position = if (nlevels(curve$class) < 2) "none" else "bottom") +
    (if (!real) ggplot2::coord_fixed(xlim = c(0, 1), ylim = c(0, 1))) +
    panels_by(curve, "panel")
}

#' @export
print.ce_recalibration <- function(x, ...) {
  what <- if (x$method == "variance") "variances" else if (x$kind == "distribution") {
    paste("predictions", x$map$family)
  } else if (x$kind == "scalar") "probabilities of the event" else {
    paste(x$n_classes, "classes")
  }
  size <- nrow(x$terms)
  print_lines(c(
    paste0("<ce_recalibration> ", x$method, ", ", count_of(x$n, "prediction"), ", ", what,
           if (!is.null(x$fold)) paste0(", cross-fitted in ", max(x$fold), " folds")),
    x$counted,
    paste0("mean ", number_fact(x$loss, "words"), if (x$loss == "brier") " (sum over classes)", " on the fitted rows: ",
           format(x$objective[["before"]], digits = 5), " -> ", format(x$objective[["after"]], digits = 5)),
    if (!is.null(x$objective_crossfit)) paste("out of fold:", format(x$objective_crossfit, digits = 5)),
    if (!is.null(x$tests)) update_text(x$tests),
    if (size > 8) paste(size, "parameters, see tidy()") else if (size > 0) {
      paste(names(stats::coef(x)), "=", format(x$terms$estimate, digits = 4), collapse = ", ")
    },
    paste0("one-to-one: ", if (x$injective$value) "yes" else "no", " (", x$injective$reason, ")"),
    if (!x$convergence$converged) paste("NOT CONVERGED:", x$convergence$message)
  ))
  invisible(x)
}
