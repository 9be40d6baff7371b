# Result tables: tibbles that say what was estimated above their rows. The estimand is a
# named character vector; it is an attribute, so that the columns stay plain.

new_table <- function(x, estimand, class) {
  x <- tibble::as_tibble(x)
  attr(x, "estimand") <- estimand
  class(x) <- c(class, "ce_table", class(x))
  x
}

#' @importFrom tibble tbl_sum
#' @method tbl_sum ce_table
#' @export
tbl_sum.ce_table <- function(x, ...) {
  c(attr(x, "estimand"), NextMethod())
}
