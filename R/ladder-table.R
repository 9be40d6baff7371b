# The rows of ce_estimate().

new_estimate_table <- function(x, level, events = NULL) {
  attr(x, "level") <- level
  attr(x, "event_hint") <- events$hint
  new_table(x, c("Calibration error" = "root, squared (L2) norm",
                 "Interval" = paste0(percent_text(level), " for the error detectable at the resolution"),
                 if (!is.null(events)) c("Outcomes" = events_text(events$n, events$label))), "ce_estimate")
}

headline_row <- function(ladder, notion, n) {
  columns_frame(
    notion = notion, estimate = ladder$estimate, std.error = ladder$std.error, conf.low = ladder$low,
    conf.high = ladder$high, lower_bound = ladder$lower_bound, p.value = ladder$p.value,
    resolution = ladder$resolution, upper_bound = ladder$upper_bound, method = "adaptive", n = n
  )
}
