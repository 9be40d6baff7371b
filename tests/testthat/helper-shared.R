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
  testthat::skip_if_not(nzchar(shared_root()) && file.exists(shared_path(...)), "shared data not found")
}
