#' Squared kernel calibration error
#'
#' Distance of predictions from calibration in the strong sense (the outcome has the predicted distribution, given the
#' prediction), for class probabilities and any other predictive distribution.
#'
#' @section Definition:
#' With kernels k on predictions and l on outcomes, and \eqn{Z_i} a draw from prediction \eqn{P_i} (Widmann et al.
#' 2021, section 3.2 and Lemma B.2),
#' \deqn{h_{ij} = k(P_i, P_j)\,[l(Y_i, Y_j) - E\,l(Z_i, Y_j) - E\,l(Y_i, Z_j) + E\,l(Z_i, Z_j)],}
#' the squared error is \eqn{E\,h} over independent pairs, 0 exactly for calibrated predictions when the product
#' kernel is characteristic.
#' `"unbiased"` is the mean of \eqn{h_{ij}} over \eqn{i \ne j} (it can be negative), `"biased"` the mean over all i, j,
#' `"block"` and `"block_biased"` the means over consecutive blocks of `block` rows; shuffle ordered data. With `kernel
#' = "ckce"` it is the joint kernel calibration error JKCE (Moskvichev & Sejdinovic 2025). The expectations over Z are
#' closed forms where they exist, otherwise means over `draws`. Two classes with [kernel_tv()] or [kernel_laplace()]
#' take one sort, all else \eqn{n^2}.
#' @section Intervals:
#' Standard error and interval of both types are those of the `"unbiased"` mean; the upward bias of `"biased"` is not in
#' them. Of 210 intervals of calibrated predictions 4% were above 0. Near calibration standard errors are up to a third
#' too large. See the vignette *Derivation of the test and the interval*.
#' @section Errors:
#' Those of [ce_args], `_rows` and `_kernel`. A Gram matrix that is not positive semidefinite is a warning of class
#' `calibrisk_warning_not_psd`.
#' @param x Predictions, see [ce_args]; or distributions, see [pred].
#' @param truth Outcomes; n x d matrix (or d columns) for vectors.
#' @param ... Probability columns, or an expression such as `pred_normal(mu, sigma)`.
#' @param kernel Kernel on predictions, by default [kernel_tv()] for classes; see [ce_kernels]. `"ckce"`, or a function
#'   `k(p, y, q, z)`.
#' @param target_kernel Kernel on outcomes: [kernel_white()] for classes and counts, else [kernel_gaussian()].
#' @param type Estimator.
#' @param block Block size; default \eqn{\sqrt n}.
#' @param computation `"dual"` (all pairs), `"low_rank"`, `"rff"` or `"auto"`; see [computation()].
#' @param tolerance `NULL` for the exact kernel, or the tolerance of a factor.
#' @param group Groups or covariates to condition on; see [ckce()].
#' @param group_kernel `"delta"` (pairs of the same group), `"shared"`, or a kernel; see [ckce()].
#' @param locations For the unnormalised mean embedding (UCME): number of test locations, or a list of `x` and `truth`.
#' @param draws Number of quantiles or draws where there is no closed form.
#' @inheritParams ce_args
#' @return A tibble with one row per group of `.by`: `.metric`, `.estimator` (the kind of predictions), `.estimate`
#'   (squared scale), `std.error`, `conf.low`, `conf.high`, `root`, `n`, `type`, `block`, `bandwidth`, `kernel`,
#'   `target_kernel`, `target_computation`. A factor adds `computation` and `rank`, `tolerance` adds `rank` and
#'   `error_bound` (on `.estimate`), `locations` adds `locations` (their number) and `witness` (the mean at each). A
#'   `group` whose kernel is `"delta"` adds the list column `groups`, which `tidy()` returns.
#' @references `r ref_widmann`
#'
#' `r ref_moskvichev`
#' @aliases jkce ucme
#' @concept joint kernel calibration error
#' @concept kernel calibration error
#' @concept SKCE
#' @concept probabilistic forecast
#' @concept regression calibration
#' @concept subgroup calibration
#' @export
#' @examples
#' set.seed(1)
#' p <- proportions(matrix(rgamma(300, 2), 100), 1)
#' y <- sample(3, 100, replace = TRUE)
#' skce(p, y)
#' # JKCE, from a factor of the kernel
#' skce(p, y, kernel = "ckce", computation = "low_rank")
#' d <- data.frame(mu = rnorm(100), sigma = 1)
#' d$y <- rnorm(100, d$mu, 2)
#' skce(d, y, pred_normal(mu, sigma))
skce <- function(x, truth, ..., kernel = NULL, target_kernel = NULL,
                 type = c("unbiased", "biased", "block", "block_biased"), block = NULL, computation = "dual",
                 tolerance = NULL, group = NULL, group_kernel = NULL, locations = NULL, draws = 100, level = 0.95,
                 event_level = "first", na_rm = TRUE, .by = NULL, weights = NULL, cluster = NULL, horizon = NULL) {
  type <- check_choice(type, c("unbiased", "biased", "block", "block_biased"))
  check_level(level)
  check_count(draws, lower = 2)
  check_number(tolerance, lower = 0, open = TRUE, null = TRUE)
  check_estimator_options(type, list(block = block, tolerance = tolerance))
  choices <- read_computation(list(computation = computation), "eigen")
  check_factor(choices$computation, type, tolerance, kernel)
  if (!is.null(locations)) check_locations(locations)
  group <- enquo(group)
  plain <- is.null(tolerance) && is.null(locations) && rlang::quo_is_null(group)
  input <- rows_input(copies = plain && counts_copies(type, kernel, choices$computation), clustered = FALSE)
  row <- function(laws, group) {
    if (laws$na && !is.null(locations)) {
      return(columns_frame(.metric = "ucme", .estimator = family_text(laws), .estimate = NA_real_, n = laws$n))
    }
    if (laws$na) return(skce_row(NULL, laws, type))
    laws$group <- ckce_group(group, group_kernel, laws)
    # the kernel of ckce(), by which the error is the joint one
    if (identical(kernel, "ckce")) {
      kernel <- if (is.null(laws$law)) eval(formals(ckce)$kernel) else
        default_ckce_kernel(laws, outcome_kernel(target_kernel, laws))
    }
    problem <- kernel_problem(replace(laws, "n", laws$design$n), kernel, target_kernel, draws)
    if (!is.null(locations)) return(ucme_row(problem, locations, laws, level))
    value <- skce_value(problem, type, block, tolerance, choices)
    row <- skce_row(value, laws, type, problem, level)
    check_computable(row$std.error[!is.na(row$std.error)])
    row
  }
  out <- by_groups(x, input$by, function(part) {
    laws <- counted_laws(part, input)
    with_read(row(laws, group_values(group, part)), laws)
  })
  with_terms(out)
}

