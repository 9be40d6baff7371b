// SPDX-License-Identifier: GPL-3.0-or-later
// One statistic, sum over pairs of k(x_i, x_j) <d_i, d_j>, from tiles, from a factor and of redrawn
// outcomes, against loops.
#include "check.h"
#include "threads.h"

#include <calibrisk/ckce/by_gram.h>
#include <calibrisk/ckce/fourier_features.h>
#include <calibrisk/kernels/gram.h>
#include <calibrisk/pairs/cluster_noise.h>
#include <calibrisk/pairs/design_source.h>
#include <calibrisk/pairs/factor_sums.h>
#include <calibrisk/skce/bootstrap.h>
#include <calibrisk/skce/class_redraws.h>
#include <calibrisk/skce/copy_blocks.h>
#include <calibrisk/skce/hotelling.h>

#include <cmath>

using namespace calibrisk;

namespace {

MatrixView view(const Matrix& x) { return MatrixView(x.data(), x.rows(), x.cols()); }

// h = (L L') .* (D M'), its row sums without i = j and without pairs of a cluster, and h_ii; all
// weighted by w_j.
struct Naive {
  Vector off_diagonal, diagonal;
  double squares = 0.0;
  Naive(const Matrix& k, const Matrix& g, const Vector& w, const Labels& cluster)
      : off_diagonal(Vector::Zero(k.rows())), diagonal(k.rows()) {
    for (Index i = 0; i < k.rows(); ++i) {
      diagonal(i) = w(i) * k(i, i) * g(i, i);
      for (Index j = 0; j < k.rows(); ++j) {
        const double h = k(i, j) * g(i, j);
        const bool apart = cluster.empty() ? i != j
                                           : cluster[static_cast<std::size_t>(i)] !=
                                                 cluster[static_cast<std::size_t>(j)];
        if (!apart) continue;
        off_diagonal(i) += w(j) * h;
        squares += std::pow(w(i) * w(j) * h, 2);
      }
    }
  }
};

struct Sample {
  Matrix l, d, m;
  explicit Sample(Index n) : l(Matrix::Random(n, 4)), d(Matrix::Random(n, 3)) {
    Matrix root = Matrix::Random(3, 3);
    m = d * (root * root.transpose());
  }
  Matrix k() const { return l * l.transpose(); }
  Matrix g() const { return d * m.transpose(); }
};

Matrix simplex(Index n, Index classes) {
  Matrix p = (Matrix::Random(n, classes).array() + 1.1);
  return p.array().colwise() / p.rowwise().sum().array();
}

Matrix onehot_gap(const Matrix& probs, const Labels& labels) {
  Matrix d = probs;
  for (Index i = 0; i < d.rows(); ++i) d(i, labels[static_cast<std::size_t>(i)]) -= 1.0;
  return d;
}

}  // namespace

TEST(sums_of_tiles_are_those_of_a_loop_over_pairs) {
  ThreadedEngine host(2);
  for (Index n : {1, 5, 63, 64, 65, 200}) {
    const Sample s(n);
    const Matrix k = s.k();
    std::vector<PairSourcePtr> parts;
    parts.push_back(std::make_unique<StoredSource>(view(k)));
    parts.push_back(std::make_unique<InnerProductSource>(view(s.d), view(s.m)));
    const ComposedSource source(true, 1.0, std::move(parts));
    const PairSums sums = pair_sums(host.engine(), source);
    const Naive naive(k, s.g(), Vector::Ones(n), {});
    CHECK((sums.off_diagonal - naive.off_diagonal).norm() < 1e-10);
    CHECK((sums.diagonal - naive.diagonal).norm() < 1e-12);
    CHECK(is_near(sums.squares, naive.squares, 1e-10));
    const Matrix h = pair_matrix(host.engine(), source);
    CHECK((h - k.cwiseProduct(s.g())).norm() < 1e-10);
    if (n < 5) continue;
    const BlockSums blocks = block_sums(host.engine(), source, 5);
    CHECK(blocks.biased.size() == n / 5);
    CHECK(is_near(blocks.biased(n / 5 - 1), h.block(n / 5 * 5 - 5, n / 5 * 5 - 5, 5, 5).mean()));
  }
}

