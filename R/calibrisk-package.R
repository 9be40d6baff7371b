#' @keywords internal
"_PACKAGE"

#' @useDynLib calibrisk, .registration = TRUE
#' @importFrom Rcpp evalCpp
#' @importFrom RcppParallel RcppParallelLibs
#' @importFrom rlang %||% := .data abort caller_env current_env enquo enquos
#' @importFrom stats median pgamma pnorm predict qgamma qnorm quantile sd setNames uniroot var
NULL

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' @importFrom generics augment
#' @export
generics::augment
