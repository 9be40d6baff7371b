# Fields of saved objects may be anything: no process may end, whatever the error.

changed_rows <- local({
  withr::local_seed(3)
  p <- runif(60)
  probs <- matrix(rexp(180), 60)
  list(p = p, y = rbinom(60, 1, p), probs = probs / rowSums(probs), truth = sample.int(3, 60, TRUE))
})

# x with the field at a path of names and positions changed.
set_at <- function(x, path, value) {
  if (length(path) > 1) value <- set_at(x[[path[[1]]]], path[-1], value)
  x[path[[1]]] <- list(value)
  x
}

test_that("the core refuses fits of other shapes", {
  with(changed_rows, {
    stack <- ce_fit(p, y, method = method_stack())
    top <- ce_fit(probs, truth, method = method_stack(), notion = "canonical")
    kkr <- ce_fit(p, y, method = method_kkr(0.1))
    factor <- ce_fit(probs, truth, method = method_ukkr(0.1), notion = "canonical")
    kde <- ce_fit(probs, truth, method = method_kde(0.1), notion = "canonical")
    form <- function(...) list("forms", 1, ...)
    cases <- list(
      list(stack, p, form("weights"), numeric(9)),
      list(stack, p, form("shapes", 1, "own"), list()), list(stack, p, form("shapes", 1, "recipe"), "nothing"),
      list(stack, p, form("shapes", 1, "weights"), list(matrix(0, 1, 1))), list(stack, p, form("dimension"), 1e9),
      list(top, probs, form("shapes", 1, "weights"), list()), list(top, probs, form("shapes", 1, "scale"), NULL),
      list(kkr, p, form("basis"), matrix(0, 1, 1)), list(kkr, p, form("core"), matrix(0, 1, 1)),
      list(factor, probs, form("map", "triangle"), matrix(1, 2, 2)), list(factor, probs, form("map", "kernel"), 1),
      list(kde, probs, form("labels"), 9L), list(kde, probs, form("labels"), rep(9L, 60)),
      list(kde, probs, form("bandwidth"), quote(stop("evaluated"))), list(kde, probs, form("weights"), 1)
    )
    for (case in cases) expect_error(predict(set_at(case[[1]], case[[3]], case[[4]]), case[[2]]))
  })
})

test_that("the core refuses recalibration maps of other shapes", {
  with(changed_rows, {
    new <- probs[, 3:1]
    classes <- ce_recalibrate(probs, truth, method = "vector")
    network <- ce_recalibrate(probs, truth, method = map_diag(hidden = 2))
    for (change in list(diag(2), matrix(1, 2, 2), diag(4))) {
      expect_error(predict(set_at(classes, list("map", "w"), change), new), class = "calibrisk_error_core")
    }
    expect_error(predict(set_at(classes, list("map", "b"), 1), new), class = "calibrisk_error_core")
    expect_error(predict(set_at(network, list("map", "hidden"), c(1000L, 1000L)), new))
    expect_error(predict(set_at(network, list("map", "range"), 1), new))
  })
})

test_that("the core refuses distributions whose parameters are of other rows", {
  y <- matrix(changed_rows$y)
  short <- matrix(1, 59)
  whole <- matrix(1, 60)
  targets <- list(
    list(kind = "normal_gaussian", gamma = 1, weight = whole, location = y, scale = short, y = y),
    list(kind = "laplace_laplace", gamma = 1, weight = whole, location = short, scale = whole, y = y),
    list(kind = "linear", mean = short, y = y), list(kind = "linear", mean = cbind(whole, 1), y = y),
    list(kind = "full_normal", gamma = 1, weight = whole, mean = whole, covariance = short, y = y),
    list(kind = "draws", kernel = kernel_tv(1), draws = matrix(1, 59, 4), y = y)
  )
  for (target in targets) expect_error(cpp_target_matrix(target, FALSE, 1L, NULL), class = "calibrisk_error_core")
  expect_error(cpp_mixture_wasserstein(short, whole, whole, 1L, 1, 1L), class = "calibrisk_error_core")
  expect_error(cpp_bures(whole, short, 1L), class = "calibrisk_error_core")
})

test_that("kernels that are nested too deep are refused by the core", {
  p <- matrix(changed_rows$p)
  nested <- function(n) Reduce(function(inner, i) new_kernel("sum", parts = list(inner)), seq_len(n), kernel_linear())
  expect_identical(cpp_gram(nested(100), p, p, 1L), cpp_gram(kernel_linear(), p, p, 1L))
  expect_error(cpp_gram(nested(101), p, p, 1L), "nested", class = "calibrisk_error_core")
})

test_that("a network of too many weights is refused, and ends no process of little memory", {
  expect_error(map_diag(hidden = c(1000, 1000)), "have 1,004,001", class = "calibrisk_error_size")
  skip_on_cran()
  skip_on_os(c("windows", "mac", "solaris"))
  code <- c(
    "library(calibrisk)", "changed <- map_diag()", "changed$hidden <- c(1000, 1000)",
    "cnd <- tryCatch(ce_recalibrate(matrix(1 / 3, 6, 3), rep(1:3, 2), method = changed), error = identity)",
    "cat(inherits(cnd, 'error'))"
  )
  script <- withr::local_tempfile(lines = code, fileext = ".R")
  withr::local_envvar(R_LIBS = paste(.libPaths(), collapse = ":"))
  command <- paste("ulimit -v 1000000; exec", shQuote(file.path(R.home("bin"), "Rscript")), shQuote(script), "2>&1")
  expect_identical(trimws(suppressWarnings(system(command, intern = TRUE))), "TRUE")
})
