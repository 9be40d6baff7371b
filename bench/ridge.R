# Canonical calibration errors: the (Kronecker) kernel ridges and the Dirichlet kernel density ratio of
# Gruber & Bach (2025) on the default grids, against their formulas written out in R; growth in n and K.
library(calibrisk)
source("bench/setup.R")

# All methods together, as ce_tune() runs them, in a process of its own.
measure <- '
  data <- DATA
  gc()
  set.seed(0)
  time <- system.time(tuned <- ce_tune(data$probs, data$truth, notion = "canonical"))
  accuracy <- function(method) {
    d <- tuned$diagnostics[[method]][[1]]
    d[match(glance(tuned)$value[glance(tuned)$method == method], d$value), ]
  }
  kkr <- accuracy("kkr")
  ukkr <- accuracy("ukkr")
  data.frame(
    n = nrow(data$probs), K = ncol(data$probs), s = time[["elapsed"]],
    `processor s` = sum(time[c("user.self", "sys.self")]), `peak GB` = peak_memory(),
    `kkr rank` = kkr$rank, `kkr trace` = kkr$residual_trace, `kkr reliable` = kkr$reliable,
    `ukkr rank` = ukkr$rank, `ukkr trace` = ukkr$residual_trace, `ukkr reliable` = ukkr$reliable,
    check.names = FALSE
  )
'
run <- function(label, data, threads = 2) {
  out <- with_threads(threads, sub("DATA", data, measure, fixed = TRUE))
  reliable <- grepl("reliable", names(out))
  out[reliable] <- ifelse(unlist(out[reliable]), "yes", "no")
  cbind(data = label, threads = threads, out)
}
synthetic <- function(n, k, threads = 2) {
  run("Dirichlet(0.2)", sprintf("canonical_data(%d, %d)", as.integer(n), as.integer(k)), threads)
}
network <- function(label, name, threads = 2) {
  if (is.null(network_data(name))) return(NULL)
  run(label, sprintf("network_data('%s')", name), threads)
}

growth <- do.call(rbind, c(
  lapply(c(1000, 2500, 5000, 10000), synthetic, k = 10),
  lapply(c(1000, 2500, 5000), synthetic, k = 100)
))
networks <- rbind(
  network("CIFAR-10, DenseNet-40", "cifar10/nncal-densenet40"),
  network("CIFAR-10, LeNet-5", "cifar10/netcal-lenet5"),
  network("CIFAR-100, ResNet-20", "cifar100/wasscal-resnet20")
)
threads <- rbind(synthetic(5000, 10, 1), synthetic(5000, 10, 2))

