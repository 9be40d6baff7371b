# Odd but valid, and invalid, calls of every verb, of every choice that is a value, and of the methods of every
# result. What must not happen: a crash, a hang, an error without a class of this package, a warning of R's own, a
# missing number in a result without a word, memory beyond its bound.
#
#   Rscript tools/fuzz.R [cases] [seed]      e.g. 2000 1
#   Rscript tools/fuzz.R case <seed> <case>  runs one again, and shows it
#   Rscript tools/fuzz.R tamper [cases] [seed] [objects]   objects with a changed field (tools/fuzz-tamper.R), in
#                                                          processes of their own
#   Rscript tools/fuzz.R tamper-case <seed> <case>
#
# Ends with the number of calls, the share that reached a computation, and one line per failure to run it again.

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))
suppressPackageStartupMessages(library(calibrisk))
# a trace of each refusal would take longer than the calls
options(cli.num_colors = 1L, rlang_backtrace_on_error = "none", "rlang:::disable_trace_capture" = TRUE)

arguments <- commandArgs(TRUE)
mode <- if (isTRUE(grepl("^[a-z]", arguments[1]))) arguments[1] else "calls"
single <- mode == "case"
numbers <- as.integer(if (single) arguments[-1] else if (mode == "calls") arguments)
cases <- if (single) numbers[2] else if (length(numbers) > 0) numbers[1] else 500L
seed <- if (single) numbers[1] else if (length(numbers) > 1) numbers[2] else 1L
seconds <- if (startsWith(mode, "tamper")) 20 else 300 # of processor time of one call

`%||%` <- rlang::`%||%`
pick <- function(x) x[[sample.int(length(x), 1)]]
maybe <- function(x, share = 0.3) if (runif(1) < share) x

# Predictions ------------------------------------------------------------------------------------------------------
sizes <- function() pick(list(1L, 2L, 5L, 12L, 12L, 40L, 40L, 120L, 120L, 300L))

probabilities <- function(n) {
  pick(list(
    function() runif(n), function() rbeta(n, 0.2, 0.2), function() rep(runif(1), n),
    function() sample(c(0, 1), n, TRUE),
    function() round(runif(n), 1), function() 1e-300 * runif(n), function() 1 - 1e-12 * runif(n),
    function() sample(c(0, 0.5, 1, runif(2)), n, TRUE), function() plogis(rnorm(n, 0, 6))
  ))()
}

binary <- function(n) {
  p <- probabilities(n)
  y <- pick(list(function() rbinom(n, 1, p), function() rep(0, n), function() rep(1, n),
                 function() as.numeric(p > 0.5)))()
  list(x = p, truth = pick(list(y, y == 1, factor(c("no", "yes")[y + 1], c("no", "yes")), as.integer(y))))
}

classes <- function(n) {
  k <- pick(list(2L, 3L, 5L, 26L))
  probs <- pick(list(
    function() matrix(rexp(n * k), n), function() matrix(rgamma(n * k, 0.05) + 1e-12, n),
    function() diag(k)[sample.int(k, n, TRUE), , drop = FALSE], function() matrix(1, n, k)
  ))()
  probs <- probs / rowSums(probs)
  truth <- vapply(seq_len(n), function(i) sample.int(k, 1, prob = probs[i, ]), 0L)
  levels <- pick(list(as.character(seq_len(k)), letters[seq_len(k)], paste("class", seq_len(k))))
  truth <- if (runif(1) < 0.2) rep(1L, n) else truth
  list(x = probs, truth = pick(list(truth, factor(levels[truth], levels))))
}

laws <- function(n) {
  pick(list(
    function() list(x = pred_normal(rnorm(n), rexp(n) + pick(list(0, 0.1))), truth = rnorm(n)),
    function() list(x = pred_poisson(rexp(n)), truth = rpois(n, 1)),
    function() list(x = pred_gamma(rexp(n) + 0.1, rexp(n) + 0.1), truth = rexp(n)),
    function() list(x = pred_draws(matrix(rnorm(n * 7), n)), truth = rnorm(n)),
    function() list(x = pred_laplace(rnorm(n), rexp(n)), truth = rnorm(n)),
    function() list(x = pred_bernoulli(runif(n)), truth = rbinom(n, 1, 0.5))
  ))()
}

