# What goes wrong outside of R, for real (tests/faults): workers that are killed, a database server that stops, a full
# disk, a folder that may not be written to, the key that interrupts. Not part of the gate, which has stand-ins for
# them.
#
#   Rscript tools/test-faults.R
#
# Disks need root, and the database Debian's packages (tools/postgres.R): skipped elsewhere.

source("tools/library.R")
source("tools/suite.R")
source("tools/postgres.R")
.libPaths(unique(c(writable_library(), .libPaths())))
# one process: what it starts outlives no test of another
Sys.setenv(TESTTHAT_PARALLEL = "FALSE")

quit(status = if (nzchar(Sys.which("apt-get"))) with_server(run_suite("tests/faults")) else run_suite("tests/faults"))
