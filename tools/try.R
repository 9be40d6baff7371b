# Runs tests of the sources without installing them, against the core that was compiled last:
#
#   Rscript tools/try.R <filter> [reporter]

if (!file.exists("src/calibrisk.so")) stop("Compile the core first: `make install`.")
if (!requireNamespace("pkgload", quietly = TRUE)) stop("Install pkgload first: `make deps`.")
# processes of their own would compile
Sys.setenv(TESTTHAT_PARALLEL = "FALSE")
pkgload::load_all(".", compile = FALSE, quiet = TRUE, helpers = FALSE)
testthat::test_dir("tests/testthat", filter = commandArgs(TRUE)[1], package = "calibrisk", load_package = "none",
                   reporter = c(commandArgs(TRUE)[-1], "check")[1])