# Broken in one way, for the door.
spoil <- function(data) {
  n <- NROW(data$x)
  if (!is.numeric(data$x)) {
    return(within(data, truth <- pick(list(truth[-1], NULL, rep("z", length(truth)), -1e300 * truth))))
  }
  pick(list(
    function() within(data, x <- replace(x, 1, NA)), function() within(data, x <- replace(x, 1, 2)),
    function() within(data, truth <- truth[-1]), function() within(data, x <- as.character(x)),
    function() within(data, truth <- NULL), function() within(data, x <- NULL),
    function() within(data, x <- replace(x, 1, Inf)), function() within(data, truth <- replace(truth, 1, NA)),
    function() within(data, x <- list(x)), function() within(data, truth <- rep("z", n))
  ))()
}

# A data frame with groups, weights and clusters instead of a vector or a matrix.
framed <- function(data) {
  n <- NROW(data$x)
  frame <- data.frame(truth = data$truth)
  columns <- if (is.matrix(data$x)) {
    levels <- if (is.factor(data$truth)) levels(data$truth) else seq_len(ncol(data$x))
    frame[paste0(".pred_", levels)] <- as.data.frame(data$x)
    list()
  } else {
    frame$p <- data$x
    list(quote(p))
  }
  frame$g <- pick(list(rep(1L, n), sample(letters[1:3], n, TRUE),
                       factor(sample(c("b", "a"), n, TRUE), c("b", "a", "z"))))
  frame$w <- design_column(n, "weights")
  frame$site <- design_column(n, "cluster")
  c(list(x = frame, truth = quote(truth)), columns, maybe(list(.by = quote(g)), 0.4),
    maybe(list(weights = quote(w)), 0.3), maybe(list(cluster = quote(site)), 0.3))
}

design_column <- function(n, kind) {
  n <- max(n, 1)
  if (kind == "cluster") {
    return(pick(list(seq_len(n), rep(1, n), sample.int(4, n, TRUE), sample(letters[1:9], n, TRUE))))
  }
  pick(list(rexp(n), rep(2, n), rpois(n, 1), as.integer(rpois(n, 1)), numeric(n), c(1e12, rexp(n - 1))[seq_len(n)]))
}

# Options by name, for every verb that has them; the last of each are wrong.
options_of <- list(
  n_bins = list(1, 2, 7, 1000, 0, 2.5, NA), p = list(1, 2, Inf, 3, 0), debias = list(TRUE, FALSE, NA),
  notion = list("binary", "top_label", "class_wise", "canonical", "top-label", 3),
  level = list(0.5, 0.95, 0.999, 1, NULL),
  times = list(100, 5, 20, 0, -1), interval = list("analytic", "bootstrap", "none"),
  bandwidth = list(0.01, 0.1, 1e-8, 10, -1),
  event_level = list("first", "second", "third"), na_rm = list(TRUE, FALSE, NA),
  type = list("unbiased", "biased", "block", "width", "mass", "sweep", "discrete", "smooth", "isotonic", "nonsense"),
  kernel = list(kernel_tv(0.5), kernel_gaussian(0.3), kernel_laplace(1e-6), "gaussian"),
  tolerance = list(0.01, 1e-8, 0),
  folds = list(2, 5, 1000, 1), test = list(0, 0.2, 0.99, 2), repeats = list(1, 2, 0), floor = list(1e-6, 0.4, 0),
  smoother = list("loess", "isotonic", "spline"),
  score = list("brier", "log", "crps", "dss", "spherical", "rps", "none"),
  method = list("temperature", "platt", "isotonic", "histogram", "beta", "update", "vector", "nothing"),
  thresholds = list(0.5, c(0.1, 0.9), 1), ridge = list(1e-6, 1, 1e-300, "loo", 0), scale = list("root", "squared"),
  adjust = list("holm", "none", "x"), horizon = list(1, NA), injective = list(TRUE, FALSE),
  breaks = list(0.3, c(0, 0.01, 0.5, 1), 2),
  block = list(2, 50, 1), order = list(2, 3, 9), n_groups = list(3, 10, 1),
  fitted = list(TRUE, FALSE), span = list(0.3, 2, 1e-9, 0),
  delta = list(0.05, 0.9, 1e-300, 1), margin = list(0.01, 10, 1e-300, 0)
)

