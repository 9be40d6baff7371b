// SPDX-License-Identifier: GPL-3.0-or-later
// The order of rows by one number or by several, in time that is linear for most data.
#ifndef CALIBRISK_MATH_ROW_ORDER_H
#define CALIBRISK_MATH_ROW_ORDER_H

#include <calibrisk/math/value_bits.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace calibrisk {

// Positions 0, ..., n - 1 of rows, which sort() puts in ascending order of a number per row. Equal
// rows stay as they were, so that several numbers are sorted by the least important one first.
class RowOrder {
 public:
  explicit RowOrder(std::size_t n) : own_(2 * n), n_(n), rows_(own_.data()), other_(rows_ + n) {
    number_rows();
  }
  // In the memory of n doubles each that the caller fills later: fresh memory costs the system as
  // much time as the sort.
  RowOrder(std::size_t n, double* rows, double* other)
      : n_(n), rows_(new (rows) Entry[n]), other_(new (other) Entry[n]) {
    number_rows();
  }
  RowOrder(const RowOrder&) = delete;
  RowOrder& operator=(const RowOrder&) = delete;

  // number(i) of row i is not NaN. Radix sort of the leading 32 bits that differ, which takes
  // half the memory of one of all bits. Few rows are told apart by fewer bits. Rows that agree in
  // the sorted bits are then compared.
  template <class Number>
  void sort(const Number& number) {
    if (n_ == 0) return;
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const std::uint64_t bits = ascending_bits(number(rows_[i].row));
      low = std::min(low, bits);
      high = std::max(high, bits);
    }
    int shift = 0;
    const std::uint64_t largest = n_ <= few_rows ? (1u << 2 * digit_bits) - 1 : UINT32_MAX;
    while (((high - low) >> shift) > largest) ++shift;
    std::uint32_t differ = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const std::uint64_t bits = ascending_bits(number(rows_[i].row)) - low;
      rows_[i].key = static_cast<std::uint32_t>(bits >> shift);
      differ |= rows_[i].key;
    }
    for (int digit = 0; digit < 32; digit += digit_bits) {
      if (((differ >> digit) & (digits - 1)) != 0) sort_digit(digit);
    }
    if (shift > 0) sort_equal_keys(number);
  }

  // Sorts rows that are equal in number(i), by which they have just been sorted, by other(i), which
  // has few values. Rows with other keys are not equal, and are not looked up.
  template <class Number, class Other>
  void sort_ties(const Number& number, const Other& other) {
    const auto before = [&](const Entry& a, const Entry& b) { return other(a.row) < other(b.row); };
    const auto are_tied = [&](const Entry& a, const Entry& b) {
      return a.key == b.key && number(a.row) == number(b.row);
    };
    for (Entry *from = rows_, *const end = rows_ + n_; from != end;) {
      Entry* to = from + 1;
      while (to != end && are_tied(*from, *to)) ++to;
      Entry* unsorted = from;
      if (to - from > 16) {
        const auto lowest = other(std::min_element(from, to, before)->row);
        const auto is_lowest = [&](const Entry& entry) { return other(entry.row) == lowest; };
        unsorted = std::stable_partition(from, to, is_lowest);
      }
      if (to - unsorted > 1 && !std::is_sorted(unsorted, to, before)) {
        sort_stretch(unsorted, to, before);
      }
      from = to;
    }
  }

  std::size_t operator[](std::size_t place) const { return rows_[place].row; }
  std::size_t size() const { return n_; }

  // The memory of n numbers that holds the order, each of which may be overwritten once its place
  // has been read, and that of n others.
  std::pair<double*, double*> memory() {
    return {reinterpret_cast<double*>(rows_), reinterpret_cast<double*>(other_)};
  }

 private:
  static constexpr int digit_bits = 11;
  static constexpr std::size_t digits = std::size_t{1} << digit_bits;
  static constexpr std::size_t few_rows = std::size_t{1} << 14;  // told apart by two digits
  struct Entry {
    std::uint32_t key, row;
  };
  static_assert(sizeof(Entry) == sizeof(double));

  void number_rows() {
    for (std::size_t i = 0; i < n_; ++i) rows_[i].row = static_cast<std::uint32_t>(i);
  }

  // Bits whose order as a whole number is that of the values.
  static std::uint64_t ascending_bits(double value) {
    const std::uint64_t bits = bits_of(value);
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    return (bits & sign) != 0 ? ~bits : bits | sign;
  }

  void sort_digit(int shift) {
    const auto digit = [shift](const Entry& entry) {
      return (entry.key >> shift) & static_cast<std::uint32_t>(digits - 1);
    };
    std::array<std::uint32_t, digits> place{};
    for (std::size_t i = 0; i < n_; ++i) ++place[digit(rows_[i])];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : place) {
      const std::uint32_t before = sum;
      sum += count;
      count = before;
    }
    for (std::size_t i = 0; i < n_; ++i) other_[place[digit(rows_[i])]++] = rows_[i];
    std::swap(rows_, other_);
  }

  template <class Number>
  void sort_equal_keys(const Number& number) {
    const auto before = [&](const Entry& a, const Entry& b) {
      return number(a.row) < number(b.row);
    };
    const Entry* const end = rows_ + n_;
    for (Entry* from = rows_; from != end;) {
      Entry* to = from + 1;
      bool sorted = true;
      for (; to != end && to->key == from->key; ++to) sorted &= !before(*to, *(to - 1));
      if (!sorted) sort_stretch(from, to, before);
      from = to;
    }
  }

  // Few entries are put in place one by one: std::stable_sort() asks for memory.
  template <class Before>
  static void sort_stretch(Entry* from, Entry* to, const Before& before) {
    if (to - from > 16) return std::stable_sort(from, to, before);
    for (Entry* next = from + 1; next < to; ++next) {
      std::rotate(std::upper_bound(from, next, *next, before), next, next + 1);
    }
  }

  std::vector<Entry> own_;
  std::size_t n_;
  Entry *rows_, *other_;
};

// The numbers of rows, number(i), in ascending order.
template <class Number>
std::vector<double> sort_values(RowOrder& order, const Number& number) {
  order.sort(number);
  std::vector<double> out(order.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = number(order[i]);
  return out;
}

// Rows in ascending order of z; equal ones stay as they were.
inline std::vector<Index> ascending_order(const ConstVectorRef& z) {
  RowOrder order(static_cast<std::size_t>(z.size()));
  order.sort([&](std::size_t i) { return z(static_cast<Index>(i)); });
  std::vector<Index> rows(order.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<Index>(order[i]);
  return rows;
}

// Sorts rows by x, equal ones by y, then by w where it is not null.
template <class Outcome>
void sort_rows(RowOrder& order, const double* x, const Outcome* y, const double* w) {
  const auto by_x = [&](std::size_t i) { return x[i]; };
  if (w != nullptr) order.sort([&](std::size_t i) { return w[i]; });
  order.sort(by_x);
  order.sort_ties(by_x, [&](std::size_t i) { return y[i]; });
}

}  // namespace calibrisk

#endif
