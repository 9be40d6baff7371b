// SPDX-License-Identifier: GPL-3.0-or-later
// Folds from the values of the rows: no order of the rows changes what is computed with them.
#ifndef CALIBRISK_CLASSICAL_ROW_FOLDS_H
#define CALIBRISK_CLASSICAL_ROW_FOLDS_H

#include <calibrisk/engine.h>
#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/value_bits.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

namespace calibrisk {

// The bits of a value that survive saving it as text of 15 digits. The others are cut off after
// adding an irregular offset. Values on a binary grid, such as 32-bit random numbers, are then not
// near a cut, which a change of the last digit might cross.
inline std::uint64_t bits_of_text(double value) {
  constexpr int dropped = 29;
  constexpr std::uint64_t offset = 0x0aaaaaaaULL;
  return (bits_of(value) + offset) >> dropped;
}

// task(i, how often the key of row i occurred before), in order, where it did. Most keys have no
// equal: two bits at a place of each key say whether another one was there, and only the keys of
// such places are counted. count(i): how often row i counts.
template <class Count, class Task>
void for_repeated(const std::vector<std::uint64_t>& keys, const Count& count, const Task& task) {
  std::size_t places = 64, capacity = 16;
  while (places < 8 * keys.size()) places *= 2;
  std::vector<std::uint64_t> once(places / 64), twice(places / 64);
  const auto word = [&](std::uint64_t key) { return (key & (places - 1)) >> 6; };
  const auto bit = [](std::uint64_t key) { return std::uint64_t{1} << (key & 63); };
  for (const std::uint64_t key : keys) {
    const std::size_t at = word(key);
    twice[at] |= once[at] & bit(key);
    once[at] |= bit(key);
  }
  const auto is_shared = [&](std::uint64_t key) { return (twice[word(key)] & bit(key)) != 0; };
  // every row is written and those that share a place are kept, without a branch; memory behind
  // them is never touched
  const std::unique_ptr<std::uint32_t[]> shared(new std::uint32_t[keys.size() + 1]);
  std::size_t n_shared = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    shared[n_shared] = static_cast<std::uint32_t>(i);
    n_shared += static_cast<std::size_t>(is_shared(keys[i]));
  }
  while (capacity < 2 * n_shared) capacity *= 2;
  struct Slot {
    std::uint64_t key, count;
  };
  std::vector<Slot> slots(capacity, Slot{0, 0});
  for (std::size_t s = 0; s < n_shared; ++s) {
    const std::size_t i = shared[s];
    std::size_t at = (keys[i] >> 32) & (capacity - 1);
    while (slots[at].count > 0 && slots[at].key != keys[i]) at = (at + 1) & (capacity - 1);
    slots[at].key = keys[i];
    if (slots[at].count > 0) task(i, slots[at].count);
    slots[at].count += count(i);
  }
}

template <class Task>
void for_repeated(const std::vector<std::uint64_t>& keys, const Task& task) {
  const auto one = [](std::size_t) { return std::uint64_t{1}; };
  for_repeated(keys, one, task);
}

// A key per row of features [n x q] and its label: equal rows have equal keys, also where one was
// saved as text.
inline std::vector<std::uint64_t> row_keys(const double* features, std::size_t n, std::size_t q,
                                           const int* labels) {
  std::vector<std::uint64_t> keys(n);
  const auto key_of = [](int label) { return mix_bits(counter_step + bits_of(label)); };
  std::uint64_t few[16];  // labels are few and small
  for (int label = 0; label < 16; ++label) few[label] = key_of(label);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = labels[i] >= 0 && labels[i] < 16 ? few[labels[i]] : key_of(labels[i]);
  }
  for (std::size_t j = 0; j < q; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = mix_bits(keys[i] * 3 + bits_of_text(features[j * n + i]));
    }
  }
  return keys;
}

inline double unit_of(std::uint64_t h) { return static_cast<double>(h >> 11) * 0x1.0p-53; }

// Fold 0..k - 1 of a copy whose key occurred before so many times.
inline int fold_of(std::uint64_t key, std::uint64_t before, int k) {
  return static_cast<int>(counter_number(key, before) * k);
}

