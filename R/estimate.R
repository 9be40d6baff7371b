#' Estimate the calibration error with a confidence interval
#'
#' Estimates how far predicted probabilities are from the event probabilities given the prediction (root mean square).
#' Returns a confidence interval, a one-sided lower bound and a test of calibration. The result uses all rows, needs no
#' tuning and involves no random numbers: the same rows give the same number in any order. For rows that are not in one
#' place, pass a [ce_state()] as `x`; then only `level` and `threads` may be given.
#'
#' @inheritParams ce_args
#' @inheritParams ece
#' @param notion One or several types of calibration; by default `"binary"` for a single probability and for two
#'   classes, else `"top_label"`.
#' @param method `"adaptive"`, the estimate from nested bases that is defined below; or a method of [ce_methods], tuned
#'   over its own grid by 5 folds of 80% of the rows; [ce_tune()] takes other folds and test rows. Then `estimate`
#'   and `std.error` are that method's, from the other rows; interval, bound and test are still those of the nested
#'   bases.
#' @param bases The nested bases: `NULL` for the default ones, or a list; see [basis_hats()].
#' @return One row per type of calibration (and group). Its columns are `notion` (the type), `estimate` (root of the
#'   squared calibration error), `std.error` (of the root; `NA` where it cannot be distinguished from 0), `conf.low` and
#'   `conf.high`. Then follow the one-sided `lower_bound`, the `p.value` of the test of calibration, `resolution` (knots
#'   of the finest basis per coordinate), `upper_bound` (upper limit of the root Brier score), `method` and `n`. The
#'   printed table adds the result in words and the number of incomplete rows that were dropped.
#'
#' @section Definition:
#' Residuals \eqn{e_i} (prediction minus outcome) are projected on bases \eqn{B_m} that depend on the predictions only.
#' With one residual per row the bases are, from coarse to fine, a constant, \eqn{(v, v l)}, and hats on 8 and on
#' \eqn{\lceil\sqrt n\rceil} (at most 100) quantile knots, where \eqn{v = p(1 - p)} and \eqn{l} is the logit of p.
#' [basis_hats()] describes the bases of several residuals. With orthonormal columns \eqn{b_i} and leverages \eqn{h_i},
#' \eqn{g_i = (b_i'\sum_l b_l e_l - h_i e_i) / (1 - h_i)} is the miscalibration at row i, estimated from the other rows,
#' and
#' \deqn{\psi_m = \frac1n \sum_i \langle e_i, g_i\rangle}
#' estimates the squared error that the basis can represent. It is unbiased if the miscalibration is in the span of the
#' basis. Otherwise its expectation is never too large. Both hold for any variances of the outcomes (leave-out
#' estimation of quadratic forms: Kline, Saggio and Soelvsten 2020). On bins it is the debiased error of Broecker (2012)
#' and Kumar et al. (2019). It may be negative. The estimate combines the bases with the weights of [method_stack()]:
#' \eqn{CE^2 = \sum_m w_m\psi_m / \sqrt{\sum_m w_m}}. If that is below `conf.low`, the estimate is \eqn{\psi_m} of the
#' basis with the strongest evidence of an error.
#'
#' @section Test and interval of one residual per row:
#' This section is about the binary and the top-label error, and any error of two classes, of rows without clusters and
#' importance weights. Outcomes of a calibrated model are drawn from its predictions, so their variances \eqn{v_i = p_i
#' (1 - p_i)} are known. Six statistics have these shares \eqn{w_m} of the level (in sixteenths):
#' \describe{
#'   \item{intercept and slope (10)}{The mean of a score statistic and a likelihood ratio. The first is \eqn{h_1^2 +
#'     h_2^2} with the scores \eqn{z_j = \sum_i U_{ij} e_i / \sqrt{\sum_i v_i U_{ij}^2}}, \eqn{U_i = (1, l_i - \sum v
#'     l / \sum v)}, whose skewness s is taken out: \eqn{h = z - s (z^2 - 1) / 6 + s^2 z^3 / 108} (Hall 1992). The
#'     second is the ratio as a function of z to the fourth order of its cumulants: \eqn{|z|^2 / (1 - a + a^2 - b)},
#'     the denominator at least 0.2, with the tensors \eqn{\kappa_3, \kappa_4}, \eqn{a = -\kappa_3(z, z, z) / (3
#'     |z|^2)} and \eqn{b = (|\kappa_3(z, z, \cdot)|^2 / 4 - \kappa_4(z, z, z, z) / 12) / |z|^2}.}
#'   \item{more events, fewer events (1.5 each)}{\eqn{h_1} with its sign.}
#'   \item{hats (1 each)}{\eqn{\psi_m} on 8 and on \eqn{\lceil\sqrt n\rceil} knots.}
#'   \item{groups (1)}{The largest surprise of a group of rows with neighbouring predictions: minus the logarithm of the
#'     binomial tail of its number of events, too many or too few, times the number of groups of its size. Cells are
#'     four neighbouring rows (n/256 above 1,024 rows); rows with the same prediction are in one cell. Groups are ties of
#'     that size, other cells, and 2, 4, 8, ... neighbouring cells up to a quarter of all, half of each in the next one.}
#' }
#' All are computed on the same 1,999 sets of outcomes, simulated from the predictions with a fixed seed: R's random
#' numbers are neither used nor changed. If many failures have to be simulated, the sums are drawn from their normal
#' distribution instead, and the p-value of groups is Bonferroni's. Let \eqn{S_m} be the share of simulations with a
#' statistic of at least that of the sample; an exponential tail is fitted beyond the highest 2%. The smallest ratio
#' \eqn{t = \min_m S_m / w_m} is compared with its own values in the simulations (Westfall and Young 1993):
#' `p.value` is \eqn{(1 + \#\{t^* \le t\}) / 2000}, and in proportion to t below the tenth smallest. A part rejects
#' if \eqn{S_m / w_m} is below the \eqn{t_\alpha} at which the p-value is \eqn{\alpha}.
#'
#' `conf.low` is the largest lower limit of the parts that reject, so the interval contains 0 exactly if the p-value is
#' at least \eqn{\alpha}. Intercept and slope: by Cauchy and Schwarz \eqn{CE^2 \ge \theta' W \theta} with
#' \eqn{\theta = U'E[e] / n} and \eqn{W = (U'U / n)^{-1}}; the limit is the least root of \eqn{\theta' W \theta} over
#' the ellipsoid of \eqn{\theta} at the level of the part. The sum: the same in one dimension, Wilson's limit, at most
#' that of Clopper and Pearson. Hats: the x with \eqn{\psi_m - x = Q(x) \sqrt{k_2(x) + s(x) x}}, Q a Pearson III
#' quantile. Variances go from those of calibration at 0 to those that squared residuals give at the estimate. With
#' fewer than 20 failures (seen or expected) the limit of hats is smaller in proportion. `lower_bound` has the one-sided
#' level. Groups: the root of a group's share of the rows times Clopper and Pearson's limit of its mean miscalibration.
#'
#' `conf.high` is the largest of the bases' upper limits (next section). Their quantile is the lower one of a Pearson
#' III distribution, and closer to the normal one the fewer failures there are. Failures that are rarely predicted vary
#' more the more there are. The part of \eqn{k_2} and s beyond calibration therefore grows on above the estimate, with
#' the root of the squared error. The finest basis is used only if its estimate
#' exceeds the others. `conf.high` is at least what the number of failures F allows. Let d be the larger distance of
#' Clopper and Pearson's limits of the failure rate from the mean prediction, and \eqn{a = \min(2,
#' \overline{v^2} / \bar v^2)}: on the squared scale that is \eqn{\max(d^2, (1 - F/10)_+ \min(d^2 a, d))}. If all
#' predictions are the same, test and limits are those of the binomial distribution, exactly.
#'
#' A few predictions that are often wrong have an error that every basis spreads over their neighbours. For each number
#' of cells, the group with the largest error counts if its surprise is beyond the 5% critical value of all groups. Let
#' F of its m rows have the outcome (event or not) of which there are more than the expected \eqn{\mu}. It raises the
#' square of `conf.high` to at least \eqn{\max\{(r - \mu / m)^2 m/n, (s - \mu / n)(F - \mu) / m\}}, where r and s are
#' Clopper and Pearson's upper limits of F of m and of n rows.
#'
#' @section Intervals of several residuals per row:
#' These intervals are those of given `bases`, and of class-wise and canonical errors above 20,000 rows, 100 classes
#' or 500,000 probabilities (rows times classes); the printed result says so. Their upper limits are those of all
#' class-wise and canonical errors of more than two classes, and of one residual per row with clusters or importance
#' weights. They invert tests on the squared scale. At calibration \eqn{\psi_m} is a degenerate quadratic
#' form: its variance and skewness are estimated and its distribution is approximated by a Pearson III. Away from it,
#' the variance grows in proportion to the squared error. With M bases, `conf.low` is the largest of their lower limits
#' at level \eqn{1 - \alpha/(2M)}, `lower_bound` at \eqn{1 - \alpha/M}, `p.value` is \eqn{\min(1, 2M \min_m p_m)}: the
#' interval contains 0 exactly if the p-value is at least \eqn{\alpha}. These limits hold for every form of
#' miscalibration. `conf.high` is the largest of the bases' upper limits, at most `upper_bound`: it covers the error
#' that is **detectable at this resolution**, which means that some basis nearly spans the miscalibration. No method can
#' give an upper limit for miscalibration finer than its bases, such as one that changes sign on thousands of small
#' cells. Only `upper_bound` is valid then, since no calibration error exceeds the root Brier score. For \eqn{K^2 > n/4}
#' classes the canonical upper limit assumes miscalibration that is additive in the classes, or in the span of the
#' kernel columns. The vignette *Coverage of the confidence interval* shows its coverage by simulation.
#'
#' There, if predictions are nearly certain and nearly all right, the squared residuals carry little information about
#' their variance. Failures are counted as the sum of squared residuals in units of the largest possible one, 1 or 2.
#' With fewer than ten, the variance at calibration is at least a share of the one that the predictions give, in
#' proportion to the missing failures. The upper limits also allow for failures that were not observed: \eqn{u = 1 -
#' (\alpha/2)^{1/n}} is the largest share of failures that n draws without one do not reject (n: effective number of
#' rows, or of clusters). Without failures, `upper_bound` is at least the root of u, and `conf.high` is the root of the
#' smaller of u and \eqn{u^2 k} (k columns of the finest basis: all failures in one of them). With more than two
#' failures `conf.high` comes from the bases alone. With few large squares, `upper_bound` takes their skewness into
#' account. Samples with more failures have the same numbers as without these rules.
#'
#' The canonical error is never below the class-wise and top-label errors of the same rows, so with more than two
#' classes its row takes theirs into account. Estimate and `conf.high` are the largest of the three. The one-sided
#' `lower_bound` is `conf.low`.
#'
#' @section Test of several residuals per row:
#' The class-wise and the canonical error of more than two classes have the test of simulated labels of [ce_test()],
#' *Joint test of classes*, up to 20,000 rows, 100 classes and 500,000 probabilities. With clusters or importance
#' weights its parts are tested by flips of signs (next section). The class-wise error has the parts of single classes:
#' biases, bias, slope and calibration gap. `conf.low` is 0 exactly if the p-value is at least \eqn{\alpha}. Otherwise
#' it is the largest lower limit of the nested bases and of the parts that reject. A part's limit follows from the
#' inequality of Cauchy and Schwarz, as for one residual. The error is at least
#' \eqn{|\theta| / \sqrt{\overline{|l - \bar l|^2}}} with the mean score \eqn{\theta} of the
#' temperature, and at least the norm of the vector of mean residuals. Limits of one class and of the predicted class
#' are those of one residual per row. The test of the canonical error shares the level among more parts, so a class-wise
#' test can reject if the canonical one does not.
#'
#' @section Weights and clusters:
#' Frequency weights are repeated rows. With importance weights \eqn{v} every mean is a weighted one, and bases are
#' orthonormal in them: \eqn{\psi_m = \sum_i v_i \langle e_i, g_i\rangle / \sum_i v_i}. With clusters, the
#' miscalibration at a row is estimated from all *other clusters*: with \eqn{x_c = \sum_{i \in c} v_i b_i e_i'} and
#' \eqn{A_c = (I - \sum_{i \in c} v_i b_i b_i')^{-1}} it is \eqn{b_i' A_c \sum_{c' \ne c} x_{c'}}, and \eqn{\psi_m} is a
#' sum over pairs of clusters, as are its variance and skewness. Limits then use quantiles of Student's t instead of
#' normal ones, with one degree of freedom less than there are clusters (with weights: as many as their effective
#' number, see [ece()]). The number of knots depends on the number of rows; the knots are weighted quantiles.
#'
#' Outcomes of a cluster cannot be drawn from the predictions, and neither can those of rows whose weights depend on
#' them. The test therefore flips signs. First, one residual per row. A cluster has the sums \eqn{c_g = \sum_{i \in g}
#' v_i e_i \phi_i} (a row without a cluster is its own), which have mean 0 at calibration. For signs \eqn{s_g = \pm 1}
#' let \eqn{S = \sum_g s_g c_g} and \eqn{Q^2 = S' (\sum_i v_i \phi_i \phi_i')^{-1} S / \sum_i v_i}. With all signs 1,
#' \eqn{Q} is the root of the error that the columns \eqn{\phi} represent, plus noise. The columns are 1 (share of the
#' level: 5 elevenths), the logit less its mean (4), and hats on 8 and on \eqn{\lceil\sqrt n\rceil} knots (1 each). One
#' p-value is computed from all flips of up to 12 clusters and from 1,999 of more, as for independent rows. (Of many
#' clusters S is drawn from its normal distribution.) Samples with too few events have too small squared residuals as
#' well. \eqn{Q^2} of the sample is therefore divided by \eqn{r \ge 1}, the square root of the ratio of their expected
#' sum at calibration to the observed one, if that exceeds 1. Weights of events and of other outcomes have a mean each
#' in that ratio.
#'
#' Let q be the largest Q of a flip that does not reject. If the part rejects, its lower limit is the x with \eqn{Q - x
#' = q \sqrt{r + (1 - r) x / Q}}, by the triangle inequality. `conf.low` is the largest of these limits and of those of
#' the nested bases; it is 0 exactly where the p-value is at least \eqn{\alpha}. G clusters have no p-value below
#' \eqn{2^{1 - G}}. With 5 or fewer no result can be significant at the 5% level, and the printed table says so.
#'
#' The parts of more than two classes are those of the joint test of classes, with their shares of the level, and the
#' same signs for all of them. The columns are \eqn{l - \bar l} of all classes (temperature), 1 for each class (biases),
#' and of one class 1 (bias), its logit (slope), and hats (gap). Among these the class with the largest
#' \eqn{Q^2} over its mean among all flips counts, times \eqn{I / (I + 1)} with the variance I of its number of events
#' at calibration. The predicted class has 1 and the logit (confidence) and hats (steps). The class-wise test of a
#' [ce_state()] is this one, with the blocks of the state as clusters. Its p-value is not that of simulated labels, and
#' it can miss an error that the test of the rows finds.
#'
#' At the level 5% the flips rejected 4.3, 4.2 and 5.6% of calibrated binary samples with 10, 30 and 100 clusters of 20
#' rows (1,000 samples each; 0.3 of the variance common to the cluster). With 3 and 10 classes the canonical test
#' rejected 1.3 to 6.0% and the class-wise test 3.0 to 6.0% (150 to 600 samples each).
#'
#' @section Invariants:
#' The order of the rows, the order and names of the classes and the number of threads do not change the result. The one
#' exception is the top-label error of rows with several most probable classes: their label is the first of these. With
#' two classes the class-wise and the canonical error are the same number, \eqn{\sqrt 2} times the binary error, and so
#' are their limits. (The residuals of the classes are \eqn{e} and \eqn{-e}, so the squared errors are \eqn{2 CE^2}.)
#' The p-value is that of the binary error. Which class is the event does not matter.
#'
#' @section Cost:
#' Linear in the number of rows: 1.5 to 3 s of processor time for a million rows of binary or top-label predictions,
#' about 2 ms for 100 and 5 ms for 1,000, mostly for simulations. The canonical error grows with the square of the
#' number of classes.
#' @inheritSection ce_tune Errors
#' @references
#' Hall, P. (1992). On the removal of skewness by transformation. *Journal of the Royal Statistical Society B* 54,
#' 221-228.
#'
#' Westfall, P. H. and Young, S. S. (1993). *Resampling-based multiple testing*. Wiley.
#'
#' Kline, P., Saggio, R. and Soelvsten, M. (2020). Leave-out estimation of variance components. *Econometrica* 88,
#' 1859-1898.
#'
#' Broecker, J. (2012). Estimating reliability and resolution of probability forecasts through decomposition of the
#' empirical score. *Climate Dynamics* 39, 655-667.
#'
#' Kumar, A., Liang, P. and Ma, T. (2019). Verified uncertainty calibration. *NeurIPS* 32.
#'
#' `r ref_gruber_buettner()`
#' @seealso [ce_tune()] for which function describes the miscalibration best, [ce_test()] for other tests.
#' @export
#' @examples
#' ce_estimate(vehicle_predictions, truth, notion = c("top_label", "class_wise", "canonical"))
ce_estimate <- function(x, truth, ..., notion = NULL, method = "adaptive", bases = NULL,
                        .by = NULL, level = 0.95, event_level = "first", na_rm = TRUE,
                        threads = NULL, weights = NULL, cluster = NULL, horizon = NULL) {
  call <- current_env()
  if (missing(x)) stop_no_predictions(call)
  notion <- unique(check_notion(notion, several = TRUE))
  check_estimate_method(method, notion, call)
  bases <- check_bases(bases, notion, call)
  check_level(level)
  threads <- resolve_threads(threads)
  input <- rows_input(copies = !is_method(method) && is.null(bases) && all(notion %in% c("binary", "top_label")))
  if (has_sums(x)) check_sums_options(x, c("method", "bases")[c(is_method(method), !is.null(bases))], call)
  parts <- list()
  out <- by_predictions(x, function(predictions) {
    part <- estimate_group(predictions, notion, method, bases, level, threads, input$design$horizon, call)
    parts <<- c(parts, list(part))
    part$rows
  }, c(input, list(notion = notion, sums = "ladder")), call)
  of_groups <- function(name) Filter(length, lapply(parts, `[[`, name))
  # the line of outcomes counts the events
  attr(out, "event") <- NULL
  attr(out, "dropped") <- if (na_rm) Reduce(`+`, of_groups("dropped"), c(0, 0))
  attr(out, "design") <- c(attr(out, "design") %||% design_sentence(of_groups("design")),
                           few_clusters_sentence(unlist(of_groups("least")), level), unique(unlist(of_groups("note"))))
  new_estimate_table(out, level, sum_events(of_groups("events")))
}

