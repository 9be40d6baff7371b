#' Conventions of other libraries
#'
#' `ece(preset = )` reproduces another library's binned error exactly, edge cases included. Use it to compare published
#' numbers or to port code. Arguments that are given (`n_bins`, `p`, `type`, `debias`, `notion`) replace the preset's
#' where the library has that choice.
#'
#' For each: the default number and the kinds of bins; their edges; to which bin 0, 1 and values on an edge
#' belong; what binary predictions are; what else differs.
#' \describe{
#'   \item{none}{15, width. Edges `b / B`; right-closed, 0 in the first bin. The probability of the event.}
#'   \item{`"torchmetrics"`}{15, width. Single-precision `linspace`; left-closed, and exactly 1 has a bin of its own.
#'     A vector: probability against outcome; a matrix: the top label. Values are rounded to single precision; `p` is
#'     1, 2 or `Inf`.}
#'   \item{`"netcal"`}{10, width or mass. Edges `b (1 / B)`, or type-7 quantiles; left-closed, after clipping to
#'     `[e, 1 - e]` with `e = 2^-52`. Two columns: the second one. `p` is 1 or `Inf` (MCE).}
#'   \item{`"uncertainty-calibration"`}{15; width, mass or discrete. Edges `b / B`, or mid-points between the chunks of
#'     an even split, or mid-points; right-closed. A vector: probability against outcome. `p = 2` can be debiased.}
#'   \item{`"scikit-learn"`}{5, width or mass. Edges `b (1 / B)`, or type-7 quantiles; right-closed. The second column;
#'     more classes are an error. Bins of `calibration_curve()`, weighted by their size.}
#'   \item{`"better-uncertainty-calibration"`}{15; width, mass or discrete. As `"uncertainty-calibration"`, but chunks
#'     of `ceiling(N / B)` rows, and class-wise p-th powers are summed, not averaged.}
#' }
#'
#' torchmetrics: `binary_calibration_error`, `multiclass_calibration_error`; netcal: `ECE`,
#' `MCE` of its confidence metrics; uncertainty-calibration: `get_ece`, `get_ece_em` and
#' `get_calibration_error`, whose normal resampling for `p = 1` is random and not offered.
#' Sums are carried in double precision, which can differ from single-precision sums in
#' the seventh digit.
#' @return The same as [ece()].
#' @name ece_presets
#' @examples
#' conf <- c(0.2, 0.4, 0.6, 0.8, 1)
#' right <- c(0, 1, 0, 1, 1)
#' ece(conf, right, n_bins = 5)$.estimate
#' ece(conf, right, n_bins = 5, preset = "torchmetrics")$.estimate
NULL

preset_choices <- list(
  "torchmetrics" = list(n_bins = 15, type = "width", p = c(1, 2, Inf), debias = FALSE,
                        notion = c("top_label", "binary")),
  "netcal" = list(n_bins = 10, type = c("width", "mass"), p = c(1, Inf), debias = FALSE,
                  notion = c("top_label", "binary")),
  "uncertainty-calibration" = list(n_bins = 15, type = c("width", "mass", "discrete"), p = NULL,
                                   debias = c(FALSE, TRUE), notion = c("top_label", "class_wise", "binary")),
  "scikit-learn" = list(n_bins = 5, type = c("width", "mass"), p = NULL, debias = FALSE, notion = "binary")
)
preset_choices[["better-uncertainty-calibration"]] <- preset_choices[["uncertainty-calibration"]]

preset_scheme <- function(preset, given) {
  preset <- check_choice(preset, names(preset_choices), "preset")
  choices <- preset_choices[[preset]]
  for (name in intersect(names(given), names(choices))) {
    allowed <- choices[[name]]
    if (name == "n_bins" || is.null(allowed) || is.null(given[[name]])) next
    stop_if(!all(given[[name]] %in% allowed) || length(given[[name]]) != 1,
            "{.arg {name}} must be one of {.or {.val {allowed}}} with {.code preset = \"{preset}\"}.",
            "x" = "It is {describe(given[[name]])}.", arg = name, value = given[[name]])
  }
  pick <- function(name, default) given[[name]] %||% choices[[name]][1] %||% default
  scheme <- plain_scheme(pick("n_bins", 15), pick("type", "width"), pick("p", 1), pick("debias", FALSE), given$notion)
  scheme$preset <- preset
  if (scheme$type != "discrete") {
    scheme$ends <- function(of, n_bins) cpp_library_ends(preset, of$x, n_bins, scheme$type == "mass", of$sum_copies)
  }
  # the top label of a matrix, except for libraries that take the second of two columns
  scheme$default <- function(predictions) {
    second <- preset %in% c("netcal", "scikit-learn") && n_classes(predictions) == 2
    if (second || is.null(predictions$probs)) "binary" else "top_label"
  }
  scheme$problems <- function(predictions, notion) preset_problems(preset, predictions, notion)
  scheme$average <- preset != "better-uncertainty-calibration"
  scheme
}

preset_problems <- function(preset, predictions, notion) {
  k <- NCOL(predictions$probs) # 1 where there are none
  one_column <- preset %in% c("netcal", "scikit-learn")
  stop_if(preset == "scikit-learn" && k > 2, "{.code preset = \"scikit-learn\"} is for two classes.",
          "x" = "There are {k}.", "i" = "Give the probability of one class and a logical {.arg truth}.",
          class = "notion", arg = "x")
  stop_if(!cpp_equal_copies(predictions$design), "{.arg preset} reproduces libraries that have no importance weights.",
          class = "weights", arg = "weights")
  if (k == 2 && (one_column || preset == "torchmetrics" && notion == "binary")) predictions$event <- 2L
  # a single probability has no classes to go through
  scalar <- k == 1 && notion == "class_wise" && !one_column
  notion <- if (scalar || k == 2 && one_column) "binary" else notion
  lapply(notion_problems(predictions, notion), function(problem) {
    x <- problem$features[, 1]
    # in single precision
    if (preset == "torchmetrics") x <- readBin(writeBin(as.double(x), raw(), size = 4), "numeric", length(x), size = 4)
    if (preset == "netcal") x <- pmin(pmax(x, .Machine$double.eps), 1 - .Machine$double.eps)
    problem$features <- matrix(x)
    problem$residuals <- matrix(x - problem$labels)
    problem
  })
}
