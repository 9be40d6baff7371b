// SPDX-License-Identifier: GPL-3.0-or-later
// Errors of scalar predictions from densities on a grid.
#define CALIBRISK_COMPILE_DENSITIES  // for all units: linalg/eigen_products.h
#include "r_engine.h"
#include <calibrisk/classical/smooth_ece.h>
#include <calibrisk/classical/triweight_error.h>
#include <calibrisk/methods/kde_dirichlet.h>

namespace {

// The roots of unity are kept for the next call.
calibrisk::CosineSums& cosine_sums() {
  static calibrisk::CosineSums sums(8192);
  return sums;
}

}  // namespace

// `bandwidth`: NA for the fixed point. Without folds no influence and no rows of the bound.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_smooth_ece(Rcpp::NumericVector x, Rcpp::NumericVector d, Rcpp::NumericVector share,
                          double bandwidth, std::vector<int> fold) {
  const auto out = calibrisk::smooth_ece(cosine_sums(), as_vector(x), as_vector(d),
                                         as_vector(share), bandwidth, fold);
  return named_list({{"value", out.value},
                     {"bandwidth", out.bandwidth},
                     {"influence", out.influence},
                     {"bound", out.bound}});
}

// On the grid of the reference implementation, -0.6 to 1.6 in 2^14 nodes. `weight` may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_triweight_error(Rcpp::NumericVector x, Rcpp::NumericVector y,
                               Rcpp::NumericVector weight, double bandwidth, double p,
                               std::vector<int> fold) {
  const calibrisk::Grid grid = {-0.6, 2.2 / 16383.0, 16384};
  const calibrisk::TriweightProblem problem(grid, bandwidth, as_vector(x), as_vector(y),
                                            as_vector(weight));
  const auto out = problem.error(p, 2e8, fold, cosine_sums());
  return named_list({{"mass", out.mass},
                     {"power", out.power},
                     {"rows", out.influence},
                     {"fold_gap", out.fold_gap}});
}