TEST(sums_of_weighted_rows_and_of_clusters_are_those_of_a_loop_over_pairs) {
  ThreadedEngine host(2);
  for (Index n : {3, 64, 150}) {
    const Sample s(n);
    const Matrix h = s.k().cwiseProduct(s.g());
    const StoredSource source(view(h));
    const Vector w = Vector::Random(n).array() + 1.5;
    Labels cluster;
    for (Index i = 0; i < n; ++i) cluster.push_back(1 + static_cast<int>(5 * i / n));
    const PairSums sums = pair_sums(host.engine(), DesignSource(source, w, cluster), {}, true);
    const Naive naive(s.k(), s.g(), w, cluster);
    CHECK((sums.off_diagonal - w.cwiseProduct(naive.off_diagonal)).norm() < 1e-10);
    CHECK(is_near(sums.squares, naive.squares, 1e-10));
    CHECK((sums.diagonal - w.cwiseProduct(naive.diagonal)).norm() < 1e-12);
    const ClusterNoise noise = cluster_noise(host.engine(), source, cluster, w);
    Matrix of_clusters = Matrix::Zero(5, 5);
    double diagonal = 0.0;
    for (Index i = 0; i < n; ++i) {
      diagonal += w(i) * w(i) * h(i, i);
      for (Index j = 0; j < n; ++j) of_clusters(5 * i / n, 5 * j / n) += w(i) * w(j) * h(i, j);
    }
    CHECK(is_near(noise.within, of_clusters.trace(), 1e-10));
    of_clusters.diagonal().setZero();
    CHECK(is_near(noise.across, of_clusters.squaredNorm(), 1e-10));
    CHECK(is_near(noise.squares, naive.squares, 1e-10));
    CHECK(is_near(noise.diagonal, diagonal, 1e-10));
  }
}

// with equal x, residuals of 0, a bandwidth far below the steps, one cluster and clusters of one
// row
TEST(noise_of_clusters_on_a_line_is_that_of_all_pairs) {
  ThreadedEngine host(2);
  for (const Index n : {1, 2, 60, 150}) {
    Vector x = Vector::Random(n).array().abs(), d = Vector::Random(n);
    for (Index i = 0; i < n; i += 3) x(i) = std::round(x(i) * 10.0) / 10.0;
    for (Index i = 0; i < n; i += 7) d(i) = 0.0;
    std::sort(x.data(), x.data() + n);
    for (const Index clusters : {Index{1}, std::min<Index>(5, n), n}) {
      for (const double bandwidth : {1e-5, 0.2}) {
        Labels cluster;
        for (Index i = 0; i < n; ++i) cluster.push_back(1 + static_cast<int>(i * 7 % n % clusters));
        const LinePair line{bandwidth, 2.0};
        const ClusterNoise noise = cluster_noise(host.engine(), line, x, d, RowClusters(cluster));
        Matrix of_clusters = Matrix::Zero(clusters, clusters);
        double squares = 0.0;
        for (Index i = 0; i < n; ++i) {
          for (Index j = 0; j < n; ++j) {
            const double h = 2.0 * d(i) * d(j) * std::exp(-std::abs(x(i) - x(j)) / bandwidth);
            const Index a = cluster[static_cast<std::size_t>(i)] - 1,
                        b = cluster[static_cast<std::size_t>(j)] - 1;
            of_clusters(a, b) += h;
            if (a != b) squares += h * h;
          }
        }
        CHECK(is_near(noise.within, of_clusters.trace(), 1e-10));
        CHECK(is_near(noise.diagonal, 2.0 * d.squaredNorm(), 1e-10));
        of_clusters.diagonal().setZero();
        CHECK(is_near(noise.across, of_clusters.squaredNorm(), 1e-10));
        CHECK(is_near(noise.squares, squares, 1e-10));
      }
    }
  }
}

