// A feature map in C++ on the core's headers: the kernel-weighted mean residual of the
// training rows, at every row of x. Compile with Rcpp::sourceCpp().
// [[Rcpp::depends(RcppEigen, calibrisk)]]
// [[Rcpp::plugins(cpp17)]]
#include <Rcpp.h>
#include <calibrisk/kernels/kernel.h>
#include <calibrisk/serial_engine.h>

using calibrisk::Index;
using calibrisk::Matrix;

// x: [m x q] rows to evaluate; train: [n x q], residuals: [n x d]; returns [m x d].
// [[Rcpp::export]]
Rcpp::NumericMatrix smooth_residuals(Rcpp::NumericMatrix x, Rcpp::NumericMatrix train,
                                     Rcpp::NumericMatrix residuals, double bandwidth) {
  using ConstMap = Eigen::Map<const Matrix>;
  const ConstMap rows(x.begin(), x.nrow(), x.ncol());
  const ConstMap train_rows(train.begin(), train.nrow(), train.ncol());
  const ConstMap train_residuals(residuals.begin(), residuals.nrow(), residuals.ncol());
  Rcpp::NumericMatrix out(x.nrow(), residuals.ncol());
  Eigen::Map<Matrix> gap(out.begin(), out.nrow(), out.ncol());

  calibrisk::Kernel kernel;
  kernel.leaf = calibrisk::GaussianKernel{bandwidth};
  const calibrisk::Engine engine = calibrisk::serial_engine();  // or your own executor
  constexpr Index tile = 256;
  calibrisk::parallel_for(engine, (rows.rows() + tile - 1) / tile, [&](Index t) {
    const Index begin = t * tile, size = std::min(tile, rows.rows() - begin);
    Matrix weights(size, train_rows.rows());
    calibrisk::gram_block(kernel, rows.middleRows(begin, size), train_rows, weights);
    gap.middleRows(begin, size) = weights * train_residuals;
    gap.middleRows(begin, size).array().colwise() /= weights.rowwise().sum().array();
  });
  return out;
}
