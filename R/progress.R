# Progress bars (shown after cli's delay); none where nobody watches.

bar_format <- "{cli::pb_name} {cli::pb_bar} {cli::pb_percent} {cli::pb_eta_str}"

# fn(progress) under a progress bar.
with_bar <- function(label, fn) fn(progress_callback(label, environment()))

# A progress bar as the callback of the fraction done, which ends with the function of `env`.
progress_callback <- function(name, env = parent.frame()) {
  if (!rlang::is_interactive()) return(NULL)
  id <- cli::cli_progress_bar(name, total = 1, clear = TRUE, .envir = env, format = bar_format)
  function(fraction) cli::cli_progress_update(set = fraction, id = id, .envir = env)
}

# One progress bar for a tuning run: every method on every problem is one step.
tune_progress <- function(methods, problems) {
  n_steps <- length(methods) * length(problems)
  shown <- rlang::is_interactive()
  env <- environment()
  id <- if (shown) {
    cli::cli_progress_bar("Tuning", total = n_steps, clear = TRUE, .envir = env, format = bar_format)
  }
  caches <- lapply(problems, function(problem) new.env(parent = emptyenv()))
  finished <- 0
  list(
    cache = function(j) caches[[j]],
    step = function() {
      from <- finished
      finished <<- finished + 1
      if (shown) function(fraction) cli::cli_progress_update(set = from + fraction, id = id, .envir = env)
    },
    done = function() if (shown) cli::cli_progress_done(id, .envir = env)
  )
}
