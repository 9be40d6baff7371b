skip_on_os("windows")

# The verb runs until the signal of the key comes from outside.
interrupted <- function(code) {
  system(paste0("(sleep 0.5; kill -INT ", Sys.getpid(), ") &"))
  tryCatch({
    repeat force(code())
  }, interrupt = function(cnd) "interrupted")
}

test_that("the key ends long verbs, and both R and the state are as before", {
  rows <- withr::with_seed(1, {
    p <- matrix(stats::rexp(9000), 3000)
    list(p = p / rowSums(p), y = sample(3, 3000, TRUE))
  })
  data <- fault_rows(50000)
  state <- update(ce_state(), data, y, p)
  was <- copy_of(state)
  expected <- ece(rows$p, rows$y)
  verbs <- list(
    skce = function() skce(rows$p, rows$y), test = function() ce_test(rows$p, rows$y,
                                                                      test = test_conditional(times = 1000)),
    tune = function() ce_tune(rows$p, rows$y, notion = "canonical"), rank = function() {
      ce_rank(list(a = rows$p, b = (rows$p + 1 / 3) / 2), rows$y, times = 50)
    },
    estimate = function() ce_estimate(data, y, p), validate = function() ce_validate(data, y, p),
    read = function() update(state, ce_source(data, rows = 100), y, p)
  )
  for (name in names(verbs)) {
    expect_identical(interrupted(verbs[[name]]), "interrupted", info = name)
    expect_identical(ece(rows$p, rows$y), expected)
  }
  expect_identical(state, was)
})
