# Debiased bins, and the mean of several of these, each with its own cells (inst/include/calibrisk/methods/steps.h).
# As a pair form, phi(p) holds every part's b(p) and the indicators of the cells whose v is not 0, with a diagonal core.

# parts: list of list(edges, b, v)
new_steps <- function(parts) {
  weights <- lapply(parts, function(part) -part$v[part$v > 0])
  new_form("steps", parts = parts, core = c(rep(1, length(parts)), unlist(weights)) / length(parts))
}

#' @export
merge_forms.ce_form_steps <- function(form, forms) new_steps(unlist(lapply(forms, `[[`, "parts"), recursive = FALSE))

#' @export
pair_features.ce_form_steps <- function(form, features) cpp_step_features(form$parts, features)

#' @export
form_squared.ce_form_steps <- function(form, features) cpp_step_squared(form$parts, features)

#' @export
form_risk.ce_form_steps <- function(form, features, residuals, design = NULL) {
  if (is_plain(design)) finish_risk(cpp_step_risk(form$parts, features, residuals)) else NextMethod()
}
