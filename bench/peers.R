# Other packages on the same rows in the same run: each quantity by the best plain formula that we would write in base R
# (of a fit, `glm.fit()` or Newton's method), by the packages that have it and by calibrisk, all on one thread. Values
# must agree. `make deps` installs the packages; scikit-learn is Debian's python3-sklearn. A peer that is absent has no
# number. An argument keeps the quantities whose name matches it.
Sys.setenv(OPENBLAS_NUM_THREADS = 1, OMP_NUM_THREADS = 1)
library(calibrisk)
suppressPackageStartupMessages(library(survival))
source("bench/setup.R")
options(calibrisk.threads = 1)
wanted <- c(commandArgs(TRUE), "")[1]

binary_data <- function(n, seed = 1) {
  set.seed(seed)
  z <- plogis(rnorm(n, 0, 1.5))
  list(z = z, y = as.numeric(runif(n) < plogis(0.8 * qlogis(z) + 0.2)))
}

survival_data <- function(n) {
  set.seed(1)
  x <- rnorm(n)
  event <- rexp(n, exp(x) / 3)
  censored <- rexp(n, 0.3)
  data.frame(time = pmin(event, censored), status = as.numeric(event <= censored), risk = 1 - exp(-exp(0.8 * x) / 3))
}

# Processor seconds of one evaluation of each contender, by turns: so many evaluations that R's thousandths do not count,
# at least three turns. A matrix: turns x contenders.
by_turns <- function(contenders, d) {
  spent <- function(f, k) {
    sum(system.time(for (i in seq_len(k)) f(d), gcFirst = FALSE)[c("user.self", "sys.self")]) / k
  }
  often <- vapply(contenders, function(f) {
    f(d)
    max(1, ceiling(0.03 / max(spent(f, 1), 0.0005)))
  }, 0)
  turns <- list()
  start <- proc.time()[["elapsed"]]
  while (length(turns) < 3 || length(turns) < 15 && proc.time()[["elapsed"]] - start < 0.7) {
    turns <- c(turns, list(mapply(spent, contenders, often)))
  }
  do.call(rbind, turns)
}

python <- Filter(nzchar, c(Sys.glob("/usr/bin/python3"), Sys.which("python3")))[1]
has_sklearn <- !is.na(python) && system2(python, c("-c", shQuote("import sklearn")), stderr = FALSE) == 0

# Python code that sets `value` from the arrays z and y: processor seconds of several evaluations, and the value.
sklearn_turns <- function(code, d) {
  file <- tempfile()
  script <- tempfile(fileext = ".py")
  on.exit(unlink(c(file, script)))
  writeBin(c(d$z, d$y), file)
  writeLines(c(
    "import time, numpy as np", paste0("z, y = np.fromfile('", file, "').reshape(2, -1)"), "def work():",
    paste0("    ", code), "    return value", "used = []", paste0("for _ in range(", if (length(d$z) < 1e5) 60 else 7, "):"),
    "    start = time.process_time()", "    value = work()", "    used.append(time.process_time() - start)",
    # the first run imports
    "print(min(used[1:]), np.median(used[1:]), value)"
  ), script)
  scan(text = system2(python, script, stdout = TRUE), quiet = TRUE)
}

# A quantity at several sizes. `of`: functions of the data by name, `base` and `calibrisk` among them; peers by the name
# of their package, `most` rows of each; `python`: code. A row per size.
race <- function(what, sizes, data, of, python = NULL, most = NULL, tolerance = 1e-9) {
  if (!grepl(wanted, what)) return(NULL)
  message(what)
  do.call(rbind, lapply(sizes, function(n) {
    d <- data(n)
    has <- vapply(names(of), function(p) p %in% c("base", "calibrisk") || requireNamespace(p, quietly = TRUE), NA)
    fits <- vapply(names(of), function(p) n <= c(most[[p]], Inf)[1], NA)
    here <- of[has & fits]
    values <- vapply(here, function(f) as.numeric(f(d))[1], 0)
    turns <- by_turns(here, d)
    least <- apply(turns, 2, min)
    middle <- apply(turns, 2, stats::median)
    if (has_sklearn && !is.null(python)) {
      found <- sklearn_turns(python, d)
      least <- c(least, `scikit-learn` = found[1])
      middle <- c(middle, `scikit-learn` = found[2])
      values <- c(values, `scikit-learn` = found[3])
    }
    far <- max(abs(values / values[["calibrisk"]] - 1))
    if (!is.na(tolerance)) stopifnot(far < tolerance)
    peers <- setdiff(names(least), c("base", "calibrisk"))
    text <- function(p) paste(signif(1000 * least[[p]], 2), "/", signif(1000 * middle[[p]], 2))
    rival <- min(least[names(least) != "calibrisk"])
    data.frame(
      quantity = what, n = n, `base R` = if ("base" %in% names(least)) text("base") else "",
      peers = paste(peers, vapply(peers, text, ""), collapse = "; "), calibrisk = text("calibrisk"),
      `to the fastest other` = if (rival > 0) paste(signif(least[["calibrisk"]] / rival, 2)) else "",
      distance = if (is.na(tolerance)) "" else formatC(far, digits = 1, format = "g"), check.names = FALSE
    )
  }))
}

