// SPDX-License-Identifier: GPL-3.0-or-later
// Eigen's products and triangular solves of doubles, compiled once for a program of many units;
// otherwise each unit that multiplies has copies of its own, specialised for its calls. A build
// that defines CALIBRISK_SHARED_PRODUCTS for all its units has one that defines
// CALIBRISK_COMPILE_PRODUCTS too and compiles them (src/worker_algebra.cpp in the R package).
// Without the first, the core stays headers alone. Functions of the core are compiled once in the
// same way: CALIBRISK_SHARED before a declaration, and definitions in the unit of src/ that defines
// CALIBRISK_COMPILE_ and what they are of. No other unit reads the definitions, whose expressions
// it would instantiate even if it never calls them: that takes most of the time and the memory.
#ifndef CALIBRISK_LINALG_EIGEN_PRODUCTS_H
#define CALIBRISK_LINALG_EIGEN_PRODUCTS_H

#include <Eigen/Core>

#ifdef CALIBRISK_SHARED_PRODUCTS
#define CALIBRISK_SHARED
#else
#define CALIBRISK_SHARED inline
#endif

// Before Eigen 3.3.8 the templates had other parameters: there each unit keeps its own.
#if defined(CALIBRISK_SHARED_PRODUCTS) && EIGEN_VERSION_AT_LEAST(3, 3, 8)

#ifdef CALIBRISK_COMPILE_PRODUCTS
#define CALIBRISK_PRODUCT template
#else
#define CALIBRISK_PRODUCT extern template
#endif

namespace Eigen {
namespace internal {

// what all of them come down to
CALIBRISK_PRODUCT struct gebp_kernel<
    double, double, Index, blas_data_mapper<double, Index, ColMajor>,
    gebp_traits<double, double>::mr, gebp_traits<double, double>::nr, false, false>;

// A B, A B', A'B and A'B'
CALIBRISK_PRODUCT struct general_matrix_matrix_product<Index, double, ColMajor, false, double,
                                                       ColMajor, false, ColMajor, 1>;
CALIBRISK_PRODUCT struct general_matrix_matrix_product<Index, double, ColMajor, false, double,
                                                       RowMajor, false, ColMajor, 1>;
CALIBRISK_PRODUCT struct general_matrix_matrix_product<Index, double, RowMajor, false, double,
                                                       ColMajor, false, ColMajor, 1>;
CALIBRISK_PRODUCT struct general_matrix_matrix_product<Index, double, RowMajor, false, double,
                                                       RowMajor, false, ColMajor, 1>;

// A x'
CALIBRISK_PRODUCT struct general_matrix_vector_product<
    Index, double, const_blas_data_mapper<double, Index, ColMajor>, ColMajor, false, double,
    const_blas_data_mapper<double, Index, RowMajor>, false>;

// A'x
CALIBRISK_PRODUCT struct general_matrix_vector_product<
    Index, double, const_blas_data_mapper<double, Index, RowMajor>, RowMajor, false, double,
    const_blas_data_mapper<double, Index, ColMajor>, false>;

// the sizes of their blocks
CALIBRISK_PRODUCT void evaluateProductBlockingSizesHeuristic<double, double, 1, Index>(
    Index& k, Index& m, Index& n, Index num_threads);

// L^-1 B and B L'^-1
CALIBRISK_PRODUCT struct triangular_solve_matrix<double, Index, OnTheLeft, Lower, false, ColMajor,
                                                 ColMajor, 1>;
CALIBRISK_PRODUCT struct triangular_solve_matrix<double, Index, OnTheRight, Upper, false, RowMajor,
                                                 ColMajor, 1>;

}  // namespace internal
}  // namespace Eigen

#undef CALIBRISK_PRODUCT
#endif

#endif
