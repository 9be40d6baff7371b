# Splits for tuning: which rows test, which fold each other row is held out in. Gruber & Bach 2025, Algorithm 1: shuffle
# once, the first part tunes, the rest tests; folds are consecutive blocks, the first ones one row longer.

# -> list(fold = integer n (0 = test row, 1..k), k)
make_split <- function(n, folds = 5, test = 0.2, cluster = NULL, single = FALSE, unit = "row") {
  if (!is.null(cluster)) return(cluster_split(n, folds, test, cluster))
  given <- read_folds(folds)
  # fold 0 of a vector for all rows marks the test rows
  marked <- length(given) == n && is_share(test) && any(given == 0)
  fixed_test <- marked || !is_share(test)
  test_rows <- if (marked) which(given == 0) else if (fixed_test) check_test_rows(test, n, single)
  if (is.null(given)) {
    order <- if (fixed_test) setdiff(seq_len(n), test_rows) else seq_len(n)
    order <- order[sample.int(length(order))]
    if (!fixed_test) {
      n_tune <- floor((1 - test) * n + 1e-9)
      test_rows <- order[seq_len(n - n_tune) + n_tune]
      order <- order[seq_len(n_tune)]
    }
    check_fold_count(length(order), folds, n - length(order), unit)
    fold <- integer(n)
    fold[order] <- block_folds(length(order), folds)
  } else {
    if (!fixed_test) test_rows <- sample.int(n, n - floor((1 - test) * n + 1e-9))
    fold <- place_folds(given, n, test_rows)
  }
  structure(list(fold = fold, k = max(fold)), class = "ce_split")
}

# `tested`: how many rows are for the test.
check_fold_count <- function(n, folds, tested = 0, unit = "row") {
  stop_if(n < folds, "There must be at least one {unit} per fold.",
          "x" = "{.arg folds} is {folds}, but there {cli::qty(n)}{?is/are} {n} \\
                 {unit}{cli::qty(n)}{?s}{if (tested > 0) ' for tuning'}.",
          "i" = if (tested > 0) "Use fewer folds, or a smaller {.arg test}.", class = c("rows", "folds"), arg = "folds",
          value = folds, n = n + tested)
}

# The same of the units of a design: rows with their copies, or clusters.
check_fold_units <- function(design, folds) {
  clusters <- cluster_count(design)
  check_fold_count(clusters %||% copy_count(design), folds, unit = if (is.null(clusters)) "row" else "cluster")
}

# Number of test rows, and of those that each fold holds out; a state has no vector of folds.
split_sizes <- function(split) split$sizes %||% tabulate(split$fold + 1, split$k + 1)

# Whole clusters test, or are held out in one fold: numbers and shares are those of clusters.
cluster_split <- function(n, folds, test, cluster) {
  first <- match(seq_len(max(cluster)), cluster)
  if (length(folds) == 1 && is_share(test)) {
    split <- make_split(length(first), folds, test, unit = "cluster")
    split$fold <- split$fold[cluster]
    return(split)
  }
  if (length(folds) == 1) {
    rows <- check_test_rows(test, n, single = TRUE)
    check_whole_clusters(as.integer(seq_len(n) %in% rows), cluster)
    split <- make_split(length(first), folds, which(first %in% rows), single = TRUE, unit = "cluster")
    split$fold <- replace(split$fold[cluster], rows, 0L)
  } else {
    if (is_share(test) && test > 0 && !any(read_folds(folds) == 0)) {
      test <- which(cluster %in% sample.int(length(first), round(test * length(first))))
    }
    split <- make_split(n, folds, test, single = TRUE)
  }
  check_whole_clusters(split$fold, cluster)
  split
}

check_whole_clusters <- function(fold, cluster) {
  first <- match(seq_len(max(cluster)), cluster)
  torn <- which(fold != fold[first][cluster])
  stop_if(length(torn) > 0, "The rows of a cluster must be in one fold, or all be test rows.",
          "x" = "Row {torn[1]} is not where row {first[cluster[torn[1]]]} of its cluster is.",
          class = c("cluster", "folds"), arg = "folds")
}

# Anything but a share is taken for row numbers.
is_share <- function(test) is_sized(test, 1) && is.numeric(test) && !is.na(test) && test >= 0 && test < 1

# Consecutive blocks: sizes floor(n / k), the first n mod k one longer.
block_folds <- function(n, k) rep(seq_len(k), times = n %/% k + (seq_len(k) <= n %% k))

# NULL for a number of folds; else an integer vector.
read_folds <- function(folds) {
  if (inherits(folds, "rset")) return(rset_folds(folds))
  if (length(folds) == 1) {
    check_count(folds, "folds", lower = 2)
    return(NULL)
  }
  if (!is.numeric(folds) || !all(is.finite(folds)) || any(folds != round(folds)) ||
        any(folds < 0 | folds > .Machine$integer.max)) {
    stop_input("{.arg folds} must be a number, an integer vector with each row's fold, or an rsample {.cls rset}.",
               "x" = "It is {describe(folds)}.", class = "folds", arg = "folds", value = folds)
  }
  as.integer(folds)
}

# The given fold 1..k of each of n complete rows, from those of these rows or of all n_rows; NULL for a number of folds.
given_folds <- function(folds, n, rows, n_rows, cluster = NULL) {
  fold <- read_folds(folds)
  if (is.null(fold)) return(NULL)
  if (length(fold) == n_rows) fold <- fold[rows]
  fold <- place_folds(match(fold, sort(unique(fold))), n)
  if (!is.null(cluster)) check_whole_clusters(fold, cluster)
  fold
}

