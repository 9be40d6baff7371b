// SPDX-License-Identifier: GPL-3.0-or-later
// Standard errors and limits of estimates (R/influence.R).
#include "as_weights.h"
#include "nested_limits.h"
#include <calibrisk/classical/model_difference.h>
#include <calibrisk/classical/moments.h>
#include <calibrisk/math/known_null.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <set>

namespace {

bool given(const Rcpp::List& list, const char* name) {
  return has_field(list, name) && !Rf_isNull(field(list, name));
}

double number_or(const Rcpp::List& list, const char* name, double other) {
  return given(list, name) ? number_field(list, name) : other;
}

// As R's min() and max() of them: missing where one is.
template <class Better>
double first_of(std::initializer_list<double> values, const Better& better) {
  double out = *values.begin();
  for (const double value : values) {
    if (R_IsNA(value) || (!ISNAN(out) && (ISNAN(value) || better(value, out)))) out = value;
  }
  return out;
}
double least(std::initializer_list<double> values) { return first_of(values, std::less<>()); }
double largest(std::initializer_list<double> values) { return first_of(values, std::greater<>()); }

// Whether all copies of a design have one weight: plain rows, and those with counts alone.
bool have_equal_copies(const Rcpp::List& design) {
  if (!given(design, "w")) return true;
  if (!given(design, "copies")) return false;
  const auto w = vector_view(field(design, "w")), copies = vector_view(field(design, "copies"));
  return w.size() == copies.size() && (w.array() == copies.array()).all();
}

// Sums of w v over rows, and of squares and fourth powers over the independent units: of the sums
// of clusters, or over the copies of each row. The lists of members that RowClusters makes would
// take longer.
struct UnitSums {
  double total = 0.0, squares = 0.0, fourths = 0.0;
};

// value(i): v of row i
template <class Value>
UnitSums unit_sums(const Rcpp::List& design, R_xlen_t n, const Value& value) {
  const auto numbers = [&](const char* name) -> const double* {
    if (!given(design, name)) return nullptr;
    const auto out = vector_view(field(design, name));
    calibrisk::require(out.size() == n, "A design has a value for each row.");
    return out.data();
  };
  const double *w = numbers("w"), *copies = numbers("copies");
  UnitSums out;
  const auto row = [&](R_xlen_t i) {
    const double own = w == nullptr ? value(i) : w[i] * value(i);
    out.total += own;
    return own;
  };
  if (!given(design, "cluster")) {
    for (R_xlen_t i = 0; i < n; ++i) {
      const double own = row(i), square = own * own;
      if (copies == nullptr) {
        out.squares += square;
        out.fourths += square * square;
        continue;
      }
      const double c = copies[i];
      out.squares += square / c;
      out.fourths += square * square / (c * c * c);
    }
    return out;
  }
  const Rcpp::IntegerVector cluster = field(design, "cluster");
  calibrisk::require(cluster.size() == n, "A design has a cluster for each row.");
  std::vector<double> sums(n > 0 ? *std::max_element(cluster.begin(), cluster.end()) : 0, 0.0);
  const int* label = cluster.begin();
  for (R_xlen_t i = 0; i < n; ++i) sums.at(static_cast<std::size_t>(label[i] - 1)) += row(i);
  for (const double own : sums) {
    out.squares += own * own;
    out.fourths += own * own * own * own;
  }
  return out;
}

// What limits take from a design (R/design.R).
class DesignFacts {
 public:
  explicit DesignFacts(const Rcpp::List& design)
      : design_(design), n_(number_field(design, "n")), clustered_(given(design, "cluster")) {
    if (clustered_) {
      const Rcpp::IntegerVector labels(field(design, "cluster"));
      clusters_ = labels.size() > 0 ? *std::max_element(labels.begin(), labels.end()) : 0;
    }
  }

