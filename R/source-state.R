# Sources into states (R/source.R, R/state-update.R).

# take(state, piece) -> state
update_from_source <- function(state, source, take, call) {
  pieces <- 0
  whole <- FALSE
  read <- function(value) {
    rlang::try_fetch(value, error = function(cnd) {
      stop_input("In piece {pieces} of {source$label}.", "source", parent = cnd, call = call)
    })
  }
  from <- read(source$open())
  # what went wrong before is what there is to say
  on.exit(if (!whole) suppressWarnings(try(from$close(), silent = TRUE)))
  progress <- progress_callback("Reading")
  repeat {
    pieces <- pieces + 1
    piece <- read(from$pull())
    if (is.null(piece)) break
    if (!is.data.frame(piece)) {
      stop_input(c("A source must yield data frames.", "x" = "Piece {pieces} is {.cls {class(piece)[1]}}."), "source",
                 call = call)
    }
    state <- read(take(state, piece))
    if (!is.null(progress) && !is.na(from$done())) progress(from$done())
  }
  whole <- TRUE
  read(from$close())
  state
}

# A state per source, in the workers of the user's plan where there are any; merged in the order of the list.
update_from_sources <- function(state, sources, take, call) {
  parallel <- rlang::is_installed("future.apply")
  step <- if (parallel && rlang::is_installed("progressr")) progressr::progressor(along = sources)
  one <- source_reader(ce_state(state$spec), take, step)
  parts <- if (parallel) {
    from_workers(future.apply::future_lapply(sources, one, future.packages = "calibrisk"), call)
  } else {
    lapply(sources, one)
  }
  Reduce(function(a, b) merge_states(a, b, call), parts, state)
}

# What a worker says of its source is an error of ours already; all else is of the workers: one that was killed, a
# connection or a queue that broke.
from_workers <- function(value, call) {
  rlang::try_fetch(value, error = function(cnd) {
    if (inherits(cnd, "calibrisk_error")) rlang::cnd_signal(cnd)
    stop_input(c(
      "The workers must return a state per source.",
      "x" = "One did not: it died, or its connection broke.",
      "i" = "The state is as before. Set the plan again, {.code future::plan()}, and repeat."
    ), c("worker", "source"), parent = cnd, call = call)
  })
}

# What a worker is sent: no source but its own.
source_reader <- function(empty, take, step) {
  force(list(empty, take, step))
  function(source) {
    out <- update_from_source(empty, source, take, NULL)
    if (!is.null(step)) step()
    out
  }
}
