// SPDX-License-Identifier: GPL-3.0-or-later
#include "interrupt.h"
#include "r_engine.h"
#include <calibrisk/classical/row_folds.h>
#include <calibrisk/states/cell_auroc.h>
#include <calibrisk/states/cell_rule.h>
#include <calibrisk/states/sums.h>

namespace {

// Sums as R holds them: a column of sums, a column of what rounding took.
calibrisk::PairedSums sums_of(Rcpp::NumericMatrix& x) {
  calibrisk::require(x.ncol() == 2, "Sums have two columns.");
  return calibrisk::PairedSums(x.begin(), x.begin() + x.nrow(), x.nrow());
}

calibrisk::CellEdges edges_of(const Rcpp::NumericVector& edges) {
  return calibrisk::CellEdges(edges.begin(), edges.size());
}

// task(row) for the rows of a chunk; `part` counts from 0, no weights are weights of 1.
template <class Task>
Rcpp::NumericMatrix add_rows(const Rcpp::NumericMatrix& before, const Rcpp::NumericVector& x,
                             const Rcpp::IntegerVector& y, const Rcpp::IntegerVector& part,
                             const Rcpp::NumericVector& weights, const Task& task) {
  calibrisk::require(x.size() == y.size() && x.size() == part.size() &&
                         (weights.size() == 0 || weights.size() == x.size()),
                     "Every row has an outcome, a part and a weight.");
  Rcpp::NumericMatrix out = Rcpp::clone(before);
  calibrisk::PairedSums sums = sums_of(out);
  for (R_xlen_t i = 0; i < x.size(); ++i) {
    task(sums, calibrisk::StateRow{x[i], y[i], part[i], weights.size() == 0 ? 1.0 : weights[i]});
  }
  sums.tidy();
  return out;
}

void check_sum(bool holds, const std::string& fact) {
  if (!holds)
    throw std::invalid_argument("The sums of a state must be of its rows and options. " + fact);
}

// Sums of moments are those of weights of at most 1e50, products those of their squares, of 2^53
// rows: the squares of what can be are finite.
void check_sum_matrix(const Rcpp::List& sums, const std::string& name, double rows, double m) {
  const SEXP x = has_field(sums, name.c_str()) ? field(sums, name.c_str()) : R_NilValue;
  const bool numbers = TYPEOF(x) == REALSXP || TYPEOF(x) == INTSXP;
  check_sum(numbers && Rf_isMatrix(x) && Rf_ncols(x) == 2 && Rf_nrows(x) == rows,
            "`" + name + "` has another size.");
  const Rcpp::NumericMatrix values(x);
  const double most = m > 1 ? 1e70 : 1e125;
  check_sum(
      std::all_of(values.begin(), values.end(), [&](double v) { return std::abs(v) <= most; }),
      "`" + name + "` has values that are not finite.");
  check_sum(m == 0 || calibrisk::are_moments(values.begin(), values.begin() + values.nrow(),
                                             values.nrow(), static_cast<calibrisk::Index>(m)),
            "`" + name + "` has values that no weights have.");
}

// Every `step`-th of them, summed.
double total(const Rcpp::List& sums, const char* name, int step, int first = 0) {
  const Rcpp::NumericMatrix x(field(sums, name));
  double out = 0.0;
  for (int i = first; i < x.nrow(); i += step) out += x(i, 0) + x(i, 1);
  return out;
}

}  // namespace

