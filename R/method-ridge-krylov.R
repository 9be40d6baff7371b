# Kernel ridge on block Krylov spaces (ridge_krylov.h), for kernels without a low-rank factor, if a Gram matrix of all
# rows is affordable. Blocks are added until the numbers reported for the selected ridge are stable.

# Spaces of all folds; `x` and `residuals` sorted by fold as in factor_bases().
krylov_bases <- function(kernel, x, residuals, begin, context) {
  pointer <- cpp_ridge_krylov(kernel, x, residuals, begin, thread_count())
  # the training rows of all folds: features of a form are kernels with these
  map <- list(kernel = kernel, rows = x[seq_len(nrow(x)) > begin[2], , drop = FALSE])
  list(
    folds = length(begin) - 2L,
    zero_risk = zero_risk_of_folds(residuals, begin),
    extend = function(blocks, context) {
      c(cpp_ridge_krylov_extend(pointer, blocks, thread_count(), context$progress), blocks = blocks)
    },
    # how far the equations of the ridges are from being solved
    equation = function(type, ridges, blocks, context) {
      rowMeans(cpp_ridge_krylov_errors(pointer, type, blocks, ridges, thread_count()))
    },
    path = function(type, ridges, blocks, context) {
      cpp_ridge_krylov_path(pointer, type, blocks, residuals, ridges, thread_count(), context$progress)
    },
    form = function(type, ridge, fold, blocks, used) {
      parts <- cpp_ridge_krylov_form(pointer, fold, type, ridge, blocks, used, thread_count())
      new_form("gram", map = map, basis = parts$basis, core = parts$core, gap = type == "ukkr")
    },
    unseen = function(type, ridge, fold, blocks, used) {
      cpp_ridge_krylov_unseen(pointer, fold, type, ridge, blocks, used, thread_count())
    }
  )
}

# phi(p) = basis' k(p), with k(p) the kernels between p and the training rows.
#' @export
pair_features.ce_form_gram <- function(form, features) {
  cpp_gram_features(form$map$kernel, form$map$rows, form$basis, features, thread_count())
}

# Upper bounds for the errors of a risk and of a squared error, from the relative error e of the equation. (Measured
# with 10 and 26 classes, for errors of risks above 1e-8.) The error of a risk is at most the larger of 10 e^(3/2) and e
# sqrt(zero_risk / risk) / 5: a risk far below that of h = 0 magnifies a small error of h. The error of a squared error
# is at most 40 e.
equation_errors <- function(equation, zero_risk, risk) {
  left <- sqrt(pmax(zero_risk / pmax(risk, .Machine$double.xmin), 1, na.rm = TRUE))
  list(risk = pmax(10 * equation^1.5, 0.2 * left * equation), squared_error = 40 * equation)
}

# Errors of ridges that were evaluated on two spaces: three times the change between them, but at least a hundredth of
# the worst case. The change says more, since what is left of it falls at least as the error of the equation does.
settled_errors <- function(worst, found) {
  Map(function(worst, found) pmin(worst, pmax(3 * found, worst / 100)), worst, found[names(worst)])
}

# Mean over the folds of the risk of no gap, sum_{i != j} <e_i, e_j>^2 / (m (m - 1)).
zero_risk_of_folds <- function(residuals, begin) {
  risks <- vapply(seq_len(length(begin) - 2), function(f) {
    rows <- seq_len(begin[f + 2] - begin[f + 1]) + begin[f + 1]
    e <- residuals[rows, , drop = FALSE]
    (sum(crossprod(e)^2) - sum(rowSums(e^2)^2)) / (length(rows) * (length(rows) - 1))
  }, 0)
  mean(risks[is.finite(risks)])
}

