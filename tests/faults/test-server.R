skip_if(!nzchar(Sys.getenv("CALIBRISK_POSTGRES")), "a server")

server <- function(what) {
  expect_identical(system(Sys.getenv(paste0("CALIBRISK_POSTGRES_", what))), 0L)
}

test_that("a server that stops between two queries is an error of a class, in every verb", {
  data <- fault_rows()
  data$fold <- rep(0:5, 50)
  verbs <- list(ece = function(x) ece(x, y, p, type = "mass"), estimate = function(x) ce_estimate(x, y, p),
                tune = function(x) ce_tune(x, y, p, folds = fold))
  asked <- 0
  at <- Inf
  query <- database_query
  local_stand_ins(list(database_query = function(db, sql, call) {
    asked <<- asked + 1
    if (asked == at) server("STOP")
    query(db, sql, call)
  }))
  for (name in names(verbs)) {
    for (stop_at in c(1, 3)) {
      con <- local_database()
      x <- write_table(con, "ce_fault_server", data)
      here <- verbs[[name]](x)
      asked <- 0
      at <- stop_at
      suppressWarnings(expect_error(verbs[[name]](x), class = "calibrisk_error_database", info = paste(name, at)))
      at <- Inf
      server("START")
      again <- ce_database(local_database(), "ce_fault_server")
      expect_equal(verbs[[name]](again), here)
    }
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
