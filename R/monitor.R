#' Monitor the calibration of a model while outcomes come in
#'
#' A test of calibration that you may check after every row. A monitor takes predictions and their outcomes in the order
#' in which they arrive, and keeps an *e-value*, the wealth of a gambler who bets against the predictions. If the
#' predictions are calibrated, the probability that the e-value ever reaches \eqn{1/\alpha} is at most \eqn{\alpha}, no
#' matter how often you check and when you stop. A monitor keeps sums, not rows; among them are those of a [ce_state()],
#' for the main estimate.
#'
#' @param notion `"binary"` (the probability of an event), `"top_label"` or `"class_wise"`; by default chosen from the
#'   first rows, as in [ce_estimate()].
#' @param alpha Level of the test.
#' @param block Number of rows after which the bets are fitted again. With many rows it is a multiple of this number,
#'   about 2% of the rows so far.
#' @param half_life Number of later rows after which a row has half its weight in the fit of the bets; `Inf` for never.
#'   To detect *changes*, choose a finite number.
#' @inheritParams ce_args
#' @param object A `ce_monitor`.
#' @param data Predictions as in [ce_estimate()]: a data frame, a matrix or a vector; or a [ce_source()], each piece of
#'   which is one update, or a list of sources, which are read one after the other.
#' @param x A `ce_monitor`.
#' @param weights Frequency weights (integers), for rows that stand for several. Importance weights are an error,
#'   because a test that is valid at all times cannot use them; [ce_test()] and [ce_estimate()] can.
#' @param cluster The cluster of each row, such as the patient: a column of `data`, or a vector; see *Definition*.
#' @return An object of class `ce_monitor`; `update()` returns the monitor with the new rows, and does not change its
#'   argument. `tidy()` has a row per update: `n` (rows so far), `e_value`, `log_e_value`, `largest` (e-value so far),
#'   `p.value` (1 / largest, at most 1), `rejected`. `glance()` has the last of these rows with `rejected_at`, the row
#'   after which the e-value first reached \eqn{1/\alpha} (`NA` if never). It adds the running `intercept` and `slope`
#'   of the recalibration and the main estimate of all rows so far (`estimate`, `conf.low`, `conf.high`), as in
#'   [ce_estimate()] of the state. That interval is for a single time; unlike the e-value, it is not valid if you check
#'   repeatedly. `autoplot()` and `plot()` draw the e-value. `c()` combines monitors of *different* rows, such as those
#'   of two sites, by multiplying their e-values.
#'
#' @section Definition:
#' \deqn{E_t = \frac1J \sum_{j=1}^J \prod_{s \le t} \frac{q_{j,s}(y_s)}{p_s(y_s)},} where \eqn{p_s} is the prediction
#' and \eqn{q_{j,s}} a recalibration fitted only to rows before s. On the logit scale, \eqn{\mathrm{logit}\, q =
#' \mathrm{logit}\, p + f_j(\mathrm{logit}\, p)'\beta}. The J = 3 choices of \eqn{f_j} are a constant (intercept), a
#' constant and the logit (intercept and slope), and linear B-splines on the knots -4, -3, ..., 4 (any shape).
#' Coefficients maximise the likelihood with a normal prior of standard deviation 1/2, on sums over cells of the logit
#' of width 1/10. If every \eqn{p_s} is the probability of its outcome given the rows before, each product is a
#' nonnegative martingale that starts at 1, and so is their mean. Ville's inequality then gives \eqn{P(\exists t: E_t
#' \ge 1/\alpha) \le \alpha} (Ramdas et al. 2023; for forecasts Arnold, Henzi and Ziegel 2023). For `"class_wise"` the
#' e-value is the mean of those of the classes. There is no bet on a prediction of exactly 0 or 1; an outcome that it
#' excludes makes the e-value infinite.
#'
#' With `cluster` the bets are on whole clusters. The factor of a cluster is the mean of the ratios
#' \eqn{q_{j,s}(y_s)/p_s(y_s)} of its rows, with \eqn{q} fitted to the clusters before. Its expectation is 1 for any
#' dependence between the rows of a cluster, and it grows more slowly than the product for independent rows. All rows of
#' a cluster must be in one update. In a source they must be next to each other; those at the end of a piece wait for
#' the next one.
#'
#' Every row must come only once and be new to the model. Repeated measures of one subject without `cluster`, or rows
#' sorted by outcome, are not calibrated given the rows before them, even if the model is.
#'
#' @section Power:
#' Simulations (`data-raw/monitor.R`) had p = plogis(z), z normal with standard deviation 1.5, and a check after every
#' row. Calibrated predictions were rejected in 3.7% of 1,000 samples of 1,000 rows and in 5.3% of 300 samples of
#' 10,000 rows. Predictions with slope 0.7 were rejected in 88% of 300 samples of 1,000 rows (96% with a standard
#' deviation of 2.5), half of them within 420 rows; predictions with slope 0.8 in 42%, with intercept 0.3 in 86%.
#' Where the slope falls to 0.7 after 5,000 rows, half of the rejections came within 2,200 rows after the change, within
#' 1,400 with `half_life = 1000`.
#'
#' @section Invariants:
#' The result depends on the order of the rows, but not on how they are divided into updates.
#' @section Cost:
#' Time linear in the number of rows. Memory does not grow with them, except for the names of clusters.
#' @inheritSection ce_tune Errors
#' @references
#' Ramdas, A., Gruenwald, P., Vovk, V. and Shafer, G. (2023). Game-theoretic statistics and safe anytime-valid
#' inference. *Statistical Science* 38, 576-601. \doi{10.1214/23-STS894}
#'
#' Arnold, S., Henzi, A. and Ziegel, J. F. (2023). Sequentially valid tests for forecast calibration. *Annals of Applied
#' Statistics* 17, 1909-1935. \doi{10.1214/22-AOAS1697}
#' @seealso [ce_test()] for tests of a fixed number of rows.
#' @order 1
#' @export
#' @examples
#' set.seed(1)
#' p <- rbeta(3000, 2, 3)
#' y <- rbinom(3000, 1, plogis(0.7 * qlogis(p)))
#' monitor <- ce_monitor()
#' for (month in 1:6) {
#'   rows <- (month - 1) * 500 + 1:500
#'   monitor <- update(monitor, p[rows], y[rows])
#' }
#' monitor
#' tidy(monitor)
ce_monitor <- function(notion = NULL, alpha = 0.05, block = 100, half_life = Inf, event_level = "first") {
  if (is.numeric(notion) || is.data.frame(notion)) stop_rows_as_choice(notion, "ce_monitor")
  notion <- check_notion(notion)
  stop_if(
    identical(notion, "canonical"), "A monitor needs binary, top-label or class-wise calibration.",
    "x" = "{.arg notion} is {.val canonical}.",
    "i" = "A calibrated vector of probabilities is calibrated class by class: use {.code notion = \"class_wise\"}.",
    class = "notion", arg = "notion", value = notion
  )
  check_number(alpha, lower = 0, upper = 1, open = TRUE)
  check_count(block, lower = 1)
  if (!identical(half_life, Inf)) check_number(half_life, lower = 0, open = TRUE)
  structure(
    # the state knows the notion, the classes and how many rows there are
    list(version = monitor_version, alpha = alpha, block = block, half_life = half_life,
         state = ce_state(notion, event_level = event_level), streams = NULL, log_e = 0,
         largest = 0, rejected_at = NA_real_, history = NULL, clusters = NULL),
    class = "ce_monitor"
  )
}

