# Objects stay in src/ between installations, so that make compiles only what changed. What make
# cannot see is kept in src/objects.md5: compiler, flags and the packages whose headers are included,
# and the objects as they were left. An object of another origin (a debugger's, without
# optimisation, or of another compiler) is deleted and compiled again.

source("tools/dependencies.R")

objects_record <- "src/objects.md5"

toolchain <- function() {
  # under make, MAKEFLAGS would add what make says of its directories
  config <- function(...) {
    system2(file.path(R.home("bin"), "R"), c("CMD", "config", ...), stdout = TRUE, env = "MAKEFLAGS=")
  }
  user_flags <- Sys.getenv("R_MAKEVARS_USER")
  packages <- c("Rcpp", "RcppEigen", "RcppParallel")
  c(R.version.string, paste(packages, vapply(packages, function(p) format(utils::packageVersion(p)), "")),
    config("CXX17"), config("CXX17FLAGS"), makevars_flags(),
    if (nzchar(user_flags) && file.exists(user_flags)) readLines(user_flags))
}

object_sums <- function() {
  objects <- list.files("src", "[.]o$", full.names = TRUE)
  stats::setNames(paste(tools::md5sum(objects), objects), objects)
}

drop_foreign_objects <- function() {
  record <- if (file.exists(objects_record)) readLines(objects_record)
  toolchain <- toolchain()
  objects <- object_sums()
  same_toolchain <- identical(utils::head(record, length(toolchain)), toolchain)
  foreign <- if (same_toolchain) names(objects)[!objects %in% record] else names(objects)
  unlink(c(foreign, if (length(foreign) > 0) list.files("src", "[.](so|dll)$", full.names = TRUE)))
}

record_objects <- function() writeLines(c(toolchain(), unname(object_sums())), objects_record)
