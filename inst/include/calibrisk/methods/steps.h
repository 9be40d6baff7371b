// SPDX-License-Identifier: GPL-3.0-or-later
// The mean of several debiased bins (bins.h), each with its own cells:
//   h(p, p') = mean over parts f of  b_f(p) b_f(p') - 1{one cell of f} v_f(p)
// Sums over pairs are sums over cells, or over intersections of the cells of two parts, so that
// nothing of size cells x cells or rows x cells is formed unless phi itself is needed.
#ifndef CALIBRISK_METHODS_STEPS_H
#define CALIBRISK_METHODS_STEPS_H

#include <calibrisk/methods/bins.h>
#include <calibrisk/pair_risk.h>

#include <unordered_map>

namespace calibrisk {

struct StepPart {
  std::vector<double> edges, b, v;
};

// The cell of every row, from 0, and b and v there: a column for each part.
struct StepRows {
  Matrix cell, b, v;
};

inline StepRows step_rows(const std::vector<StepPart>& parts, const ConstVectorRef& p) {
  const Index n = p.size(), k = static_cast<Index>(parts.size());
  StepRows out{Matrix(n, k), Matrix(n, k), Matrix(n, k)};
  for (Index f = 0; f < k; ++f) {
    const StepPart& part = parts[static_cast<std::size_t>(f)];
    require(part.b.size() == part.edges.size() + 1 && part.v.size() == part.b.size(),
            "steps: a value for each cell.");
    for (Index i = 0; i < n; ++i) {
      const Index cell = cell_of(part.edges, p(i));
      out.cell(i, f) = static_cast<double>(cell);
      out.b(i, f) = part.b[static_cast<std::size_t>(cell)];
      out.v(i, f) = part.v[static_cast<std::size_t>(cell)];
    }
  }
  return out;
}

// h(p_i, p_i)
inline Vector step_squared(const StepRows& rows) {
  return (rows.b.array().square() - rows.v.array()).rowwise().mean();
}

// phi(p): b of every part, then the indicators of its cells whose v is not 0. Its core is diagonal.
inline Matrix step_features(const std::vector<StepPart>& parts, const StepRows& rows) {
  std::vector<std::pair<Index, double>> indicators;
  for (std::size_t f = 0; f < parts.size(); ++f) {
    for (std::size_t cell = 0; cell < parts[f].v.size(); ++cell) {
      if (parts[f].v[cell] > 0.0) {
        indicators.emplace_back(static_cast<Index>(f), static_cast<double>(cell));
      }
    }
  }
  const Index k = rows.b.cols();
  Matrix out(rows.b.rows(), k + static_cast<Index>(indicators.size()));
  out.leftCols(k) = rows.b;
  for (std::size_t j = 0; j < indicators.size(); ++j) {
    const auto [f, cell] = indicators[j];
    out.col(k + static_cast<Index>(j)) = (rows.cell.col(f).array() == cell).cast<double>();
  }
  return out;
}

namespace detail {

// For every row the sums of the rows of x in its group; groups are any numbers.
inline Matrix group_sums(const ConstVectorRef& group, const ConstMatrixRef& x) {
  const Index n = x.rows();
  std::unordered_map<double, Index> known;
  std::vector<Index> id(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    id[static_cast<std::size_t>(i)] =
        known.emplace(group(i), static_cast<Index>(known.size())).first->second;
  }
  Matrix sums = Matrix::Zero(static_cast<Index>(known.size()), x.cols()), out(n, x.cols());
  for (Index i = 0; i < n; ++i) sums.row(id[static_cast<std::size_t>(i)]) += x.row(i);
  for (Index i = 0; i < n; ++i) out.row(i) = sums.row(id[static_cast<std::size_t>(i)]);
  return out;
}

}  // namespace detail

// The risk of plain rows with the residuals e (pair_risk.h), from each row's sums over the others:
// of h e and of h^2.
inline PairRisk step_risk(const std::vector<StepPart>& parts, const ConstVectorRef& p,
                          const ConstVectorRef& e) {
  const StepRows rows = step_rows(parts, p);
  const Matrix &b = rows.b, &v = rows.v;
  const Index n = b.rows(), parts_of = b.cols();
  const double k = static_cast<double>(parts_of);
  Matrix terms(n, parts_of + 1);
  terms << e, b;
  Vector cross = b * (b.transpose() * e);
  Vector square = (b * (b.transpose() * b)).cwiseProduct(b).rowwise().sum();
  for (Index f = 0; f < parts_of; ++f) {
    const Matrix own = detail::group_sums(rows.cell.col(f), terms);
    cross -= v.col(f).cwiseProduct(own.col(0));
    square -= 2.0 * v.col(f).cwiseProduct(b.cwiseProduct(own.rightCols(parts_of)).rowwise().sum());
    for (Index g = 0; g < parts_of; ++g) {
      const Vector both = rows.cell.col(f) + (rows.cell.col(f).maxCoeff() + 1.0) * rows.cell.col(g);
      square += v.col(f).cwiseProduct(v.col(g)).cwiseProduct(
          detail::group_sums(both, Vector::Ones(n)).col(0));
    }
  }
  const Vector length = e.array().square();
  return pair_risk_of_rows({length.sum() * length, e.cwiseProduct(cross) / k, square / (k * k),
                            length, step_squared(rows)});
}

}  // namespace calibrisk

#endif
