# The population of a planned study: predictions and the true probabilities behind them, as a list of nodes
#   p, share      predictions and their shares, which sum to 1, in increasing order
#   eta           probability of the event given the prediction
#   logit, reach  of continuous distributions: the logit of p, and half the distance between nodes; else reach 0
#   label         in words
#   event         of a pilot: its outcome in words, and the sentence about it
# Sums over the nodes are integrals to about 1e-8: the trapezoidal rule for smooth densities on the logit scale.

#' Assumptions about a planned validation
#'
#' Describes, for [ce_power()], how predictions will be distributed and how miscalibrated they will be. The true logit
#' is `intercept` plus `slope` times the predicted logit; with a `slope` below 1, predictions are too extreme.
#' `assume_pilot()` takes both from the rows of a pilot study: its predictions, and an estimate of their miscalibration.
#'
#' @param logit Mean and standard deviation of the linear predictor (the logit of the prediction), which has a normal
#'   distribution.
#' @param beta The two parameters of the Beta distribution of the prediction, in place of `logit`.
#' @param intercept,slope Intercept and slope of the true logit as a function of the predicted logit; 0 and 1 for a
#'   calibrated model.
#' @param x,truth Predictions of a pilot study (a data frame or a vector of probabilities) and its outcomes; see
#'   [ece()].
#' @param ... For a pilot in a data frame, the probability column. Otherwise it must be empty: any other argument is an
#'   error.
#' @param recalibration The estimator of the pilot's miscalibration, see [ce_decision()]. Noise in that estimate makes
#'   the computed power too high. A pilot has no `cluster`: its rows are used one by one.
#' @param event_level,weights,horizon For a pilot study; see [ce_args]. Weights are shares of the assumed
#'   distribution; the rows of the planned study are unweighted.
#' @return A `ce_assumption`. An assumption from a pilot holds its predictions and the estimated probabilities.
#' @section Errors:
#' `calibrisk_error_argument` if a number is out of range; for a pilot study also the errors of [ece()].
#' @seealso [ce_power()]
#' @name ce_assumptions
#' @export
#' @examples
#' assume_model(logit = c(-2, 1), slope = 0.8)
#' assume_model(beta = c(1, 4))
#' assume_pilot(c(0.1, 0.3, 0.4, 0.6, 0.8, 0.9), c(0, 0, 1, 0, 1, 1), recalibration = "platt")
assume_model <- function(logit = NULL, beta = NULL, intercept = 0, slope = 1) {
  stop_if(is.null(logit) == is.null(beta), "One of {.arg logit} and {.arg beta} must be given.", arg = "logit")
  check_number(intercept, lower = -largest_logit, upper = largest_logit)
  check_number(slope, lower = -largest_logit, upper = largest_logit)
  if (is.null(beta)) {
    check_numbers(logit, lower = -largest_logit, upper = largest_logit, size = 2)
    mean <- logit[1]
    sd <- logit[2]
    stop_if(sd <= 0, "{.arg logit} must be a mean and a standard deviation above 0.",
            "x" = "The standard deviation is {.val {sd}}.", arg = "logit", value = sd)
    x <- seq(mean - 9 * sd, mean + 9 * sd, length.out = n_nodes)
    share <- stats::dnorm(x, mean, sd)
    label <- paste0("linear predictor normal with mean ", format(mean), " and sd ", format(sd))
  } else {
    # beyond, quantiles of the Beta distribution are not found
    check_numbers(beta, lower = 1e-6, upper = 1e6, size = 2)
    # on the logit scale the density falls as exp(-shape |x|)
    ends <- c(stats::qbeta(1e-14, beta[1], beta[2]), stats::qbeta(1e-14, beta[2], beta[1]))
    ends <- pmin(pmax(-stats::qlogis(pmax(ends, 1e-290)), 10), 700)
    x <- seq(-ends[1], ends[2], length.out = n_nodes)
    share <- exp(beta[1] * stats::plogis(x, log.p = TRUE) + beta[2] * stats::plogis(-x, log.p = TRUE) -
                   lbeta(beta[1], beta[2]))
    label <- paste0("predictions Beta(", format(beta[1]), ", ", format(beta[2]), ")")
  }
  gap <- if (intercept == 0 && slope == 1) "calibrated" else {
    paste0("true logit ", format(intercept), " + ", format(slope), " x predicted")
  }
  structure(
    list(p = stats::plogis(x), share = share / sum(share), eta = stats::plogis(intercept + slope * x), logit = x,
         reach = (x[2] - x[1]) / 2, intercept = intercept, slope = slope, label = paste0(label, "; ", gap)),
    class = "ce_assumption"
  )
}

