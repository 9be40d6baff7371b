# Other packages on the same rows in the same run: each quantity by its formula in base R, by the
# peers that have it and by calibrisk, with the largest relative distance of their values from ours.
# `make deps` installs the packages; scikit-learn is Debian's python3-sklearn. A peer that is absent
# has an empty cell.
library(calibrisk)
source("bench/setup.R")

binary_data <- function(n, seed = 1) {
  set.seed(seed)
  z <- plogis(rnorm(n, 0, 1.5))
  list(z = z, y = as.numeric(runif(n) < plogis(0.8 * qlogis(z) + 0.2)))
}

# list(seconds, value): processor seconds of one evaluation, with its share of collecting garbage, after a first one that
# is not counted. R counts in thousandths, so short evaluations are timed together, for a twentieth of a second, and
# `several` times as often. The least is what other work disturbed least.
timed <- function(expr, times = 3, several = 3) {
  expr <- substitute(expr)
  frame <- parent.frame()
  spent <- function(k) {
    sum(system.time(for (i in seq_len(k)) eval(expr, frame), gcFirst = FALSE)[c("user.self", "sys.self")])
  }
  value <- eval(expr, frame)
  k <- max(1, ceiling(0.05 / max(spent(1), 0.0005)))
  if (k > 1) times <- several * times
  list(seconds = min(vapply(seq_len(times), function(i) spent(k) / k, 0)), value = as.numeric(value))
}

peer <- function(package, expr, times = 3) {
  if (!requireNamespace(package, quietly = TRUE)) return(NULL)
  eval(substitute(timed(expr, times)), parent.frame())
}

python <- Filter(nzchar, c(Sys.glob("/usr/bin/python3"), Sys.which("python3")))[1]
has_sklearn <- !is.na(python) && system2(python, c("-c", shQuote("import sklearn")), stderr = FALSE) == 0

# Python code that sets `value` from the arrays z and y; processor seconds without start and reading.
sklearn <- function(code, z, y, times = if (length(z) < 1e5) 60 else 5) {
  if (!has_sklearn) return(NULL)
  file <- tempfile()
  script <- tempfile(fileext = ".py")
  on.exit(unlink(c(file, script)))
  writeBin(c(z, y), file)
  indented <- paste0("    ", code)
  writeLines(c(
    "import time, numpy as np", paste0("z, y = np.fromfile('", file, "').reshape(2, -1)"), "def work():", indented,
    "    return value", "used = []", paste0("for _ in range(", times + 1, "):"), "    start = time.process_time()",
    "    value = work()", "    used.append(time.process_time() - start)",
    "print(min(used[1:]), *np.atleast_1d(value))"
  ), script)
  # the first run imports
  out <- scan(text = system2(python, script, stdout = TRUE), quiet = TRUE)
  list(seconds = out[1], value = out[-1])
}

# One row: seconds of each, and the largest distance from our values.
side <- function(what, n, formula, ours, ..., tolerance = 1e-9) {
  peers <- list(...)
  far <- vapply(c(list(formula), peers), function(p) {
    if (is.null(p)) return(NA_real_)
    stopifnot(length(p$value) == length(ours$value))
    max(abs(p$value - ours$value)) / max(abs(ours$value))
  }, 0)
  if (!is.na(tolerance)) stopifnot(all(far < tolerance, na.rm = TRUE))
  used <- vapply(peers, function(p) if (is.null(p)) "" else trimws(formatC(p$seconds, digits = 2, format = "fg")), "")
  data.frame(
    quantity = what, n = n, `base R, s` = if (is.null(formula)) NA_real_ else formula$seconds,
    `peers, s` = paste(names(peers)[used != ""], used[used != ""], collapse = ", "), `calibrisk, s` = ours$seconds,
    `largest distance` = formatC(max(c(0, far), na.rm = TRUE), digits = 1, format = "g"), check.names = FALSE
  )
}