# Verbs and the kinds of predictions that they take.
verbs <- list(
  ece = "bc", rbs = "bc", ks_error = "bc", mmce = "bc", kde_error = "bc", smooth_ece = "bc", ici = "bc",
  cox_calibration = "b", spiegelhalter = "b", hosmer_lemeshow = "b", ce_panel = "bc", ce_hierarchy = "bc",
  ce_estimate = "bc", ce_tune = "bc", ce_fit = "bc", ce_validate = "bc", ce_curve = "bcl", ce_test = "bcl",
  skce = "bcl",
  ckce = "bcl", ce_score = "bcl", ce_decompose = "bcl", ce_moments = "l", ce_coverage = "l",
  ce_recalibrate = "bcl", ce_decision = "b", ce_grades = "b",
  ce_gain = "bc", ce_compare = "bc", ce_models = "bcl", ce_rank = "c", ce_power = "b", ce_state = "bc",
  ce_source = "b", ce_predictions = "b", ce_horizon = "b", ce_kable = "bc", ce_pool = "bc", ce_metric = "bc",
  augment = "bc", predict = "bc", pred_confidence = "bc"
)
verbs <- verbs[vapply(names(verbs), exists, NA, envir = asNamespace("calibrisk"))]

# A few of the options that a verb has; mostly valid ones, the last of each is not.
draw_options <- function(name) {
  known <- intersect(names(options_of), names(formals(get(name, asNamespace("calibrisk")))))
  # a horizon is for survival outcomes only: refused
  chosen <- known[runif(length(known)) < ifelse(known == "horizon", 0.02, 0.22)]
  defaults <- formals(get(name, asNamespace("calibrisk")))
  options <- lapply(stats::setNames(nm = chosen), function(option) {
    values <- options_of[[option]]
    # those of this verb, where it says which there are
    named <- tryCatch(eval(defaults[[option]]), error = function(cnd) NULL)
    if (is.character(named) && length(named) > 1) values <- c(as.list(named), values[length(values)])
    if (runif(1) < 0.95) pick(values[seq_len(max(1, length(values) - 1))]) else pick(values)
  })
  # few resamples do for what may break
  resampled <- if ("interval" %in% names(defaults)) identical(options$interval, "bootstrap") else TRUE
  if ("times" %in% names(defaults) && resampled && runif(1) < 0.9) options$times <- pick(list(20, 25))
  options
}

without <- function(args, names) args[!rlang::names2(args) %in% names]

# What single verbs need beside.
own_arguments <- list(
  ce_estimate = function(args) without(args, "method"),
  ce_fit = function(args) {
    method <- pick(list(method_bins(5), method_kde(0.1), method_kkr(1)))
    c(without(args, "method"), list(method = method))
  },
  ce_tune = function(args) {
    methods <- pick(list(NULL, list(method_bins(4)), list(method_bins(3), method_kde(0.2))))
    c(args, list(methods = methods))
  }
)

# Verbs of several models, of rows that keep coming, and without rows.
other_model <- function(x) {
  if (!is.numeric(x)) return(x)
  if (is.matrix(x)) (x + 1 / ncol(x)) / 2 else (x + 0.5) / 2
}

