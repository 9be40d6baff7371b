# Builds the web site in docs/, without the network: links to packages that are not installed are left out.
#
#   Rscript tools/site.R

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))
options(warn = 1, pkgdown.internet = FALSE)

# Links to what is not installed are looked up at CRAN, without an option to leave them out.
utils::assignInNamespace("CRAN_urls", function() data.frame(Package = character(), URL = character()), "downlit")

pkgdown::build_site(preview = FALSE, new_process = FALSE, install = FALSE)
