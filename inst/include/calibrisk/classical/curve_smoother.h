// SPDX-License-Identifier: GPL-3.0-or-later
// Local linear and quadratic fits of outcomes summed over cells, many draws at once, each with the
// bandwidth that its outcomes choose.
#ifndef CALIBRISK_CLASSICAL_CURVE_SMOOTHER_H
#define CALIBRISK_CLASSICAL_CURVE_SMOOTHER_H

#include <calibrisk/classical/count_draws.h>
#include <calibrisk/classical/local_polynomials.h>
#include <calibrisk/engine.h>
#include <calibrisk/math/single_forms.h>

#include <functional>
#include <limits>
#include <memory>
#include <numeric>

namespace calibrisk {

// Probabilities nearer to 0 or 1 than 1e-5 count as that near.
inline double curve_logit(double p) {
  const double inner = std::min(std::max(p, 1e-5), 1.0 - 1e-5);
  return std::log(inner / (1.0 - inner));
}

// Event rates pulled a little to 1/2, as if 2 successes and 2 failures had been seen there as well.
inline double shrunken_rate(double estimate, double n_eff) {
  return (n_eff * std::min(std::max(estimate, 0.0), 1.0) + 2.0) / (n_eff + 4.0);
}

// Standard errors of these rates, pulled to 1/2, of so many rows.
CALIBRISK_SHARED Vector rate_error(const ConstVectorRef& estimate, const Vector& n_eff);

// Cells are stretches of equal width of logit(p), or its distinct values where these are few.
// `n`: what the rows of a cell count; means of logit(p), p, p^2; `noise`: the variance of a cell's
// noise, as a multiple of that of n independent rows.
struct CurveCells {
  static constexpr std::size_t most = 200;
  std::vector<int> order, end;  // rows by cell
  Vector n, t, p, p2, noise;
  bool few = false;

  CALIBRISK_SHARED CurveCells(const ConstVectorRef& prob, const RowCounts& rows,
                              const ConstVectorRef& noise_of);

  // Sums of values of rows, and the values in the order of the cells.
  CALIBRISK_SHARED Vector sums(const ConstVectorRef& v, const RowCounts& rows) const;
  Vector ordered(const ConstVectorRef& v) const {
    Vector out(v.size());
    for (Index i = 0; i < v.size(); ++i) out(i) = v(order[static_cast<std::size_t>(i)]);
    return out;
  }

 private:
  CALIBRISK_SHARED std::vector<int> cells_of(const Vector& logit);
};

// Curves at places: half of them evenly spaced in p, half in logit(p).
class CurveSmoother {
 public:
  // The weights of one bandwidth [places x cells], and the effective number of rows of a fit.
  struct Weights {
    Matrix linear, quadratic;
    Vector n_eff;
  };
  const CurveCells cells;
  Vector x;                  // the places
  std::vector<double> grid;  // bandwidths

  CALIBRISK_SHARED CurveSmoother(const Engine& engine, const ConstVectorRef& prob,
                                 const RowCounts& rows, const ConstVectorRef& noise,
                                 double bandwidth);

  const Weights& weights(std::size_t h) const {
    if (!weights_[h]) weights_[h] = std::make_unique<Weights>(fit_weights(grid[h]));
    return *weights_[h];
  }
  CALIBRISK_SHARED Matrix finer(double h) const;
  // at one place all bandwidths are the same
  double narrowest() const { return spread_ > 0.0 ? spread_ / 25.0 : grid[0]; }

  // task(draw, bandwidth, curve, centre of its limits or nothing) for each column of sums of
  // outcomes per cell, with the bandwidth that its outcomes choose. Curves are not kept: what a
  // thousand of them take is as much work for the system as the fits are for the processor.
  using Task = std::function<void(Index, std::size_t, const Vector&, const Vector&)>;
  CALIBRISK_SHARED void fit(const Matrix& sums, bool limits, const Task& task) const;

 private:
  CALIBRISK_SHARED void set_places(double low, double high);
  CALIBRISK_SHARED Matrix residuals(const Matrix& sums) const;
  CALIBRISK_SHARED Weights fit_weights(double h) const;
  CALIBRISK_SHARED Matrix coarse(Matrix v) const;

  // Leave-one-out squared error: sum over the rows of a cell of (residual - fit)^2 / (1 - own
  // weight)^2, which is a quadratic form in the residuals of the cells.
  CALIBRISK_SHARED void set_errors();

  // v' P v / 2 of every column v, for a symmetric P: of blocks of rows with those after them.
  CALIBRISK_SHARED Vector half_forms(const Matrix& p, const Matrix& v) const;

  static Matrix columns_of(const Matrix& x, const std::vector<Index>& at) {
    Matrix out(x.rows(), static_cast<Index>(at.size()));
    for (std::size_t j = 0; j < at.size(); ++j) out.col(static_cast<Index>(j)) = x.col(at[j]);
    return out;
  }

