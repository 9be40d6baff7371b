# The contract: every public number of the package, as stored in values/, computed again.
#
# pins-<section>.R calls pin(key, value) for each result. numbers() takes a result apart: short frames and vectors
# number by number, long ones by a few fixed projections. values/<section>.csv has one line per number.

# Tolerances, and why a number has another one than `exact`.
tolerances <- list(
  exact = c(relative = 1e-10, absolute = 1e-13),
  # optimisers stop at a tolerance of their own
  iterated = c(relative = 1e-6, absolute = 1e-9),
  # a network's optimum is flat: the iterations end elsewhere after other roundings
  network = c(relative = 5e-3, absolute = 1e-3),
  # standard errors that are 0 but for rounding, whose root is taken
  rounding = c(relative = 1e-6, absolute = 1e-6)
)

ledger <- new.env()

# Evaluates `value` with a seed of its own, so that no entry depends on another. An error is recorded by its class.
pin <- function(key, value, why = "exact", seed = 1) {
  value <- tryCatch(
    withr::with_seed(seed, suppressWarnings(suppressMessages(numbers(value))),
                     .rng_kind = "Mersenne-Twister", .rng_normal_kind = "Inversion", .rng_sample_kind = "Rejection"),
    error = function(cnd) c("!error" = class(cnd)[1])
  )
  if (any(paste0(key, names(value)) %in% ledger$keys)) stop("The contract has the key ", key, " twice.")
  ledger$keys <- c(ledger$keys, paste0(key, names(value)))
  ledger$values <- c(ledger$values, unname(value))
  ledger$why <- c(ledger$why, rep(why, length(value)))
  invisible()
}

# Named character vector: what is pinned of a result.
numbers <- function(x, name = "") {
  if (is.data.frame(x)) return(frame_numbers(x, name))
  if (inherits(x, "htest")) return(frame_numbers(glance(x), name))
  if (is.list(x)) {
    parts <- lapply(seq_along(x), function(i) {
      numbers(x[[i]], paste0(name, "/", if (is.null(names(x))) i else names(x)[i]))
    })
    return(unlist(parts))
  }
  if (is.character(x)) return(stats::setNames(x, paste0(name, "[", seq_along(x), "]")))
  vector_numbers(as.vector(x), name)
}

few <- 8
most_rows <- 20

vector_numbers <- function(x, name) {
  if (length(x) == 1) return(stats::setNames(digits(x), name))
  if (length(x) <= few) return(stats::setNames(digits(x), paste0(name, "[", seq_along(x), "]")))
  finite <- x[is.finite(x)]
  weights <- 0.5 + (which(is.finite(x)) * 0.6180339887498949) %% 1
  out <- c(n = length(x), finite = length(finite), sum = sum(finite), weighted = sum(weights * finite))
  if (length(finite) > 0) out <- c(out, min = min(finite), max = max(finite))
  stats::setNames(digits(out), paste0(name, "~", names(out)))
}

digits <- function(x) ifelse(is.na(x) & !is.nan(x), "NA", sprintf("%.15g", as.numeric(x)))

# Columns that repeat a choice of the call, and text that says which path was taken.
repeated <- c("level", "p", "times", "debias")
explained <- c("detail", "below", "kernel", "target_kernel")
told <- c("test", "computation", "selected")

frame_numbers <- function(x, name) {
  x <- as.data.frame(x)
  labels <- vapply(x, function(column) is.character(column) || is.factor(column), NA) & !names(x) %in% explained
  counted <- vapply(x, function(column) is.numeric(column) || is.logical(column) || is.list(column), NA)
  columns <- names(x)[(counted | names(x) %in% told) & !names(x) %in% repeated]
  if (nrow(x) == 0) return(stats::setNames("0", paste0(name, "$rows")))
  label <- row_labels(x[labels], nrow(x))
  out <- lapply(unique(label), function(one) {
    at <- paste0(name, if (one != "") paste0("[", one, "]"))
    lapply(columns, function(column) {
      value <- x[[column]][label == one]
      if (is.list(value)) value <- as.numeric(unlist(value))
      numbers(value, paste0(at, "$", column))
    })
  })
  unlist(out)
}

