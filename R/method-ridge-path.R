# Kernel ridge over folds and ridges. A kernel's bases (eigenvectors of every fold's
# training set) do not depend on the ridge: kkr and ukkr share them through context$cache.
# bases is a list with
#   path(type, ridges, rank, context)     risks of all folds, [ridges x folds]
#   form(type, ridge, fold, rank, used)   the form of one fold
# and, for a factor, extend() and
#   unseen(type, ridge, fold, rank, used)  that form's core and features of the rows it has not seen
# `rank` is that of the factor, `used` of the eigenbasis.

#' @export
tune_path.ce_method_ridge <- function(method, problem, fold, grid, context) {
  one <- if (is_kernel(method$kernel)) method$kernel else method$kernel[[1]]
  kernels <- grid[["kernel"]] %||% list(one)
  keys <- rep_len(vapply(kernels, rlang::hash, ""), nrow(grid))
  path <- new_path(nrow(grid), max(fold))
  unknown <- rep(NA_real_, nrow(grid))
  diagnostics <- list(value = grid$value, rank = unknown, residual_trace = unknown, risk_error = unknown,
                      squared_error_error = unknown, reliable = rep(NA, nrow(grid)))
  parts <- list()
  for (key in unique(keys)) {
    rows <- which(keys == key)
    done <- match(key, unique(keys)) - 1
    part_context <- part_of(context, done / length(unique(keys)), (done + 1) / length(unique(keys)))
    bases <- ridge_bases(kernels[[rows[1]]], problem, fold, part_context)
    part <- tune_ridge(bases, method$name, grid$value[rows], isTRUE(method$exact), part_context)
    for (name in names(path)) path[[name]][rows, ] <- nan_to_na(part$path[[name]])
    for (name in names(part$diagnostics)) diagnostics[[name]][rows] <- part$diagnostics[[name]]
    parts[[key]] <- part
  }
  path$diagnostics <- columns_frame(!!!diagnostics)
  row <- function(v) sum(keys[seq_len(v)] == keys[v])
  path$form <- function(v, f) parts[[keys[v]]]$form(row(v), f)
  if (all(vapply(parts, function(part) !is.null(part$unseen), NA))) {
    path$unseen <- function(v) unseen_by_ridge(parts[[keys[v]]]$unseen, row(v), problem, fold, context)
  }
  path
}

# The input of unseen_rows() for one ridge, from features of rows that the path has already.
unseen_by_ridge <- function(unseen, v, problem, fold, context) {
  held_out <- unseen_parts(problem, fold, context$cache)$held_out
  lapply(seq_len(max(fold)), function(f) {
    of <- unseen(v, f)
    list(
      risk = features_risk(of$held_out, of$core, held_out[[f]]$residuals, held_out[[f]]$design),
      test_squared = if (any(fold == 0)) cpp_pair_squared(of$test, of$core, thread_count())
    )
  })
}

nan_to_na <- function(x) replace(x, is.nan(x), NA_real_)

# The context with its progress confined to a stretch of the whole.
part_of <- function(context, from, to) {
  outer <- context$progress
  if (!is.null(outer)) {
    context$progress <- function(fraction) outer(from + (to - from) * fraction)
  }
  context
}

# Bases of one kernel, made once per problem and folds.
ridge_bases <- function(kernel, problem, fold, context) {
  key <- paste0("ridge_", rlang::hash(list(kernel, fold)))
  bases <- context$cache[[key]]
  if (is.null(bases)) {
    kernel <- resolve_kernel(kernel, problem$features[fold > 0, , drop = FALSE])
    bases <- explicit_bases(kernel, problem, fold, context) %||% factor_bases(kernel, problem, fold, context)
    assign(key, bases, envir = context$cache)
  }
  bases
}

# Explicit features ------------------------------------------------------------------------

# Above this many explicit features a factor is cheaper, and no less accurate.
taylor_max_rank <- 60L