own_calls <- list(
  ce_gain = function(data) {
    as.call(c(quote(ce_gain), list(data$x, pick(list(other_model(data$x), "temperature", c("platt", "isotonic"))),
                                   data$truth), draw_options("ce_gain")))
  },
  ce_compare = function(data) {
    metric <- pick(list(quote(ece), quote(rbs), quote(mmce), quote(ce_estimate), "nonsense"))
    as.call(c(quote(ce_compare), list(list(a = data$x, b = other_model(data$x)), data$truth, metric = metric),
              draw_options("ce_compare")))
  },
  ce_models = function(data) {
    models <- as.call(list(quote(ce_models), list(a = data$x, b = other_model(data$x)), data$truth))
    as.call(list(pick(list(quote(summary), quote(ce_curve), quote(ce_rank), quote(ce_score), quote(print))), models))
  },
  ce_rank = function(data) {
    as.call(c(quote(ce_rank), list(list(a = data$x, b = other_model(data$x)), data$truth, times = 5),
              maybe(list(metric = pick(list("ece", "brier", "jkce", "none"))), 0.5)))
  },
  ce_state = function(data) {
    empty <- as.call(c(quote(ce_state), maybe(list(n_bins = pick(list(1, 7, 100, 0)))),
                      maybe(list(folds = pick(list(2, 10, 1)))), maybe(list(test = pick(list(0, 0.5, 1)))),
                      maybe(list(notion = pick(list("binary", "top_label", "class_wise", "canonical")))),
                      maybe(list(knots = pick(list(c(0.1, 0.9), numeric(), 2))), 0.1)))
    state <- as.call(c(quote(update), list(empty, data$x, data$truth),
                       maybe(list(weights = design_column(NROW(data$x), "weights"))),
                       maybe(list(cluster = design_column(NROW(data$x), "cluster")))))
    if (runif(1) < 0.3) state <- as.call(list(quote(c), state, state))
    if (runif(1) < 0.2) return(state)
    as.call(c(pick(list(quote(ce_panel), quote(ce_estimate), quote(ce_tune), quote(ece), quote(rbs), quote(ks_error),
                        quote(cox_calibration), quote(spiegelhalter), quote(ce_score), quote(ce_test))), state))
  },
  ce_source = function(data) {
    if (is.matrix(data$x) || NROW(data$x) != length(data$truth)) return(as.call(list(quote(ce_source), data$x)))
    rows <- data.frame(y = data$truth, p = data$x)
    source <- as.call(list(quote(ce_source), rows, rows = pick(list(1, 7, 1e5, 0))))
    as.call(list(quote(update), quote(ce_state()), source, quote(y), quote(p)))
  },
  ce_predictions = function(data) {
    model <- pick(list(quote(lm(mpg ~ wt, mtcars)), quote(glm(am ~ wt, binomial(), mtcars)), data$x))
    as.call(list(quote(ce_predictions), model, quote(mtcars)))
  },
  pred_confidence = function(data) {
    p <- if (is.numeric(data$x)) data$x else 0.5
    x <- pick(list(data$x, 100 * p, log(abs(p)), paste0(round(100 * p), "%"), "85,5", ""))
    as.call(c(list(quote(pred_confidence), x, pick(list("prob", "percent", "ten", "logprob", "log"))),
              maybe(list(none = pick(list(NULL, -1, "x", list()))), 0.2)))
  },
  ce_horizon = function(data) as.call(list(quote(ce_horizon), pick(list(1, 0.5, 0, NA, data$x)))),
  ce_kable = function(data) {
    of <- pick(list(quote(ece), quote(ce_estimate), quote(ce_curve), quote(rbs), quote(ce_validate)))
    few <- if (identical(of, quote(ce_validate))) list(times = 20)
    as.call(list(quote(ce_kable), as.call(c(of, unname(data), few))))
  },
  ce_pool = function(data) {
    of <- pick(list(quote(ce_estimate), quote(ce_validate)))
    few <- if (identical(of, quote(ce_validate))) list(times = 0)
    one <- function(x) as.call(c(of, list(x, data$truth), few))
    as.call(list(quote(ce_pool), call("list", one(data$x), one(pick(list(data$x, other_model(data$x)))))))
  },
  ce_metric = function(data) {
    metric <- as.call(list(quote(ce_metric), pick(list("ece", "rbs", "mmce", "nonsense"))))
    as.call(c(quote(ce_compare), list(list(a = data$x, b = other_model(data$x)), data$truth, metric = metric)))
  },
  augment = function(data) {
    fit <- pick(list(quote(ce_fit), quote(ce_recalibrate)))
    as.call(list(quote(augment), as.call(c(fit, unname(data))), data$x))
  },
  predict = function(data) {
    fit <- pick(list(quote(ce_fit), quote(ce_recalibrate)))
    as.call(list(quote(stats::predict), as.call(c(fit, unname(data))), other_model(data$x)))
  },
  ce_power = function(data) {
    law <- pick(list(quote(assume_model(c(-3, 1))), quote(assume_model(c(0, 1e-3))),
                     quote(assume_model(beta = c(0.5, 5))), quote(assume_model(c(0, 2), slope = 0.8)), data$x,
                     call("assume_pilot", data$x, data$truth, recalibration = "platt")))
    width <- pick(list(c(slope = 0.2), c("O:E" = 1, auroc = 0.1), c(error = 0.1), c(nothing = 1), c(slope = -1)))
    options <- pick(list(list(width = width), list(n = pick(list(500, 5, 0))), list()))
    if (runif(1) < 0.5) options$delta <- pick(list(0.05, 0.5, 1e-300, 1))
    as.call(c(quote(ce_power), law, options))
  }
)