sizes <- 10^(2:6)

binned <- race("calibration error of 15 bins", sizes, binary_data, list(
  base = function(d) {
    bin <- findInterval(d$z, 0:15 / 15, rightmost.closed = TRUE, left.open = TRUE)
    sum(abs(rowsum(d$y - d$z, bin))) / length(bin)
  },
  probcal = function(d) probcal::ece(d$z, d$y, bins = 15),
  calibrisk = function(d) ece(d$z, d$y)$.estimate
), python = c(
  "from sklearn.calibration import calibration_curve",
  "observed, mean = calibration_curve(y, z, n_bins=15)",
  "count = np.bincount(np.searchsorted(np.linspace(0, 1, 16)[1:-1], z), minlength=15)",
  "value = np.sum(count[count > 0] / len(z) * np.abs(observed - mean))"
))

brier <- race("Brier score", sizes, binary_data, list(
  base = function(d) mean((d$z - d$y)^2),
  yardstick = function(d) yardstick::brier_class_vec(factor(1 - d$y), d$z),
  calibrisk = function(d) ce_score(d$z, d$y, score = "brier")$.estimate
), python = c("from sklearn.metrics import brier_score_loss", "value = brier_score_loss(y, z)"))

area <- race("AUROC with DeLong's interval (yardstick, scikit-learn and base R without)", sizes, binary_data, list(
  base = function(d) {
    events <- sum(d$y)
    (sum(rank(d$z)[d$y == 1]) - events * (events + 1) / 2) / (events * (length(d$y) - events))
  },
  pROC = function(d) pROC::ci.auc(d$y, d$z, levels = 0:1, direction = "<", quiet = TRUE)[2],
  yardstick = function(d) yardstick::roc_auc_vec(factor(1 - d$y), d$z),
  calibrisk = function(d) ce_score(d$z, d$y, score = "auroc")$.estimate
), python = c("from sklearn.metrics import roc_auc_score", "value = roc_auc_score(y, z)"), most = list(pROC = 1e5))

cumulative <- race("KS calibration error", sizes, binary_data, list(
  base = function(d) max(abs(cumsum((d$z - d$y)[order(d$z)]))) / length(d$z),
  calibrisk = function(d) ks_error(d$z, d$y)$.estimate
))

spiegel <- race("Spiegelhalter's z (rms: all its indices)", sizes, binary_data, list(
  base = function(d) {
    k <- 1 - 2 * d$z
    sum((d$y - d$z) * k) / sqrt(sum(k^2 * d$z * (1 - d$z)))
  },
  rms = function(d) rms::val.prob(d$z, d$y, pl = FALSE)[["S:z"]],
  calibrisk = function(d) spiegelhalter(d$z, d$y)$.estimate[1]
), most = list(rms = 1e4))

slope <- race("calibration slope (rms: all its indices)", sizes, binary_data, list(
  base = function(d) {
    stats::glm.fit(cbind(1, qlogis(d$z)), d$y, family = stats::binomial())$coefficients[2]
  },
  rms = function(d) rms::val.prob(d$z, d$y, pl = FALSE)[["Slope"]],
  calibrisk = function(d) {
    found <- cox_calibration(d$z, d$y)
    found$.estimate[found$.metric == "cox_slope"]
  }
), most = list(rms = 1e5), tolerance = 1e-6)

isotonic <- race("miscalibration by isotonic regression", sizes, binary_data, list(
  base = function(d) {
    order <- order(d$z, -d$y)
    y <- d$y[order]
    mean((d$z - d$y)^2) - mean((isoreg(d$z[order], y)$yf - y)^2)
  },
  reliabilitydiag = function(d) {
    summary(reliabilitydiag::reliabilitydiag(x = d$z, y = d$y, region.level = NA))$miscalibration
  },
  calibrisk = function(d) ce_decompose(d$z, d$y, method = "isotonic")$calibration
), python = c(
  "from sklearn.isotonic import IsotonicRegression",
  "fit = IsotonicRegression().fit_transform(z, y)",
  "value = np.mean((z - y) ** 2) - np.mean((fit - y) ** 2)"
), most = list(reliabilitydiag = 1e4))

loess_ici <- race("ICI by loess", c(100, 1e3, 5e3), binary_data, list(
  base = function(d) mean(abs(fitted(loess(d$y ~ d$z)) - d$z)),
  pmcalibration = function(d) {
    pmcalibration::pmcalibration(d$y, d$z, smooth = "loess", ci = "none", plot = FALSE,
                                 transf = identity)$metrics[["Eavg"]]
  },
  calibrisk = function(d) ici(d$z, d$y)$.estimate[1]
))