TEST(sums_of_a_factor_are_those_of_its_product) {
  ThreadedEngine host(2);
  const Index n = 47;
  const Sample s(n);
  Vector w = Vector::Random(n).array() + 1.5;
  Labels cluster;
  const RowSample all = RowSample::all(n);
  std::vector<Index> some;
  for (Index i = 0; i < n; ++i) {
    cluster.push_back(1 + static_cast<int>(i * i % 7));
    if (i % 3 == 0) some.push_back(i);
  }
  for (bool weighted : {false, true}) {
    for (bool clustered : {false, true}) {
      const Labels code = clustered ? cluster : Labels();
      const PairSums sums =
          factor_sums(host.engine(), KeptRows{s.l}, s.d, s.m, weighted ? w : Vector(), code, all);
      const Naive naive(s.k(), s.g(), weighted ? w : Vector(Vector::Ones(n)), code);
      CHECK((sums.off_diagonal - naive.off_diagonal).norm() < 1e-11);
      CHECK((sums.diagonal - naive.diagonal).norm() < 1e-12);
      CHECK(is_near(sums.squares, naive.squares, 1e-10));
    }
  }
  // some rows, all of them in their pairs
  const Matrix h = s.k().cwiseProduct(s.g());
  double squares = 0.0;
  for (Index b : some) squares += h.col(b).squaredNorm() - h(b, b) * h(b, b);
  const double share = static_cast<double>(n) / static_cast<double>(some.size());
  const PairSums part =
      factor_sums(host.engine(), KeptRows{s.l}, s.d, s.m, Vector(), {},
                  {some, Vector::Constant(static_cast<Index>(some.size()), share)});
  CHECK(is_near(part.squares, squares * share, 1e-10));
  const PairTotals total = factor_totals(s.l, s.d, s.l.transpose() * s.d);
  const Naive naive(s.k(), s.d * s.d.transpose(), Vector::Ones(n), {});
  CHECK(is_near(total.unbiased(), naive.off_diagonal.sum() / static_cast<double>(n * (n - 1))));
  CHECK(is_near(pair_totals(host.engine(), s.k(), s.d).all, total.all));
}

TEST(a_sample_of_rows_stands_for_the_pairs_of_all) {
  // few large rows, as of unequal weights
  const Index n = 2000;
  Matrix values = Matrix::Random(n, 2);
  const Vector size = (4.0 * values.col(0).array()).exp();
  const auto sample = [&](const Vector& own, Index most) {
    return sample_rows(MatrixView(values.data(), n, 2), own, most);
  };
  CHECK(sample(size, 1001).at.size() == 2000);
  const RowSample some = sample(size, 200);
  CHECK(some.at.size() > 150 && some.at.size() < 250);
  double sum = 0.0, pairs = 0.0, other = 0.0, all = 0.0;
  for (std::size_t a = 0; a < some.at.size(); ++a) {
    const Index i = some.at[a];
    sum += some.count(static_cast<Index>(a)) * size(i);
    for (std::size_t b = 0; b < a; ++b) {
      const Index j = some.at[b];
      const double stands =
          2.0 * some.pairs * some.count(static_cast<Index>(a)) * some.count(static_cast<Index>(b));
      pairs += stands * size(i) * size(j);
      other += stands * size(i) * size(j) * (1.0 + values(i, 1) * values(j, 1));
    }
  }
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < i; ++j) {
      all += 2.0 * size(i) * size(j) * (1.0 + values(i, 1) * values(j, 1));
    }
  }
  CHECK(is_near(sum, size.sum()));
  CHECK(is_near(pairs, size.sum() * size.sum() - size.squaredNorm()));
  CHECK(std::abs(other / all - 1.0) < 0.05);
  // in any order of the rows
  values = values.colwise().reverse().eval();
  CHECK(sample(size.reverse(), 200).at.size() == some.at.size());
  // few rows that count are all of it, and none are none
  Vector few = Vector::Zero(n);
  CHECK(sample(few, 200).at.empty() && sample(size, 0).at.empty());
  few(7) = few(70) = 0.5;
  CHECK(sample(few, 200).at == std::vector<Index>({7, 70}));
}

TEST(rows_made_as_they_are_read_are_those_of_the_features) {
  ThreadedEngine host(2);
  const Matrix x = Matrix::Random(40, 2), d = Matrix::Random(40, 3);
  const FeatureMap map = {{0.5, true, Matrix()}, {1.5, false, Matrix::Random(2, 6)}};
  const Matrix f = map_features(host.engine(), map, x);
  Labels cluster;
  for (int i = 0; i < 40; ++i) cluster.push_back(1 + i % 9);
  const RowSample two{{3, 17}, Vector::Constant(2, 20.0)};
  const PairSums made =
      factor_sums(host.engine(), FeatureRows{map, x}, d, d, Vector(), cluster, two);
  const PairSums kept = factor_sums(host.engine(), KeptRows{f}, d, d, Vector(), cluster, two);
  CHECK((made.off_diagonal - kept.off_diagonal).norm() < 1e-12);
  CHECK((made.diagonal - kept.diagonal).norm() < 1e-12);
  CHECK(is_near(made.squares, kept.squares, 1e-12));
}

