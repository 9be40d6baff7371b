// SPDX-License-Identifier: GPL-3.0-or-later
// Values that two sets of rows share.
#ifndef CALIBRISK_MATH_COMMON_VALUES_H
#define CALIBRISK_MATH_COMMON_VALUES_H

#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/value_bits.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace calibrisk {

// Those of the n values whose keys share a bit with one of the others, where every other value
// sets one of 16 bits or more. Nearly all that are among the others are found without a search.
inline std::vector<double> maybe_among(const double* values, std::size_t n, const double* others,
                                       std::size_t n_others) {
  int bits = 0;
  while ((std::size_t{64} << bits) < 16 * n_others) ++bits;
  std::vector<std::uint64_t> words(std::size_t{1} << bits);
  const auto key_of = [](double value) { return bits_of(value) * counter_step; };
  const auto word = [&](std::uint64_t key) { return (key >> 26) & (words.size() - 1); };
  const auto bit = [](std::uint64_t key) { return std::uint64_t{1} << (key >> 58); };
  for (std::size_t i = 0; i < n_others; ++i) {
    const std::uint64_t key = key_of(others[i]);
    words[word(key)] |= bit(key);
  }
  // always written and counted where it is kept, without a branch
  std::vector<double> out(n);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t key = key_of(values[i]);
    out[kept] = values[i];
    kept += static_cast<std::size_t>((words[word(key)] & bit(key)) != 0);
  }
  out.resize(kept);
  return out;
}

// The number of the n values that are among the others, as sum(values %in% others) in R. Mostly
// there are none.
inline std::size_t count_common(const double* values, std::size_t n, const double* others,
                                std::size_t n_others) {
  std::vector<double> a = maybe_among(values, n, others, n_others);
  std::vector<double> b = maybe_among(others, n_others, a.data(), a.size());
  if (a.size() < n / 2) a = maybe_among(a.data(), a.size(), b.data(), b.size());
  std::size_t capacity = 16, common = 0;
  while (capacity < 2 * b.size()) capacity *= 2;
  std::vector<std::uint64_t> slots(capacity, 0);  // bits + 1, which are not 0
  const auto slot = [&](std::uint64_t stored) {
    std::size_t at = (mix_bits(stored) >> 8) & (capacity - 1);
    while (slots[at] != 0 && slots[at] != stored) at = (at + 1) & (capacity - 1);
    return at;
  };
  for (const double value : b) {
    const std::uint64_t stored = bits_of(value) + 1;
    slots[slot(stored)] = stored;
  }
  for (const double value : a) common += slots[slot(bits_of(value) + 1)] != 0;
  return common;
}

}  // namespace calibrisk

#endif
