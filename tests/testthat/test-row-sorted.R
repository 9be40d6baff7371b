test_that("rows are sorted as order() does, with the prefix sums of cumsum()", {
  values <- withr::with_seed(1, {
    u <- stats::runif(3000)
    list(
      plain = u, tied = round(u, 2), constant = rep(.3, 50), negative = stats::rnorm(500), one = .2,
      # far apart, so that the leading bits of most agree
      crowded = c(1e-300, .5 + 1e-13 * sample(2000), 1), zeros = rep(c(0, -0, 1e-320), 20)
    )
  })
  for (x in values) {
    n <- length(x)
    y <- withr::with_seed(2, stats::rbinom(n, 1, .4))
    w <- withr::with_seed(3, round(stats::rexp(n), 1) + .1)
    copies <- withr::with_seed(4, as.numeric(sample(5, n, TRUE)))
    plain <- sort_values(x, y)
    expect_identical(plain$order, order(x, y, method = "radix"))
    expect_identical(plain[c("x", "y")], list(x = x[plain$order], y = y[plain$order]))
    expect_identical(plain$sum_d2, cumsum((plain$x - plain$y)^2))
    expect_identical(plain$ties, which(c(plain$x[-1] != plain$x[-n], TRUE)))
    expect_identical(sort_values(x, as.numeric(y))[c("order", "sum_y")], plain[c("order", "sum_y")])
    weighted <- sort_values(x, y, w, copies)
    expect_identical(weighted$order, order(x, y, w, method = "radix"))
    expect_identical(weighted$sum_d, cumsum(weighted$w * weighted$d))
    expect_identical(weighted$sum_copies, cumsum(copies[weighted$order]))
    again <- cpp_sorted_rows(weighted$x, weighted$y, weighted$w, TRUE, copies[weighted$order])
    expect_identical(replace(again, "order", weighted["order"]), weighted)
  }
  expect_error(cpp_sorted_rows(c(.1, .2), 1L, NULL, FALSE), class = "calibrisk_error_core")
  # a view of a vector that is converted would outlive it
  expect_error(cpp_sorted_rows(c(.1, .2), 0:1, 1:2, FALSE), "doubles", class = "calibrisk_error_core")
  expect_error(cpp_isotonic_rows(c(.1, .2), 0:1, 1:2), "doubles", class = "calibrisk_error_core")
})

test_that("isotonic regression of rows has the values of its pools", {
  x <- withr::with_seed(5, round(stats::runif(400), 2))
  y <- withr::with_seed(6, stats::rbinom(400, 1, x^2))
  w <- withr::with_seed(7, stats::rexp(400))
  for (weights in list(NULL, w)) {
    fit <- cpp_isotonic_rows(x, y, weights)
    at <- findInterval(x, fit$low)
    expect_identical(fit$rows, fit$values[at])
    expect_true(all(x >= fit$low[at] & x <= fit$high[at]))
    one <- weights %||% rep(1, 400)
    expect_equal(fit$values, as.vector(rowsum(one * y, at) / rowsum(one, at)))
    expect_true(all(diff(fit$values) > 0))
  }
})