# Version of a saved monitor's content.
monitor_version <- 4L

#' @rdname ce_monitor
#' @export
update.ce_monitor <- function(object, data, truth, ..., na_rm = TRUE, weights = NULL, cluster = NULL) {
  check_monitor(object)
  if (missing(data)) stop_no_data()
  truth <- enquo(truth)
  dots <- column_dots(...)
  given <- list(weights = enquo(weights), cluster = enquo(cluster))
  if (is.function(data)) data <- ce_source(data)
  if (inherits(data, "ce_source")) data <- list(data)
  # the order of rows is that of the list: no workers
  if (is_source_list(data)) {
    take <- function(monitor, piece) monitor_piece(monitor, piece, truth, dots, given, na_rm)
    return(Reduce(function(monitor, source) {
      update_from_source(monitor, whole_clusters(source, given$cluster), take)
    }, data, object))
  }
  check_rows_here(data, "data", "monitor")
  made_valid(monitor_rows(object, data, truth, dots, given, na_rm))
}

# Pieces of no rows, or of incomplete ones alone, have nothing to bet on.
monitor_piece <- function(object, data, truth, dots, given, na_rm) {
  if (nrow(data) == 0) return(object)
  out <- rlang::try_fetch(monitor_rows(object, data, truth, dots, given, na_rm), calibrisk_error_empty = identity)
  if (!inherits(out, "calibrisk_error_empty")) return(out)
  object$state$dropped <- object$state$dropped + out$dropped
  object
}

