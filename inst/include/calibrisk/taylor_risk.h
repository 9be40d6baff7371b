// SPDX-License-Identifier: GPL-3.0-or-later
// The risk of a pair form of explicit features (kernels/taylor_features.h), and its h(p_i, p_i):
// where they are few, features are made where they are used, and are nowhere whole.
#ifndef CALIBRISK_TAYLOR_RISK_H
#define CALIBRISK_TAYLOR_RISK_H

#include <calibrisk/kernels/taylor_features.h>
#include <calibrisk/pair_risk.h>

namespace calibrisk {

// phi = B'l(x) with a core; an empty basis B or core is the identity.
class TaylorForm {
 public:
  TaylorForm(const TaylorFeatures& map, const ConstMatrixRef& basis, const ConstMatrixRef& core)
      : map_(map), transposed_(basis.transpose()), core_(core) {}

  Index rank() const { return transposed_.size() == 0 ? map_.rank : transposed_.rows(); }
  const Matrix& core() const { return core_; }

  Matrix features(const ConstVectorRef& x) const {
    Matrix out(x.size(), rank());
    map_.evaluate_block(x, transposed_, out);
    return out;
  }

 private:
  TaylorFeatures map_;
  Matrix transposed_, core_;
};

inline Vector taylor_squared(const Engine& engine, const ConstVectorRef& x,
                             const TaylorForm& form) {
  constexpr Index block = detail::narrow_block;
  Vector out(x.size());
  parallel_for(engine, (x.size() + block - 1) / block, [&](Index t) {
    const Index begin = t * block, size = std::min(block, x.size() - begin);
    const Matrix phi = form.features(x.segment(begin, size));
    row_forms(phi, form.core(), phi, out.segment(begin, size));
  });
  return out;
}

inline RiskNumbers taylor_risk(const Engine& engine, const ConstMatrixRef& residuals,
                               const ConstVectorRef& x, const TaylorForm& form, RiskRows out) {
  require(residuals.rows() == x.size(), "Residuals and features must have equal rows.");
  const Index d = residuals.cols(), r = form.rank();
  const bool linear = linear_is_cheaper(static_cast<double>(x.size()), static_cast<double>(d),
                                        static_cast<double>(r));
  if (!linear || d + r >= detail::wide) {
    return pair_risk(engine, residuals, form.features(x), form.core(), out);
  }
  const auto rows = [&](Index begin, Index size) { return form.features(x.segment(begin, size)); };
  const PairStatistics stats = detail::narrow_statistics(engine, residuals, r, rows);
  const detail::CoreProducts products = detail::core_products(engine, stats, form.core());
  return detail::narrow_pair_risk(engine, stats, products, residuals, rows, form.core(), out);
}

}  // namespace calibrisk

#endif
