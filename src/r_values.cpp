// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_values.h"

#include <algorithm>
#include <cstring>

using calibrisk::Matrix;
using calibrisk::Vector;

Eigen::Map<const Matrix> as_matrix(const Rcpp::NumericMatrix& x) {
  return Eigen::Map<const Matrix>(x.begin(), x.nrow(), x.ncol());
}

Eigen::Map<const Vector> vector_view(SEXP x) {
  if (TYPEOF(x) != REALSXP) throw std::invalid_argument("A view needs a vector of doubles.");
  return Eigen::Map<const Vector>(REAL_RO(x), Rf_xlength(x));
}

Eigen::Map<const Matrix> matrix_view(SEXP x) {
  const auto values = vector_view(x);
  return Eigen::Map<const Matrix>(values.data(), Rf_nrows(x), Rf_ncols(x));
}

calibrisk::Labels as_labels(const Rcpp::IntegerVector& x) {
  return calibrisk::Labels(x.begin(), x.end());
}

Rcpp::NumericMatrix wrap_matrix(const Matrix& x) {
  Rcpp::NumericMatrix out(Rcpp::no_init(x.rows(), x.cols()));
  std::copy(x.data(), x.data() + x.size(), out.begin());
  return out;
}

Rcpp::NumericVector wrap_vector(const Vector& x) {
  return Rcpp::NumericVector(x.data(), x.data() + x.size());
}

NamedValue::NamedValue(const char* name, SEXP value) : name_(name), value_(value) {}
NamedValue::NamedValue(const char* name, bool value) : NamedValue(name, Rf_ScalarLogical(value)) {}
NamedValue::NamedValue(const char* name, int value) : NamedValue(name, Rf_ScalarInteger(value)) {}
NamedValue::NamedValue(const char* name, double value) : NamedValue(name, Rf_ScalarReal(value)) {}
NamedValue::NamedValue(const char* name, const std::vector<double>& value)
    : name_(name), value_(Rcpp::NumericVector(value.begin(), value.end())) {}
NamedValue::NamedValue(const char* name, const std::vector<int>& value)
    : name_(name), value_(Rcpp::IntegerVector(value.begin(), value.end())) {}
NamedValue::NamedValue(const char* name, const Vector& value)
    : name_(name), value_(wrap_vector(value)) {}
NamedValue::NamedValue(const char* name, const Matrix& value)
    : name_(name), value_(wrap_matrix(value)) {}
NamedValue::NamedValue(const NamedValue& other) = default;
NamedValue::~NamedValue() = default;

Rcpp::List named_list(std::initializer_list<NamedValue> values) {
  Rcpp::List out(static_cast<R_xlen_t>(values.size()));
  Rcpp::CharacterVector names(out.size());
  R_xlen_t i = 0;
  for (const NamedValue& value : values) {
    SET_VECTOR_ELT(out, i, value.value());
    SET_STRING_ELT(names, i++, Rf_mkChar(value.name()));
  }
  Rf_setAttrib(out, R_NamesSymbol, names);
  return out;
}

namespace {

// Position of a name; the list's length where it has none of it.
R_xlen_t position(const Rcpp::List& list, const char* name) {
  const SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  const R_xlen_t n = Rf_isNull(names) ? 0 : Rf_xlength(names);
  for (R_xlen_t i = 0; i < n; ++i) {
    if (std::strcmp(CHAR(STRING_ELT(names, i)), name) == 0) return i;
  }
  return list.size();
}

}  // namespace

bool has_field(const Rcpp::List& list, const char* name) {
  return position(list, name) < list.size();
}

SEXP field(const Rcpp::List& list, const char* name) {
  const R_xlen_t i = position(list, name);
  if (i == list.size()) {
    throw std::invalid_argument(std::string("A list from R has no element '") + name + "'.");
  }
  return VECTOR_ELT(list, i);
}

double number_field(const Rcpp::List& list, const char* name) {
  return Rcpp::as<double>(field(list, name));
}

bool flag_field(const Rcpp::List& list, const char* name) {
  return Rcpp::as<bool>(field(list, name));
}

std::string text_field(const Rcpp::List& list, const char* name) {
  return Rcpp::as<std::string>(field(list, name));
}

std::vector<double> numbers_field(const Rcpp::List& list, const char* name) {
  return Rcpp::as<std::vector<double>>(field(list, name));
}

// An external pointer that R restored from a file holds nothing.
void* held_address(SEXP pointer, SEXP tag) {
  const bool tagged = TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrTag(pointer) == tag;
  void* const address = tagged ? R_ExternalPtrAddr(pointer) : nullptr;
  if (address == nullptr) throw std::invalid_argument("external pointer is not valid");
  return address;
}
