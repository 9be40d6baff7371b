# Calibration errors of thousands of subsets of the same rows, which is what the figures of Gruber and Buettner (2022)
# show. The package computes one error per call; here the sums over bins of all subsets are two products with a sparse
# matrix of 0 and 1, and everything that needs sorted confidences is sorted once per block. `check_subset()` compares
# every number of a subset with ece(), ks_error() and rbs().
library(Matrix)

# Bins ((b-1)/m, b/m], with 0 in the first.
width_bin <- function(x, m) findInterval(x, seq_len(m - 1) / m, left.open = TRUE) + 1L

# What does not depend on the subset, for predictions of all classes, or for confidences alone (`probs` NULL).
prepare <- function(probs = NULL, y = NULL, conf = NULL, right = NULL, class_bins = c(15, 100)) {
  if (!is.null(probs)) {
    top <- max.col(probs, "first")
    conf <- probs[cbind(seq_along(y), top)]
    right <- top == y
  }
  n <- length(conf)
  cells <- function(cell, gap, m) {
    rows <- rep_len(seq_len(n), length(cell))
    list(gaps = sparseMatrix(cell, rows, x = gap, dims = c(m, n)),
         counts = sparseMatrix(cell, rows, x = 1, dims = c(m, n)))
  }
  gap <- conf - right
  out <- list(conf = conf, right = as.numeric(right), rank = rank(conf, ties.method = "first"), n = n,
              bins = lapply(c(15, 100), function(m) cells(width_bin(conf, m), gap, m)))
  if (!is.null(probs)) {
    k <- ncol(probs)
    gaps <- probs
    gaps[cbind(seq_along(y), y)] <- gaps[cbind(seq_along(y), y)] - 1
    out$brier <- rowSums(gaps^2)
    out$classes <- lapply(class_bins, function(m) {
      cells(width_bin(as.vector(probs), m) + rep((seq_len(k) - 1) * m, each = n), as.vector(gaps), m * k)
    })
    out$probs <- probs
    out$y <- y
  }
  out
}

# Errors (rows) of the subsets that are the columns of `rows`, a matrix of row numbers.
subset_errors <- function(model, rows) {
  n <- nrow(rows)
  times <- ncol(rows)
  chosen <- sparseMatrix(as.vector(rows), rep(seq_len(times), each = n), x = 1, dims = c(model$n, times))
  powers <- function(bins, p) {
    gaps <- as.matrix(bins$gaps %*% chosen)
    if (p == 1) return(colSums(abs(gaps)) / n)
    counts <- as.matrix(bins$counts %*% chosen)
    counts[counts == 0] <- 1
    colSums(gaps^2 / counts) / n
  }

  # sorted by confidence
  column <- rep(seq_len(times), each = n)
  rank <- model$rank[rows]
  sorted <- as.vector(rows)[order(column, rank, method = "radix")]
  conf <- matrix(model$conf[sorted], n)
  right <- matrix(model$right[sorted], n)
  gap <- conf - right
  steps <- matrix(apply(gap, 2, cumsum), n)
  first_of_tie <- rbind(TRUE, conf[-1, , drop = FALSE] != conf[-n, , drop = FALSE])
  last_of_tie <- rbind(first_of_tie[-1, , drop = FALSE], TRUE)
  ks <- apply(abs(steps) * last_of_tie, 2, max) / n
  # bins of equal mass end at order statistics; ties are in the bin of the first of them
  place <- matrix(apply(ifelse(first_of_tie, row(conf), 0L), 2, cummax), n)
  mass <- findInterval(place, ceiling(n * seq_len(14) / 15), left.open = TRUE) + 15L * (column - 1L) + 1L
  cells <- seq_len(15L * times)
  count <- tabulate(mass, length(cells))
  sums <- rowsum(cbind(as.vector(gap), as.vector(right)), factor(mass, cells), reorder = TRUE)
  all_sums <- matrix(0, length(cells), 2)
  all_sums[as.integer(rownames(sums)), ] <- sums
  accuracy <- all_sums[, 2] / count
  debiased <- count / n * ((all_sums[, 1] / count)^2 - accuracy * (1 - accuracy) / (count - 1))
  debiased[count < 2] <- 0
  debiased <- colSums(matrix(debiased, 15))

  out <- rbind(ECE = powers(model$bins[[1]], 1), `100b TCE_2` = sqrt(powers(model$bins[[2]], 2)),
               `15b dTCE_2` = sqrt(pmax(debiased, 0)), KS = ks)
  if (is.null(model$brier)) return(out)
  rbind(RBS = sqrt(colMeans(matrix(model$brier[rows], n))), out,
        `15b CWCE_2` = sqrt(powers(model$classes[[1]], 2)), `100b CWCE_2` = sqrt(powers(model$classes[[2]], 2)))
}

