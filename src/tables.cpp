// SPDX-License-Identifier: GPL-3.0-or-later
// Result tables.
#include "r_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace {

// A vector, or a list without a class, that is no array.
bool is_plain_column(SEXP x) {
  const bool list = TYPEOF(x) == VECSXP && !Rf_isObject(x);
  return (list || Rf_isVectorAtomic(x)) && Rf_isNull(Rf_getAttrib(x, R_DimSymbol));
}

bool is_plain_name(SEXP names, R_xlen_t at, const std::vector<R_xlen_t>& before) {
  const char* name = CHAR(STRING_ELT(names, at));
  if (*name == '\0' || std::strncmp(name, "..", 2) == 0) return false;
  return std::none_of(before.begin(), before.end(), [&](R_xlen_t other) {
    return Rf_NonNullStringMatch(STRING_ELT(names, at), STRING_ELT(names, other));
  });
}

// A vector without attributes, whose value may be repeated.
bool is_single(SEXP x) {
  const bool atomic =
      TYPEOF(x) == REALSXP || TYPEOF(x) == INTSXP || TYPEOF(x) == LGLSXP || TYPEOF(x) == STRSXP;
  return atomic && Rf_xlength(x) == 1 && Rf_isNull(ATTRIB(x));
}

SEXP repeated(SEXP x, R_xlen_t size) {
  if (TYPEOF(x) == REALSXP) return Rcpp::NumericVector(size, REAL(x)[0]);
  if (TYPEOF(x) == INTSXP) return Rcpp::IntegerVector(size, INTEGER(x)[0]);
  if (TYPEOF(x) == LGLSXP) return Rcpp::LogicalVector(size, LOGICAL(x)[0]);
  return Rcpp::CharacterVector(size, STRING_ELT(x, 0));
}

SEXP expression_of(SEXP quo) { return Rf_inherits(quo, "quosure") ? CADR(quo) : quo; }

}  // namespace

// The columns that are not NULL as a tibble, where these are plain, of one length above 0 (or 1),
// and have names of their own; else NULL.
// [[Rcpp::export(rng = false)]]
SEXP cpp_plain_table(Rcpp::List columns) {
  const SEXP names = Rf_getAttrib(columns, R_NamesSymbol);
  if (Rf_isNull(names)) return R_NilValue;
  std::vector<R_xlen_t> kept;
  R_xlen_t size = 0;
  for (R_xlen_t j = 0; j < columns.size(); ++j) {
    const SEXP column = VECTOR_ELT(columns, j);
    if (Rf_isNull(column)) continue;
    if (kept.empty() || size == 1) size = Rf_xlength(column);
    if (!is_plain_column(column) || !is_plain_name(names, j, kept)) return R_NilValue;
    kept.push_back(j);
  }
  if (size == 0) return R_NilValue;
  for (const R_xlen_t j : kept) {
    const SEXP column = VECTOR_ELT(columns, j);
    if (Rf_xlength(column) != size && !is_single(column)) return R_NilValue;
  }
  const auto n = static_cast<R_xlen_t>(kept.size());
  Rcpp::List out(n);
  Rcpp::CharacterVector own(n);
  for (R_xlen_t j = 0; j < n; ++j) {
    const R_xlen_t from = kept[static_cast<std::size_t>(j)];
    const SEXP column = VECTOR_ELT(columns, from);
    SET_VECTOR_ELT(out, j, Rf_xlength(column) == size ? column : repeated(column, size));
    SET_STRING_ELT(own, j, STRING_ELT(names, from));
  }
  out.attr("names") = own;
  out.attr("row.names") = Rcpp::IntegerVector::create(NA_INTEGER, -static_cast<int>(size));
  out.attr("class") = Rcpp::CharacterVector::create("tbl_df", "tbl", "data.frame");
  return out;
}

// The names in a selection of columns by their names alone, `a` or `c(a, b)` as a quosure, or a
// list of quosures; NULL of another one.
// [[Rcpp::export(rng = false)]]
SEXP cpp_selected_names(SEXP selection) {
  std::vector<SEXP> parts;
  const SEXP whole = expression_of(selection);
  if (TYPEOF(whole) == VECSXP) {
    const SEXP names = Rf_getAttrib(whole, R_NamesSymbol);
    for (R_xlen_t j = 0; j < Rf_xlength(whole); ++j) {
      if (!Rf_isNull(names) && *CHAR(STRING_ELT(names, j)) != '\0') return R_NilValue;
      parts.push_back(VECTOR_ELT(whole, j));
    }
  } else if (TYPEOF(whole) == LANGSXP && CAR(whole) == Rf_install("c")) {
    for (SEXP part = CDR(whole); !Rf_isNull(part); part = CDR(part)) {
      if (!Rf_isNull(TAG(part))) return R_NilValue;
      parts.push_back(CAR(part));
    }
  } else {
    parts.push_back(whole);
  }
  Rcpp::CharacterVector out(static_cast<R_xlen_t>(parts.size()));
  for (std::size_t j = 0; j < parts.size(); ++j) {
    const SEXP expression = expression_of(parts[j]);
    if (TYPEOF(expression) != SYMSXP) return R_NilValue;
    SET_STRING_ELT(out, static_cast<R_xlen_t>(j), PRINTNAME(expression));
  }
  return out;
}

// Whether this is one number in the range, as most that are checked are, of type double and without
// attributes; or NULL, where that is allowed.
// [[Rcpp::export(rng = false)]]
bool cpp_is_number(SEXP x, double lower, double upper, bool open, bool whole, bool null,
                   SEXP size) {
  if (Rf_isNull(x)) return null;
  if (TYPEOF(x) != REALSXP || Rf_xlength(x) != 1 || !Rf_isNull(ATTRIB(x))) return false;
  if (!Rf_isNull(size) && Rf_asInteger(size) != 1) return false;
  const double value = REAL(x)[0];
  const bool inside = open ? value > lower && value < upper : value >= lower && value <= upper;
  return std::isfinite(value) && inside && (!whole || value == std::nearbyint(value));
}
