# Rubin's rules for results of completed data sets.

#' Pool results of imputed data
#'
#' With multiple imputation every completed data set gives a result. `ce_pool()` combines a list of them by Rubin's
#' rules, into one result with the page of one.
#'
#' @section Definition:
#' Estimates are averaged on the scale on which their intervals are symmetric: `oe_ratio` as its logarithm, `auroc` as
#' its logit, the calibration error as its square, all others as they are. With `m` data sets, `W` the mean of the
#' squared standard errors and `B` the variance of the estimates between data sets, the variance is \eqn{T = W +
#' (1 + 1/m) B}. Limits use Student's t with the degrees of freedom of Barnard and Rubin (1999). For the complete data
#' these are one less than the number of rows (or clusters), or those of the weights, see [ce_args].
#'
#' An interval that is longer on one side, as for a calibration error or few events, stays so: on each side the distance
#' to its limit replaces the standard error in `W`.
#'
#' In simulations of three models (40% of one of two predictors missing, 5 data sets, 150 and 600 rows) the 95%
#' intervals of O:E ratio, slope, AUROC and Brier score held the true value in 93 to 97% of samples. Intervals of the
#' calibration error held it in 99 to 100%.
#' @section Not pooled:
#' Joint tests, since p-values have no standard error, and distances to a smooth curve (`ici`, `e50`, `e90`, `emax`,
#' `eci`). `p.value` of `oe_ratio`, `in_the_large`, `intercept` and `slope` is that of the pooled estimate.
#' @param results A list of results of [ce_validate()] at one horizon, or of [ce_estimate()]: one for each completed
#'   data set, from the same call.
#' @return A `ce_validation` without tests and figure, or a table of calibration errors. Columns `df` and `fmi` are the
#'   degrees of freedom and the fraction of missing information.
#' @section Errors:
#' `calibrisk_error_argument` for results that differ in their terms, groups, horizon or level.
#' @references
#' Barnard, J. and Rubin, D. B. (1999). Small-sample degrees of freedom with multiple imputation. *Biometrika* 86,
#' 948-955. \doi{10.1093/biomet/86.4.948}
#'
#' Rubin, D. B. (1987). *Multiple Imputation for Nonresponse in Surveys*. Wiley. \doi{10.1002/9780470316696}
#' @concept multiple imputation
#' @concept missing values
#' @concept mice
#' @concept Rubin's rules
#' @export
#' @examples
#' # five completed data sets; those of mice are mice::complete(imp, "all")
#' set.seed(1)
#' x <- rnorm(300)
#' y <- rbinom(300, 1, plogis(x))
#' completed <- lapply(1:5, function(i) {
#'   x[1:60] <- rnorm(60, y[1:60] - 0.4, 0.9)
#'   data.frame(y, p = plogis(x))
#' })
#' ce_pool(lapply(completed, ce_validate, y, p, times = 0))
#' ce_pool(lapply(completed, ce_estimate, y, p))
ce_pool <- function(results) {
  check_pooled(results)
  if (inherits(results[[1]], "ce_validation")) pool_validations(results) else pool_estimates(results)
}

check_pooled <- function(results) {
  kinds <- c("ce_validation", "ce_estimate")
  known <- is_bare_list(results) && all(vapply(results, inherits, NA, kinds))
  stop_if(!known, "{.arg results} must be a list of results of {.fn ce_validate} or {.fn ce_estimate}.",
          "x" = if (!is_bare_list(results)) "It is {describe(results)}." else
            "One is {describe(Find(function(one) !inherits(one, kinds), results))}.", arg = "results")
  stop_if(length(results) < 2, "{.arg results} must hold two results or more.", "x" = "It holds {length(results)}.",
          arg = "results")
  of_call <- lapply(results, function(one) {
    if (is.data.frame(one)) {
      return(list(class(one), one[seq_len(match("notion", names(one)))], attr(one, "level"), sum(one$n)))
    }
    list(class(one), one$table[c(one$keys, "term")], one$notion, one$level, one$horizon, one$pooled, sum(one$sample$n))
  })
  other <- which(!vapply(of_call, identical, NA, of_call[[1]]))
  stop_if(length(other) > 0, "{.arg results} must come from the same call on each completed data set.",
          "x" = "Result {other[1]} differs from the first in its terms, groups, horizon, level or number of rows.",
          arg = "results")
  stop_if(!is.data.frame(results[[1]]) && !is.null(results[[1]]$pooled), "{.arg results} must not be pooled yet.",
          "x" = "They are.", arg = "results")
}