# The same errors of one subset by the package's functions: a call for each.
package_errors <- function(model, rows) {
  x <- if (is.null(model$probs)) model$conf[rows] else model$probs[rows, ]
  y <- if (is.null(model$probs)) model$right[rows] else model$y[rows]
  top <- function(...) ece(x, y, notion = "top_label", ...)$.estimate
  out <- c(ECE = top(n_bins = 15), `100b TCE_2` = top(n_bins = 100, p = 2),
           `15b dTCE_2` = top(n_bins = 15, p = 2, type = "mass", debias = TRUE),
           KS = ks_error(x, y, notion = "top_label")$.estimate)
  if (is.null(model$probs)) return(out)
  class_wise <- ece(x, y, n_bins = c(15, 100), p = 2, notion = "class_wise",
                    preset = "better-uncertainty-calibration")$.estimate
  c(RBS = rbs(x, y)$.estimate, out, `15b CWCE_2` = class_wise[1], `100b CWCE_2` = class_wise[2])
}
kde_top <- function(model, rows) {
  error <- kde_error(model$conf[rows], model$right[rows], kernel = "triweight", p = 2, notion = "top_label")
  c(`KDE TCE_2` = error$.estimate)
}
check_subset <- function(model, rows) {
  fast <- subset_errors(model, matrix(rows))[, 1]
  same <- all.equal(fast, package_errors(model, rows), tolerance = 1e-9)
  if (!isTRUE(same)) stop("subset_errors() differs from the package: ", toString(same))
}

# Errors of `models` (a named list of prepare()) in subsets of `sizes[i]` rows, drawn without replacement `times[i]`
# times, the same rows for all models; `kde_times[i]` of these subsets get the kernel density as well, and
# `more(model, rows)` of `more_times[i]`. `use(errors)` turns a list of matrices of errors, one per model, into a data
# frame with the column `quantity`; it is called once per size, with all the repetitions.
over_subsets <- function(models, sizes, times, use, kde_times = 0 * times, more = NULL, more_times = 0 * times) {
  n <- models[[1]]$n
  tables <- lapply(seq_along(sizes), function(i) {
    rows <- matrix(replicate(times[i], sample.int(n, sizes[i])), sizes[i])
    errors <- lapply(models, function(model) {
      check_subset(model, rows[, 1])
      block <- max(1, floor(5e5 / max(sizes[i], 100 * NCOL(model$probs))))
      blocks <- split(seq_len(times[i]), ceiling(seq_len(times[i]) / block))
      do.call(cbind, lapply(blocks, function(j) subset_errors(model, rows[, j, drop = FALSE])))
    })
    of <- function(f, times) {
      lapply(models, function(m) do.call(cbind, lapply(seq_len(times), function(j) f(m, rows[, j]))))
    }
    table <- use(errors)
    if (kde_times[i] > 0) table <- rbind(table, use(of(kde_top, kde_times[i])))
    if (more_times[i] > 0) table <- rbind(table, use(of(more, more_times[i])))
    message(sizes[i], " rows: ", times[i], " subsets")
    cbind(n = sizes[i], table)
  })
  do.call(rbind, tables)
}
