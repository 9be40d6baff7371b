# How the scripts of this folder name their data and store what they compute. A script sources this file from the
# project's root, wraps each result in result(), and is run by
#
#   make papers PAPER=widmann-2021 [PARTS='rates friedman']
#
# Results are data frames, with six digits unless `digits` says more, in vignettes/precomputed/<paper>.rds, a list
# with one entry per result, the data frame `about` (result, script, commit, seed, repetitions, date, seconds) and the
# scripts themselves, as lines, which the page shows.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
paper <- sub("[.]R$", "", basename(script))
stopifnot("run the script of a paper by Rscript, from the project's root" = length(paper) == 1, file.exists(script))
parts <- commandArgs(trailingOnly = TRUE)
wanted <- function(name) length(parts) == 0 || name %in% parts

# ---- Data ------------------------------------------------------------------------------------
# Files of the folder `shared/data`, which is beside the project or named by CALIBRISK_SHARED.
shared_data <- function(...) {
  path <- file.path(Sys.getenv("CALIBRISK_SHARED", file.path("..", "shared")), "data", ...)
  if (any(missing <- !file.exists(path))) stop("There is no ", toString(path[missing]), "; see CONTRIBUTING.md.")
  path
}
softmax <- function(z) {
  z <- exp(z - apply(z, 1, max))
  z / rowSums(z)
}
# A network's outputs: `probs` (absent in `toplabel/`, which has `confidence` and `pred`), `logits` or NULL, `truth`.
read_network <- function(folder, name) {
  set <- readRDS(shared_data(folder, paste0(name, ".rds")))
  set$truth <- as.integer(set$label)
  if (!is.null(set$logits)) set$probs <- softmax(set$logits)
  if (!is.null(set$probs)) set$probs <- set$probs / rowSums(set$probs)
  set
}

# ---- Results ---------------------------------------------------------------------------------
results_file <- file.path("vignettes", "precomputed", paste0(paper, ".rds"))
stored <- function(name) if (file.exists(results_file)) readRDS(results_file)[[name]]

# Computes and stores `code`, a data frame, if the part `name` is wanted; a named list of data frames is stored as one
# result each. `seed` and `repetitions` are what the page prints: numbers, or words if there are several.
result <- function(name, code, seed = NA, repetitions = NA, digits = 6) {
  if (!wanted(name)) return(invisible())
  seconds <- system.time(tables <- code)[["elapsed"]]
  if (is.data.frame(tables)) tables <- stats::setNames(list(tables), name)
  for (table in names(tables)) store(table, tables[[table]], seed, repetitions, seconds, digits)
}

store <- function(name, table, seed = NA, repetitions = NA, seconds = NA, digits = 6, source = script) {
  table <- as.data.frame(table)
  rownames(table) <- NULL
  numbers <- vapply(table, is.double, NA)
  table[numbers] <- lapply(table[numbers], signif, digits)
  all <- if (file.exists(results_file)) readRDS(results_file) else list()
  about <- data.frame(
    result = name, script = source, commit = commit(), seed = as.character(seed),
    repetitions = as.character(repetitions), date = format(Sys.Date()), seconds = round(as.numeric(seconds), 1)
  )
  about <- rbind(all$about[all$about$result != name, ], about)
  all[[name]] <- table
  all$about <- about[order(about$result), ]
  dir.create(dirname(results_file), showWarnings = FALSE)
  all$scripts <- lapply(stats::setNames(nm = scripts()), readLines)
  last <- c("about", "scripts")
  saveRDS(all[c(sort(setdiff(names(all), last)), last)], results_file, compress = "xz")
  message(name, ": ", nrow(table), " rows", if (!is.na(seconds)) paste0(", ", round(seconds), " s"))
}

# The paper's script and the files that it sources, except this one: the page shows them.
scripts <- function() {
  lines <- grep("^ *(Rcpp::sourceCpp|source)\\(\"", readLines(script), value = TRUE)
  sourced <- sub("^[^\"]*\"([^\"]+)\".*", "\\1", lines)
  c(script, setdiff(sourced, "data-raw/papers/store.R"))
}

# The last commit of the main branch that the sources contain: it outlives a rebase of a branch.
commit <- function() {
  git <- function(...) suppressWarnings(system2("git", c(...), stdout = TRUE, stderr = FALSE))
  base <- git("merge-base", "HEAD", "main")
  if (length(base) == 0) base <- "HEAD"
  short <- git("rev-parse", "--short", base)
  if (length(short) == 0) NA_character_ else short
}

# Numbers that a paper or its authors published, from data-raw/papers/published/<paper>-<name>.csv.
published <- function(name = "published") {
  if (!wanted(name)) return(invisible())
  file <- file.path("data-raw", "papers", "published", paste0(paper, "-", name, ".csv"))
  store(name, utils::read.csv(file), source = file)
}
