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
  kinds <- vapply(seq_along(parents), function(i) frame_kind(environment(sys.function(i)) %||% baseenv(), home), "")
  for (i in rev(which(kinds == "ours"))) {
    from <- parents[i]
    while (from > 0 && kinds[from] == "others") from <- parents[from]
    if (from == 0 || kinds[from] == "theirs") return(sys.frames()[[i]])
  }
  if ("ours" %in% kinds) sys.frames()[[match("ours", kinds)]] else caller_env()
}

frame_kind <- function(env, home) {
  if (identical(env, home)) return("ours")
  if (identical(topenv(env), home)) "made" else if (identical(topenv(env), globalenv())) "theirs" else "others"
}