n_nodes <- 4001

# Squares of logits have to be finite; all of them are probabilities 0 and 1 long before.
largest_logit <- 1e6

#' @export
format.ce_assumption <- function(x, ...) x$label

#' @export
print.ce_assumption <- function(x, ...) {
  lines <- c(paste0("<ce_assumption> ", format(x)),
             paste0("prevalence ", format(node_mean(x, x$eta), digits = 3), ", C statistic ",
                    format(node_auroc(x), digits = 3), ", calibration error ",
                    format(sqrt(node_mean(x, (x$p - x$eta)^2)), digits = 3)))
  print_lines(lines)
  invisible(x)
}

#' @rdname ce_assumptions
#' @export
assume_pilot <- function(x, truth, ..., recalibration = method_stack(), event_level = "first",
                         weights = NULL, horizon = NULL) {
  if (missing(x)) stop_no_predictions()
  check_has_rows(x)
  recalibration <- check_recalibration(recalibration)
  design <- design_input(enquo(weights), rlang::quo(NULL), horizon)
  predictions <- as_predictions(x, enquo(truth), column_dots(...), event_level, design = design)
  check_decision_input(predictions, "A pilot")
  problem <- notion_problems(predictions, "binary")[[1]]
  rows <- seq_along(problem$labels)
  of <- recalibrator(recalibration, problem)
  eta <- drop(of$apply(of$fit(rows), rows))
  order <- order(problem$features[, 1])
  p <- problem$features[order, 1]
  structure(
    list(p = p, share = row_shares(problem$design)[order], eta = pmin(pmax(eta, 0), 1)[order],
         logit = smooth_scale(p), reach = 0,
         label = paste0("a pilot of ", count_of(entered_rows(problem$design), "row"), ", its miscalibration by ",
                        format(recalibration)),
         event = list(label = event_label(predictions, horizon = horizon),
                      hint = event_hint(predictions, horizon = horizon))),
    class = "ce_assumption"
  )
}

node_mean <- function(nodes, values) sum(nodes$share * values)

# P(p > p') + P(p = p') / 2 of an event and a non-event.
node_auroc <- function(nodes) {
  event <- nodes$share * nodes$eta
  other <- nodes$share - event
  place <- if (nodes$reach > 0) seq_along(event) else match(nodes$p, unique(nodes$p))
  sum(event * share_below(other, place)) / sum(event)
}

# n rows: predictions and outcomes (`times` for each prediction), and which rows belong together.
draw_study <- function(nodes, n, clusters = NULL, times = 1) {
  at <- sample.int(length(nodes$p), n, replace = TRUE, prob = nodes$share)
  p <- nodes$p[at]
  eta <- nodes$eta[at]
  if (nodes$reach > 0) {
    x <- nodes$logit[at] + nodes$reach * stats::runif(n, -1, 1)
    p <- stats::plogis(x)
    eta <- stats::plogis(nodes$intercept + nodes$slope * x)
  }
  if (is.null(clusters)) return(list(p = p, y = stats::rbinom(n * times, 1, eta)))
  cluster <- draw_clusters(n, clusters)
  list(p = p, y = draw_shared(eta, cluster, clusters$icc), cluster = cluster)
}
