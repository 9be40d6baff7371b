# The article *In tidymodels* with its output, for a site that is built where the packages of tidymodels are not.
# After `make install test-tidymodels`, which has them in a library of its own:
#
#   Rscript data-raw/in-tidymodels.R

library <- Sys.getenv("CALIBRISK_TIDYMODELS", file.path(tools::R_user_dir("calibrisk", "cache"), "tidymodels"))
.libPaths(c(library, .libPaths()))
if (!nzchar(Sys.getenv("TZ"))) Sys.setenv(TZ = "UTC")
source <- normalizePath("data-raw/in-tidymodels.Rmd")
setwd("vignettes/articles")
knitr::knit(source, "in-tidymodels.Rmd", envir = new.env(), quiet = TRUE)