# The rows of one group, and what the result says about it: list(rows, dropped = c(dropped, of all), design, events,
# least = the fewest clusters of a ladder, note).
estimate_group <- function(predictions, notion, method, bases, level, threads, horizon, call) {
  notion <- notion %||% default_notion(predictions)
  out <- list(dropped = c(predictions$dropped, predictions$n_input), design = predictions$design,
              events = events_of(predictions, notion, horizon))
  if (predictions$na) {
    n <- n_obs(predictions) + predictions$dropped
    return(c(out, list(rows = vctrs::vec_rbind(!!!lapply(notion, missing_estimate, method_name(method), n)))))
  }
  ladders <- list()
  # the canonical ladder takes the coarser ones on the default bases
  last <- notion == "canonical"
  for (one in c(notion[!last], notion[last])) {
    known <- if (is.null(bases)) ladders else list()
    ladders[[one]] <- notion_ladder(predictions, one, level, threads, bases, call, known)
  }
  rows <- lapply(notion, function(one) headline_row(ladders[[one]], one, n_obs(predictions)))
  if (is_method(method)) {
    split <- split_predictions(predictions, 5, 0.2, call)
    rows <- Map(function(row, one) {
      holdout_row(row, tune_predictions(predictions, one, check_methods(method), list(split), level, threads, call,
                                        headline = row))
    }, rows, notion)
  } else {
    keep_estimates(lapply(unname(ladders), ladder_value))
  }
  of_ladders <- function(name) unlist(lapply(unname(ladders), `[[`, name))
  c(out, list(rows = bind_rows(rows), least = of_ladders("least"), note = of_ladders("note")))
}

