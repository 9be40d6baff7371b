# Plausible mistakes of people who know other packages, over all functions. mistakes.dcf has the call, the class of its
# error, and words that the message must have (separated by bars).
mistakes <- as.data.frame(read.dcf(test_path("mistakes.dcf")))

mistake_data <- function() {
  data <- withr::with_seed(1, {
    n <- 60
    p <- round(runif(n), 3)
    y <- rbinom(n, 1, p)
    type <- factor(ifelse(y == 1, "Yes", "No"), levels = c("No", "Yes"))
    d <- data.frame(type = type, .pred_Yes = p, .pred_No = 1 - p, site = rep(letters[1:6], 10),
                    age = round(runif(n, 20, 80)), wt = runif(n))
    d$class <- factor(ifelse(p > .5, "Yes", "No"), levels = c("No", "Yes"))
    P <- to_simplex(matrix(rexp(3 * n), n))
    colnames(P) <- c("a", "b", "c")
    k <- factor(sample(c("a", "b", "c"), n, TRUE))
    three <- data.frame(truth = k, .pred_a = P[, 1], .pred_b = P[, 2], .pred_c = P[, 3],
                        pred = factor(sample(c("a", "b", "c"), n, TRUE)))
    list(m = data.frame(y = type, lr = p, rf = p^2, nn = sqrt(p), site = d$site), d = d, p = p, y = y, P = P, k = k,
         three = three, num = rnorm(n), new = d[c("type", "age", "wt", "site")])
  })
  data$model <- stats::glm(type ~ wt + age, stats::binomial, data$d)
  data$law <- pred_normal(rep(0, 60), 1)
  if (rlang::is_installed("survival")) data$surv <- withr::with_seed(2, survival::Surv(rexp(60), data$y))
  list2env(data, parent = globalenv())
}

# The calls whose packages are installed.
can_run <- function(calls) {
  needed <- c(Matrix = "Matrix::", dplyr = "dplyr::", tidyr = "tidyr::", tibble = "tibble::", survival = "surv")
  missing <- needed[!vapply(names(needed), rlang::is_installed, NA)]
  !Reduce(`|`, lapply(missing, grepl, calls, fixed = TRUE), logical(length(calls)))
}

quietly <- function(code) suppressWarnings(suppressMessages(code))

test_that("a mistake is one classed error, which names the value and the word that is meant", {
  data <- mistake_data()
  withr::local_options(cli.width = 1e4, width = 1e4)
  for (i in which(can_run(mistakes$call))) {
    mistake <- mistakes[i, ]
    error <- quietly(tryCatch(eval(str2lang(mistake$call), data), error = identity))
    expect_true(inherits(error, paste0("calibrisk_error_", mistake$class)), label = mistake$call)
    text <- gsub("[ \n]+", " ", conditionMessage(error))
    for (word in strsplit(mistake$words, " | ", fixed = TRUE)[[1]]) expect_match(text, word, fixed = TRUE)
  }
})

test_that("errors of values are those of typed words", {
  p <- c(0.2, 0.4, 0.9, 0.7, 0.1)
  expect_error(do.call(ece, list(list(p), c(0, 1, 1, 0, 0))), class = "calibrisk_error")
  mass <- "mass"
  expect_equal(ece(p, c(0, 0, 1, 1, 0), type = mass), ece(p, c(0, 0, 1, 1, 0), type = "mass"))
  inner <- function(...) ece(p, c(0, 0, 1, 1, 0), ...)
  expect_error(inner(type = "mas"), "Did you mean \"mass\"?", fixed = TRUE, class = "calibrisk_error_argument")
})
