# Algorithm 1 on a state in blocks: of weighted or clustered rows, of the classes of a row together, and canonical.
# Folds and test rows are whole blocks, and a risk is the mean over pairs of rows in different blocks. Pairs within a
# cluster, or of a row with itself, are left out, so its expectation is that of the risk over pairs of independent rows.
# It is the risk of ce_tune() with the blocks as clusters (design_risk()). With h(p, p') = phi(p)'M phi(p') and, of
# block a,
#   S_a = sum w e e',  C_a = sum w phi e',  G_a = sum w phi phi'
# the pairs of blocks a and b sum up to
#   sum w_i w_j (<e_i, e_j> - h_ij)^2 = <S_a, S_b> - 2 tr(C_a'M C_b) + tr(M G_a M G_b)

# For the blocks that have rows: their part of test rows (0) or folds. As cluster_split() of clusters in this order.
fold_of_blocks <- function(n_blocks, spec) {
  tune <- floor((1 - spec$test) * n_blocks + 1e-9)
  c(rep(0L, n_blocks - tune), block_folds(tune, spec$folds))
}

# Blocks with rows, their folds and numbers of rows.
state_folds <- function(state, call) {
  rows <- rows_of_blocks(state)
  used <- which(rows > 0)
  fold <- fold_of_blocks(length(used), state$spec)
  check_fold_blocks(state, length(used), sum(fold > 0), call)
  warn_tied_rows(state, rows)
  list(used = used, fold = fold, sizes = as.vector(rowsum(rows[used], fold)))
}

check_fold_blocks <- function(state, used, tune, call) {
  folds <- state$spec$folds
  stop_if(
    tune < 2 * folds, "Every fold must have two blocks with rows: pairs are those of rows in different blocks.",
    "x" = "{used} of the {state$spec$blocks} blocks {cli::qty(used)}{?has/have} rows; {folds} folds and the test rows \\
           need {ceiling(2 * folds / (1 - state$spec$test))}.",
    "i" = "Fewer {.arg folds} or more {.arg blocks} in {.fn ce_state} do with fewer rows or clusters.",
    "i" = if (state$about$owner[["given"]] == "none") {
      "Rows with the same values are in the same block; give {.arg id} in {.fn update} to tell them apart."
    }, class = c("state", "folds"), call = call
  )
}

# Rows without an id are in the block of their values: none of the pairs that have the same ones counts. Distinct values
# fall into blocks as balls into boxes.
warn_tied_rows <- function(state, rows) {
  if (state$about$owner[["given"]] != "none") return(invisible())
  n <- sum(rows)
  apart <- 1 - 1 / state$spec$blocks
  tied <- (sum(rows^2) / n^2 - 1 / state$spec$blocks) / apart - 1 / n
  if (tied <= 0.05 + 3 * sqrt(2 / state$spec$blocks) / n) return(invisible())
  warn_result(
    "Many rows have the same values, and without an {.arg id} they are in the same block.",
    "x" = "About {round(100 * tied)}% of the pairs of rows do; risks leave them out, and are those of other pairs.",
    "i" = "Give {.arg id} (or {.arg cluster}) in {.fn update} to tell rows apart.", class = "ties"
  )
}

# Number of rows in each block, regardless of weights.
rows_of_blocks <- function(state) {
  if (state$about$notion == "canonical") return(canonical_sums(state, "rows")[, 1])
  counts <- state$sums[[1]]$counts
  if (is.null(counts)) return(block_weights(block_moments(state)))
  colSums(sum_array(counts, bins_dim(state$spec)), dims = 3)
}

# The sentence on weights, clusters and classes in blocks.
blocks_sentence <- function(state, used) {
  canonical <- state$about$notion == "canonical"
  weighted <- state$about$weights == "importance"
  kinds <- c(if (weighted) "weighted", if (state$about$owner[["given"]] == "cluster") "clustered")
  rows <- if (length(kinds) > 0) paste(paste(kinds, collapse = ", "), "rows") else if (!canonical) {
    "classes of a row together"
  }
  if (weighted) {
    rows <- paste0(rows, " (effective sample size ", signif(effective_rows(state), 3), " of ", state$n, ")")
  }
  said <- paste0(if (!is.null(rows)) paste0(rows, ": "), "risks of pairs across ", count_of(used, "block"),
                 "; folds and test rows are whole blocks",
                 if (canonical) paste0("; kernel on ", nrow(state$about$landmarks), " landmarks"), ".")
  paste0(toupper(substr(said, 1, 1)), substr(said, 2, nchar(said)))
}

# For one problem: the rows with counts of every block, and the sums of w and w e in its narrow cells.
block_problem <- function(state, j, split) {
  spec <- state$spec
  rows <- part_rows(spec$edges, block_moments(state, j)[, , , split$used, drop = FALSE])
  rows$count <- rows$count / sum(rows$count) * state$n
  e <- rows$x - rows$y
  fine <- sum_array(state$sums[[j]]$fine, fine_dim(spec, TRUE))[1, , , split$used, drop = FALSE]
  fine <- fine / sum(fine[1, 1, , ]) * state$n
  cells <- function(k) matrix(fine[1, k, , ], length(spec$fine) - 1)
  list(rows = rows, features = matrix(rows$x), residuals = matrix(e), fold = split$fold,
       design = new_design(length(e), copies = rows$count),
       edges = spec$fine[-c(1, length(spec$fine))], n = cells(1), d = cells(2),
       weight = as.vector(rowsum(rows$count, rows$part)), S = rbind(as.vector(rowsum(rows$count * e^2, rows$part))),
       class = if (state$about$notion == "class_wise") state$about$levels[j])
}

