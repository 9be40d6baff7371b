// SPDX-License-Identifier: GPL-3.0-or-later
// The test of flips (flips.h) of more than two classes, with the parts of the test of redrawn
// labels (class_test.h). In place of a statistic in the metric of the covariance at calibration
// each has a norm of sums of residuals e_ik:
//   temperature   sum_i w_i <e_i, l_i> over the norm of l = log p less its mean over the classes
//                 (class-wise: over classes and rows)
//   biases        the sums of all classes
//   bias          the sum of a class, the largest one
//   slope, gap    those of a class with its logit, and with hats: the largest ones
//   confidence    the larger one of the sum and the slope of the most probable classes
//   steps         their hats
// A statistic of a class is multiplied by I / (I + 1), I the variance of its number of events at
// calibration: classes that are hardly ever expected would have the largest ones.
#ifndef CALIBRISK_JOINT_CLASS_FLIPS_H
#define CALIBRISK_JOINT_CLASS_FLIPS_H

#include <calibrisk/joint/class_parts.h>
#include <calibrisk/joint/class_rows.h>
#include <calibrisk/joint/flip_events.h>

#include <memory>

namespace calibrisk {

namespace detail {

// Classes in an order that does not depend on the given one.
inline void sort_classes(std::vector<FlipEvent>& classes) {
  using Key = std::array<double, 5>;
  const auto key = [](const FlipEvent& event) {
    const JointRows& rows = event.rows;
    const auto rounded = [&](double mean) { return std::nearbyint(mean * 1e9); };
    const Vector p = rows.turned ? Vector(1.0 - rows.p.array()) : rows.p;
    const Vector e = rows.turned ? Vector(-event.e) : event.e;
    return Key{-rounded(rows.mean(p)), rounded(rows.mean(p.cwiseAbs2())),
               rounded(rows.mean(p.array().cube().matrix())), rounded(rows.mean(e)),
               rounded(rows.mean(e.cwiseProduct(p)))};
  };
  std::vector<std::pair<Key, std::size_t>> keys;
  for (std::size_t k = 0; k < classes.size(); ++k) keys.emplace_back(key(classes[k]), k);
  std::stable_sort(keys.begin(), keys.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<FlipEvent> out;
  for (const auto& one : keys) out.push_back(std::move(classes[one.second]));
  classes = std::move(out);
}

}  // namespace detail

// Class-wise from the classes, with the temperature where it is given; canonical with the most
// probable ones (`top`) too. `shared`: the largest number of most probable classes of a row;
// `labels`: of rows that are redrawn as well.
inline FlipResult class_flips(const Engine& engine, std::vector<FlipEvent> classes,
                              const FlipEvent* top, const FlipTemperature* temperature,
                              double shared, Index redraws, double alpha,
                              const FlipLabels* labels = nullptr) {
  detail::sort_classes(classes);
  std::vector<std::unique_ptr<detail::EventColumns>> events;
  for (const FlipEvent& one : classes) {
    events.push_back(std::make_unique<detail::EventColumns>(engine, one));
  }
  const auto k = static_cast<Index>(classes.size());
  if (top != nullptr) events.push_back(std::make_unique<detail::EventColumns>(engine, *top));
  Index columns = static_cast<Index>(events.size()), clusters = 0, sums_before = columns;
  for (const auto& event : events) sums_before += event->columns() - 1;
  if (temperature != nullptr) ++sums_before;
  const auto squares_of = [&](std::size_t j) { return sums_before + 3 * static_cast<Index>(j); };
  for (std::size_t j = 0; j < events.size(); ++j) {
    events[j]->place(static_cast<Index>(j), columns, squares_of(j));
    columns += events[j]->columns() - 1;
    clusters = std::max(clusters, events[j]->clusters());
  }
  const Index of_temperature = columns;
  if (temperature != nullptr) ++columns;

  const double total = classes[0].rows.total;
  std::vector<FlipPart> parts;
  const auto part = [&](ClassPart number) -> std::vector<FlipNorm>& {
    parts.push_back({static_cast<int>(number), class_shares[number], {}});
    return parts.back().norms;
  };
  RowClusters in_cluster;
  if (temperature != nullptr) {
    const FlipTemperature& t = *temperature;
    const double unit = 1.0 / std::sqrt(t.weight.dot(t.squares));
    const double known = t.weight.dot(t.variance), seen = t.weight.dot(t.terms.cwiseAbs2());
    if (std::isfinite(unit)) {
      part(temperature_part)
          .push_back({of_temperature, Matrix::Constant(1, 1, unit),
                      ColumnSquares{known, seen}.null_ratio(), 0, of_temperature});
      parts.back().norms[0].own = {squares_of(events.size())};
    }
    in_cluster = RowClusters(t.cluster);
  }
  ColumnSquares all;
  for (Index j = 0; j < k; ++j) all += events[static_cast<std::size_t>(j)]->ones();
  FlipNorm biases{0, Matrix::Identity(k, k) / std::sqrt(total), all.null_ratio()};
  for (Index j = 0; j < k; ++j) biases.own.push_back(squares_of(static_cast<std::size_t>(j)));
  part(biases_part).push_back(std::move(biases));
  const std::array<ClassPart, 3> of_class = {bias_part, slope_part, gap_part};
  for (int kind = 0; kind < 3; ++kind) {
    std::vector<FlipNorm>& norms = part(of_class[static_cast<std::size_t>(kind)]);
    for (Index j = 0; j < k; ++j) {
      const detail::EventColumns& event = *events[static_cast<std::size_t>(j)];
      if (event.has(kind)) norms.push_back(event.norm(kind));
    }
  }
  if (top != nullptr) {
    for (const ClassPart number : {confidence_part, steps_part}) {
      std::vector<FlipNorm>& norms = part(number);
      for (const int kind : {0, 1, 2}) {
        if ((kind == 2) != (number == steps_part) || !events.back()->has(kind)) continue;
        norms.push_back(events.back()->norm(kind));
        norms.back().trust = 1.0;
        norms.back().unit = 1.0 / std::sqrt(shared);
      }
    }
  }

  FlipSums sums(columns);
  for (Index c = 0; c < clusters; ++c) {
    for (const auto& event : events) {
      if (c < event->clusters()) event->add(c, sums);
    }
    if (temperature != nullptr) {
      for (const Index i : in_cluster.rows(c)) {
        sums.add(of_temperature, temperature->weight(i) * temperature->terms(i));
      }
    }
    sums.close();
  }
  if (labels == nullptr) return flip_test(engine, sums, parts, total, redraws, alpha);
  const Index of_squares = squares_of(events.size());
  const detail::RedrawnLabels drawn(*labels, events, top != nullptr, of_squares + 1);
  const double unit =
      temperature == nullptr ? 0.0 : 1.0 / temperature->weight.dot(temperature->squares);
  return flip_test(engine, sums, parts, total, redraws, alpha, [&](Index begin, Index size) {
    return drawn(begin, size, temperature, of_temperature, of_squares, unit);
  });
}

// The same from rows of predictions (the columns are classes) with labels 1 ... K, weights and
// clusters (1 ... C); both may be empty.
inline FlipResult class_flips(const Engine& engine, const ConstMatrixRef& p, const Labels& labels,
                              const Vector& weights, const Labels& clusters, bool canonical,
                              Index redraws, double alpha) {
  const Index n = p.rows(), k = p.cols();
  const ClassRows sorted = class_rows(p, labels);
  const auto given = [&](Index i) { return sorted.order[static_cast<std::size_t>(i)]; };
  const std::vector<int> own_labels = sorted.labels(labels);
  const auto label = [&](Index i) { return own_labels[static_cast<std::size_t>(i)]; };
  const auto weight_of = [&](Index i) { return weights.size() == 0 ? 1.0 : weights(given(i)); };
  // rows with the same predictions by what else they are
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    for (Index j = 0; j < k; ++j) {
      if (sorted.p(a, j) != sorted.p(b, j)) return sorted.p(a, j) < sorted.p(b, j);
    }
    return std::make_pair(label(a), weight_of(a)) < std::make_pair(label(b), weight_of(b));
  });
  Matrix probs(n, k);
  Vector weight(n);
  std::vector<int> y(static_cast<std::size_t>(n));
  Labels cluster(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    probs.row(i) = sorted.p.row(order[at]);
    weight(i) = weight_of(order[at]);
    y[at] = label(order[at]);
    cluster[at] = clusters.empty() ? static_cast<int>(i) + 1
                                   : clusters[static_cast<std::size_t>(given(order[at]))];
  }
  const auto event = [&](int number, const Vector& of, const Vector& occurs) {
    FlipEvent out;
    out.number = number;
    out.rows = joint_rows(of, weight, Vector(), occurs);
    out.effective = out.rows.effective();
    out.e = out.rows.residuals(occurs);
    out.cluster = cluster;
    return out;
  };
  const auto outcome = [&](const auto& occurs) {
    Vector out(n);
    for (Index i = 0; i < n; ++i) {
      out(i) = occurs(i, y[static_cast<std::size_t>(i)]) ? 1.0 : 0.0;
    }
    return out;
  };
  std::vector<FlipEvent> events;
  for (Index j = 0; j < k; ++j) {
    events.push_back(event(static_cast<int>(sorted.classes[static_cast<std::size_t>(j)]) + 1,
                           probs.col(j), outcome([&](Index, int own) { return own == j; })));
  }
  const Matrix logs = probs.array().max(std::exp(-12.0)).log();
  const Vector mean = probs.cwiseProduct(logs).rowwise().sum();
  FlipTemperature temperature;
  temperature.terms.resize(n);
  for (Index i = 0; i < n; ++i) {
    temperature.terms(i) = mean(i) - logs(i, y[static_cast<std::size_t>(i)]);
  }
  // <e, l> is <e, l - c>, canonical for every c of the row, class-wise for one c of all rows
  const Vector own = logs.rowwise().mean();
  const Vector center = canonical ? own : Vector::Constant(n, weight.dot(own) / weight.sum());
  temperature.squares = (logs.colwise() - center).rowwise().squaredNorm();
  temperature.variance = probs.cwiseProduct((logs.colwise() - mean).cwiseAbs2()).rowwise().sum();
  temperature.weight = weight;
  temperature.cluster = cluster;
  const Vector most = probs.rowwise().maxCoeff();
  FlipLabels drawn;
  for (Index j = 0; j < k; ++j) {
    drawn.numbers.push_back(static_cast<int>(sorted.classes[static_cast<std::size_t>(j)]) + 1);
  }
  drawn.label = [&](Index r, Index i) {
    return sorted.drawn(
        order[static_cast<std::size_t>(i)],
        counter_uniform(class_key, static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(i)));
  };
  drawn.is_most = [&](Index i, int own_label) { return probs(i, own_label) == most(i); };
  drawn.terms = (-logs).colwise() + mean;
  Labels apart = clusters;
  std::sort(apart.begin(), apart.end());
  const bool alone = std::adjacent_find(apart.begin(), apart.end()) == apart.end();
  const FlipLabels* redrawn = alone ? &drawn : nullptr;
  if (!canonical) {
    return class_flips(engine, events, nullptr, &temperature, 1.0, redraws, alpha, redrawn);
  }

  Vector number = Vector::Zero(n);
  for (Index j = 0; j < k; ++j) {
    number += (probs.col(j).array() == most.array()).cast<double>().matrix();
  }
  const FlipEvent top = event(0, number.cwiseProduct(most).cwiseMin(1.0),
                              outcome([&](Index i, int y_i) { return probs(i, y_i) == most(i); }));
  return class_flips(engine, events, &top, &temperature, number.maxCoeff(), redraws, alpha,
                     redrawn);
}

}  // namespace calibrisk

#endif
