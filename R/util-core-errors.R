# Errors of the C++ core reach the user as errors of the package, with the function that was called and the core's
# message. Every export of the core calls this where C++ has thrown (src/calibrisk_types.h).
raise_core_error <- function(message, exception) {
  call <- called_verb()
  if (exception == "std::bad_alloc") stop_memory("the computation", NULL, NULL, call)
  stop_input("The computation could not be done.", "x" = "{message}", class = "core", exception = exception,
             call = call)
}

# The frame of the outermost function of the package: what the user called.
called_verb <- function() {
  inside <- vapply(sys.frames(), function(frame) {
    identical(topenv(frame), topenv()) && !identical(frame, topenv())
  }, NA)
  if (any(inside)) sys.frames()[[which(inside)[1]]] else caller_env()
}
