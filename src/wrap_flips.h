// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_WRAP_FLIPS_H
#define CALIBRISK_WRAP_FLIPS_H

#include "r_values.h"
#include <calibrisk/joint/flips.h>

inline Rcpp::List wrap_flips(const calibrisk::FlipResult& found) {
  return named_list({{"p.value", found.p_value},
                     {"statistic", found.statistic},
                     {"low", found.low},
                     {"least", found.least},
                     {"clusters", static_cast<double>(found.clusters)},
                     {"flips", static_cast<double>(found.flips)},
                     {"parts", found.parts},
                     {"weighted", found.weighted},
                     {"lows", found.lows},
                     {"classes", found.events},
                     {"signs", found.signs}});
}

#endif
