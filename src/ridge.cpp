// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_kernel.h"
#include "r_engine.h"
#include <calibrisk/linalg/pivoted_cholesky.h>
#include <calibrisk/methods/ridge_factor.h>
#include <calibrisk/methods/ridge_krylov.h>
#include <calibrisk/methods/ridge_scalar.h>

using calibrisk::Index;

// Pivoted Cholesky factor of the Gram matrix of the rows of x: L [n x r], pivots
// (1-based rows, in order), residual_trace (mean diagonal of K - L L').
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pivoted_cholesky(Rcpp::List kernel, Rcpp::NumericMatrix x, double tolerance,
                                double max_rank, int threads) {
  REngine engine(threads);
  calibrisk::CholeskyOptions options;
  options.tolerance = tolerance;
  options.max_rank = static_cast<Index>(std::min(max_rank, static_cast<double>(x.nrow())));
  const calibrisk::KernelFactor factor =
      calibrisk::pivoted_cholesky(engine, as_kernel(kernel), as_matrix(x), options);
  Rcpp::IntegerVector pivots(factor.rank());
  for (Index i = 0; i < factor.rank(); ++i) {
    pivots[i] = static_cast<int>(factor.pivots[static_cast<std::size_t>(i)]) + 1;
  }
  return Rcpp::List::create(Rcpp::Named("L") = wrap_matrix(factor.l),
                            Rcpp::Named("pivots") = pivots,
                            Rcpp::Named("residual_trace") = factor.residual_trace());
}

// Rows of L for new points, from the factor's pivot rows and its triangle L[pivots, ].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_factor_features(Rcpp::List kernel, Rcpp::NumericMatrix pivot_rows,
                                        Rcpp::NumericMatrix triangle, Rcpp::NumericMatrix x,
                                        int threads) {
  REngine engine(threads);
  return wrap_matrix(calibrisk::factor_features(engine, as_kernel(kernel), as_matrix(pivot_rows),
                                                as_matrix(triangle), as_matrix(x)));
}

namespace {

calibrisk::RidgeType ridge_type(const std::string& type) {
  return type == "kkr" ? calibrisk::RidgeType::kronecker : calibrisk::RidgeType::two_step;
}

Rcpp::List wrap_path(const calibrisk::RidgePath& path) {
  return Rcpp::List::create(Rcpp::Named("risk") = wrap_matrix(path.risk),
                            Rcpp::Named("squared_error") = wrap_matrix(path.squared),
                            Rcpp::Named("squared_error_test") = wrap_matrix(path.squared_test),
                            Rcpp::Named("rank") = wrap_matrix(path.rank));
}

// phi(p) = basis' l(p) with core M (kkr), or gap(p) = basis' l(p) (ukkr).
Rcpp::List wrap_form(const calibrisk::Engine& engine, const calibrisk::RidgeSpectrum& spectrum,
                     const std::string& type, double ridge, Index rank) {
  using namespace calibrisk;
  if (ridge_type(type) == RidgeType::two_step) {
    return Rcpp::List::create(Rcpp::Named("basis") = wrap_matrix(engine.dense.multiply(
                                  spectrum.basis, two_step_weights(spectrum, ridge))),
                              Rcpp::Named("core") = R_NilValue);
  }
  const Matrix products = engine.dense.multiply_a_bt(spectrum.targets, spectrum.targets);
  rank = std::min(rank, spectrum.rank());
  return Rcpp::List::create(
      Rcpp::Named("basis") = wrap_matrix(spectrum.basis.leftCols(rank)),
      Rcpp::Named("core") = wrap_matrix(kronecker_core(engine, spectrum, products, ridge, rank)));
}

calibrisk::FoldBegin as_fold_begin(const Rcpp::IntegerVector& begin) {
  return calibrisk::FoldBegin(begin.begin(), begin.end());
}

calibrisk::TaylorFeatures as_taylor(double centre, double gamma, double scale, int rank) {
  calibrisk::TaylorFeatures features;
  features.centre = centre;
  features.gamma = gamma;
  features.scale = scale;
  features.rank = rank;
  return features;
}

using FactorPointer = Rcpp::XPtr<calibrisk::KernelFactor>;
using SpectraPointer = Rcpp::XPtr<std::vector<calibrisk::RidgeSpectrum>>;
using KrylovPointer = Rcpp::XPtr<calibrisk::KrylovRidge>;
using ScalarPointer = Rcpp::XPtr<calibrisk::ScalarRidge>;

}  // namespace

