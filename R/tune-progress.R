# One progress bar for a tuning run: every method on every problem is one step.
tune_progress <- function(methods, problems, progress) {
  n_steps <- length(methods) * length(problems)
  shown <- progress && rlang::is_interactive()
  env <- environment()
  id <- if (shown) {
    cli::cli_progress_bar("Tuning", total = n_steps, clear = TRUE, .envir = env,
                          format = "{cli::pb_name} {cli::pb_bar} {cli::pb_percent} {cli::pb_eta_str}")
  }
  caches <- lapply(problems, function(problem) new.env(parent = emptyenv()))
  finished <- 0
  list(
    cache = function(j) caches[[j]],
    step = function(method, j) {
      from <- finished
      finished <<- finished + 1
      if (shown) function(fraction) cli::cli_progress_update(set = from + fraction, id = id, .envir = env)
    },
    done = function() if (shown) cli::cli_progress_done(id, .envir = env)
  )
}
