# Are they the probabilities of these classes? And a single probability per row: of which of the two outcomes?

# Warns of the classes that clearly become rarer as their predicted probability rises: their columns are probably those
# of other classes. `event_level`: the one that made a single probability that of the event; NULL if nothing did.
warn_direction <- function(predictions, event_level = NULL) {
  probs <- predictions$probs
  classes <- if (n_classes(predictions) == 2) predictions$event else seq_len(n_classes(predictions))
  copies <- predictions$design$copies %||% numeric()
  trends <- if (is.null(probs)) {
    cpp_falling_trends(predictions$prob, predictions$outcome, 1L, copies)
  } else {
    # all classes without a copy
    cpp_falling_trends(if (length(classes) == 1) probs[, classes] else probs, predictions$truth, classes, copies)
  }
  falls <- which(trends[, 2] < falling_z)
  if (length(falls) == 0) return()
  trends <- trends[falls, , drop = FALSE]
  classes <- predictions$levels[classes[falls]]
  facts <- paste0(signif(trends[, 1], 2), " (z = ", round(trends[, 2], 1), ")")
  fact <- toString(utils::head(if (length(classes) > 1) paste(classes, facts) else facts, 10))
  read <- direction_read(predictions, event_level)
  warn_result(
    "{cli::qty(length(classes))}{?Class/Classes} {.val {classes}} {?becomes/become} rarer as {?its/their} predicted \\
     probability rises.", "x" = "The area under the ROC curve is {fact}.", "i" = "{read}", class = "direction",
    auc = trends[, 1], event = classes, fact = fact, read = read
  )
}

falling_z <- -4

# Calls fn(name) for each of several models, with one warning that names them.
each_direction <- function(names, fn) {
  found <- list()
  out <- lapply(setNames(nm = names), function(name) {
    withCallingHandlers(fn(name), calibrisk_warning_direction = function(cnd) {
      found[[name]] <<- cnd
      rlang::cnd_muffle(cnd)
    })
  })
  if (length(found) == 0) return(out)
  areas <- paste0(names(found), ": ", vapply(found, `[[`, "", "fact"))
  if (length(areas) > 5) areas <- c(areas[1:5], paste("and", length(areas) - 5, "more"))
  areas <- paste(areas, collapse = "; ")
  warn_result("Outcomes become rarer as their predicted probability rises in {length(found)} of {length(names)} \\
               models.",
              "x" = "The areas under the ROC curves are {areas}.", "i" = "{found[[1]]$read}", class = "direction",
              auc = unlist(lapply(found, `[[`, "auc")), event = unique(unlist(lapply(found, `[[`, "event"))),
              models = names(found))
  out
}

# Whose probability was read, and what says so, as text.
direction_read <- function(predictions, event_level) {
  event <- predictions$levels[predictions$event]
  if (!is.null(predictions$probs)) {
    cli::format_inline("Columns are matched to classes by their names, {.code .pred_<level>}, else by their order.")
  } else if (predictions$named) {
    cli::format_inline("{.field {predictions$column}} was read as the probability of {.val {event}}, as its name says.")
  } else if (is.null(event_level)) {
    cli::format_inline("It was read as the probability of {.val {event}}.")
  } else {
    cli::format_inline("It was read as the probability of {.val {event}}, the {event_level} level: {.arg event_level}.")
  }
}

# The same predictions as ones of `event`, where they are a single probability of another. If only event_level
# determined the event, the number is kept and taken for the other event, beside what was fitted to that; of models
# none is the first, and each is read as it would be alone.
align_event <- function(predictions, event, alone = predictions$named) {
  if (is_real(predictions) || !is.null(predictions$probs) || predictions$levels[1] != event) return(predictions)
  if (alone) predictions$prob <- 1 - predictions$prob
  predictions$outcome <- 1 - predictions$outcome
  predictions$levels <- rev(predictions$levels)
  predictions
}
