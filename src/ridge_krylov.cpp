// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_kernel.h"
#include "as_ridge.h"
#include <calibrisk/methods/ridge_krylov.h>

using calibrisk::Index;

namespace {

calibrisk::FoldBegin as_fold_begin(const Rcpp::IntegerVector& begin) {
  return calibrisk::FoldBegin(begin.begin(), begin.end());
}

}  // namespace

// Block Krylov spaces of the training sets of all folds, of one block; begin as above.
// [[Rcpp::export(rng = false)]]
SEXP cpp_ridge_krylov(Rcpp::List kernel, Rcpp::NumericMatrix x, Rcpp::NumericMatrix residuals,
                      Rcpp::IntegerVector begin, int threads) {
  REngine engine(threads);
  return owned(std::make_unique<calibrisk::KrylovRidge>(
      engine, as_kernel(kernel), as_matrix(x), as_matrix(residuals), as_fold_begin(begin)));
}

// Goes on until every space has `blocks` blocks or is exact: the largest rank, the part of the
// trace outside the spaces, and whether all are exact.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_krylov_extend(SEXP ridge, int blocks, int threads, SEXP progress) {
  auto* pointer = held<calibrisk::KrylovRidge>(ridge);
  REngine engine(threads, progress);
  pointer->extend(engine, blocks);
  Index rank = 0;
  double trace = 0.0;
  bool exact = true;
  for (const calibrisk::KrylovSpace& space : pointer->spaces()) {
    rank = std::max(rank, space.rank(blocks));
    trace = std::max(trace, space.residual_trace(blocks));
    exact = exact && space.exhausted() && space.blocks() <= blocks;
  }
  return named_list(
      {{"rank", static_cast<double>(rank)}, {"residual_trace", trace}, {"exact", exact}});
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_krylov_path(SEXP ridge, std::string type, int blocks,
                                 Rcpp::NumericMatrix residuals, Rcpp::NumericVector ridges,
                                 int threads, SEXP progress) {
  auto* pointer = held<calibrisk::KrylovRidge>(ridge);
  REngine engine(threads, progress);
  return wrap_path(
      pointer->path(engine, ridge_type(type), blocks, as_matrix(residuals), as_vector(ridges)));
}

// The relative error of the ridges' equations, [ridges x folds].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_ridge_krylov_errors(SEXP ridge, std::string type, int blocks,
                                            Rcpp::NumericVector ridges, int threads) {
  auto* pointer = held<calibrisk::KrylovRidge>(ridge);
  REngine engine(threads);
  return wrap_matrix(pointer->equation_errors(engine, ridge_type(type), blocks, as_vector(ridges)));
}

// The form of one fold, its basis [tune rows x rank] on kernels with the tune rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_krylov_form(SEXP ridge, int fold, std::string type, double value, int blocks,
                                 double rank, int threads) {
  using namespace calibrisk;
  auto* pointer = held<calibrisk::KrylovRidge>(ridge);
  REngine engine(threads);
  const std::size_t at = static_cast<std::size_t>(fold - 1);
  Rcpp::List form = wrap_form(engine, pointer->spectra(engine, blocks)[at], type, value,
                              static_cast<Index>(rank));
  const Rcpp::NumericMatrix basis(field(form, "basis"));
  const KrylovSpace& space = pointer->spaces()[at];
  form["basis"] = wrap_matrix(
      space.of_tune_rows(Engine(engine).dense.multiply(space.basis(blocks), as_matrix(basis))));
  return form;
}

// Features, in that form, of the rows that the fold holds out and of the test rows, and its core.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_krylov_unseen(SEXP ridge, int fold, std::string type, double value, int blocks,
                                   double rank, int threads) {
  using namespace calibrisk;
  auto* pointer = held<KrylovRidge>(ridge);
  REngine host(threads);
  const Engine engine = host;
  const std::size_t at = static_cast<std::size_t>(fold - 1);
  Rcpp::List form = wrap_form(engine, pointer->spectra(engine, blocks)[at], type, value,
                              static_cast<Index>(rank));
  const Rcpp::NumericMatrix basis(field(form, "basis"));
  const UnseenFeatures images = pointer->spaces()[at].unseen(blocks);
  return named_list({{"held_out", engine.dense.multiply(images.held_out, as_matrix(basis))},
                     {"test", engine.dense.multiply(images.test, as_matrix(basis))},
                     {"core", field(form, "core")}});
}

// sum_j k(x_i, rows_j) basis_j: [m x r]
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_gram_features(Rcpp::List kernel, Rcpp::NumericMatrix rows,
                                      Rcpp::NumericMatrix basis, Rcpp::NumericMatrix x,
                                      int threads) {
  using namespace calibrisk;
  REngine host(threads);
  const Engine engine = host;
  const Kernel k = as_kernel(kernel);
  const auto points = as_matrix(x);
  Rcpp::NumericMatrix out(Rcpp::no_init(x.nrow(), basis.ncol()));
  Eigen::Map<Matrix> values(out.begin(), x.nrow(), basis.ncol());
  constexpr Index tile = 2048;
  for (Index begin = 0; begin < points.rows(); begin += tile) {
    const Index size = std::min(tile, points.rows() - begin);
    engine.dense.gemm(false, false, 1.0,
                      gram(engine, k, points.middleRows(begin, size), as_matrix(rows)),
                      as_matrix(basis), 0.0, values.middleRows(begin, size));
  }
  return out;
}
