# Formulas that are changed one at a time: does a test notice? Each change is made in a copy of R/, on which the named
# test files run and, where these pass, the contract. Nothing is compiled: formulas of the core have the tests of
# tests/core. Fails where a change is not seen.
#
#   Rscript tools/mutations.R [pattern]    those whose file or text matches

formulas <- utils::read.table(sep = "|", quote = "", strip.white = TRUE, header = TRUE, comment.char = "", text = "
file             | text                                    | changed                        | tests
crossfit         | (p - 1) * scale^p * size                | p * scale^p * size             | crossfit
folds            | (seq_len(k) <= n %% k)                  | (seq_len(k) < n %% k)          | folds
ladder           | sum((scores - mean)^3) / n^3            | sum((scores - mean)^3) / n^2   | ladder-rare
ladder-joint     | 2 * one$influence                       | one$influence                  | class-order
ladder-cells     | 2 * c(0, out[k - 1, -m])                | c(0, out[k - 1, -m])           | ladder-cells
skce-sums        | 2 * sums$squares / weight^2             | sums$squares / weight^2        | skce-noise
pair-target      | matern_form(law, 0.5, kernel            | matern_form(law, 1.5, kernel   | pair-target
kernel-distance  | sqrt(laws$probs / 2)                    | sqrt(laws$probs)               | kernel-distribution
hierarchy        | ^(1 / p - 1 / 2)                        | ^(1 / p)                       | hierarchy
recal-temperature | 1 / (fit$b * sqrt(                     | 1 / (sqrt(                     | recal-temperature
recal-variance   | map$w * variance + map$b                | map$w * variance - map$b       | recal-variance
ce-test-null     | exp(-count * (estimate / bound)^2 / 2)  | exp(-count * (estimate / bound)^2) | ce-test
method-ridge     | g / n^(1 / 4)                           | g / sqrt(n)                    | method-ridge
influence        | order * sum(w) * (sums                  | sum(w) * (sums                 | skce
compare-models   | values[at[2, ]], 1 + sqrt(2)            | values[at[2, ]], 9             | compare-models
metric-rbs       | / (8 * root^3)                          | / (4 * root^3)                 | metric-rbs
tune-tables      | std_error / (2 * root)                  | std_error / root               | tune-tables tune
gain-maps        | ^2 + one$noise                          | ^2                             | gain-maps
curve-types      | * c(0.59, 1)                            | * c(1, 1)                      | curve
power-clusters   | sum(cluster_size^2) / sum(cluster_size) - 1 | sum(cluster_size) - 1 | power-clusters
")
if (length(commandArgs(TRUE)) > 0) {
  formulas <- formulas[grepl(commandArgs(TRUE)[1], paste(formulas$file, formulas$text)), ]
}

# R/ is changed, and failing tests write beside their snapshots
project <- getwd()
copy <- tempfile("mutations-")
dir.create(copy)
linked <- setdiff(list.files(), c("R", "tests"))
invisible(file.symlink(file.path(project, linked), file.path(copy, linked)))
invisible(file.copy(c("R", "tests"), copy, recursive = TRUE))
Sys.setenv(NOT_CRAN = "true", CALIBRISK_SHARED = Sys.getenv("CALIBRISK_SHARED", file.path(dirname(project), "shared")))
setwd(copy)
log <- tempfile()
# the first failure is enough
pass <- function(stems) {
  filter <- shQuote(paste0("^(", gsub(" ", "|", stems), ")$"))
  system2(file.path(R.home("bin"), "Rscript"), c("tools/try.R", filter, "stop"), stdout = log, stderr = log) == 0
}

# "": the change is not seen
seen_by <- function(file, text, changed, tests) {
  path <- file.path("R", paste0(file, ".R"))
  code <- readLines(path)
  at <- grep(text, code, fixed = TRUE)
  if (length(at) != 1) stop(path, " has ", length(at), " lines with ", text, call. = FALSE)
  mutant <- replace(code, at, sub(text, changed, code[at], fixed = TRUE))
  parse(text = mutant)
  on.exit(writeLines(code, path))
  writeLines(mutant, path)
  if (!pass(tests)) tests else if (!pass("contract")) "contract" else ""
}

if (!pass(paste(unique(formulas$tests), collapse = " "))) {
  writeLines(utils::tail(readLines(log), 40))
  stop("The tests fail before anything is changed.")
}
seen <- vapply(seq_len(nrow(formulas)), function(i) {
  by <- do.call(seen_by, formulas[i, ])
  cat(sprintf("%-22s %-42s %s\n", formulas$file[i], formulas$text[i], if (by == "") "NOT SEEN" else by))
  by != ""
}, NA)
cat(sum(seen), "of", length(seen), "changes are seen.\n")
quit(status = if (all(seen)) 0 else 1)