# Labels that tell the rows apart; in a long frame where they do not, the first one that makes a few groups.
row_labels <- function(labels, n) {
  labels <- lapply(labels, function(column) gsub("[,\"\n]", ";", as.character(column)))
  labels <- labels[vapply(labels, function(column) length(unique(column)) > 1, NA)]
  if (n == 1 || n > few && length(labels) == 0) return(rep("", n))
  label <- rep("", n)
  for (column in labels) {
    if (!anyDuplicated(label)) break
    label <- ifelse(label == "", column, paste(label, column))
  }
  if (anyDuplicated(label) > 0 && n > most_rows) {
    labels <- labels[vapply(labels, function(column) length(unique(column)) <= few, NA)]
    return(if (length(labels) > 0) labels[[1]] else rep("", n))
  }
  again <- stats::ave(seq_len(n), label, FUN = seq_along)
  ifelse(label == "", again, ifelse(again > 1, paste(label, again), label))
}

contract_sections <- function(dir) sub("^pins-(.*)\\.R$", "\\1", list.files(dir, "^pins-.*\\.R$"))

# The section's numbers as they are now.
contract_now <- function(dir, section) {
  env <- new.env(parent = environment(pin))
  ledger$keys <- ledger$values <- ledger$why <- character()
  # most functions run once or twice: compiling them takes longer
  jit <- compiler::enableJIT(0)
  on.exit(compiler::enableJIT(jit))
  for (name in c("kernel-matrix", "oracle-ckce", "score-parts", "ucme")) {
    sys.source(file.path(dirname(dir), paste0("helper-", name, ".R")), env)
  }
  sys.source(file.path(dir, "data.R"), env)
  withr::with_seed(1, sys.source(file.path(dir, paste0("pins-", section, ".R")), env))
  data.frame(key = ledger$keys, value = ledger$values, why = ledger$why)
}

values_file <- function(dir, section) file.path(dir, "values", paste0(section, ".csv"))

contract_stored <- function(dir, section) {
  file <- values_file(dir, section)
  if (!file.exists(file)) return(data.frame(key = character(), value = character(), why = character()))
  stored <- utils::read.csv(file, colClasses = "character", na.strings = character(), quote = "")
  stored$why <- stored$tolerance
  stored$why[stored$why == ""] <- "exact"
  stored[c("key", "value", "why")]
}

contract_store <- function(dir, section, table) {
  table <- table[order(table$key, method = "radix"), ]
  table$tolerance <- ifelse(table$why == "exact", "", table$why)
  file <- file(values_file(dir, section), "wb")
  on.exit(close(file))
  utils::write.table(table[c("key", "value", "tolerance")], file, sep = ",", quote = FALSE, row.names = FALSE)
}

# Numbers that differ, or whose tolerance does: key, was, is (NA where there is none).
contract_changes <- function(was, is) {
  both <- merge(was, is, by = "key", all = TRUE, suffixes = c(".was", ".is"), sort = FALSE)
  both <- both[order(both$key, method = "radix"), ]
  kept <- !is.na(both$value.was) & !is.na(both$value.is)
  other <- kept & both$why.was != both$why.is
  same <- kept & !other
  compared <- both[same, ]
  same[same] <- as.logical(mapply(same_number, compared$value.was, compared$value.is, tolerances[compared$why.is]))
  for (side in c("was", "is")) {
    value <- paste0("value.", side)
    both[[value]][other] <- paste0(both[[value]], " (", both[[paste0("why.", side)]], ")")[other]
  }
  data.frame(key = both$key, was = both$value.was, is = both$value.is)[!same, ]
}

same_number <- function(was, is, tolerance) {
  if (was == is) return(TRUE)
  x <- suppressWarnings(as.numeric(c(was, is)))
  if (any(!is.finite(x))) return(FALSE)
  abs(x[2] - x[1]) <= tolerance[["relative"]] * abs(x[1]) + tolerance[["absolute"]]
}

# Text of the changes, at most `most` of them.
contract_report <- function(changes, section, most = 25) {
  if (nrow(changes) == 0) return("")
  shown <- utils::head(changes, most)
  text <- function(x, none) ifelse(is.na(x), none, x)
  relative <- suppressWarnings(as.numeric(shown$is) / as.numeric(shown$was) - 1)
  lines <- paste0(
    "  ", format(shown$key), "  was ", format(text(shown$was, "(not there)")), "  is ",
    format(text(shown$is, "(gone)")), ifelse(is.finite(relative), sprintf("  (%+.1e)", relative), "")
  )
  more <- nrow(changes) - nrow(shown)
  paste(c(
    sprintf("%d number%s of the contract changed (%s):", nrow(changes), if (nrow(changes) == 1) "" else "s", section),
    lines,
    if (more > 0) sprintf("  ... and %d more; `make contract` shows all.", more),
    "Not intended: mend the code. Intended: `make contract KEYS='<pattern>' REASON='<why>'` stores the new",
    "numbers of the matching keys and lists the change in contract/CHANGES.md."
  ), collapse = "\n")
}