binned <- lapply(c(1e4, 1e6), function(n) {
  d <- binary_data(n)
  formula <- function(z, y) {
    bin <- cut(z, 0:15 / 15, include.lowest = TRUE)
    sum(abs(tapply(y - z, bin, sum)), na.rm = TRUE) / length(z)
  }
  side(
    "calibration error of 15 bins", n, timed(formula(d$z, d$y)), timed(ece(d$z, d$y)$.estimate),
    `scikit-learn` = sklearn(c(
      "from sklearn.calibration import calibration_curve",
      "observed, mean = calibration_curve(y, z, n_bins=15)",
      "count = np.bincount(np.searchsorted(np.linspace(0, 1, 16)[1:-1], z), minlength=15)",
      "value = np.sum(count[count > 0] / len(z) * np.abs(observed - mean))"
    ), d$z, d$y),
    probcal = peer("probcal", probcal::ece(d$z, d$y, bins = 15))
  )
})

isotonic <- lapply(c(1e4, 1e6), function(n) {
  d <- binary_data(n)
  formula <- function(z, y) {
    order <- order(z, -y)
    fit <- isoreg(z[order], y[order])$yf
    mean((z - y)^2) - mean((fit - y[order])^2)
  }
  side(
    "miscalibration by isotonic regression", n, timed(formula(d$z, d$y)),
    timed(ce_decompose(d$z, d$y, method = "isotonic")$calibration),
    `scikit-learn` = sklearn(c(
      "from sklearn.isotonic import IsotonicRegression",
      "fit = IsotonicRegression().fit_transform(z, y)",
      "value = np.mean((z - y) ** 2) - np.mean((fit - y) ** 2)"
    ), d$z, d$y),
    reliabilitydiag = if (n < 1e5) {
      peer("reliabilitydiag", summary(
        reliabilitydiag::reliabilitydiag(x = d$z, y = d$y, region.level = NA)
      )$miscalibration)
    }
  )
})

kernel <- lapply(c(1000, 4000), function(n) {
  d <- canonical_data(n, 10)
  formula <- function(p, y) {
    e <- p
    e[cbind(seq_along(y), y)] <- e[cbind(seq_along(y), y)] - 1
    h <- exp(-as.matrix(dist(p)) / 0.2) * tcrossprod(e)
    (sum(h) - sum(diag(h))) / (n * (n - 1))
  }
  side(
    "SKCE of 10 classes, Laplace kernel", n, timed(formula(d$probs, d$truth), 2),
    timed(skce(d$probs, d$truth, kernel = kernel_laplace(0.2))$.estimate),
    probcal = peer("probcal", probcal::skce(d$probs, d$truth, bandwidth = 0.2), 2)
  )
})

tests <- lapply(c(500, 2000), function(n) {
  d <- canonical_data(n, 10)
  side(
    "its test with 999 redraws (distance: the statistic)", n, NULL,
    timed(ce_test(d$probs, d$truth, test = test_bootstrap(times = 999), kernel = kernel_laplace(0.2))$estimate, 2),
    probcal = peer("probcal", probcal::cal_test(d$probs, d$truth, n_boot = 999)$estimate, 1)
  )
})

curves <- lapply(c(1000, 5000), function(n) {
  d <- binary_data(n)
  formula <- function(z, y) mean(abs(fitted(loess(y ~ z)) - z))
  side(
    "ICI by loess", n, timed(formula(d$z, d$y)),
    timed(ici(d$z, d$y)$.estimate[1]),
    pmcalibration = peer("pmcalibration", pmcalibration::pmcalibration(
      d$y, d$z, smooth = "loess", ci = "none", plot = FALSE, transf = identity
    )$metrics[["Eavg"]])
  )
})

slopes <- lapply(c(1e4, 1e5), function(n) {
  d <- binary_data(n)
  formula <- function(z, y) coef(glm(y ~ qlogis(z), family = binomial))[[2]]
  ours <- timed({
    found <- cox_calibration(d$z, d$y)
    found$.estimate[found$.metric == "cox_slope"]
  })
  side(
    "calibration slope (rms with all its indices)", n, timed(formula(d$z, d$y)), ours,
    rms = peer("rms", rms::val.prob(d$z, d$y, pl = FALSE)[["Slope"]], 1), tolerance = 1e-6
  )
})

