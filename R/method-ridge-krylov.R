# Kernel ridge on block Krylov spaces (ridge_krylov.h), where no factor of a low rank stands for the
# kernel and a Gram matrix of all rows is affordable: blocks are added until the numbers reported for the
# selected ridge stand.

# Spaces of all folds; `x` and `residuals` sorted by fold as in factor_bases().
krylov_bases <- function(kernel, x, residuals, begin, context) {
  pointer <- cpp_ridge_krylov(kernel, x, residuals, begin, context$threads)
  # the training rows of all folds: features of a form are kernels with these
  map <- list(kernel = kernel, rows = x[seq_len(nrow(x)) > begin[2], , drop = FALSE])
  list(
    folds = length(begin) - 2L,
    extend = function(blocks, context) {
      c(cpp_ridge_krylov_extend(pointer, blocks, context$threads, context$progress), blocks = blocks)
    },
    # how far the equations of the ridges are from being solved
    equation = function(type, ridges, blocks, context) {
      rowMeans(cpp_ridge_krylov_errors(pointer, type, blocks, ridges, context$threads))
    },
    path = function(type, ridges, blocks, context) {
      cpp_ridge_krylov_path(pointer, type, blocks, residuals, ridges, context$threads, context$progress)
    },
    form = function(type, ridge, fold, blocks, used) {
      parts <- cpp_ridge_krylov_form(pointer, fold, type, ridge, blocks, used, context$threads)
      new_form("gram", map = map, basis = parts$basis, core = parts$core, gap = type == "ukkr")
    }
  )
}

# phi(p) = basis' k(p), with k(p) the kernels between p and the training rows.
#' @export
pair_features.ce_form_gram <- function(form, features, threads) {
  cpp_gram_features(form$map$kernel, form$map$rows, form$basis, features, threads)
}

# The error of the equation says how exact a risk is: as a rule to its square, at worst to ten times its power
# 3/2; a squared error to forty times itself (relatively; measured with 10 and 26 classes, for errors of
# risks above 1e-8).
equation_errors <- function(equation) list(risk = 10 * equation^1.5, squared_error = 40 * equation)

# Blocks are added until the selected ridge and its rivals are settled. A risk is computed where the equation
# is solved to a tenth at least, those of ridges that are left by then on the last spaces.
adapt_blocks <- function(bases, type, ridges, limits, context) {
  n <- length(ridges)
  path <- c(new_path(n, bases$folds), list(rank = matrix(NA_real_, n, bases$folds)))
  equation <- rep(Inf, n)
  blocks <- rep(0L, n)
  evaluate <- function(rows, from, to) {
    if (length(rows) == 0) return()
    part <- bases$path(type, ridges[rows], step$blocks, part_of(context, from, to))
    for (name in names(path)) path[[name]][rows, ] <<- na_of(part[[name]])
    blocks[rows] <<- step$blocks
  }
  open <- seq_len(n)
  step <- bases$extend(1L, part_of(context, 0, 0))
  repeat {
    equation[open] <- if (step$exact) 0 else bases$equation(type, ridges[open], step$blocks, context)
    evaluate(open[equation[open] <= 0.1], 0.9 - 0.9 / step$blocks, 0.9 - 0.8 / step$blocks)
    errors <- equation_errors(equation)
    settled <- errors$risk <= limits$risk & errors$squared_error <= limits$squared_error
    open <- open_ridges(path, ridges, errors$risk, settled)
    last <- step$exact || step$rank >= limits$most
    if (length(open) == 0 || last) {
      evaluate(which(blocks == 0), 0.9, 1)
      open <- open_ridges(path, ridges, errors$risk, settled)
      if (length(open) == 0 || last) break
    }
    step <- bases$extend(step$blocks + as.integer(ceiling(step$blocks / 3)), part_of(context, 0, 0))
  }
  if (step$exact) errors <- no_errors(n)
  steps <- lapply(blocks, bases$extend, part_of(context, 0, 0))
  list(path = path, blocks = blocks, rank = vapply(steps, `[[`, 0, "rank"), errors = errors,
       reliable = settled | step$exact, residual_trace = vapply(steps, `[[`, 0, "residual_trace"))
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