  // [draws][bandwidths] Which bandwidths may have the least error of a draw: single numbers tell
  // for most draws that one bandwidth alone has it.
  CALIBRISK_SHARED std::vector<std::vector<char>> near_least(const Matrix& square,
                                                             const Matrix& pooled) const;

  // The bandwidth of the least error of each draw; of equal ones the widest.
  CALIBRISK_SHARED void choose(const Matrix& sums, std::size_t* out) const;

  static constexpr double inf = std::numeric_limits<double>::infinity();

  const Engine& engine_;
  Vector t_;  // logits of the places
  double spread_ = 0.0;
  Index coarse_ = 0, size_ = 1;
  mutable std::vector<std::unique_ptr<Weights>> weights_;
  std::vector<Matrix> pairs_;  // twice the symmetric forms of residuals of coarse cells
  Matrix squares_;             // of their squares [bandwidths x coarse cells]
  // the same error as a form of distances between a cell's mean and its fit, whose terms do not
  // cancel, and the squares about that mean; and their weights in a bound of its rounding
  std::vector<SingleForm> forms_;
  Matrix error_;
  Vector counted_;  // in coarse cells
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CURVES)
Vector rate_error(const ConstVectorRef& estimate, const Vector& n_eff) {
  const auto n = n_eff.array();
  const Eigen::ArrayXd rate = (n * estimate.array().max(0.0).min(1.0) + 2.0) / (n + 4.0);
  return (rate * (1.0 - rate) / n).sqrt();
}

CurveCells::CurveCells(const ConstVectorRef& prob, const RowCounts& rows,
                       const ConstVectorRef& noise_of) {
  const Vector logit = prob.unaryExpr([](double v) { return curve_logit(v); });
  const std::vector<int> cell = cells_of(logit);
  const int m = *std::max_element(cell.begin(), cell.end()) + 1;
  end.assign(static_cast<std::size_t>(m), 0);
  for (const int k : cell) ++end[static_cast<std::size_t>(k)];
  std::partial_sum(end.begin(), end.end(), end.begin());
  std::vector<int> next(end.size(), 0);
  std::copy(end.begin(), end.end() - 1, next.begin() + 1);
  order.resize(cell.size());
  for (std::size_t i = 0; i < cell.size(); ++i) {
    order[static_cast<std::size_t>(next[static_cast<std::size_t>(cell[i])]++)] =
        static_cast<int>(i);
  }
  n = t = p = p2 = noise = Vector::Zero(m);
  for (std::size_t row = 0; row < cell.size(); ++row) {
    const auto i = static_cast<Index>(row);
    const Index k = cell[row];
    const double w = rows.weight(i);
    n(k) += w;
    t(k) += w * logit(i);
    p(k) += w * prob(i);
    p2(k) += w * (prob(i) * prob(i));
    noise(k) += noise_of.size() == 0 ? w : w * noise_of(i);
  }
  for (Vector* sum : {&t, &p, &p2, &noise}) *sum = sum->cwiseQuotient(n);
}

Vector CurveCells::sums(const ConstVectorRef& v, const RowCounts& rows) const {
  Vector out = Vector::Zero(n.size());
  std::size_t i = 0;
  for (Index k = 0; k < n.size(); ++k) {
    for (; i < static_cast<std::size_t>(end[static_cast<std::size_t>(k)]); ++i) {
      out(k) += rows.weight(order[i]) * v(order[i]);
    }
  }
  return out;
}

std::vector<int> CurveCells::cells_of(const Vector& logit) {
  std::vector<double> found;
  for (Index i = 0; i < logit.size() && found.size() <= most; ++i) {
    const auto at = std::lower_bound(found.begin(), found.end(), logit(i));
    if (at == found.end() || *at != logit(i)) found.insert(at, logit(i));
  }
  few = found.size() <= most;
  std::vector<int> cell(static_cast<std::size_t>(logit.size()));
  const double least = logit.minCoeff(), range = logit.maxCoeff() - least;
  std::vector<int> used(most, 0);
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const double own = logit(static_cast<Index>(i));
    cell[i] =
        few ? static_cast<int>(std::lower_bound(found.begin(), found.end(), own) - found.begin())
            : std::min(static_cast<int>((own - least) / range * most), static_cast<int>(most) - 1);
    used[static_cast<std::size_t>(cell[i])] = 1;
  }
  std::partial_sum(used.begin(), used.end(), used.begin());
  for (int& k : cell) k = used[static_cast<std::size_t>(k)] - 1;
  return cell;
}

