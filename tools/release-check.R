# What is too long for .ci/run, before a release. Each stage has a folder of its own and says what it found:
#
#   Rscript tools/release-check.R [archive] [depends] [clang] [site] [mutations]
#
# archive  R CMD check --as-cran with its tests, of the built archive, where no library of the user is seen
# depends  the same without what is only suggested
# clang    the archive compiled with clang: no warning under -Wall -pedantic
# site     pkgdown builds the site without a warning and without the network
# mutations  changed formulas that no test sees

stages <- commandArgs(TRUE)
if (length(stages) == 0) stages <- c("archive", "depends", "clang", "site", "mutations")

r <- file.path(R.home("bin"), "R")
rscript <- file.path(R.home("bin"), "Rscript")
folder <- tempfile("release-")
dir.create(folder)

# Lines of a command's log that match, and the last ones where it failed.
run <- function(name, command, args, env = character(), pattern = NULL) {
  log <- file.path(folder, paste0(name, ".log"))
  status <- system2(command, args, stdout = log, stderr = log, env = env)
  lines <- readLines(log, warn = FALSE)
  found <- if (!is.null(pattern)) grep(pattern, lines, value = TRUE)
  writeLines(as.character(c(found, if (status != 0) utils::tail(lines, 40))))
  status == 0 && length(found) == 0
}

empty_library <- function() {
  path <- tempfile("library-", folder)
  dir.create(path)
  paste0(c("R_LIBS=", "R_LIBS_USER="), path)
}

clang <- function() {
  compiler <- Filter(nzchar, Sys.which(c("clang++", paste0("clang++-", 20:14))))
  if (length(compiler) == 0) {
    cat("Skipped: there is no clang++.\n")
    return(TRUE)
  }
  makevars <- file.path(folder, "Makevars")
  writeLines(c(paste0("CXX17 = ", compiler[1]), "CXX17FLAGS = -O2 -Wall -pedantic"), makevars)
  copy <- file.path(folder, "clang")
  dir.create(copy)
  project <- getwd()
  on.exit(setwd(project))
  setwd(copy)
  built <- run("clang-build", r, c("CMD", "build", "--no-build-vignettes", "--no-manual", shQuote(project)))
  archive <- list.files(copy, "[.]tar[.]gz$", full.names = TRUE)
  library_path <- file.path(folder, "clang-library")
  dir.create(library_path)
  built && run("clang", r, c("CMD", "INSTALL", paste0("--library=", library_path), archive),
      env = c(paste0("R_MAKEVARS_USER=", makevars), "MAKEFLAGS=-j2"),
                 pattern = "^[^/].*warning:") && # of our files: those of others have absolute paths

    run("clang-runs", rscript, c("-e", shQuote("calibrisk::ce_tune(calibrisk::vehicle_predictions, truth)")),
        env = paste0("R_LIBS=", library_path))
}

checks <- list(
  archive = function() run("archive", rscript, "tools/check.R", empty_library()),
  depends = function() run("depends", rscript, "tools/check.R", c(empty_library(), "_R_CHECK_DEPENDS_ONLY_=true")),
  clang = clang,
  site = function() {
    # not "[WARNING]": pandoc on formulas while it looks for files; the pages have them
    run("site", "make", "site", pattern = "^Warning|[Mm]issing alt")
  },
  mutations = function() run("mutations", "make", "mutations", pattern = "NOT SEEN")
)
stopifnot("no such stage" = stages %in% names(checks))
passed <- vapply(stages, function(stage) {
  cat("== ", stage, "\n", sep = "")
  start <- proc.time()[["elapsed"]]
  good <- checks[[stage]]()
  cat(sprintf("%s: %s, %.0f s\n", stage, if (good) "nothing found" else "FOUND", proc.time()[["elapsed"]] - start))
  good
}, NA)
quit(status = if (all(passed)) 0 else 1)