# NULL if the kernel is not a Gaussian of one scalar, or too narrow for its range. A problem with a `map` has what that
# makes of predictions as its features.
explicit_bases <- function(kernel, problem, fold, context) {
  x <- problem$features
  scalar <- is.null(problem$map)
  map <- problem$map %||% if (ncol(x) == 1) explicit_map(kernel, x[, 1])
  if (is.null(map)) return(NULL)
  pointer <- cpp_ridge_explicit(x, problem$residuals, fold, max(fold), if (scalar) map, problem$design, thread_count(),
                                context$progress)
  parts <- function(fold, type, ridge) cpp_ridge_explicit_form(pointer, fold, type, ridge)
  list(
    rank = map$rank %||% ncol(x),
    path = function(type, ridges, rank, context) {
      cpp_ridge_explicit_path(pointer, type, ridges, x, problem$residuals, thread_count(), context$progress)
    },
    form = function(type, ridge, fold, rank, used) {
      of <- parts(fold, type, ridge)
      new_form(if (scalar) "taylor" else "factor", map = map, basis = of$basis, core = of$core, gap = type == "ukkr")
    },
    unseen = if (!scalar) {
      function(type, ridge, f, rank, used) {
        of <- parts(f, type, ridge)
        rows <- function(f) x[fold == f, , drop = FALSE] %*% of$basis
        list(held_out = rows(f), test = rows(0), core = of$core)
      }
    }
  )
}

# Explicit features of a Gaussian kernel of one scalar; NULL elsewhere.
explicit_map <- function(kernel, x) {
  if (kernel$type != "gaussian") return(NULL)
  gamma <- 1 / (2 * kernel$bandwidth^2)
  range <- range(x)
  rank <- cpp_taylor_rank(gamma, diff(range) / 2, taylor_max_rank)
  if (rank > 0) list(centre = mean(range), gamma = gamma, scale = kernel$scale, rank = rank)
}

# For all kernels of a method, whose bandwidths are numbers.
has_explicit_features <- function(method, x) {
  kernels <- if (is_kernel(method$kernel)) list(method$kernel) else method$kernel
  all(vapply(kernels, function(kernel) is.numeric(kernel$bandwidth) && !is.null(explicit_map(kernel, x)), NA))
}

# Factor -------------------------------------------------------------------------------------

# Rows sorted by fold, test rows first; the factor of all rows grows on demand.
factor_bases <- function(kernel, problem, fold, context) {
  order <- order(fold)
  x <- problem$features[order, , drop = FALSE]
  residuals <- problem$residuals[order, , drop = FALSE]
  begin <- c(0L, cumsum(tabulate(fold + 1L, max(fold) + 1L)))
  pointer <- cpp_ridge_factor(kernel, x)
  spectra <- list()
  maps <- list()
  krylov <- NULL
  list(
    rank = NULL,
    features = x,
    diagonal = mean(cpp_gram_diagonal(kernel, x)),
    # spaces of the same rows, made once
    krylov = function(context) {
      if (is.null(krylov)) krylov <<- krylov_bases(kernel, x, residuals, begin, context)
      krylov
    },
    # until the residual trace is at most `tolerance` or the rank `enough`
    extend = function(tolerance, enough, context) {
      cpp_ridge_extend(pointer, x, max(tolerance, 1e-17), enough, thread_count(), context$progress)
    },
    path = function(type, ridges, rank, context) {
      key <- as.character(rank)
      if (is.null(spectra[[key]])) {
        spectra[[key]] <<- cpp_ridge_spectra(pointer, residuals, begin, rank, thread_count(),
                                             part_of(context, 0, 0.3)$progress)
      }
      cpp_ridge_factor_path(pointer, spectra[[key]], type, residuals, begin, ridges, rank,
                            thread_count(), part_of(context, 0.3, 1)$progress)
    },
    form = function(type, ridge, fold, rank, used) {
      key <- as.character(rank)
      if (is.null(maps[[key]])) {
        maps[[key]] <<- c(list(kernel = kernel), cpp_ridge_pivots(pointer, rank))
      }
      parts <- cpp_ridge_factor_form(spectra[[key]], fold, type, ridge, used, thread_count())
      new_form("factor", map = maps[[key]], basis = parts$basis, core = parts$core, gap = type == "ukkr")
    },
    unseen = function(type, ridge, fold, rank, used) {
      cpp_ridge_factor_unseen(pointer, spectra[[as.character(rank)]], begin, fold, type, ridge, used, thread_count())
    }
  )
}

