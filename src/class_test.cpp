// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include <calibrisk/joint/class_test.h>

// The joint test of more than two classes, for each set of `parts` (their numbers, from 0 on) a
// list with a result for each column of `labels` (1..K).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_class_test(Rcpp::NumericMatrix p, Rcpp::IntegerMatrix labels, Rcpp::List parts,
                          double level, int redraws, int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto column = [&](int j) {
    return calibrisk::Labels(labels.begin() + j * labels.nrow(),
                             labels.begin() + (j + 1) * labels.nrow());
  };
  const calibrisk::ClassTest test(
      engine,
      calibrisk::class_rows(as_matrix(p), labels.ncol() == 1 ? column(0) : calibrisk::Labels()),
      redraws);
  Rcpp::List out = Rcpp::clone(parts);  // their names
  for (R_xlen_t s = 0; s < parts.size(); ++s) {
    const auto tested = Rcpp::as<std::vector<int>>(parts[s]);
    const calibrisk::JointLaw law = test.law(tested);
    Rcpp::List results(labels.ncol());
    for (int j = 0; j < labels.ncol(); ++j) {
      const calibrisk::ClassResult found =
          test.result(test.rows().labels(column(j)), tested, law, level);
      results[j] = named_list({{"p.value", found.p_value},
                               {"statistic", found.statistic},
                               {"low", found.low},
                               {"lows", found.lows},
                               {"weighted", found.weighted},
                               {"classes", found.classes},
                               {"signs", found.signs}});
    }
    out[s] = results;
  }
  return out;
}
