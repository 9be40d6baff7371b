#' Bases of the main estimate
#'
#' Columns that depend on the predictions only, on which the interval of [ce_estimate()] projects the residuals. The
#' default is a sequence of nested bases, from coarse to fine; these values replace it.
#'
#' @section Definition:
#' With one residual per row (top-label, binary) and for the residuals of each class (class-wise) the bases are hat
#' functions (linear splines) of the prediction. Their knots are 2, 8 and \eqn{\lceil\sqrt n\rceil} (at most 100)
#' quantiles (type 2 of [quantile()]). The canonical error of two classes has the same bases. For that of more classes,
#' with \eqn{l = \log p}, \eqn{H = \sum_k p_k l_k}, the top class t with confidence c,
#' \eqn{m = \max(4, \lceil n^{1/3}\rceil)} and the class j of the residual:
#' \enumerate{
#'   \item the temperature family, by its tangent and three of its maps: \eqn{1, p_j, p_j l_j, p_j H} and
#'     \eqn{p_j^{1/T} / \sum_k p_k^{1/T}} for T = 1/2, 2 and 4;
#'   \item m hats of \eqn{p_j}, \eqn{p_j l_j}, \eqn{p_j H}, and m hats of c where t = j;
#'   \item 8 hats of \eqn{p_j}, \eqn{p_j} times 8 hats of c, and m hats of c where t = j;
#'   \item \eqn{(1, p)} apart for each top class, where \eqn{K^2 \le n/4};
#'   \item \eqn{1, p} and kernel columns \eqn{\exp(-|p - q| / s)} for up to 100 landmarks q, s = 0.7 times the median
#'     distance; left out where \eqn{K(K + 100) > 5000}.
#' }
#' Columns that depend on others are dropped. Landmarks are evenly spaced rows in the order of their sorted
#' probabilities; rows that are permutations of one another follow by \eqn{\sum_k \bar p_k p_k}. If that is equal too,
#' their mean is the landmark. A row with several top classes has t = j for each of them, and in 4 such rows are a group
#' of their own.
#'
#' @details
#' In `ce_estimate(bases = )` each element is a basis. `c(hats = 5)`: hat functions of 5 quantile knots of each
#' coordinate (at least 2); a coordinate with fewer distinct values has one function per value. `c(kernel = 100)`:
#' kernel columns of 100 landmarks. A function of the matrix of predictions that returns a matrix of columns is a basis,
#' too.
#' @seealso [ce_estimate()]
#' @name ce_bases
#' @examples
#' ce_estimate(vehicle_predictions, truth, bases = c(hats = 5, hats = 20))
#' # does the gap grow with the confidence?
#' ce_estimate(vehicle_predictions, truth, bases = list(function(p) cbind(1, p)))
NULL

most_bases <- 10

# list of what the core takes, and of functions
check_bases <- function(bases, notion) {
  if (is.null(bases)) return(NULL)
  if (is.function(bases)) bases <- list(bases)
  found <- if (length(bases) %in% seq_len(most_bases)) Map(read_basis, as.list(bases), rlang::names2(bases))
  stop_if(is.null(found) || any(lengths(found) == 0),
          "{.arg bases} must be up to {most_bases} bases, such as {.code c(hats = 5, kernel = 20)}, or functions of \
           the matrix of predictions in a list.", "x" = "It is {describe(bases)}.", arg = "bases", value = bases)
  own <- vapply(found, function(basis) is.list(basis) && basis$recipe == "hats", NA)
  stop_if("class_wise" %in% notion && !all(own),
          "Class-wise, a basis must depend on the probability of one class only.",
          "x" = "Basis {which(!own)[1]} sees all of them, and would find more than the class-wise error.",
          "i" = "Use {.code c(hats = 5)}, or {.code notion = \"canonical\"}.", arg = "bases")
  unname(found)
}

read_basis <- function(basis, name) {
  if (is.function(basis)) return(basis)
  if (!name %in% c("hats", "kernel")) return(NULL)
  check_count(basis, "bases", lower = if (name == "hats") 2 else 1)
  if (name == "hats") list(recipe = "hats", own = min(basis, 65535)) else list(recipe = "kernel", landmarks = basis)
}

# The arguments of the core: functions are evaluated on the features.
basis_specs <- function(bases, features) {
  lapply(seq_along(bases), function(b) {
    if (!is.function(bases[[b]])) return(bases[[b]])
    columns <- rlang::try_fetch(bases[[b]](features), error = function(cnd) {
      stop_input("Basis {b} of {.arg bases} failed.", arg = "bases", parent = cnd)
    })
    columns <- as.matrix(columns)
    stop_if(!is.numeric(columns) || nrow(columns) != nrow(features) || ncol(columns) == 0 || !all(is.finite(columns)),
            "A basis must be a matrix of finite numbers with a row for each of the {nrow(features)} predictions.",
            "x" = "Basis {b} is {.cls {class(columns)[1]}} of {nrow(columns)} x {ncol(columns)} \\
                   {typeof(columns)} values{if (is.numeric(columns) && !all(is.finite(columns))) ', not all finite'}.",
            arg = "bases")
    storage.mode(columns) <- "double"
    list(recipe = "columns", columns = columns)
  })
}
