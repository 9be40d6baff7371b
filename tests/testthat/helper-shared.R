# Real data and reference fixtures live outside the package; tests that need them are
# skipped where they are absent. CALIBRISK_SHARED names the folder; else it is looked
# for as `shared` beside the project, upwards.
shared_root <- function() {
  from_env <- Sys.getenv("CALIBRISK_SHARED", "")
  if (nzchar(from_env)) return(from_env)
  folder <- normalizePath(".")
  repeat {
    candidate <- file.path(folder, "shared")
    if (dir.exists(file.path(candidate, "fixtures"))) return(candidate)
    if (dirname(folder) == folder) return("")
    folder <- dirname(folder)
  }
}

shared_path <- function(...) file.path(shared_root(), ...)

skip_if_no_shared <- function(...) {
  testthat::skip_if_not(
    nzchar(shared_root()) && file.exists(shared_path(...)), "shared data not found"
  )
}

# The rows that the Gruber & Bach fixtures use, in their order: problems and folds (0 = test).
fixture_rows <- function(name, folder) {
  file <- readRDS(shared_path("data", folder, paste0(name, ".rds")))
  split <- utils::read.csv(shared_path("fixtures", "gruber-bach", paste0(name, "-split.csv")))
  split <- split[order(split$position), ]
  if (!is.null(file$logits)) {
    P <- exp(file$logits - apply(file$logits, 1, max))
  } else {
    P <- file$probs
  }
  P <- (P / rowSums(P))[split$row, , drop = FALSE]
  y <- as.integer(file$label %||% file$labels)[split$row]
  list(
    P = P, y = y, fold = as.integer(split$fold),
    top_label = oracle_problem(P, y), canonical = oracle_problem(P, y, "canonical")
  )
}
