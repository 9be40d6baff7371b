#' Binned calibration errors: ECE, TCE, class-wise and canonical
#'
#' Puts the predictions into bins and compares the mean prediction of each bin with the observed frequency there.
#'
#' # Definition
#' Let bin `b` hold `N_b` of the `N` predictions, and let `gap_b` be their mean residual (prediction minus outcome). The
#' error is `( sum_b N_b / N |gap_b|^p )^(1/p)`. For `"top_label"`, `p = 1` is the expected calibration error (ECE) and
#' `p = Inf` the maximum calibration error. `"class_wise"` averages the p-th powers over the classes, and `"canonical"`
#' puts whole probability vectors into bins.
#'
#' Types of bins: `"width"`, `((b-1)/B, b/B]` with 0 in the first; `"mass"`, about equally many rows, ties together;
#' `"sweep"`, the largest number of these for which the observed frequencies still increase; `"discrete"`, one per
#' distinct value; `"median_variance"` splits sets of vectors (canonical only). `debias = TRUE` subtracts `acc_b (1 -
#' acc_b) / (N_b - 1)` from each squared gap; `power` may then be negative, and the estimate is 0. Details are in
#' the vignette *Notation*.
#' # Intervals
#' The analytic interval takes the bins as fixed. It accounts for noise but not for bias. The plug-in estimate is biased
#' upwards in finite samples, so near calibration an interval around it lies above the error. The lower limit is
#' therefore replaced by a cross-fitted one where that is lower; it uses no random numbers. In simulations of calibrated
#' predictions (150 and 600 rows, seven distributions, most with few events) at most 2% of 210 intervals were above 0.
#' The price is a longer lower arm: if no prediction in a bin is repeated, it reaches 0. `debias = TRUE` has the limits
#' of [skce()], mapped to the root; the estimate leaves out rows alone in a bin, the upper limit adds their squares.
#' With `times`, the standard error is that of resampled rows (or whole clusters).
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone; see *Choosing a model* in [ce_args].
#' @inheritParams ce_args
#' @param n_bins Number of bins of `type = "width"` and `"mass"`, at most a million; several numbers give several rows.
#' @param type Type of binning; see *Definition*.
#' @param p Exponent, from 1 to 32; `Inf` for the largest gap of any bin.
#' @param debias Whether to subtract the estimated noise (`p = 2` only).
#' @param notion `"top_label"`, `"binary"`, `"class_wise"` or `"canonical"`; see [ce_args].
#' @param distance For `"canonical"`: `NULL` for the p-th powers of the classes' differences, `"tv"`, `"euclidean"`,
#'   `"hellinger"`, or a function of two matrices (frequencies and predictions, a row per bin) that returns a number per
#'   row. Intervals need `times`.
#' @param preset Another library whose conventions are reproduced; see [ece_presets].
#' @param breaks Own edges of bins, such as `c(0.01, 0.1)`; right-closed.
#' @param times Number of bootstrap samples; `NULL`: analytic interval.
#' @param min_size Fewest rows of a bin of `type = "median_variance"`.
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `power` (the mean
#' p-th power before the root), `n_bins` (as given or chosen), `n`, and the choices `notion`, `type`, `p`, `debias`,
#' `interval`, `level`. There is one row per group and per entry of `n_bins`.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835};
#'   Kull, Perello Nieto, Kaengsepp, Silva Filho, Song and Flach (2019) \doi{10.48550/arXiv.1910.12656};
#'   Kumar, Liang and Ma (2019) \doi{10.48550/arXiv.1909.10155};
#'   Roelofs, Cain, Shlens and Mozer (2022) \doi{10.48550/arXiv.2012.08668};
#'   Widmann, Lindsten and Zachariah (2019) \doi{10.48550/arXiv.1910.11385};
#'   Widmann, Lindsten and Zachariah (2021), Calibration tests beyond classification, ICLR.
#' @concept expected calibration error
#' @concept ECE
#' @concept maximum calibration error
#' @concept MCE
#' @concept reliability
#' @concept binning
#' @concept class-wise calibration error
#' @concept bootstrap
#' @examples
#' conf <- c(0.7, 0.7, 0.7, 0.5, 0.5, 0.6, 0.6, 0.6, 0.9, 0.9, 0.9, 0.5)
#' right <- c(1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0)
#' ece(conf, right)
#' ece(conf, right, n_bins = c(5, 10, 15), type = "mass", p = 2)
#' @export
ece <- new_metric("ece", function(x, truth, ..., n_bins = 15,
                           type = c("width", "mass", "sweep", "discrete", "median_variance"), p = 1,
                           debias = FALSE, notion = NULL, preset = NULL, level = 0.95,
                           times = NULL, min_size = 10, .by = NULL,
                           event_level = "first", na_rm = TRUE, distance = NULL,
                           weights = NULL, cluster = NULL, horizon = NULL, breaks = NULL) {
  breaks <- check_breaks(breaks, c(n_bins = !missing(n_bins), type = !missing(type)))
  if (is.null(preset)) {
    type <- check_choice(type, c("width", "mass", "sweep", "discrete", "median_variance"))
    scheme <- plain_scheme(n_bins, type, p, debias, check_notion(notion), min_size = min_size)
    scheme$distance <- check_distance(distance, scheme, !missing(p))
    if (!is.null(breaks)) {
      scheme <- replace(scheme_of_breaks(scheme, c(breaks, 1)), c("type", "breaks"), list("breaks", breaks))
    }
  } else {
    given <- list(n_bins = if (!missing(n_bins)) n_bins, type = if (!missing(type)) type,
                  p = if (!missing(p)) p, debias = if (!missing(debias)) debias, notion = if (!missing(notion)) notion)
    scheme <- preset_scheme(preset, given)
  }
  scheme$own <- missing(n_bins) && is.null(breaks)
  given <- c(n_bins = !missing(n_bins), min_size = !missing(min_size), distance = !is.null(distance),
             breaks = !is.null(breaks))
  check_bin_options(scheme, preset, names(given)[given])
  interval <- check_interval(level, times)
  input <- rows_input(quote_dots, copies = TRUE)
  choices <- list(
    notion = scheme$notion, type = scheme$type, p = scheme$p, debias = scheme$debias,
    preset = scheme$preset, interval = interval$type, level = level,
    distance = if (is.function(distance)) "function" else distance
  )
  metric_frame(x, input, "ece", function(predictions) {
    scheme$notion <- scheme$notion %||% scheme$default(predictions)
    c(ece_columns(predictions, scheme, interval), list(notion = scheme$notion))
  }, choices = choices, edges = scheme_edges(scheme))
}, "minimize", c(0, Inf))