monitor_rows <- function(object, data, truth, dots, given, na_rm) {
  given <- lapply(given, evaluate_once, data)
  columns <- Map(function(quo, arg) design_column(quo, data, NROW(data), arg), given, names(given))
  check_monitor_weights(columns$weights)
  columns["cluster"] <- list(exact_ids(columns$cluster, "cluster"))
  # one cluster is enough: the others come in other updates
  predictions <- suppressWarnings(
    first_said(as_predictions(data, truth, dots, object$state$spec$event_level, na_rm,
                              design = design_input(given$weights, given$cluster)), object$state$n == 0),
    "calibrisk_warning_cluster"
  )
  stop_if(predictions$na, "A monitor needs complete rows.",
          "x" = "There are missing values and {.arg na_rm} is {.val {FALSE}}.", class = "missing", arg = "na_rm")
  check_same_classes(object$state$about$levels, predictions$levels)
  if (!is.null(columns$cluster)) {
    object$clusters <- c(object$clusters, new_clusters(columns$cluster[predictions$rows], object$clusters))
    code <- predictions$design$cluster
    predictions <- take_rows(predictions, order(match(code, code)))
  }
  object$state <- add_chunk(object$state, predictions, columns)
  problems <- notion_problems(predictions, object$state$about$notion)
  if (is.null(object$streams)) object$streams <- lapply(problems, function(problem) new_stream(object))
  steps <- Map(function(stream, problem) run_stream(stream, problem, object), object$streams, problems)
  object$streams <- lapply(steps, `[[`, "stream")
  wealth <- log_mean_exp(do.call(cbind, lapply(steps, `[[`, "wealth")))
  follow_wealth(object, wealth)
}

