# Renders the articles of vignettes/articles, which the site has and the package does not, in a copy of the folder;
# fails where one does:
#
#   Rscript tools/articles.R [pattern]

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))

copy <- tempfile()
dir.create(copy)
stopifnot(file.copy("vignettes", copy, recursive = TRUE))
files <- list.files(file.path(copy, "vignettes", "articles"), "[.]Rmd$", full.names = TRUE)
pattern <- commandArgs(TRUE)
if (length(pattern) > 0) files <- grep(pattern[1], files, value = TRUE)
stopifnot("no article has such a name" = length(files) > 0)

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
quit(status = if (any(failed)) 1 else 0)
