// Full-batch Adam on the mean squared error of a network with two hidden layers of rectified linear units.
// [[Rcpp::depends(RcppEigen)]]
#include <RcppEigen.h>

// single precision: half the time
using Array = Eigen::ArrayXXf;
using Matrix = Eigen::MatrixXf;
using Vector = Eigen::VectorXf;

namespace {

// A column of ones, then the inputs: the first row of a layer's weights holds its biases.
Matrix with_ones(const Matrix& x) {
  Matrix out(x.rows(), x.cols() + 1);
  out.col(0).setOnes();
  out.rightCols(x.cols()) = x;
  return out;
}

// Inputs of the three layers; the output of the last one comes back.
Vector forward(const std::vector<Matrix>& weights, std::vector<Matrix>& inputs) {
  for (int l = 0; l < 2; ++l) {
    inputs[l + 1].resize(inputs[l].rows(), weights[l].cols() + 1);
    inputs[l + 1].col(0).setOnes();
    inputs[l + 1].rightCols(weights[l].cols()).noalias() = inputs[l] * weights[l];
    inputs[l + 1] = inputs[l + 1].cwiseMax(0.0f);
  }
  return inputs[2] * weights[2];
}

}  // namespace

// Predictions at the iterations `at` (sorted): one column each, for the rows of x and of x_new.
// [[Rcpp::export]]
Rcpp::List train_adam(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::MatrixXd& x_new,
                      const std::vector<Eigen::MatrixXd>& start, const std::vector<int>& at) {
  const std::size_t layers = 3;
  std::vector<Matrix> inputs(layers), inputs_new(layers);
  inputs[0] = with_ones(x.cast<float>());
  inputs_new[0] = with_ones(x_new.cast<float>());
  const Vector outcome = y.cast<float>();
  std::vector<Matrix> weights;
  std::vector<Array> first, second;
  for (const Eigen::MatrixXd& w : start) {
    weights.push_back(w.cast<float>());
    first.push_back(Array::Zero(w.rows(), w.cols()));
    second.push_back(Array::Zero(w.rows(), w.cols()));
  }
  Eigen::MatrixXd train(x.rows(), at.size()), test(x_new.rows(), at.size());
  std::size_t next = 0;
  Matrix gradient, back;
  for (int iteration = 0; next < at.size(); ++iteration) {
    const Vector output = forward(weights, inputs);
    if (iteration == at[next]) {
      train.col(next) = output.cast<double>();
      test.col(next) = forward(weights, inputs_new).cast<double>();
      ++next;
    }
    // backpropagation and Adam's step, from the last layer to the first
    const double t = iteration + 1;
    const double root = std::sqrt(1 - std::pow(0.999, t));
    const float rate = 1e-3 * root / (1 - std::pow(0.9, t));
    const float tiny = 1e-8 * root;
    Matrix delta = 2 * (output - outcome) / static_cast<float>(y.size());
    for (int l = 2; l >= 0; --l) {
      gradient.noalias() = inputs[l].transpose() * delta;
      if (l > 0) {
        back.noalias() = delta * weights[l].bottomRows(weights[l].rows() - 1).transpose();
        delta = (inputs[l].rightCols(back.cols()).array() > 0).select(back, 0.0f);
      }
      first[l] = 0.9f * first[l] + 0.1f * gradient.array();
      second[l] = 0.999f * second[l] + 0.001f * gradient.array().square();
      weights[l].array() -= rate * first[l] / (second[l].sqrt() + tiny);
    }
    if (iteration % 500 == 0) Rcpp::checkUserInterrupt();
  }
  return Rcpp::List::create(Rcpp::Named("train") = train, Rcpp::Named("test") = test);
}
