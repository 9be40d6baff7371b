# R CMD build and R CMD check --as-cran, without the network; fails on any error, warning and note
# but those that no change of the package can avoid:
#
#   Rscript tools/check.R [--no-tests]
#
# The tarball and calibrisk.Rcheck are made in the folder `check` beside DESCRIPTION.

# The notes that are allowed, on a new submission, as patterns of all their lines: whatever else stands there is a
# finding.
# The last four: compiled code and fourteen pages have more than 5 MB when installed.
unavoidable <- c("checking CRAN incoming feasibility", "^Maintainer:", "^New submission$", "^ *$",
                 "checking installed package size", "installed size is", "sub-directories of 1Mb or more",
                 "^ +[A-Za-z]+ +[0-9.]+Mb$")

source("tools/library.R")
source("tools/pages.R")
r <- file.path(R.home("bin"), "R")
project <- normalizePath(".")
folder <- file.path(project, "check")
unlink(folder, recursive = TRUE)
dir.create(folder)

cores <- max(1L, parallel::detectCores(), na.rm = TRUE)
Sys.setenv(
  MAKEFLAGS = paste0("-j", cores),
  "_R_CHECK_CRAN_INCOMING_REMOTE_" = "false",
  "_R_CHECK_FORCE_SUGGESTS_" = "false",
  "_R_CHECK_FUTURE_FILE_TIMESTAMPS_" = "false",
  "_R_CHECK_SYSTEM_CLOCK_" = "false",
  # Flags that Debian's R adds on its own.
  "_R_CHECK_COMPILATION_FLAGS_KNOWN_" = "-Wformat -Werror=format-security -Wdate-time"
)
strip_symbols()
# Where ccache is at hand (Debian), what the build and the check both compile is compiled once.
if (dir.exists("/usr/lib/ccache")) {
  Sys.setenv(PATH = paste("/usr/lib/ccache", Sys.getenv("PATH"), sep = ":"))
}
Sys.setenv(R_MAKEVARS_USER = file.path(project, ".ci", "Makevars"))

setwd(folder)
if (system2(r, c("CMD", "build", shQuote(project))) != 0) quit(status = 1)
tarball <- list.files(pattern = "^calibrisk_.*\\.tar\\.gz$")
cat(sprintf("Tarball: %s, %.2f of 5 MB\n", tarball, file.size(tarball) / 1e6))
utils::untar(tarball, "calibrisk/inst/doc", exdir = "built")
setwd(project)
pages <- list.files(file.path(folder, "built", "calibrisk", "inst", "doc"), "[.]html$", full.names = TRUE)
faults <- report_pages(pages) + (file.size(file.path(folder, tarball)) > 5e6)
unlink(file.path(folder, "built"), recursive = TRUE)
if (faults > 0 || length(pages) == 0) {
  cat("The archive or its pages are not as tools/pages.R says.\n")
  quit(status = 1)
}
setwd(folder)

manual <- if (!nzchar(Sys.which("pdflatex"))) "--no-manual"
system2(r, c("CMD", "check", "--as-cran", manual, commandArgs(trailingOnly = TRUE), tarball))

log <- readLines(file.path("calibrisk.Rcheck", "00check.log"))
starts <- grep("^\\* ", log)
entry <- findInterval(seq_along(log), starts)
titles <- log[starts]
verdict <- sub(".*\\.\\.\\. *(\\[.*\\] *)?", "", titles)
# A verdict may stand on the entry's last line, after what the check printed.
for (i in seq_along(titles)) {
  last <- utils::tail(grep("^ *(OK|NOTE|WARNING|ERROR)$", log[entry == i], value = TRUE), 1)
  if (length(last) > 0) verdict[i] <- trimws(last)
}
allowed <- verdict == "NOTE" & vapply(seq_along(titles), function(i) {
  all(grepl(paste(unavoidable, collapse = "|"), log[entry == i]))
}, NA)
bad <- grepl("NOTE|WARNING|ERROR", verdict) & !allowed
finished <- any(grepl("^Status:", log))

for (i in which(allowed)) cat("Allowed: ", log[entry == i], "", sep = "\n")
if (any(bad) || !finished) {
  for (i in which(bad)) cat("\nNot allowed:", log[entry == i], "", sep = "\n")
  if (!finished) cat("\nThe check did not finish.\n")
  quit(status = 1)
}
installed <- system2("du", c("-sk", file.path("calibrisk.Rcheck", "calibrisk")), stdout = TRUE)
cat(sprintf("Installed: %.2f MB\n", as.numeric(sub("\\s.*", "", installed)) / 1024))
cat("R CMD check: no error, no warning, no avoidable note\n")
