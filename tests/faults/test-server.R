skip_if(!nzchar(Sys.getenv("CALIBRISK_POSTGRES")), "a server")

server <- function(what) {
  expect_identical(system(Sys.getenv(paste0("CALIBRISK_POSTGRES_", what))), 0L)
}

test_that("a server that has stopped is an error of a class, and a new connection reads on", {
  verbs <- list(rows = function(x) ece(x, y, p), pieces = function(x) update(ce_state(), ce_source(x), y, p),
                sums = function(x) ce_state(x, y, p, in_database = TRUE))
  for (name in names(verbs)) {
    x <- write_table(local_database(), "ce_fault_server", fault_rows())
    here <- verbs[[name]](x)
    server("STOP")
    class <- if (name == "pieces") "calibrisk_error_source" else "calibrisk_error_database"
    suppressWarnings(expect_error(verbs[[name]](x), class = class, info = name))
    server("START")
    expect_equal(verbs[[name]](dplyr::tbl(local_database(), "ce_fault_server")), here)
  }
})

test_that("a source whose server has stopped is an error, and the state as before", {
  con <- local_database()
  x <- write_table(con, "ce_fault_source", fault_rows())
  state <- update(ce_state(), ce_source(x), y, p)
  was <- copy_of(state)
  server("STOP")
  suppressWarnings(expect_error(update(state, ce_source(x), y, p), class = "calibrisk_error_source"))
  expect_identical(state, was)
  server("START")
})
