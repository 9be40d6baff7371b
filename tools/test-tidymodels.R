# Tests with the packages of tidymodels, which are not in Debian: a library of their own, kept between runs, because
# some of them compile for minutes. Not part of the gate.
#
#   Rscript tools/test-tidymodels.R
#
# CALIBRISK_TIDYMODELS names another folder for the library.

source("tools/library.R")
source("tools/suite.R")
.libPaths(unique(c(writable_library(), .libPaths())))

needed <- c("yardstick", "tune", "workflowsets")
library <- Sys.getenv("CALIBRISK_TIDYMODELS", file.path(tools::R_user_dir("calibrisk", "cache"), "tidymodels"))
dir.create(library, recursive = TRUE, showWarnings = FALSE)
.libPaths(c(library, .libPaths()))
missing <- needed[!nzchar(vapply(needed, function(p) system.file(package = p, lib.loc = library), ""))]
if (length(missing) > 0) {
  if (identical(unname(getOption("repos")["CRAN"]), "@CRAN@")) {
    utils::chooseCRANmirror(graphics = FALSE, ind = 1, local.only = TRUE)
  }
  message("Installing into ", library, ": ", paste(missing, collapse = " "))
  utils::install.packages(missing, lib = library, quiet = TRUE, Ncpus = max(1L, parallel::detectCores(), na.rm = TRUE))
}

if (!nzchar(Sys.getenv("TZ"))) Sys.setenv(TZ = "UTC")
quit(status = run_suite("tests/tidymodels"))
