# Writes into src/Makevars which headers of the project each unit of src/ includes, as plain rules
# of make: what a changed header does not reach is not compiled again.
#
#   Rscript tools/dependencies.R

dependencies_start <- "# units and their headers; written by tools/dependencies.R"

# Headers that a file includes, directly: "x.h" beside it in src/, <calibrisk/x.h> of the core.
included_headers <- function(file, src) {
  lines <- grep("^#include", readLines(file), value = TRUE)
  name <- sub('^#include *[<"]([^>"]*)[>"].*', "\\1", lines)
  path <- paste0(src, ifelse(grepl('"', lines), "/", "/../inst/include/"), name, recycle0 = TRUE)
  path[file.exists(path)]
}

all_headers <- function(file, src) {
  found <- character()
  todo <- included_headers(file, src)
  while (length(todo) > 0) {
    found <- c(found, todo)
    todo <- setdiff(unlist(lapply(todo, included_headers, src)), found)
  }
  sort(unique(found), method = "radix")
}

dependency_rules <- function(src = "src") {
  units <- sort(list.files(src, "[.]cpp$"), method = "radix")
  rules <- lapply(units, function(unit) {
    headers <- all_headers(file.path(src, unit), src)
    if (length(headers) == 0) return(NULL)
    headers <- substring(headers, nchar(src) + 2)
    c(paste0(sub("[.]cpp$", ".o:", unit), " \\"), paste0("  ", headers[-length(headers)], " \\", recycle0 = TRUE),
      paste0("  ", headers[length(headers)]))
  })
  c(dependencies_start, "all: $(SHLIB)", unlist(rules))
}

# src/Makevars without the rules: the flags.
makevars_flags <- function(src = "src") {
  lines <- readLines(file.path(src, "Makevars"))
  lines[seq_along(lines) < match(dependencies_start, lines, nomatch = length(lines) + 1)]
}

# Written only where something changed: make compares dates.
write_dependencies <- function(src = "src") {
  file <- file.path(src, "Makevars")
  lines <- c(makevars_flags(src), dependency_rules(src))
  if (!identical(readLines(file), lines)) writeLines(lines, file)
}

if (sys.nframe() == 0) write_dependencies()
