// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_TARGETS  // for all units: linalg/eigen_products.h
#include "as_source.h"
#include "as_kernel.h"
#include <calibrisk/targets/draws_embedding.h>
#include <calibrisk/targets/draws_line.h>
#include <calibrisk/targets/normal.h>
#include <calibrisk/targets/pairings.h>

#include <optional>
#include <string>

namespace {

calibrisk::MatrixView view(const Rcpp::List& spec, const char* name) {
  const SEXP x = field(spec, name);
  if (TYPEOF(x) != REALSXP || !Rf_isMatrix(x)) {
    throw std::invalid_argument("A pair source needs double matrices.");
  }
  return calibrisk::MatrixView(REAL(x), Rf_nrows(x), Rf_ncols(x));
}

// Parameters of predictive distributions may come from elsewhere: a row for each outcome.
calibrisk::MatrixView rows_of_y(const Rcpp::List& spec, const char* name) {
  const calibrisk::MatrixView out = view(spec, name);
  calibrisk::require(out.rows() == view(spec, "y").rows(),
                     "Predictive distributions have parameters for every outcome.");
  return out;
}

}  // namespace

calibrisk::OutcomeMoments as_moments(const Rcpp::List& spec) {
  if (!has_field(spec, "own")) return {};
  return {view(spec, "probs"), view(spec, "probs_right"), view(spec, "squares"), view(spec, "own"),
          has_field(spec, "weight") ? view(spec, "weight") : calibrisk::MatrixView(nullptr, 0, 0)};
}

namespace {

template <class Pairing>
calibrisk::TargetPtr location_scale(Pairing pairing, const Rcpp::List& spec) {
  const calibrisk::MatrixView weight = rows_of_y(spec, "weight");
  const calibrisk::MatrixView location = rows_of_y(spec, "location"),
                              scale = rows_of_y(spec, "scale");
  calibrisk::require(location.cols() == weight.cols() && scale.cols() == weight.cols(),
                     "Every component has a location and a scale.");
  return std::make_unique<calibrisk::LocationScaleTarget<Pairing>>(pairing, weight, location, scale,
                                                                   view(spec, "y"));
}

}  // namespace

calibrisk::PairSourcePtr as_prediction_source(const Rcpp::List& spec) {
  using namespace calibrisk;
  const std::string kind = text_field(spec, "kind");
  if (kind == "features") {
    return std::make_unique<KernelSource>(as_kernel(field(spec, "kernel")), view(spec, "features"));
  }
  if (kind == "matrix") return std::make_unique<StoredSource>(view(spec, "values"));
  if (kind == "sum" || kind == "product") {
    const Rcpp::List parts(field(spec, "parts"));
    std::vector<PairSourcePtr> sources;
    for (R_xlen_t p = 0; p < parts.size(); ++p) sources.push_back(as_prediction_source(parts[p]));
    return std::make_unique<ComposedSource>(kind == "product", number_field(spec, "scale"),
                                            std::move(sources));
  }
  throw std::invalid_argument("Unknown prediction source '" + kind + "'.");
}

calibrisk::TargetPtr as_target(const Rcpp::List& spec) {
  using namespace calibrisk;
  const std::string kind = text_field(spec, "kind");
  const auto number = [&](const char* name) { return number_field(spec, name); };
  if (kind == "finite") {
    return std::make_unique<FiniteTarget>(view(spec, "residuals"), view(spec, "right"),
                                          view(spec, "probs"), view(spec, "probs_right"),
                                          as_moments(spec));
  }
  if (kind == "diagonal_normal") {
    return std::make_unique<DiagonalNormalTarget>(number("gamma"), view(spec, "mean"),
                                                  view(spec, "variance"), view(spec, "y"));
  }
  if (kind == "full_normal") {
    return std::make_unique<FullNormalTarget>(number("gamma"), rows_of_y(spec, "weight"),
                                              rows_of_y(spec, "mean"),
                                              rows_of_y(spec, "covariance"), view(spec, "y"));
  }
  if (kind == "normal_gaussian") return location_scale(NormalGaussian{number("gamma")}, spec);
  if (kind == "normal_matern") {
    return location_scale(NormalMatern{number("nu"), number("rate")}, spec);
  }
  if (kind == "laplace_laplace") return location_scale(LaplaceLaplace{number("gamma")}, spec);
  if (kind == "laplace_gaussian") return location_scale(LaplaceGaussian{number("gamma")}, spec);
  if (kind == "linear") {
    require(view(spec, "mean").cols() == view(spec, "y").cols(),
            "Means have the dimension of the outcomes.");
    return std::make_unique<LinearTarget>(rows_of_y(spec, "mean"), view(spec, "y"));
  }
  if (kind == "draws" && has_field(spec, "embedding")) {
    const Rcpp::List embedding(field(spec, "embedding"));
    return std::make_unique<EmbeddedDrawsTarget>(
        as_kernel(field(spec, "kernel")), rows_of_y(spec, "draws"), view(spec, "y"),
        view(embedding, "mean"), vector_view(field(embedding, "own")),
        view(embedding, "pivot_rows"), view(embedding, "triangle"),
        number_field(embedding, "missed"));
  }
  if (kind == "draws") {
    const Kernel kernel = as_kernel(field(spec, "kernel"));
    const std::optional<LineKernel> line = LineKernel::of(kernel);
    if (line && view(spec, "y").cols() == 1) {
      return std::make_unique<LineDrawsTarget>(kernel, *line, rows_of_y(spec, "draws"),
                                               view(spec, "y"));
    }
    return std::make_unique<DrawsTarget>(kernel, rows_of_y(spec, "draws"), view(spec, "y"));
  }
  if (kind == "sum") {
    const Rcpp::List parts(field(spec, "parts"));
    std::vector<TargetPtr> targets;
    for (R_xlen_t p = 0; p < parts.size(); ++p) targets.push_back(as_target(parts[p]));
    return std::make_unique<SumTarget>(number("scale"), std::move(targets));
  }
  throw std::invalid_argument("Unknown target '" + kind + "'.");
}

calibrisk::PairSourcePtr as_pair_source(const Rcpp::List& prediction, const Rcpp::List& target) {
  std::vector<calibrisk::PairSourcePtr> parts;
  parts.push_back(as_prediction_source(prediction));
  parts.push_back(as_target(target));
  return std::make_unique<calibrisk::ComposedSource>(true, 1.0, std::move(parts));
}

calibrisk::LinePair as_line_pair(const Rcpp::List& prediction, const Rcpp::List& target) {
  if (text_field(prediction, "kind") != "features" || text_field(target, "kind") != "finite") {
    return {};
  }
  return calibrisk::line_pair(as_kernel(field(prediction, "kernel")), view(prediction, "features"),
                              view(target, "residuals"), view(target, "right"));
}
