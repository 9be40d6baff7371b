# Matrices of pairs that a user asks for: an error before the memory is gone, rather than an end of the session.

check_memory <- function(rows, cols, what) {
  need <- 8 * as.numeric(rows) * as.numeric(cols)
  # R copies a matrix in nearly everything that is done with it
  if (need > available_memory() / 2) stop_memory(what, c(rows, cols), need)
}

stop_memory <- function(what, size, need) {
  sizes <- if (!is.null(size)) count_text(size)
  stop_input("There must be memory for {what}, and as much again to work with it.", "x" = if (is.null(need)) {
    "More was needed than could be had."
  } else {
    "With {sizes[1]} rows and {sizes[2]} columns it needs {gigabytes(need)}; {gigabytes(available_memory())} are free."
  }, "i" = "Take fewer rows: the package's own estimators need no matrix of pairs.", class = "memory")
}

gigabytes <- function(bytes) paste(format(bytes / 2^30, digits = 3), "GB")

# Free memory in bytes as the system reports it; otherwise R's own limit.
available_memory <- function(file = "/proc/meminfo") {
  lines <- tryCatch(suppressWarnings(readLines(file)), error = function(e) character())
  free <- grep("^MemAvailable:", lines, value = TRUE)
  if (length(free) == 1) return(1024 * as.numeric(gsub("[^0-9]", "", free)))
  2^20 * mem.maxVSize()
}
