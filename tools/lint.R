# R code against .lintr, one file per core at a time; exits with 1 where something is found:
#
#   Rscript tools/lint.R [folders or files]

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))

folders <- commandArgs(TRUE)
if (length(folders) == 0) folders <- c("R", "tests", "tools", "data-raw")
files <- c(folders[!dir.exists(folders)], list.files(folders, "[.]R$", full.names = TRUE, recursive = TRUE))
files <- setdiff(files, "R/RcppExports.R")
# long ones first, so that no core waits for the other at the end
files <- files[order(-file.size(files))]
cores <- max(1L, parallel::detectCores(), na.rm = TRUE)
lints <- parallel::mclapply(files, function(file) {
  vapply(lintr::lint(file), function(l) {
    sprintf("%s:%d:%d: [%s] %s", file, l$line_number, l$column_number, l$linter, l$message)
  }, "")
}, mc.cores = if (.Platform$OS.type == "windows") 1L else cores, mc.preschedule = FALSE)

broken <- vapply(lints, inherits, NA, "try-error") | vapply(lints, is.null, NA)
found <- unlist(lints[!broken])
writeLines(sort(c(found, sprintf("%s: could not be read", files[broken]))))
cat(sprintf("%d files, %d lints\n", length(files), length(found)))
quit(status = if (length(found) > 0 || any(broken)) 1 else 0)
