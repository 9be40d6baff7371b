# Survival outcomes at a horizon: 0/1 outcomes, and weights by which rows censored before it are compensated. The
# status of a row is 0 (censored), 1 (the event) or 2 (the event of another cause, after which the event cannot come).

#' Survival outcomes at a horizon
#'
#' With `horizon = t` an outcome `Surv(time, status)` becomes whether the event came by time `t`, predictions are its
#' probabilities, and rows count by inverse probability of censoring. Every function with the argument `horizon` then
#' works as for 0/1 outcomes with importance weights. `ce_horizon()` adds strata in which censoring differs, and the
#' cause of the event where there are competing risks.
#'
#' @section Definition:
#' With `G` the Kaplan-Meier estimate of the probability of being uncensored,
#' \deqn{w_i = 1\{y_i = 1\} / G(T_i-) + 1\{y_i = 0\} / G(t-).}
#' `y = 1` for events at or before `t`. `y = 0` for rows followed to `t` without an event: event-free beyond `t`, or
#' censored at `t` itself, where follow-up is often cut. Rows censored before `t` have weight 0 and are left out.
#' If events and censored rows have the same time, the events come first: the factor at `s` is
#' \eqn{1 - c(s) / (Y(s) - d(s))} with `c` censored, `d` events, `Y` at risk. These are the weights of
#' `survival::rttright()`. Times that differ from `t` by less than 1e-9 `t` are `t`.
#' With `entry`, rows are at risk from their entry on: at `s` those with an entry before `s` that are followed to `s`.
#' With \eqn{S} the product-limit estimate of being free of every event and \eqn{Y} the number at risk, \eqn{w_i = n
#' S(T_i-) / Y(T_i)} for events and \eqn{n S(t) / Y(t)} for rows at risk at `t`, all others are left out. The weighted
#' share of events is that of `survfit(Surv(entry, time, status))`. Without late entry these are the weights above.
#' Entry must not depend on the event's time.
#' Weights and frequencies of the rows enter `G`, which is estimated within every group of `.by`, and of `group` in
#' [ce_validate()]: the numbers of a group are those of its rows alone.
#'
#' With competing risks, `Surv(time, factor)`, the event is that of the `cause`, and predictions are its cumulative
#' incidence. A row with another cause before `t` can no longer have the event: `y = 0`, with the weight
#' \eqn{1 / G(T_i-)}. `G` counts every cause as observed. The weighted share of events is the Aalen-Johansen estimate.
#'
#' Weights are taken as known in standard errors, which is conservative for means of functions of predictions and
#' outcomes. Censoring must not depend on the time or the cause of the event, given the strata.
#'
#' @param time The horizon, on the scale of the times: greater than 0. Several for [ce_validate()].
#' @param strata A column (of the data frame), or a vector: `G` is estimated in each stratum.
#' @param censoring Follow-up data for estimating `G`, if not the rows themselves. A chunk of a [ce_state()] needs the
#'   follow-up of all rows. A `Surv`, or a data frame with the columns `time`, `status` (1 for events of any cause, 0
#'   for censored rows), `strata` where there are any, and `count` where rows count unequally.
#' @param entry A column, or a vector: the times from which rows were followed (left truncation), for one row a subject.
#' @param cause The level of the factor in `Surv(time, factor)` that is the event, if there are several kinds of event.
#' @return A `ce_horizon`.
#' @section Errors:
#' `calibrisk_error_horizon` if nobody is followed to the horizon (`G(t) = 0`), if no event has happened by then (is the
#' horizon in the unit of the times?), or if the outcomes are not a right-censored `Surv` object;
#' `calibrisk_error_argument`. A group in which nobody is followed to the horizon is missing (`NA`), with a warning.
#' @references Graf, E., Schmoor, C., Sauerbrei, W. and Schumacher, M. (1999). Assessment and comparison of prognostic
#'   classification schemes for survival data. *Statistics in Medicine* 18, 2529-2545.
#' @concept survival
#' @concept censoring
#' @concept IPCW
#' @concept Cox model
#' @concept competing risks
#' @concept cumulative incidence
#' @concept time to event
#' @export
#' @examplesIf requireNamespace("survival", quietly = TRUE)
#' veteran <- survival::veteran
#' fit <- survival::coxph(survival::Surv(time, status) ~ karno, veteran, x = TRUE)
#' veteran$risk <- 1 - summary(survival::survfit(fit, veteran), times = 100)$surv[1, ]
#' ece(veteran, survival::Surv(time, status), risk, horizon = 100, n_bins = 5)
#' rbs(veteran, survival::Surv(time, status), risk, horizon = ce_horizon(100, strata = trt))
#'
#' # competing risks: progression before death
#' myeloma <- survival::mgus2[seq(1, 1384, 4), ]
#' myeloma$time <- ifelse(myeloma$pstat == 1, myeloma$ptime, myeloma$futime)
#' state <- ifelse(myeloma$pstat == 1, 1, 2 * myeloma$death)
#' myeloma$state <- factor(state, 0:2, c("none", "progression", "death"))
#' myeloma$risk <- 0.06
#' rbs(myeloma, survival::Surv(time, state), risk, horizon = ce_horizon(120, cause = "progression"))
#'
#' # rows in chunks, with the follow-up of all of them
#' horizon <- ce_horizon(100, censoring = veteran[c("time", "status")])
#' source <- ce_source(veteran, rows = 50)
#' state <- update(ce_state(), source, survival::Surv(time, status), risk, horizon = horizon)
#' ce_estimate(state)
ce_horizon <- function(time, strata = NULL, censoring = NULL, cause = NULL, entry = NULL) {
  if (length(time) > 1) check_horizon_times(time, "time") else check_number(time, lower = 0, open = TRUE)
  if (!is.null(cause)) check_string(cause, "cause")
  strata <- enquo(strata)
  entry <- enquo(entry)
  late <- !rlang::quo_is_null(entry)
  stop_if(late && !is.null(censoring), "{.arg censoring} has no times of entry: all rows are needed at once.",
          arg = "entry")
  censoring <- read_follow_up(censoring, !rlang::quo_is_null(strata))
  for (one in if (!is.null(censoring)) time) censoring$time <- near_horizon(censoring$time, one)
  structure(drop_null(list(time = time, strata = strata, censoring = censoring, cause = cause,
                           entry = if (late) entry)), class = "ce_horizon")
}