# Sums over all pairs count copies where a kernel compares features; for all others copies are rows.
counts_copies <- function(type, kernel, computation) {
  computation == "dual" && !startsWith(type, "block") &&
    (is.null(kernel) || is_kernel(kernel) && !compares_laws(kernel))
}

# An option of other estimators would be ignored.
check_estimator_options <- function(type, given) {
  foreign <- if (startsWith(type, "block")) "tolerance" else "block"
  if (is.null(given[[foreign]])) return(invisible())
  owners <- if (foreign == "block") c("block", "block_biased") else c("unbiased", "biased")
  stop_input("{.arg {foreign}} is not an option of {.code type = \"{type}\"}.",
             "i" = "The estimators {.val {owners}} have it.", arg = foreign, value = given[[foreign]])
}

# A factor has the sums over all pairs alone.
check_factor <- function(computation, type, tolerance, kernel) {
  if (computation %in% c("dual", "auto")) return(invisible())
  stop_if(!is.null(tolerance), "{.arg tolerance} is not an option beside {.code computation = \"{computation}\"}.",
          "i" = "The factor has its own, in its value: {.code computation(\"low_rank\", tolerance = 0.001)}.",
          arg = "tolerance", value = tolerance)
  stop_if(startsWith(type, "block") || is.function(kernel),
          "{.arg computation} must be {.val dual} for estimators of blocks and for a function as {.arg kernel}.",
          "x" = "It is {.val {computation}}.", arg = "computation", value = computation)
}