CurveSmoother::CurveSmoother(const Engine& engine, const ConstVectorRef& prob,
                             const RowCounts& rows, const ConstVectorRef& noise, double bandwidth)
    : cells(prob, rows, noise), engine_(engine) {
  set_places(prob.minCoeff(), prob.maxCoeff());
  spread_ = cells.t.maxCoeff() - cells.t.minCoeff();
  if (bandwidth > 0.0 || !(spread_ > 0.0)) {
    grid = {bandwidth > 0.0 ? bandwidth : 1.0};
  } else {
    const double step = -std::log(0.04) / 11.0;
    for (int j = 0; j < 12; ++j) {
      grid.push_back(spread_ * std::exp(j == 11 ? 0.0 : std::log(0.04) + j * step));
    }
  }
  weights_.resize(grid.size());
  // fewer cells choose the bandwidth as well
  const Index m = cells.n.size(), size = (m + 119) / 120;
  coarse_ = (m + size - 1) / size;
  size_ = size;
  if (grid.size() > 1) set_errors();
}

Matrix CurveSmoother::finer(double h) const {
  return local_polynomials(t_, cells.t, cells.n, h, true).quadratic;
}

void CurveSmoother::fit(const Matrix& sums, bool limits, const Task& task) const {
  std::vector<std::size_t> chosen(static_cast<std::size_t>(sums.cols()), 0);
  // so few that what is computed of them stays in the cache
  constexpr Index most = 256;
  for (Index r = 0; grid.size() > 1 && r < sums.cols(); r += most) {
    choose(sums.middleCols(r, std::min(most, sums.cols() - r)),
           &chosen[static_cast<std::size_t>(r)]);
  }
  for (std::size_t h = 0; h < grid.size(); ++h) {
    std::vector<Index> with_h;
    for (std::size_t r = 0; r < chosen.size(); ++r) {
      if (chosen[r] == h) with_h.push_back(static_cast<Index>(r));
    }
    for (auto from = with_h.begin(); from != with_h.end();) {
      const auto to = from + std::min<std::ptrdiff_t>(most, with_h.end() - from);
      const std::vector<Index> at(from, to);
      const Matrix own = residuals(columns_of(sums, at));
      const Weights& w = weights(h);
      const Matrix line = engine_.dense.multiply(w.linear, own);
      const Matrix bend = limits ? engine_.dense.multiply(w.quadratic, own) : Matrix();
      for (std::size_t j = 0; j < at.size(); ++j) {
        const auto column = static_cast<Index>(j);
        task(at[j], h, Vector(x + line.col(column)),
             limits ? Vector(x + bend.col(column)) : Vector());
      }
      from = to;
    }
  }
}

void CurveSmoother::set_places(double low, double high) {
  std::vector<double> at{low};
  const double from = curve_logit(low), width = curve_logit(high) - from;
  constexpr int half = 80;
  for (int j = 0; low < high && j < half; ++j) {
    const double even = j == half - 1 ? 1.0 : j * (1.0 / (half - 1));
    at.push_back(low + even * (high - low));
    const double inner = 1.0 / (1.0 + std::exp(-(from + even * width)));
    if (inner > low && inner < high) at.push_back(inner);
  }
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  x = Eigen::Map<const Vector>(at.data(), static_cast<Index>(at.size()));
  t_ = x.unaryExpr([](double v) { return curve_logit(v); });
}

Matrix CurveSmoother::residuals(const Matrix& sums) const {
  return sums.colwise() - cells.n.cwiseProduct(cells.p);
}

CurveSmoother::Weights CurveSmoother::fit_weights(double h) const {
  const LocalPolynomials fits = local_polynomials(t_, cells.t, cells.n, h, true);
  Weights out;
  out.linear = fits.linear;
  out.quadratic = fits.quadratic;
  out.n_eff =
      (fits.quadratic.array().square().matrix() * cells.n.cwiseProduct(cells.noise)).cwiseInverse();
  return out;
}

Matrix CurveSmoother::coarse(Matrix v) const {
  if (size_ == 1) return v;
  Matrix out = Matrix::Zero(coarse_, v.cols());
  for (Index k = 0; k < v.rows(); ++k) out.row(k / size_) += v.row(k);
  return out;
}

void CurveSmoother::set_errors() {
  const Vector n = coarse(cells.n),
               t = coarse(cells.n.cwiseProduct(cells.t)).col(0).cwiseQuotient(n);
  squares_.resize(static_cast<Index>(grid.size()), n.size());
  error_ = squares_;
  counted_ = n;
  for (std::size_t h = 0; h < grid.size(); ++h) {
    const Matrix l = local_polynomials(t, t, n, grid[h], false).linear;
    const Vector each = l.diagonal().unaryExpr(
        [](double own) { return 1.0 / std::pow(1.0 - std::min(own, 1.0 - 1e-6), 2.0); });
    squares_.row(static_cast<Index>(h)) = each;
    Matrix pairs = engine_.dense.multiply_at_b(l, each.cwiseProduct(n).asDiagonal() * l);
    pairs -= 2.0 * (each.asDiagonal() * l);
    pairs_.push_back(pairs + pairs.transpose());
    Matrix apart = -l;
    apart.diagonal() += n.cwiseInverse();
    forms_.emplace_back(
        2.0 * engine_.dense.crossprod(each.cwiseProduct(n).cwiseSqrt().asDiagonal() * apart));
    // of the form in single numbers, and of that in double, whose terms are larger
    error_.row(static_cast<Index>(h)) =
        forms_.back().error() + 1e-13 * pairs_.back().cwiseAbs().rowwise().sum();
  }
}