smooth <- race("smooth curve (ours: local linear, with bands; base R: lowess without)", sizes, binary_data, list(
  base = function(d) stats::lowess(d$z, d$y, iter = 0)$y,
  calibrisk = function(d) tidy(ce_curve(d$z, d$y))[[3]]
), tolerance = NA)

classes <- function(n) canonical_data(n, 10)
temperature <- race("temperature of 10 classes", c(100, 1e3, 1e4, 1e5), classes, list(
  base = function(d) {
    z <- log(d$probs)
    own <- z[cbind(seq_along(d$truth), d$truth)]
    slope <- 1
    for (i in 1:50) {
      q <- exp(slope * z)
      q <- q / rowSums(q)
      mean <- rowSums(q * z)
      step <- sum(own - mean) / sum(rowSums(q * z^2) - mean^2)
      slope <- slope + step
      if (abs(step) < 1e-10) break
    }
    1 / slope
  },
  calibrisk = function(d) {
    map <- ce_recalibrate(d$probs, d$truth, method = map_temperature())
    tidy(map)$estimate[tidy(map)$term == "temperature"]
  }
), tolerance = 1e-6)

kernel <- race("SKCE of 10 classes, Laplace kernel", c(100, 1000, 4000), classes, list(
  base = function(d) {
    e <- d$probs
    n <- nrow(e)
    e[cbind(seq_len(n), d$truth)] <- e[cbind(seq_len(n), d$truth)] - 1
    h <- exp(-as.matrix(dist(d$probs)) / 0.2) * tcrossprod(e)
    (sum(h) - sum(diag(h))) / (n * (n - 1))
  },
  probcal = function(d) probcal::skce(d$probs, d$truth, bandwidth = 0.2),
  calibrisk = function(d) skce(d$probs, d$truth, kernel = kernel_laplace(0.2))$.estimate
))

crps <- race("CRPS of normal distributions", sizes, function(n) {
  set.seed(1)
  mean <- rnorm(n)
  sd <- rexp(n) + 0.1
  list(mean = mean, sd = sd, y = mean + 1.2 * sd * rnorm(n))
}, list(
  base = function(d) {
    u <- (d$y - d$mean) / d$sd
    mean(d$sd * (u * (2 * pnorm(u) - 1) + 2 * dnorm(u) - 1 / sqrt(pi)))
  },
  scoringRules = function(d) mean(scoringRules::crps_norm(d$y, d$mean, d$sd)),
  calibrisk = function(d) ce_score(pred_normal(d$mean, d$sd), d$y, score = "crps")$.estimate
))

censored <- race("Brier score and AUROC at a horizon, censored (ours: all of ce_validate())", c(100, 1e3, 1e4),
                 survival_data, list(
  riskRegression = function(d) {
    d <- data.frame(d)
    riskRegression::Score(list(m = matrix(d$risk)), Surv(time, status) ~ 1, data = d, times = 1,
                          metrics = c("auc", "brier"), null.model = FALSE)$Brier$score$Brier
  },
  calibrisk = function(d) {
    found <- tidy(suppressMessages(ce_validate(d, Surv(time, status), risk, horizon = 1)))
    found$estimate[found$term == "brier"]
  }
), tolerance = 1e-6)

packages <- c("probcal", "reliabilitydiag", "pmcalibration", "pROC", "riskRegression", "rms", "scoringRules", "yardstick")
versions <- vapply(packages, function(p) {
  if (requireNamespace(p, quietly = TRUE)) paste(p, utils::packageVersion(p)) else paste(p, "(absent)")
}, "")
python_version <- if (has_sklearn) {
  paste("scikit-learn", system2(python, c("-c", shQuote("import sklearn; print(sklearn.__version__)")), stdout = TRUE))
}
page <- do.call(rbind, list(binned, brier, area, cumulative, spiegel, slope, isotonic, loess_ici, smooth, temperature,
                            kernel, crps, censored))
page$n <- formatC(page$n, format = "d", big.mark = ",")

notes <- c(
  "Where a formula is faster: up to some 10,000 rows a call of ours takes what its checks, its table and its interval take,",
  "a millisecond or less, and `lowess()` draws no bands. `ks_error()` also has cross-fitted limits and a p-value, and",
  "`ce_validate()` a smooth curve with its bootstrap."
)

writeLines(c(
  bench_header("Peers"),
  paste0(paste(c(versions, python_version), collapse = ", "), "."),
  "Milliseconds of processor time of one evaluation on one thread, the least / the median of several by turns",
  "(scikit-learn in a process of its own, without its start), the ratio of our least time to that of the fastest other,",
  "and the largest relative distance of a value from ours.", "", markdown_table(page), notes
), if (wanted == "") "bench/peers.md" else stdout())