// The sums of a state with those of the rows of a chunk, one by one (inst/include/calibrisk/states/
// sums.h): moments of cells, scores.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_add_moments(Rcpp::NumericMatrix sums, Rcpp::NumericVector edges, int m,
                                    Rcpp::NumericVector x, Rcpp::IntegerVector y,
                                    Rcpp::IntegerVector part, Rcpp::NumericVector weights) {
  const calibrisk::CellEdges cells = edges_of(edges);
  return add_rows(sums, x, y, part, weights,
                  [&](calibrisk::PairedSums& to, const calibrisk::StateRow& row) {
                    calibrisk::add_moments(to, cells, m, row);
                  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_add_scores(Rcpp::NumericMatrix sums, Rcpp::NumericVector x,
                                   Rcpp::IntegerVector y, Rcpp::IntegerVector part,
                                   Rcpp::NumericVector weights) {
  return add_rows(sums, x, y, part, weights,
                  [](calibrisk::PairedSums& to, const calibrisk::StateRow& row) {
                    calibrisk::add_scores(to, row);
                  });
}

// The sums of a problem (R/state-sums.R) with those of a chunk: of its cells and scores in the
// parts `own`, of others in `blocks`. `spec`: edges, fine and bins; `m`: moments of a cell, of one
// of a block and of a narrow one.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_add_chunk(Rcpp::List sums, Rcpp::NumericVector x, Rcpp::IntegerVector y,
                         Rcpp::IntegerVector own, Rcpp::IntegerVector blocks,
                         Rcpp::NumericVector weights, Rcpp::List spec, std::vector<int> m) {
  calibrisk::require(m.size() == 3, "add_chunk: moments of three kinds of cells.");
  const bool counted = has_field(sums, "counts"), classes = has_field(sums, "blocks");
  const Rcpp::NumericVector plain(0), edges(field(spec, "edges")), fine(field(spec, "fine"));
  Rcpp::List out = Rcpp::clone(sums);
  const auto add = [&](const char* name, const Rcpp::NumericVector& cells, int moments,
                       const Rcpp::IntegerVector& outcome, const Rcpp::IntegerVector& part,
                       const Rcpp::NumericVector& w) {
    out[name] =
        cpp_add_moments(Rcpp::NumericMatrix(field(out, name)), cells, moments, x, outcome, part, w);
  };
  add("moments", edges, counted ? m[1] : m[0], y, own, weights);
  out["scores"] = cpp_add_scores(Rcpp::NumericMatrix(field(out, "scores")), x, y, own, weights);
  if (counted) {
    const Rcpp::NumericVector bins(field(spec, "bins"));
    Rcpp::NumericVector squares(weights.size());
    for (R_xlen_t i = 0; i < squares.size(); ++i) squares[i] = weights[i] * weights[i];
    add("counts", bins, 1, y, blocks, plain);
    add("squares", bins, 1, y, blocks, squares);
  }
  if (classes) add("blocks", edges, m[1], y, blocks, weights);
  if (!counted && !classes) {
    add("fine", fine, m[2], y, own, weights);
    return out;
  }
  const Rcpp::IntegerVector first(y.size()), second(y.size(), 1);
  Rcpp::NumericVector residual(x.size());
  for (R_xlen_t i = 0; i < x.size(); ++i) {
    residual[i] = (weights.size() > 0 ? weights[i] : 1.0) * (x[i] - y[i]);
  }
  add("fine", fine, 1, first, blocks, weights);
  add("fine", fine, 1, second, blocks, residual);
  return out;
}

// Rows of weight W1 and squared weights W2 in all are W1^2 / W2 copies of one weight: those of a
// bin, outcome and block. `squares`: pairs of [2 x bins x blocks]; part (from 1) and w: of the
// rows. NULL where some have weights and no squared ones.
// [[Rcpp::export(rng = false)]]
SEXP cpp_block_copies(Rcpp::NumericMatrix squares, Rcpp::NumericVector edges, Rcpp::NumericVector x,
                      Rcpp::IntegerVector y, Rcpp::NumericVector part, Rcpp::NumericVector w) {
  const calibrisk::CellEdges bins = edges_of(edges);
  calibrisk::require(x.size() == y.size() && x.size() == part.size() && x.size() == w.size(),
                     "block_copies: values of every row.");
  std::vector<double> total(static_cast<std::size_t>(squares.nrow()));
  std::vector<std::size_t> at;
  for (R_xlen_t i = 0; i < x.size(); ++i) {
    const auto block = static_cast<calibrisk::Index>(part[i]) - 1;
    const calibrisk::Index place = (block * bins.cells() + bins.cell(x[i])) * 2 + y[i];
    calibrisk::require(place >= 0 && place < squares.nrow(), "block_copies: no such block.");
    at.push_back(static_cast<std::size_t>(place));
    total[at.back()] += w[i];
  }
  Rcpp::NumericVector out(x.size());
  for (R_xlen_t i = 0; i < x.size(); ++i) {
    const std::size_t place = at[static_cast<std::size_t>(i)];
    const double square =
        squares.begin()[place] + squares.begin()[static_cast<std::size_t>(squares.nrow()) + place];
    if (square == 0.0 && total[place] > 1e-150) return R_NilValue;
    out[i] = square > 0.0 ? w[i] * total[place] / square : w[i];
  }
  return out;
}

// A narrow cell of a block has the sums of w and w e, and the block that of w e^2. So each cell has
// two rows of half its weight, above and below its mean residual, equally far in all cells of a
// block. `sums`: pairs of [2 x cells x blocks], scaled to n in all; part (from 1), w and residual:
// of the rows of the blocks. Returns x, the residual e, w and part.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_narrow_rows(Rcpp::NumericMatrix sums, Rcpp::NumericVector edges, double n,
                           Rcpp::NumericVector part, Rcpp::NumericVector w,
                           Rcpp::NumericVector residual) {
  const R_xlen_t cells = edges.size() - 1, blocks = sums.nrow() / (2 * cells);
  calibrisk::require(sums.ncol() == 2 && sums.nrow() == 2 * cells * blocks &&
                         w.size() == part.size() && residual.size() == part.size(),
                     "narrow_rows: sums of cells, and rows of blocks.");
  std::vector<double> left(static_cast<std::size_t>(blocks)), weight(left), used(left);
  for (R_xlen_t i = 0; i < part.size(); ++i) {
    calibrisk::require(part[i] >= 1 && part[i] <= static_cast<double>(blocks),
                       "narrow_rows: blocks are 1, 2, ...");
    const auto block = static_cast<std::size_t>(part[i]) - 1;
    left[block] += w[i] * residual[i] * residual[i];
    used[block] = 1.0;
  }
  const auto sum_of = [&](R_xlen_t cell, R_xlen_t block, R_xlen_t k) {
    const R_xlen_t at = (block * cells + cell) * 2 + k;
    return sums.begin()[at] + sums.begin()[sums.nrow() + at];
  };
  double total = 0.0;
  for (R_xlen_t block = 0; block < blocks; ++block) {
    if (used[static_cast<std::size_t>(block)] == 0.0) continue;
    for (R_xlen_t cell = 0; cell < cells; ++cell) total += sum_of(cell, block, 0);
  }
  struct Cell {
    double x, w, mean;
    std::size_t block;
  };
  std::vector<Cell> found;
  for (R_xlen_t b = 0; b < blocks; ++b) {
    const auto block = static_cast<std::size_t>(b);
    for (R_xlen_t cell = 0; cell < cells && used[block] == 1.0; ++cell) {
      const double own = sum_of(cell, b, 0);
      if (!(own > 0.0)) continue;
      const double mean = sum_of(cell, b, 1) / own, scaled = own * (n / total);
      found.push_back({(edges[cell + 1] + edges[cell]) / 2.0, scaled, mean, block});
      left[block] -= scaled * mean * mean;
      weight[block] += scaled;
    }
  }
  std::vector<double> x, e, half, parts;
  for (const double side : {1.0, -1.0}) {
    for (const Cell& cell : found) {
      const double apart = std::sqrt(std::max(left[cell.block], 0.0) / weight[cell.block]);
      x.push_back(cell.x);
      e.push_back(cell.mean + side * apart);
      half.push_back(cell.w / 2.0);
      parts.push_back(static_cast<double>(cell.block) + 1.0);
    }
  }
  return named_list({{"x", x}, {"e", e}, {"w", half}, {"part", parts}});
}

// Products of two columns of x.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_add_products(Rcpp::NumericMatrix before, Rcpp::NumericMatrix x,
                                     Rcpp::IntegerVector part) {
  calibrisk::require(x.nrow() == part.size(), "Every row has a part.");
  Rcpp::NumericMatrix out = Rcpp::clone(before);
  calibrisk::PairedSums sums = sums_of(out);
  std::vector<double> row(static_cast<std::size_t>(x.ncol()));
  for (int i = 0; i < x.nrow(); ++i) {
    for (int j = 0; j < x.ncol(); ++j) row[static_cast<std::size_t>(j)] = x(i, j);
    calibrisk::add_squares(sums, row, part[i]);
    if (i % 1024 == 1023) check_interrupt();
  }
  sums.tidy();
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_add_sums(Rcpp::NumericMatrix a, Rcpp::NumericMatrix b) {
  Rcpp::NumericMatrix out = Rcpp::clone(a);
  sums_of(out).add(sums_of(b));
  return out;
}

// Refuses sums that are not of one set of n rows, since states come back from files. `problems`:
// the matrices of each by their names; `sizes`: their numbers of rows, and how many moments are in
// turn (0: any sums). Weighted rows and rows in clusters have counts.
// [[Rcpp::export(rng = false)]]
void cpp_check_sums(Rcpp::List problems, Rcpp::List sizes, double n) {
  check_sum(problems.size() == sizes.size(), "They are of another number of classes.");
  const double least = sizes.size() > 0 ? 1.0 : 0.0, most = sizes.size() > 0 ? 0x1p53 : 0.0;
  check_sum(n >= least && n <= most && n == std::floor(n), "They are of another number of rows.");
  double weight = n;
  for (R_xlen_t j = 0; j < problems.size(); ++j) {
    const Rcpp::List sums(problems[j]), of(sizes[j]);
    const Rcpp::CharacterVector names = of.names();
    check_sum(sums.size() == of.size(), "There are other matrices.");
    for (R_xlen_t k = 0; k < of.size(); ++k) {
      const Rcpp::NumericVector size(of[k]);
      check_sum_matrix(sums, Rcpp::as<std::string>(names[k]), size[0], size[1]);
    }
    const auto rows_of = [&](const char* name, double must, int step, int first = 0) {
      check_sum(std::abs(total(sums, name, step, first) - must) <= 1e-6 * must,
                std::string("`") + name + "` is of others.");
    };
    const auto moments_of = [&](const char* name, double must) {
      if (!has_field(of, name)) return;
      const Rcpp::NumericVector size(field(of, name));
      rows_of(name, must, size[1] > 0 ? static_cast<int>(size[1]) : 2);
    };
    if (has_field(of, "rows")) {  // canonical: their number and their weight
      rows_of("rows", n, 3);
      weight = total(sums, "rows", 3, 1);
      check_sum(weight > 0.0, "They have no weight.");
      continue;
    }
    const bool weighted = has_field(of, "counts");
    if (weighted && j == 0) weight = total(sums, "moments", 4);
    check_sum(weight > 0.0, "They have no weight.");
    moments_of("moments", weight);
    moments_of("fine", weight);
    moments_of("blocks", weight);
    moments_of("counts", n);
    const Rcpp::NumericMatrix scores(field(sums, "scores"));
    for (int i = 0; i < scores.nrow(); ++i) {
      check_sum(scores(i, 0) + scores(i, 1) >= 0.0, "`scores` has values below 0.");
    }
    // a residual is at most 1, and n weights have a sum
    const double residuals = total(sums, "scores", 6, 4), weights = total(sums, "scores", 6, 5);
    if (!weighted) rows_of("scores", weight, 6, 5);
    check_sum(std::max(residuals, weight * weight / n) <= 1.000001 * weights &&
                  weights <= 1.000001 * weight * weight,
              "`scores` has squares that no weights and residuals have.");
  }
}

// A number in [0, 1) for each id, scattered.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_id_units(SEXP ids) {
  if (TYPEOF(ids) == REALSXP) {
    Rcpp::NumericVector out(Rf_xlength(ids));
    for (R_xlen_t i = 0; i < out.size(); ++i) {
      out[i] = calibrisk::unit_of(
          calibrisk::mix_bits(calibrisk::counter_step + calibrisk::bits_of(REAL(ids)[i])));
    }
    return out;
  }
  const Rcpp::CharacterVector words(ids);
  Rcpp::NumericVector out(words.size());
  for (R_xlen_t i = 0; i < out.size(); ++i) {
    std::uint64_t key = calibrisk::counter_step;
    for (const char* c = CHAR(STRING_ELT(words, i)); *c != 0; ++c) {
      key = calibrisk::mix_bits(key * 3 + static_cast<unsigned char>(*c));
    }
    out[i] = calibrisk::unit_of(key);
  }
  return out;
}

