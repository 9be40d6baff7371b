#' The hierarchy of calibration errors of a data set
#'
#' Computes all errors of one data set and checks the inequalities between them, from the
#' ceiling over the root Brier score down to the errors that see least.
#'
#' # Definition
#' Gruber and Buettner 2022, Theorem 3.1, for `p >= 1`, K classes:
#' `K^(1/p - 1/2) sqrt(2) >= K^(1/p - 1/2) RBS >= CE_p >= CWCE_p` (the second for `p <= 2`) and `CE_p >= TCE_p >=
#' TCE_1`. `TCE_1` is at least the Kolmogorov-Smirnov error, the ECE with any bins, and the MMCE over the root of the
#' kernel's largest value. (That is 1 here, for the Laplace kernel of [mmce()] with its default bandwidth; the paper
#' prints the constant on the other side.) CWCE_p sums the p-th powers over the classes, where
#' `ece(notion = "class_wise")` averages them. On a data set they hold exactly, for any `n`, with the plug-in errors of
#' the distinct predictions (`ece(type = "discrete")`). They then
#' describe the data, not the population: with all predictions distinct, CE_p is as large as it can be.
#'
#' A zero low in the chain says nothing about the errors above: recalibrating every
#' confidence to the accuracy makes ECE, TCE, KS and MMCE zero and leaves CE_p positive.
#'
#' # Intervals
#' Those of [ece()], [rbs()], [ks_error()] and [mmce()] for the same number. Each is for its own error, so they do not
#' inherit the order of the chain. If nearly every prediction is distinct, CE, CWCE and TCE are as large as they can be,
#' and the printed output says so. Their intervals then begin at 0, because one row per prediction gives no evidence of
#' an error.
#' @inheritParams ece
#' @param n_bins Numbers of bins of the ECE.
#' @param p Exponent, from 1 to 32.
#' @return A tibble of class `ce_hierarchy` with a row per error: `quantity`, `value`, `below` (the error that bounds
#' it from above), `slack` (how much room is left), `holds` (`NA` where the theorem asserts
#' nothing, `p > 2`), `std.error`, `conf.low`, `conf.high`, `p`, `n_classes`, `n_distinct` (predictions), `n`.
#' `tidy()` gives the plain tibble, with the columns `term` and `estimate` for `quantity` and `value`.
#' A single probability is a scalar problem, K = 1: CE_p is the error of the probability of the event, and there are
#' no CWCE and TCE.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835}.
#' @examples
#' probs <- rbind(c(0.7, 0.2, 0.1), c(0.7, 0.2, 0.1), c(0.1, 0.3, 0.6), c(0.1, 0.3, 0.6))
#' ce_hierarchy(probs, c(1, 2, 3, 3))
#' @export
ce_hierarchy <- function(x, truth, ..., p = 2, n_bins = 15, level = 0.95, .by = NULL,
                         event_level = "first", weights = NULL, cluster = NULL, horizon = NULL) {
  check_exponent(p)
  check_bins(n_bins, size = NULL)
  check_level(level)
  input <- rows_input(copies = TRUE)
  out <- by_groups(x, input$by, function(part) {
    predictions <- predictions_of(part, input)
    with_read(hierarchy_rows(predictions, p, n_bins, level), predictions)
  })
  class(out) <- c("ce_hierarchy", class(out))
  out
}

hierarchy_rows <- function(predictions, p, n_bins, level) {
  scalar <- is.null(predictions$probs)
  errors <- hierarchy_errors(predictions, p, n_bins, level)
  names <- names(errors)
  column <- function(name) unname(vapply(errors, function(error) as.numeric(error[[name]] %||% NA_real_), 0))
  values <- column(".estimate")
  of <- function(name) values[match(name, names)]
  top_above <- if (scalar) "RBS" else "CE"
  above <- c(ceiling = NA, RBS = "ceiling", CE = "RBS", CWCE = "CE", TCE = top_above,
             TCE_1 = if (p == 1) top_above else "TCE")
  above <- ifelse(names %in% names(above), above[names], "TCE_1")
  slack <- of(above) - values
  holds <- slack >= -1e-12 * pmax(1, values)
  # the root makes 1e-8 of a rounding error of 1e-16
  if (isTRUE(of("MMCE")^2 <= of("TCE_1")^2 + 1e-12)) holds[names == "MMCE"] <- TRUE
  holds[above %in% "RBS" & p > 2] <- NA
  weight <- if (scalar || p == 2) "" else "K^(1/p-1/2) "
  exponent <- paste0("_", format(p))
  label <- c(ceiling = if (scalar) "ceiling 1" else paste0("ceiling ", weight, "sqrt(2)"),
             RBS = paste0(weight, "RBS"), CE = paste0("CE", exponent),
             CWCE = paste0("CWCE", exponent), TCE = paste0(if (scalar) "CE" else "TCE", exponent),
             TCE_1 = if (scalar) "CE_1" else "TCE_1")
  name_of <- function(v) ifelse(v %in% names(label), label[v], v)
  columns_frame(
    quantity = name_of(names), value = values, std.error = column("std.error"), conf.low = column("conf.low"),
    conf.high = column("conf.high"), below = name_of(above), slack = slack, holds = holds, p = p,
    n_classes = n_classes(predictions), n_distinct = vctrs::vec_unique_count(predictions$probs %||% predictions$prob),
    n = n_obs(predictions)
  )
}

# The columns of every error, by its name.
hierarchy_errors <- function(predictions, p, n_bins, level) {
  scalar <- is.null(predictions$probs)
  interval <- list(type = "analytic", level = level)
  top <- lapply(notion_problems(predictions, if (scalar) "binary" else "top_label"), fold_copies)
  top[[1]]$sorted <- sort_problem(top[[1]])
  whole <- if (scalar) top else lapply(notion_problems(predictions, "canonical"), fold_copies)
  factor <- if (scalar) 1 else n_classes(predictions)^(1 / p - 1 / 2)
  columns <- function(value) error_columns(value$estimates, interval)
  binned <- function(problems, p, type = "discrete", n_bins = 1) {
    scheme <- plain_scheme(n_bins, type, p, FALSE, "top_label")
    columns(scalar_ece(problems, replace(scheme, "average", FALSE)))
  }
  rbs <- rbs_columns(mean_estimate(rowSums(whole[[1]]$residuals^2), whole[[1]]$design, power = 2), interval)
  c(
    list(ceiling = list(.estimate = factor * if (scalar) 1 else sqrt(2)),
         RBS = lapply(rbs[shown_columns], `*`, factor)),
    if (!scalar) {
      list(CE = columns(canonical_estimates(whole, plain_scheme(1, "discrete", p, FALSE, "canonical"))),
           CWCE = binned(notion_problems(predictions, "class_wise"), p))
    },
    if (p != 1) list(TCE = binned(top, p)), list(TCE_1 = binned(top, 1), KS = ks_columns(top, interval)),
    setNames(lapply(n_bins, function(m) binned(top, 1, "width", m)), paste0("ECE, ", n_bins, " bins")),
    list(MMCE = mmce_columns(top, 0.4, "biased", interval))
  )
}

shown_columns <- c(".estimate", "std.error", "conf.low", "conf.high")
