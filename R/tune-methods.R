#' The methods of the published tables
#'
#' @param notion A type of calibration.
#' @return A named list of methods. For `"top_label"`, `"class_wise"` and `"binary"`: 15 bins, tuned bins, the kernel
#'   density ratio, both kernel ridges and stacked projections. For `"canonical"`: the kernel density ratio, both kernel
#'   ridges, the power map and stacked projections. Grids are the default ones.
#' @export
#' @examples
#' ce_methods("canonical")
ce_methods <- function(notion = "top_label") {
  notion <- check_notion(notion)
  smooth <- list(kde = method_kde(), kkr = method_kkr(), ukkr = method_ukkr())
  stack <- list(stack = method_stack())
  if (identical(notion, "canonical")) return(c(smooth, list(power = method_power()), stack))
  c(list(`15 bins` = method_bins(15), bins = method_bins(seq(5, 100, by = 5))), smooth, stack)
}

check_methods <- function(methods) {
  if (is_method(methods)) methods <- list(methods)
  stop_if(!is.list(methods) || length(methods) == 0, "{.arg methods} must be a list of methods.",
          "x" = "It is {describe(methods)}.", "i" = "Functions make them, see {.code ?ce_methods}.", class = "method",
          arg = "methods", value = methods)
  lapply(methods, check_method, arg = "methods")
  names(methods) <- list_names(methods, vapply(methods, `[[`, "", "name"))
  methods
}
