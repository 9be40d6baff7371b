# Sums over pairs of rows, from the kernel or a factor of it, and the U- and V-statistics that are made of them.

# U- or V-statistic from the row sums and the diagonal of H.
pair_estimate <- function(sums, type, design) {
  n <- copy_count(design)
  if (type == "unbiased") {
    check_rows(n, 2, "The unbiased estimator")
    check_clusters(design)
  }
  check_computable(sums$diagonal + sums$off_diagonal)
  if (type == "unbiased") {
    out <- pair_mean(sums$off_diagonal, partner_weight(design), design)
    # two rows make one pair, and one pair has no spread to see
    if (n == 2) out["influence"] <- list(NULL)
    return(with_noise(out, sums, out$value, pair_weight(design)))
  }
  out <- pair_mean(sums$off_diagonal + sums$diagonal, rep(total_weight(design), design$n), design)
  if (n == 1) return(out)
  others <- pair_mean(sums$across %||% sums$off_diagonal, partner_weight(design), design)
  with_noise(out, sums, others$value, total_weight(design)^2, others$influence)
}

# Adds the variance at the null, 2 sum_{i != j} w_i^2 w_j^2 h_ij^2 over the squared weight of the pairs, and its
# expectation over outcomes drawn from the predictions. (For clusters see R/pair-clusters.R.) The interval of both types
# is around the unbiased mean over different rows, from the influence of its rows. With a kernel close to the identity,
# the biased type consists almost only of pairs of a row with itself.
with_noise <- function(estimate, sums, value, weight, influence = estimate$influence) {
  estimate$noise <- 2 * sums$squares / weight^2
  if (max(sums$squares, sums$known) > 0) {
    design <- estimate$design
    trace <- sums$within %||% sum(design_weights(design) * sums$diagonal)
    known <- null_known(sums$known, sums$squares, design)
    estimate$pairs <- list(value = value, influence = influence, trace = trace / total_weight(design)^2,
                           known = 2 * known / weight^2, known_trace = sums$trace / total_weight(design)^2)
  }
  estimate
}

# Sums over pairs with the noise of clusters.
design_sums <- function(prediction, target, type, design) {
  with_clusters(row_sums(prediction, target, type, design), design, list(prediction = prediction, target = target))
}

# off_diagonal: sum_j w_j h_ij over the other rows, where it is unbiased of other clusters; across: of other clusters,
# where that is not the same; diagonal: w_i h_ii; squares: the sum of the squares of w_i w_j h_ij over these pairs.
row_sums <- function(prediction, target, type, design) {
  line <- cpp_line_sums(prediction, target, design, type == "unbiased")
  if (!is.null(line) || !is.null(design$copies)) return(line %||% copied_sums(prediction, target, design))
  of <- function(cluster) pairs_across(prediction, target, cluster, design$w)
  sums <- of(if (type == "unbiased") design$cluster)
  if (type == "biased" && !is.null(design$cluster)) sums$across <- of(design$cluster)$off_diagonal
  sums
}

# Rows that stand for several, whose copies are pairs of each other too. In squares a row has the root of its copies'
# squared weights.
copied_sums <- function(prediction, target, design) {
  copies <- design$copies
  each <- design$w / copies
  sums <- pairs_across(prediction, target, NULL, design$w)
  null <- pairs_across(prediction, target, NULL, sqrt(copies) * each)
  twice <- rep(seq_len(design$n), each = 2)
  twins <- cpp_block_sums(source_rows(prediction, twice), target_rows(target, twice, design$n), 2L, thread_count())
  pairs <- copies * (copies - 1) * each^4
  own <- sums$diagonal / design$w
  list(off_diagonal = sums$off_diagonal + (design$w - each) * own, diagonal = each * own,
       squares = null$squares + sum(pairs * own^2), known = null$known + sum(pairs * twins$known), trace = null$trace)
}

pairs_across <- function(prediction, target, cluster, w) {
  with_bar("Summing pairs", function(progress) {
    cpp_pair_sums(prediction, target, thread_count(), progress, w, cluster)
  })
}

# With K ~ L L'. The neglected part E of K is positive semidefinite, so that the estimate is off by at most mean(E_ii)
# times mean(d_i' M d_i). `most`: columns of a factor that fits into memory, 800 MB from 10,000 rows on.
factored_sums <- function(problem, tolerance, type, design, most = min(problem$n, max(1000, 1e8 %/% problem$n))) {
  prediction <- problem$prediction
  target <- problem$target
  stop_if(prediction$kind != "features" || target$kind != "finite",
          "{.arg tolerance} needs predictions of classes or counts, a kernel on their parameters and no {.arg group}.",
          arg = "tolerance")
  factor <- cpp_pivoted_cholesky(prediction$kernel, prediction$features, tolerance, most, thread_count())
  moments <- c(target, if (!is.null(design$w)) list(weight = matrix(design$w^2)))
  sums <- factor_sums("kept", list(factor = factor$L), target$residuals, target$right, moments, type, design)
  norms <- rowSums(target$residuals * target$right)
  w <- design_weights(design)
  # the diagonal is that of the kernel itself
  sums$diagonal <- w * cpp_gram_diagonal(prediction$kernel, prediction$features) * norms
  sums <- with_clusters(sums, design, list(prediction = prediction, target = target))
  # no row of the neglected part counts more than the heaviest
  share <- w / sum(w) * max(w) / mean(w)
  sums$error_bound <- factor$residual_trace * sum(share * norms) * problem$n / max(problem$n - 1, 1)
  sums
}

# Like row_sums(), for a factor of the kernel (inst/include/calibrisk/pairs/factor_sums.h), and its rank; moments: see
# problem_moments().
factor_sums <- function(computation, source, residuals, right, moments, type, design, ridge = 0, progress = NULL) {
  of <- function(cluster, rows) {
    cpp_factor_sums(computation, source, residuals, right, design$w %||% numeric(), cluster %||% integer(),
                    rows, moments %||% list(), ridge, thread_count(), progress)
  }
  sums <- of(if (type == "unbiased") design$cluster, if (computation == "rff") 100 else 500)
  if (type == "biased" && !is.null(design$cluster)) sums$across <- of(design$cluster, 0)$off_diagonal
  sums
}

# The kernel is 0 across groups, so that the total is the sum of the terms.
group_terms <- function(sums, group, type, design) {
  unbiased <- type == "unbiased"
  # with those that are the partners of each row
  pairs <- function(design) {
    sum(design_weights(design) * if (unbiased) partner_weight(design) else total_weight(design))
  }
  rows <- design_weights(design) * (sums$off_diagonal + if (unbiased) 0 else sums$diagonal)
  parts <- vapply(unname(split(seq_along(rows), group$id)), function(at) {
    c(length(at), sum(rows[at]), pairs(design_rows(design, at)))
  }, numeric(3))
  columns_frame(group = group$labels, n = as.integer(parts[1, ]),
                .estimate = ifelse(parts[3, ] > 0, parts[2, ] / parts[3, ], NA_real_),
                term = parts[2, ] / pairs(design))
}
