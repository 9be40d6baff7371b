# What every benchmark shares: the machine in words, timing, tables, and runs of a script
# under another number of BLAS threads.

bench_header <- function(title) {
  cpu <- tryCatch({
    line <- grep("model name", readLines("/proc/cpuinfo"), value = TRUE)[1]
    sub(".*: ", "", line)
  }, error = function(e) Sys.info()[["machine"]])
  info <- utils::sessionInfo()
  commit <- system2("git", c("rev-parse", "--short=8", "HEAD"), stdout = TRUE)
  c(
    paste("#", title), "",
    paste0(cpu, ", ", parallel::detectCores(), " cores; ", R.version.string, "; BLAS ",
           basename(normalizePath(info$BLAS)), "; calibrisk ", utils::packageVersion("calibrisk"), " at ", commit,
           ". Rendered by `", paste("Rscript", bench_script()), "`."), ""
  )
}

bench_script <- function() {
  file <- sub("--file=", "", grep("--file=", commandArgs(), value = TRUE, fixed = TRUE))
  file.path("bench", basename(file))
}

# Smallest elapsed time: the one that other work disturbed least. At least `times` runs, short
# ones for half a second.
seconds <- function(expr, times = 3) {
  expr <- substitute(expr)
  frame <- parent.frame()
  best <- Inf
  total <- 0
  runs <- 0
  while (runs < times || (total < 0.5 && runs < 200)) {
    gc(FALSE)
    start <- Sys.time()
    eval(expr, frame)
    elapsed <- as.numeric(Sys.time() - start, units = "secs")
    best <- min(best, elapsed)
    total <- total + elapsed
    runs <- runs + 1
    if (times == 1) break
  }
  best
}

markdown_table <- function(frame) {
  cells <- vapply(frame, function(column) {
    if (!is.numeric(column)) return(column)
    text <- trimws(formatC(column, digits = 3, format = "fg", big.mark = ","))
    ifelse(is.na(column), "", text)
  }, character(nrow(frame)))
  rows <- apply(matrix(cells, nrow(frame)), 1, function(row) paste0("| ", paste(row, collapse = " | "), " |"))
  c(
    paste0("| ", paste(names(frame), collapse = " | "), " |"),
    paste0("|", strrep(" --- |", ncol(frame))),
    rows, ""
  )
}

# Runs code in a fresh R with the given number of threads for the package and the BLAS;
# the value of its last expression comes back.
with_threads <- function(threads, code) {
  out <- tempfile(fileext = ".rds")
  script <- tempfile(fileext = ".R")
  writeLines(c(
    "library(calibrisk)", "source('bench/setup.R')", paste0("threads <- ", threads, "L"),
    "options(calibrisk.threads = threads)",
    "value <- {", code, "}", paste0("saveRDS(value, '", out, "')")
  ), script)
  env <- paste0(c("OPENBLAS", "OMP", "MKL", "BLIS"), "_NUM_THREADS=", threads)
  status <- system2(file.path(R.home("bin"), "Rscript"), script, env = env)
  if (status != 0) stop("A benchmark run failed.")
  readRDS(out)
}

# The value of `code` by loops of `n` threads, in this process.
on_threads <- function(n, code) {
  old <- options(calibrisk.threads = n)
  on.exit(options(old))
  code
}

# Processor time of all threads together: what is left of a timing on a busy machine.
processor_seconds <- function(expr, times = 3) {
  expr <- substitute(expr)
  frame <- parent.frame()
  min(vapply(seq_len(times), function(i) sum(system.time(eval(expr, frame))[c("user.self", "sys.self")]), 0))
}

# Largest memory that this process has held, in GB; NA where the system does not say.
peak_memory <- function() {
  status <- tryCatch(readLines("/proc/self/status"), error = function(e) character())
  peak <- gsub("[^0-9]", "", status[startsWith(status, "VmHWM")])
  if (length(peak) == 1) as.numeric(peak) / 1024^2 else NA_real_
}

softmax <- function(z) {
  z <- exp(z - apply(z, 1, max))
  z / rowSums(z)
}

# Dirichlet truths, over-confident predictions.
canonical_data <- function(n, k, seed = 1) {
  set.seed(seed)
  log_gamma <- matrix(log(rgamma(n * k, 1.2)) + log(runif(n * k)) / 0.2, n)
  truth <- softmax(log_gamma)
  list(probs = softmax(1.5 * log_gamma), truth = apply(truth, 1, function(q) sample.int(k, 1, prob = q)))
}

# Outputs of a network on real data: folder/name of the prediction sets, whose place is in
# CALIBRISK_SHARED; NULL where they are not at hand.
network_data <- function(name) {
  file <- file.path(Sys.getenv("CALIBRISK_SHARED", "../shared"), "data", paste0(name, ".rds"))
  if (!file.exists(file)) return(NULL)
  set <- readRDS(file)
  probs <- if (is.null(set$probs)) softmax(set$logits) else set$probs
  list(probs = probs / rowSums(probs), truth = as.integer(set$label))
}
