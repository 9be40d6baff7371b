#' Binned calibration errors: ECE, TCE, class-wise and canonical
#'
#' Compares, in bins of the predictions, the mean prediction with the observed frequency.
#'
#' # Definition
#' With bins `b` holding `N_b` of `N` predictions and `gap_b` their mean residual
#' (prediction minus outcome), the error is
#' `( sum_b N_b / N |gap_b|^p )^(1/p)` (Gruber and Buettner 2022, section 2.1 and
#' appendix C; `p = Inf` is the largest gap, the maximum calibration error). The `notion`
#' says which prediction is binned:
#'
#' * `"top_label"`: the largest probability and whether its class came true. `p = 1` is the
#'   expected calibration error (ECE), other `p` the top-label error TCE_p.
#' * `"binary"`, the default for two classes: the probability of the event, no factor 2 for the second class.
#' * `"class_wise"`: every class on its own; p-th powers are summed over classes, not
#'   averaged and not weighted (CWCE_p).
#' * `"canonical"`: whole probability vectors (CE_p). `"discrete"` groups equal vectors and `"width"` uses a product
#'   grid with `n_bins` per class. `"median_variance"` splits sets of vectors at the median of the class with the
#'   largest variance, as long as both halves (below; at or above) keep `min_size` rows (Widmann, Lindsten and Zachariah
#'   2019). Their ECE in total variation is half of ours with `p = 1`.
#'
#' With a `distance` it is the general expected calibration error \eqn{E\,dist(P(Y \mid f), f)} (Widmann, Lindsten and
#' Zachariah 2021, Definition B.1) of the binned predictions, `sum_b N_b / N dist(acc_b, conf_b)`. The distance need not
#' be a sum over classes: total variation `sum_k |gap_k| / 2`, the Euclidean distance, or the Hellinger distance. Its
#' standard error and interval come from a bootstrap of the rows (`interval = "bootstrap"`, else `NA`). The lower limit
#' is at most the estimate minus the upper quantile of the errors that outcomes simulated from the predictions give (0
#' with clusters).
#'
#' The `type` of binning: `"width"` has the bins `((b-1)/B, b/B]`, with 0 in the first. `"mass"` cuts at the order
#' statistics number `ceiling(n b / B)`; ties stay together. `"sweep"` is equal mass with the largest number of bins for
#' which the observed frequencies still increase (Roelofs et al. 2022). `"discrete"` has one bin per distinct value.
#' Empty bins count as 0.
#'
#' `debias = TRUE` (`p = 2`) subtracts `acc_b (1 - acc_b) / (N_b - 1)` from each squared gap
#' (Kumar, Liang and Ma 2019); bins with one row then count as 0. The sum, in the column
#' `power`, may be negative: the estimate is then 0.
#'
#' # Intervals
#' `"analytic"` takes the bins as fixed and uses the influence of each row on `power`. It accounts for noise, not for
#' bias. With fixed bins, the error of the binned predictions is a lower bound of the calibration error, and its plug-in
#' estimate is biased upwards in finite samples (see [ece_bias()]). Near calibration such an interval lies above the
#' error, and never holds 0. Its lower limit is therefore at most a cross-fitted one. Rows are scattered over 5 folds by
#' their values (no random numbers are used, and the order of the rows has no effect). Let `c` be the gap of a row's bin
#' in the other folds. The mean of `p |c|^(p-1) sign(c) e - (p-1) |c|^p` over the rows' residuals `e` has an expectation
#' of at most `power` for every `c`. (For `p = 1` it is the mean of `sign(c) e`; for `p = Inf` that of `sign(c) e` in
#' the bin with the largest gap, over its share.) Its lower confidence limit replaces that of the plug-in where it is
#' lower; below `p = 2` with twice the variance, because the rows of each fold contribute to the bins' gaps for the
#' others. For calibrated predictions 0 is then in at least 95 % of the intervals (simulated, `n = 1000`); the price is
#' a longer lower arm: without repeated predictions in a bin it reaches 0. The upper limit is the plug-in estimate's. If
#' the observed gaps are 0, the influence vanishes; the standard error is then that of a calibrated model (normal gaps
#' in these bins). `"bootstrap"` resamples rows (or whole clusters) `times` times and takes the standard error from the
#' samples. Its limits are constructed like the analytic ones: the basic bootstrap interval would exclude 0 in two
#' thirds of calibrated samples of 300 rows, since a sample's bias depends on unknown errors. Both are built for `power`
#' and mapped to the root; the column `interval` says which.
#'
#' # Invariants
#' `ece(p = 1)` with any bins is at most `ece(type = "discrete", p = 1)`; splitting bins never
#' lowers the plug-in error; `ece(p = 2, notion = "class_wise")` is at most [rbs()] with `notion = "canonical"`.
#'
#' # Cost
#' One sort per scalar problem; any number of `n_bins` then costs time linear in the bins.
#'
#' # Errors
#' `calibrisk_error_probs`, `_truth`, `_columns`, `_argument`, `_notion`.
#'
#' @inheritSection ce_args Choosing a model
#' @param x Predictions: a data frame (with `truth` one of its columns), a numeric matrix of
#'   probabilities `n x K`, or a numeric vector of probabilities. Results of resampling by tune that kept their
#'   predictions are read as a data frame of these. Of [ece()], [ce_estimate()] and
#'   [ce_tune()] also a table of a database, see [ce_database()].
#' @param truth The outcome: a column of `x`; or a factor or integers 1..K; or, for a
#'   vector `x`, logical or 0/1.
#' @param ... For a data frame, the probability columns (tidyselect; default: those that
#'   start with `.pred_`, or where there are none those named exactly as the levels of `truth`). Otherwise empty. A
#'   single column named `.pred_<level>` or `<level>` is the probability of that level of `truth`.
#' @param n_bins Number of bins of `type = "width"` and `"mass"`, at most a million; several numbers give several rows.
#' @param type How bins are made, see above.
#' @param p Exponent, from 1 to 32; `Inf` for the bin with the largest gap.
#' @param debias Subtract the estimated noise (`p = 2` only)?
#' @param notion `"top_label"`, `"binary"`, `"class_wise"` or `"canonical"`. The default is `"binary"` for a single
#'   probability and for two classes, else `"top_label"`. A single probability is taken as it is for both: that of the
#'   event, or the confidence in a label that was right or not.
#' @param distance For `notion = "canonical"`: the distance between a bin's mean prediction and its observed
#'   frequencies. `NULL` for the p-th powers of the classes' differences, `"tv"`, `"euclidean"`, `"hellinger"`, or a
#'   function of two matrices (frequencies and predictions, a row per bin) that returns a number per row.
#' @param preset `NULL`, or the name of another library whose conventions are to be
#'   reproduced exactly: see [ece_presets].
#' @param level Confidence level.
#' @param interval `"analytic"` or `"bootstrap"`.
#' @param times Number of samples of `interval = "bootstrap"`; the analytic one has none.
#' @param min_size Smallest number of rows of a bin with `type = "median_variance"`.
#' @param .by Columns to group by (tidyselect); or use a grouped data frame. Groups come in the order of their levels,
#'   else sorted. One with too little data has a row of `NA`, and a warning of class `calibrisk_warning_group` names it.
#' @param event_level With two classes and `notion = "binary"`: which level is the event, `"first"` or `"second"`;
#'   the name of a single column goes before it. A warning of class `calibrisk_warning_direction` is given if the event
#'   clearly becomes rarer as its probability rises.
#' @param na_rm Drop incomplete rows? Otherwise missing values give `NA`.
#' @param weights The weight of each row: a column of `x`, or a vector if the other arguments are vectors. Integers (or
#'   `hardhat::frequency_weights()`) are frequencies: the rows are repeated, so estimate, standard error, test and cost
#'   are exactly those of the repeated rows. Doubles (or `hardhat::importance_weights()`) are importance weights `w`,
#'   whose scale does not matter: means are weighted, and standard errors are \eqn{\sqrt{n/(n-1) \sum w_i^2 (\psi_i -
#'   \bar\psi)^2} / \sum w_i} with the influence \eqn{\psi_i} of a row. Intervals use Student's t with the effective
#'   number of rows as degrees of freedom, `1 / df = sum(w^2) / sum(w)^2 - 1 / n`. Rows of weight 0 are left out.
#' @param cluster Which rows belong together (patients of one centre): a column of `x`, or a vector. Standard errors are
#'   those of the clusters' summed influences, and intervals use Student's t with one degree of freedom less than there
#'   are clusters. Unbiased means over pairs take only pairs across clusters, and a bootstrap resamples clusters.
#' @param horizon For outcomes `Surv(time, status)`: predictions are the probabilities of an event by this time, and
#'   rows count by inverse probability of censoring, see [ce_horizon()].
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`,
#' `power` (the mean p-th power before the root), `n_bins` (asked for, or chosen by the
#' sweep), `n`, and the choices `notion`, `type`, `p`, `debias`, `interval`, `level`. One row
#' per group and per entry of `n_bins`.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835};
#'   Kumar, Liang and Ma (2019) \doi{10.48550/arXiv.1909.10155};
#'   Roelofs, Cain, Shlens and Mozer (2022) \doi{10.48550/arXiv.2012.08668};
#'   Widmann, Lindsten and Zachariah (2019) \doi{10.48550/arXiv.1910.11385};
#'   Widmann, Lindsten and Zachariah (2021), Calibration tests beyond classification, ICLR.
#' @examples
#' conf <- c(0.7, 0.7, 0.7, 0.5, 0.5, 0.6, 0.6, 0.6, 0.9, 0.9, 0.9, 0.5)
#' right <- c(1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0)
#' ece(conf, right)
#' ece(conf, right, n_bins = c(5, 10, 15), type = "mass", p = 2)
#' @export
ece <- new_metric(function(x, truth, ..., n_bins = 15,
                           type = c("width", "mass", "sweep", "discrete", "median_variance"), p = 1,
                           debias = FALSE, notion = NULL, preset = NULL, level = 0.95,
                           interval = c("analytic", "bootstrap"), times = 1000, min_size = 10, .by = NULL,
                           event_level = "first", na_rm = TRUE, distance = NULL,
                           weights = NULL, cluster = NULL, horizon = NULL) {
  if (is.null(preset)) {
    type <- check_choice(type, c("width", "mass", "sweep", "discrete", "median_variance"))
    scheme <- plain_scheme(n_bins, type, p, debias, check_notion(notion), min_size = min_size)
    scheme$distance <- check_distance(distance, scheme, !missing(p), current_env())
  } else {
    given <- list(n_bins = if (!missing(n_bins)) n_bins, type = if (!missing(type)) type,
                  p = if (!missing(p)) p, debias = if (!missing(debias)) debias,
                  notion = if (!missing(notion)) notion)
    scheme <- preset_scheme(preset, given)
  }
  check_bin_options(scheme, preset, c("n_bins", "min_size", "distance")[c(!missing(n_bins), !missing(min_size),
                                                                          !is.null(distance))], current_env())
  interval <- check_interval(interval, level, times, !missing(times), current_env())
  design <- design_input(enquo(weights), enquo(cluster), horizon)
  choices <- list(
    notion = scheme$notion, type = scheme$type, p = scheme$p, debias = scheme$debias,
    preset = scheme$preset, interval = interval$type, level = level,
    distance = if (is.function(distance)) "function" else distance
  )
  dots <- enquos(...)
  # under yardstick `x` is a column's name
  if (!"data" %in% names(dots) && !missing(x) && is_database(x)) {
    return(database_ece(x, enquo(truth), check_dot_names(dots, current_env()), enquo(.by), scheme, interval,
                        event_level, na_rm, choices, design, current_env()))
  }
  metric_frame(x, enquo(truth), dots, enquo(.by), "ece", function(predictions) {
    scheme$notion <- scheme$notion %||% scheme$default(predictions)
    c(ece_columns(predictions, scheme, interval), list(notion = scheme$notion))
  }, event_level, na_rm, choices = choices, design = design)
}, "minimize", c(0, Inf))
