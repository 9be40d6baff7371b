// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include <calibrisk/joint/law_test.h>

// The joint test of predictive distributions of a number. `cells`: NULL, or an R function of the
// numbers of some rows (from 1) that returns their cells, which is called for `chunk` rows at a
// time.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_law_test(Rcpp::NumericVector low, Rcpp::NumericVector high, Rcpp::NumericVector mean,
                        Rcpp::NumericVector deviation, Rcpp::NumericVector weight, SEXP cells,
                        int chunk, double level, int redraws, int threads, SEXP progress) {
  REngine host(threads, progress);
  const calibrisk::Engine engine = host;
  calibrisk::LawTest test(as_vector(low), as_vector(high), as_vector(mean), as_vector(deviation),
                          as_vector(weight), redraws);
  const auto n = static_cast<int>(test.order.size());
  if (Rf_isNull(cells)) {
    test.add(engine, 0, n, {});
  } else {
    const Rcpp::Function cells_of(cells);
    for (int begin = 0; begin < n; begin += chunk) {
      const int size = std::min(chunk, n - begin);
      Rcpp::IntegerVector rows(size);
      for (int i = 0; i < size; ++i) {
        rows[i] = static_cast<int>(test.order[static_cast<std::size_t>(begin + i)]) + 1;
      }
      const Rcpp::List table = cells_of(rows);
      test.add(engine, begin, size,
               {Rcpp::as<std::vector<int>>(field(table, "start")),
                as_vector(Rcpp::NumericVector(field(table, "low"))),
                as_vector(Rcpp::NumericVector(field(table, "high")))});
    }
  }
  const calibrisk::LawTest::Result found = test.result(level);
  return named_list({{"p.value", found.p_value},
                     {"estimate", found.estimate},
                     {"weighted", found.weighted},
                     {"rejects", found.rejects},
                     {"evidence", found.evidence}});
}