// A factor of the rows of x, to be extended.
// [[Rcpp::export(rng = false)]]
SEXP cpp_ridge_factor(Rcpp::List kernel, Rcpp::NumericMatrix x) {
  return FactorPointer(
      new calibrisk::KernelFactor(calibrisk::empty_factor(as_kernel(kernel), as_matrix(x))));
}

// Goes on until the residual trace is at most `tolerance` or the rank at least `enough`;
// the steps so far (rank, residual trace) and whether nothing but rounding is left. However large
// the ridge that the tolerance follows, the kernel itself is met to 1e-5: `tolerance` as used.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_extend(SEXP factor, Rcpp::NumericMatrix x, double tolerance, double enough,
                            int threads, SEXP progress) {
  FactorPointer pointer(factor);
  REngine engine(threads, progress);
  calibrisk::CholeskyOptions options;
  const calibrisk::Vector diagonal = calibrisk::gram_diagonal(pointer->kernel, as_matrix(x));
  options.tolerance = std::min(tolerance, 1e-5 * (x.nrow() > 0 ? diagonal.mean() : 0.0));
  options.enough = static_cast<Index>(std::min(enough, static_cast<double>(x.nrow())));
  calibrisk::extend_factor(engine, as_matrix(x), options, *pointer);
  const auto& steps = pointer->steps;
  Rcpp::NumericVector rank(steps.size()), trace(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    rank[static_cast<R_xlen_t>(i)] = static_cast<double>(steps[i].rank);
    trace[static_cast<R_xlen_t>(i)] = steps[i].residual_trace;
  }
  return Rcpp::List::create(Rcpp::Named("rank") = rank, Rcpp::Named("residual_trace") = trace,
                            Rcpp::Named("full") = pointer->full,
                            Rcpp::Named("tolerance") = options.tolerance);
}

// What maps new points: the pivots' rows and the triangle of the first `rank` columns.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_pivots(SEXP factor, int rank) {
  FactorPointer pointer(factor);
  const calibrisk::Matrix triangle = pointer->triangle();
  return Rcpp::List::create(
      Rcpp::Named("pivot_rows") = wrap_matrix(pointer->pivot_rows.topRows(rank)),
      Rcpp::Named("triangle") = wrap_matrix(triangle.topLeftCorner(rank, rank)));
}