TEST(redrawn_classes_have_the_statistic_of_their_residuals) {
  ThreadedEngine host(2);
  const Index n = 30;
  const Sample s(n);
  const Matrix root = Matrix::Random(4, 4), full = root * root.transpose();
  // a multiple of the identity, which is not formed
  const Matrix multiple = Matrix::Constant(1, 1, 2.5), formed = 2.5 * Matrix::Identity(4, 4);
  // from no class at all, and from the most probable one
  Matrix flat = simplex(n, 4), sharp = 0.1 * flat;
  for (Index i = 0; i < n; ++i) sharp(i, i % 4) += 0.9;
  for (int c = 0; c < 4; ++c) {
    const Matrix& probs = c % 2 == 0 ? flat : sharp;
    const Matrix& gram = c < 2 ? full : formed;
    const ClassRedraws redraws(host.engine(), s.l, probs, c < 2 ? full : multiple);
    for (int shift : {0, 1, 2}) {
      Labels labels, all;
      for (Index i = 0; i < n; ++i) {
        labels.push_back(static_cast<int>((i * (1 + shift) + shift) % 4));
        all.push_back(static_cast<int>(i));
      }
      const Matrix d = onehot_gap(probs, labels);
      const Naive naive(s.k(), d * gram * d.transpose(), Vector::Ones(n), {});
      const double expected = naive.off_diagonal.sum() / static_cast<double>(n * (n - 1));
      CHECK(is_near(redraws.unbiased(labels), expected, 1e-11));
      CHECK(is_near(redraws.unbiased(labels, all), expected, 1e-11));
    }
  }
}

TEST(copies_have_the_statistics_of_repeated_rows) {
  ThreadedEngine host(2);
  const Index n = 30;
  const Sample s(n);
  std::vector<Index> at;
  Vector copies(n);
  for (Index i = 0; i < n; ++i) {
    copies(i) = static_cast<double>(1 + i * i % 4);
    at.insert(at.end(), static_cast<std::size_t>(copies(i)), i);
  }
  const auto all = static_cast<Index>(at.size());
  const Matrix h = s.k().cwiseProduct(s.g());
  Matrix repeated(all, all), sample = Matrix::Zero(n, 2), samples = Matrix::Zero(all, 2);
  for (Index i = 0; i < all; ++i) {
    for (Index j = 0; j < all; ++j)
      repeated(i, j) = h(at[static_cast<std::size_t>(i)], at[static_cast<std::size_t>(j)]);
  }
  for (Index c = 0; c < 2; ++c) {
    for (Index i = 0; i < all; ++i) {
      const Index drawn = (i * i + c) % all;
      samples(drawn, c) += 1.0;
      sample(at[static_cast<std::size_t>(drawn)], c) += 1.0;
    }
  }
  const StoredSource source(view(h)), rows(view(repeated));
  const Vector counted = degenerate_bootstrap(host.engine(), source, sample, copies),
               expected = degenerate_bootstrap(host.engine(), rows, samples);
  for (Index c = 0; c < 2; ++c) CHECK(is_near(counted(c), expected(c), 1e-11));
  for (Index size : {2, 5, 11, 36}) {
    const BlockSums own = copy_blocks(host.engine(), source, size, copies),
                    of_rows = block_sums(host.engine(), rows, size);
    CHECK(own.unbiased.size() == of_rows.unbiased.size());
    for (Index b = 0; b < own.unbiased.size(); ++b) {
      CHECK(is_near(own.unbiased(b), of_rows.unbiased(b), 1e-11));
      CHECK(is_near(own.squares(b), of_rows.squares(b), 1e-11));
    }
  }
  const Matrix probs = simplex(n, 4), gram = Matrix::Identity(4, 4) + Matrix::Constant(4, 4, 0.2);
  Matrix l(all, s.l.cols()), p(all, 4), counts = Matrix::Zero(n, 4);
  Labels labels;
  for (Index i = 0; i < all; ++i) {
    const Index row = at[static_cast<std::size_t>(i)];
    l.row(i) = s.l.row(row);
    p.row(i) = probs.row(row);
    labels.push_back(static_cast<int>(i * i % 4));
    counts(row, labels.back()) += 1.0;
  }
  CHECK(is_near(ClassRedraws(host.engine(), s.l, probs, gram).unbiased(counts),
                ClassRedraws(host.engine(), l, p, gram).unbiased(labels), 1e-11));
  // binomial() as the expectation: all of them are dealt out
  Matrix dealt(1, 4);
  ClassDraws(probs).counts(
      0, 12.0, [](double trials, double share) { return trials * share; }, dealt);
  for (Index k = 0; k < 4; ++k) CHECK(is_near(dealt(0, k), 12.0 * probs(0, k), 1e-11));
}

