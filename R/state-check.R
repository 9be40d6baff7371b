# States come back from files and other processes: their sums must be those of their choices and rows.

check_state <- function(x) {
  stop_if(!is_state(x), "All that is merged with a state must be a {.cls ce_state}.",
          "x" = "One is {.cls {class(x)[1]}}.", "i" = "{.code update(state, data, truth)} adds rows.",
          class = c("state", "argument"))
  # the sums of other versions are others
  stop_if(!identical(.subset2(x, "version"), state_version), "The state must be of this version of the package.",
          "x" = "It is of version {describe(.subset2(x, 'version'))}, not {.val {state_version}}.",
          "i" = "Update and merge it with the version that made it, or make it anew.", class = c("state", "version"))
  spec <- x$spec
  derived <- c("edges", "inner", "fine")
  stop_if(length(spec$bins) != spec$n_bins + 1 || !same_values(state_edges(spec[setdiff(names(spec), derived)]), spec),
          "The cells of a state must be those of its options.", "x" = "Fields of {.field spec} were changed or lost.",
          class = c("state", "argument"), arg = "state")
  problems <- if (is.null(x$about)) 0 else if (x$about$notion == "class_wise") length(x$about$levels) else 1
  cpp_check_sums(x$sums, lapply(seq_len(problems), sums_sizes, spec, x$about), x$n)
  x
}

# The sums of a problem: how many there are of each, and of how many moments in turn (0: of any numbers).
sums_sizes <- function(problem, spec, about) {
  classes <- about$notion == "class_wise"
  out <- lapply(sums_dim(spec, about), function(dim) c(prod(dim), dim[1]))
  out$scores[2] <- 0
  if (!is.null(out$fine) && (about$blocked || classes)) out$fine[2] <- 0
  if (classes && problem == 1) out$cross <- c(choose(length(about$levels) + 1, 2), 0)
  out
}

# Up to what is lost where numbers are saved as text.
same_values <- function(a, b) {
  if (is.list(a) && is.list(b)) {
    return(identical(names(a), names(b)) && identical(class(a), class(b)) && all(mapply(same_values, a, b)))
  }
  if (!is.numeric(a) || !is.numeric(b)) return(identical(a, b))
  near <- function() all(a == b | is.finite(a) & abs(a - b) <= 1e-12 * pmax(1, abs(a)))
  identical(dim(a), dim(b)) && identical(names(a), names(b)) && length(a) == length(b) && near()
}

# Version of a saved state's content.
state_version <- 9L