// The rows that stand for those of several groups of rows, by columns: group (from 1), value,
// count. `moments`: [m x groups], of the place of a value between `low` and `high`. Values are
// above `above` and at most `most`, rounding notwithstanding.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_group_rows(Rcpp::NumericVector low, Rcpp::NumericVector high,
                                   Rcpp::NumericVector above, Rcpp::NumericVector most,
                                   Rcpp::NumericVector moments, int m, int nodes) {
  const R_xlen_t groups = low.size();
  calibrisk::require(m >= 1 && nodes >= 0 && 2 * nodes <= m && moments.size() == m * groups &&
                         high.size() == groups && above.size() == groups && most.size() == groups,
                     "Moments must have the shape of their groups.");
  std::vector<double> group, x, count;
  for (R_xlen_t g = 0; g < groups; ++g) {
    const double* moment = moments.begin() + g * m;
    if (!(moment[0] > 0.0)) continue;
    const double half = (high[g] - low[g]) / 2.0, middle = (high[g] + low[g]) / 2.0;
    const double lowest = std::nextafter(above[g], most[g]);
    const calibrisk::CellRule rule = calibrisk::cell_rule(worker_algebra(), moment, nodes);
    for (calibrisk::Index q = 0; q < rule.node.size(); ++q) {
      group.push_back(static_cast<double>(g) + 1.0);
      x.push_back(std::min(std::max(middle + half * rule.node(q), lowest), most[g]));
      count.push_back(rule.count(q));
    }
  }
  const auto n = static_cast<int>(x.size());
  Rcpp::NumericMatrix out(n, 3);
  std::copy(group.begin(), group.end(), out.begin());
  std::copy(x.begin(), x.end(), out.begin() + n);
  std::copy(count.begin(), count.end(), out.begin() + 2 * n);
  return out;
}

