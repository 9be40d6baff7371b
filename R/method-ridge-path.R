# Kernel ridge over folds and ridges, in the core (methods/ridge_bases.h). A kernel's bases do not depend on the ridge:
# kkr and ukkr share them through context$cache. Tests may set context$factor_limits, fields of RidgeLimits there.

#' @export
tune_path.ce_method_ridge <- function(method, problem, fold, grid, context) {
  one <- if (is_kernel(method$kernel)) method$kernel else method$kernel[[1]]
  kernels <- grid[["kernel"]] %||% list(one)
  keys <- rep_len(vapply(kernels, rlang::hash, ""), nrow(grid))
  path <- new_path(nrow(grid), max(fold))
  parts <- list()
  for (key in unique(keys)) {
    rows <- which(keys == key)
    part_context <- part_of(context, length(parts) / length(unique(keys)), (length(parts) + 1) / length(unique(keys)))
    bases <- cached(context$cache, paste0("ridge_", rlang::hash(list(kernels[[rows[1]]], fold))), {
      kernel <- resolve_kernel(kernels[[rows[1]]], problem$features[fold > 0, , drop = FALSE])
      ridge_bases(kernel, problem, fold, part_context)
    })
    part <- cpp_ridge_tune(bases$pointer, method$name, grid$value[rows], isTRUE(method$exact), thread_count(),
                           part_context$progress)
    for (name in names(path)) path[[name]][rows, ] <- nan_to_na(part$path[[name]])
    parts[[key]] <- c(part, list(bases = bases, rows = rows))
  }
  diagnostics <- do.call(vctrs::vec_rbind, lapply(parts, function(part) columns_frame(!!!part$diagnostics)))
  at <- order(unlist(lapply(parts, `[[`, "rows")))
  path$diagnostics <- columns_frame(value = grid$value, !!!diagnostics[at, ])
  of <- function(v, f, from) {
    part <- parts[[keys[v]]]
    v_part <- match(v, part$rows)
    from(part$bases$pointer, method$name, grid$value[v], f, part$size[v_part], part$used[v_part, f], part$spaces,
         thread_count())
  }
  path$form <- function(v, f) {
    part <- parts[[keys[v]]]
    ridge_form(of(v, f, cpp_ridge_form), part$size[match(v, part$rows)], part$bases)
  }
  if (all(vapply(parts, function(part) is.null(part$bases$scalar), NA))) {
    path$unseen <- function(v) {
      unseen_by_ridge(function(f) of(v, f, cpp_ridge_unseen), problem, fold, context)
    }
  }
  path
}

# The input of unseen_rows() for one ridge, from features of rows that the path has already.
unseen_by_ridge <- function(unseen, problem, fold, context) {
  held_out <- unseen_parts(problem, fold, context$cache)$held_out
  lapply(seq_len(max(fold)), function(f) {
    of <- unseen(f)
    list(
      risk = features_risk(of$held_out, of$core, held_out[[f]]$residuals, held_out[[f]]$design),
      test_squared = if (any(fold == 0)) cpp_pair_squared(of$test, of$core, thread_count())
    )
  })
}

#' @export
fit_form.ce_method_ridge <- function(method, problem, point, context) {
  kernel <- point$kernel %||% method$kernel
  if (!is_kernel(kernel)) kernel <- kernel[[1]]
  # all rows train
  if (is.null(problem$design$w)) problem$design <- NULL
  bases <- ridge_bases(resolve_kernel(kernel, problem$features), problem, rep(2L, nrow(problem$features)), context,
                       point$value)
  fit <- cpp_ridge_fit(bases$pointer, method$name, point$value, isTRUE(method$exact), thread_count(), context$progress)
  ridge_form(fit, fit$size, bases)
}

# `maps`: those of forms, by type and size; `scalar`: explicit features of scalars.
ridge_bases <- function(kernel, problem, fold, context, ridge = 1) {
  list(
    pointer = cpp_ridge_bases(kernel, problem$features, problem$residuals, fold, problem$design, context$factor_limits,
                              ridge, thread_count(), context$progress),
    kernel = kernel, maps = new.env(parent = emptyenv()), scalar = cpp_scalar_features(kernel, problem$features)
  )
}

ridge_form <- function(of, size, bases) {
  map <- cached(bases$maps, paste(of$type, size), c(
    if (of$type != "taylor") list(kernel = bases$kernel), cpp_ridge_map(bases$pointer, of$type, size)
  ))
  new_form(of$type, map = map, basis = of$basis, core = of$core, gap = is.null(of$core))
}

# phi(p) = basis' k(p), with k(p) the kernels between p and the training rows.
#' @export
pair_features.ce_form_gram <- function(form, features) {
  cpp_gram_features(form$map$kernel, form$map$rows, form$basis, features, thread_count())
}
