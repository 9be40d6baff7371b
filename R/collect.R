# Collects what a computation leaves besides its value: the estimates of a metric with their rows, and the designs of
# survival outcomes that were read.

collector <- new.env(parent = emptyenv())
collector$in_groups <- FALSE

# While a metric is evaluated here, frames leave their estimates (R/aaa-metric.R): list(value, estimates).
collect_estimates <- function(value) {
  old <- collector$estimates
  on.exit(collector$estimates <- old)
  collector$estimates <- list()
  force(value)
  list(value = value, estimates = collector$estimates)
}

keep_estimates <- function(estimates) {
  if (!is.null(collector$estimates)) collector$estimates <- c(collector$estimates, estimates)
}

# list(value, designs): those of survival outcomes, see bind_design().
collect_designs <- function(value) {
  old <- collector$designs
  on.exit(collector$designs <- old)
  collector$designs <- list()
  force(value)
  list(value = value, designs = collector$designs)
}

keep_design <- function(design) {
  if (!is.null(collector$designs)) collector$designs <- c(collector$designs, list(design))
}

# Whether the rows that are read are those of a group.
while_in_groups <- function(value) {
  old <- collector$in_groups
  on.exit(collector$in_groups <- old)
  collector$in_groups <- TRUE
  force(value)
}
