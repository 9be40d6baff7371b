// SPDX-License-Identifier: GPL-3.0-or-later
// What surrounds each call of the core: included by RcppExports.cpp alone, in place of Rcpp's
// macros. A call begins with a check for an interrupt, since R looks for one, or for a time limit,
// once in a thousand calls, which may take minutes. What is thrown becomes an error of the package,
// raised by raise_core_error() of R after all C++ objects are gone.
#ifndef CALIBRISK_CORE_CALL_H
#define CALIBRISK_CORE_CALL_H

#include <Rcpp/Lightest>  // without modules and sugar, before the generated file's Rcpp.h
// Nor does an export have a type of Eigen's: the generated file's RcppEigen.h stays empty.
#define RcppEigen__RcppEigen__h

#include <cstdio>
#include <exception>
#include <typeinfo>

#include "interrupt.h"

// Without a destructor: R jumps past it.
struct CoreCall {
  SEXP jump = nullptr;
  char message[2000] = "unknown reason", exception[200] = "";

  // To be called where an exception is handled.
  void caught() noexcept {
    try {
      throw;
    } catch (const Rcpp::LongjumpException& e) {
      jump = e.token;
    } catch (const std::exception& e) {
      std::snprintf(message, sizeof message, "%s", e.what());
      std::snprintf(exception, sizeof exception, "%s", demangle(typeid(e).name()).c_str());
    } catch (...) {
    }
  }

  // Does not return.
  void raise() {
    if (jump != nullptr) Rcpp::internal::resumeJump(jump);
    const SEXP space = PROTECT(R_FindNamespace(PROTECT(Rf_mkString("calibrisk"))));
    const SEXP what = PROTECT(Rf_mkString(message)), kind = PROTECT(Rf_mkString(exception));
    Rf_eval(PROTECT(Rf_lang3(Rf_install("raise_core_error"), what, kind)), space);
    UNPROTECT(5);
  }
};

#undef BEGIN_RCPP
#undef END_RCPP
#define BEGIN_RCPP    \
  CoreCall core_call; \
  try {               \
    check_interrupt();
#define END_RCPP        \
  }                     \
  catch (...) {         \
    core_call.caught(); \
  }                     \
  core_call.raise();    \
  return R_NilValue;

#endif
