// SPDX-License-Identifier: GPL-3.0-or-later
// Named lists to and from R, compiled once: Rcpp's own List::create() and proxies are written out
// for each element again, half of what an export weighs.
#ifndef CALIBRISK_R_VALUES_H
#define CALIBRISK_R_VALUES_H

#include <Rcpp/Lightest>  // without modules and sugar, a quarter of a unit's time
#include <calibrisk/types.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

// Zero-copy views of R's matrices and vectors.
Eigen::Map<const calibrisk::Matrix> as_matrix(const Rcpp::NumericMatrix& x);
inline Eigen::Map<const calibrisk::Vector> as_vector(const Rcpp::NumericVector& x) {
  return Eigen::Map<const calibrisk::Vector>(x.begin(), x.size());
}
// Of R's own memory: vectors of another type, which Rcpp would copy, are refused. A matrix
// whose names R left out is a wrapper, which Rcpp would copy: it could write to it.
Eigen::Map<const calibrisk::Vector> vector_view(SEXP x);
Eigen::Map<const calibrisk::Matrix> matrix_view(SEXP x);

calibrisk::Labels as_labels(const Rcpp::IntegerVector& x);
Rcpp::NumericMatrix wrap_matrix(const calibrisk::Matrix& x);
Rcpp::NumericVector wrap_vector(const calibrisk::Vector& x);

class NamedValue {
 public:
  NamedValue(const char* name, SEXP value);
  NamedValue(const char* name, bool value);
  NamedValue(const char* name, int value);
  NamedValue(const char* name, double value);
  NamedValue(const char* name, const std::vector<double>& value);
  NamedValue(const char* name, const std::vector<int>& value);
  NamedValue(const char* name, const calibrisk::Vector& value);
  NamedValue(const char* name, const calibrisk::Matrix& value);
  NamedValue(const NamedValue& other);
  ~NamedValue();

  const char* name() const { return name_; }
  SEXP value() const { return value_; }

 private:
  const char* name_;
  Rcpp::RObject value_;
};

Rcpp::List named_list(std::initializer_list<NamedValue> values);

// An element by its name, and as a scalar.
bool has_field(const Rcpp::List& list, const char* name);
SEXP field(const Rcpp::List& list, const char* name);
double number_field(const Rcpp::List& list, const char* name);
bool flag_field(const Rcpp::List& list, const char* name);
std::string text_field(const Rcpp::List& list, const char* name);
std::vector<double> numbers_field(const Rcpp::List& list, const char* name);

// An external pointer that owns a value, tagged with its type, and what such a pointer holds.
template <class T>
SEXP type_tag() {
  return Rf_install(typeid(T).name());
}
template <class T>
SEXP owned(std::unique_ptr<T> value) {
  return Rcpp::XPtr<T>(value.release(), true, type_tag<T>());
}
void* held_address(SEXP pointer, SEXP tag);
template <class T>
T* held(SEXP pointer) {
  return static_cast<T*>(held_address(pointer, type_tag<T>()));
}

#endif
