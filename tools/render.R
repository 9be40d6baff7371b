# Renders vignettes, or the articles that only the site has, in a copy of the folder; fails where one does, or where the
# page is not as tools/pages.R wants it:
#
#   Rscript tools/render.R <pattern of file names | articles>
#
# The pages of vignettes are left in check/pages.

source("tools/library.R")
source("tools/pages.R")
.libPaths(unique(c(writable_library(), .libPaths())))

copy <- tempfile()
dir.create(copy)
stopifnot(file.copy("vignettes", copy, recursive = TRUE))
pattern <- commandArgs(TRUE)
articles <- identical(pattern, "articles")
files <- list.files(file.path(copy, if (articles) "vignettes/articles" else "vignettes"), "[.]Rmd$", full.names = TRUE)
if (!articles && length(pattern) > 0) files <- grep(pattern[1], files, value = TRUE)
stopifnot("no page has such a name" = length(files) > 0)

render <- function(file) {
  start <- proc.time()[["elapsed"]]
  suppressMessages(rmarkdown::render(file, quiet = TRUE, envir = new.env()))
  sprintf("%s: %.0f s", basename(file), proc.time()[["elapsed"]] - start)
}
cores <- max(1L, parallel::detectCores(), na.rm = TRUE)
results <- parallel::mclapply(files, function(file) tryCatch(render(file), error = identity),
                              mc.cores = if (.Platform$OS.type == "windows") 1L else cores, mc.preschedule = FALSE)

failed <- !vapply(results, is.character, NA)
for (i in which(!failed)) cat(results[[i]], "\n")
for (i in which(failed)) {
  reason <- if (inherits(results[[i]], "error")) rlang::cnd_message(results[[i]]) else "the process ended early"
  cat(basename(files[i]), " failed: ", reason, "\n", sep = "")
}
bad <- 0
if (!articles) {
  pages <- sub("[.]Rmd$", ".html", files[!failed])
  dir.create(file.path("check", "pages"), recursive = TRUE, showWarnings = FALSE)
  file.copy(pages, file.path("check", "pages"), overwrite = TRUE)
  bad <- report_pages(pages)
}
quit(status = if (any(failed) || bad > 0) 1 else 0)
