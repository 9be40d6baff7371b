# Sources into states (R/source.R, R/state-update.R).

# take(state, piece) -> state
update_from_source <- function(state, source, take) {
  pieces <- 0
  whole <- FALSE
  read <- function(value) {
    rlang::try_fetch(value, error = function(cnd) {
      stop_input("In piece {pieces} of {source$label}.", class = "source", parent = cnd)
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
    stop_if(!is.data.frame(piece), "A source must yield data frames.",
            "x" = "Piece {pieces} is {.cls {class(piece)[1]}}.", class = "source")
    state <- read(take(state, piece))
    if (!is.null(progress) && !is.na(from$done())) progress(from$done())
  }
  whole <- TRUE
  read(from$close())
  state
}

# A state per source, in the workers of the user's plan where there are any; merged in the order of the list.
update_from_sources <- function(state, sources, take) {
  # a worker gets its own source only
  empty <- new_state(state$spec)
  read <- sealed(function(source) update_from_source(empty, source, take), empty = empty, take = take)
  parts <- said_once(over_workers(sources, read), "direction")
  Reduce(function(a, b) merge_states(a, b), parts, state)
}