// How many of `size` copies, whose first numbers of each key are `from`, are in each fold, or in
// the cells of two folds, that of the second key runs faster. Numbers are drawn in blocks, and
// counts of neighbours are apart, so that no step waits for the one before.
template <int M>
void count_cells(const std::uint64_t (&keys)[M], const std::uint64_t (&from)[M], std::uint64_t size,
                 int k, std::vector<double>& cells) {
  constexpr std::uint64_t block = 512, few = 32;
  const auto n = static_cast<std::size_t>(M == 1 ? k : k * k);
  int cell[block];
  std::vector<std::uint32_t> apart(size > few ? 4 * n : 0);
  cells.assign(n, 0);
  for (std::uint64_t start = 0; start < size; start += block) {
    const std::uint64_t here = std::min(block, size - start);
    for (std::uint64_t d = 0; d < here; ++d) cell[d] = fold_of(keys[0], from[0] + start + d, k);
    if constexpr (M == 2) {
      for (std::uint64_t d = 0; d < here; ++d) {
        cell[d] = cell[d] * k + fold_of(keys[1], from[1] + start + d, k);
      }
    }
    const auto at = [&](std::uint64_t d) { return static_cast<std::size_t>(cell[d]); };
    if (size <= few) {
      for (std::uint64_t d = 0; d < here; ++d) cells[at(d)] += 1.0;
    } else {
      for (std::uint64_t d = 0; d < here; ++d) ++apart[(d & 3) * n + at(d)];
    }
  }
  for (std::size_t c = 0; c < apart.size(); ++c) cells[c % n] += apart[c];
}

// task(i, how many rows with the key of row i came before), so that equal rows are told apart: what
// follows from both does not depend, as a set, on their order. Called twice where there were any.
template <class Task>
void for_counted(const std::vector<std::uint64_t>& keys, const Task& task) {
  for (std::size_t i = 0; i < keys.size(); ++i) task(i, 0);
  for_repeated(keys, task);
}

// Folds 1..k of rows with these keys, into `fold`.
inline void row_folds(const std::vector<std::uint64_t>& keys, int k, int* fold) {
  for_counted(keys, [&](std::size_t i, std::uint64_t before) {
    fold[i] = fold_of(keys[i], before, k) + 1;
  });
}

// The same of rows by their one feature, which ascends, and outcomes 0 and 1: equal rows are
// neighbours, so that none has to be looked for.
template <class Outcome>
std::vector<int> sorted_row_folds(const double* x, const Outcome& outcome, std::size_t n, int k) {
  const std::uint64_t of[2] = {mix_bits(counter_step + bits_of(0)),
                               mix_bits(counter_step + bits_of(1))};
  std::vector<int> fold(n);
  for (std::size_t i = 0; i < n;) {
    const std::uint64_t text = bits_of_text(x[i]);
    const std::uint64_t keys[2] = {mix_bits(of[0] * 3 + text), mix_bits(of[1] * 3 + text)};
    std::uint64_t before[2] = {0, 0};
    do {
      const bool event = outcome(i);
      fold[i] = fold_of(keys[event], before[event]++, k) + 1;
    } while (++i < n && bits_of_text(x[i]) == text);
  }
  return fold;
}

// Copies that are scattered one by one, all rows together.
constexpr double most_scattered = 5e7;

// The copies of each row as copy_folds() deals them: those with the numbers `first` to `end` of its
// key one by one, and so many `surplus` ones to each fold.
struct RowCopies {
  std::uint64_t first = 0, end = 0;
  double surplus = 0;
};

// `order`: in which equal rows are counted, that of the rows where it is empty. Where all copies
// are too many, each fold has as many of a row's surplus ones.
inline std::vector<RowCopies> numbered_copies(const std::vector<std::uint64_t>& keys,
                                              const ConstVectorRef& copies, int k,
                                              const std::vector<std::size_t>& order = {}) {
  const std::size_t n = keys.size();
  const double own = std::floor(most_scattered / std::max(static_cast<double>(n), 1.0));
  const double most = copies.sum() > most_scattered ? own : most_scattered;
  const auto at = [&](std::size_t r) { return order.empty() ? r : order[r]; };
  std::vector<RowCopies> out(n);
  std::vector<std::uint64_t> ordered(order.empty() ? 0 : n);
  for (std::size_t r = 0; r < ordered.size(); ++r) ordered[r] = keys[at(r)];
  const auto count = [&](std::size_t r) {
    return static_cast<std::uint64_t>(std::nearbyint(copies(static_cast<Index>(at(r)))));
  };
  for_repeated(order.empty() ? keys : ordered, count,
               [&](std::size_t r, std::uint64_t found) { out[at(r)].first = found; });
  for (std::size_t r = 0; r < n; ++r) {
    RowCopies& row = out[at(r)];
    row.surplus = std::floor(std::max(copies(static_cast<Index>(at(r))) - most, 0.0) / k);
    row.end = row.first + count(r) - static_cast<std::uint64_t>(row.surplus * k);
  }
  return out;
}

