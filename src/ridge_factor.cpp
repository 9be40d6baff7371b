// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_ridge.h"
#include <calibrisk/kernels/kernel_factor.h>
#include <calibrisk/methods/ridge_factor.h>

using calibrisk::Index;

namespace {

calibrisk::FoldBegin as_fold_begin(const Rcpp::IntegerVector& begin) {
  return calibrisk::FoldBegin(begin.begin(), begin.end());
}

}  // namespace

// Eigenbases of the training sets of all folds; begin: first row of fold 0 (test), 1, ..., and
// the number of rows.
// [[Rcpp::export(rng = false)]]
SEXP cpp_ridge_spectra(SEXP factor, Rcpp::NumericMatrix residuals, Rcpp::IntegerVector begin,
                       int rank, int threads, SEXP progress) {
  auto* pointer = held<calibrisk::KernelFactor>(factor);
  calibrisk::require(rank <= pointer->rank(), "The factor has fewer columns.");
  REngine engine(threads, progress);
  return owned(std::make_unique<std::vector<calibrisk::RidgeSpectrum>>(calibrisk::factor_spectra(
      engine, pointer->l.leftCols(rank), as_matrix(residuals), as_fold_begin(begin))));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_factor_path(SEXP factor, SEXP spectra, std::string type,
                                 Rcpp::NumericMatrix residuals, Rcpp::IntegerVector begin,
                                 Rcpp::NumericVector ridges, int rank, int threads, SEXP progress) {
  auto* pointer = held<calibrisk::KernelFactor>(factor);
  auto* bases = held<std::vector<calibrisk::RidgeSpectrum>>(spectra);
  REngine engine(threads, progress);
  const calibrisk::FoldBegin rows = as_fold_begin(begin);
  const auto l = pointer->l.leftCols(rank);
  const auto features = [&](Index f) {
    using calibrisk::detail::fold_rows;
    return calibrisk::UnseenFeatures{fold_rows(l, rows, f), fold_rows(l, rows, 0)};
  };
  return wrap_path(calibrisk::factor_path(engine, ridge_type(type), *bases, features,
                                          as_matrix(residuals), rows, as_vector(ridges)));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_factor_form(SEXP spectra, int fold, std::string type, double ridge,
                                 double rank, int threads) {
  auto* bases = held<std::vector<calibrisk::RidgeSpectrum>>(spectra);
  REngine engine(threads);
  return wrap_form(engine, (*bases)[static_cast<std::size_t>(fold - 1)], type, ridge,
                   static_cast<Index>(rank));
}

// Features, in that form, of the rows that the fold holds out and of the test rows, and its core.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_factor_unseen(SEXP factor, SEXP spectra, Rcpp::IntegerVector begin, int fold,
                                   std::string type, double ridge, double rank, int threads) {
  using namespace calibrisk;
  auto* pointer = held<KernelFactor>(factor);
  auto* bases = held<std::vector<RidgeSpectrum>>(spectra);
  REngine host(threads);
  const Engine engine = host;
  const RidgeSpectrum& spectrum = (*bases)[static_cast<std::size_t>(fold - 1)];
  const FoldBegin rows = as_fold_begin(begin);
  const auto l = pointer->l.leftCols(spectrum.basis.rows());
  Rcpp::List form = wrap_form(engine, spectrum, type, ridge, static_cast<Index>(rank));
  const Rcpp::NumericMatrix basis(field(form, "basis"));
  const auto features = [&](Index f) {
    return engine.dense.multiply(detail::fold_rows(l, rows, f), as_matrix(basis));
  };
  return named_list(
      {{"held_out", features(fold)}, {"test", features(0)}, {"core", field(form, "core")}});
}
