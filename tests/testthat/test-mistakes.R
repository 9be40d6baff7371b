# Plausible mistakes of people who know other packages, over all functions. mistakes.dcf has the call, the class of its
# error, words that the message must have (separated by bars), and the line that the message gives as its remedy.
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
    P <- matrix(rexp(3 * n), n)
    P <- P / rowSums(P)
    colnames(P) <- c("a", "b", "c")
    k <- factor(sample(c("a", "b", "c"), n, TRUE))
    three <- data.frame(truth = k, .pred_a = P[, 1], .pred_b = P[, 2], .pred_c = P[, 3],
                        pred = factor(sample(c("a", "b", "c"), n, TRUE)))
    list(m = data.frame(y = type, lr = p, rf = p^2, nn = sqrt(p), site = d$site), d = d, p = p, y = y, P = P, k = k,
         three = three, num = rnorm(n), new = d[c("type", "age", "wt", "site")])
  })
  data$model <- stats::glm(type ~ wt + age, stats::binomial, data$d)
  data$law <- pred_normal(rep(0, 60), 1)
  if (rlang::is_installed("survival")) {
    data$surv <- withr::with_seed(2, survival::Surv(rexp(60), data$y))
  }
  list2env(data, parent = globalenv())
}

# The calls whose packages are installed.
can_run <- function(calls) {
  needed <- c(Matrix = "Matrix::", dplyr = "dplyr::", tidyr = "tidyr::", tibble = "tibble::", survival = "surv")
  missing <- needed[!vapply(names(needed), rlang::is_installed, NA)]
  !Reduce(`|`, lapply(missing, grepl, calls, fixed = TRUE), logical(length(calls)))
}

quietly <- function(code) suppressWarnings(suppressMessages(code))

# What is wrong with the error of a mistake; nothing if it is as the table says.
fault <- function(mistake, data) {
  call <- str2lang(mistake$call)
  start <- proc.time()[["user.self"]]
  error <- without_backtraces(quietly(tryCatch(eval(call, data), error = identity)))
  time <- proc.time()[["user.self"]] - start
  if (!inherits(error, paste0("calibrisk_error_", mistake$class))) return("class")
  text <- gsub("[ \n]+", " ", conditionMessage(error))
  line <- if (!is.na(mistake$line)) paste0("`", mistake$line, "`")
  words <- c(strsplit(mistake$words, " | ", fixed = TRUE)[[1]], line)
  absent <- words[!vapply(words, grepl, NA, text, fixed = TRUE)]
  if (length(absent) > 0) return(paste("lacks", absent[1]))
  # of R itself
  if (grepl("subscript out of|non-numeric arg|not found|unused argument|[Cc]an't subset", text)) return("raw")
  if (time > 1) "slow"
}

test_that("a mistake is one classed error at once, which names the value and a remedy", {
  data <- mistake_data()
  expect_gt(nrow(mistakes), 540)
  expect_equal(anyDuplicated(mistakes$call), 0)
  withr::local_options(cli.width = 1e4, width = 1e4)
  rows <- which(can_run(mistakes$call))
  faults <- lapply(setNames(rows, mistakes$call[rows]), function(i) fault(mistakes[i, ], data))
  expect_equal(unlist(faults), NULL)
})

test_that("lines that errors give as their remedy run", {
  data <- mistake_data()
  lines <- unique(mistakes$line[!is.na(mistakes$line)])
  expect_gt(length(lines), 100)
  # these take a second each: one is enough
  slow <- grepl("^ce_(validate|tune)|bootstrap", lines)
  skipped <- grepl("^ce_report", lines) | slow & duplicated(sub("[(].*", "", lines))
  lines <- lines[!skipped & can_run(lines)]
  failed <- lapply(setNames(nm = lines), function(line) {
    tryCatch({
      quietly(eval(str2lang(line), data))
      NULL
    }, error = conditionMessage)
  })
  expect_equal(unlist(failed), NULL)
})

test_that("calls made of values, which have no line to mend, are refused too", {
  p <- c(0.2, 0.4, 0.9, 0.7, 0.1)
  expect_error(do.call(ece, list(list(p), c(0, 1, 1, 0, 0))), class = "calibrisk_error")
})

test_that("a mistake in a call of a function's value has a classed error, with no line or a whole one", {
  data <- mistake_data()
  calls <- c("ece(d, .pred_Yes, type)", "ece(p, y, notion = binary)", "ce_score(p, y, score = score_brier())",
             "ce_curve(law, num)", "ce_curve(law, num, type = \"smooth\")", "ce_gain(d, type)", "update(p, ce_state(), y)",
             "ce_estimate(data.frame(num, law), num, law)", "ece(data.frame(num, p), p, num)",
             "ce_metric(d, type, metric = globalenv())")
  for (text in calls) {
    typed <- str2lang(text)
    verb <- typed[[1]]
    passed <- typed
    passed[[1]] <- call("function", as.pairlist(alist(... = )), call(as.character(verb), quote(...)))
    typed[[1]] <- call("get", as.character(verb))
    for (untyped in list(typed, passed)) {
      error <- without_backtraces(quietly(tryCatch(eval(untyped, data), error = identity)))
      expect_true(inherits(error, "calibrisk_error"), label = text)
      expect_no_match(conditionMessage(error), "NULL|[.][.][.]|drawn by[.]", label = text)
    }
  }
})

test_that("functions that take a choice look for one without quotes", {
  names <- Filter(function(name) is.function(get(name, asNamespace("calibrisk"))), getNamespaceExports("calibrisk"))
  lacks <- Filter(function(name) {
    fn <- get(name, asNamespace("calibrisk"))
    any(names(formals(fn)) %in% calibrisk:::word_arguments) && !"check_words" %in% all.names(body(fn))
  }, names)
  expect_equal(sort(lacks), character())
})

test_that("a choice without quotes that is a variable, also of an outer function, is its value", {
  p <- seq(0.05, 0.95, length.out = 40)
  y <- rep(0:1, 20)
  mass <- "mass"
  expect_equal(ece(p, y, type = mass), ece(p, y, type = "mass"))
  outer <- function(...) lapply(list(p), ece, y, ...)
  inner <- function(width) outer(type = width)
  expect_equal(inner("mass")[[1]], ece(p, y, type = "mass"))
})

test_that("a word without quotes that the package's own functions pass on in dots is found", {
  inside <- function(...) ece(c(0.2, 0.7, 0.9), c(0, 1, 1), ...)
  environment(inside) <- new.env(parent = asNamespace("calibrisk"))
  expect_error(inside(type = mass), "\"mass\"", class = "calibrisk_error_argument")
})
