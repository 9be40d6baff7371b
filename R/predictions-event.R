# Are they the probabilities of these classes? And a single probability per row: of which of the two outcomes?

# Warns of the classes that clearly become rarer as their predicted probability rises: their columns are probably those
# of other classes. `event_level`: the one that made a single probability that of the event; NULL if nothing did.
warn_direction <- function(predictions, event_level = NULL) {
  warn_decisions(predictions)
  found <- if (is.null(predictions$probs)) {
    list(falling_trend(predictions$prob, predictions$outcome, predictions$design))
  } else {
    class_trends(predictions)
  }
  falls <- vapply(found, function(trend) isTRUE(trend$z < falling_z), NA)
  if (any(falls)) warn_trends(found[falls], class_names(predictions)[falls], predictions, event_level)
}

falling_z <- -4

# Warns of outcomes that all equal the class with the largest probability, such as a model's own decisions, where
# calibrated predictions would give that with a probability below 1e-4. Rows of a cluster may have the same outcome.
warn_decisions <- function(predictions) {
  design <- predictions$design
  probs <- predictions$probs
  own <- if (is.null(probs)) {
    1 - abs(predictions$outcome - predictions$prob)
  } else {
    probs[cbind(seq_len(nrow(probs)), predictions$truth)]
  }
  if (!is.null(design$follow_up) || any(own < 1 / n_classes(predictions))) return()
  if (!is.null(probs) && any(own < do.call(pmax, split_columns(probs)))) return()
  ties <- if (is.null(probs)) 1 + (own == 0.5) else rowSums(probs == own)
  chance <- log(own * ties) * (design$copies %||% 1)
  if (!is.null(design$cluster)) chance <- tapply(chance, design$cluster, min)
  warn_if(sum(chance) < log(1e-4), "Every outcome is the class with the largest predicted probability.",
          "x" = "With calibrated predictions this has a probability of at most {.val {signif(exp(sum(chance)), 2)}}.",
          "i" = "Are the outcomes the decisions of the model itself?", class = "decisions")
}

# The event; of several classes each.
class_names <- function(predictions) {
  if (n_classes(predictions) == 2) predictions$levels[predictions$event] else predictions$levels
}

class_trends <- function(predictions, most = 20) {
  probs <- predictions$probs
  truth <- predictions$truth
  classes <- if (ncol(probs) == 2) predictions$event else seq_len(ncol(probs))
  out <- vector("list", length(classes))
  if (nrow(probs) == 0) return(out)
  # means among the rows of a class and among the others spare nearly all classes the sort
  design <- predictions$design
  copies <- design$copies
  n <- copies_by_group(copies, truth, ncol(probs))
  sums <- cpp_class_sums(if (is.null(copies)) probs else copies * probs, truth)
  gap <- sums[, 1] / n - (sums[, 2] - sums[, 1]) / (copy_count(design) - n)
  worst <- classes[order(gap[classes])]
  for (class in utils::head(worst[which(gap[worst] < 0)], most)) {
    out[[match(class, classes)]] <- falling_trend(probs[, class], as.numeric(truth == class), design)
  }
  out
}

# The trend where it may fall clearly: where the means do not, or by less than two standard errors, there is none.
falling_trend <- function(prob, outcome, design) {
  copies <- design$copies
  total <- function(v) if (is.null(copies)) sum(v) else sum(copies * v)
  n <- copy_count(design)
  sums <- if (is.null(copies)) cpp_event_sums(prob, outcome) else c(total(outcome), total(prob), total(prob * outcome))
  events <- sums[1]
  gap <- sums[3] / events - (sums[2] - sums[3]) / (n - events)
  if (!isTRUE(gap < 0)) return(NULL)
  square <- total((prob - sums[2] / n)^2) / n
  if (gap^2 < 4 * square * n / (events * (n - events))) return(NULL)
  rank_trend(prob, outcome, copies)
}

warn_trends <- function(trends, classes, predictions, event_level) {
  facts <- vapply(trends, function(trend) paste0(signif(trend$auc, 2), " (z = ", round(trend$z, 1), ")"), "")
  fact <- toString(utils::head(if (length(classes) > 1) paste(classes, facts) else facts, 10))
  read <- direction_read(predictions, event_level)
  warn_result(
    "{cli::qty(length(classes))}{?Class/Classes} {.val {classes}} {?becomes/become} rarer as {?its/their} predicted \\
     probability rises.", "x" = "The area under the ROC curve is {fact}.", "i" = "{read}", class = "direction",
    auc = vapply(trends, `[[`, 0, "auc"), event = classes, fact = fact, read = read
  )
}

# Calls fn(name) for each of several models, with one warning that names them.
each_direction <- function(names, fn) {
  found <- list()
  out <- warned_once(lapply(setNames(nm = names), function(name) {
    withCallingHandlers(fn(name), calibrisk_warning_direction = function(cnd) {
      found[[name]] <<- cnd
      rlang::cnd_muffle(cnd)
    })
  }), "calibrisk_warning_decisions")
  if (length(found) > 0) warn_models(found, length(names))
  out
}

warn_models <- function(found, n, most = 5) {
  read <- found[[1]]$read
  events <- unique(unlist(lapply(found, `[[`, "event")))
  facts <- vapply(found, function(cnd) {
    paste0(if (length(events) > 1 && length(cnd$event) == 1) paste0(cnd$event, " "), cnd$fact)
  }, "")
  shown <- utils::head(names(found), most)
  areas <- toString(paste(shown, facts[shown]))
  if (length(found) > most) areas <- paste(areas, "and", length(found) - most, "more")
  warn_result("Outcomes become rarer as their predicted probability rises in {length(found)} of {n} models.",
              "x" = "The area under the ROC curve, of {.val {events}}, is {areas}.", "i" = "{read}",
              class = "direction", auc = unlist(lapply(found, `[[`, "auc")), event = events, models = names(found))
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

# Area under the ROC curve, ties counted half, and its distance from 1/2 in standard errors of the rank test.
rank_trend <- function(prob, outcome, copies = NULL) {
  sorted <- sort_values(prob, outcome, copies, copies)
  reached <- if (is.null(copies)) sorted$ties else sorted$sum_w[sorted$ties]
  size <- diff(c(0, reached))
  rank <- reached - (size - 1) / 2
  n <- sorted$n
  events <- sorted$sum_y[length(sorted$sum_y)]
  auc <- (sum(rank * bin_totals(sorted$sum_y, sorted$ties)) / events - (events + 1) / 2) / (n - events)
  variance <- (n + 1 - sum(size^3 - size) / (n * (n - 1))) / (12 * events * (n - events))
  list(auc = auc, z = (auc - 0.5) / sqrt(variance))
}

# The same predictions as ones of `event`, where they are a single probability of another. If only event_level
# determined the event, the number is kept and taken for the other event.
align_event <- function(predictions, event) {
  if (is_real(predictions) || !is.null(predictions$probs)) return(predictions)
  if (predictions$levels[2] == event || !event %in% predictions$levels) {
    return(predictions)
  }
  if (predictions$named) predictions$prob <- 1 - predictions$prob
  predictions$outcome <- 1 - predictions$outcome
  predictions$levels <- rev(predictions$levels)
  predictions
}
