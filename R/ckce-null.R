# The estimate without its bias, and so the draws of its null distribution.

# cut: where G is positive semidefinite, and so the estimate at least 0.
debiased <- function(values, debias, cut = TRUE) {
  out <- values$estimate - switch(debias, none = 0, off_diagonal = values$diagonal, null_mean = values$null_mean)
  if (cut && debias == "none") pmax(out, 0) else out
}
