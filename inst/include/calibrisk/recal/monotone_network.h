// SPDX-License-Identifier: GPL-3.0-or-later
// The scalar monotone map of Rahimi et al. (2020, "Intra order-preserving functions"):
//   m(x) = int_0^x g(t) dt,   g(t) = ELU(f(t)) + 1 + 1e-8 > 0,   ELU(v) + 1 = v + 1 (v > 0), exp(v)
//   (else)
// with f a ReLU network of one input. Applied to every log-probability: softmax(m(l_1), ...,
// m(l_K)).
//
// Two integrators. `integral_clenshaw_curtis` is the paper's, per element, O(nodes) network
// evaluations each. `SlopeTable` evaluates g once on a fine grid and integrates its piecewise
// linear interpolant exactly. The integral is strictly increasing for any network, so the map keeps
// the order and stays injective, and its gradient is exact. An n x K fit costs O(n K) plus one
// network pass over the grid; the paper's costs O(n K nodes width^2).
#ifndef CALIBRISK_RECAL_MONOTONE_NETWORK_H
#define CALIBRISK_RECAL_MONOTONE_NETWORK_H

#include <calibrisk/recal/softmax_loss.h>

namespace calibrisk {

// Weights of the Clenshaw-Curtis rule on [-1, 1] at cos(j pi / n), j = 0, ..., n: exact for
// polynomials of degree n. The last cosine coefficient is halved for even n; without that the
// weights of n = 4 are (.05, .5667, .7667, .5667, .05) instead of (1/15, 8/15, 12/15, 8/15, 1/15).
inline Vector clenshaw_curtis_weights(Index n) {
  require(n >= 1, "clenshaw_curtis_weights: at least one interval.");
  const double pi = 3.14159265358979323846;
  Vector w(n + 1);
  for (Index j = 0; j <= n; ++j) {
    double sum = 1.0;
    for (Index k = 1; k <= n / 2; ++k) {
      const double last = 2 * k == n ? 1.0 : 2.0;
      const double angle = 2.0 * pi * static_cast<double>(k * j) / static_cast<double>(n);
      sum -= last / static_cast<double>(4 * k * k - 1) * std::cos(angle);
    }
    w[j] = (j == 0 || j == n ? 1.0 : 2.0) / static_cast<double>(n) * sum;
  }
  return w;
}

// Parameters in one vector, layer by layer: weights (width x inputs, column-major), then
// biases; the last layer has one output.
class SlopeNetwork {
 public:
  SlopeNetwork(std::vector<Index> hidden, const ConstVectorRef& parameters)
      : hidden_(std::move(hidden)), parameters_(parameters) {
    for (const Index width : hidden_) {
      require(width >= 1 && width <= parameters_.size(), "SlopeNetwork: a width is out of range.");
    }
    require(parameters_.size() == size(hidden_), "SlopeNetwork: wrong number of parameters.");
  }

  static Index size(const std::vector<Index>& hidden) {
    Index inputs = 1, total = 0;
    for (const Index width : hidden) {
      total += width * (inputs + 1);
      inputs = width;
    }
    return total + inputs + 1;
  }

  // g at each t.
  Vector operator()(const Vector& t) const {
    std::vector<Matrix> layers;
    return slope(forward(t, layers));
  }

  // d objective / d parameters from d objective / d g at each t.
  Vector gradient(const Vector& t, const Vector& d_slope) const {
    std::vector<Matrix> layers;
    const Vector f = forward(t, layers);
    Matrix back = (d_slope.array() * (f.array() > 0.0).select(1.0, f.array().min(0.0).exp()))
                      .matrix()
                      .transpose();
    Vector out(parameters_.size());
    Index end = parameters_.size();
    for (Index layer = static_cast<Index>(hidden_.size()); layer >= 0; --layer) {
      const Matrix& input = layers[static_cast<std::size_t>(layer)];
      const Index outputs = back.rows(), inputs = input.rows();
      end -= outputs * (inputs + 1);
      Eigen::Map<Matrix>(out.data() + end, outputs, inputs) = back * input.transpose();
      out.segment(end + outputs * inputs, outputs) = back.rowwise().sum();
      if (layer > 0) {
        const Eigen::Map<const Matrix> w(parameters_.data() + end, outputs, inputs);
        back = ((w.transpose() * back).array() * (input.array() > 0.0).cast<double>()).matrix();
      }
    }
    return out;
  }

