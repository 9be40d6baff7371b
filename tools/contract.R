# The contract: all public numbers against tests/testthat/contract/values.
#
#   Rscript tools/contract.R                        prints what changed
#   Rscript tools/contract.R '<pattern>' '<why>'    stores the changed numbers whose key matches (a regular
#                                                   expression), and lists the change in contract/CHANGES.md
#
# New keys are stored in the same way. Uses the installed package: run tools/install.R first.

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))
library(calibrisk)

dir <- "tests/testthat/contract"
# as in the tests: with the functions that are not exported
engine <- new.env(parent = asNamespace("calibrisk"))
sys.source(file.path(dir, "engine.R"), engine)
invisible(list2env(as.list(engine), environment()))

args <- commandArgs(trailingOnly = TRUE)
pattern <- if (length(args) > 0 && nzchar(args[1])) args[1]
why <- if (length(args) > 1 && nzchar(args[2])) args[2]

store_matching <- function(section, stored, now, keys) {
  stored <- stored[!stored$key %in% keys, ]
  contract_store(dir, section, rbind(stored, now[now$key %in% keys, ]))
}

note_change <- function(pattern, why, changes) {
  kinds <- c(changed = sum(!is.na(changes$was) & !is.na(changes$is)), new = sum(is.na(changes$was)),
             gone = sum(is.na(changes$is)))
  kinds <- kinds[kinds > 0]
  line <- sprintf("- `%s` (%s): %s", pattern, paste(kinds, names(kinds), collapse = ", "), why)
  cat(line, "\n", sep = "", file = file.path(dir, "CHANGES.md"), append = TRUE)
}

options(calibrisk.threads = as.integer(Sys.getenv("CALIBRISK_CONTRACT_THREADS", "2")))
all <- NULL
for (section in contract_sections(dir)) {
  time <- sum(system.time(now <- contract_now(dir, section))[1:2])
  stored <- contract_stored(dir, section)
  changes <- contract_changes(stored, now)
  cat(sprintf("%-14s %6d numbers, %5d differ, %4.1f s of processor time\n", section, nrow(now), nrow(changes), time))
  if (!is.null(pattern)) {
    changes <- changes[grepl(pattern, changes$key), ]
    if (nrow(changes) > 0) store_matching(section, stored, now, changes$key)
  }
  all <- rbind(all, changes)
}
if (nrow(all) > 0) print(all, right = FALSE, row.names = FALSE)
if (!is.null(pattern)) {
  cat(nrow(all), "numbers stored.\n")
  if (nrow(all) > 0 && !is.null(why)) note_change(pattern, why, all)
  if (nrow(all) > 0 && is.null(why)) cat("List the change with its reason in", file.path(dir, "CHANGES.md"), "\n")
}