# Terms by their names without a group: the scale, and the value to test.
pool_scale <- function(name) {
  switch(number_fact(name, "scale"), log = log_scale, logit = logit_scale, skill = skill_scale, own_scale)
}

# Rubin's rules, of which the scales are those of pool_scale(), and a root. `rows`: the tables of all data sets, in the
# same order of rows. `df`, `n`: of each row.
pool_rows <- function(rows, names, level, df, n) {
  of <- function(column) matrix(vapply(rows, `[[`, numeric(length(names)), column), length(names))
  null <- replace(number_fact(names, "null"), names == "calibration_error", NA)
  columns_frame(!!!cpp_pooled(of("estimate"), of("conf.low"), of("conf.high"), of("std.error"),
                              number_fact(names, "scale"), as.numeric(null), level, df, n))
}

pool_validations <- function(results) {
  out <- results[[1]]
  part <- vctrs::vec_match(out$table[out$keys], out$sample[out$keys])
  name <- sub("[(].*", "", out$table$term)
  kept <- !number_fact(name, "kind") %in% c("test", "smooth")
  rows <- lapply(results, function(one) one$table[kept, ])
  df <- Reduce(pmin, lapply(results, `[[`, "df"))
  numbers <- pool_rows(rows, name[kept], out$level, df[part[kept]], out$sample$n[part[kept]])
  out$table <- vctrs::vec_cbind(rows[[1]][c(out$keys, "level", "term")], numbers)
  counts <- setdiff(names(out$sample), out$keys)
  out$sample[counts] <- lapply(counts, function(column) {
    mean <- Reduce(`+`, lapply(results, function(one) one$sample[[column]])) / length(results)
    if (is.integer(out$sample[[column]])) as.integer(round(mean)) else mean
  })
  out$notes <- lapply(out$notes, function(notes) character())
  out$resolution[] <- NA_real_
  out["data"] <- list(NULL)
  out$outcome_errors <- pooled_errors(results, rows, out$table, part[kept])
  out$pooled <- length(results)
  out
}

# Errors from the outcomes are within the data sets; `rows`: of their tables, which belong to these groups.
pooled_errors <- function(results, rows, table, group) {
  out <- results[[1]]$outcome_errors
  for (i in which(table$term %in% names(out[[1]]))) {
    own <- vapply(results, function(one) one$outcome_errors[[group[i]]][[table$term[i]]], 0)
    within <- vapply(rows, function(one) one$std.error[i], 0)
    out[[group[i]]][[table$term[i]]] <- sqrt(table$std.error[i]^2 + mean(own^2 - within^2))
  }
  out
}

# A sentence: what was pooled. `fmi`: of its rows.
pooled_text <- function(m, fmi) {
  share <- unique(fixed_text(range(fmi[!is.na(fmi)], if (all(is.na(fmi))) NA), 2))
  paste0(m, " completed data sets by Rubin's rules; fraction of missing information ", paste(share, collapse = " to "),
         "; joint tests are not pooled")
}

pool_estimates <- function(results) {
  out <- results[[1]]
  level <- attr(out, "level")
  df <- min(vapply(results, function(one) attr(one, "df") %||% Inf, 0))
  rows <- lapply(results, function(one) as.list(one))
  numbers <- pool_rows(rows, rep("calibration_error", nrow(out)), level, rep(df, nrow(out)), out$n)
  keys <- tibble::as_tibble(as.list(out)[seq_len(match("notion", names(out)))])
  said <- c(attr(out, "estimand"), Pooled = pooled_text(length(results), numbers$fmi))
  table <- vctrs::vec_cbind(keys, numbers[c("estimate", "conf.low", "conf.high", "df", "fmi")])
  table$n <- out$n
  structure(new_table(table, said, character()), level = level, design = attr(out, "design"))
}
