// Tunes a Kronecker ridge, predicts with it and tests by blocks, without R but for its vectors.
// Compile with Rcpp::sourceCpp().
// [[Rcpp::depends(RcppEigen, calibrisk)]]
// [[Rcpp::plugins(cpp17)]]
#include <Rcpp.h>
#include <calibrisk/estimator.h>
using namespace calibrisk;
MatrixView view(const Rcpp::NumericMatrix& x) { return MatrixView(x.begin(), x.nrow(), x.ncol()); }

// probs: [n x K]; fold: 1, ..., k; h(p, p) at the rows of `at`.
// [[Rcpp::export]]
Rcpp::List tune_and_test(Rcpp::NumericMatrix probs, std::vector<int> truth, std::vector<int> fold,
                         std::vector<double> ridges, Rcpp::NumericMatrix at) {
  const Engine engine = serial_engine();  // or your own executor
  const Matrix errors = class_residuals(view(probs), truth);
  const MatrixView residuals(errors.data(), errors.rows(), errors.cols());
  Kernel kernel;
  kernel.leaf = GaussianKernel{0.5};
  const Vector grid = Eigen::Map<Vector>(ridges.data(), static_cast<Index>(ridges.size()));

  const Tuned tuned =
      tune(engine, {view(probs), residuals, fold}, {RidgeType::kronecker, kernel, grid});
  const Vector squared = tuned.form.squared(engine, view(at));
  const BlockTest test = block_test(engine, kernel, view(probs), residuals, 10);
  return Rcpp::List::create(
      std::vector<double>(tuned.risks.data(), tuned.risks.data() + grid.size()), tuned.value,
      std::vector<double>(squared.data(), squared.data() + squared.size()),
      skce(engine, kernel, view(probs), residuals), test.estimate, test.p_value);
}
