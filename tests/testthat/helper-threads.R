# The value of `code` by loops of `n` threads.
with_threads <- function(n, code) withr::with_options(list(calibrisk.threads = n), code)
