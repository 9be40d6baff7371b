# The suite with the package compiled in another way, in a library of its own that is kept:
#
#   Rscript tools/test-builds.R std-threads     without TBB: loops run on std::thread (-DCALIBRISK_STD_THREADS)
#   Rscript tools/test-builds.R rcpp-parallel   against the RcppParallel of CRAN (minutes at first: it compiles its TBB)
#
# FILTER as a second argument runs some tests. Not part of the gate. CALIBRISK_BUILDS names another folder for the
# libraries.

source("tools/library.R")
args <- commandArgs(trailingOnly = TRUE)
build <- match.arg(args[1], c("std-threads", "rcpp-parallel"))
usual <- c(writable_library(), .libPaths())
cache <- Sys.getenv("CALIBRISK_BUILDS", file.path(tools::R_user_dir("calibrisk", "cache"), "builds"))
library <- file.path(cache, build)
dir.create(library, recursive = TRUE, showWarnings = FALSE)

r_program <- function(name) file.path(R.home("bin"), name)

with_library <- function(libraries, ...) {
  withr::with_envvar(c(R_LIBS = paste(unique(libraries), collapse = .Platform$path.sep)), system2(...))
}

# A copy of the sources, whose objects are no others.
install_build <- function(flags) {
  source <- file.path(tempfile("build"), "calibrisk")
  dir.create(source, recursive = TRUE)
  on.exit(unlink(dirname(source), recursive = TRUE))
  file.copy(c("DESCRIPTION", "NAMESPACE", "R", "src", "inst", "data", "man"), source, recursive = TRUE)
  unlink(list.files(file.path(source, "src"), "[.](o|so|dll)$", full.names = TRUE))
  makevars <- tempfile("Makevars")
  writeLines(c(readLines(".ci/Makevars"), flags), makevars)
  log <- tempfile()
  message("Installing calibrisk into ", library, " ...")
  status <- withr::with_envvar(
    c(R_MAKEVARS_USER = makevars, MAKEFLAGS = paste0("-j", max(1L, parallel::detectCores(), na.rm = TRUE))),
    with_library(c(library, usual), r_program("R"),
                 c("CMD", "INSTALL", "--no-multiarch", "--no-docs", paste0("--library=", shQuote(library)),
                   shQuote(source)), stdout = log, stderr = log)
  )
  if (status != 0) {
    writeLines(utils::tail(readLines(log), 40), stderr())
    quit(status = 1)
  }
}

install_current <- function() {
  repositories <- getOption("repos")
  if (identical(unname(repositories["CRAN"]), "@CRAN@")) repositories["CRAN"] <- "https://cloud.r-project.org"
  current <- utils::available.packages(repos = repositories)["RcppParallel", "Version"]
  have <- tryCatch(as.character(utils::packageVersion("RcppParallel", library)), error = function(cnd) "none")
  if (have != current) {
    message("Installing RcppParallel ", current, " into ", library, " ...")
    utils::install.packages("RcppParallel", lib = library, repos = repositories, quiet = TRUE)
  }
  message("RcppParallel ", utils::packageVersion("RcppParallel", library), "; the usual one is ",
          utils::packageVersion("RcppParallel", usual), ".")
}

# Whether the package's library asks for TBB.
uses_tbb <- function(libraries) {
  file <- file.path(find.package("calibrisk", libraries), "libs", paste0("calibrisk", .Platform$dynlib.ext))
  any(grepl("tbb", system2("nm", c("-D", "--undefined-only", shQuote(file)), stdout = TRUE)))
}

# Results of parallel loops, with all their digits.
digits <- function(libraries, forked = "") {
  file <- tempfile(fileext = ".rds")
  with_library(libraries, r_program("Rscript"), c("tools/digits.R", shQuote(file), forked))
  readRDS(file)
}

if (build == "std-threads") {
  install_build("CXX17FLAGS += -DCALIBRISK_STD_THREADS -pthread")
  if (uses_tbb(library) || !uses_tbb(usual)) stop("The builds do not differ in TBB.")
} else {
  install_current()
  install_build(character())
}
here <- digits(usual)
# threads that end with their loop leave nothing that a forked process would wait for
there <- digits(c(library, usual), if (build == "std-threads" && .Platform$OS.type == "unix") "forked" else "")
same <- mapply(identical, here, there)
cat(sum(same), "of", length(same), "results have the same digits in both builds.\n")
if (!all(same)) stop("Others: ", toString(names(here)[!same]), call. = FALSE)
quit(status = with_library(c(library, usual), r_program("Rscript"), c("tools/test.R", shQuote(args[-1]))))
