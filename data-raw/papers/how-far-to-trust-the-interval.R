# Results of the vignette "Coverage of the confidence interval", in the parts scalar, class-wise, canonical, networks
# and classes; `networks` needs networks of the shared data. The parts class-wise and canonical test by nested bases,
# `classes` has the rows of ce_estimate() with the test of simulated labels. A row is a cell: a law, a number of rows
# and what `runs` samples gave. Rows that are stored are kept, so that a run can be continued and cells be added (one
# whose coverage was in doubt was given more samples: the table says how many); the part `afresh` computes all of them.
# Hours of processor time for everything; a part that is a number is the largest number of rows:
#   make papers PAPER=how-far-to-trust-the-interval PARTS='scalar canonical 1000'
library(calibrisk)
source("data-raw/papers/store.R")
source("data-raw/papers/interval-laws.R")

largest_n <- max(suppressWarnings(as.numeric(parts)), 0, na.rm = TRUE)
if (largest_n == 0) largest_n <- Inf
afresh <- "afresh" %in% parts
parts <- intersect(c("scalar", "class-wise", "canonical", "networks", "classes"), parts)

ladder <- function(features, residuals, notion) {
  bases <- calibrisk:::ladder_bases(notion, ncol(residuals), nrow(residuals))
  problem <- list(features = features, residuals = residuals, design = calibrisk:::new_design(nrow(residuals)))
  list(bases = bases, value = calibrisk:::run_ladder(problem, bases, .95, 1L))
}

# Share of the squared gap that the best basis sees: psi of the gap itself is the mean of psi given the
# predictions.
seen_share <- function(features, gap, bases) {
  rungs <- calibrisk:::cpp_ladder(as.matrix(features), as.matrix(gap), numeric(), numeric(), integer(), bases,
                                  FALSE, 1L)
  max(vapply(rungs, `[[`, 0, "psi")) / mean(rowSums(gap^2))
}

fields <- c("estimate", "low", "high", "lower_bound", "p.value")
one_notion <- function(features, residuals, gap, notion, see) {
  fit <- ladder(features, residuals, notion)
  seen <- if (see && any(gap != 0)) seen_share(features, gap, fit$bases) else NA
  c(unlist(fit$value[fields]), own_p = fit$value$p.value, seen = seen)
}

# As ce_estimate() has it: the limits and the p-value of the joint test.
one_probability <- function(p, y, gap, notion, see) {
  row <- ce_estimate(p, y, notion = notion, threads = 1)
  seen <- if (see && any(gap != 0)) {
    seen_share(p, cbind(gap), calibrisk:::ladder_bases("binary", 1, length(p)))
  } else {
    NA
  }
  c(estimate = row$estimate, low = row$conf.low, high = row$conf.high, lower_bound = row$lower_bound,
    p.value = row$p.value, own_p = row$p.value, seen = seen)
}

# The canonical report takes the class-wise and the top-label ladder of the same rows into account; its
# one-sided bound is its lower limit.
canonical_report <- function(p, y, gap, see) {
  residuals <- p
  residuals[cbind(seq_along(y), y)] <- residuals[cbind(seq_along(y), y)] - 1
  own <- one_notion(p, residuals, gap, "canonical", see)
  top <- max.col(p, "first")
  confidence <- p[cbind(seq_along(y), top)]
  class_wise <- unlist(ladder(p, residuals, "class_wise")$value[fields])
  top_label <- unlist(ladder(cbind(confidence), cbind(confidence - (y == top)), "top_label")$value[fields])
  all <- rbind(own[fields], class_wise, top_label)
  c(apply(all[, c("estimate", "low", "high")], 2, max), lower_bound = max(all[, "low"]),
    p.value = min(all[, "p.value"]), own_p = own[["own_p"]], seen = own[["seen"]])
}

# What the samples of a cell say about the error `ce`.
summarise_cell <- function(runs, ce) {
  runs <- as.data.frame(do.call(rbind, runs))
  data.frame(
    runs = nrow(runs), ce = ce, seen = mean(runs$seen, na.rm = TRUE),
    covered = sum(runs$low <= ce & ce <= runs$high), above = sum(runs$low > ce), below = sum(runs$high < ce),
    bound_above = sum(runs$lower_bound > ce),
    rejected = sum(runs$p.value < .05), rejected_own = sum(runs$own_p < .05),
    low = mean(runs$low), high = mean(runs$high), width = mean(runs$high - runs$low),
    estimate = mean(runs$estimate), rmse = sqrt(mean((runs$estimate - ce)^2))
  )
}

# cells: a data frame with a column n; keys name a cell. Stored after each.
run_cells <- function(cells, name, keys, replicate, truth, runs) {
  done <- if (!afresh) stored(name)
  key <- function(table) if (!is.null(table)) do.call(paste, unname(as.list(table[keys])))
  start <- proc.time()[["elapsed"]]
  for (i in seq_len(nrow(cells))) {
    cell <- cells[i, , drop = FALSE]
    if (cell$n > largest_n || key(cell) %in% key(done)) next
    ce <- truth(cell)
    # a seed from the cell's name: the same samples in whatever order cells are computed
    set.seed(sum(utf8ToInt(key(cell)) * seq_along(utf8ToInt(key(cell)))))
    results <- lapply(seq_len(runs(cell)), function(r) replicate(cell, see = r <= 5))
    done <- rbind(done, cbind(cell, summarise_cell(results, ce)))
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
    one_probability(p, y, p - q, "binary", see)
  }
  cells <- expand.grid(law = names(scalar_laws), n = c(150, 500, 1000, 5000), stringsAsFactors = FALSE)
  run_cells(cells, "scalar", c("law", "n"), replicate, function(cell) truth[[cell$law]],
            function(cell) if (cell$n > 1000) 200 else 500)
}