# The time, named by the cause if there is one: what results keep of a horizon.
named_horizon <- function(horizon) {
  if (is.null(horizon$cause)) horizon$time else setNames(horizon$time, horizon$cause)
}

# " (relapse) by 100" of this time, after the word "events".
horizon_text <- function(horizon, by = " by ") {
  cause <- names(horizon)
  paste0(if (!is.null(cause)) paste0(" (", cause, ")"), if (!is.null(by)) paste0(by, format(unname(horizon))))
}

# list(time, event, count, strata)
read_follow_up <- function(x, stratified) {
  if (is.null(x)) return(NULL)
  if (inherits(x, "Surv") && isTRUE(attr(x, "type") %in% c("right", "mright"))) {
    x <- data.frame(time = unclass(x)[, "time"], status = pmin(unclass(x)[, "status"], 1))
  }
  needed <- c("time", "status", if (stratified) "strata")
  stop_if(!is.data.frame(x) || !all(needed %in% names(x)) || nrow(x) == 0,
          "{.arg censoring} must be a right-censored {.cls Surv}, or a data frame with the columns {.field {needed}}.",
          "x" = if (is.data.frame(x)) "It has {nrow(x)} row{?s} and the columns {.field {names(x)}}." else
            "It is {.cls {class(x)[1]}}.", class = c("horizon", "argument"), arg = "censoring")
  count <- x[["count"]] %||% rep(1, nrow(x))
  ok <- is.finite(x$time) & x$status %in% c(0, 1) & is.finite(count) & count >= 0
  stop_if(!all(ok), "{.arg censoring} must have finite times, a status of 0 or 1, and counts of at least 0.",
          "x" = "Row {which(!ok)[1]} has not; affected: {sum(!ok)} of {length(ok)} rows.",
          class = c("horizon", "argument"), arg = "censoring", row = which(!ok)[1])
  list(time = as.numeric(x$time), event = x$status == 1, count = as.numeric(count),
       strata = if (stratified) as.character(x$strata))
}

