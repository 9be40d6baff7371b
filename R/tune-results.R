# Results of resampling in tidymodels: tune_grid(), fit_resamples(), last_fit() and workflow sets' parts. They are data
# frames of splits; what functions read are the predictions that were kept, one row per held-out row. The package tune
# is not in Debian, so nothing depends on it: its functions are asked for by name.

read_results <- function(x, call, arg = "x") {
  check_has_rows(x, call, arg)
  if (!inherits(x, "tune_results")) return(x)
  rlang::check_installed("tune", reason = "to collect the predictions of a tuning result.")
  out <- rlang::try_fetch(getExportedValue("tune", "collect_predictions")(x), error = function(cnd) {
    stop_input("The result must have kept its predictions.",
               "x" = "It is a {.cls {class(x)[1]}} from which none can be collected.",
               "i" = "Fit with {.code control = control_resamples(save_pred = TRUE)} (or {.code control_grid()}).",
               class = "results", parent = cnd, call = call)
  })
  check_collected(out, call)
}

# Collected predictions as they are, of one candidate.
check_collected <- function(out, call) {
  configs <- if (".config" %in% names(out)) unique(out$.config)
  stop_if(length(configs) > 1, "The predictions must be those of one candidate model.",
          "x" = "The result holds {length(configs)}.",
          "i" = "Give {.code tune::collect_predictions(x, parameters = tune::select_best(x))}, or group by candidate: \\
                 {.code tune::collect_predictions(x)} with {.code .by = .config}.", class = "results", call = call)
  again <- anyDuplicated(out$.row)
  if (again > 0) {
    tell("i" = "Rows that several resamples hold out count as often; they are not independent.",
         "i" = "{.code cluster = .row} allows for it; {.code tune::collect_predictions(x, summarize = TRUE)} averages \\
                their predictions.", class = "repeated")
  }
  out
}
