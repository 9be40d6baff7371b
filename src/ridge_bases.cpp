// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel ridge over folds and ridges, with bases that R keeps.
#include "as_kernel.h"
#include "as_weights.h"
#include "r_engine.h"
#include <calibrisk/methods/ridge_bases.h>

using namespace calibrisk;

namespace {

RidgeType ridge_type(const std::string& type) {
  return type == "kkr" ? RidgeType::kronecker : RidgeType::two_step;
}

RidgeLimits as_limits(const Rcpp::Nullable<Rcpp::List>& given) {
  RidgeLimits out;
  if (given.isNull()) return out;
  const Rcpp::List fields(given.get());
  const auto set = [&](const char* name, double& value) {
    if (has_field(fields, name)) value = number_field(fields, name);
  };
  set("direct", out.direct);
  set("small", out.small);
  set("single", out.single);
  set("start", out.start);
  set("growth", out.growth);
  set("most", out.most);
  set("gram", out.gram);
  set("wide", out.wide);
  set("diffuse", out.diffuse);
  set("spaces", out.spaces);
  return out;
}

Rcpp::RObject matrix_or_null(const Matrix& x) {
  return x.size() == 0 ? Rcpp::RObject(R_NilValue) : Rcpp::RObject(wrap_matrix(x));
}

Rcpp::List wrap_taylor(const TaylorFeatures& map) {
  return named_list({{"centre", map.centre},
                     {"gamma", map.gamma},
                     {"scale", map.scale},
                     {"rank", static_cast<double>(map.rank)}});
}

}  // namespace

// Explicit features of a Gaussian kernel of scalars; NULL elsewhere.
// [[Rcpp::export(rng = false)]]
SEXP cpp_scalar_features(Rcpp::List kernel, Rcpp::NumericMatrix x) {
  const auto map = scalar_features(as_kernel(kernel), as_matrix(x));
  return map ? SEXP(wrap_taylor(*map)) : R_NilValue;
}

// Bases of the training sets of all folds, which hold R's memory; fold 0: test rows. `ridge`: of a
// fit of weighted rows.
// [[Rcpp::export(rng = false)]]
SEXP cpp_ridge_bases(Rcpp::List kernel, Rcpp::NumericMatrix x, Rcpp::NumericMatrix residuals,
                     Rcpp::IntegerVector fold, Rcpp::Nullable<Rcpp::List> design,
                     Rcpp::Nullable<Rcpp::List> limits, double ridge, int threads, SEXP progress) {
  REngine engine(threads, progress);
  const RowDesign of(design);
  const Problem problem{as_matrix(x), as_matrix(residuals), as_labels(fold), of.weights,
                        of.clusters};
  auto bases =
      std::make_unique<RidgeBases>(engine, as_kernel(kernel), problem, as_limits(limits), ridge);
  const Rcpp::List memory = Rcpp::List::create(x, residuals);
  return Rcpp::XPtr<RidgeBases>(bases.release(), true, type_tag<RidgeBases>(), memory);
}

// All ridges: risks [ridges x folds], and what is known of their accuracy. `size` and `spaces`: of
// the bases, for cpp_ridge_form().
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_tune(SEXP bases, std::string type, Rcpp::NumericVector ridges, bool exact,
                          int threads, SEXP progress) {
  auto* pointer = held<RidgeBases>(bases);
  REngine engine(threads, progress);
  const RidgeTuned out = pointer->tune(engine, ridge_type(type), as_vector(ridges), exact);
  Rcpp::LogicalVector reliable(out.reliable.begin(), out.reliable.end());
  return named_list({{"path", named_list({{"risk", out.path.risk},
                                          {"squared_error", out.path.squared},
                                          {"squared_error_test", out.path.squared_test}})},
                     {"used", out.path.rank},
                     {"size", out.size},
                     {"spaces", out.spaces},
                     {"diagnostics", named_list({{"rank", out.rank},
                                                 {"residual_trace", out.residual_trace},
                                                 {"risk_error", out.errors.risk},
                                                 {"squared_error_error", out.errors.squared_error},
                                                 {"reliable", reliable}})}});
}

namespace {

Rcpp::List wrap_form(const RidgeForm& form) {
  static const char* const names[] = {"taylor", "factor", "gram"};
  return named_list({{"type", Rf_mkString(names[static_cast<int>(form.map)])},
                     {"basis", form.basis},
                     {"core", matrix_or_null(form.core)}});
}

}  // namespace

// The form of the training set without fold f: its basis and core. phi(p) = basis' l(p); without a
// core phi(p) is the gap.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_form(SEXP bases, std::string type, double ridge, int fold, double size,
                          double used, bool spaces, int threads) {
  auto* pointer = held<RidgeBases>(bases);
  REngine engine(threads);
  return wrap_form(
      pointer->form(engine, ridge_type(type), ridge, fold, static_cast<Index>(size), used, spaces));
}

// One ridge on all rows; `size`: of its map.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_fit(SEXP bases, std::string type, double ridge, bool exact, int threads,
                         SEXP progress) {
  auto* pointer = held<RidgeBases>(bases);
  REngine host(threads, progress);
  const calibrisk::Engine engine = host;
  const RidgeForm form = pointer->fit(engine, ridge_type(type), ridge, exact);
  engine.progress.advance(1.0);
  Rcpp::List out = wrap_form(form);
  out.push_back(static_cast<double>(form.basis.rows()), "size");
  return out;
}

// What maps rows for forms of that type and size.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_map(SEXP bases, std::string type, double size) {
  auto* pointer = held<RidgeBases>(bases);
  if (type == "taylor") return wrap_taylor(*pointer->taylor());
  RidgeForm form;
  form.map = type == "gram" ? RidgeForm::Map::gram : RidgeForm::Map::factor;
  pointer->set_map(static_cast<Index>(size), form);
  if (type == "gram") return named_list({{"rows", form.rows}});
  return named_list({{"pivot_rows", form.rows}, {"triangle", form.triangle}});
}

// Features, in a form, of the rows that the fold holds out and of the test rows, and its core.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_unseen(SEXP bases, std::string type, double ridge, int fold, double size,
                            double used, bool spaces, int threads) {
  auto* pointer = held<RidgeBases>(bases);
  REngine engine(threads);
  const RidgeBases::Unseen out = pointer->unseen(engine, ridge_type(type), ridge, fold,
                                                 static_cast<Index>(size), used, spaces);
  return named_list(
      {{"held_out", out.held_out}, {"test", out.test}, {"core", matrix_or_null(out.core)}});
}

// sum_j k(x_i, rows_j) basis_j: [m x r]
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_gram_features(Rcpp::List kernel, Rcpp::NumericMatrix rows,
                                      Rcpp::NumericMatrix basis, Rcpp::NumericMatrix x,
                                      int threads) {
  REngine engine(threads);
  Rcpp::NumericMatrix out(Rcpp::no_init(x.nrow(), basis.ncol()));
  gram_features(engine, as_kernel(kernel), as_matrix(rows), as_matrix(basis), as_matrix(x),
                Eigen::Map<Matrix>(out.begin(), x.nrow(), basis.ncol()));
  return out;
}
