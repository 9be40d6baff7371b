// SPDX-License-Identifier: GPL-3.0-or-later
// The AUROC of rows that are known by sums over cells alone. Between cells events and other rows
// are ordered as they are. Within one the nodes of both outcomes interleave as the rows do not, so
// that a node is placed by the other outcome's distribution function: a line through the edges of
// the cell and the function's values at its nodes (those below and half of its own: for Gauss's
// rule the function lies between the sums without and with it). Fewer nodes than a rule may have
// are rows.
#ifndef CALIBRISK_STATES_CELL_AUROC_H
#define CALIBRISK_STATES_CELL_AUROC_H

#include <calibrisk/recal/knot_line.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace calibrisk {

// Nodes with their weights and outcomes 0 or 1.
struct CellNodes {
  ConstVectorRef x, event, weight;
};

class CellPlacements {
 public:
  // `nodes`: of all rows, at most `most` in a cell and outcome.
  CellPlacements(const CellNodes& nodes, const std::vector<double>& edges, std::size_t most)
      : edges_(edges), cells_(edges.size() - 1) {
    std::vector<Index> order(static_cast<std::size_t>(nodes.x.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(),
              [&](Index i, Index j) { return nodes.x[i] < nodes.x[j]; });
    for (const Index i : order) {
      Side& side = cells_[cell_of(nodes.x[i])].of[nodes.event[i] == 1.0 ? 1 : 0];
      side.x.push_back(nodes.x[i]);
      side.weight.push_back(nodes.weight[i]);
    }
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      for (const int k : {0, 1}) {
        Side& side = cells_[c].of[k];
        side.before = total_[k];
        if (side.x.size() >= most) side.set_line(edges_[c], edges_[c + 1]);
        for (const double w : side.weight) total_[k] += w;
      }
    }
  }

  double total(int kind) const { return total_[kind]; }

  // The share of the other outcome that a row is right about: below an event, above another row.
  double operator()(double x, int kind) const {
    const std::size_t c = cell_of(x);
    const int other = 1 - kind;
    const double below = cells_[c].of[other].below(x, 1e-3 * (edges_[c + 1] - edges_[c]));
    return kind == 1 ? below / total_[other] : 1.0 - below / total_[other];
  }

 private:
  struct Side {
    std::vector<double> x, weight;
    double before = 0.0;
    std::vector<KnotLine> line;  // one, or none where the nodes are rows

    void set_line(double low, double high) {
      std::vector<double> at = {std::min(low, x.front())}, reached = {0.0};
      double sum = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] > at.back()) {
          at.push_back(x[i]);
          reached.push_back(sum + weight[i] / 2.0);
        }
        sum += weight[i];
      }
      if (high > at.back()) {
        at.push_back(high);
        reached.push_back(sum);
      }
      line.emplace_back(std::move(at), std::move(reached));
    }
    // The rules of both outcomes put rows that are tied nearly at one place: `near`.
    double below(double value, double near) const {
      double sum = before;
      for (std::size_t i = 0; i < x.size() && x[i] <= value + near; ++i) {
        if (x[i] >= value - near) return sum + weight[i] / 2.0;
        sum += weight[i];
      }
      return line.empty() ? sum : before + line[0](value);
    }
  };
  struct Cell {
    Side of[2];
  };

  // an edge belongs to the cell below it
  std::size_t cell_of(double x) const {
    const auto at = std::lower_bound(edges_.begin() + 1, edges_.end() - 1, x);
    return static_cast<std::size_t>(at - edges_.begin()) - 1;
  }

  std::vector<double> edges_;
  std::vector<Cell> cells_;
  double total_[2] = {0.0, 0.0};
};

struct CellAuroc {
  double value;
  Vector influence;
};

// `nodes`: of all rows; `parts`: of their parts, whose influences are returned (DeLong et al.
// 1988).
inline CellAuroc cell_auroc(const CellNodes& nodes, const CellNodes& parts,
                            const std::vector<double>& edges, std::size_t most) {
  const CellPlacements placement(nodes, edges, most);
  const auto kind_of = [](const CellNodes& of, Index i) { return of.event[i] == 1.0 ? 1 : 0; };
  const auto means = [&](const CellNodes& of, Vector* rows, double(&mean)[2], double(&total)[2]) {
    for (Index i = 0; i < of.x.size(); ++i) {
      const int k = kind_of(of, i);
      const double own = placement(of.x[i], k);
      if (rows != nullptr) (*rows)[i] = own;
      mean[k] += of.weight[i] * own;
      total[k] += of.weight[i];
    }
    for (const int k : {0, 1}) mean[k] /= total[k];
  };
  CellAuroc out{0.0, Vector(parts.x.size())};
  double mean[2] = {0.0, 0.0}, total[2] = {0.0, 0.0}, of_parts[2] = {0.0, 0.0},
         weight[2] = {0.0, 0.0};
  means(nodes, nullptr, mean, total);
  out.value = (mean[0] + mean[1]) / 2.0;
  means(parts, &out.influence, of_parts, weight);
  for (Index i = 0; i < parts.x.size(); ++i) {
    const int k = kind_of(parts, i);
    out.influence[i] = (out.influence[i] - of_parts[k]) / (weight[k] / (weight[0] + weight[1]));
  }
  return out;
}

}  // namespace calibrisk

#endif