 private:
  // f at each t; layers[j] is the input of layer j, [width x n].
  Vector forward(const Vector& t, std::vector<Matrix>& layers) const {
    layers.assign(1, t.transpose());
    Index begin = 0;
    for (const Index width : hidden_) {
      layers.push_back(affine(layers.back(), width, begin).cwiseMax(0.0));
    }
    return affine(layers.back(), 1, begin).transpose();
  }

  Matrix affine(const Matrix& input, Index outputs, Index& begin) const {
    const Index inputs = input.rows();
    const Eigen::Map<const Matrix> w(parameters_.data() + begin, outputs, inputs);
    const Eigen::Map<const Vector> b(parameters_.data() + begin + outputs * inputs, outputs);
    begin += outputs * (inputs + 1);
    return (w * input).colwise() + b;
  }

  static Vector slope(const Vector& f) {
    return ((f.array() > 0.0).select(f.array() + 1.0, f.array().min(0.0).exp()) + 1e-8).matrix();
  }

  std::vector<Index> hidden_;
  Vector parameters_;
};

// A start without chance: the slope is that of temperature scaling, b (last layer 0), and the
// hidden units bend at quantiles of the log-probabilities of this spread, alternately to the left
// and right.
inline Vector start_parameters(const std::vector<Index>& hidden, double b, double spread,
                               const ConstVectorRef& bends) {
  require(!hidden.empty() && bends.size() == hidden[0], "A network bends at each unit.");
  Vector theta = Vector::Zero(SlopeNetwork::size(hidden));
  double* next = theta.data();
  for (Index i = 0; i < 2 * hidden[0]; ++i) {
    const Index unit = i % hidden[0];
    const double direction = (unit % 2 == 0 ? 1.0 : -1.0) / spread;
    *next++ = i < hidden[0] ? direction : -direction * bends[unit];
  }
  for (std::size_t layer = 1; layer < hidden.size(); ++layer) {
    const Index width = hidden[layer], inputs = hidden[layer - 1];
    for (Index j = 0; j < inputs; ++j) {
      for (Index i = 0; i < width; ++i) {
        // a little of everything breaks the symmetry of units that share an input
        *next++ = (i % inputs == j ? 1.0 : 0.0) +
                  0.1 * std::cos(static_cast<double>((i + 1) * 2 * (j + 1)));
      }
    }
    for (Index i = 0; i < width; ++i) *next++ = 0.1 * std::sin(static_cast<double>(i + 1));
  }
  theta[theta.size() - 1] = b >= 1.0 ? b - 1.0 : std::log(b);
  return theta;
}

// int_0^x g for each x by the paper's rule, nodes t_j = x/2 (cos(j pi / n) + 1).
inline Vector integral_clenshaw_curtis(const SlopeNetwork& network, const ConstVectorRef& x,
                                       Index n) {
  const Vector w = clenshaw_curtis_weights(n);
  Vector node(n + 1);
  for (Index j = 0; j <= n; ++j) {
    node[j] =
        0.5 *
        (std::cos(3.14159265358979323846 * static_cast<double>(j) / static_cast<double>(n)) + 1.0);
  }
  Vector out(x.size());
  for (Index i = 0; i < x.size(); ++i) {
    out[i] = 0.5 * x[i] * w.dot(network(x[i] * node));
  }
  return out;
}

// m on [lower, upper] from g at n_cells + 1 equally spaced knots, m(upper) = 0; linear outside.
class SlopeTable {
 public:
  SlopeTable(double lower, double upper, Index n_cells)
      : lower_(lower),
        step_((upper - lower) / static_cast<double>(n_cells)),
        knots_(Vector::LinSpaced(n_cells + 1, lower, upper)) {
    require(upper > lower && n_cells >= 1, "SlopeTable: an interval of positive length.");
  }

  const Vector& knots() const { return knots_; }

  void set_slopes(Vector slopes) {
    slopes_ = std::move(slopes);
    values_.resize(slopes_.size());
    // from the top, where the large probabilities are: a steep slope far below costs no digits
    // there
    values_[slopes_.size() - 1] = 0.0;
    for (Index k = slopes_.size() - 2; k >= 0; --k) {
      values_[k] = values_[k + 1] - 0.5 * step_ * (slopes_[k] + slopes_[k + 1]);
    }
  }

