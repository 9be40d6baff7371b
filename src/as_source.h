// SPDX-License-Identifier: GPL-3.0-or-later
// R's list forms of a prediction kernel and of a marginalised target kernel
// (R/pair-problem.R, R/pair-target.R) to the core's sources. The lists must outlive them.
#ifndef CALIBRISK_AS_SOURCE_H
#define CALIBRISK_AS_SOURCE_H

#include <Rcpp/Lightest>
#include <calibrisk/pairs/line_pair.h>
#include <calibrisk/pairs/pair_source.h>
#include <calibrisk/targets/target.h>

calibrisk::PairSourcePtr as_prediction_source(const Rcpp::List& spec);

calibrisk::TargetPtr as_target(const Rcpp::List& spec);

// probs, probs_right, squares, own and weight of a list; nothing is known without `own`.
calibrisk::OutcomeMoments as_moments(const Rcpp::List& spec);

// H = kernel on the predictions times marginalised target kernel.
calibrisk::PairSourcePtr as_pair_source(const Rcpp::List& prediction, const Rcpp::List& target);

// Of a kernel on features and a finite target; bandwidth 0 for all others.
calibrisk::LinePair as_line_pair(const Rcpp::List& prediction, const Rcpp::List& target);

#endif
