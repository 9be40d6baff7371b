# Tuning of bins from sums over the cells between all their edges (R/database-tune.R, R/state-tune.R). With b the gap of
# a bin, v its noise, m = b^2 - v, and the held-out rows' S = sum d^2, C = sum b d, G = sum b^2, n rows in a bin and
# c = sum d there:
#   row i   sum_j (d_i d_j - h_ij)^2 = c0 + c1 d_i + c2 d_i^2 - d_i^4
#   c0 = b^2 G - 2 n b^2 v + n v^2 - m^2,  c1 = -2 (b C - v c),  c2 = S + 2 m
# and the risk is the mean of its rows over n - 1.
#
# For rows with importance weights w all sums above are those of w, w d, w d^2 (so that n is their weight), and with a =
# b^2 G - 2 n b^2 v + n v^2 the sum over the partners of row i is
#   s_i = sum_{j != i} w_j (d_i d_j - h_ij)^2 = a + c1 d_i + S d_i^2 - w_i (d_i^2 - m)^2,  their weight P_i = W - w_i
# so that the risk is sum w s / D with D = W^2 - sum w^2, and of the difference r of two risks, D being the same,
#   se^2 = n / (n - 1) 4 / D^2 sum w_i^2 x_i^2,  x_i = s_i - s'_i - r P_i = A + B d_i + w_i (E + F d_i^2)
#   A = a - a' - r W,  B = c1 - c1',  E = r - m^2 + m'^2,  F = 2 (m - m')
# which takes sums of w^2, w^3 and w^4 with powers of d (R/tune-weighted.R). Clusters are in R/tune-clusters.R.

# One method: what tune_problem() returns and, per fold, edges and coefficients of the selected function.
tune_cells <- function(method, grid, edges, tables, k) {
  path <- list(risk = matrix(NA_real_, nrow(grid), k))
  path$squared_error <- path$squared_error_test <- path$risk
  values <- lapply(seq_len(nrow(grid)), function(v) {
    lapply(seq_len(k), function(f) cell_values(tables[[f]], edges[[f]][[v]], f, method$debias))
  })
  for (v in seq_len(nrow(grid))) {
    for (f in seq_len(k)) {
      one <- values[[v]][[f]]
      path$risk[v, f] <- if (is.null(one$draws)) {
        cell_risk(one$held, one$h, tables[[f]]$fourth[f + 1])
      } else {
        clustered_risk(one$draws$weight, one$draws$sums)
      }
      path$squared_error[v, f] <- mean_of_cells(one$held, one$h)
      path$squared_error_test[v, f] <- mean_of_cells(one$test, one$h)
    }
  }
  v <- select_value(path$risk, grid$value)
  chosen <- values[[v]]
  forms <- lapply(chosen, function(one) {
    if (!method$debias) return(new_form("bins", edges = one$edges, values = one$h$b, gap = TRUE))
    new_steps(list(list(edges = one$edges, b = one$h$b, v = one$h$v)))
  })
  zero_risk <- function(f) {
    one <- chosen[[f]]
    if (!is.null(one$draws)) return(clustered_risk(one$draws$weight, one$draws$zero))
    cell_risk(one$held, lapply(one$h, `*`, 0), tables[[f]]$fourth[f + 1])
  }
  list(
    paths = list(list(path)), v = v, forms = list(forms), diagnostics = list(NULL), chosen = chosen,
    risks = list(lapply(seq_len(k), function(f) {
      list(risk = path$risk[v, f], zero_risk = zero_risk(f))
    }))
  )
}

# Sums of the bins between these edges, of the training, held-out and test rows of a fold, and its function h.
cell_values <- function(table, edges, f, debias) {
  bin <- findInterval(c(-Inf, table$edges), edges) + 1L
  # every bin holds a cell: its edges are some of theirs
  collect <- function(sums) rowsum(sums, bin)
  train <- collect(table$train[[f]])
  n <- train[, "n"]
  b <- ifelse(n > 0, train[, "d1"] / n, if (sum(n) > 0) sum(train[, "d1"]) / sum(n) else 0)
  accuracy <- train[, "y"] / n
  v <- if (!debias) {
    0 * n
  } else if (!is.null(table$clusters)) {
    clustered_noise(table, train, bin, f)
  } else if (has_weights(train)) {
    weighted_noise(train)
  } else {
    ifelse(n >= 2, accuracy * (1 - accuracy) / (n - 1), 0)
  }
  h <- list(b = unname(b), v = unname(v))
  held <- collect(fold_sums(table, f))
  list(edges = edges, h = h, held = held, test = collect(fold_sums(table, 0)),
       draws = if (!is.null(table$clusters)) cluster_draws(table, held, h, bin, f))
}

# `edges`: inner ones; `sums`: array of cells, folds 0..k and sums; `fourth`: sum of d^4 of every fold. The sums of the
# rows that train without fold f are kept.
fold_table <- function(edges, sums, fourth = colSums(matrix(sums[, , "d4"], dim(sums)[1]))) {
  out <- list(edges = edges, sums = sums, fourth = fourth)
  k <- dim(sums)[2] - 1
  out$train <- lapply(seq_len(k), function(f) Reduce(`+`, lapply(setdiff(seq_len(k), f), fold_sums, table = out)))
  out
}