# list(n, label, hint) of the events of a group; NULL of other notions.
events_of <- function(predictions, notion, horizon) {
  label <- if ("binary" %in% notion) event_label(predictions, "binary", horizon)
  if (is.null(label)) return(NULL)
  is_event <- if (is.null(predictions$probs)) predictions$outcome else predictions$truth == predictions$event
  copies <- predictions$design$copies
  # sums do not count them
  n <- if (is.null(predictions$ladder)) sum(if (is.null(copies)) is_event else is_event * copies)
  list(n = n, label = label, hint = event_hint(predictions))
}

sum_events <- function(events) {
  if (length(events) == 0) return(NULL)
  n <- unlist(lapply(events, `[[`, "n"))
  replace(events[[1]], "n", list(if (!is.null(n)) sum(n)))
}

check_estimate_method <- function(method, notion, call) {
  if (identical(method, "adaptive")) return(invisible())
  stop_if(!is_method(method), "{.arg method} must be {.val adaptive} or a method of {.code ?ce_methods}.",
          "x" = "It is {describe(method)}.",
          "i" = "{.fn ce_tune} chooses among methods by their risk.", class = "method", arg = "method", value = method,
          call = call)
  check_bins_notion(list(method), notion, call)
}

# The squared estimate with its rows, and its limits as roots.
ladder_value <- function(ladder) c(ladder$value, list(limits = c(ladder$low, ladder$high)))

method_name <- function(method) if (is_method(method)) method$name else "adaptive"

# The method's own number beside the ladder's interval.
holdout_row <- function(row, tuned) {
  row$estimate <- tuned$glance$estimate_holdout
  row$std.error <- tuned$glance$std.error_holdout
  row$method <- tuned$glance$method
  row
}
