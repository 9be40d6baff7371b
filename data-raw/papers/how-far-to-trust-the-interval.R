# Results of the vignette "Coverage of the confidence interval", in the parts scalar, classes and networks; `networks`
# needs networks of the shared data. A row is a cell: a law, a notion, a number of rows and what the intervals of
# ce_estimate() say in `runs` samples. Rows that are stored of as many samples are kept, so that a run can be continued
# and cells be added; the part `afresh` computes all of them. Hours of processor time for everything; a part that is a
# number is the largest number of rows:
#   make papers PAPER=how-far-to-trust-the-interval PARTS='scalar classes 1000'
library(calibrisk)
options(calibrisk.threads = 1L)
source("data-raw/papers/store.R")
source("data-raw/papers/interval-laws.R")

rows <- suppressWarnings(as.numeric(parts))
largest_n <- if (all(is.na(rows))) Inf else max(rows, na.rm = TRUE)
afresh <- "afresh" %in% parts
parts <- setdiff(parts[is.na(rows)], "afresh")

# Share of the squared gap that the best basis sees: psi of the gap itself is the mean of psi given the predictions.
seen_share <- function(features, gap, bases) {
  rungs <- calibrisk:::cpp_ladder(as.matrix(features), as.matrix(gap), NULL, bases, FALSE, 1L)
  max(vapply(rungs, `[[`, 0, "psi")) / mean(rowSums(as.matrix(gap)^2))
}

# The rows of ce_estimate(), and that share where it is wanted.
one_sample <- function(p, y, gap, notions, see) {
  rows <- ce_estimate(p, y, notion = notions)
  seen <- vapply(notions, function(notion) {
    if (!see || all(gap == 0)) return(NA_real_)
    seen_share(p, gap, calibrisk:::ladder_bases(notion, NCOL(gap), NROW(gap)))
  }, 0)
  data.frame(estimate = rows$estimate, low = rows$conf.low, high = rows$conf.high, lower_bound = rows$lower_bound,
             p.value = rows$p.value, seen = seen)
}

# What the samples of a cell say about its error `ce`; `whole` is that of all of the gap: what a class's own probability
# does not tell is no part of the class-wise error.
summarise_cell <- function(runs, ce, whole) {
  data.frame(
    runs = nrow(runs), ce = ce, seen = mean(runs$seen, na.rm = TRUE) * (whole / ce)^2,
    covered = sum(runs$low <= ce & ce <= runs$high), above = sum(runs$low > ce), below = sum(runs$high < ce),
    bound_above = sum(runs$lower_bound > ce), rejected = sum(runs$p.value < .05),
    low = mean(runs$low), high = mean(runs$high), width = mean(runs$high - runs$low),
    estimate = mean(runs$estimate), rmse = sqrt(mean((runs$estimate - ce)^2))
  )
}

# cells: a data frame with a column n; keys name a cell. Its samples have a row per element of its truth. Stored after
# each.
run_cells <- function(cells, name, keys, replicate, truth, runs) {
  done <- if (!afresh) stored(name)
  key <- function(table) if (!is.null(table)) do.call(paste, unname(as.list(table[keys])))
  start <- proc.time()[["elapsed"]]
  for (i in seq_len(nrow(cells))) {
    cell <- cells[i, , drop = FALSE]
    if (cell$n > largest_n || key(cell) %in% key(done[done$runs >= runs(cell), ])) next
    # a check has rows to compare with, or nothing to compute
    if (checking && !(afresh && key(cell) %in% key(stored(name)))) next
    ce <- truth(cell)
    # a seed from the cell's name: the same samples in whatever order cells are computed
    set.seed(sum(utf8ToInt(key(cell)) * seq_along(utf8ToInt(key(cell)))))
    results <- lapply(seq_len(runs(cell)), function(r) replicate(cell, see = r <= 5))
    found <- do.call(rbind, lapply(seq_along(ce), function(j) {
      summarise_cell(do.call(rbind, lapply(results, function(rows) rows[j, ])), ce[[j]], max(ce))
    }))
    if (!is.null(names(ce))) found <- cbind(notion = names(ce), found)
    done <- rbind(done[!key(done) %in% key(cell), ], cbind(cell, found, row.names = NULL))
    repetitions <- if (length(unique(done$runs)) == 1) done$runs[1] else paste(range(done$runs), collapse = " to ")
    seconds <- if (afresh) proc.time()[["elapsed"]] - start else NA
    store(name, done, seed = "one per cell", repetitions = repetitions, seconds = seconds)
  }
}

