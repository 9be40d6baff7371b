# Does the core call R, BLAS or LAPACK off the main thread, where a call may end the process? Many functions on two
# threads, under an auditor of the dynamic linker (tools/main-thread.c; glibc on x86-64). Fails where one does.
#
#   Rscript tools/main-thread.R

if (nzchar(Sys.getenv("LD_AUDIT"))) {
  # the linker shows the calls of symbols that it binds at their first call
  lazily <- base::dyn.load
  formals(lazily)$now <- FALSE
  unlockBinding("dyn.load", baseenv())
  assign("dyn.load", lazily, baseenv())
  suppressPackageStartupMessages(library(calibrisk))
  options(calibrisk.threads = 2)
  set.seed(1)
  n <- 4000
  p <- runif(n)
  y <- as.integer(runif(n) < p)
  q <- plogis(1.3 * qlogis(p) + rnorm(n) / 5)
  probs <- matrix(rexp(5 * n), n)
  probs <- probs / rowSums(probs)
  truth <- sample.int(5, n, TRUE)
  few <- seq_len(1200)
  half <- few[1:600]
  laws <- pred_normal(rnorm(n), rep(1, n))
  wins <- rnorm(n)
  weights <- rexp(n)
  cluster <- rep(seq_len(n / 4), 4)
  jobs <- expression(
    ce_estimate(p, y), ce_estimate(p, y, weights = weights, cluster = cluster), ce_estimate(probs, truth),
    ce_estimate(probs, truth, notion = "class_wise"), ce_validate(p, y), ce_curve(p, y),
    ce_curve(p, y, type = "isotonic"), ce_decision(p, y), ce_tune(p, y), ce_tune(probs[few, ], truth[few]),
    ce_fit(probs[few, ], truth[few], notion = "canonical", method = method_kkr(ridge = 0.01)), skce(probs, truth),
    ckce(probs[few, ], truth[few]), ckce(probs[half, ], truth[half], times = 20),
    kde_error(probs[few, ], truth[few], notion = "canonical"), ce_test(probs, truth),
    ce_test(p[half], y[half], test = test_bootstrap(times = 99)), ce_test(laws, wins),
    ce_rank(list(a = probs[few, ], b = probs[rev(few), ]), truth[few], metric = "ckce", times = 4),
    ce_compare(list(a = p, b = q, c = sqrt(p)), y, metric = "ece"),
    ce_recalibrate(probs, truth, method = "temperature"), ce_gain(p, c("platt", "isotonic"), y),
    ce_score(laws, wins, score = "crps"), ece(p, y), ks_error(p, y), smooth_ece(p, y),
    spiegelhalter(p, y), ce_decompose(p, y),
    ce_report(p[few], y[few], file = tempfile(fileext = ".html"))
  )
  for (job in jobs) suppressWarnings(suppressMessages(eval(job)))
  cat(length(jobs), "calls of the package\n")
} else {
  if (!identical(R.version$arch, "x86_64") || !nzchar(Sys.which("ldd"))) {
    cat("Skipped: the auditor is for glibc on x86-64.\n")
    quit()
  }
  auditor <- tempfile(fileext = ".so")
  compiler <- system2(file.path(R.home("bin"), "R"), c("CMD", "config", "CC"), stdout = TRUE)
  built <- system(paste(compiler, "-shared -fPIC -O2 -Wall -Wextra -o", auditor, "tools/main-thread.c"))
  if (built != 0) quit(status = 1)
  log <- tempfile()
  # quietly: helpers of R's front end are audited too
  status <- system2(file.path(R.home("bin"), "Rscript"), "tools/main-thread.R", env = paste0("LD_AUDIT=", auditor),
                    stderr = log)
  said <- grep("off", readLines(log), value = TRUE)
  cat(said, sep = "\n")
  counts <- grep("calls of R, BLAS and LAPACK, 0 off the main thread", said, value = TRUE)
  if (status != 0) writeLines(tail(readLines(log), 20), stderr())
  quit(status = if (status == 0 && length(counts) == 1 && length(said) == 1) 0 else 1)
}
