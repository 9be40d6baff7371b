// SPDX-License-Identifier: GPL-3.0-or-later
// What the test of flips of several classes (class_flips.h) has for each of them: columns of sums,
// and what redrawn labels change in these.
#ifndef CALIBRISK_JOINT_FLIP_EVENTS_H
#define CALIBRISK_JOINT_FLIP_EVENTS_H

#include <calibrisk/joint/flips.h>

#include <array>
#include <functional>
#include <memory>

namespace calibrisk {

// One class against the others, or the most probable ones.
struct FlipEvent {
  int number = 0;  // of the class, from 1 on
  JointRows rows;
  double effective = 0.0;                  // effective number of rows
  Vector e;                                // of the sorted rows
  Labels cluster;                          // of the rows as given, from 1 on
  std::vector<std::vector<double>> knots;  // as rung_knots() has them
};

// Labels drawn from the predictions of rows that are independent.
struct FlipLabels {
  std::vector<int> numbers;                 // of the classes 0 ... K - 1, as their events have them
  std::function<int(Index, Index)> label;   // label(r, i): that of row i in redraw r
  std::function<bool(Index, int)> is_most;  // whether it is a most probable one
  Matrix terms;                             // of the temperature, for each row and label
};

// Sums over rows of all classes together, a row's term and the squares of its factors.
struct FlipTemperature {
  Vector terms, squares, variance, weight;
  Labels cluster;
};

namespace detail {

// The columns 1, slope and hats of an event.
class EventColumns {
 public:
  EventColumns(const Engine& engine, const FlipEvent& event) : event_(event) {
    const JointRows& rows = event.rows;
    basis_.add(LocalTerm(), 1);
    const Vector known = rows.weighted(rows.variance);
    information_ = event.effective * known.sum() / rows.total;
    if (!rows.constant()) {
      slope_ = rows.logit.array() - known.dot(rows.logit) / known.sum();
      LocalTerm term;
      term.factor = slope_.data();
      basis_.add(term, 1);
      const std::vector<double> knots = event.knots.empty() ? joint_knots(rows, even_shares(8))
                                                            : rung_knots(rows, event.knots)[0];
      if (knots.size() > 1) {
        hats_ = hat_positions(engine, rows.p, knots);
        LocalTerm hat;
        hat.hats = &hats_;
        basis_.add(hat, static_cast<Index>(knots.size()));
      }
    }
    gram_ = local_gram(engine, basis_, rows.size(), rows.counts, [](Index) { return true; });
    ones_ = column_squares(rows, event.e, Vector::Ones(rows.size()));
    clusters_ = sorted_clusters(rows, event.cluster);
  }
  EventColumns(const EventColumns&) = delete;
  EventColumns& operator=(const EventColumns&) = delete;

  const FlipEvent& event() const { return event_; }
  const ColumnSquares& ones() const { return ones_; }
  Index columns() const { return basis_.columns(); }
  // where its column 1 is, the others, and of redrawn sums the squares of each kind
  void place(Index one, Index others, Index squares) {
    one_ = one;
    others_ = others;
    squares_ = squares;
  }
  Index clusters() const { return clusters_.units(event_.rows.size()); }

  // of the columns 0, 1, and of the hats (2)
  bool has(int kind) const { return columns() > kind; }
  FlipNorm norm(int kind) const {
    double null = ones_.null_ratio();
    if (kind == 1) null = column_squares(event_.rows, event_.e, slope_).null_ratio();
    FlipNorm out{kind == 0 ? one_ : others_ + kind - 1,
                 whitener(kind),
                 null,
                 event_.number,
                 one_,
                 event_.rows.turned ? -1.0 : 1.0,
                 information_ / (1.0 + information_)};
    out.own = {squares_ + kind};
    return out;
  }