// Eigenbases of the training sets of all folds; begin: first row of fold 0 (test), 1, ..., and
// the number of rows.
// [[Rcpp::export(rng = false)]]
SEXP cpp_ridge_spectra(SEXP factor, Rcpp::NumericMatrix residuals, Rcpp::IntegerVector begin,
                       int rank, int threads, SEXP progress) {
  FactorPointer pointer(factor);
  calibrisk::require(rank <= pointer->rank(), "The factor has fewer columns.");
  REngine engine(threads, progress);
  return SpectraPointer(new std::vector<calibrisk::RidgeSpectrum>(calibrisk::factor_spectra(
      engine, pointer->l.leftCols(rank), as_matrix(residuals), as_fold_begin(begin))));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_factor_path(SEXP factor, SEXP spectra, std::string type,
                                 Rcpp::NumericMatrix residuals, Rcpp::IntegerVector begin,
                                 Rcpp::NumericVector ridges, int rank, int threads, SEXP progress) {
  FactorPointer pointer(factor);
  SpectraPointer bases(spectra);
  REngine engine(threads, progress);
  const auto features = [&](Index) { return pointer->l.leftCols(rank); };
  return wrap_path(calibrisk::factor_path(engine, ridge_type(type), *bases, features,
                                          as_matrix(residuals), as_fold_begin(begin),
                                          as_vector(ridges)));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_factor_form(SEXP spectra, int fold, std::string type, double ridge,
                                 double rank, int threads) {
  SpectraPointer bases(spectra);
  REngine engine(threads);
  return wrap_form(engine, (*bases)[static_cast<std::size_t>(fold - 1)], type, ridge,
                   static_cast<Index>(rank));
}

// Block Krylov spaces of the training sets of all folds, of one block; begin as above.
// [[Rcpp::export(rng = false)]]
SEXP cpp_ridge_krylov(Rcpp::List kernel, Rcpp::NumericMatrix x, Rcpp::NumericMatrix residuals,
                      Rcpp::IntegerVector begin, int threads) {
  REngine engine(threads);
  return KrylovPointer(new calibrisk::KrylovRidge(engine, as_kernel(kernel), as_matrix(x),
                                                  as_matrix(residuals), as_fold_begin(begin)));
}

// Goes on until every space has `blocks` blocks or is exact: the largest rank, the part of the
// trace outside the spaces, and whether all are exact.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_krylov_extend(SEXP ridge, int blocks, int threads, SEXP progress) {
  KrylovPointer pointer(ridge);
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
  return Rcpp::List::create(Rcpp::Named("rank") = static_cast<double>(rank),
                            Rcpp::Named("residual_trace") = trace, Rcpp::Named("exact") = exact);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_krylov_path(SEXP ridge, std::string type, int blocks,
                                 Rcpp::NumericMatrix residuals, Rcpp::NumericVector ridges,
                                 int threads, SEXP progress) {
  KrylovPointer pointer(ridge);
  REngine engine(threads, progress);
  return wrap_path(
      pointer->path(engine, ridge_type(type), blocks, as_matrix(residuals), as_vector(ridges)));
}

// How far the ridges' equations are from being solved, [ridges x folds].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_ridge_krylov_errors(SEXP ridge, std::string type, int blocks,
                                            Rcpp::NumericVector ridges, int threads) {
  KrylovPointer pointer(ridge);
  REngine engine(threads);
  return wrap_matrix(pointer->equation_errors(engine, ridge_type(type), blocks, as_vector(ridges)));
}

// The form of one fold, its basis [tune rows x rank] on kernels with the tune rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_krylov_form(SEXP ridge, int fold, std::string type, double value, int blocks,
                                 double rank, int threads) {
  using namespace calibrisk;
  KrylovPointer pointer(ridge);
  REngine engine(threads);
  const std::size_t at = static_cast<std::size_t>(fold - 1);
  Rcpp::List form = wrap_form(engine, pointer->spectra(engine, blocks)[at], type, value,
                              static_cast<Index>(rank));
  const Rcpp::NumericMatrix basis = form["basis"];
  form["basis"] = wrap_matrix(
      Engine(engine).dense.multiply(pointer->spaces()[at].basis(blocks), as_matrix(basis)));
  return form;
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

// Rank of the explicit features of a Gaussian kernel on an interval; 0 above max_rank.
// [[Rcpp::export(rng = false)]]
int cpp_taylor_rank(double gamma, double half_range, int max_rank) {
  return static_cast<int>(calibrisk::TaylorFeatures::rank_for(gamma, half_range, max_rank));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_taylor_features(Rcpp::NumericVector x, double centre, double gamma,
                                        double scale, int rank) {
  calibrisk::Matrix out(x.size(), rank);
  as_taylor(centre, gamma, scale, rank).evaluate(as_vector(x), out);
  return wrap_matrix(out);
}

// Eigenbases of the training sets of all folds, from explicit features of scalars.
// [[Rcpp::export(rng = false)]]
SEXP cpp_ridge_scalar(Rcpp::NumericVector x, Rcpp::NumericMatrix residuals,
                      Rcpp::IntegerVector fold, int n_folds, double centre, double gamma,
                      double scale, int rank, int threads, SEXP progress) {
  REngine engine(threads, progress);
  return ScalarPointer(new calibrisk::ScalarRidge(engine, as_taylor(centre, gamma, scale, rank),
                                                  as_vector(x), as_matrix(residuals),
                                                  as_labels(fold), n_folds));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_scalar_path(SEXP ridge, std::string type, Rcpp::NumericVector ridges,
                                 Rcpp::NumericVector x, Rcpp::NumericMatrix residuals, int threads,
                                 SEXP progress) {
  ScalarPointer pointer(ridge);
  REngine engine(threads, progress);
  return wrap_path(pointer->path(engine, ridge_type(type), as_vector(ridges), as_vector(x),
                                 as_matrix(residuals)));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_scalar_form(SEXP ridge, int fold, std::string type, double value) {
  ScalarPointer pointer(ridge);
  REngine engine(1);
  const calibrisk::RidgeSpectrum& spectrum = pointer->spectrum(fold);
  return wrap_form(engine, spectrum, type, value, spectrum.rank());
}
