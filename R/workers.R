# Runs independent jobs in the workers of the user's future::plan(), if it has any.

has_workers <- function() {
  # without the package loaded nobody has set a plan
  isNamespaceLoaded("future") && rlang::is_installed("future.apply") && !inherits(future::plan(), "sequential")
}

# lapply(), in order. A worker is sent its own jobs, and `fn` with what it holds; `fn` draws no random numbers, so that
# the digits are those of one process.
over_workers <- function(jobs, fn) {
  step <- if (rlang::is_installed("progressr")) progressr::progressor(along = jobs)
  if (!has_workers()) return(lapply(jobs, job_function(fn, step)))
  done <- job_function(fn, step, alone = TRUE)
  relay <- function(cnd) if (is_unsaid(class(cnd), cnd$key)) rlang::cnd_muffle(cnd)
  of_jobs <- function() future.apply::future_lapply(jobs, done, future.packages = "calibrisk")
  rlang::try_fetch(withCallingHandlers(of_jobs(), warning = relay, message = relay), error = function(cnd) {
    # an error in a job is already one of this package
    if (inherits(cnd, "calibrisk_error")) rlang::cnd_signal(cnd)
    stop_input("The workers must return a result per job.", "x" = "One did not: it died, or its connection broke.",
               "i" = "The state is unchanged. Set the plan again, {.code future::plan()}, and repeat.",
               class = "worker", parent = cnd)
  })
}

# fn(job) and a step of the progress. `alone`: on one thread, since there is a worker for every core.
job_function <- function(fn, step, alone = FALSE) {
  force(list(fn, step, alone))
  function(job) {
    if (alone) {
      old <- options(calibrisk.threads = 1L)
      on.exit(options(old))
    }
    out <- fn(job)
    if (!is.null(step)) step()
    out
  }
}

# `fn` as workers get it: with these values, and without a frame of this process, which would be sent along.
sealed <- function(fn, ...) {
  environment(fn) <- list2env(list(...), parent = topenv())
  fn
}

# Jobs of which one alone needs no worker. `there` is `here` as workers get it.
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
