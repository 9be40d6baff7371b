# Identifies the data of a fit. Risks of fits to different models have different targets and cannot be compared.
#   truth     key of the outcomes in their order
#   features  those of some rows, evenly spaced
#   keys      the smallest keys of the distinct rows, n_keys their number. They reveal rows that two fits have in
#             common, if enough of these are expected to be among the smallest

fit_fingerprint <- function(predictions, problems, n_features = 64, n_keys = 4096) {
  truth <- as.integer(predictions$truth %||% predictions$outcome)
  rows <- unique(round(seq(1, length(truth), length.out = n_features)))
  features <- lapply(problems, function(problem) problem$features[rows, , drop = FALSE])
  c(list(truth = rlang::hash(truth), features = do.call(cbind, features)),
    cpp_smallest_keys(problems[[1]]$features[, 1], truth, n_keys, thread_count()))
}

check_one_model <- function(fits) {
  for (j in seq_along(fits)[-1]) {
    reason <- different_models(fits[[1]]$fingerprint, fits[[j]]$fingerprint)
    if (is.null(reason)) next
    stop_input(
      "Fits are compared for the predictions of one model.",
      "x" = "{.field {names(fits)[1]}} and {.field {names(fits)[j]}} were fitted on {reason}.",
      class = "model", arg = "objects"
    )
  }
}

# The evidence that two fingerprints are of predictions of different models; NULL if there is none.
different_models <- function(a, b) {
  if (is.null(a) || is.null(b)) return(NULL)
  if (a$truth == b$truth && identical(dim(a$features), dim(b$features))) {
    # a binary event may be the other one
    flipped <- if (ncol(a$features) == 1) 1 - b$features else b$features
    far <- min(max(abs(a$features - b$features)), max(abs(a$features - flipped))) > 1e-6
    return(if (far) "different predictions of the same outcomes")
  }
  expected <- min(a$n_keys, b$n_keys) * min(1, length(a$keys) / a$n_keys, length(b$keys) / b$n_keys)
  if (expected >= 10 && !any(a$keys %in% b$keys)) "predictions that have no row in common"
}
