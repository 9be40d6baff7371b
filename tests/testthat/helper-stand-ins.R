# Functions of a package that others stand in for until the end of the test.
local_stand_ins <- function(stand_ins, package = "calibrisk", frame = parent.frame()) {
  namespace <- asNamespace(package)
  own <- mget(names(stand_ins), envir = namespace)
  put <- function(functions) {
    for (name in names(functions)) {
      unlockBinding(name, namespace)
      assign(name, functions[[name]], namespace)
      lockBinding(name, namespace)
    }
  }
  withr::defer(put(own), frame)
  put(stand_ins)
}

# Curves without slope and error, the numbers in the corner of a figure, which take as long as a binned curve: for samples
# of curves.
local_no_numbers <- function(frame = parent.frame()) {
  local_stand_ins(list(curve_numbers = function(problem) list(slope = NA_real_, error = NA_real_)), frame = frame)
}