# Sums by cell of the rows of a fold, as a matrix however many cells there are.
fold_sums <- function(table, f) {
  matrix(table$sums[, f + 1, ], dim(table$sums)[1], dimnames = list(NULL, dimnames(table$sums)[[3]]))
}

row_coefficients <- function(held, h) {
  of <- weighted_coefficients(held, h)
  list(c0 = of$a - of$m^2, c1 = of$c1, c2 = sum(held[, "d2"]) + 2 * of$m)
}

cell_risk <- function(held, h, fourth) {
  if (has_weights(held)) return(weighted_risk(held, h, fourth))
  n <- sum(held[, "n"])
  if (n < 2) return(NA_real_)
  of <- row_coefficients(held, h)
  rows <- sum(of$c0 * held[, "n"]) + sum(of$c1 * held[, "d1"]) + sum(of$c2 * held[, "d2"]) - fourth
  max(0, rows / (n * (n - 1)))
}

mean_of_cells <- function(held, h) {
  n <- sum(held[, "n"])
  if (n == 0) NA_real_ else sum(held[, "n"] * (h$b^2 - h$v)) / n
}

# Mean paired difference of two methods' risks over the folds (see paired_difference()): the fourth powers cancel.
cells_difference <- function(a, b, tables) {
  mean_difference(lapply(seq_along(tables), function(f) {
    if (!is.null(tables[[f]]$clusters)) return(clustered_difference(a$chosen[[f]]$draws, b$chosen[[f]]$draws))
    sums <- fold_sums(tables[[f]], f)
    n <- sum(sums[, "n"])
    if (row_count(sums) < 2) return(c(NA_real_, NA_real_))
    coefficients <- if (has_weights(sums)) weighted_coefficients else row_coefficients
    of <- lapply(list(a, b), function(result) {
      one <- result$chosen[[f]]
      bin <- findInterval(c(-Inf, tables[[f]]$edges), one$edges) + 1L
      lapply(coefficients(one$held, one$h), `[`, bin)
    })
    if (has_weights(sums)) return(weighted_difference(sums, of[[1]], of[[2]]))
    c0 <- of[[1]]$c0 - of[[2]]$c0
    c1 <- of[[1]]$c1 - of[[2]]$c1
    c2 <- of[[1]]$c2 - of[[2]]$c2
    mean <- sum(c0 * sums[, "n"] + c1 * sums[, "d1"] + c2 * sums[, "d2"]) / n
    c0 <- c0 - mean
    square <- sum(c0^2 * sums[, "n"] + 2 * c0 * c1 * sums[, "d1"] + (c1^2 + 2 * c0 * c2) * sums[, "d2"] +
                    2 * c1 * c2 * sums[, "d3"] + c2^2 * sums[, "d4"])
    difference_of_sums(n, mean, square) / (n - 1)
  }))
}

# A fold's difference of two risks and its standard error, from the mean of the projections' differences and the sum of
# their squares around it.
difference_of_sums <- function(n, mean, square) {
  c(mean, if (n < 3) NA_real_ else 2 * sqrt(max(square, 0) / (n * (n - 1))))
}

# The mean over the folds that have one; their variances add.
mean_difference <- function(folds) {
  parts <- matrix(unlist(folds), 2)
  at <- which(!is.na(parts[1, ]))
  if (length(at) == 0) return(list(difference = NA_real_, std.error = NA_real_))
  list(difference = mean(parts[1, at]), std.error = sqrt(sum(parts[2, at]^2)) / length(at))
}

# h(p, p) on the test rows, averaged over the folds' functions; without test rows on those that each fold holds out.
add_holdout <- function(results, rows, tables, sizes, call) {
  tested <- sizes[1] > 0
  if (tested) {
    edges <- sort(unique(unlist(lapply(results, function(result) lapply(result$chosen, `[[`, "edges")))))
    cell <- sql_cell("p", edges)
    held <- if (is_clustered(rows)) {
      cluster_cells(rows, paste0("SELECT * FROM (", rows$pairs, ") ce_tests WHERE ce_fold = 0"), cell, call)
    } else {
      found <- database_cells(rows, rows$pairs, cell, "ce_fold", mean_sums(rows), call)
      found[found$fold == 0, ]
    }
    lower <- c(-Inf, edges)[held$cell + 1]
  }
  lapply(results, function(result) {
    value <- function(one, lower) (one$h$b^2 - one$h$v)[findInterval(lower, one$edges) + 1]
    if (tested) {
      squared <- Reduce(`+`, lapply(result$chosen, value, lower)) / length(result$chosen)
    } else {
      held <- as.data.frame(do.call(rbind, lapply(result$chosen, `[[`, "held")))
      squared <- unlist(lapply(result$chosen, function(one) one$h$b^2 - one$h$v))
    }
    result$squared <- list(if (is_clustered(rows)) {
      if (tested) {
        sums <- rowsum(cbind(held$n, held$n * squared), held$code, reorder = FALSE)
        clustered_mean(sums[, 1], sums[, 2])
      } else {
        of <- function(name) unlist(lapply(result$chosen, function(one) one$draws[[name]]))
        clustered_mean(of("weight"), of("squared"))
      }
    } else if (has_weights(held)) {
      weighted_mean_of_cells(held, squared)
    } else {
      counted_mean(list(count = held$n), squared, new_design(sum(held$n)))
    })
    result
  })
}
