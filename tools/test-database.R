# The tests of databases on a PostgreSQL server (tools/postgres.R), which is stopped and removed at the end. Not part of
# the gate, whose tests use SQLite.
#
#   Rscript tools/test-database.R

source("tools/library.R")
source("tools/suite.R")
source("tools/postgres.R")
.libPaths(unique(c(writable_library(), .libPaths())))

quit(status = with_server(run_suite("tests/testthat", "^(database|row-sums)")))
