// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of survival outcomes.
#include "r_values.h"
#include <calibrisk/classical/follow_up.h>

#include <algorithm>
#include <cmath>

namespace {

calibrisk::FollowUp as_follow_up(const Rcpp::List& rows) {
  const auto numbers = [&](const char* name) {
    return calibrisk::Vector(as_vector(Rcpp::NumericVector(field(rows, name))));
  };
  calibrisk::FollowUp out{numbers("time"), numbers("event"), numbers("count"), {}};
  out.entry = has_field(rows, "entry") ? numbers("entry") : 0.0 * out.time;
  const calibrisk::Index n = out.size();
  calibrisk::require(out.event.size() == n && out.count.size() == n && out.entry.size() == n,
                     "follow_up: values of every row.");
  return out;
}

}  // namespace

// Of rows that are followed from their entry on where these are `late`; `whole`: the rows that say
// how many are censored. Lists of time, event, count and entry.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_follow_up_weights(Rcpp::List rows, Rcpp::List whole, double horizon, bool late) {
  const calibrisk::FollowUp of = as_follow_up(rows);
  const calibrisk::FollowUpWeights found =
      late ? calibrisk::entry_weights(of, horizon)
           : calibrisk::censoring_weights(of, as_follow_up(whole), horizon);
  Rcpp::NumericVector weights = wrap_vector(found.weights);
  std::replace_if(
      weights.begin(), weights.end(), [](double w) { return std::isnan(w); }, NA_REAL);
  return named_list({{"weights", weights},
                     {"lost", found.lost},
                     {"last", found.last},
                     {"certain", found.certain}});
}
