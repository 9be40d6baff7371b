// A risk and an SKCE on the core's headers. Compile with Rcpp::sourceCpp().
// [[Rcpp::depends(RcppEigen, calibrisk)]]
// [[Rcpp::plugins(cpp17)]]
#include <Rcpp.h>
#include <calibrisk/calibrisk.h>
using namespace calibrisk;
MatrixView view(const Rcpp::NumericMatrix& x) { return MatrixView(x.begin(), x.nrow(), x.ncol()); }

// The risk of h(p, p') = phi(p)'M phi(p'); residuals: [n x d], features: phi [n x r], core: M.
// [[Rcpp::export]]
double form_risk(Rcpp::NumericMatrix residuals, Rcpp::NumericMatrix features,
                 Rcpp::NumericMatrix core) {
  return pair_risk(serial_engine(), view(residuals), view(features), view(core)).risk;
}

// The unbiased SKCE with a Laplace kernel on the predictions, [n x K].
// [[Rcpp::export]]
double laplace_skce(Rcpp::NumericMatrix probs, Rcpp::NumericMatrix residuals, double bandwidth) {
  std::vector<PairSourcePtr> parts(2);
  Kernel kernel;
  kernel.leaf = LaplaceKernel{bandwidth};
  parts[0] = std::make_unique<KernelSource>(kernel, view(probs));
  parts[1] = std::make_unique<InnerProductSource>(view(residuals), view(residuals));
  return totals(pair_sums(serial_engine(), ComposedSource(true, 1.0, std::move(parts)))).unbiased();
}
