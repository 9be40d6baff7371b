# The estimate without its bias, and the draws of its null distribution.

# cut: where G is positive semidefinite, and so the estimate at least 0.
debiased <- function(values, debias, cut = TRUE) {
  out <- values$estimate - switch(debias, none = 0, off_diagonal = values$diagonal, null_mean = values$null_mean)
  if (cut && debias == "none") pmax(out, 0) else out
}

# Draws of the statistic; the null mean is the same for all draws and shifts nothing.
null_statistic <- function(numbers, debias) {
  switch(debias,
    none = numbers$null_estimate,
    off_diagonal = numbers$null_estimate - numbers$null_diagonal,
    null_mean = sweep(numbers$null_estimate, 2, numbers$values$null_mean)
  )
}