rset_folds <- function(folds) {
  rlang::check_installed("rsample", reason = "to read an rset.")
  fold <- integer(nrow(folds$splits[[1]]$data))
  for (f in seq_along(folds$splits)) {
    out <- rsample::complement(folds$splits[[f]])
    stop_if(any(fold[out] > 0), "The resamples in {.arg folds} must hold out each row once.",
            "x" = "Row {out[fold[out] > 0][1]} is held out more than once.",
            "i" = "Use {.fn rsample::vfold_cv} without repeats.", class = "folds", arg = "folds")
    fold[out] <- f
  }
  fold
}

# `single`: one row is enough, since its cluster is meant; else a single number is more likely a percentage.
check_test_rows <- function(test, n, single = FALSE) {
  if (is.logical(test) && length(test) == n && !anyNA(test)) test <- which(test)
  ok <- is.numeric(test) && !anyNA(test) && all(test >= 1 & test <= n & test == round(test))
  one <- ok && !single && length(test) == 1
  usable <- ok && !one
  stop_if(
    !usable || anyDuplicated(test),
    "{.arg test} must be a share of the rows, at least 0 and below 1, or two or more row numbers in 1, ..., {n}.",
    "x" = if (usable) "Row {test[duplicated(test)][1]} occurs twice." else "It is {describe(test)}.", class = "folds",
    arg = "test", value = test
  )
  as.integer(test)
}

# A fold for every row (length n, test rows overridden) or for every non-test row in order.
place_folds <- function(given, n, test_rows = integer()) {
  fold <- integer(n)
  tune <- setdiff(seq_len(n), test_rows)
  if (length(given) == n) {
    fold[tune] <- given[tune]
  } else if (length(given) == length(tune)) {
    fold[tune] <- given
  } else {
    stop_input("{.arg folds} must give the fold of each row{if (length(tune) < n) ', or of each that does not test'}.",
               "x" = "It has length {length(given)}; there are {n} rows, and {n - length(tune)} test.", class = "folds",
               arg = "folds", value = given)
  }
  labels <- sort(unique(fold[fold > 0]))
  stop_if(length(labels) < 2, "{.arg folds} must make at least two folds of the tuning rows.",
          "x" = "There {?is/are} {length(labels)}.", class = "folds", arg = "folds", value = given)
  fold[fold > 0] <- match(fold[fold > 0], labels)
  fold
}

crossfit_folds <- 5

# The fold of every row by a hash of its values, so that the same rows have the same folds in any order; of a cluster
# by the sum of its rows' hashes, each with its `copies`, so that names do not matter. `even`: rows, or clusters, are
# dealt out in the order of these numbers, into folds of sizes that differ by one at most.
value_folds <- function(features, labels, cluster = NULL, folds = crossfit_folds, even = FALSE, copies = NULL) {
  cpp_value_folds(features, as.integer(labels), cluster, folds, even, copies)
}

# value_folds() of rows that count as the design says. Equal rows are told apart by how many came before: those of
# different weights in the order of these, so that the order of the rows does not matter; so are equal clusters.
design_folds <- function(features, labels, design, folds = crossfit_folds, even = FALSE) {
  of <- design$cluster
  if (!is.null(of) && !is.null(design$w)) of <- match(of, order(sum_by_cluster(design$w, of)))
  if (cpp_equal_copies(design) || !is.null(of)) return(value_folds(features, labels, of, folds, even, design$copies))
  at <- order(design$w)
  replace(integer(design$n), at, value_folds(rows_of_part(features, at), labels[at], NULL, folds, even))
}

# The number of copies of every row (rows) in every fold (columns), as of rows that are repeated, and as `dealt` what
# they follow from: a copy may be in another fold of another model (cpp_joint_copies()).
copies_by_fold <- function(features, labels, design, folds = crossfit_folds, even = FALSE) {
  cpp_copy_folds(features, labels, design$copies, folds, even, if (!cpp_equal_copies(design)) design$w / design$copies)
}

# A problem whose rows stand for copies of one fold each, that of `fold`. Equal copies are in several folds, those of a
# cluster in one.
fold_copies <- function(problem, folds = crossfit_folds) {
  copies <- problem$design$copies
  if (is.null(copies) || !is.null(problem$design$cluster) || !is.null(problem$fold)) return(problem)
  split_copies(problem, problem$copies_by_fold %||%
                 copies_by_fold(problem$features, problem$labels, problem$design, folds))
}

# The data with a row for each fold that a row has copies in, its `origin`; `counts`: of every row (rows) in every fold
# (columns).
split_copies <- function(data, counts) {
  at <- which(counts > 0)
  origin <- (at - 1L) %% nrow(counts) + 1L
  out <- take_rows(data, origin)
  out$origin <- origin
  out$design <- c(recounted(out$design, counts[at]), list(dealt = attr(counts, "dealt")))
  out$fold <- (at - 1L) %/% nrow(counts) + 1L
  out
}

# Data with independent copies, of which each is dealt to one of so many folds, or to the test rows (0), as make_split()
# deals rows; of many the numbers are drawn. Other data, and those whose folds are given, stay.
deal_copies <- function(data, folds, test = integer()) {
  copies <- data$design$copies
  if (is.null(copies) || !is.null(data$design$cluster) || length(folds) != 1) return(data)
  m <- length(copies)
  if (sum(copies) <= many_rows) {
    split <- make_split(sum(copies), folds, test)
    counts <- matrix(tabulate(split$fold * m + rep(seq_len(m), copies), m * (split$k + 1)), m)
  } else {
    check_count(folds, "folds", lower = 2)
    counts <- cpp_deal_copies(copies, folds, if (length(test) == 1) test else 0)
  }
  out <- split_copies(data, counts)
  out$fold <- out$fold - 1L
  out
}
