test_that("verbs of fits, estimates and maps take weights and clusters alike", {
  data <- design_rows_frame()
  data$same <- .37
  data$scaled <- 5 * data$share
  data$own <- seq_len(nrow(data))
  repeated <- data[rep(seq_len(nrow(data)), data$copies), ]
  nothing <- replace(data, "share", list(replace(data$share, 1:10, 0)))
  for (verb in design_verbs) {
    plain <- verb(data, y, prob)
    weighted <- verb(data, y, prob, weights = share)
    expect_equal(verb(data, y, prob, weights = copies), verb(repeated, y, prob))
    expect_equal(verb(data, y, prob, weights = same), plain)
    expect_equal(verb(data, y, prob, weights = scaled), weighted, tolerance = 1e-6)
    expect_equal(verb(nothing, y, prob, weights = share), verb(data[-(1:10), ], y, prob, weights = share))
    expect_false(isTRUE(all.equal(weighted, plain)))
    expect_false(isTRUE(all.equal(verb(data, y, prob, cluster = centre), plain)))
    one <- intersect(c("estimate", "risk", "gain", "squared"), names(plain))
    expect_equal(verb(data, y, prob, cluster = own)[one], plain[one], tolerance = 1e-8)
  }
})
