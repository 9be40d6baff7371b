#' Binned calibration errors: ECE, TCE, class-wise and canonical
#'
#' Puts the predictions into bins and compares the mean prediction of each bin with the observed frequency there.
#'
#' # Definition
#' Let bin `b` hold `N_b` of the `N` predictions, and let `gap_b` be their mean residual (prediction minus outcome). The
#' error is `( sum_b N_b / N |gap_b|^p )^(1/p)` (Gruber and Buettner 2022, section 2.1 and appendix C; `p = Inf` is the
#' largest `|gap_b|`, the maximum calibration error). `notion` chooses the predictions that are binned:
#'
#' * `"top_label"`: the largest probability and whether its class came true. `p = 1` is the
#'   expected calibration error (ECE), other `p` the top-label error TCE_p.
#' * `"binary"`, the default for two classes: the probability of the event. The second class is not counted again.
#' * `"class_wise"`: every class against the others; the p-th powers are averaged over the classes (Kull et al. 2019;
#'   the marginal calibration error of Kumar, Liang and Ma 2019). The CWCE_p of Gruber and Buettner (2022) sums them: it
#'   is K^(1/p) times as large, and the number of [ce_hierarchy()] and `preset = "better-uncertainty-calibration"`.
#' * `"canonical"`: whole probability vectors (CE_p). `"discrete"` groups equal vectors and `"width"` uses a product
#'   grid with `n_bins` per class. `"median_variance"` splits sets of vectors at the median of the class with the
#'   largest variance, as long as both halves (below; at or above) keep `min_size` rows (Widmann, Lindsten and Zachariah
#'   2019). Their ECE in total variation is half of this one with `p = 1`.
#'
#' With a `distance` it is the general expected calibration error \eqn{E\,dist(P(Y \mid f), f)} (Widmann, Lindsten and
#' Zachariah 2021, Definition B.1) of the binned predictions, `sum_b N_b / N dist(acc_b, conf_b)`. The distance need not
#' be a sum over classes: total variation `sum_k |gap_k| / 2`, the Euclidean distance, or the Hellinger distance. Its
#' standard error and interval come from a bootstrap of the rows and are `NA` unless `times` is given. The lower
#' limit is at most the estimate minus an upper quantile of the errors for outcomes simulated from the predictions (with
#' clusters it is 0).
#'
#' The `type` of binning: `"width"` has the bins `((b-1)/B, b/B]`, with 0 in the first. `"mass"` has bins of about
#' equally many rows: it cuts at the order statistics number `ceiling(n b / B)`, and ties stay together. `"sweep"` does
#' the same with the largest number of bins for which the observed frequencies still increase (Roelofs et al. 2022).
#' `"discrete"` has one bin per distinct value. An empty bin adds 0.
#'
#' `debias = TRUE` (`p = 2`) subtracts `acc_b (1 - acc_b) / (N_b - 1)` from each squared gap (Kumar, Liang and Ma 2019);
#' a bin with one row then adds 0. The sum is in the column `power`. It may be negative; the estimate is then 0.
#'
#' # Intervals
#' The analytic interval takes the bins as fixed and uses the influence of each row on `power`. It accounts for noise
#' but not for bias. With fixed bins, the error of the binned predictions is a lower bound of the calibration error, and
#' its plug-in estimate is biased upwards in finite samples. Near calibration, an interval around the
#' plug-in estimate lies above the error and never contains 0. The lower limit is therefore replaced by a cross-fitted
#' one where that is lower.
#'
#' For the cross-fitted limit, the rows are spread over 5 folds by their values, so no random numbers are used and the
#' order of the rows has no effect. Let `c` be the gap of a row's bin in the other folds. The mean of `p |c|^(p-1)
#' sign(c) e - (p-1) |c|^p` over the rows' residuals `e` has an expectation of at most `power` for every `c`. (For `p =
#' 1` it is the mean of `sign(c) e`. For `p = Inf` it is the mean of `sign(c) e` in the bin with the largest gap,
#' divided by the share of rows in that bin.) Its lower confidence limit is used; below `p = 2` with twice the variance,
#' because the rows of each fold contribute to the gaps for the others. The variance at an error of 0 is that of
#' outcomes drawn from the predictions, `m (1 - m)` per row with the mean prediction `m` of its bin; the estimated
#' variance holds at the estimate, and in between it is linear. (With clusters the larger one holds at 0.) In
#' simulations of calibrated predictions (150 and 600 rows, seven distributions, most with few events) at most 2% of 210
#' intervals were above 0. The price is a longer lower arm: if no prediction in a bin is repeated, it reaches 0.
#'
#' With `debias = TRUE` the sum is one over pairs of different rows of a bin, and has the limits of such a sum: those of
#' [skce()], mapped to the root. Canonical errors and those in more than 20,000 bins have the limits described above. In
#' simulations with 300 rows (four laws, two of them with ties or rare events) the lower limit was above the error in 1
#' to 5% of samples, the upper one below it in none.
#'
#' Otherwise the upper limit is that of the plug-in estimate. If all observed gaps are 0, so is the influence of every
#' row; the standard error is then that of a calibrated model (normal gaps in these bins).
#'
#' The bootstrap resamples rows (or whole clusters) `times` times and takes the standard error from the samples. Its
#' limits are constructed like the analytic ones. The basic bootstrap interval would exclude 0 in two thirds of
#' calibrated samples of 300 rows, since the bias of a sample depends on unknown errors.
#'
#' Both intervals are computed for `power` and mapped to the root. The column `interval` says which it is.
#'
#' # Invariants
#' `ece(p = 1)` with any bins is at most `ece(type = "discrete", p = 1)`; splitting bins never
#' lowers the plug-in error; `ece(p = 2, notion = "class_wise")` is at most [rbs()] with `notion = "canonical"`.
#'
#' # Cost
#' Bins of equal width take one pass over the rows for each entry of `n_bins`. Other bins, weighted and clustered rows
#' and more than eight entries take one sort, and then time linear in the number of bins.
#'
#' # Errors
#' `calibrisk_error_probs`, `_truth`, `_columns`, `_argument`, `_notion`.
#'
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone; see *Choosing a model* in [ce_args].
#' @inheritParams ce_args
#' @param n_bins Number of bins of `type = "width"` and `"mass"`, at most a million; several numbers give several rows.
#' @param type Type of binning; see *Definition*.
#' @param p Exponent, from 1 to 32; `Inf` for the largest gap of any bin.
#' @param debias Whether to subtract the estimated noise (`p = 2` only).
#' @param notion `"top_label"`, `"binary"`, `"class_wise"` or `"canonical"`; see [ce_args].
#' @param distance For `notion = "canonical"`: the distance between a bin's mean prediction and its observed
#'   frequencies. `NULL` for the p-th powers of the classes' differences, `"tv"`, `"euclidean"`, `"hellinger"`, or a
#'   function of two matrices (frequencies and predictions, a row per bin) that returns a number per row.
#' @param preset `NULL`, or the name of another library whose conventions are reproduced exactly; see [ece_presets].
#' @param times `NULL` for the analytic interval, or the number of bootstrap samples, such as 1000.
#' @param min_size Smallest number of rows of a bin with `type = "median_variance"`.
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `power` (the mean
#' p-th power before the root), `n_bins` (as given, or as chosen by the sweep), `n`, and the choices `notion`, `type`,
#' `p`, `debias`, `interval`, `level`. There is one row per group and per entry of `n_bins`.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835};
#'   Kull, Perello Nieto, Kaengsepp, Silva Filho, Song and Flach (2019) \doi{10.48550/arXiv.1910.12656};
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
                           times = NULL, min_size = 10, .by = NULL,
                           event_level = "first", na_rm = TRUE, distance = NULL,
                           weights = NULL, cluster = NULL, horizon = NULL) {
  if (is.null(preset)) {
    type <- check_choice(type, c("width", "mass", "sweep", "discrete", "median_variance"))
    scheme <- plain_scheme(n_bins, type, p, debias, check_notion(notion), min_size = min_size)
    scheme$distance <- check_distance(distance, scheme, !missing(p))
  } else {
    given <- list(n_bins = if (!missing(n_bins)) n_bins, type = if (!missing(type)) type,
                  p = if (!missing(p)) p, debias = if (!missing(debias)) debias,
                  notion = if (!missing(notion)) notion)
    scheme <- preset_scheme(preset, given)
  }
  scheme$own <- missing(n_bins)
  check_bin_options(scheme, preset, c("n_bins", "min_size", "distance")[c(!missing(n_bins), !missing(min_size),
                                                                          !is.null(distance))])
  interval <- check_interval(level, times)
  # vectors are binned row by row
  input <- rows_input(quote_dots, copies = is.null(preset) && !identical(scheme$notion, "canonical"))
  choices <- list(
    notion = scheme$notion, type = scheme$type, p = scheme$p, debias = scheme$debias,
    preset = scheme$preset, interval = interval$type, level = level,
    distance = if (is.function(distance)) "function" else distance
  )
  metric_frame(x, c(input, list(sums = "binned")), "ece", function(predictions) {
    unsupported_if(!is.null(preset) && !is.null(predictions$ladder), "there are no presets",
                   "{.arg preset} is given.", "preset")
    scheme$notion <- scheme$notion %||% scheme$default(predictions)
    c(ece_columns(predictions, scheme, interval), list(notion = scheme$notion))
  }, choices = choices, edges = scheme_edges(scheme))
}, "minimize", c(0, Inf))