skce_row <- function(value, laws, type, problem = NULL, level = 0.95) {
  columns <- if (is.null(value)) {
    list(.estimate = NA_real_, std.error = NA_real_, conf.low = NA_real_, conf.high = NA_real_)
  } else {
    squared_columns(list(value$estimate), level)
  }
  text <- function(name) if (is.null(problem)) NA_character_ else format(problem[[name]])
  result_frame("skce", family_text(laws), c(columns, list(
    root = sqrt(pmax(columns$.estimate, 0)), n = laws$n, type = type, block = value$block %||% NA_integer_,
    bandwidth = if (is.null(problem)) NA_real_ else first_bandwidth(problem$kernel), kernel = text("kernel"),
    target_kernel = text("target_kernel"), target_computation = text("target_computation"),
    computation = value$computation, rank = value$rank, error_bound = value$error_bound,
    groups = if (!is.null(value$groups)) list(value$groups)
  )), read = laws)
}

# list(estimate, block, computation, rank, error_bound, groups); choices: see read_computation().
skce_value <- function(problem, type, block = NULL, tolerance = NULL, choices = list(computation = "dual")) {
  n <- problem$n
  design <- problem$laws$design %||% new_design(n)
  if (startsWith(type, "block")) return(block_value(problem, type, block, design))
  if (choices$computation == "auto") {
    many <- is.null(problem$laws$law) && !is.function(problem$asked$kernel) && n > 5000 && is.null(tolerance)
    choices$computation <- if (many) "low_rank" else "dual"
  }
  factored <- choices$computation != "dual"
  sums <- if (factored) {
    low_rank_sums(problem, choices, type, design)
  } else if (is.null(tolerance)) {
    exact_sums(problem, type, design)
  } else {
    factored_sums(problem, tolerance, type, design)
  }
  value <- list(estimate = pair_estimate(sums, type, design), block = NA_integer_,
                computation = if (factored) choices$computation)
  if (factored || !is.null(tolerance)) value[c("rank", "error_bound")] <- sums[c("rank", "error_bound")]
  if (identical(problem$laws$group$type, "delta")) value$groups <- group_terms(sums, problem$laws$group, type, design)
  value
}

# Blocks of rows are independent and few: their standard deviation is estimated, hence Student's quantile. The lower end
# is that of the unbiased estimates, whose variance under calibration is known.
block_value <- function(problem, type, block, design) {
  n <- problem$n
  stop_if(!is_plain(design), "Block estimators need independent, unweighted rows.",
          "i" = "Use {.code type = \"unbiased\"} for rows with {.arg weights} or {.arg cluster}.", class = "weights",
          arg = "type")
  least <- if (type == "block") 2 else 1
  check_rows(n, least, "The block estimator")
  block <- check_block(block, n, least)
  sums <- with_bar("Summing blocks", function(progress) {
    cpp_block_sums(problem$prediction, problem$target, block, thread_count(), progress)
  })
  eta <- check_computable(if (type == "block") sums$unbiased else sums$biased)
  blocks <- length(eta)
  estimate <- mean_estimate(eta, new_design(blocks, cluster = seq_len(blocks)))
  if (block > 1 && blocks > 1) {
    known <- 2 * mean(sums$known) / (blocks * block * (block - 1))
    seen <- new_design(blocks)
    estimate$lower <- function(level) {
      # as skewed as the square of one normal variable, at most
      cpp_known_limit(mean(sums$unbiased), known, cpp_row_std_error(sums$unbiased, seen)^2,
                      stats::qt((1 + level) / 2, blocks - 1), sqrt(8 / blocks))
    }
  }
  list(estimate = estimate, block = block)
}
