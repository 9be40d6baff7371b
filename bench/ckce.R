# The conditional kernel calibration error: networks on CIFAR-10 (10,000 x 10), a ridge path, a million rows,
# against the formula written out in R.
library(calibrisk)
source("bench/setup.R")

networks <- c("nncal-densenet40", "wasscal-resnet20", "wasscal-vgg19_bn", "widmann-googlenet", "netcal-lenet5")

one_network <- function(name) {
  data <- network_data(paste0("cifar10/", name))
  kernel <- kernel_linear() + kernel_gaussian("median")
  fixed <- calibrisk:::resolve_kernel(kernel, data$probs)
  whole <- seconds(value <- on_threads(2, ckce(data$probs, data$truth)), 3)
  given <- seconds(on_threads(2, ckce(data$probs, data$truth, kernel = fixed)), 3)
  processor <- processor_seconds(on_threads(2, ckce(data$probs, data$truth)))
  # in turns, so that both see the same machine
  path <- 0.1 * 10^seq(0, 2, length.out = 30)
  turns <- vapply(1:10, function(turn) {
    c(processor_seconds(for (i in 1:3) on_threads(2, ckce(data$probs, data$truth, kernel = fixed)), 1),
      processor_seconds(for (i in 1:3) on_threads(2, ckce(data$probs, data$truth, kernel = fixed, ridge = path)), 1))
  }, c(0, 0))
  smallest <- apply(turns, 1, min)
  data.frame(
    network = name, CKCE = value$.estimate, `error bound` = value$error_bound,
    `bound / estimate, %` = 100 * value$error_bound / value$.estimate, certified = value$certified, rank = value$rank,
    `s` = whole, `processor s` = processor, `s, bandwidth given` = given, `30 ridges / one, processor` = smallest[2] / smallest[1],
    check.names = FALSE
  )
}
cifar <- do.call(rbind, lapply(networks, one_network))

# The diffuse case, where the bound certifies nothing.
dirichlet <- function(n, m, alpha) {
  log_gamma <- matrix(log(rgamma(n * m, alpha + 1)) + log(runif(n * m)) / alpha, n)
  softmax(log_gamma)
}
set.seed(1)
diffuse_probs <- dirichlet(10000, 10, 0.2)
diffuse_truth <- max.col(log(diffuse_probs) - log(-log(matrix(runif(1e5), 10000))))
diffuse_time <- seconds(diffuse <- on_threads(2, ckce(diffuse_probs, diffuse_truth)))
diffuse <- data.frame(data = "Dirichlet(0.2), 10,000 x 10", CKCE = diffuse$.estimate, `error bound` = diffuse$error_bound,
                      certified = diffuse$certified, rank = diffuse$rank, s = diffuse_time, check.names = FALSE)

literal <- function(probs, truth) {
  n <- nrow(probs)
  d <- probs - diag(ncol(probs))[truth, ]
  distance <- dist(probs)
  gram <- probs %*% t(probs) + exp(-as.matrix(distance)^2 / (2 * median(distance)^2))
  inverse <- solve(gram + n * n^(-1 / 4) * diag(n))
  sum(diag(inverse %*% d %*% t(d) %*% inverse %*% gram))
}
growth <- do.call(rbind, lapply(c(500, 1000, 2000), function(n) {
  probs <- diffuse_probs[seq_len(n), ]
  truth <- diffuse_truth[seq_len(n)]
  r <- seconds(value <- literal(probs, truth))
  ours <- seconds(dual <- on_threads(2, ckce(probs, truth, computation = "dual")), 3)
  stopifnot(abs(dual$.estimate / value - 1) < 1e-8)
  features <- seconds(on_threads(2, ckce(probs, truth, computation = "rff")), 3)
  data.frame(n = n, `R formula, s` = r, `dual, s` = ours, `100 frequencies, s` = features, check.names = FALSE)
}))

# A million rows in a process of its own, whose peak memory is read from the system.
million <- '
  set.seed(1)
  probs <- softmax(matrix(3 * rnorm(1e7), 1e6))
  truth <- sample(10L, 1e6, replace = TRUE)
  gc()
  time <- system.time(value <- ckce(probs, truth, computation = "COMPUTATION"))
  data.frame(s = time[["elapsed"]], processor = sum(time[c("user.self", "sys.self")]), peak = peak_memory(), CKCE = value$.estimate, rank = value$rank, bound = value$error_bound)
'
million <- do.call(rbind, lapply(c("rff", "low_rank"), function(computation) {
  run <- with_threads(2, sub("COMPUTATION", computation, million))
  data.frame(computation = computation, CKCE = run$CKCE, rank = run$rank, `error bound` = run$bound,
             s = run$s, `processor s` = run$processor, `peak memory of the process, GB` = run$peak, check.names = FALSE)
}))

set.seed(1)
ranked <- lapply(networks, function(name) network_data(paste0("cifar10/", name))$probs)
names(ranked) <- networks
rank_time <- seconds(on_threads(2, ce_rank(ranked, network_data(paste0("cifar10/", networks[1]))$truth, times = 100)))

cifar$certified <- ifelse(cifar$certified, "yes", "no")
diffuse$certified <- ifelse(diffuse$certified, "yes", "no")
writeLines(c(
  bench_header("Conditional kernel calibration error"),
  "`ckce()` with its defaults (linear + Gaussian kernel, median bandwidth over all 50 million pairs, ridge n^(-1/4)) for networks on",
  "CIFAR-10, 10,000 x 10, two threads. The bound is on the distance to the exact value; 1 % of the estimate is asked for.",
  "`processor s` is the time of all threads together. Last column: 30 ridges from 0.1 to 10 against one, bandwidth given.", "",
  markdown_table(cifar),
  "Diffuse predictions: the largest rank certifies nothing, and the output says so.", "",
  markdown_table(diffuse),
  "Against the trace formula written out in R:", "",
  markdown_table(growth),
  "A million rows, 10 classes (features are streamed; the bandwidth is the median of 10,000 rows):", "",
  markdown_table(million),
  paste0("`ce_rank()`, ", length(ranked), " networks, 100 subsamples of 500: ", round(rank_time, 1), " s."), ""
), "bench/ckce.md")
