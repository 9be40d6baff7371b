skip_on_os("windows")
for (package in c("future", "future.apply")) skip_if_not_installed(package)

# Sources that hold what they yield: a worker has nothing else.
source_of <- function(data, at_third = function() NULL) {
  force(list(data, at_third))
  asked <- 0
  ce_source(function() {
    asked <<- asked + 1
    if (asked > 2) at_third() else data
  })
}
die <- function() {
  tools::pskill(Sys.getpid(), tools::SIGKILL)
  Sys.sleep(10)
}

test_that("a worker that is killed is a classed error, and the same plan set again works", {
  data <- fault_rows()
  state <- update(ce_state(), data, y, p)
  was <- copy_of(state)
  alone <- update(state, list(source_of(data), source_of(data)), y, p)
  for (plan in c("multisession", "multicore")) {
    old <- future::plan(plan, workers = 2)
    withr::defer(future::plan(old))
    suppressWarnings(
      expect_error(update(state, list(source_of(data), source_of(data, die)), y, p), class = "calibrisk_error_worker")
    )
    expect_identical(state, was)
    future::plan("sequential")
    future::plan(plan, workers = 2)
    expect_identical(update(state, list(source_of(data), source_of(data)), y, p), alone)
    expect_error(update(state, list(source_of(data), source_of(data, function() stop("of its own"))), y, p),
                 class = "calibrisk_error_source")
    expect_identical(state, was)
  }
})
