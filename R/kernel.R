#' Kernels
#'
#' Values that say how alike two predictions (or targets) are. They hold choices,
#' no data: pass them to [method_kkr()], [method_ukkr()], [skce()], [ckce()] and
#' [ce_test()].
#'
#' @section Definition:
#' For rows \eqn{x, y} of the features:
#' \describe{
#'   \item{`kernel_gaussian(bandwidth)`}{\eqn{\exp(-|x-y|^2 / (2\,bandwidth^2))}. Gruber & Bach (2025)
#'     write \eqn{\exp(-\gamma |x-y|^2)}: \eqn{\gamma = 1/(2\,bandwidth^2)}.}
#'   \item{`kernel_laplace(bandwidth)`}{\eqn{\exp(-|x-y| / bandwidth)}, Euclidean norm.}
#'   \item{`kernel_tv(bandwidth)`}{\eqn{\exp(-TV(x,y) / bandwidth)}, \eqn{TV = \frac12\sum_k|x_k-y_k|}.}
#'   \item{`kernel_matern(nu, bandwidth)`}{Matérn with smoothness 1/2, 3/2 or 5/2; with
#'     \eqn{t = \sqrt{2\nu}|x-y|/bandwidth}: \eqn{e^{-t}}, \eqn{(1+t)e^{-t}}, \eqn{(1+t+t^2/3)e^{-t}}.}
#'   \item{`kernel_linear()`}{\eqn{x'y}.}
#'   \item{`kernel_white()`}{1 where \eqn{x = y}, else 0.}
#' }
#' Kernels add and multiply (`k1 + k2`, `k1 * k2`), also with positive numbers (`2 * k`, from 1e-50 to 1e50).
#'
#' `bandwidth = "median"` is the median of the kernel's distance over all pairs
#' \eqn{i < j} of the rows it is fitted on (above 10,000 rows, over 10,000 evenly
#' spaced ones). Where that is 0, the median of the positive distances; where there
#' are none, 1. For a kernel on classes it is over the classes 1, ..., K, observed or not. Bandwidths must be between
#' 1e-100 and 1e100, and outcomes and parameters of predictions of numbers at most 1e50: no square then overflows.
#'
#' @section Invariants:
#' Every Gram matrix is symmetric and positive semidefinite; all but
#' `kernel_linear()` have diagonal 1.
#'
#' @param bandwidth Length scale, in the units of the features; a positive number or
#'   `"median"`.
#' @param nu Smoothness: 0.5, 1.5 or 2.5.
#' @return An object of class `ce_kernel`.
#' @name ce_kernels
#' @examples
#' k <- kernel_linear() + kernel_gaussian(0.5)
NULL

new_kernel <- function(type, ..., scale = 1) {
  structure(list(type = type, ..., scale = scale), class = "ce_kernel")
}

check_bandwidth <- function(bandwidth) {
  if (identical(bandwidth, "median")) return(bandwidth)
  stop_if(!is.numeric(bandwidth), "{.arg bandwidth} must be a positive number, or {.val median}.",
          "x" = "It is {describe(bandwidth)}.", arg = "bandwidth", value = bandwidth)
  check_number(bandwidth, "bandwidth", lower = 0, open = TRUE)
  check_bandwidth_range(bandwidth)
  bandwidth
}

#' @rdname ce_kernels
#' @export
kernel_gaussian <- function(bandwidth) new_kernel("gaussian", bandwidth = check_bandwidth(bandwidth))

#' @rdname ce_kernels
#' @export
kernel_laplace <- function(bandwidth) new_kernel("laplace", bandwidth = check_bandwidth(bandwidth))

#' @rdname ce_kernels
#' @export
kernel_tv <- function(bandwidth) new_kernel("tv", bandwidth = check_bandwidth(bandwidth))

#' @rdname ce_kernels
#' @export
kernel_matern <- function(nu, bandwidth) {
  stop_if(!is.numeric(nu) || length(nu) != 1 || !nu %in% c(0.5, 1.5, 2.5), "{.arg nu} must be 0.5, 1.5 or 2.5.",
          "x" = "It is {describe(nu)}.", "i" = "As {.arg nu} grows, the kernel becomes {.fn kernel_gaussian}.",
          arg = "nu", value = nu)
  new_kernel("matern", nu = nu, bandwidth = check_bandwidth(bandwidth))
}

#' @rdname ce_kernels
#' @export
kernel_linear <- function() new_kernel("linear")

#' @rdname ce_kernels
#' @export
kernel_white <- function() new_kernel("white")

is_kernel <- function(x) inherits(x, "ce_kernel")

check_kernel <- function(x, arg = rlang::caller_arg(x)) {
  stop_if(!is_kernel(x) || is.list(x) && identical(.subset2(x, "type"), "function"), "{.arg {arg}} must be a kernel.",
          "x" = "It is {describe(x)}.",
          "i" = "Functions make kernels, such as {.fn kernel_gaussian}; see {.code ?ce_kernels}.", class = "kernel",
          arg = arg, value = x)
  x
}