check_horizon_times <- function(x, arg) {
  check_numbers(x, arg, 0, Inf, open = TRUE)
  stop_if(any(diff(x) <= 0), "{.arg {arg}} must increase.", "x" = "It is {.val {x}}.", arg = arg, value = x)
}

# Of several times one for each: NULL where there are fewer than two.
split_horizon <- function(horizon) {
  time <- if (inherits(horizon, "ce_horizon")) horizon$time else horizon
  if (length(time) < 2) return(NULL)
  if (!inherits(horizon, "ce_horizon")) {
    check_horizon_times(time, "horizon")
    horizon <- as_horizon(time[1])
  }
  lapply(time, function(one) replace(horizon, "time", one))
}

as_horizon <- function(horizon) {
  if (is.null(horizon)) return(NULL)
  if (inherits(horizon, "ce_horizon")) {
    if (length(horizon$time) > 1) check_number(horizon$time, "horizon", lower = 0, open = TRUE)
    return(horizon)
  }
  check_number(horizon, lower = 0, open = TRUE)
  structure(list(time = horizon, strata = rlang::quo(NULL)), class = "ce_horizon")
}

#' @export
print.ce_horizon <- function(x, ...) {
  cat("<ce_horizon> ", toString(x$time), if (!is.null(x$cause)) paste0(", cause \"", x$cause, "\""),
      if (!rlang::quo_is_null(x$strata)) ", censoring by strata", if (!is.null(x$entry)) ", late entry", "\n",
      sep = "")
  invisible(x)
}

# list(values = 0/1, column, censoring): NA where time or status is missing. `censoring` has the `horizon`, and of every
# row its weight (0 if censored before) and its outcome; see bind_design().
outcomes_at <- function(truth, x, horizon, weights = NULL) {
  part <- isTRUE(attr(x, "in_group"))
  if (is.data.frame(x)) x <- ungroup_frame(x)
  given <- survival_value(truth, x)
  surv <- survival_outcome(given, horizon)
  followed <- follow_up(surv, x, horizon, weights)
  if (!part) check_horizon(followed, horizon)
  weights <- followed_weights(followed, horizon)
  values <- ifelse(is.na(weights), NA, as.numeric(followed$of_cause & followed$time <= horizon$time))
  left_out <- sum(weights == 0, na.rm = TRUE)
  if (left_out > 0) {
    tell("i" = "{left_out} of {nrow(surv)} rows {cli::qty(left_out)}{?was/were} \\
                {if (!is.null(horizon$entry)) 'late or '}censored before time {format(horizon$time)}. \\
                Inverse probability of censoring weights compensate for them and are treated as known.",
         class = "censored", .frequency = "regularly",
         .frequency_id = "calibrisk_censored")
  }
  list(values = values, column = if (is.data.frame(x)) which(vapply(x, identical, NA, given)),
       censoring = list(horizon = named_horizon(horizon), weights = weights, outcomes = values))
}

# Times such as 2010.1 - 2005.1 are the horizon 5 except for rounding.
near_horizon <- function(time, horizon) replace(time, which(abs(time / horizon - 1) < 1e-9), horizon)