  void add(Index cluster, FlipSums& sums) const {
    for (const Index i : clusters_.rows(cluster)) {
      each(i, event_.e(i), [&](Index column, double value) { sums.add(column, value); });
    }
  }
  // task(given row, column, change) of the sums and squares by the event of each row; into `none`
  // those without any event
  template <class Task>
  void changes(Vector& none, const Task& task) const {
    const JointRows& rows = event_.rows;
    std::array<Matrix, 3> inverse;
    for (int kind = 0; kind < 3; ++kind) {
      if (has(kind)) inverse[static_cast<std::size_t>(kind)] = inverse_square_of(kind);
    }
    LocalRow row;
    for (Index i = 0; i < rows.size(); ++i) {
      const int given = rows.order[static_cast<std::size_t>(i)];
      const double without = rows.turned ? rows.p(i) - 1.0 : rows.p(i);
      const double change = rows.turned ? 1.0 : -1.0;
      each(i, without, [&](Index column, double value) { none(column) += value; });
      each(i, change, [&](Index column, double value) { task(given, column, value); });
      basis_.row(i, row);
      std::array<double, 3> square = {0.0, 0.0, 0.0};
      for (int a = 0; a < row.size; ++a) {
        for (int b = 0; b < row.size; ++b) {
          const int kind = kind_of(row.column[a]);
          if (kind != kind_of(row.column[b])) continue;
          square[static_cast<std::size_t>(kind)] +=
              row.value[a] * row.value[b] *
              inverse[static_cast<std::size_t>(kind)](row.column[a] - kind, row.column[b] - kind);
        }
      }
      const double weight = rows.weight(i) * rows.weight(i);
      for (int kind = 0; kind < 3; ++kind) {
        const double factor = weight * square[static_cast<std::size_t>(kind)];
        none(squares_ + kind) += factor * without * without;
        task(given, squares_ + kind, factor * change * (2.0 * without + change));
      }
    }
  }

 private:
  static int kind_of(Index column) { return static_cast<int>(std::min<Index>(column, 2)); }
  Matrix whitener(int kind) const {
    const Index size = kind < 2 ? 1 : columns() - 2;
    return whitening(gram_.block(kind, kind, size, size));
  }
  Matrix inverse_square_of(int kind) const {
    const Matrix w = whitener(kind);
    return w.transpose() * w;
  }
  // task(column, value) of a sorted row with the residual e
  template <class Task>
  void each(Index i, double e, const Task& task) const {
    LocalRow row;
    basis_.row(i, row);
    const double term = event_.rows.weight(i) * e;
    for (int a = 0; a < row.size; ++a) {
      task(row.column[a] == 0 ? one_ : others_ + row.column[a] - 1, term * row.value[a]);
    }
  }

  const FlipEvent& event_;
  LocalBasis basis_;
  Vector slope_;
  HatPositions hats_;
  Matrix gram_;
  ColumnSquares ones_;
  double information_ = 0.0;
  Index one_ = 0, others_ = 0, squares_ = 0;
  RowClusters clusters_;
};

// Sums of redrawn labels: those without any event, and what events of each row change.
class RedrawnLabels {
 public:
  RedrawnLabels(const FlipLabels& labels, const std::vector<std::unique_ptr<EventColumns>>& events,
                bool top, Index columns)
      : labels_(labels), none_(Vector::Zero(columns)), changes_(events.size()), top_(top) {
    for (std::size_t j = 0; j < events.size(); ++j) {
      Changes& own = changes_[j];
      own.of_row.assign(static_cast<std::size_t>(labels.terms.rows()), {0, 0});
      events[j]->changes(none_, [&](int row, Index column, double value) {
        auto& [begin, end] = own.of_row[static_cast<std::size_t>(row)];
        if (end == 0) begin = own.all.size();
        own.all.push_back({static_cast<int>(column), value});
        end = own.all.size();
      });
    }
    for (const int number : labels.numbers) {
      const auto at = std::find_if(events.begin(), events.end(),
                                   [&](const auto& one) { return one->event().number == number; });
      event_.push_back(static_cast<std::size_t>(at - events.begin()));
    }
  }

  // Of redraws begin ... begin + size - 1, a row each. `temperature`: the rows' weights, if there
  // is one, its `column` and that of its squares, times `unit`.
  Matrix operator()(Index begin, Index size, const FlipTemperature* temperature, Index column,
                    Index squares, double unit) const {
    Matrix out(size, none_.size());
    Vector s;
    for (Index r = 0; r < size; ++r) {
      s = none_;
      for (Index i = 0; i < labels_.terms.rows(); ++i) {
        const int label = labels_.label(begin + r, i);
        changes_[event_[static_cast<std::size_t>(label)]].add(i, s);
        if (top_ && labels_.is_most(i, label)) changes_.back().add(i, s);
        if (temperature == nullptr) continue;
        const double term = temperature->weight(i) * labels_.terms(i, label);
        s(column) += term;
        s(squares) += unit * term * term;
      }
      out.row(r) = s.transpose();
    }
    return out;
  }

 private:
  struct Changes {
    std::vector<ColumnChange> all;
    std::vector<std::pair<std::size_t, std::size_t>> of_row;  // begin and end
    void add(Index row, Vector& sums) const {
      const auto& [begin, end] = of_row[static_cast<std::size_t>(row)];
      for (std::size_t a = begin; a < end; ++a) sums(all[a].column) += all[a].value;
    }
  };
  const FlipLabels& labels_;
  Vector none_;
  std::vector<Changes> changes_;  // of each event
  std::vector<std::size_t> event_;
  bool top_;
};

}  // namespace detail

}  // namespace calibrisk

#endif