#' @export
Ops.ce_kernel <- function(e1, e2) {
  stop_if(!.Generic %in% c("+", "*") || missing(e2),
          "Kernels can be added and multiplied; {.code {(.Generic)}} is not defined for them.", class = "kernel")
  scalar <- if (!is_kernel(e1)) e1 else if (!is_kernel(e2)) e2
  if (is.null(scalar)) {
    both <- new_kernel(if (.Generic == "+") "sum" else "product", parts = list(e1, e2))
    return(check_kernel_scale(both))
  }
  stop_if(.Generic == "+", "Only kernels can be added to a kernel.", "x" = "The other summand is {describe(scalar)}.",
          class = "kernel")
  check_number(scalar, "scale", lower = 0, open = TRUE)
  kernel <- if (is_kernel(e1)) e1 else e2
  kernel$scale <- kernel$scale * scalar
  check_kernel_scale(kernel)
}

#' @export
format.ce_kernel <- function(x, ...) {
  text <- if (x$type %in% c("sum", "product")) {
    parts <- vapply(x$parts, format, "")
    inner <- x$type == "product"
    sums <- vapply(x$parts, function(p) p$type == "sum" && p$scale == 1, NA)
    parts[inner & sums] <- paste0("(", parts[inner & sums], ")")
    paste(parts, collapse = if (inner) " * " else " + ")
  } else {
    args <- x[!names(x) %in% c("type", "scale", "parts")]
    values <- vapply(args, format_choice, "")
    paste0(x$type, "(", paste(values, collapse = ", "), ")")
  }
  if (x$scale == 1) return(text)
  if (x$type == "sum") text <- paste0("(", text, ")")
  paste0(format(x$scale, digits = 4), " * ", text)
}

#' @export
print.ce_kernel <- print_value("ce_kernel")

# The kernel with every "median" replaced by its value on the rows of `features`, of which each stands for so many
# `copies`.
resolve_kernel <- function(kernel, features, copies = NULL) {
  copies <- copies %||% rep(1, nrow(features))
  replace_medians(kernel, function(type) {
    n <- sum(copies)
    at <- if (n > median_rows) round(seq(1, n, length.out = median_rows)) else seq_len(n)
    features <- features[findInterval(at, cumsum(copies), left.open = TRUE) + 1L, , drop = FALSE]
    metric <- if (type == "tv") "tv" else "euclidean"
    check_bandwidth_range(cpp_median_distance(metric, features, thread_count()))
  })
}

# The kernel with every "median" replaced by bandwidth(type) of the part that has it.
replace_medians <- function(kernel, bandwidth) {
  if (!is.null(kernel$parts)) {
    kernel$parts <- lapply(kernel$parts, replace_medians, bandwidth)
  } else if (identical(kernel$bandwidth, "median")) {
    kernel$bandwidth <- bandwidth(kernel$type)
  }
  kernel
}

median_rows <- 10000L

compares_laws <- function(kernel) {
  if (!is.null(kernel$parts)) return(any(vapply(kernel$parts, compares_laws, NA)))
  kernel$type %in% c("wasserstein", "hellinger", "mmd", "embedding")
}

# A kernel that compares vectors: probabilities, outcomes.
check_feature_kernel <- function(kernel, arg = "kernel") {
  stop_if(compares_laws(kernel), "{.arg {arg}} must compare vectors: of probabilities, or of outcomes.",
          "x" = "{.code {format(kernel)}} compares predictive distributions.", class = "kernel", arg = arg)
  kernel
}

as_features <- function(x, arg = rlang::caller_arg(x)) {
  if (is.data.frame(x)) x <- as.matrix(x)
  stop_if(!is.numeric(x) || !all(is.finite(x)), "{.arg {arg}} must be a finite numeric matrix or vector.",
          "x" = "It is {.cls {class(x)[1]}}{if (is.numeric(x)) ' with missing or infinite values'}.", arg = arg,
          value = x)
  x <- as.matrix(x)
  storage.mode(x) <- "double"
  dimnames(x) <- NULL
  x
}

format_choice <- function(x) {
  if (is_kernel(x)) return(format(x))
  if (is.function(x)) return("<function>")
  if (is.list(x)) return(paste(vapply(x, format_choice, ""), collapse = " | "))
  if (is.character(x)) dQuote(x, FALSE) else format(x, digits = 4)
}

#' @rdname kernel_distributions
#' @export
kernel_wasserstein <- function(bandwidth = "median", power = 1) {
  new_kernel("wasserstein", bandwidth = check_bandwidth(bandwidth), power = check_share(power, upper = 2))
}

#' @rdname kernel_distributions
#' @export
kernel_mmd <- function(bandwidth = "median", target_kernel = kernel_gaussian("median"), power = 2) {
  check_feature_kernel(check_kernel(target_kernel), "target_kernel")
  new_kernel("mmd", bandwidth = check_bandwidth(bandwidth), target_kernel = target_kernel,
             power = check_share(power, upper = 2))
}
