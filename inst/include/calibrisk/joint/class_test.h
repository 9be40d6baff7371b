// SPDX-License-Identifier: GPL-3.0-or-later
// The joint test of more than two classes. Labels are redrawn from the predicted probabilities, by
// a generator that counts, and every part uses the same labels. With e the residuals, predictions
// less outcomes, l = log p, T = sum_ik e_ik l_ik, B_k = sum_i e_ik and C the covariance of B:
//   temperature   T^2 over its variance, its skewness taken out
//   biases        B' (C + 1)^-1 B
//   bias          the largest B_k^2 / (C_kk + 1)
//   slope         the largest statistic of intercept and slope of one class, against all others
//                 (parts.h)
//   gap           the largest psi of hats of one class
//   confidence    the same statistic of the most probable classes, of rows with several all of them
//   steps         their psi of hats
// Added to a variance, 1 is that of one outcome: classes that are hardly ever expected would have
// the largest statistics. Slopes and gaps of a class are multiplied by C_kk / (C_kk + 1) for that.
#ifndef CALIBRISK_JOINT_CLASS_TEST_H
#define CALIBRISK_JOINT_CLASS_TEST_H

#include <calibrisk/joint/class_parts.h>
#include <calibrisk/joint/class_rows.h>
#include <calibrisk/joint/law.h>
#include <calibrisk/joint/lower.h>
#include <calibrisk/joint/row_redraws.h>
#include <calibrisk/linalg/small_algebra.h>

#include <array>
#include <memory>

namespace calibrisk {

// The parts of a test, their joint distribution, and what labels say on them.
struct ClassResult {
  double p_value = 1.0, statistic = 0.0;
  double low = 0.0;              // root; above 0 exactly where the test rejects
  std::vector<int> parts;        // tested, by number
  std::vector<double> weighted;  // p-values of the parts, over their shares
  std::vector<double> lows;
  std::vector<int> classes;   // of parts that are the largest of a class: the given ones, from 1 on
  std::vector<double> signs;  // of T, of a bias, of the mean residual of confidences; else 0
};

// Whether an event occurs, of every row: one class against the others, or the most probable one.
struct ClassEvent {
  struct Once {
    double operator()(Index) const { return 1.0; }
  };
  std::unique_ptr<JointParts> parts;
  std::vector<int> place;  // of row i among those of the parts
  std::unique_ptr<RowRedraws<Once>> redraws;
  double trust = 1.0;

