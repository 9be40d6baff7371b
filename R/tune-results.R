# Results of resampling in tidymodels: tune_grid(), fit_resamples(), last_fit() and workflow sets' parts. They are data
# frames of splits; what functions read are the predictions that were kept, one row per held-out row. The package tune
# is not in Debian, so nothing depends on it: its functions are asked for by name.

read_results <- function(x, arg = "x") {
  # all others have a class
  if (!is.object(x)) return(at_horizon(x))
  check_has_rows(x, arg)
  x <- read_table(x)
  if (!inherits(x, "tune_results")) return(at_horizon(x))
  rlang::check_installed("tune", reason = "to collect the predictions of a tuning result.")
  out <- rlang::try_fetch(getExportedValue("tune", "collect_predictions")(x), error = function(cnd) {
    stop_input("The result must have kept its predictions.",
               "x" = "It is a {.cls {class(x)[1]}} from which none can be collected.",
               "i" = "Fit with {.code control = control_resamples(save_pred = TRUE)} (or {.code control_grid()}).",
               class = "results", parent = cnd)
  })
  at_horizon(check_collected(out))
}

# Survival predictions of tidymodels, at several times: a column `.pred` of data frames, or a row for each patient and
# time. The same frame with one row per patient and `.pred_event`, the risk by the `horizon`.
at_horizon <- function(x, horizon = get0("horizon", called_verb(), inherits = FALSE)) {
  framed <- is.data.frame(x)
  check_text(if (framed) names(x) else if (is.matrix(x)) colnames(x), "x")
  if (!framed) return(x)
  nested <- holds_survival(x)
  if (!nested && !is_survival_frame(x) || ".pred_event" %in% names(x)) return(x)
  time <- if (is.list(horizon)) horizon$time else horizon
  # the reader of survival outcomes asks for it
  if (!rlang::is_bare_numeric(time, 1)) return(x)
  place <- function(times) which(abs(times - time) < 1e-9 * max(1, time))
  times <- if (nested) lapply(x[[".pred"]], `[[`, ".eval_time") else list(x[[".eval_time"]])
  found <- lapply(times, place)
  stop_if(any(lengths(found) == 0), "Survival predictions must be those at {.arg horizon}.",
          "x" = "The horizon is {.val {time}}, {.field .eval_time} has {.val {sort(unique(unlist(times)))}}.",
          class = c("horizon", "columns"), arg = "x")
  if (nested) {
    x$.pred <- 1 - mapply(function(one, at) one[[".pred_survival"]][at[1]], x[[".pred"]], found)
    x$.pred_event <- x$.pred
    return(x)
  }
  x <- vctrs::vec_slice(x, found[[1]])
  x$.pred_event <- 1 - x$.pred_survival
  x
}

holds_survival <- function(x) {
  is.data.frame(x) && is.list(.subset2(x, ".pred")) && all(vapply(x[[".pred"]], is_survival_frame, NA))
}

is_survival_frame <- function(x) is.data.frame(x) && all(c(".eval_time", ".pred_survival") %in% names(x))

# Collected predictions as they are, of one candidate.
check_collected <- function(out) {
  configs <- if (".config" %in% names(out)) unique(out$.config)
  stop_if(length(configs) > 1, "The predictions must be those of one candidate model.",
          "x" = "The result holds {length(configs)}.",
          "i" = "Give {.code tune::collect_predictions(x, parameters = tune::select_best(x))}, or group by candidate: \\
                 {.code tune::collect_predictions(x)} with {.code .by = .config}.", class = "results")
  again <- anyDuplicated(out$.row)
  if (again > 0) {
    tell("i" = "Rows that several resamples hold out count as often; they are not independent.",
         "i" = "{.code cluster = .row} allows for it; {.code tune::collect_predictions(x, summarize = TRUE)} averages \\
                their predictions.", class = "repeated")
  }
  out
}
