# Changes of the input that mean nothing, for every verb.

compute <- function(verb, data) withr::with_seed(1, suppressWarnings(result_numbers(verb(data))))
frame <- metamorphic_frame()
before <- lapply(metamorphic_verbs, function(law) compute(law$verb, frame))

battery <- function(tolerance_of, change) {
  for (name in names(metamorphic_verbs)) {
    law <- metamorphic_verbs[[name]]
    tolerance <- tolerance_of(law)
    if (is.null(tolerance)) next
    expect_moved_less(compute(law$verb, change(frame)), before[[name]], tolerance, name)
  }
}

test_that("every verb of the battery says something", {
  for (name in names(before)) expect_gt(sum(is.finite(before[[name]])), 0)
})

test_that("the order of rows, that of classes and the number of threads change nothing", {
  rows <- withr::with_seed(2, sample(nrow(frame)))
  battery(function(law) law$rows, function(d) d[rows, ])
  battery(function(law) law$classes, function(d) {
    d$truth <- factor(d$truth, c("c", "a", "b"))
    d
  })
  same <- function(threads) withr::with_options(list(calibrisk.threads = threads), battery(function(law) 0, identity))
  for (threads in c(1L, 5L)) same(threads)
})

test_that("the names of classes and the order of columns change nothing", {
  battery(function(law) 0, function(d) {
    d <- d[c(4, 5, 1, 3, 2)]
    names(d)[c(1, 4, 5)] <- c(".pred_zebra", ".pred_Two words", ".pred_1")
    levels(d$truth) <- c("1", "Two words", "zebra")
    d
  })
})

test_that("predictions that differ by 1e-8 have numbers that differ little", {
  noise <- withr::with_seed(3, matrix(stats::runif(3 * nrow(frame), 0, 1e-8), ncol = 3))
  battery(function(law) law$jitter, function(d) {
    probs <- as.matrix(d[2:4]) + noise
    d[2:4] <- probs / rowSums(probs)
    d
  })
})