  struct Place {
    Index cell;
    double u;  // position in the cell, [0, 1]; outside for the two outer stretches
  };
  Place place(double x) const {
    const double position = (x - lower_) / step_;
    const Index last = knots_.size() - 2;
    const Index cell = position <= 0.0                         ? 0
                       : position >= static_cast<double>(last) ? last
                                                               : static_cast<Index>(position);
    return {cell, position - static_cast<double>(cell)};
  }

  double operator()(double x) const {
    const Place at = place(x);
    const Index k = at.cell;
    if (at.u < 0.0) return values_[0] + step_ * slopes_[0] * at.u;
    if (at.u > 1.0) return step_ * slopes_[k + 1] * (at.u - 1.0);
    return values_[k] + step_ * at.u * (slopes_[k] + 0.5 * at.u * (slopes_[k + 1] - slopes_[k]));
  }

  // Adds d m(x) / d(values, slopes) times `weight`.
  void push_back_through(double x, double weight, Vector& d_values, Vector& d_slopes) const {
    const Place at = place(x);
    const Index k = at.cell;
    if (at.u < 0.0) {
      d_values[0] += weight;
      d_slopes[0] += weight * step_ * at.u;
    } else if (at.u > 1.0) {
      d_slopes[k + 1] += weight * step_ * (at.u - 1.0);
    } else {
      const double half = 0.5 * at.u * at.u;
      d_values[k] += weight;
      d_slopes[k] += weight * step_ * (at.u - half);
      d_slopes[k + 1] += weight * step_ * half;
    }
  }

  // values_k = -(sum of the cells above): turn d values into d slopes.
  Vector collect(const Vector& d_values, Vector d_slopes) const {
    double below = 0.0;
    for (Index k = 0; k + 1 < d_values.size(); ++k) {
      below += d_values[k];
      d_slopes[k] -= 0.5 * step_ * below;
      d_slopes[k + 1] -= 0.5 * step_ * below;
    }
    return d_slopes;
  }

 private:
  double lower_, step_;
  Vector knots_, slopes_, values_;
};

struct NetworkLoss {
  double value = 0.0;
  Vector gradient;
};

// Mean loss of softmax(m(l)) and its gradient in the network's parameters.
inline NetworkLoss network_loss(const Engine& engine, const SlopeNetwork& network,
                                SlopeTable& table, const ConstMatrixRef& logits, const Labels& y,
                                const ConstVectorRef& weights, Loss loss) {
  struct Part {
    double value = 0.0;
    Vector d_values, d_slopes;
  };
  table.set_slopes(network(table.knots()));
  const Index n_knots = table.knots().size(), n_classes = logits.cols();
  const double scale = 1.0 / static_cast<double>(logits.rows());
  const RowShares shares(weights, logits.rows());
  // a block has as many numbers as the parts that it adds to, or more
  const Index rows = std::min<Index>(1024, std::max<Index>(64, 131072 / n_classes));
  Part total = parallel_reduce(
      engine, logits.rows(), rows, Part{0.0, Vector::Zero(n_knots), Vector::Zero(n_knots)},
      [&](Index begin, Index size) {
        Part part{0.0, Vector::Zero(n_knots), Vector::Zero(n_knots)};
        RowBlock s(size, n_classes);
        for (Index k = 0; k < n_classes; ++k) {
          for (Index i = 0; i < size; ++i) s(i, k) = table(logits(begin + i, k));
        }
        part.value = softmax_loss_block(s, y.data() + begin, shares.block(begin, size), loss, true);
        for (Index k = 0; k < n_classes; ++k) {
          for (Index i = 0; i < size; ++i) {
            table.push_back_through(logits(begin + i, k), scale * s(i, k), part.d_values,
                                    part.d_slopes);
          }
        }
        return part;
      },
      [](Part& sum, const Part& part) {
        sum.value += part.value;
        sum.d_values += part.d_values;
        sum.d_slopes += part.d_slopes;
      });
  const Vector d_slopes = table.collect(total.d_values, std::move(total.d_slopes));
  return {scale * total.value, network.gradient(table.knots(), d_slopes)};
}

}  // namespace calibrisk

#endif
