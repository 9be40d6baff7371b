# Writes what is generated from the sources: Rcpp exports, rules of make, NAMESPACE and man/.
#
#   Rscript tools/document.R

source("tools/objects.R")
Sys.setenv(PKG_BUILD_EXTRA_FLAGS = "false")  # compiled as an installation does

Rcpp::compileAttributes()
write_dependencies()
drop_foreign_objects()
roxygen2::roxygenise()
record_objects()