# Blocks are added until the selected ridge and its rivals are settled. A risk is computed where the equation is solved
# to a tenth at least, those of ridges that are left by then on the last spaces.
adapt_blocks <- function(bases, type, ridges, limits, context) {
  n <- length(ridges)
  path <- c(new_path(n, bases$folds), list(rank = matrix(NA_real_, n, bases$folds)))
  equation <- coarse <- rep(Inf, n)
  found <- list(risk = rep(Inf, n), squared_error = rep(Inf, n))
  blocks <- rep(0L, n)
  evaluate <- function(rows, from, to) {
    if (length(rows) == 0) return()
    part <- lapply(bases$path(type, ridges[rows], step$blocks, part_of(context, from, to)), nan_to_na)
    again <- which(blocks[rows] > 0 & coarse[rows] > equation[rows])
    if (length(again) > 0) {
      at <- rows[again]
      of <- function(x, rows) lapply(x[names(part)], function(x) x[rows, , drop = FALSE])
      changes <- path_errors(of(path, at), of(part, again), coarse[at], equation[at])
      for (name in names(found)) found[[name]][at] <<- changes[[name]]
    }
    for (name in names(path)) path[[name]][rows, ] <<- part[[name]]
    blocks[rows] <<- step$blocks
    coarse[rows] <<- equation[rows]
  }
  open <- seq_len(n)
  grown <- 1L
  step <- bases$extend(1L, part_of(context, 0, 0))
  repeat {
    solved <- equation
    equation[open] <- if (step$exact) 0 else bases$equation(type, ridges[open], step$blocks, context)
    evaluate(open[equation[open] <= 0.1], 0.9 - 0.9 / step$blocks, 0.9 - 0.8 / step$blocks)
    worst <- equation_errors(equation, bases$zero_risk, rowMeans(path$risk, na.rm = TRUE))
    errors <- settled_errors(worst, found)
    settled <- errors$risk <= limits$risk & errors$squared_error <= limits$squared_error
    open <- open_ridges(path, ridges, errors$risk, settled)
    last <- step$exact || step$rank >= limits$most
    if (length(open) == 0 || last) {
      evaluate(which(blocks == 0), 0.9, 1)
      open <- open_ridges(path, ridges, errors$risk, settled)
      if (length(open) == 0 || last) break
    }
    excess <- pmax(errors$risk / limits$risk, errors$squared_error / limits$squared_error)
    more <- further_blocks(step$blocks, grown, path$risk, ridges, errors$risk, excess, open, solved / equation)
    grown <- more
    step <- bases$extend(step$blocks + more, part_of(context, 0, 0))
  }
  if (step$exact) errors <- no_errors(n)
  steps <- lapply(blocks, bases$extend, part_of(context, 0, 0))
  list(path = path, blocks = blocks, rank = vapply(steps, `[[`, 0, "rank"), errors = errors,
       reliable = settled | step$exact, residual_trace = vapply(steps, `[[`, 0, "residual_trace"))
}

# Half as many again, fewer where the selected ridge is about to settle: its error, `excess` times what is allowed,
# fell by the factor `fall` with the last `grown` blocks, and falls ever faster. Where it is settled, until those that
# might have a smaller risk are known to have none, or to lie beyond a ridge that is noise (see open_ridges()).
further_blocks <- function(blocks, grown, risk, ridges, error, excess, open, fall) {
  most <- as.integer(ceiling(blocks / 2))
  v <- select_value(risk, ridges)
  until <- function(excess) {
    needed <- ifelse(excess <= 1, 0, log(pmax(excess, 1)) / log(fall) * grown)
    replace(needed, !(excess <= 1 | fall > 1) | is.na(needed), Inf)
  }
  if (v %in% open) {
    needed <- until(excess)[v]
  } else {
    risk <- rowMeans(risk, na.rm = TRUE)
    above <- function(level) pmax(1 - level / risk, 0)
    rival <- pmin(until(error / above(risk[v])), until(excess))
    noise <- ifelse(ridges < ridges[v], until(error / above(1.02 * risk[v])), Inf)
    last <- vapply(c(0, ridges), function(ridge) max(rival[open[ridges[open] > ridge]], 0), 0)
    needed <- min(pmax(last, c(0, noise)))
  }
  if (isTRUE(needed < most)) max(1L, as.integer(ceiling(needed))) else most
}

# None where the selected ridge and all that might be it are settled, else those that are not: also the larger
# ones, which settle sooner. Beyond a ridge whose risk is surely a fiftieth larger the fit is noise: no smaller
# one is looked at.
open_ridges <- function(path, ridges, error, settled) {
  risk <- rowMeans(path$risk, na.rm = TRUE)
  v <- select_value(path$risk, ridges)
  if (is.na(risk[v])) return(which(!settled))
  spread <- ifelse(settled, 0, error) * abs(risk)
  noise <- ridges < ridges[v] & risk - spread > 1.02 * risk[v]
  lowest <- max(ridges[which(noise)], 0)
  rival <- is.na(risk) | risk - spread <= risk[v] + spread[v]
  open <- !settled & ridges > lowest
  if (any(open & rival)) which(open) else integer()
}
