# Installs the package from its sources, unless the installed one was made from the same sources:
#
#   Rscript tools/install.R
#
# Compiles what changed since the last installation (tools/objects.R).

source("tools/library.R")
source("tools/objects.R")

# One installation into a library at a time. The file names the process that installs: one that was killed leaves its
# own lock and R's behind, which nobody else would remove.
take_turn <- function(library_path, minutes = 15) {
  turn <- file.path(library_path, ".calibrisk-installer")
  until <- Sys.time() + 60 * minutes
  while (is_installing(turn) && Sys.time() < until) Sys.sleep(1)
  writeLines(as.character(Sys.getpid()), turn)
  unlink(file.path(library_path, paste0("00LOCK-", basename(getwd()))), recursive = TRUE)
  turn
}

is_installing <- function(turn) {
  process <- if (file.exists(turn)) suppressWarnings(as.integer(readLines(turn, 1)))
  if (length(process) != 1 || is.na(process) || process == Sys.getpid()) return(FALSE)
  words <- file.path("/proc", process, "cmdline")
  # another program may have the number now
  if (!dir.exists("/proc/self")) return(tools::pskill(process, 0))
  words <- tryCatch(readLines(words, warn = FALSE, skipNul = TRUE), error = function(e) "", warning = function(w) "")
  any(grepl("install.R", words, fixed = TRUE))
}

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
  use_flags()
  drop_foreign_objects()
  turn <- take_turn(library_path)
  log <- tempfile()
  status <- system2(file.path(R.home("bin"), "R"), c(
    "CMD", "INSTALL", "--no-multiarch",
    paste0("--library=", shQuote(library_path)), "."
  ), stdout = log, stderr = log)
  record_objects()
  unlink(turn)
  if (status != 0) {
    writeLines(readLines(log), stderr())
    quit(status = 1)
  }
  writeLines(sums, stamp)
}
