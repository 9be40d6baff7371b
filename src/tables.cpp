// SPDX-License-Identifier: GPL-3.0-or-later
// Result tables.
#include "r_values.h"

#include <algorithm>
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

}  // namespace

// The columns that are not NULL as a tibble, where these are plain, of one length above 0, and have
// names of their own; else NULL.
// [[Rcpp::export(rng = false)]]
SEXP cpp_plain_table(Rcpp::List columns) {
  const SEXP names = Rf_getAttrib(columns, R_NamesSymbol);
  if (Rf_isNull(names)) return R_NilValue;
  std::vector<R_xlen_t> kept;
  R_xlen_t size = 0;
  for (R_xlen_t j = 0; j < columns.size(); ++j) {
    const SEXP column = VECTOR_ELT(columns, j);
    if (Rf_isNull(column)) continue;
    if (kept.empty()) size = Rf_xlength(column);
    const bool plain = is_plain_column(column) && is_plain_name(names, j, kept);
    if (!plain || size == 0 || Rf_xlength(column) != size) return R_NilValue;
    kept.push_back(j);
  }
  if (kept.empty()) return R_NilValue;
  const auto n = static_cast<R_xlen_t>(kept.size());
  Rcpp::List out(n);
  Rcpp::CharacterVector own(n);
  for (R_xlen_t j = 0; j < n; ++j) {
    const R_xlen_t from = kept[static_cast<std::size_t>(j)];
    SET_VECTOR_ELT(out, j, VECTOR_ELT(columns, from));
    SET_STRING_ELT(own, j, STRING_ELT(names, from));
  }
  out.attr("names") = own;
  out.attr("row.names") = Rcpp::IntegerVector::create(NA_INTEGER, -static_cast<int>(size));
  out.attr("class") = Rcpp::CharacterVector::create("tbl_df", "tbl", "data.frame");
  return out;
}
