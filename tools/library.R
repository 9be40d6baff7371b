# The library that the commands of the Makefile install into: the first one that can be written
# to, else the user's own, created where need be.
writable_library <- function() {
  writable <- .libPaths()[file.access(.libPaths(), 2) == 0]
  if (length(writable) > 0) return(writable[1])
  user <- strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep, fixed = TRUE)[[1]][1]
  dir.create(user, recursive = TRUE, showWarnings = FALSE)
  .libPaths(c(user, .libPaths()))
  user
}

# With the symbols of Debian's flags (-g) a shared object has 149 MB, without them 1.7. Only local ones go, since
# `R CMD check` reads the others.
strip_symbols <- function() Sys.setenv("_R_SHLIB_STRIP_" = "true", R_STRIP_SHARED_LIB = "strip -x")

# The project's flags, unless the developer has others: compiling symbols that are stripped takes half of the time.
use_flags <- function() {
  if (Sys.getenv("R_MAKEVARS_USER") == "" && length(Sys.glob("~/.R/Makevars*")) == 0) {
    Sys.setenv(R_MAKEVARS_USER = normalizePath(file.path(".ci", "Makevars")))
  }
}
