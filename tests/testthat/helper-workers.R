# Workers that get what those of any plan get, and take turns in this process: to start those of future takes longer than
# most jobs. Returns function(): how many jobs they had since it was last asked.
local_copies <- function(env = parent.frame()) {
  had <- 0
  sent <- function(x) unserialize(serialize(x, NULL))
  local_stand_ins(list(has_workers = function() TRUE, over_workers = function(jobs, fn) {
    had <<- had + length(jobs)
    lapply(sent(jobs), sent(fn))
  }), frame = env)
  function() {
    out <- had
    had <<- 0
    out
  }
}
