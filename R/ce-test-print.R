# The printed test: as R prints tests, then what the rows and kernels were.

#' @export
print.ce_test <- function(x, ...) {
  NextMethod()
  cat("n = ", x$n, ", predictions: ", x$prediction, "\n", counted_line(x), sep = "")
  if (!is.null(x$kernel)) {
    cat("kernel on predictions: ", format(x$kernel), "\n", sep = "")
    cat("kernel on outcomes: ", format(x$target_kernel), ", ", x$target_computation, "\n", sep = "")
  }
  for (line in strwrap(paper_sentences(x))) cat(line, "\n", sep = "")
  # the distance between the kernel of a test and the one that was asked for
  if (!is.null(x$details$rank)) cat("kernel on predictions approximated by a factor of rank ", x$details$rank,
                                    ", without ", format(100 * x$details$neglected, digits = 2),
                                    "% of its diagonal\n", sep = "")
  cat(cumulative_sentence(x))
  cat("\n")
  invisible(x)
}