maps <- local({
  n <- 1e4
  d <- binary_data(n)
  new <- binary_data(n, seed = 2)
  k <- canonical_data(n, 10)
  fresh <- canonical_data(n, 10, seed = 2)
  log_loss <- function(q) -mean(log(as.matrix(q)[cbind(seq_len(n), fresh$truth)]))
  plain_temperature <- function(logits, truth) {
    optimize(function(t) -mean(log(softmax(logits / t)[cbind(seq_len(n), truth)])), c(0.01, 100), tol = 1e-8)$minimum
  }
  list(
    side(
      "temperature of 10 classes, log loss of new rows", n,
      timed(log_loss(softmax(log(fresh$probs) / plain_temperature(log(k$probs), k$truth))), 1),
      timed(log_loss(predict(ce_recalibrate(k$probs, k$truth, method = map_temperature()), fresh$probs))),
      probcal = peer(
        "probcal", log_loss(predict(probcal::cal_temperature(log(k$probs), k$truth), log(fresh$probs))), 1
      ), tolerance = 1e-6
    ),
    side(
      "isotonic map, Brier score of new rows", n, timed({
        order <- order(d$z, -d$y)
        fit <- isoreg(d$z[order], d$y[order])$yf
        mean((approx(d$z[order], fit, new$z, rule = 2, ties = "ordered")$y - new$y)^2)
      }),
      timed(mean((predict(ce_recalibrate(d$z, d$y, method = "isotonic"), new$z) - new$y)^2)),
      `scikit-learn` = sklearn(c(
        "from sklearn.isotonic import IsotonicRegression",
        "n = len(z) // 2",
        "map = IsotonicRegression(out_of_bounds='clip').fit(z[:n], y[:n])",
        "value = np.mean((map.predict(z[n:]) - y[n:]) ** 2)"
      ), c(d$z, new$z), c(d$y, new$y)),
      probcal = peer("probcal", mean((predict(probcal::cal_isotonic(d$z, d$y), new$z) - new$y)^2))
    )
  )
})

crps <- lapply(1e6, function(n) {
  set.seed(1)
  mean <- rnorm(n)
  sd <- rexp(n) + 0.1
  y <- mean + 1.2 * sd * rnorm(n)
  formula <- function(mean, sd, y) {
    u <- (y - mean) / sd
    mean(sd * (u * (2 * pnorm(u) - 1) + 2 * dnorm(u) - 1 / sqrt(pi)))
  }
  side(
    "CRPS of normal laws", n, timed(formula(mean, sd, y)),
    timed(ce_score(pred_normal(mean, sd), y, score = "crps")$.estimate),
    scoringRules = peer("scoringRules", base::mean(scoringRules::crps_norm(y, mean, sd)))
  )
})

versions <- vapply(c("probcal", "reliabilitydiag", "pmcalibration", "rms", "scoringRules"), function(p) {
  if (requireNamespace(p, quietly = TRUE)) paste(p, utils::packageVersion(p)) else paste(p, "(absent)")
}, "")
python_version <- if (has_sklearn) {
  paste("scikit-learn", system2(python, c("-c", shQuote("import sklearn; print(sklearn.__version__)")), stdout = TRUE))
}

writeLines(c(
  bench_header("Peers"),
  paste0(paste(c(versions, python_version), collapse = ", "), "."),
  "Seconds of processor time in one run on the same rows, after a first one that is not counted (smallest of several;",
  "scikit-learn without its start), and the largest relative distance of a value of theirs from ours. Ours come with",
  "standard errors or intervals; the formulas and most of theirs are bare numbers.", "",
  markdown_table(do.call(rbind, c(binned, isotonic, kernel, tests, curves, slopes, maps, crps))),
  "Without a competitor here, as far as we know: risks of estimators, kernel ridges, intervals on a ladder of bases, CKCE;",
  "their formulas in R stand beside them in the other pages of this folder."
), "bench/peers.md")