source("tools/fuzz-choices.R")

build_call <- function(name) {
  if (!is.null(choices[[name]])) return(choices[[name]](pick(list(binary, classes, laws))(sizes())))
  kind <- pick(strsplit(verbs[[name]], "")[[1]])
  n <- sizes()
  data <- switch(kind, b = binary(n), c = classes(n), l = laws(n))
  spoilt <- runif(1) < 0.08
  if (spoilt) data <- spoil(data)
  if (!is.null(own_calls[[name]])) return(own_calls[[name]](data))
  args <- if (!spoilt && kind != "l" && runif(1) < 0.35) framed(data) else data
  options <- draw_options(name)
  args <- c(without(args, names(options)), options)
  own <- own_arguments[[name]]
  as.call(c(as.name(name), if (is.null(own)) args else own(args)))
}

# One call ----------------------------------------------------------------------------------------------------------
# "ok", "refused" (a classed error), or what went wrong.
attempt <- function(expr, quiet = TRUE) {
  problem <- NULL
  value <- tryCatch(
    withCallingHandlers({
      setTimeLimit(cpu = seconds, transient = TRUE)
      out <- force(expr)
      setTimeLimit(cpu = Inf)
      out
    }, warning = function(cnd) {
      if (!inherits(cnd, c("calibrisk_warning", "lifecycle_warning", "deprecatedWarning"))) {
        problem <<- paste("warning:", conditionMessage(cnd))
      }
      tryInvokeRestart("muffleWarning")
    }, message = function(cnd) tryInvokeRestart("muffleMessage")),
    error = function(cnd) {
      setTimeLimit(cpu = Inf)
      # what the core refuses should have been refused before, in the words of the arguments
      if (!inherits(cnd, "calibrisk_error") || inherits(cnd, "calibrisk_error_core")) {
        problem <<- paste0("error (", class(cnd)[1], "): ", conditionMessage(cnd))
      }
      structure(list(), class = "refused", cause = cnd)
    }
  )
  list(value = value, problem = problem, refused = inherits(value, "refused"))
}

