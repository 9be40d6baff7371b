#' @title Calibration of predictions: errors, intervals and tests
#' @description
#' calibrisk measures how well calibrated a model's predictions are. It estimates the calibration error with a
#' confidence interval and produces the other results that an external validation reports. Seven functions do the main
#' job: [ce_predictions()], [ce_validate()], [ce_estimate()], [ce_curve()], [ce_compare()], [ce_recalibrate()] and
#' [ce_report()]. Their shared arguments are on [ce_args].
#'
#' @section I validate a risk model:
#' [ce_predictions()], [ce_validate()], [ce_curve()], [ce_decision()], [ce_horizon()] (survival, competing risks),
#' [ce_power()] (sample size), [ce_pool()] (imputed data), [ce_meta()] (centres and subgroups),
#' [ce_grades()] (of a rating), [ce_optimism()] (on the rows of the fit), [ce_report()], [ce_kable()]. Numbers of the
#' field: [cox_calibration()], [ici()], [hosmer_lemeshow()], [spiegelhalter()].
#' @section I compare classifiers or networks:
#' [ce_models()], [ce_estimate()], [ce_compare()], [ce_rank()], [pred_confidence()] (language models),
#' [ce_recalibrate()] with the maps of [ce_maps] such as temperature scaling, [ce_gain()]. Errors of the literature:
#' [ece()], [ks_error()], [mmce()], [kde_error()], [smooth_ece()], [rbs()], all at once in [ce_panel()].
#' @section I forecast numbers or counts:
#' [pred] (distributions, quantiles, ensembles), [ce_coverage()], [ce_curve()] with `type = "pit"`, [ce_score()],
#' [ce_compare()], [ce_decompose()], [ce_moments()], [ce_test()].
#' @section I study calibration:
#' [ce_tune()], [ce_fit()], [ce_risk()], [ce_methods], [ce_test()], [skce()], [ckce()], [ce_hierarchy()], [pair_risk()].
#' Your own: [extending], [new_family()], [ce_metric()], [ce_kernels].
#' @section I have large data:
#' [ce_state()], [ce_source()].
#' @keywords internal
"_PACKAGE"

#' @useDynLib calibrisk, .registration = TRUE
#' @importFrom Rcpp evalCpp
#' @importFrom RcppParallel RcppParallelLibs
#' @importFrom rlang %||% := .data caller_env enquo enquos
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