# Eqs. 27-34 for one fold and all ridges: eigen() of the Gram matrix, then every h as an n x n matrix.
literal_ridges <- function(probs, residuals, fold) {
  risk <- function(errors, h) {
    loss <- (tcrossprod(errors) - h)^2
    diag(loss) <- 0
    sum(loss) / (nrow(errors) * (nrow(errors) - 1))
  }
  gram <- exp(-as.matrix(dist(probs))^2)
  out <- list()
  for (f in seq_len(max(fold))) {
    train <- fold != f & fold > 0
    held_out <- fold == f
    n <- sum(train)
    spectrum <- eigen(gram[train, train], symmetric = TRUE)
    s <- pmax(spectrum$values, 0)
    a <- crossprod(spectrum$vectors, residuals[train, ])
    phi <- gram[held_out, train] %*% spectrum$vectors
    for (ridge in method_value_grid$kkr) {
      m <- tcrossprod(a) / (outer(s, s) + ridge * n^2)
      out$kkr <- c(out$kkr, risk(residuals[held_out, ], phi %*% m %*% t(phi)))
    }
    for (ridge in method_value_grid$ukkr) {
      gap <- phi %*% (a / (s + ridge * n))
      out$ukkr <- c(out$ukkr, risk(residuals[held_out, ], tcrossprod(gap)))
    }
  }
  out
}
# Letters: the random forest's predictions of 26 classes.
letters_data <- function(n) {
  rows <- letters_predictions[seq_len(n), ]
  list(probs = unname(as.matrix(rows[-(1:2)])), truth = as.integer(rows$truth))
}
# Processor seconds of the formulas, of the paths of kkr and ukkr, of all of ce_tune() and of its headline.
compare_ridges <- function(label, data) {
  n <- nrow(data$probs)
  k <- ncol(data$probs)
  fold <- rep(1:5, each = n / 5)
  methods <- ce_methods("canonical")[c("kkr", "ukkr")]
  times <- if (n < 1000) 5 else 1
  tune <- function() ce_tune(data$probs, data$truth, notion = "canonical", methods = methods, folds = fold, test = 0)
  table <- tidy(tune())
  method_value_grid <<- lapply(split(table$value, table$method), unique)
  problem <- list(features = data$probs, residuals = data$probs - diag(k)[data$truth, ], labels = data$truth)
  paths <- function() {
    context <- list(progress = NULL, cache = new.env())
    for (m in names(methods)) {
      tune_path(methods[[m]], problem, fold, data.frame(value = method_value_grid[[m]]), context)
    }
  }
  literal <- processor_seconds(risks <- literal_ridges(data$probs, problem$residuals, fold), times)
  ours <- c(processor_seconds(paths(), times), processor_seconds(tune(), times),
            processor_seconds(ce_estimate(data$probs, data$truth, notion = "canonical"), times))
  # the smallest mean risk of each method
  agree <- vapply(c("kkr", "ukkr"), function(m) {
    mine <- table[table$method == m, ]
    mine <- min(tapply(mine$risk, factor(mine$value, method_value_grid[[m]]), mean))
    abs(mine / min(rowMeans(matrix(risks[[m]], length(method_value_grid[[m]])))) - 1)
  }, 0)
  data.frame(data = label, n = n, K = k, formulas = literal, `kkr and ukkr` = ours[1], ratio = literal / ours[1],
             `ce_tune()` = ours[2], `of it the headline` = ours[3], `ratio of all` = literal / ours[2],
             `difference` = formatC(max(agree), digits = 1, format = "e"), check.names = FALSE)
}
side_by_side <- do.call(rbind, lapply(c(500, 1000, 2000), function(n) {
  rbind(
    compare_ridges("Dirichlet(0.2)", canonical_data(n, 10)),
    compare_ridges("Dirichlet(0.2)", canonical_data(n, 26)),
    compare_ridges("letters", letters_data(n))
  )
}))

writeLines(c(
  bench_header("Canonical calibration errors: kde, kkr and ukkr tuned together"),
  "`ce_tune(notion = \"canonical\")`: 20 bandwidths, 18 + 18 ridges, 5 folds and test rows, one run each in a",
  "process of its own. Rank and residual trace of the factor are those at the selected ridge; the accuracy follows",
  "that ridge, and `reliable` says whether its risk stands to 2e-6 and its squared error to 2e-4.", "",
  markdown_table(growth),
  if (!is.null(networks)) c("Networks on real data (10,000 test images):", "", markdown_table(networks)),
  "Threads:", "",
  markdown_table(threads[c("threads", "n", "K", "s")]),
  "kkr and ukkr against the formulas in R (one `eigen()` per fold, matrices of pairs), the same ridges; processor",
  "seconds, `difference` that of the selected risks, relatively:", "",
  markdown_table(side_by_side),
  "The rank follows the selected ridge; the smaller ones, noise in the formulas too, are as exact as that rank.",
  "The formulas grow with n^3 and hold n x n matrices, and give no interval: the headline is the larger part of",
  "`ce_tune()` on few rows. At 500 rows the eigenvalues of the folds' five Gram matrices alone (`eigen()` without",
  "vectors) take a sixth of the formulas' time."
), "bench/ridge.md")