# Forms by value and fold, and their sums C and G of these blocks: matrices with a column per block.
block_forms <- function(method, problem, grid, context) {
  if (inherits(method, "ce_method_bins")) return(block_bin_forms(problem, grid))
  if (!is.null(problem$trained)) return(landmark_forms(method, problem, grid))
  rows <- problem$rows
  bases <- ridge_bases(method$kernel, problem, problem$fold[rows$part], context)
  list(
    form = function(v, f) bases$form(method$name, grid$value[v], f, bases$rank, bases$rank),
    sums = function(form, blocks) {
      at <- which(rows$part %in% blocks)
      phi <- pair_features(form, problem$features[at, , drop = FALSE], context$threads)
      own <- split(seq_along(at), rows$part[at])
      weighted <- rows$count[at] * phi
      list(C = t(rowsum(weighted * problem$residuals[at, 1], rows$part[at])),
           G = matrix(vapply(own, function(i) c(crossprod(phi[i, , drop = FALSE], weighted[i, , drop = FALSE])),
                             numeric(ncol(phi)^2)), ncol = length(own)))
    }
  )
}

# Bins from sums of cells whose unions they are; an empty one has the mean residual of all.
block_bin_forms <- function(problem, grid) {
  list(
    form = function(v, f) {
      train <- problem$fold > 0 & problem$fold != f
      edges <- seq_len(grid$value[v] - 1) / grid$value[v]
      bin <- findInterval(c(-Inf, problem$edges), edges) + 1L
      sums <- rowsum(cbind(rowSums(problem$n[, train]), rowSums(problem$d[, train])), bin)
      b <- ifelse(sums[, 1] > 0, sums[, 2] / sums[, 1], sum(sums[, 2]) / sum(sums[, 1]))
      new_form("bins", edges = edges, values = unname(b), gap = TRUE)
    },
    sums = function(form, blocks) {
      b <- form$values[findInterval(c(-Inf, problem$edges), form$edges) + 1L]
      list(C = b %*% problem$d[, blocks, drop = FALSE], G = b^2 %*% problem$n[, blocks, drop = FALSE])
    }
  )
}

# form_risk() for blocks: each counts as one row with the weight of its rows.
block_risk <- function(weight, s, sums, core) {
  n <- length(weight)
  r <- sqrt(nrow(sums$G))
  products <- lapply(list(sums$C, sums$G), function(of) {
    lapply(seq_len(n), function(b) matrix(core_product(core, matrix(of[, b], r)), r))
  })
  total <- lapply(products, Reduce, f = `+`)
  zero <- colSums(s * (rowSums(s) - s))
  all <- zero + vapply(seq_len(n), function(b) {
    others <- Map(function(sum, of) sum - of[[b]], total, products)
    sum(products[[2]][[b]] * t(others[[2]])) - 2 * sum(sums$C[, b] * others[[1]])
  }, 0)
  pairs <- weight * (sum(weight) - weight)
  value <- function(of) max(sum(of) / sum(pairs), 0)
  list(risk = value(all), projections = all / pairs, zero_risk = value(zero), zero_projections = zero / pairs,
       design = new_design(n, weight, seq_len(n)))
}

# sum w h(p, p) of every block.
block_squared <- function(sums, core) {
  r <- sqrt(nrow(sums$G))
  vapply(seq_len(ncol(sums$G)), function(b) sum(diag(core_product(core, matrix(sums$G[, b], r)))), 0)
}

# As tune_problem().
tune_blocks <- function(method, problem, grid, context) {
  k <- max(problem$fold)
  forms <- block_forms(method, problem, grid, context)
  test <- which(problem$fold == 0)
  path <- new_path(nrow(grid), k)
  unseen <- function(v, f) {
    form <- forms$form(v, f)
    held <- which(problem$fold == f)
    sums <- forms$sums(form, held)
    list(form = form, test = block_squared(forms$sums(form, test), form$core), squared = block_squared(sums, form$core),
         risk = block_risk(problem$weight[held], problem$S[, held, drop = FALSE], sums, form$core))
  }
  for (f in seq_len(k)) {
    for (v in seq_len(nrow(grid))) {
      one <- unseen(v, f)
      path$risk[v, f] <- one$risk$risk
      path$squared_error[v, f] <- sum(one$squared) / sum(problem$weight[problem$fold == f])
      path$squared_error_test[v, f] <- sum(one$test) / sum(problem$weight[test])
    }
  }
  v <- select_value(path$risk, grid$value)
  chosen <- lapply(seq_len(k), function(f) unseen(v, f))
  list(
    paths = list(path), v = v, forms = lapply(chosen, `[[`, "form"), diagnostics = NULL,
    risks = list(lapply(chosen, `[[`, "risk")),
    squared = list(Reduce(`+`, lapply(chosen, `[[`, "test")) / k / problem$weight[test]),
    designs = list(new_design(length(test), problem$weight[test], seq_along(test)))
  )
}
