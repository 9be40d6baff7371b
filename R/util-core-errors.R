# Errors of the C++ core reach the user as errors of the package, with the function that was called and the core's
# message. Every export of the core calls this where C++ has thrown (src/calibrisk_types.h).
raise_core_error <- function(message, exception) {
  if (exception == "std::bad_alloc") stop_memory("the computation", NULL, NULL)
  stop_input("The computation could not be done.", "x" = "{message}", class = "core", exception = exception)
}

# The frame of the function that was called from outside the package, the innermost of several. Functions of base and of
# other packages that it calls, such as lapply(), call on its behalf; so do functions that were made in it, which are
# called from nowhere where they handle a condition.
called_verb <- function() {
  home <- topenv()
  parents <- sys.parents()
  environments <- lapply(seq_along(parents), function(i) environment(sys.function(i)) %||% baseenv())
  ours <- vapply(environments, identical, NA, home)
  made <- !ours & vapply(environments, function(e) identical(topenv(e), home), NA)
  theirs <- vapply(environments, function(e) identical(topenv(e), globalenv()), NA)
  for (i in rev(which(ours))) {
    from <- parents[i]
    while (from > 0 && !ours[from] && !made[from] && !theirs[from]) from <- parents[from]
    if (from == 0 || theirs[from]) return(sys.frames()[[i]])
  }
  if (any(ours)) sys.frames()[[which(ours)[1]]] else caller_env()
}
