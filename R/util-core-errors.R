# Errors of the C++ core reach the user as errors of the package, with the function that was called and the core's
# message. Every export of the core is wrapped here, when the package is built: this file is read after them.

core_call <- function(value) {
  # R checks for an interrupt or a time limit (setTimeLimit()) once in a thousand calls, which may take minutes
  check_interrupt()
  # half of what tryCatch() takes
  withCallingHandlers(value, error = raise_core_error)
}

raise_core_error <- function(cnd) {
  call <- called_verb()
  if (is_out_of_memory(cnd)) stop_memory("the computation", NULL, NULL, call)
  if (!inherits(cnd, "C++Error")) return()
  message <- conditionMessage(cnd)
  stop_input("The computation could not be done.", "x" = "{message}",
             "i" = "Check the sizes of the arguments: they have to fit to each other.", class = "core",
             exception = class(cnd)[1], call = call)
}

# The frame of the outermost function of the package: what the user called.
called_verb <- function() {
  inside <- vapply(sys.frames(), function(frame) {
    identical(topenv(frame), topenv()) && !identical(frame, topenv())
  }, NA)
  if (any(inside)) sys.frames()[[which(inside)[1]]] else caller_env()
}

local({
  namespace <- topenv()
  for (name in ls(namespace, pattern = "^cpp_")) {
    export <- get(name, namespace)
    body(export) <- call("core_call", body(export))
    assign(name, export, namespace)
  }
})
