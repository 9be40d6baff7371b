# Writes what is generated from the sources: Rcpp exports, rules of make, NAMESPACE and man/.
#
#   Rscript tools/document.R

source("tools/objects.R")
# compiled as an installation does
Sys.setenv(PKG_BUILD_EXTRA_FLAGS = "false", MAKEFLAGS = paste0("-j", max(1L, parallel::detectCores(), na.rm = TRUE)))

Rcpp::compileAttributes()
write_dependencies()
drop_foreign_objects()
roxygen2::roxygenise()
record_objects()