  double n() const { return n_; }
  double clusters() const { return clusters_; }  // infinite without
  // that are independent
  double units() const { return clustered_ ? clusters_ : copies(); }
  bool plain() const { return !clustered_ && !given(design_, "w") && !given(design_, "strata"); }
  bool independent() const { return !clustered_ && have_equal_copies(design_); }
  // sum w^2 / W1^2 over all copies
  double concentration() const {
    if (!given(design_, "w")) return 1.0 / n_;
    const RowDesign of(design_);
    return calibrisk::RowMoments(of.weights, of.clusters, of.strata, rows()).concentration();
  }
  // of a standard error: see cpp_design_df()
  double df() const {
    const bool drawn = given(design_, "strata");
    double units = clustered_ || !drawn ? clusters_ : n_;
    if (drawn) {
      const Rcpp::IntegerVector strata(field(design_, "strata"));
      units -= static_cast<double>(std::set<int>(strata.begin(), strata.end()).size());
    } else {
      units -= 1.0;
    }
    if (clustered_) {
      units = std::max(1.0 / (1.0 / units + cluster_inequality()), std::min(units, 1.0));
    }
    if (have_equal_copies(design_)) return units;
    return std::min(units, 1.0 / std::max(concentration() - 1.0 / copies(), 0.0));
  }
  // `most`: degrees of freedom of an estimate whose error a few events make
  double quantile(double level, double most = R_PosInf) const {
    const double of = std::min(df(), most);
    return of < 1.0 ? NA_REAL : R::qt((1.0 + level) / 2.0, of, 1, 0);
  }
  double std_error(const calibrisk::Vector& rows) const {
    const RowDesign of(design_);
    const calibrisk::RowMoments moments(of.weights, of.clusters, of.strata, rows.size());
    const double error = moments.std_error(rows);
    return std::isnan(error) ? NA_REAL : error;
  }
  double std_error(const Rcpp::NumericVector& rows) const { return std_error(as_vector(rows)); }
  double total() const { return given(design_, "w") ? vector_view(field(design_, "w")).sum() : n_; }

 private:
  double copies() const {
    return given(design_, "copies") ? vector_view(field(design_, "copies")).sum() : n_;
  }
  // sum W_c^2 / W1^2 - 1 / C of the clusters' weights; 0 if all are equal
  double cluster_inequality() const {
    const UnitSums of = unit_sums(design_, rows(), [](R_xlen_t) { return 1.0; });
    const double more = of.squares / (of.total * of.total) - 1.0 / clusters_;
    return more > 1e-12 ? more : 0.0;
  }
  calibrisk::Index rows() const { return static_cast<calibrisk::Index>(n_); }