if (wanted("scalar")) {
  truth <- vapply(scalar_laws, function(law) {
    set.seed(1)
    p <- law$draw(1e6)
    sqrt(mean((p - law$risk(p))^2))
  }, 0)
  replicate <- function(cell, see) {
    law <- scalar_laws[[cell$law]]
    p <- law$draw(cell$n)
    q <- law$risk(p)
    y <- as.numeric(runif(cell$n) < q)
    one_sample(p, y, p - q, "binary", see)
  }
  cells <- expand.grid(law = names(scalar_laws), n = c(150, 500, 1000, 5000), stringsAsFactors = FALSE)
  run_cells(cells, "scalar", c("law", "n"), replicate, function(cell) truth[[cell$law]],
            function(cell) if (cell$n > 1000) 200 else 500)
}

# Class-wise and canonical errors of the same samples.
if (wanted("classes")) {
  truth <- function(cell) {
    law <- canonical_laws[[cell$law]]
    set.seed(1)
    p <- law$draw(1e6, cell$K)
    gap <- p - law$map(p)
    c(class_wise = if (all(gap == 0)) 0 else class_wise_error(p, gap), canonical = sqrt(mean(rowSums(gap^2))))
  }
  replicate <- function(cell, see) {
    law <- canonical_laws[[cell$law]]
    p <- law$draw(cell$n, cell$K)
    q <- law$map(p)
    one_sample(p, draw_labels(q), p - q, c("class_wise", "canonical"), see)
  }
  cells <- expand.grid(law = names(canonical_laws), K = c(3, 5, 10), n = c(300, 1000), stringsAsFactors = FALSE)
  run_cells(cells, "classes", c("law", "K", "n"), replicate, truth, function(cell) {
    # the level of a test needs more
    calibrated <- startsWith(cell$law, "calibrated")
    if (cell$n == 300) (if (calibrated) 500 else 100) else if (calibrated) 240 else 60
  })
}

# Outcomes redrawn on the predictions of networks: the rows of a sample are drawn from the 10,000 with
# replacement, the outcomes from a map fitted to the network's own outcomes, which is then the truth.
if (wanted("networks")) {
  networks <- network_laws()
  replicate <- function(cell, see) {
    network <- networks[[cell$network]][[cell$map]]
    rows <- sample.int(NROW(network$p), cell$n, replace = TRUE)
    if (cell$notion == "top_label") {
      p <- network$p[rows]
      q <- network$q[rows]
      # the confidence as the probability of being right
      return(one_sample(p, as.numeric(runif(cell$n) < q), p - q, "binary", see))
    }
    p <- network$p[rows, , drop = FALSE]
    q <- network$q[rows, , drop = FALSE]
    one_sample(p, draw_labels(q), p - q, "canonical", see)
  }
  truth <- function(cell) {
    network <- networks[[cell$network]][[cell$map]]
    sqrt(mean(rowSums(as.matrix(network$p - network$q)^2)))
  }
  each <- do.call(rbind, lapply(names(networks), function(network) {
    data.frame(network = network, map = names(networks[[network]]))
  }))
  each$notion <- ifelse(each$map == "logistic", "top_label", "canonical")
  cells <- do.call(rbind, lapply(c(300, 1000, 5000, 10000), function(n) cbind(each, n = n)))
  run_cells(cells, "networks", c("network", "map", "n"), replicate, truth, function(cell) {
    # the level of a test, and what many rows should settle, need most
    if (cell$n > 5000) return(100)
    if (cell$notion == "top_label" || cell$map == "calibrated" || cell$n == 5000) 400 else 80
  })
}
