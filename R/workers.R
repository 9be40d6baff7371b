# Runs independent jobs in the workers of the user's future::plan(), if it has any.

has_workers <- function() {
  # without the package loaded nobody has set a plan
  isNamespaceLoaded("future") && rlang::is_installed("future.apply") && !inherits(future::plan(), "sequential")
}

# lapply(), in order. A worker is sent its own jobs, and `fn` with what it holds; `fn` draws no random numbers, so that
# the digits are those of one process.
over_workers <- function(jobs, fn) {
  step <- if (rlang::is_installed("progressr")) progressr::progressor(along = jobs)
  if (!has_workers()) return(lapply(jobs, with_step(fn, step)))
  from_workers(future.apply::future_lapply(jobs, with_step(function_alone(fn), step), future.packages = "calibrisk"))
}

# Jobs of which one alone needs no worker. `there` is `here` as workers get it: without a frame of this process, which
# would be sent along.
over_some_workers <- function(jobs, here, there = here) {
  if (length(jobs) > 1 && has_workers()) over_workers(jobs, there) else lapply(jobs, here)
}

# If the first job draws random numbers, all jobs run here in turn, which fixes their digits.
unless_random <- function(jobs, fn) {
  if (length(jobs) < 3 || !has_workers()) return(lapply(jobs, fn))
  before <- get0(".Random.seed", globalenv(), inherits = FALSE)
  first <- fn(jobs[[1]])
  drew <- !identical(before, get0(".Random.seed", globalenv(), inherits = FALSE))
  c(list(first), if (drew) lapply(jobs[-1], fn) else over_workers(jobs[-1], fn))
}

# On one thread: there is a worker for every core.
function_alone <- function(fn) {
  force(fn)
  function(job) {
    old <- options(calibrisk.threads = 1L)
    on.exit(options(old))
    fn(job)
  }
}

with_step <- function(fn, step) {
  force(list(fn, step))
  function(job) {
    out <- fn(job)
    if (!is.null(step)) step()
    out
  }
}

# An error in a job is already an error of this package. All others concern the workers: one that was killed, a
# connection or a queue that broke.
from_workers <- function(value) {
  rlang::try_fetch(value, error = function(cnd) {
    if (inherits(cnd, "calibrisk_error")) rlang::cnd_signal(cnd)
    stop_input("The workers must return a result per job.", "x" = "One did not: it died, or its connection broke.",
               "i" = "The state is unchanged. Set the plan again, {.code future::plan()}, and repeat.",
               class = "worker", parent = cnd)
  })
}
