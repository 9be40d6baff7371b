# Identifies the data of a fit: the outcomes in their order, and the features of some rows, evenly spaced. Risks of fits
# to different models have different targets and cannot be compared.
fit_fingerprint <- function(predictions, problems, n_features = 64) {
  truth <- as.integer(predictions$truth %||% predictions$outcome)
  rows <- unique(round(seq(1, length(truth), length.out = n_features)))
  features <- lapply(problems, function(problem) problem$features[rows, , drop = FALSE])
  list(truth = rlang::hash(truth), features = do.call(cbind, features))
}

check_one_model <- function(fits) {
  a <- fits[[1]]$fingerprint
  for (j in seq_along(fits)[-1]) {
    b <- fits[[j]]$fingerprint
    same_rows <- identical(a$truth, b$truth) && identical(dim(a$features), dim(b$features))
    if (is.null(a) || !same_rows) next
    # a binary event may be the other one
    flipped <- if (ncol(a$features) == 1) 1 - b$features else b$features
    stop_if(min(max(abs(a$features - b$features)), max(abs(a$features - flipped))) > 1e-6,
            "Fits are compared for the predictions of one model.",
            "x" = "{.field {names(fits)[1]}} and {.field {names(fits)[j]}} were fitted on different predictions of \\
                   the same outcomes.", class = "model", arg = "objects")
  }
}