# Limits for the rank of a factor. Cheap factors are exact: up to rank `direct` only rounding error is left, and up to
# rank `single`, if one ridge is fitted, only errors that this ridge does not notice. Otherwise ranks grow from `start`,
# first by `growth`, until the selected ridge's relative errors are below `risk` and `squared_error`, at most to rank
# `most`. Up to `small` rows all ranks are cheap. Up to `gram` rows the Gram matrix fits into memory, and block Krylov
# spaces may grow instead. They are used if the factor of rank `direct` leaves more than `diffuse` of the trace, or
# would need a rank of more than the share `spaces` of the rows (measured: they are then cheaper). Their products grow
# with the square of the rows, a factor's do not: from `wide` rows on `diffuse` grows with the rows.
factor_limits <- function(context) {
  limits <- list(
    direct = 128, small = 256, single = 1536, start = 64, growth = 1.5, most = 5000, gram = 16384,
    wide = 4096, diffuse = 0.0025, spaces = 0.25, risk = 1e-6, squared_error = 2e-4
  )
  utils::modifyList(limits, as.list(context$factor_limits))
}

# Relative errors are about 0.01 tolerance / ridge (measured on canonical problems).
factor_tolerance <- function(ridges) 1e-6 * min(ridges)

# All ridges of one kernel -> list(path, form(v, f), diagnostics).
tune_ridge <- function(bases, type, ridges, exact, context) {
  if (is.null(bases$extend)) {
    path <- bases$path(type, ridges, bases$rank, context)
    return(tuned_ridge(bases, type, ridges, path, rep(bases$rank, length(ridges)),
                       residual_trace = 0, errors = no_errors(length(ridges)), TRUE))
  }
  limits <- factor_limits(context)
  exact <- exact || nrow(bases$features) <= limits$small
  step <- factor_step(bases, if (exact) Inf else limits$direct, 0, limits, context)
  noise <- rounding_error(ridges, type)
  n <- nrow(bases$features)
  diffuse <- step$residual_trace > limits$diffuse * max(1, n / limits$wide) * bases$diagonal
  if (n > limits$gram) limits$spaces <- Inf
  if (!step$exact) {
    by_rank <- if (!diffuse || is.infinite(limits$spaces)) {
      adapt_rank(bases, type, ridges, factor_tolerance(ridges), limits, context)
    }
    if (!is.null(by_rank)) return(by_rank)
    bases <- bases$krylov(context)
    found <- adapt_blocks(bases, type, ridges, limits, context)
    found$errors$risk <- pmax(found$errors$risk, noise)
    return(tuned_ridge(bases, type, ridges, found$path, found$blocks, found$residual_trace, found$errors,
                       found$reliable & noise <= limits$risk, found$rank))
  }
  path <- bases$path(type, ridges, step$rank, part_of(context, 0.1, 1))
  tuned_ridge(bases, type, ridges, path, rep(step$rank, length(ridges)), step$residual_trace,
              errors = list(risk = noise, squared_error = noise), noise <= limits$risk)
}

# Largest error from rounding in a double precision factor (measured on canonical problems).
rounding_error <- function(ridges, type) {
  if (type == "kkr") 0.1 * .Machine$double.eps / ridges else 0 * ridges
}

no_errors <- function(n) list(risk = rep(0, n), squared_error = rep(0, n))

# size: of the bases, their rank or (Krylov) number of blocks
tuned_ridge <- function(bases, type, ridges, path, size, residual_trace, errors, reliable, rank = size) {
  list(
    path = path[c("risk", "squared_error", "squared_error_test")],
    form = function(v, f) bases$form(type, ridges[v], f, size[v], path$rank[v, f]),
    unseen = if (!is.null(bases$unseen)) {
      function(v, f) bases$unseen(type, ridges[v], f, size[v], path$rank[v, f])
    },
    diagnostics = list(rank = rank, residual_trace = residual_trace, risk_error = errors$risk,
                       squared_error_error = errors$squared_error, reliable = reliable)
  )
}
