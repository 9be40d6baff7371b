# A monitor in words, and its figure.

#' @export
print.ce_monitor <- function(x, ...) {
  check_object(x)
  n <- x$state$n
  what <- if (n == 0) "no rows yet" else gsub("_", "-", x$state$about$notion)
  cat("<ce_monitor> ", what, ", level ", format(x$alpha), state_event(x$state), "\n", sep = "")
  if (n == 0) return(invisible(x))
  lines <- c(
    paste(c(paste0(count_of(n, "row"), " in ", count_of(nrow(x$history), "update"), "."),
            dropped_text(x$state$dropped)), collapse = " "),
    paste0("e-value ", e_text(x$log_e), " (largest ", e_text(x$largest), ", p ", p_text(min(1, exp(-x$largest))), ")."),
    monitor_sentence(x)
  )
  row <- glance(x)
  if (!is.na(row$slope) && any(x$streams[[1]]$bets[[2]] != 0)) {
    lines <- c(lines, paste0("The bets recalibrate with intercept ", format(row$intercept, digits = 2), " and slope ",
                             format(row$slope, digits = 2), " on the logit scale."))
  }
  if (!is.na(row$estimate)) {
    limits <- interval_text(row$estimate, row$conf.low, row$conf.high)
    lines <- c(lines, paste0("Calibration error of all rows: ", limits, " (valid for a single analysis)."))
  }
  print_lines(lines)
  invisible(x)
}

monitor_sentence <- function(x) {
  bound <- format(1 / x$alpha, digits = 3)
  if (!is.na(x$rejected_at)) {
    return(paste0("Evidence of miscalibration: the e-value reached ", bound, " at row ", count_text(x$rejected_at),
                  ". If the predictions were calibrated, the probability that it ever does is at most ",
                  percent_text(x$alpha), "."))
  }
  paste0("No evidence against calibration so far: the e-value has not reached ", bound,
         ". You may check it after every row.")
}

# 35.2, 1.2e+09 where it is large, also where exp() would overflow.
e_text <- function(log_e) {
  if (log_e == Inf) return("infinite")
  if (abs(log_e) < log(1e4)) return(format(exp(log_e), digits = 3))
  power <- floor(log_e / log(10))
  paste0(format(10^(log_e / log(10) - power), digits = 2), "e", if (power > 0) "+", power)
}

#' @rdname ce_monitor
#' @method autoplot ce_monitor
#' @exportS3Method ggplot2::autoplot ce_monitor
autoplot.ce_monitor <- function(object, ...) {
  check_object(object)
  check_empty(...)
  stop_if(object$state$n == 0, "A monitor must have rows to be drawn.", "i" = "Feed it by {.fn update}.",
          class = "rows", arg = "object")
  rows <- rbind(data.frame(n = 0, log_e_value = 0), as.data.frame(object$history[c("n", "log_e_value")]))
  # an infinite e-value ends the line at the top
  rows$shown <- pmin(rows$log_e_value, max(rows$log_e_value[is.finite(rows$log_e_value)], -log(object$alpha)) + 2)
  label <- paste0("rejected at 1/", format(object$alpha), " = ", format(1 / object$alpha, digits = 3))
  ggplot2::ggplot(rows, ggplot2::aes(x = .data$n, y = exp(.data$shown))) +
    ggplot2::geom_hline(yintercept = 1 / object$alpha, colour = ce_colours[2], linetype = "22", linewidth = 0.5) +
    ggplot2::annotate("text", x = object$state$n, y = 1 / object$alpha, label = label, colour = ce_colours[2],
                      hjust = 1, vjust = 1.6, size = 3.2) +
    ggplot2::geom_hline(yintercept = 1, colour = "grey35", linewidth = 0.35) +
    ggplot2::geom_line(colour = ce_colours[1], linewidth = 0.6) +
    ggplot2::geom_point(colour = ce_colours[1], size = 1.4) +
    ggplot2::scale_y_log10() +
    ggplot2::labs(x = "rows", y = "e-value (log scale)") +
    theme_ce()
}

#' @export
glance.ce_monitor <- function(x, ...) {
  check_object(x)
  check_empty(...)
  slope <- if (length(x$streams) == 1) x$streams[[1]]$bets[[2]] else c(NA_real_, NA_real_)
  limits <- c("estimate", "conf.low", "conf.high")
  headline <- if (x$state$n > 0) ce_estimate(x$state)[limits]
  columns_frame(
    !!!monitor_row(x), rejected_at = x$rejected_at, intercept = slope[1], slope = 1 + slope[2],
    !!!(headline %||% stats::setNames(rep(list(NA_real_), 3), limits))
  )
}
