# Binned errors of many different rows of a table: the sums of every bin and fold are what R/row-sorted.R and
# R/crossfit.R need.

# The columns of ece() for the rows of one group.
database_ece <- function(rows, scheme, interval) {
  unsupported_if(!scheme$type %in% c("width", "mass", "discrete"),
                 "bins of more than {count_text(few_rows)} different rows are {.val width}, {.val mass} or \\
                  {.val discrete}", "{.arg type} is {.val {scheme$type}}.", "type")
  keep_note("Lower end: ", "folds by the database's hash of the rows")
  design <- database_design(rows)
  bins <- lapply(scheme$n_bins, database_bins, rows, scheme$type)
  estimates <- lapply(bins, bins_estimate, rows, scheme$p, scheme$debias, design)
  n_bins <- scheme$n_bins
  if (scheme$type == "discrete") n_bins <- vapply(bins, function(one) length(unique(one$cells$cell)), 0L)
  c(summarise_estimates(estimates, interval$level), list(.estimates = estimates, n_bins = n_bins, n = design$n))
}

scatter_fold <- function() paste("scatter %", crossfit_folds)

# The sums of bins and folds, `cells`, and the SQL of the bins.
database_bins <- function(n_bins, rows, type) {
  sums <- c(rows = "1", w = "w", wy = "w * y", wd = "w * d", wd2 = "w * d * d",
            if (rows$kind == "importance") c(w2 = "w * w", w2d = "w * w * d", w2d2 = "w * w * d * d"))
  if (type == "discrete") check_few_values(rows)
  cell <- switch(type, width = sql_width_cell("p", n_bins), discrete = "p", mass = mass_cell(rows, n_bins))
  scattered <- sql_scatter(rows$pairs, character(), rows$extra)
  list(cells = database_cells(rows, scattered, cell, scatter_fold(), sums), sql = cell)
}

mass_cell <- function(rows, n_bins, most = 5000) {
  unsupported_if(n_bins > most, "there are at most {most} bins of equal mass", "{.arg n_bins} is {n_bins}.", "n_bins")
  weighted <- rows$kind != "none"
  total <- if (weighted) rows$counts$weight else rows$counts$used
  targets <- if (rows$kind == "importance") {
    total * seq_len(n_bins) / n_bins * (1 - 1e-12)
  } else {
    # whole numbers, which half of one keeps from rounding
    (total * seq_len(n_bins) + n_bins - 1) %/% n_bins - 0.5
  }
  edges <- unique(database_quantiles(rows, rows$pairs, if (weighted) "ce_w" else "1", targets))
  sql_cell("p", edges[-length(edges)])
}

check_few_values <- function(rows, most = 100000) {
  counted <- count_query(rows$db, "DISTINCT p", rows$pairs)
  unsupported_if(counted > most, "bins of type {.val discrete} are at most {count_text(most)}",
                 "There are {count_text(counted)} distinct predictions.", "type")
}

bins_estimate <- function(one, rows, p, debias, design) {
  cells <- one$cells
  at <- unique(cells$cell)
  bin <- match(cells$cell, at)
  weighted <- !is.null(design$sums)
  by_fold <- function(name) {
    out <- matrix(0, max(bin), crossfit_folds)
    out[cbind(bin, cells$fold + 1)] <- cells[[name]] / (design$unit %||% 1)
    out
  }
  size <- by_fold("w")
  d <- by_fold("wd")
  d2 <- by_fold("wd2")
  bins <- cpp_bins_of_sums(size, d, d2, by_fold("wy"))
  if (weighted) {
    bins$copies <- rowSums(by_fold("rows"))
    bins$concentration <- rowSums(by_fold("w2")) / bins$size^2
  }
  sums_estimate(list(size = size, d = d, d2 = d2, bins = bins), p, debias, design, function(slope, offset, mean) {
    if (!is.null(design$n_clusters)) {
      if (design$n_clusters < 2) return(NA_real_)
      squares <- cluster_squares(rows, one$sql, at, slope, offset - mean) / (design$unit %||% 1)^2
      return(design$n_clusters / (design$n_clusters - 1) * squares / sum(size)^2)
    }
    if (weighted) weighted_variance(slope, offset, lapply(c("w2", "w2d", "w2d2"), by_fold), mean, design)
  })
}

# n / (n - 1) sum w^2 (psi - mean)^2 / W1^2 for the influence psi = slope d + offset of the rows of a cell, from the
# cells' sums of w^2, w^2 d and w^2 d^2.
weighted_variance <- function(slope, offset, sums, mean, design) {
  centre <- offset - mean
  square <- sum(slope^2 * sums[[3]] + 2 * slope * centre * sums[[2]] + centre^2 * sums[[1]])
  design$n / (design$n - 1) * max(square, 0) / design$sums[1]^2
}

# The squares of the clusters' sums of w (slope d + centre), summed: coefficients by bin (`at`: its value of `cell`), or
# by bin and fold.
cluster_squares <- function(rows, cell, at, slope, centre, most = 5000) {
  unsupported_if(length(at) > most, "rows of clusters are in at most {count_text(most)} bins",
                 "They are in {count_text(length(at))}.", "cluster")
  by_fold <- is.matrix(slope)
  pairs <- rows$pairs
  if (by_fold) pairs <- sql_scatter(pairs, character(), rows$extra)
  chosen <- function(values) {
    if (!by_fold) return(sql_choice("cell", at[-length(at)], values))
    of <- apply(values, 2, function(v) sql_choice("cell", at[-length(at)], v))
    paste0("CASE fold ", paste0("WHEN ", seq_along(of) - 1, " THEN ", of, collapse = " "), " END")
  }
  split <- paste0("SELECT ", sql_list("ce_cluster", "p - y AS d", "ce_w AS w", paste0(cell, " AS cell"),
                                      if (by_fold) paste0(scatter_fold(), " AS fold")),
                  " FROM (", pairs, ") ce_pairs", sql_fence)
  own <- paste0("SELECT SUM(w * ((", chosen(slope), ") * d + ", chosen(centre), ")) AS x FROM (", split,
                ") ce_cells GROUP BY ce_cluster")
  as.numeric(database_query(rows$db, sql_select(sql_sums(c(squares = "x * x")), own, "ce_clusters"))$squares)
}