  Rcpp::List design_;
  double n_;
  bool clustered_;
  double clusters_ = R_PosInf;
};

// From the influence, which may be a function that returns it.
double own_error(const Rcpp::List& estimate, const DesignFacts& design) {
  const Rcpp::RObject influence(field(estimate, "influence"));
  if (influence.isNULL()) return NA_REAL;
  if (given(estimate, "variance")) return std::sqrt(number_field(estimate, "variance"));
  if (design.plain() && given(estimate, "squares")) {
    const double n = design.n(), squares = number_field(estimate, "squares");
    return n > 1.0 ? std::sqrt(std::max(squares, 0.0) / (n * (n - 1.0))) : NA_REAL;
  }
  if (!Rf_isFunction(influence)) return design.std_error(Rcpp::NumericVector(influence));
  return design.std_error(Rcpp::NumericVector(Rcpp::Function(influence)()));
}

double noisy_error(const Rcpp::List& estimate, const DesignFacts& design) {
  const double error = own_error(estimate, design);
  if (Rf_isNull(field(estimate, "influence"))) return error;
  return largest({error, std::sqrt(number_field(estimate, "noise"))});
}

double known_limit(double value, double known, double estimated, double z, double skew = 0.0) {
  const calibrisk::NullVariance variance{known, estimated};
  return calibrisk::known_null_limit(value, variance, [&](double share) {
    const double at = variance.at(share);
    return pearson3_quantile(z, at > 0.0 ? skew * std::pow(known / at, 1.5) : 0.0);
  });
}

// A lower limit of the value that holds near calibration too, see R/crossfit.R; infinite if nothing
// gives one. Dependence within clusters, and on weights, is not known: of such rows the larger one
// of known and estimated variance.
double honest_limit(const Rcpp::List& estimate, const DesignFacts& design, double quantile) {
  if (!given(estimate, "honest")) return R_PosInf;
  const Rcpp::List honest(field(estimate, "honest"));
  const double error = noisy_error(honest, DesignFacts(Rcpp::List(field(honest, "design"))));
  const double variance = error * error;
  if (ISNAN(variance + quantile)) return NA_REAL;
  double known = number_or(honest, "known", variance);
  if (!design.independent()) known = std::max(known, variance);
  const double inflation = calibrisk::honest_inflation(number_field(estimate, "power"), 0.0);
  return known_limit(number_field(honest, "value"), known, variance, quantile * inflation);
}

struct Limits {
  double std_error, low, high;
};

// Two-sided limits at the quantile z, and the standard error, of a mean over pairs: sum_k lambda_k
// ((Z_k + delta_k)^2 - 1) with the variance `noise` and the trace sum lambda_k at calibration, from
// the outcomes, and `known` and `known_trace`, from the predictions alone. Its third moment is 8
// sum lambda^3 + 24 sum lambda^3 delta^2, as if all lambda_k were equal. `own`: the deviation by
// influences, which has the noise twice.
Limits pair_limits(double value, double noise, double own, double trace, double known,
                   double known_trace, double z) {
  // noise below the rounding error of the sum is raised to it
  const double rounding = std::numeric_limits<double>::epsilon() * trace;
  noise = std::max(noise, rounding * rounding);
  const double unit = std::sqrt(noise > 0.0 ? noise : known);
  // of these squares: all lambda but one can be 0
  const auto lambda = [](double square, double sum) {
    return square > 0.0 ? square / (2.0 * std::max(sum, std::sqrt(square / 2.0))) : 0.0;
  };
  const auto skewness = [](double third, double variance) {
    return variance > 0.0 ? std::min(third / std::pow(variance, 1.5), std::sqrt(8.0)) : 0.0;
  };
  const double psi = value / unit, square = noise > 0.0 ? 1.0 : 0.0,
               square_0 = known / (unit * unit);
  const double one = lambda(square, trace / unit), one_0 = lambda(square_0, known_trace / unit);
  const double slope =
      calibrisk::slope_of_form(psi, square, own * own / (unit * unit) - 2.0 * square, 4.0 * one);
  const double most = std::max(psi, 0.0);  // a value below that of no error is taken as that
  const auto third = [&](double x) { return one * (4.0 * square + 6.0 * slope * x); };
  const calibrisk::NullVariance variance{square_0, square + slope * most};
  const calibrisk::NullVariance cube{4.0 * one_0 * square_0, third(most)};
  const double low = calibrisk::known_null_limit(psi, variance, [&](double share) {
    return pearson3_quantile(z, skewness(cube.at(share), variance.at(share)));
  });
  const auto excess = [&](double x) {
    const double at = square + slope * x;
    return most - x - pearson3_quantile(-z, skewness(third(x), at)) * std::sqrt(at);
  };
  double upto = most + 10.0 * (1.0 + slope);
  while (excess(upto) > 0.0) upto *= 2.0;
  const double high = calibrisk::bracketed_root(excess, 0.0, upto, 1e-15 * upto);
  return {std::sqrt(variance.estimated) * unit, std::max(low, 0.0) * unit, high * unit};
}

// For a mean over pairs: the x that a test does not reject whose variance grows with x. The
// influence's own variance cannot be used near calibration. It is a square of the same sums as the
// value, and so smallest where the value is too small. The value is sum_k lambda_k ((Z_k +
// delta_k)^2 - 1): noise = 2 sum lambda^2 and trace = sum lambda fix two sums of the lambda_k. The
// influence-based variance counts the noise twice.
Limits degenerate_limits(const Rcpp::List& estimate, const DesignFacts& design, double level) {
  const Rcpp::List pairs(field(estimate, "pairs"));
  const double noise = number_field(estimate, "noise"), df = design.df();
  const bool influence = given(pairs, "influence") && Rf_xlength(field(pairs, "influence")) > 0;
  const double own = influence ? design.std_error(Rcpp::NumericVector(field(pairs, "influence")))
                               : own_error(estimate, design);
  if (ISNAN(own)) return {NA_REAL, NA_REAL, NA_REAL};
  if (!R_FINITE(noise)) return {R_PosInf, NA_REAL, NA_REAL};
  const double value = number_field(pairs, "value");
  const Limits found =
      pair_limits(value, noise, own, number_field(pairs, "trace"), number_field(pairs, "known"),
                  number_field(pairs, "known_trace"), df < 1.0 ? 0.0 : design.quantile(level));
  if (df < 1.0) return {found.std_error, NA_REAL, NA_REAL};
  return {found.std_error, least({found.low, std::max(value, 0.0)}),
          largest({found.high, number_field(estimate, "value")})};
}

// Rows that all contribute the same have no variance, but there may be others: those of which none
// is among m rows are a share of at most 1 - (alpha / 2)^(1 / m) (Clopper and Pearson 1934). They
// lower a gap by at most their share, and raise its power by as much, up to 1.
Limits constant_limits(const Rcpp::List& estimate, const DesignFacts& design, double level) {
  const double size = std::min(
      {1.0 / design.concentration(), design.clusters(), number_or(estimate, "size", R_PosInf)});
  const double unseen = 1.0 - std::pow((1.0 - level) / 2.0, 1.0 / size);
  const double power = number_field(estimate, "power");
  const double value = std::max(number_field(estimate, "value"), 0.0);
  const double low = std::pow(std::max(std::pow(value, 1.0 / power) - unseen, 0.0), power);
  return {0.0, least({low, honest_limit(estimate, design, design.quantile(level))}),
          std::max(value, std::min(value + unseen, 1.0))};
}

// `deviation`: that of bootstrap values, NULL for the standard error of the estimate.
Limits limits_of(const Rcpp::List& estimate, double level,
                 const Rcpp::Nullable<Rcpp::NumericVector>& deviation) {
  const DesignFacts design{Rcpp::List(field(estimate, "design"))};
  const bool paired = given(estimate, "pairs") && given(estimate, "influence");
  Limits pairs{NA_REAL, R_PosInf, R_NegInf};
  if (paired) pairs = degenerate_limits(estimate, design, level);
  if (deviation.isNull() && paired) return pairs;
  const double std_error =
      deviation.isNull() ? noisy_error(estimate, design) : Rcpp::as<double>(deviation.get());
  const double quantile = design.quantile(level, number_or(estimate, "df", R_PosInf));
  const double half = quantile * largest({std_error, std::sqrt(number_or(estimate, "known", 0.0))});
  const double smallest = number_field(estimate, "smallest");
  if (R_FINITE(smallest) && half < 1e-8) return constant_limits(estimate, design, level);
  const double value = number_field(estimate, "value");
  // a mean of squares or logarithms of few events is nearer to normal on the log scale; of none
  // nothing is known
  const double events = number_or(estimate, "few_events", R_PosInf);
  if (events == 0.0) return {std_error, NA_REAL, NA_REAL};
  if (std::isfinite(events) && value > 0.0) {
    const double factor = std::exp(half / value);
    return {std_error, value / factor, value * factor};
  }
  // a value below the smallest possible one is taken as that, so the interval has a width
  return {std_error, least({value - half, honest_limit(estimate, design, quantile), pairs.low}),
          largest({largest({value, smallest}) + half, pairs.high})};
}

// See cpp_few_rows(); infinite for NULL.
double few_rows(const calibrisk::ConstVectorRef& v, const Rcpp::List& design) {
  const DesignFacts facts(design);
  const R_xlen_t n = v.size();
  const double mean =
      facts.plain() ? v.mean()
                    : unit_sums(design, n, [&](R_xlen_t i) { return v(i); }).total / facts.total();
  if (!std::isfinite(mean) && !v.allFinite()) return R_PosInf;
  const UnitSums of = unit_sums(design, n, [&](R_xlen_t i) { return v(i) - mean; });
  const double share = of.fourths / (of.squares * of.squares) - 2.0 / facts.units();
  return share > 1.0 / 30.0 ? 1.0 / share : R_PosInf;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
bool cpp_equal_copies(Rcpp::List design) { return have_equal_copies(design); }

// Degrees of freedom of a standard error, for a quantile of Student's t. For clusters of equal
// weight: one less than their number C, or their number less that of the strata. For others 1 / df
// is larger by 1 / C_eff - 1 / C, with the effective number C_eff of clusters, and df at least 1.
// For weights: 1 / df = 1 / n_eff - 1 / n, about the effective number of rows if that is small, and
// infinite for equal weights.
// [[Rcpp::export(rng = false)]]
double cpp_design_df(Rcpp::List design) { return DesignFacts(design).df(); }

// The standard error of the value, no smaller than that of a calibrated model.
// [[Rcpp::export(rng = false)]]
double cpp_estimate_std_error(Rcpp::List estimate) {
  return noisy_error(estimate, DesignFacts(Rcpp::List(field(estimate, "design"))));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_estimate_limits(Rcpp::List estimate, double level,
                               Rcpp::Nullable<Rcpp::NumericVector> deviation) {
  const Limits found = limits_of(estimate, level, deviation);
  return named_list({{"std.error", found.std_error},
                     {"low", found.low},
                     {"high", least({found.high + number_or(estimate, "lone", 0.0),
                                     number_field(estimate, "largest")})}});
}

// Lower limit of an error whose variance under calibration is known (NullVariance), at the normal
// quantile z, or of a Pearson III law that has this skewness there. It may be negative.
// [[Rcpp::export(rng = false)]]
double cpp_known_limit(double value, double known, double estimated, double z, double skew = 0.0) {
  return known_limit(value, known, estimated, z, skew);
}

// Of the units that make the error of a mean of these rows, among many that do not count, the
// number if it is below 30; else NULL, as of no rows. Of m units that count alike, among n, the
// kurtosis is n / m; a normal sample has one of 3, and all its units count.
// [[Rcpp::export(rng = false)]]
SEXP cpp_few_rows(Rcpp::Nullable<Rcpp::NumericVector> rows, Rcpp::List design) {
  if (rows.isNull()) return R_NilValue;
  const double few = few_rows(vector_view(rows.get()), design);
  return R_FINITE(few) ? Rf_ScalarReal(few) : R_NilValue;
}

// Of the difference of two models, a sum of their estimates' rows, by these factors: its standard
// error, no smaller than that of calibrated models, and how many units make it; infinite: all.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_error_apart(Rcpp::List rows, Rcpp::NumericVector scale, Rcpp::List design,
                                    double noise) {
  calibrisk::require(rows.size() == 2 && scale.size() == 2, "error_apart: of two models.");
  const SEXP first = rows[0], second = rows[1];
  if (Rf_isNull(first) || Rf_isNull(second)) return {NA_REAL, R_PosInf};
  const auto a = vector_view(first), b = vector_view(second);
  calibrisk::require(a.size() == b.size(), "error_apart: vectors of one length.");
  const calibrisk::Vector apart = scale[0] * a + scale[1] * b;
  return {largest({DesignFacts(design).std_error(apart), std::sqrt(noise)}),
          few_rows(apart, design)};
}

// The effective number of independent units (rows, or clusters that have them) of non-events and of
// events, 0 without any.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_event_units(Rcpp::NumericVector y, Rcpp::List design) {
  const R_xlen_t n = y.size();
  const double* outcome = y.begin();
  if (DesignFacts(design).plain()) {
    const double events = as_vector(y).sum();
    return {static_cast<double>(n) - events, events};
  }
  const auto units = [](const UnitSums& of) {
    return of.squares > 0.0 ? of.total * of.total / of.squares : 0.0;
  };
  return {units(unit_sums(design, n, [&](R_xlen_t i) { return 1.0 - outcome[i]; })),
          units(unit_sums(design, n, [&](R_xlen_t i) { return outcome[i]; }))};
}

// Of events or non-events, whichever are fewer, that number if it is below 30; else NULL.
// [[Rcpp::export(rng = false)]]
SEXP cpp_few_events(Rcpp::NumericVector y, Rcpp::List design) {
  const Rcpp::NumericVector units = cpp_event_units(y, design);
  const double events = std::min(units[0], units[1]);
  return events < 30.0 ? Rf_ScalarReal(events) : R_NilValue;
}
