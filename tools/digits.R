# Results of the parallel loops with two threads, in this process and in forked ones, for a comparison of builds
# (tools/test-builds.R):
#
#   Rscript tools/digits.R file.rds [forked]

args <- commandArgs(trailingOnly = TRUE)
library(calibrisk)
options(calibrisk.threads = 2L)
set.seed(1)
n <- 1500
probs <- matrix(rexp(3 * n), n)
probs <- probs / rowSums(probs)
y <- sample(3, n, TRUE)
law <- pred_normal(rnorm(n), 1)
z <- rnorm(n)

verbs <- list(
  skce = function() skce(probs, y),
  laws = function() skce(law, z),
  test = function() ce_test(probs, y, test = test_conditional(times = 99)),
  bootstrap = function() glance(ce_test(probs, y, test = test_bootstrap(times = 99))),
  tune = function() tidy(ce_tune(probs, y, notion = "canonical", folds = rep(0:5, length.out = n))),
  ckce = function() ckce(probs[1:600, ], y[1:600], ridge = 0.1),
  rank = function() tidy(ce_rank(list(a = probs, b = (probs + 1 / 3) / 2), y, times = 4, n_sub = 200)),
  estimate = function() ce_estimate(probs, y),
  kde = function() kde_error(probs, y)
)
run <- function(name) {
  set.seed(2)
  unclass(verbs[[name]]())
}
out <- lapply(names(verbs), run)
names(out) <- names(verbs)
# in processes that inherit what the loops above left behind
if ("forked" %in% args) stopifnot(identical(parallel::mclapply(names(verbs), run, mc.cores = 2), unname(out)))
saveRDS(out, args[1])