# NaN in a column of estimates is silence: NA is said by the documentation, NaN by nobody.
silent_nan <- function(value) {
  table <- if (is.data.frame(value)) value else tryCatch(as.data.frame(tidy(value)), error = function(cnd) NULL)
  numeric <- Filter(is.numeric, as.list(table))
  bad <- vapply(numeric, function(v) any(is.nan(v)), NA)
  if (any(bad)) paste("NaN in", paste(names(numeric)[bad], collapse = ", "))
}

results <- function(value) {
  methods <- list(
    print = function(v) utils::capture.output(print(v)), tidy = tidy, glance = glance,
    figure = function(v) ggplot2::ggplot_build(ggplot2::autoplot(v)),
    summary = function(v) utils::capture.output(summary(v)),
    format = format, subset = function(v) if (is.data.frame(v)) v[0, ] else v
  )
  classes <- class(value)
  for (name in names(methods)) {
    generic <- switch(name, figure = "autoplot", subset = "[", name)
    where <- if (generic %in% c("tidy", "glance")) asNamespace("generics") else asNamespace("calibrisk")
    has <- any(vapply(classes[startsWith(classes, "ce_")], function(class) {
      !is.null(utils::getS3method(generic, class, optional = TRUE, envir = where))
    }, NA))
    # tables are printed by their package, in most of the time that a call takes: one in ten
    if (name == "print" && is.data.frame(value) && runif(1) < 0.9) next
    if (name == "print" || has) {
      out <- attempt(methods[[name]](value))
      if (!is.null(out$problem)) return(paste0(name, "(): ", out$problem))
    }
  }
  silent_nan(value)
}

# The peak of this process may not rise by more than this in one call: the largest has 300 rows of 26 classes.
memory_bound <- 256 # MB
memory <- new.env()
too_much_memory <- function() {
  if (!file.exists("/proc/self/status")) return(NULL)
  peak <- as.numeric(gsub("\\D", "", grep("^VmHWM", readLines("/proc/self/status"), value = TRUE))) / 1024
  before <- memory$peak %||% peak
  memory$peak <- peak
  if (peak > before + memory_bound) sprintf("the peak of memory rose from %.0f to %.0f MB", before, peak)
}

run_case <- function(seed, case, show = FALSE) {
  set.seed(seed * 100000L + case)
  name <- pick(as.list(c(names(verbs), names(choices))))
  call <- build_call(name)
  if (show) print(call)
  out <- attempt(eval(call))
  problem <- out$problem %||% too_much_memory()
  if (is.null(problem) && !out$refused) problem <- results(out$value)
  if (show && !out$refused) print(out$value)
  list(name = name, refused = out$refused, problem = problem)
}

if (startsWith(mode, "tamper")) {
  source("tools/fuzz-tamper.R")
  tamper_mode(mode, arguments[-1])
}
if (single) {
  out <- run_case(seed, cases, show = TRUE)
  cat("\n", if (is.null(out$problem)) if (out$refused) "refused" else "ok" else out$problem, "\n", sep = "")
  quit(status = !is.null(out$problem))
}
started <- Sys.time()
found <- list()
refused <- 0
# what no handler catches still says where
options(error = quote({
  cat(sprintf("stopped\n  Rscript tools/fuzz.R case %d %d\n", seed, case))
  quit(status = 1)
}))
for (case in seq_len(cases)) {
  out <- run_case(seed, case)
  refused <- refused + out$refused
  if (!is.null(out$problem)) {
    line <- sprintf("%s: %s\n  Rscript tools/fuzz.R case %d %d", out$name,
                    substr(gsub("\\s+", " ", out$problem), 1, 160), seed, case)
    cat(line, "\n", sep = "")
    found <- c(found, line)
  }
}
cat(sprintf("\n%d calls with seed %d in %.0f s: %.0f %% reached a computation, %d failed\n", cases, seed,
            as.numeric(difftime(Sys.time(), started, units = "secs")), 100 * (1 - refused / cases), length(found)))
quit(status = length(found) > 0)