  bool has_hats() const { return !tested_rungs(*parts).empty(); }
  Index statistics() const { return has_hats() ? 4 : 3; }
};

class ClassTest {
 public:
  ClassTest(const Engine& engine, ClassRows rows, Index redraws)
      : engine_(engine), rows_(std::move(rows)) {
    const Index n = rows_.size(), k = rows_.count();
    most_ = rows_.p.rowwise().maxCoeff();
    Vector shared = Vector::Zero(n), number = Vector::Zero(n);
    for (Index j = 0; j < k; ++j) {
      events_.push_back(event(rows_.p.col(j), false));
      const Vector is_most = (rows_.p.col(j).array() == most_.array()).cast<double>().matrix();
      shared += is_most.cwiseProduct(most_);
      number += is_most;
    }
    events_.push_back(event(shared.cwiseMin(1.0), true));
    most_shared_ = number.maxCoeff();
    missed_.reserve(static_cast<std::size_t>(n * k));
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < k; ++j) missed_.push_back(rows_.p(i, j) != most_(i) ? 1 : 0);
    }
    scores();
    null_ = statistics(redraws, [&](Index r, Index i) {
      return rows_.drawn(i, counter_uniform(class_key, static_cast<std::uint64_t>(r),
                                            static_cast<std::uint64_t>(i)));
    });
  }

  const ClassRows& rows() const { return rows_; }

  // The joint distribution of some of the parts.
  JointLaw law(const std::vector<int>& parts) const {
    Matrix redrawn(null_.rows(), static_cast<Index>(parts.size()));
    std::vector<double> shares;
    double sum = 0.0;
    for (std::size_t m = 0; m < parts.size(); ++m) {
      redrawn.col(static_cast<Index>(m)) = null_.col(parts[m]);
      shares.push_back(class_shares[static_cast<std::size_t>(parts[m])]);
      sum += shares.back();
    }
    for (double& share : shares) share /= sum;
    return JointLaw(redrawn, shares);
  }

  // `labels`: of the rows in their own order
  ClassResult result(const std::vector<int>& labels, const std::vector<int>& parts,
                     const JointLaw& law, double level) const {
    ClassResult out;
    std::array<int, class_parts> at;
    const double alpha = rejected_level(level);
    const Vector all =
        statistics(
            1, [&](Index, Index i) { return labels[static_cast<std::size_t>(i)]; }, &at)
            .row(0)
            .transpose();
    Vector observed(static_cast<Index>(parts.size()));
    for (std::size_t m = 0; m < parts.size(); ++m) {
      const int part = parts[m];
      observed(static_cast<Index>(m)) = all(part);
      const int j = at[static_cast<std::size_t>(part)];
      out.classes.push_back(
          j < 0 ? 0 : static_cast<int>(rows_.classes[static_cast<std::size_t>(j)]) + 1);
      out.signs.push_back(sign(labels, static_cast<std::size_t>(part), j));
    }
    out.parts = parts;
    out.weighted = law.weighted(observed);
    const auto least = std::min_element(out.weighted.begin(), out.weighted.end());
    out.p_value = law.p_value(*least);
    out.statistic = observed(static_cast<Index>(least - out.weighted.begin()));
    const double threshold = law.threshold(alpha);
    const bool by_class = std::find(parts.begin(), parts.end(), confidence_part) == parts.end();
    for (std::size_t m = 0; m < parts.size(); ++m) {
      const double seen = observed(static_cast<Index>(m));
      const double edge = law.tail(m).edge(law.share(m) * threshold);
      const auto part = static_cast<std::size_t>(parts[m]);
      out.lows.push_back(out.weighted[m] < threshold ? lower(labels, part, at[part], seen,
                                                             std::min(edge, seen * (1.0 - 1e-6)),
                                                             law.share(m) * threshold, by_class)
                                                     : 0.0);
      out.low = std::max(out.low, out.lows.back());
    }
    return out;
  }

  // A row for each of `count` sets of labels, label(r, i). `at`: the classes of the last set that
  // have the largest statistics, -1 of parts without one.
  template <class Label>
  Matrix statistics(Index count, const Label& label,
                    std::array<int, class_parts>* at = nullptr) const {
    const Index n = rows_.size(), k = rows_.count();
    const Index block = std::min(std::max<Index>(1000000 / n, 1), redraw_block);
    Matrix out(count, class_parts);
    parallel_for(engine_, (count + block - 1) / block, [&](Index task) {
      const Index begin = task * block, size = std::min(block, count - begin);
      const RowLists lists = drawn_rows(begin, size, label);
      std::vector<Matrix> of_events;
      for (Index j = 0; j <= k; ++j) {
        const ClassEvent& one = events_[static_cast<std::size_t>(j)];
        of_events.emplace_back(size, one.statistics());
        one.redraws->statistics(
            size,
            [&](auto& sums) {
              for (Index r = 0; r < size; ++r) {
                lists.each(r, j,
                           [&](int i) { sums.one(one.place[static_cast<std::size_t>(i)], r); });
              }
            },
            of_events.back());
      }
      for (Index r = 0; r < size; ++r) {
        std::array<int, class_parts> largest;
        out.row(begin + r) = combined(lists, of_events, r, largest).transpose();
        if (at != nullptr) *at = largest;
      }
    });
    return out;
  }

 private:
  // The rows of each label in several redraws; the last list has those whose label is not a most
  // probable one.
  struct RowLists {
    Index columns;
    std::vector<int> rows;
    std::vector<std::size_t> start;
    Vector temperature;
    template <class Task>
    void each(Index r, Index j, const Task& task) const {
      const auto list = static_cast<std::size_t>(r * columns + j);
      for (std::size_t a = start[list]; a < start[list + 1]; ++a) task(rows[a]);
    }
    double number(Index r, Index j) const {
      const auto list = static_cast<std::size_t>(r * columns + j);
      return static_cast<double>(start[list + 1] - start[list]);
    }
  };

  template <class Label>
  RowLists drawn_rows(Index begin, Index size, const Label& label) const {
    const Index n = rows_.size(), k = rows_.count();
    RowLists out;
    out.columns = k + 1;
    out.start = {0};
    out.temperature = Vector::Constant(size, logs_);
    std::vector<int> labels(static_cast<std::size_t>(n)), missed(labels);
    for (Index r = 0; r < size; ++r) {
      std::vector<std::size_t> next(static_cast<std::size_t>(k) + 1, 0);
      std::size_t n_missed = 0;
      for (Index i = 0; i < n; ++i) {
        const int drawn = label(begin + r, i);
        labels[static_cast<std::size_t>(i)] = drawn;
        ++next[static_cast<std::size_t>(drawn) + 1];
        out.temperature(r) -= rows_.logs(drawn, i);
        missed[n_missed] = static_cast<int>(i);
        n_missed += missed_[static_cast<std::size_t>(i * k + drawn)];
      }
      std::size_t at = out.rows.size();
      for (std::size_t j = 0; j < next.size(); ++j) {
        at += next[j];
        next[j] = at;
        if (j > 0) out.start.push_back(at);
      }
      out.rows.resize(at);
      for (Index i = 0; i < n; ++i) {
        out.rows[next[static_cast<std::size_t>(labels[static_cast<std::size_t>(i)])]++] =
            static_cast<int>(i);
      }
      const auto end = missed.begin() + static_cast<std::ptrdiff_t>(n_missed);
      out.rows.insert(out.rows.end(), missed.begin(), end);
      out.start.push_back(out.rows.size());
    }
    return out;
  }

  ClassEvent event(const Vector& p, bool top) const {
    ClassEvent out;
    const Vector none;
    JointRows rows = joint_rows(p, none, none, none);
    out.place.resize(static_cast<std::size_t>(rows.size()));
    for (std::size_t s = 0; s < rows.order.size(); ++s) {
      out.place[static_cast<std::size_t>(rows.order[s])] = static_cast<int>(s);
    }
    const std::vector<double> knots = joint_knots(rows, detail::even_shares(8));
    const bool turned = rows.turned;
    rows.turned = false;  // the knots are those of the event that the rows have
    out.parts = std::make_unique<JointParts>(joint_parts(engine_, std::move(rows), {knots, knots}));
    out.parts->rows.turned = turned;
    // usual: no event of a class, and always that of the most probable one
    out.redraws = std::make_unique<RowRedraws<ClassEvent::Once>>(
        *out.parts, Vector::Constant(p.size(), turned != top ? 1.0 : 0.0), ClassEvent::Once());
    if (!top) out.trust = out.parts->information(0) / (1.0 + out.parts->information(0));
    return out;
  }

  void scores() {
    expected_ = rows_.p.colwise().sum();
    const Vector mean = rows_.p.cwiseProduct(rows_.logs.transpose()).rowwise().sum();
    logs_ = mean.sum();
    const Matrix off = rows_.logs.transpose().colwise() - mean;
    // of rows that are certain, as of one event's
    variance_ =
        rows_.p.cwiseProduct(off.cwiseAbs2()).sum() + 1e-12 * static_cast<double>(rows_.size());
    skew_ = -rows_.p.cwiseProduct(off.array().cube().matrix()).sum() / std::pow(variance_, 1.5);
    covariance_ = -engine_.dense.crossprod(rows_.p);
    covariance_.diagonal() += expected_;
    covariance_.diagonal().array() += 1.0;
    bias_ = cholesky_factor(covariance_);
  }

  Vector combined(const RowLists& lists, const std::vector<Matrix>& events, Index r,
                  std::array<int, class_parts>& at) const {
    const Index k = rows_.count();
    Vector out = Vector::Zero(class_parts);
    at.fill(-1);
    const double z = without_skew(lists.temperature(r) / std::sqrt(variance_), skew_);
    out(temperature_part) = z * z;
    Vector bias(k);
    for (Index j = 0; j < k; ++j) bias(j) = expected_(j) - lists.number(r, j);
    out(biases_part) = inverse_square(bias_, bias);
    const auto largest = [&](ClassPart part, double value, Index j) {
      value = nine_digits(value);
      if (at[part] >= 0 && value <= out(part)) return;
      out(part) = value;
      at[part] = static_cast<int>(j);
    };
    for (Index j = 0; j < k; ++j) {
      const ClassEvent& one = events_[static_cast<std::size_t>(j)];
      const Matrix& found = events[static_cast<std::size_t>(j)];
      largest(bias_part, bias(j) * bias(j) / covariance_(j, j), j);
      largest(slope_part, one.trust * found(r, 0), j);
      if (one.has_hats()) largest(gap_part, one.trust * found(r, 3), j);
    }
    out(confidence_part) = events.back()(r, 0);
    if (events_.back().has_hats()) out(steps_part) = events.back()(r, 3);
    for (const ClassPart part : {temperature_part, biases_part}) out(part) = nine_digits(out(part));
    return out;
  }

  // residuals of an event's rows
  Vector residuals(const std::vector<int>& labels, std::size_t event) const {
    const bool top = event + 1 == events_.size();
    const JointRows& rows = events_[event].parts->rows;
    Vector y(rows.size());
    for (Index i = 0; i < y.size(); ++i) {
      const int label = labels[static_cast<std::size_t>(i)];
      const bool occurs = top ? rows_.p(i, label) == most_(i) : label == static_cast<int>(event);
      y(i) = occurs ? 1.0 : 0.0;
    }
    return rows.residuals(y);
  }

  Vector log_terms(const std::vector<int>& labels) const {
    Vector out = rows_.p.cwiseProduct(rows_.logs.transpose()).rowwise().sum();
    for (Index i = 0; i < out.size(); ++i)
      out(i) -= rows_.logs(labels[static_cast<std::size_t>(i)], i);
    return out;
  }

  Vector biases(const std::vector<int>& labels) const {
    Vector out = expected_;
    for (const int label : labels) out(label) -= 1.0;
    return out;
  }

  double sign(const std::vector<int>& labels, std::size_t part, int j) const {
    double value = 0.0;
    if (part == temperature_part) value = log_terms(labels).sum();
    if (part == bias_part) value = biases(labels)(j);
    if (part == confidence_part) {
      value = residuals(labels, events_.size() - 1).sum();
      if (events_.back().parts->rows.turned) value = -value;
    }
    return value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : 0.0;
  }

  // Lower limit of the canonical error from a part that rejects; parts of classes are also limits
  // of the class-wise error, and so is that of the temperature `by_class`. `edge`: the largest
  // statistic that would not.
  double lower(const std::vector<int>& labels, std::size_t part, int j, double seen, double edge,
               double tail, bool by_class) const {
    const auto n = static_cast<double>(rows_.size());
    const double share = std::sqrt(std::max(edge, 0.0) / seen);  // of the root statistic
    if (part == temperature_part) {
      // <e, l> is <e, l - c>, canonical for every c of the row, class-wise for one c of all rows
      const Vector terms = log_terms(labels), own = rows_.logs.colwise().mean();
      const Vector center = by_class ? Vector::Constant(own.size(), own.mean()) : own;
      const double norm = (rows_.logs.rowwise() - center.transpose()).norm();
      const double size = std::abs(terms.sum()) / std::sqrt(n) / norm;
      const double squares = (terms.array() - terms.mean()).square().sum() * n / (n - 1.0);
      return lower_size(size, size * share, squares / variance_);
    }
    const Vector bias = biases(labels);
    if (part == bias_part) {
      const double p = expected_(j) / n, m = bias(j) / n, hits = p - m;
      const double squares = n / (n - 1.0) * n * hits * (1.0 - hits);
      return lower_size(std::abs(m), std::abs(m) * share, (squares + 1.0) / covariance_(j, j));
    }
    if (part == biases_part) {
      const Matrix identity = Matrix::Identity(bias.size(), bias.size());
      Matrix residual = rows_.p;
      for (Index i = 0; i < rows_.size(); ++i) {
        residual(i, labels[static_cast<std::size_t>(i)]) -= 1.0;
      }
      residual.rowwise() -= bias.transpose() / n;
      const Matrix squares = engine_.dense.crossprod(residual) * (n / (n - 1.0)) + identity;
      return lower_ellipsoid(bias / n, covariance_ / (n * n), squares / (n * n), identity, edge);
    }
    const bool top = part == confidence_part || part == steps_part;
    const auto number = top ? events_.size() - 1 : static_cast<std::size_t>(j);
    const ClassEvent& one = events_[number];
    // the gap of an event of several classes is at most the root of their number times the error
    const double unit = top ? 1.0 / std::sqrt(most_shared_) : 1.0;
    const Vector e = residuals(labels, number);
    if (part == slope_part || part == confidence_part) {
      const Vector scores = observed_scores(engine_, *one.parts, e);
      const Vector z = scores.cwiseQuotient(one.parts->information.cwiseSqrt());
      const double c = std::min(edge / one.trust, z.squaredNorm() * (1.0 - 1e-6));
      return unit * lower_cox(engine_, *one.parts, e, scores, c);
    }
    const ObservedRung rung =
        detail::observe_rung(engine_, one.parts->rows, *tested_rungs(*one.parts)[0], e);
    return unit * std::sqrt(lower_rung(rung, edge / one.trust, tail)) *
           few_failures_trust(count_failures(one.parts->rows, e));
  }

  const Engine engine_;
  ClassRows rows_;
  std::vector<ClassEvent> events_;     // of every class, and of the most probable ones
  std::vector<unsigned char> missed_;  // row by row: 1 of labels that are no most probable one
  Vector most_, expected_;
  double most_shared_ = 1.0;
  double logs_ = 0.0, variance_ = 0.0, skew_ = 0.0;
  Matrix covariance_;  // C + 1
  Matrix bias_;        // the covariance's Cholesky factor
  Matrix null_;
};

}  // namespace calibrisk

#endif
