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
