# What no run of the tests shows; fails on both:
#
#   Rscript tools/names.R
#
# A function that two files of R/ define, of which one silently loses its body, and a script (bench/, data-raw/,
# vignettes/, tools/) that calls one of the package's own functions by `calibrisk:::` with other arguments than it has.

source_files <- function(folder) list.files(folder, "[.]R$", full.names = TRUE, recursive = TRUE)
is_definition <- function(e) is.call(e) && identical(e[[1]], quote(`<-`)) && is.name(e[[2]])
defined <- lapply(source_files("R"), function(file) Filter(is_definition, as.list(parse(file, keep.source = FALSE))))
defined <- unlist(defined)
definitions <- vapply(defined, function(e) deparse(e[[2]]), "")
faults <- paste("Defined twice in R/:", unique(definitions[duplicated(definitions)]))[anyDuplicated(definitions) > 0]

# The call is matched as R does; those of C++ have no defaults.
fault_of_call <- function(call) {
  name <- deparse(call[[1]][[3]])
  at <- match(name, definitions)
  if (is.na(at)) return(paste("there is no", name))
  value <- defined[[at]][[3]]
  if (!is.call(value) || !identical(value[[1]], quote(`function`))) return(NULL)
  takes <- eval(call("function", value[[2]], NULL))
  matched <- tryCatch(match.call(takes, call, expand.dots = FALSE), error = conditionMessage)
  if (is.character(matched)) return(paste0(name, ": ", matched))
  lacking <- setdiff(names(formals(takes)), names(matched))
  if (startsWith(name, "cpp_") && length(lacking) > 0) paste0(name, " lacks ", toString(lacking))
}
internal <- quote(calibrisk:::f)[[1]]
faults_of <- function(e) {
  if (missing(e) || !is.recursive(e) || is.environment(e)) return(NULL)
  own <- if (is.call(e) && is.call(e[[1]]) && identical(e[[1]][[1]], internal) && e[[1]][[2]] == "calibrisk") {
    fault_of_call(e)
  }
  c(own, unlist(lapply(as.list(e), faults_of)))
}
for (file in source_files(c("bench", "data-raw", "vignettes", "tools"))) {
  found <- faults_of(parse(file, keep.source = FALSE))
  if (length(found) > 0) faults <- c(faults, paste0(file, ": ", found))
}
if (length(faults) > 0) {
  writeLines(faults)
  quit(status = 1)
}
cat(length(definitions), "names of R/, each defined once; the scripts' calls of them fit\n")