if (wanted("class-wise")) {
  K <- 5
  known <- list()
  truth <- function(cell) {
    if (is.null(known[[cell$law]])) {
      law <- canonical_laws[[cell$law]]
      set.seed(1)
      p <- law$draw(1e6, K)
      known[[cell$law]] <<- class_wise_error(p, p - law$map(p))
    }
    known[[cell$law]]
  }
  replicate <- function(cell, see) {
    law <- canonical_laws[[cell$law]]
    p <- law$draw(cell$n, K)
    q <- law$map(p)
    out <- one_notion(p, p - one_hot(draw_labels(q), K), p - q, "class_wise", see)
    # what a class's own probability does not tell is no part of the target
    if (see) out["seen"] <- out["seen"] * mean(rowSums((p - q)^2)) / truth(cell)^2
    out
  }
  cells <- expand.grid(law = names(canonical_laws), n = c(300, 1000, 5000), stringsAsFactors = FALSE)
  run_cells(cells, "class-wise", c("law", "n"), replicate, truth,
            function(cell) if (cell$n > 1000) 100 else 200)
}

if (wanted("canonical")) {
  replicate <- function(cell, see) {
    law <- canonical_laws[[cell$law]]
    p <- law$draw(cell$n, cell$K)
    q <- law$map(p)
    canonical_report(p, draw_labels(q), p - q, see)
  }
  truth <- function(cell) {
    law <- canonical_laws[[cell$law]]
    set.seed(1)
    p <- law$draw(2e5, cell$K)
    sqrt(mean(rowSums((p - law$map(p))^2)))
  }
  cells <- expand.grid(law = names(canonical_laws), K = c(3, 5, 10), n = c(300, 1000, 5000), stringsAsFactors = FALSE)
  run_cells(cells, "canonical", c("law", "K", "n"), replicate, truth, function(cell) {
    runs <- switch(paste(cell$K, cell$n), "3 5000" = 30, "5 5000" = 20, "10 5000" = 12, "10 1000" = 40,
                   if (cell$n > 300) 80 else 200)
    # the level of a test needs more
    if (!startsWith(cell$law, "calibrated")) return(runs)
    runs * switch(paste(cell$n), "300" = 3, "1000" = if (cell$K == 3) 6 else 2, 1)
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
      return(one_probability(p, as.numeric(runif(cell$n) < q), p - q, "binary", see))
    }
    p <- network$p[rows, , drop = FALSE]
    q <- network$q[rows, , drop = FALSE]
    canonical_report(p, draw_labels(q), p - q, see)
  }
  truth <- function(cell) {
    network <- networks[[cell$network]][[cell$map]]
    sqrt(mean(rowSums(as.matrix(network$p - network$q)^2)))
  }
  each <- do.call(rbind, lapply(names(networks), function(network) {
    data.frame(network = network, map = names(networks[[network]]))
  }))
  each$notion <- ifelse(each$map == "logistic", "top_label", "canonical")
  cells <- do.call(rbind, lapply(c(300, 1000, 5000), function(n) cbind(each, n = n)))
  run_cells(cells, "networks", c("network", "map", "n"), replicate, truth, function(cell) {
    if (cell$notion == "top_label") return(400)
    few <- NCOL(networks[[cell$network]][[cell$map]]$p) < 10
    switch(paste(cell$n), "300" = 80, "1000" = if (few) 80 else 40, if (few) 24 else 12)
  })
}

# Class-wise and canonical errors of the same samples, as ce_estimate() has them.
if (wanted("classes")) {
  done <- if (!afresh) stored("classes")
  cells <- expand.grid(law = names(canonical_laws), K = c(3, 10), n = 300, stringsAsFactors = FALSE)
  for (i in seq_len(nrow(cells))) {
    cell <- cells[i, ]
    name <- paste(cell$law, cell$K, cell$n)
    if (cell$n > largest_n || name %in% paste(done$law, done$K, done$n)) next
    law <- canonical_laws[[cell$law]]
    set.seed(1)
    p <- law$draw(2e5, cell$K)
    gap <- p - law$map(p)
    ce <- c(class_wise = if (all(gap == 0)) 0 else class_wise_error(p, gap), canonical = sqrt(mean(rowSums(gap^2))))
    set.seed(sum(utf8ToInt(name) * seq_along(utf8ToInt(name))))
    rows <- do.call(rbind, lapply(seq_len(if (all(gap == 0)) 160 else 40), function(r) {
      p <- law$draw(cell$n, cell$K)
      ce_estimate(p, draw_labels(law$map(p)), notion = names(ce), threads = 1)
    }))
    for (notion in names(ce)) {
      own <- rows[rows$notion == notion, ]
      done <- rbind(done, cbind(cell, notion = notion, runs = nrow(own), ce = ce[[notion]], covered =
        sum(own$conf.low <= ce[[notion]] & ce[[notion]] <= own$conf.high), above = sum(own$conf.low > ce[[notion]]),
        below = sum(own$conf.high < ce[[notion]]), rejected = sum(own$p.value < .05), low = mean(own$conf.low),
        high = mean(own$conf.high)))
    }
    store("classes", done, seed = "one per cell", repetitions = paste(unique(range(done$runs)), collapse = " to "))
  }
}
