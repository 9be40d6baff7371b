// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of survival outcomes.
#include "r_values.h"
#include <calibrisk/classical/follow_up.h>

#include <algorithm>
#include <cmath>
#include <vector>

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

calibrisk::FollowUp rows_of(const calibrisk::FollowUp& all, const std::vector<int>& at) {
  const auto size = static_cast<calibrisk::Index>(at.size());
  calibrisk::FollowUp out{calibrisk::Vector(size), calibrisk::Vector(size), calibrisk::Vector(size),
                          calibrisk::Vector(size)};
  for (calibrisk::Index k = 0; k < size; ++k) {
    const int i = at[static_cast<std::size_t>(k)];
    out.time(k) = all.time(i);
    out.event(k) = all.event(i);
    out.count(k) = all.count(i);
    out.entry(k) = all.entry(i);
  }
  return out;
}

// The rows of each part, from 1 on; those of others, NA, are in none.
std::vector<std::vector<int>> members(const Rcpp::IntegerVector& part, int parts) {
  std::vector<std::vector<int>> out(static_cast<std::size_t>(parts));
  for (R_xlen_t i = 0; i < part.size(); ++i) {
    if (part[i] >= 1 && part[i] <= parts) {
      out[static_cast<std::size_t>(part[i]) - 1].push_back(static_cast<int>(i));
    }
  }
  return out;
}

}  // namespace

// The weights of rows in parts (numbers from 1 on, each of one stratum), which compensate for the
// censored rows of their own part or, where it is given, of the `whole` follow-up of their stratum.
// Rows are followed from their entry on where these are `late`. Lists of time, event, count, entry
// and stratum. Of the first part where there are no weights `lost`, the last time, and `certain`,
// the time from which on the estimated risk is 1, or NA; weights are NA in all of these.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_follow_up_weights(Rcpp::List rows, Rcpp::IntegerVector part,
                                 Rcpp::Nullable<Rcpp::List> whole, double horizon, bool late) {
  const calibrisk::FollowUp all = as_follow_up(rows);
  calibrisk::require(part.size() == all.size(), "follow_up: a part of every row.");
  int parts = 0;
  for (const int own : part) parts = std::max(parts, own);
  calibrisk::FollowUp given;
  std::vector<std::vector<int>> strata;
  Rcpp::IntegerVector stratum;
  if (whole.isNotNull()) {
    const Rcpp::List fields(whole.get());
    given = as_follow_up(fields);
    if (has_field(fields, "stratum")) {
      stratum = field(rows, "stratum");
      const Rcpp::IntegerVector of(field(fields, "stratum"));
      calibrisk::require(stratum.size() == all.size() && of.size() == given.size(),
                         "follow_up: a stratum of every row.");
      int most = 0;
      for (const int own : stratum) most = std::max(most, own);
      strata = members(of, most);
    }
  }
  Rcpp::NumericVector weights(part.size(), NA_REAL);
  bool lost = false;
  double last = NA_REAL, certain = NA_REAL;
  for (const std::vector<int>& at : members(part, parts)) {
    if (at.empty()) continue;
    const calibrisk::FollowUp own = rows_of(all, at);
    const auto from = [&] {
      if (whole.isNull()) return own;
      if (strata.empty()) return given;
      return rows_of(given, strata[static_cast<std::size_t>(stratum[at[0]]) - 1]);
    };
    const calibrisk::FollowUpWeights found =
        late ? calibrisk::entry_weights(own, horizon)
             : calibrisk::censoring_weights(own, from(), horizon);
    if (found.lost || !std::isnan(found.certain)) {
      if (!lost && std::isnan(certain)) {
        lost = found.lost;
        last = found.last;
        certain = found.certain;
      }
      continue;
    }
    for (std::size_t k = 0; k < at.size(); ++k) {
      const double weight = found.weights(static_cast<calibrisk::Index>(k));
      if (!std::isnan(weight)) weights[at[k]] = weight;
    }
  }
  return named_list({{"weights", weights}, {"lost", lost}, {"last", last}, {"certain", certain}});
}