Vector CurveSmoother::half_forms(const Matrix& p, const Matrix& v) const {
  constexpr Index most = 24;
  Vector out = Vector::Zero(v.cols());
  for (Index begin = 0; begin < p.rows(); begin += most) {
    const Index size = std::min(most, p.rows() - begin), rest = p.rows() - begin;
    Matrix own = p.block(begin, begin, size, rest);
    own.leftCols(size) /= 2.0;
    const Matrix product = engine_.dense.multiply(own, v.bottomRows(rest));
    out += v.middleRows(begin, size).cwiseProduct(product).colwise().sum().transpose();
  }
  return out;
}

std::vector<std::vector<char>> CurveSmoother::near_least(const Matrix& square,
                                                         const Matrix& pooled) const {
  const Matrix each = pooled.cwiseAbs2();
  const Matrix within =
      engine_.dense.multiply(squares_, square - counted_.cwiseInverse().asDiagonal() * each);
  const Matrix error = engine_.dense.multiply(error_, each) +
                       1e-13 * engine_.dense.multiply(squares_, square.cwiseAbs());
  const Index count = pooled.cols(), size = squares_.rows();
  const Index lanes = (count + SingleForm::lanes - 1) / SingleForm::lanes * SingleForm::lanes;
  std::vector<float> v(static_cast<std::size_t>(SingleForm::padded(pooled.rows()) * lanes));
  for (Index r = 0; r < count; ++r) {
    for (Index k = 0; k < pooled.rows(); ++k) {
      v[static_cast<std::size_t>(k * lanes + r)] = static_cast<float>(pooled(k, r));
    }
  }
  std::vector<float> form(static_cast<std::size_t>(lanes));
  Matrix low(size, count);
  Vector least = Vector::Constant(count, inf);
  for (Index h = 0; h < size; ++h) {
    const SingleForm& of = forms_[static_cast<std::size_t>(h)];
    of.forms(v.data(), lanes, form.data());
    for (Index r = 0; r < count; ++r) {
      const double score = within(h, r) + static_cast<double>(form[static_cast<std::size_t>(r)]);
      const double most_off = error(h, r) + of.smallest();
      low(h, r) = score - most_off;
      least(r) = std::min(least(r), score + most_off);
    }
  }
  // what overflowed is compared in double
  std::vector<std::vector<char>> out;
  for (Index r = 0; r < count; ++r) {
    out.emplace_back();
    for (Index h = 0; h < size; ++h) out.back().push_back(!(low(h, r) > least(r)));
  }
  return out;
}

void CurveSmoother::choose(const Matrix& sums, std::size_t* out) const {
  // sum of (y - p)^2 = y (1 - 2 p) + p^2 over the rows of a cell
  const Vector slope = (1.0 - 2.0 * cells.p.array()).matrix(),
               constant = cells.n.cwiseProduct(cells.p2);
  const Matrix square = coarse((slope.asDiagonal() * sums).colwise() + constant);
  const Matrix pooled = coarse(residuals(sums));
  const auto near = near_least(square, pooled);
  std::vector<std::ptrdiff_t> candidates;
  for (const auto& own : near) candidates.push_back(std::count(own.begin(), own.end(), 1));
  Vector best = Vector::Constant(sums.cols(), inf);
  for (std::size_t h = 0; h < grid.size(); ++h) {
    const auto row = static_cast<Index>(h);
    std::vector<Index> close;
    for (std::size_t r = 0; r < near.size(); ++r) {
      if (!near[r][h]) continue;
      if (candidates[r] == 1) out[r] = h;
      if (candidates[r] > 1) close.push_back(static_cast<Index>(r));
    }
    if (close.empty()) continue;
    const Matrix squares =
        engine_.dense.multiply(squares_.middleRows(row, 1), columns_of(square, close));
    const Vector score = squares.transpose() + half_forms(pairs_[h], columns_of(pooled, close));
    for (std::size_t j = 0; j < close.size(); ++j) {
      const double own = score(static_cast<Index>(j));
      if (own > best(close[j])) continue;
      best(close[j]) = own;
      out[close[j]] = h;
    }
  }
}
#endif

}  // namespace calibrisk

#endif
