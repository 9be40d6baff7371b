# Debiased bins: h(p, p') = b_k b_l - 1{k = l} v_k for p in cell k and p' in cell l, and the mean of
# several of these, each with its own cells:
#   h(p, p') = mean over parts f of  b_f(p) b_f(p') - 1{one cell of f} v_f(p).
# As a pair form, phi(p) holds every part's b(p) and the indicators of the cells whose v is not 0, and
# the core is diagonal. Sums over pairs are sums over cells, or over intersections of the cells of two parts. Nothing of
# size cells x cells or rows x cells is formed unless phi itself is needed.

# parts: list of list(edges, b, v)
new_steps <- function(parts) {
  weights <- lapply(parts, function(part) -part$v[part$v > 0])
  new_form("steps", parts = parts, core = c(rep(1, length(parts)), unlist(weights)) / length(parts))
}

#' @export
merge_forms.ce_form_steps <- function(form, forms) {
  new_steps(unlist(lapply(forms, `[[`, "parts"), recursive = FALSE))
}

#' @export
pair_features.ce_form_steps <- function(form, features) {
  cells <- step_cells(form, features)
  indicators <- lapply(seq_along(form$parts), function(f) {
    outer(cells[, f], which(form$parts[[f]]$v > 0), `==`) + 0
  })
  do.call(cbind, c(list(step_values(form, cells, "b")), indicators))
}

# Cells of the rows, and b or v there; one column per part.
step_cells <- function(form, features) {
  # right-closed, from 1
  cells <- function(part) cpp_intervals(features, part$edges, thread_count())
  matrix(vapply(form$parts, cells, integer(length(features))), ncol = length(form$parts))
}

step_values <- function(form, cells, name) {
  matrix(vapply(seq_along(form$parts), function(f) form$parts[[f]][[name]][cells[, f]], numeric(nrow(cells))),
         ncol = length(form$parts))
}

#' @export
form_squared.ce_form_steps <- function(form, features) {
  cells <- step_cells(form, features)
  rowMeans(step_values(form, cells, "b")^2 - step_values(form, cells, "v"))
}

#' @export
form_pairs.ce_form_steps <- function(form, x, y) {
  cells_x <- step_cells(form, x)
  cells_y <- step_cells(form, y)
  h <- tcrossprod(step_values(form, cells_x, "b"), step_values(form, cells_y, "b"))
  v <- step_values(form, cells_x, "v")
  for (f in seq_along(form$parts)) h <- h - outer(cells_x[, f], cells_y[, f], `==`) * v[, f]
  h / length(form$parts)
}

#' @export
form_risk.ce_form_steps <- function(form, features, residuals, design = NULL) {
  if (!is_plain(design)) return(NextMethod())
  e <- as.vector(residuals)
  # per row i: sum_j h(p_i, p_j) e_j and sum_j h(p_i, p_j)^2
  k <- length(form$parts)
  cells <- step_cells(form, features)
  b <- step_values(form, cells, "b")
  v <- step_values(form, cells, "v")
  cross <- b %*% crossprod(b, e)
  square <- rowSums((b %*% crossprod(b)) * b)
  for (f in seq_len(k)) {
    own <- group_sums(cells[, f], cbind(e, b))
    cross <- cross - v[, f] * own[, 1]
    square <- square - 2 * v[, f] * rowSums(b * own[, -1, drop = FALSE])
    for (g in seq_len(k)) {
      shared <- group_sums(cells[, f] + (max(cells[, f]) + 1) * cells[, g], matrix(1, length(e)))
      square <- square + v[, f] * v[, g] * shared[, 1]
    }
  }
  finish_risk(cpp_pair_risk_rows(sum(e^2) * e^2, e * as.vector(cross) / k, square / k^2, e^2, rowMeans(b^2 - v)))
}

# Sums of the rows of x over the rows of the same group, for each row.
group_sums <- function(group, x) {
  id <- match(group, unique(group))
  unname(rowsum(x, id, reorder = TRUE))[id, , drop = FALSE]
}
