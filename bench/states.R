# States: rows that come in chunks of a million, against the same verbs on all rows in memory. One thread; processor
# seconds of the state's work (the rows are made outside of the clock) and the largest memory of the process so far.
library(calibrisk)
source("bench/setup.R")

chunk <- function(seed, n = 1e6) {
  set.seed(seed)
  z <- plogis(rnorm(n, 2, 1.5))
  list(z = z, y = as.numeric(runif(n) < z^1.3), w = rexp(n))
}

empty <- peak_memory()
streamed <- function(millions, weighted = FALSE) {
  state <- ce_state()
  seconds <- 0
  for (seed in seq_len(millions)) {
    data <- chunk(seed)
    w <- if (weighted) data$w
    seconds <- seconds + sum(system.time(state <- update(state, data$z, data$y, weights = w))[1:2])
  }
  file <- tempfile()
  saveRDS(state, file)
  numbers <- sum(system.time(list(on_threads(1, ce_estimate(state)), ce_panel(state)))[1:2])
  tuned <- if (weighted) NA else sum(system.time(on_threads(1, ce_tune(state)))[1:2])
  row <- on_threads(1, ce_estimate(state))
  data.frame(rows = 1e6 * millions, design = if (weighted) "weights" else "independent", update = seconds,
             `headline and panel` = numbers, `Algorithm 1` = tuned, `saved, kB` = file.size(file) / 1024,
             `memory, GB` = peak_memory(), estimate = row$estimate, conf.low = row$conf.low, conf.high = row$conf.high,
             check.names = FALSE)
}
growth <- rbind(streamed(1), streamed(3), streamed(10), streamed(30), streamed(3, TRUE))
slope <- (growth$update[4] - growth$update[1]) / 29

memory <- do.call(rbind, lapply(c(1, 3), function(millions) {
  parts <- lapply(seq_len(millions), chunk)
  z <- unlist(lapply(parts, `[[`, "z"))
  y <- unlist(lapply(parts, `[[`, "y"))
  rm(parts)
  time <- sum(system.time(row <- on_threads(1, ce_estimate(z, y)))[1:2])
  data.frame(rows = 1e6 * millions, `ce_estimate()` = time, `memory, GB` = peak_memory(), estimate = row$estimate,
             conf.low = row$conf.low, conf.high = row$conf.high, check.names = FALSE)
}))

# 100 million rows from a function, one thread of a fresh process: what making the rows takes is on the clock as well
# and given by itself.
long <- with_threads(1, "
  empty <- peak_memory()
  made <- 0
  spent <- 0
  rows <- function() {
    if (made == 100) return(NULL)
    made <<- made + 1
    set.seed(made)
    spent <<- spent + sum(system.time({
      z <- plogis(rnorm(1e6, 2, 1.5))
      out <- data.frame(z = z, y = as.numeric(runif(1e6) < z^1.3))
    })[1:2])
    out
  }
  all <- sum(system.time(state <- update(ce_state(), ce_source(rows), y, z))[1:2])
  row <- ce_estimate(state)
  data.frame(rows = 1e6 * made, `processor s` = all, `of them the rows themselves` = spent,
             `memory, GB` = peak_memory(), `an empty R, GB` = empty, estimate = row$estimate, conf.low = row$conf.low,
             conf.high = row$conf.high, check.names = FALSE)
")

writeLines(c(
  bench_header("States"),
  "Rows of one probability in chunks of a million, processor seconds on one thread:", "",
  markdown_table(growth),
  paste0("A million rows more take ", format(slope, digits = 2), " s; memory is that of a chunk (an empty R ",
         "with the package: ", format(empty, digits = 2), " GB). 100 million rows from `ce_source()` of a function:"),
  "",
  markdown_table(long),
  paste0("The goal, 15 minutes and 1 GB, is ",
         if (long[["processor s"]] < 900 && long[["memory, GB"]] < 1) "met" else "missed", "."), "",
  "The same rows in memory:", "",
  markdown_table(memory)
), "bench/states.md")