// The AUROC of sums over cells, and the influence of each node of `parts`. Lists of x, event and
// weight: of all rows together, at most `most` nodes in a cell and outcome, and of their parts.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_cell_auroc(Rcpp::List nodes, Rcpp::List parts, std::vector<double> edges, int most) {
  const auto nodes_of = [](const Rcpp::List& of) {
    const calibrisk::CellNodes out{vector_view(field(of, "x")), vector_view(field(of, "event")),
                                   vector_view(field(of, "weight"))};
    calibrisk::require(out.x.size() == out.event.size() && out.x.size() == out.weight.size(),
                       "cell_auroc: one event and weight per node.");
    return out;
  };
  calibrisk::require(edges.size() > 1 && most > 0, "cell_auroc: cells have edges and nodes.");
  const calibrisk::CellAuroc out = calibrisk::cell_auroc(nodes_of(nodes), nodes_of(parts), edges,
                                                         static_cast<std::size_t>(most));
  return named_list({{"value", out.value}, {"influence", out.influence}});
}

// Edges of cells as knots, for each number of knots: of those at `inner` (positions from 1) the
// nearest to quantiles of the rows, and the ends of the cells that hold the `range` of the
// predictions. `mass`: of each cell.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_cell_knots(std::vector<double> edges, std::vector<double> mass,
                          std::vector<double> range, std::vector<int> inner,
                          std::vector<int> sizes) {
  const std::size_t cells = mass.size();
  calibrisk::require(cells > 0 && edges.size() == cells + 1 && range.size() == 2,
                     "cell_knots: cells have edges.");
  std::vector<double> below = {0.0};
  long double sum = 0.0L;
  for (const double own : mass) below.push_back(static_cast<double>(sum += own));
  const auto slack = [&](std::size_t cell) { return 1e-9 * (edges[cell + 1] - edges[cell]); };
  std::size_t first = 0, last = cells;
  for (std::size_t k = 0; k <= cells; ++k) {
    if (edges[k] - (k < cells ? slack(k) : 0.0) <= range[0]) first = k;
  }
  for (std::size_t k = cells + 1; k-- > 0;) {
    if (edges[k] + (k > 0 ? slack(k - 1) : 0.0) >= range[1]) last = k;
  }
  std::vector<std::size_t> inside;
  for (const int position : inner) {
    const auto k = static_cast<std::size_t>(position) - 1;
    if (position > 0 && k >= first && k <= last) inside.push_back(k);
  }
  std::sort(inside.begin(), inside.end());
  // no given knot is between the predictions
  if (inside.empty()) inside = {first, last};
  Rcpp::List out(static_cast<R_xlen_t>(sizes.size()));
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    std::vector<std::size_t> at = {first, last};
    for (int j = 1; j < sizes[s] - 1; ++j) {
      const double target = static_cast<double>(j) / (sizes[s] - 1) * below.back();
      at.push_back(*std::min_element(inside.begin(), inside.end(), [&](auto a, auto b) {
        return std::abs(below[a] - target) < std::abs(below[b] - target);
      }));
    }
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    std::vector<double> knots;
    for (const std::size_t k : at) knots.push_back(edges[k]);
    out[static_cast<R_xlen_t>(s)] = Rcpp::NumericVector(knots.begin(), knots.end());
  }
  return out;
}