# Rows that are drawn with unequal probabilities are not calibrated given the rows before, even where the weighted ones
# are.
check_monitor_weights <- function(weights) {
  stop_if(!is.null(weights) && !is_frequency(weights),
          "A monitor takes frequency weights, as integers: rows that stand for several.",
          "x" = "{.arg weights} are {.cls {class(weights)[1]}}, importance weights.",
          "i" = "Each bet depends on the rows before it, so no test of weighted rows is valid at all times. \\
                 {.code ce_test(test = \"joint\")} and {.fn ce_estimate} take weights, for a single look.",
          class = c("weights", "argument"), arg = "weights")
}

# Bets on a cluster are made before any of its rows is known.
new_clusters <- function(cluster, known) {
  labels <- as.character(unique(cluster))
  again <- intersect(labels, known)
  stop_if(
    length(again) > 0, "The rows of a cluster must come in one update.",
    "x" = "Cluster {.val {again[1]}} has earlier rows; {length(again)} of {length(labels)} clusters are affected.",
    "i" = "Wait until a cluster is complete, or name its later rows as another cluster if they are new draws.",
    class = "cluster", arg = "cluster", value = again[1]
  )
  labels
}

# The wealth after each new row.
follow_wealth <- function(object, wealth) {
  reached <- which(wealth >= -log(object$alpha))
  if (is.na(object$rejected_at) && length(reached) > 0) {
    object$rejected_at <- object$state$n - length(wealth) + reached[1]
  }
  object$log_e <- c(object$log_e, wealth)[length(wealth) + 1]
  object$largest <- max(object$largest, wealth)
  object$history <- vctrs::vec_rbind(object$history, monitor_row(object))
  object
}

monitor_row <- function(object) {
  columns_frame(
    n = object$state$n, e_value = exp(object$log_e), log_e_value = object$log_e, largest = exp(object$largest),
    p.value = min(1, exp(-object$largest)), rejected = !is.na(object$rejected_at)
  )
}

#' @rdname ce_monitor
#' @export
c.ce_monitor <- function(...) {
  monitors <- list(...)
  lapply(monitors, check_monitor)
  # those without rows add nothing
  with_rows <- Filter(function(monitor) monitor$state$n > 0, monitors)
  if (length(with_rows) > 0) monitors <- with_rows
  if (length(monitors) == 1) return(monitors[[1]])
  first <- monitors[[1]]
  settings <- lapply(monitors, monitor_settings)
  for (other in settings[-1]) {
    differs <- names(other)[!mapply(identical, settings[[1]], other)]
    stop_if(length(differs) > 0, "Monitors that are joined must have the same settings.",
            "x" = "They differ in {.field {differs}}.", arg = differs[1])
  }
  joined <- first
  joined$history <- NULL
  joined["clusters"] <- list(unlist(lapply(monitors, `[[`, "clusters")))
  joined$streams <- Reduce(function(a, b) Map(join_streams, a, b, list(first)), lapply(monitors, `[[`, "streams"))
  joined$state <- do.call(c, lapply(monitors, `[[`, "state"))
  joined$log_e <- log_mean_exp(t(unlist(lapply(joined$streams, `[[`, "log_e"))))
  # a possible order of the rows: all of the first monitor, then all of the second, ... ...
  joined$largest <- max(0, first$largest, joined$log_e)
  if (is.na(first$rejected_at) && joined$log_e >= -log(joined$alpha)) joined$rejected_at <- joined$state$n
  joined$history <- monitor_row(joined)
  joined
}

check_monitor <- function(x) {
  stop_if(!inherits(x, "ce_monitor"), "All arguments must be monitors, from {.fn ce_monitor}.",
          "x" = "One is {.cls {class(x)[1]}}.", class = "monitor", arg = "...")
  check_monitor_version(x)
  check_object(x, "object")
}

# Before its fields, which other versions have in another way.
check_monitor_version <- function(x) {
  stop_if(!identical(.subset2(x, "version"), monitor_version),
          "A monitor must have been made by this version of calibrisk.",
          "x" = "It is of format {describe(.subset2(x, 'version'))}; this version reads {.val {monitor_version}}.",
          class = "version", arg = "object", value = .subset2(x, "version"))
}

# Facts in which joined monitors, and their rows, must agree.
monitor_settings <- function(x) {
  c(x$state$spec[c("notion", "event_level")], x[c("alpha", "block", "half_life")],
    list(classes = x$state$about$levels))
}

check_same_classes <- function(known, levels) {
  stop_if(!is.null(known) && !identical(known, levels), "All rows of a monitor must have the same classes.",
          "x" = "They were {.val {known}}; now they are {.val {levels}}.", class = "truth", arg = "truth",
          value = levels)
}

#' @export
tidy.ce_monitor <- function(x, ...) {
  check_object(x)
  check_empty(...)
  x$history %||% monitor_row(x)[0, ]
}