# list(time, event (of any cause), of_cause, count, entry, stratum, strata) of the rows.
follow_up <- function(surv, x, horizon, weights = NULL) {
  n <- nrow(surv)
  strata <- design_column(horizon$strata, if (is.data.frame(x)) x, n, "strata")
  entry <- if (!is.null(horizon$entry)) design_column(horizon$entry, if (is.data.frame(x)) x, n, "entry")
  late <- which(!(is.na(entry) | is.na(surv[, "time"]) | entry < surv[, "time"]))
  stop_if(!is.null(entry) && (!is.numeric(entry) || length(late) > 0),
          "{.arg entry} must be numbers below the times of follow-up.",
          "x" = if (is.numeric(entry)) "Row {late[1]} has {signif(entry[late[1]], 4)}." else
            "It is {.cls {class(entry)[1]}}.", class = c("horizon", "argument"), arg = "entry")
  list(time = near_horizon(surv[, "time"], horizon$time), event = surv[, "status"] > 0,
       of_cause = surv[, "status"] == 1, count = weights %||% rep(1, n), entry = entry %||% rep(0, n),
       stratum = if (is.null(strata)) rep(1L, n) else vctrs::vec_group_id(strata), strata = as.character(strata))
}

# The weights of the rows, which compensate for the censored ones of their stratum (with `parts`, numbers, of their
# part, NA where that is not possible), or those of the given follow-up: inst/include/calibrisk/classical/follow_up.h.
followed_weights <- function(followed, horizon, parts = NULL) {
  whole <- horizon$censoring
  if (!is.null(whole$strata)) {
    stratum <- followed$strata[!followed$strata %in% whole$strata]
    stop_if(length(stratum) > 0, "{.arg censoring} must have rows of every stratum.",
            "x" = "It has none of {.val {stratum[1]}}.", class = "horizon", arg = "censoring", value = stratum[1])
    whole$stratum <- followed$stratum[match(whole$strata, followed$strata)]
  }
  found <- cpp_follow_up_weights(followed, parts %||% followed$stratum, whole, horizon$time, !is.null(horizon$entry))
  if (!is.null(parts)) return(found$weights)
  stop_if(!is.na(found$certain), "Until {.arg horizon} some rows must stay without an event.",
          "x" = "At time {signif(found$certain, 7)} all rows that are followed have one, and the estimated risk is 1.",
          "i" = "Leave out rows that enter before most others.", class = c("horizon", "rows"), arg = "horizon")
  if (found$lost) stop_unfollowed(found$last, horizon$time)
  found$weights
}

# A horizon in another unit than the times is beyond all of them, or before all events. In a group without events both
# may be true of the right one: run_groups() looks at all groups.
check_horizon <- function(followed, horizon) {
  all <- horizon$censoring %||% followed
  known <- !is.na(all$time) & !is.na(all$event) & (all$count > 0) %in% TRUE
  time <- all$time[known]
  if (length(time) == 0) return(invisible())
  if (horizon$time > max(time)) stop_unfollowed(max(time), horizon$time)
  # follow-up that is given has no causes
  if (any((all$of_cause %||% all$event)[known] & time <= horizon$time)) return(invisible())
  stop_no_event(named_horizon(horizon), stats::median(time))
}

stop_unfollowed <- function(last, horizon) {
  stop_input("At {.arg horizon} some rows must still be followed.",
             "x" = "The last time is {signif(last, 7)}, the horizon {horizon}.",
             "i" = "Choose an earlier {.arg horizon}, in the unit of the times.", class = c("horizon", "rows"),
             arg = "horizon", value = horizon)
}

# `time`: the median follow-up, if it is known.
stop_no_event <- function(horizon, time) {
  if (!is.null(time)) time <- count_text(signif(time, 4))
  stop_input(
    "By {.arg horizon} some events must have happened.",
    "x" = "None{if (!is.null(names(horizon))) paste0(' of \"', names(horizon), '\"')} has by \
           {.val {unname(horizon)}}{if (!is.null(time)) paste0('; the median follow-up is ', format(time))}.",
    "i" = "Is {.arg horizon} in the unit of the times?", class = c("horizon", "rows"), arg = "horizon", value = horizon
  )
}

# Weights of the rows of each group that compensate for the censored ones of that group, as of the group alone:
# `groups`, a number of every row. NA where nobody of a group is followed to the horizon.
group_weights <- function(truth, x, groups, horizon, weights = NULL) {
  if (is.data.frame(x)) x <- ungroup_frame(x)
  followed <- follow_up(survival_outcome(survival_value(truth, x), horizon), x, horizon, weights)
  followed_weights(followed, horizon, vctrs::vec_group_id(columns_frame(group = groups, stratum = followed$stratum)))
}

