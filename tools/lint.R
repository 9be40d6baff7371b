# R code against .lintr, and the text of conditions, one file per core at a time; exits with 1 if anything is found:
#
#   Rscript tools/lint.R [folders or files]
#
# The lines of a condition are templates: cli runs what is in their braces as code. So they are literals, or chosen
# by `if`; what varies is a value in them, "{.val {x}}". A line that is pasted could hold text of the data.

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))

folders <- commandArgs(TRUE)
if (length(folders) == 0) folders <- c("R", "tests", "tools", "data-raw")
files <- c(folders[!dir.exists(folders)], list.files(folders, "[.]R$", full.names = TRUE, recursive = TRUE))
files <- setdiff(files, "R/RcppExports.R")
is_literal <- function(e) {
  if (is.character(e) || is.null(e)) return(TRUE)
  if (!is.call(e) || !as.character(e[[1]])[1] %in% c("if", "{", "(")) return(FALSE)
  all(vapply(as.list(e)[if (identical(e[[1]], as.name("if"))) -(1:2) else -1], is_literal, NA))
}
# The templates among the arguments of a call, by the place (those without a name) or name.
template_places <- list(stop_input = TRUE, warn_result = TRUE, tell = TRUE, stop_if = -1, warn_if = -1,
                        unsupported_if = 2:3, format_inline = 1)
template_names <- function(fn) c("x", "i", "!", if (fn == "unsupported_if") c("what", "fact", "instead"))
pasted_text <- function(file) {
  code <- utils::getParseData(parse(file, keep.source = TRUE))
  called <- code[code$token == "SYMBOL_FUNCTION_CALL" & code$text %in% names(template_places), ]
  unlist(lapply(seq_len(nrow(called)), function(k) {
    # the call, not the name of its function
    args <- as.list(str2lang(utils::getParseText(code, code$parent[code$id == called$parent[k]])))[-1]
    names <- if (is.null(names(args))) rep("", length(args)) else names(args)
    lines <- c(args[names == ""][template_places[[called$text[k]]]], args[names %in% template_names(called$text[k])])
    # the functions themselves pass on what they are given
    passed <- basename(file) == "conditions.R" & vapply(lines, identical, NA, quote(...))
    if (all(passed | vapply(lines, is_literal, NA))) return(NULL)
    sprintf("%s:%d:%d: [template] Text of a condition that is no literal.", file, called$line1[k], called$col1[k])
  }))
}
# long ones first, so that no core waits for the other at the end
files <- files[order(-file.size(files))]
cores <- max(1L, parallel::detectCores(), na.rm = TRUE)
lints <- parallel::mclapply(files, function(file) {
  found <- vapply(lintr::lint(file), function(l) {
    sprintf("%s:%d:%d: [%s] %s", file, l$line_number, l$column_number, l$linter, l$message)
  }, "")
  c(found, if (startsWith(file, "R/")) pasted_text(file), recursive = TRUE)
}, mc.cores = if (.Platform$OS.type == "windows") 1L else cores, mc.preschedule = FALSE)

broken <- vapply(lints, inherits, NA, "try-error") | vapply(lints, is.null, NA)
found <- unlist(lints[!broken])
writeLines(sort(c(found, sprintf("%s: could not be read", files[broken]))))
cat(sprintf("%d files, %d lints\n", length(files), length(found)))
quit(status = if (length(found) > 0 || any(broken)) 1 else 0)
