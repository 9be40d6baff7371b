// SPDX-License-Identifier: GPL-3.0-or-later
// R's list form of a kernel (R/kernel.R) to the core's.
#ifndef CALIBRISK_AS_KERNEL_H
#define CALIBRISK_AS_KERNEL_H

#include "r_values.h"
#include <calibrisk/kernels/kernel.h>

#include <string>

// `depth`: in how many sums and products it is. Those of an object from elsewhere could be so many
// that the stack ends.
inline calibrisk::Kernel as_kernel(const Rcpp::List& kernel, int depth = 0) {
  using namespace calibrisk;
  require(depth <= 100, "Sums and products of kernels are nested up to 100 times.");
  const std::string type = text_field(kernel, "type");
  Kernel out;
  out.scale = number_field(kernel, "scale");
  if (has_field(kernel, "columns")) {  // first (0-based) and how many
    const Rcpp::IntegerVector columns(field(kernel, "columns"));
    require(columns.size() == 2, "The columns of a kernel are the first and how many.");
    out.first_column = columns[0];
    out.n_columns = columns[1];
  }
  if (type == "sum" || type == "product") {
    out.form = type == "sum" ? Kernel::Form::sum : Kernel::Form::product;
    const Rcpp::List parts(field(kernel, "parts"));
    require(parts.size() > 0, "A sum or product of kernels needs parts.");
    for (R_xlen_t i = 0; i < parts.size(); ++i) out.parts.push_back(as_kernel(parts[i], depth + 1));
    return out;
  }
  const auto bandwidth = [&]() { return number_field(kernel, "bandwidth"); };
  if (type == "gaussian") {
    out.leaf = GaussianKernel{bandwidth()};
  } else if (type == "laplace") {
    out.leaf = LaplaceKernel{bandwidth()};
  } else if (type == "tv") {
    out.leaf = TotalVariationKernel{bandwidth()};
  } else if (type == "matern") {
    out.leaf = MaternKernel{number_field(kernel, "nu"), bandwidth()};
  } else if (type == "linear") {
    out.leaf = LinearKernel{};
  } else if (type == "white") {
    out.leaf = WhiteKernel{};
  } else {
    throw std::invalid_argument("Unknown kernel type '" + type + "'.");
  }
  return out;
}

#endif