survival_value <- function(truth, x) {
  fail <- function(cnd) {
    # status 0, 1, 2 is 0 for event 1 and missing for 0, with a warning
    if (inherits(cnd, "warning") && !rlang::is_call(conditionCall(cnd), "Surv")) return(rlang::zap())
    stop_input(
      "{.arg truth} cannot be evaluated as survival outcomes.",
      "i" = "As in {.code Surv(time, status)}, where {.code status} is 1 for an event and 0 for a censored row.",
      class = c("horizon", "truth"), arg = "truth", parent = cnd
    )
  }
  rlang::try_fetch(rlang::eval_tidy(truth, data = if (is.data.frame(x)) data_mask(x)), error = fail, warning = fail)
}

# A right-censored `Surv` whose status is 0, 1 or 2.
survival_outcome <- function(value, horizon) {
  type <- if (inherits(value, "Surv")) attr(value, "type")
  states <- if (identical(type, "mright")) attr(value, "states")
  check_cause(horizon, type, states)
  # right-censored in another form: followed from 0 on, or a factor of kinds of events
  times <- if (identical(type, "counting") && all(value[, "start"] %in% c(0, NA))) "stop" else
    if (!is.null(states)) "time"
  if (!is.null(times)) {
    value <- unclass(value)[, c(times, "status"), drop = FALSE]
    if (!is.null(horizon$cause)) value[, 2] <- c(0, ifelse(states == horizon$cause, 1, 2))[value[, 2] + 1]
    value <- structure(value, dimnames = list(NULL, c("time", "status")), type = "right", class = "Surv")
    type <- "right"
  }
  stop_if(
    !identical(type, "right"), "With {.arg horizon}, {.arg truth} must be right-censored survival outcomes.",
    "x" = "It is {.cls {class(value)[1]}}{if (!is.null(type)) paste(' of type', type)}.",
    "x" = if (identical(type, "counting")) "Follow-up starts after time 0 in \
           {sum(value[, 'start'] != 0, na.rm = TRUE)} of {nrow(value)} rows.",
    "i" = if (identical(type, "counting")) "{.code ce_horizon({format(horizon$time)}, entry = )} reads the times of \
           entry of one row a subject, beside {.code Surv(time, status)}. Several rows a subject are not read." else
             "{.code Surv(time, status)} is read, with rows followed from time 0.",
    class = c("horizon", "truth"), arg = "truth"
  )
  early <- which(value[, "time"] < 0)
  stop_if(length(early) > 0, "Times of follow-up must not be negative.",
          "x" = "Row {early[1]} has {signif(value[early[1], 'time'], 4)}; {length(early)} of {nrow(value)} rows do.",
          class = c("horizon", "truth"), arg = "truth", row = early[1])
  value
}

# Competing risks: which of the states is the event. `of`: the argument that has the states.
check_cause <- function(horizon, type, states, of = "truth") {
  cause <- horizon$cause
  stop_if(is.null(cause) && length(states) > 1, "With several kinds of event, {.arg horizon} must name one.",
          "x" = "The kinds in {.arg {of}} are {.val {states}}.",
          "i" = "{.code horizon = ce_horizon({format(horizon$time)}, cause = {.str {states[1]}})} names the first.",
          class = c("horizon", "truth"), arg = "horizon")
  stop_if(!is.null(cause) && identical(type, "right"), "{.arg cause} is for outcomes with several kinds of event.",
          "x" = "{.arg {of}} has one.", "i" = "Several are a factor, {.code Surv(time, factor)}, whose first level is \
          censoring.", class = c("horizon", "truth"), arg = "cause", value = cause)
  stop_if(!is.null(cause) && length(states) > 0 && !cause %in% states,
          "{.arg cause} must be a kind of event in {.arg {of}}.",
          "x" = "It is {.val {cause}}; the kinds are {.val {states}}.", class = c("horizon", "truth"), arg = "cause",
          value = cause)
}
