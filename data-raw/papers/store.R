# How the scripts of this folder name their data and store what they compute. A script sources this file from the
# project's root, wraps each result in result(), and is run by
#
#   make papers PAPER=widmann-2021 [PARTS='rates friedman']   (PARTS=quick: those that the check computes)
#   make check-papers [PAPER=...]
#
# The check stores nothing. It computes the results that took less than `quick` seconds, and of others what `spot`
# gives, and compares them with the stored ones to three digits. It prints the part, the stored number and the current
# one, and fails.
#
# Results are data frames, with six digits unless `digits` says more, in vignettes/precomputed/<paper>.rds, a list
# with one entry per result, the data frame `about` (result, script, commit, seed, repetitions, date, seconds) and the
# scripts themselves, as lines, which the page shows.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
paper <- sub("[.]R$", "", basename(script))
stopifnot("run the script of a paper by Rscript, from the project's root" = length(paper) == 1, file.exists(script))
parts <- commandArgs(trailingOnly = TRUE)
checking <- "check" %in% parts
only_quick <- "quick" %in% parts || identical(parts, "check")
parts <- setdiff(parts, c("check", "quick"))
wanted <- function(name) if (only_quick) is_quick(name) else length(parts) == 0 || name %in% parts
quick <- 10

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

# Does the check compute all rows of a stored result? Running times are never compared.
is_quick <- function(name) {
  about <- stored("about")
  isTRUE(about$checked[about$result == name] == "all")
}

# Computes and stores `code`, a data frame, if the part `name` is wanted; a named list of data frames is stored as one
# result each. `seed` and `repetitions` are what the page prints: numbers, or words if there are several. `spot`
# computes some rows of a long result, for the check; `timed`: the numbers are running times.
result <- function(name, code, seed = NA, repetitions = NA, digits = 6, spot = NULL, timed = FALSE) {
  if (!wanted(name)) return(invisible(if (checking && only_quick && !is.null(spot)) compare(name, spot)))
  seconds <- sum(system.time(tables <- code)[-3]) # of the processor: other programs do not matter
  if (is.data.frame(tables)) tables <- stats::setNames(list(tables), name)
  checked <- if (timed) NA else if (seconds < quick) "all" else if (!missing(spot)) "some" else NA
  for (table in names(tables)) store(table, tables[[table]], seed, repetitions, seconds, digits, checked = checked)
}

store <- function(name, table, seed = NA, repetitions = NA, seconds = NA, digits = 6, source = script, checked = NA) {
  if (checking) return(compare(name, table))
  table <- as.data.frame(table)
  rownames(table) <- NULL
  numbers <- vapply(table, is.double, NA)
  table[numbers] <- lapply(table[numbers], signif, digits)
  all <- if (file.exists(results_file)) readRDS(results_file) else list()
  about <- data.frame(
    result = name, script = source, commit = commit(), seed = as.character(seed),
    repetitions = as.character(repetitions), date = format(Sys.Date()), seconds = round(as.numeric(seconds), 1),
    version = as.character(utils::packageVersion("calibrisk")), checked = checked
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

# Prints where `table` differs from the stored result: other rows or words, or another number in the third digit. Rows
# are found by their words; `table` may have some rows only.
faults <- 0
compare <- function(name, table) {
  before <- stored(name)
  table <- as.data.frame(table)
  keys <- names(table)[!vapply(table, is.numeric, NA)]
  key <- function(x) if (length(keys) > 0) do.call(paste, unname(as.list(x[keys]))) else rep("", nrow(x))
  number <- function(k) stats::ave(seq_along(k), k, FUN = seq_along) # of rows with the same words
  same_columns <- !is.null(before) && setequal(names(table), names(before))
  at <- if (same_columns) match(paste(key(table), number(key(table))), paste(key(before), number(key(before))))
  differs <- if (!same_columns) "other columns" else if (anyNA(at)) paste("no stored row", key(table)[is.na(at)][1])
  if (is.null(differs)) {
    differs <- unlist(lapply(setdiff(names(table), keys), function(column) {
      was <- before[[column]][at]
      now <- table[[column]]
      unit <- 10^(floor(log10(pmax(abs(was), 1e-12))) - 2)
      bad <- which(is.na(was) != is.na(now) | (!is.na(was) & was != now & abs(was - now) > unit / 2))
      sprintf("%s, %s: stored %.4g, now %.4g", key(table)[bad], column, was[bad], now[bad])
    }))
  }
  faults <<- faults + length(differs)
  some <- utils::head(differs, 5)
  cat(sprintf("%s, %s: %s\n", paper, name, if (length(differs) == 0) "agrees" else paste(length(differs), "differ")))
  cat(sprintf("  %s\n", some), sep = "")
  invisible()
}
# at the end of the script
if (checking) .Last <- function() if (faults > 0) quit(status = 1, runLast = FALSE)

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
  if (!wanted(name) && !(checking && only_quick)) return(invisible())
  file <- file.path("data-raw", "papers", "published", paste0(paper, "-", name, ".csv"))
  store(name, utils::read.csv(file), source = file)
}
