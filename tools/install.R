# Installs the package from its sources, unless the installed one was made from the same sources:
#
#   Rscript tools/install.R
#
# Compiles what changed since the last installation (tools/objects.R).

source("tools/library.R")
source("tools/objects.R")

write_dependencies()
files <- c("DESCRIPTION", "NAMESPACE",
           list.files(c("R", "src", "inst", "data", "man"), recursive = TRUE, full.names = TRUE))
files <- files[!grepl("\\.(o|so|dll|md5)$", files)]
sums <- tools::md5sum(sort(files))
sums <- c(paste(sums, names(sums)), R.version.string)

library_path <- writable_library()
stamp <- file.path(library_path, "calibrisk", "sources.md5")
if (file.exists(stamp) && identical(readLines(stamp), sums)) {
  message("calibrisk is up to date in ", library_path, ".")
} else {
  cores <- max(1L, parallel::detectCores(), na.rm = TRUE)
  Sys.setenv(MAKEFLAGS = paste0("-j", cores))
  message("Installing calibrisk into ", library_path, " (compiles what changed) ...")
  strip_symbols()
  drop_foreign_objects()
  # an installation that was killed leaves its lock behind
  lock <- file.path(library_path, paste0("00LOCK-", basename(getwd())))
  age <- difftime(Sys.time(), file.mtime(lock), units = "mins")
  if (isTRUE(age > 30)) unlink(lock, recursive = TRUE)
  log <- tempfile()
  status <- system2(file.path(R.home("bin"), "R"), c(
    "CMD", "INSTALL", "--no-multiarch",
    paste0("--library=", shQuote(library_path)), "."
  ), stdout = log, stderr = log)
  record_objects()
  if (status != 0) {
    writeLines(readLines(log), stderr())
    quit(status = 1)
  }
  writeLines(sums, stamp)
}