// The numbers of copies in folds 1..k [n x k] of rows that stand for several, as of so many equal
// rows. `even`: dealt out in the order of their numbers, so that the sizes of the folds differ by
// one at most.
inline Matrix copy_folds(const std::vector<std::uint64_t>& keys, const ConstVectorRef& copies,
                         int k, bool even = false, const std::vector<std::size_t>& order = {}) {
  const auto n = static_cast<Index>(keys.size());
  const std::vector<RowCopies> rows = numbered_copies(keys, copies, k, order);
  Matrix out(n, k);
  std::vector<double> cell;
  std::vector<std::uint64_t> places;  // number and row of each copy
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    out.row(i).setConstant(rows[at].surplus);
    const std::uint64_t size = rows[at].end - rows[at].first;
    if (even) {
      for (std::uint64_t d = rows[at].first; d < rows[at].end; ++d) {
        const int place = fold_of(keys[at], d, std::numeric_limits<int>::max());
        places.push_back(static_cast<std::uint64_t>(place) << 32 | static_cast<std::uint64_t>(i));
      }
    } else {
      count_cells<1>({keys[at]}, {rows[at].first}, size, k, cell);
      for (int f = 0; f < k; ++f) out(i, f) += cell[static_cast<std::size_t>(f)];
    }
  }
  std::sort(places.begin(), places.end());
  for (std::size_t p = 0; p < places.size(); ++p) {
    out(static_cast<Index>(places[p] & 0xffffffffULL), static_cast<Index>(p) % k) += 1.0;
  }
  return out;
}

// Rows by their folds under two models at once: `rows[m]` is the place, counted from 1, of the row
// and its fold under model m among those that have copies, in the order of the folds, as
// copy_folds() has them; `copies` are those in both folds.
struct JointCopies {
  std::vector<double> copies;
  std::vector<std::size_t> row;  // counted from 0, of all rows
  std::vector<int> rows[2];
};

// Of two models with these keys: each copy is in one fold of each.
inline JointCopies joint_copies(const std::vector<std::uint64_t> (&keys)[2],
                                const ConstVectorRef& copies, int k,
                                const std::vector<std::size_t>& order = {}) {
  const std::size_t n = keys[0].size(), folds = static_cast<std::size_t>(k);
  const std::vector<RowCopies> own[2] = {numbered_copies(keys[0], copies, k, order),
                                         numbered_copies(keys[1], copies, k, order)};
  JointCopies out;
  std::vector<int> place[2] = {std::vector<int>(n * folds), std::vector<int>(n * folds)};
  std::vector<double> cell;
  for (std::size_t i = 0; i < n; ++i) {
    count_cells<2>({keys[0][i], keys[1][i]}, {own[0][i].first, own[1][i].first},
                   own[0][i].end - own[0][i].first, k, cell);
    // surplus copies are in the folds of the two models independently
    for (double& count : cell) count += own[0][i].surplus / k;
    for (std::size_t c = 0; c < cell.size(); ++c) {
      if (cell[c] == 0) continue;
      const std::size_t at[2] = {c / folds * n + i, c % folds * n + i};
      out.copies.push_back(cell[c]);
      out.row.push_back(i);
      for (int m = 0; m < 2; ++m) {
        place[m][at[m]] = 1;
        out.rows[m].push_back(static_cast<int>(at[m]));
      }
    }
  }
  for (int m = 0; m < 2; ++m) {
    std::partial_sum(place[m].begin(), place[m].end(), place[m].begin());
    for (int& row : out.rows[m]) row = place[m][static_cast<std::size_t>(row)];
  }
  return out;
}

// Whether fewer than half of the values differ from each other; reads no further than it must.
inline bool mostly_tied(const double* x, std::size_t n) {
  std::size_t capacity = 16;
  while (capacity < n) capacity *= 2;
  std::vector<std::uint64_t> slots(capacity, 0);
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t key = mix_bits(counter_step + bits_of(x[i])) | 1;  // 0 is an empty slot
    std::size_t at = (key >> 1) & (capacity - 1);
    while (slots[at] != 0 && slots[at] != key) at = (at + 1) & (capacity - 1);
    if (slots[at] == key) continue;
    slots[at] = key;
    if (2 * ++distinct >= n) return false;
  }
  return true;
}

// set(i, interval of x_i) between ascending edges, 1 for those up to the first: (e, e'] as in
// findInterval(left.open = TRUE).
template <class Set>
void for_intervals(const Engine& engine, const double* x, Index n, const std::vector<double>& edges,
                   const Set& set) {
  constexpr Index block = 16384;
  parallel_for(engine, (n + block - 1) / block, [&](Index b) {
    const Index end = std::min(n, (b + 1) * block);
    for (Index i = b * block; i < end; ++i) {
      // how many edges are below x_i, without a branch that the processor would have to guess
      const double* base = edges.data();
      std::size_t size = edges.size();
      while (size > 1) {
        const std::size_t half = size / 2;
        base += half * static_cast<std::size_t>(base[half - 1] < x[i]);
        size -= half;
      }
      const std::ptrdiff_t below = base - edges.data() + (size == 1 && *base < x[i] ? 1 : 0);
      set(i, static_cast<int>(below) + 1);
    }
  });
}

}  // namespace calibrisk

#endif
