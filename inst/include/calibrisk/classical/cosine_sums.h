// SPDX-License-Identifier: GPL-3.0-or-later
// v_0 + (-1)^k v_N + 2 sum_{0<j<N} v_j cos(pi j k / N), k = 0, ..., N: the Fourier transform of the
// even extension of v with period 2 N, which is real and even. Twice is 2 N times v.
#ifndef CALIBRISK_CLASSICAL_COSINE_SUMS_H
#define CALIBRISK_CLASSICAL_COSINE_SUMS_H

#include <unsupported/Eigen/FFT>

#include <complex>
#include <cstddef>
#include <vector>

namespace calibrisk {

class CosineSums {
 public:
  // N >= 1
  explicit CosineSums(std::size_t cells) : cells_(cells), period_(2 * cells), spectrum_(cells + 1) {
    transform_.SetFlag(Eigen::FFT<double>::HalfSpectrum);
  }

  std::size_t cells() const { return cells_; }

  // cells + 1 numbers each; `out` may be `v`
  void operator()(const double* v, double* out) {
    period_[0] = v[0];
    for (std::size_t j = 1; j <= cells_; ++j) period_[j] = period_[period_.size() - j] = v[j];
    transform_.fwd(spectrum_.data(), period_.data(), static_cast<Eigen::Index>(period_.size()));
    for (std::size_t k = 0; k <= cells_; ++k) out[k] = spectrum_[k].real();
  }

 private:
  std::size_t cells_;
  std::vector<double> period_;
  std::vector<std::complex<double>> spectrum_;
  Eigen::FFT<double> transform_;  // keeps its roots of unity
};

}  // namespace calibrisk

#endif
