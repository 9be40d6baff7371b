#' @section Stacked projections:
#' `method_stack()` fits the calibration gap by least squares on each of the bases of [ce_estimate()] (see [ce_bases])
#' and weights the fits: \eqn{w = \arg\min_{w \ge 0} \sum_i |e_i - \sum_m w_m g_{mi}|^2}, \eqn{\sum_m w_m \le 1}, with
#' \eqn{g_{mi}} the m-th fit at row i without the row's own outcome. \eqn{h(p, p') = \langle g(p), g(p')\rangle} with
#' \eqn{g(p)} the value that is nearest to \eqn{\sum_m w_m g_m(p)} among those for which \eqn{p - g(p)} is a probability
#' (vector); its risk is that of this bounded gap. Nothing is left to tune.
#' @rdname ce_methods
#' @export
#' @examples
#' method_stack()
method_stack <- function() new_method("stack", NULL, NA_real_)

#' @export
fit_form.ce_method_stack <- function(method, problem, point, context) {
  features <- problem$features
  design <- problem$design %||% new_design(nrow(features))
  bases <- ladder_bases(if (ncol(features) > 1) "canonical" else "binary", ncol(features), copy_count(design))
  rungs <- cpp_ladder(features, problem$residuals, design, bases, FALSE, thread_count())
  psi <- vapply(rungs, `[[`, 0, "psi")
  products <- do.call(cbind, lapply(rungs, `[[`, "products")) / total_weight(design)
  weights <- cpp_stack_weights(products, psi)
  new_form("stack", shapes = lapply(rungs, `[[`, "shape")[weights > 0], weights = weights[weights > 0],
           dimension = ncol(problem$residuals), gap = TRUE)
}

#' @export
pair_features.ce_form_stack <- function(form, features) {
  if (length(form$shapes) == 0) return(matrix(0, nrow(features), form$dimension))
  cpp_bounded_gap(cpp_ladder_gap(form$shapes, form$weights, features, form$dimension, thread_count()), features)
}