TEST(the_witness_of_labels_is_that_of_its_formula) {
  const Index n = 30, m = 3, locations = 2;
  const Sample s(n);
  const Matrix columns = s.l.leftCols(locations), expected = s.d.leftCols(locations);
  const Matrix gram = s.l.topRightCorner(m, locations);
  const LabelWitness witness(columns, expected, gram);
  Labels labels;
  Matrix counts = Matrix::Zero(n, m), z(0, locations);
  for (Index i = 0; i < n; ++i) {
    labels.push_back(static_cast<int>(i * i % m));
    const Index copies = 1 + i % 2;
    counts(i, labels.back()) += static_cast<double>(copies);
    for (Index c = 0; c < copies; ++c) {
      z.conservativeResize(z.rows() + 1, Eigen::NoChange);
      for (Index j = 0; j < locations; ++j) {
        z(z.rows() - 1, j) = columns(i, j) * (gram(labels.back(), j) - expected(i, j));
      }
    }
  }
  const auto naive = [](const Matrix& rows) {
    const double size = static_cast<double>(rows.rows());
    const Vector mean = rows.colwise().sum() / size;
    const Matrix off = rows.rowwise() - mean.transpose();
    return size * mean.dot((off.transpose() * off / (size - 1.0)).inverse() * mean);
  };
  CHECK(is_near(witness.statistic(counts), naive(z), 1e-10));
  Matrix once(n, locations);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < locations; ++j) {
      once(i, j) = columns(i, j) * (gram(labels[static_cast<std::size_t>(i)], j) - expected(i, j));
    }
  }
  CHECK(is_near(witness.statistic(labels), naive(once), 1e-10));
  once.col(1) = once.col(0);
  CHECK(std::isnan(hotelling(once, Vector())));
}

TEST(the_conditional_error_is_that_of_its_formula) {
  ThreadedEngine host(2);
  const Index n = 25;
  const Sample s(n);
  const Matrix k = s.k() + Matrix::Identity(n, n);
  const Vector variances = Vector::Ones(n), ridges = Vector::Constant(1, 0.3);
  const Matrix shifted = k + 0.3 * static_cast<double>(n) * Matrix::Identity(n, n);
  const Matrix a = shifted.inverse(), core = a * k * a, g = s.d * s.d.transpose();
  double expected = 0.0, diagonal = 0.0;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) expected += core(i, j) * g(i, j);
    diagonal += core(i, i) * g(i, i);
  }
  CkceJob job{s.d, variances, ridges, true, Matrix(), Matrix(), Matrix()};
  for (const CkceResult& out :
       {ckce_by_dual(host.engine(), k, job), ckce_by_eigen(host.engine(), k, job)}) {
    CHECK(is_near(out.values[0].estimate, expected, 1e-10));
    CHECK(is_near(out.values[0].diagonal, diagonal, 1e-10));
    CHECK(is_near(out.values[0].null_mean, core.trace(), 1e-10));
  }
}

TEST(bootstrap_replicates_are_those_of_the_matrix) {
  ThreadedEngine host(2);
  // more than a panel of rows
  const Index n = 300;
  const Sample s(n);
  const Matrix h = s.k().cwiseProduct(s.g());
  Matrix counts = Matrix::Zero(n, 3);
  for (Index c = 0; c < 3; ++c) {
    for (Index i = 0; i < n; ++i) counts((i * i + c) % n, c) += 1.0;
  }
  const Vector out = degenerate_bootstrap(host.engine(), StoredSource(view(h)), counts);
  for (Index c = 0; c < 3; ++c) {
    double quadratic = 0.0, linear = 0.0;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        quadratic +=
            counts(i, c) * counts(j, c) * h(i, j) - (i == j ? counts(i, c) * h(i, i) : 0.0);
        linear += 2.0 * counts(i, c) * h(i, j);
      }
    }
    const double m = static_cast<double>(n);
    CHECK(is_near(out(c), (m / (m - 1.0) * quadratic - linear) / (m * m), 1e-11));
  }
}
