# For tools/fuzz.R: objects that are saved, sent or read by other processes, one field changed at a time (deleted,
# resized, retyped, not a number, out of range, or that of another object), and all that takes them. No process may end,
# and no number may come out of sums that do not belong together. Errors may be those of R.

n_tampered <- 60
tampered_rows <- local({
  set.seed(20)
  p <- runif(n_tampered)
  probs <- matrix(rexp(3 * n_tampered), n_tampered)
  probs <- probs / rowSums(probs)
  list(p = p, y = rbinom(n_tampered, 1, p), probs = probs,
       truth = factor(c("a", "b", "c")[apply(probs, 1, function(q) sample.int(3, 1, prob = q))], c("a", "b", "c")),
       w = rexp(n_tampered), site = rep(1:12, 5), law = pred_normal(rnorm(n_tampered), 1), z = rnorm(n_tampered))
})
p <- tampered_rows$p
y <- tampered_rows$y
probs <- tampered_rows$probs
truth <- tampered_rows$truth
law <- tampered_rows$law
z <- tampered_rows$z
w <- tampered_rows$w
site <- tampered_rows$site
id <- seq_len(n_tampered)
frame <- stats::setNames(as.data.frame(probs), paste0(".pred_", levels(truth)))
by_group <- data.frame(p = p, g = rep(1:2, n_tampered / 2))
quiet <- function(expr) suppressMessages(suppressWarnings(expr))
small_state <- function(...) ce_state(..., grid = c(5, 10), blocks = 16, folds = 2)

# Objects by name, each made when it is first needed.
originals <- list(
  state = quote(update(small_state(), p, y)),
  state_empty = quote(small_state(n_bins = 5)),
  state_blocks = quote(update(small_state(), p, y, weights = w, cluster = site)),
  state_classes = quote(update(small_state(notion = "class_wise"), probs, truth)),
  fit_bins = quote(ce_fit(p, y, method = method_bins(5))),
  fit_steps = quote(ce_fit(p, y, method = method_bins(5, debias = TRUE))),
  fit_kde = quote(ce_fit(p, y, method = method_kde(0.1))),
  fit_kde_weights = quote(ce_fit(p, y, method = method_kde(0.1), weights = w)),
  fit_kde_vector = quote(ce_fit(probs, truth, method = method_kde(0.1), notion = "canonical")),
  fit_kkr = quote(ce_fit(p, y, method = method_kkr(0.1))),
  fit_factor = quote(ce_fit(probs, truth, method = method_kkr(0.1), notion = "canonical")),
  fit_ukkr = quote(ce_fit(probs, truth, method = method_ukkr(0.1), notion = "class_wise")),
  fit_sum = quote(ce_fit(probs, truth, method = method_ukkr(0.1, kernel_gaussian(0.5) + kernel_linear() * kernel_tv(1)),
                         notion = "canonical")),
  fit_power = quote(ce_fit(probs, truth, method = method_power(0.5), notion = "canonical")),
  fit_stack = quote(ce_fit(p, y, method = method_stack())),
  fit_stack_vector = quote(ce_fit(probs, truth, method = method_stack(), notion = "canonical")),
  fit_function = quote(ce_fit(p, y, method = method_function(function(P, Q) tcrossprod(P, Q)))),
  tune = quote(ce_tune(p, y, methods = list(method_bins(c(2, 5)), method_kkr(), method_kde(0.1)),
                       folds = 2, repeats = 1)),
  tune_classes = quote(ce_tune(probs, truth, notion = "class_wise", folds = 2, repeats = 1,
                               methods = list(method_bins(c(2, 5)), method_ukkr(1)))),
  tune_canonical = quote(ce_tune(probs, truth, notion = "canonical", folds = 2, repeats = 1,
                                 methods = list(method_kkr(c(0.1, 1)), method_stack()))),
  tune_state = quote(ce_tune(update(small_state(), p, y, id = id))),
  map_temperature = quote(ce_recalibrate(probs, truth, method = "temperature")),
  map_ets = quote(ce_recalibrate(probs, truth, method = "ets")),
  map_vector = quote(ce_recalibrate(probs, truth, method = "vector")),
  map_matrix = quote(ce_recalibrate(probs, truth, method = map_matrix(penalty = 0.1))),
  map_platt = quote(ce_recalibrate(p, y, method = "platt")),
  map_beta = quote(ce_recalibrate(probs, truth, method = "beta")),
  map_isotonic = quote(ce_recalibrate(p, y, method = "isotonic")),
  map_histogram = quote(ce_recalibrate(p, y, method = map_histogram(4))),
  map_update = quote(ce_recalibrate(p, y, method = map_update("flexible"))),
  map_diag = quote(ce_recalibrate(probs, truth, method = map_diag(hidden = 2))),
  map_label = quote(ce_recalibrate(probs, truth, method = "label_frequency")),
  map_folds = quote(ce_recalibrate(p, y, method = "platt", folds = 3)),
  map_variance = quote(ce_recalibrate(law, z, method = "variance")),
  map_frame = quote(ce_recalibrate(data.frame(truth = y, .pred_1 = p), truth, .pred_1, method = "platt",
                                   event_level = "second")),
  estimate = quote(ce_estimate(p, y)), hierarchy = quote(ce_hierarchy(p, y)),
  gain = quote(ce_gain(p, (p + 0.5) / 2, y)),
  compare = quote(ce_compare(list(a = p, b = (p + 0.5) / 2), y, metric = ece)),
  power = quote(ce_power(assume_model(c(-1, 1)), width = c(slope = 0.4))),
  assumption = quote(assume_model(c(-1, 1))), assumption_beta = quote(assume_model(beta = c(1, 3))),
  pilot = quote(assume_pilot(p, y, recalibration = "platt")),
  grouped = quote(ce_fit(data.frame(p = p, truth = y, g = rep(1:2, n_tampered / 2)), truth, p, .by = g,
                         method = method_bins(3))),
  score_row = quote(ce_score(p, y)),
  kernel = quote(kernel_gaussian(0.5)), kernel_sum = quote(kernel_gaussian("median") + 2 * kernel_tv(0.5)),
  kernel_product = quote(kernel_matern(1.5, 0.5) * (kernel_linear() + kernel_white())),
  kernel_laws = quote(kernel_mmd()), kernel_distance = quote(kernel_wasserstein()),
  method_bins = quote(method_bins(c(3, 6))), method_kde = quote(method_kde(c(0.1, 0.2))),
  method_kkr = quote(method_kkr(c(0.1, 1))), method_ukkr = quote(method_ukkr(1, list(kernel_tv(1), kernel_laplace(1)))),
  method_power = quote(method_power(2)), method_function = quote(method_function(function(P, Q) tcrossprod(P, Q))),
  method_stack = quote(method_stack()),
  choice_map = quote(map_temperature()), choice_network = quote(map_diag(hidden = 2)),
  choice_curve = quote(curve_smooth(bandwidth = 0.3)), choice_binned = quote(curve_binned()),
  choice_test = quote(test_bootstrap(times = 20)), choice_conditional = quote(test_conditional(times = 20)),
  choice_cumulative = quote(test_cumulative(times = 20)),
  choice_joint = quote(test_joint(c(hats = 4))),
  score = quote(score_log()), score_dss = quote(score_dss()), metric = quote(ce_metric(ece, n_bins = 5)),
  horizon = quote(ce_horizon(1)), source = quote(ce_source(data.frame(p = p, y = y))),
  metrics = quote(ece(p, y)), terms = quote(ckce(p, y, ridge = 0.1, group = site)),
  law = quote(pred_normal(rep(0, n_tampered), 1)), law_gamma = quote(pred_gamma(rep(1, n_tampered), 2)),
  law_draws = quote(pred_draws(matrix(seq_len(5 * n_tampered) / 100, n_tampered))),
  law_quantiles = quote(pred_quantiles(matrix(rep(1:3, each = n_tampered), n_tampered), c(0.1, 0.5, 0.9)))
)
originals <- originals[vapply(originals, function(e) all(vapply(all.names(e), exists, NA)), NA)]

made <- new.env()
original <- function(name) {
  if (is.null(made[[name]])) {
    seed <- .Random.seed
    set.seed(1)
    assign(name, quiet(eval(originals[[name]])), envir = made)
    assign(".Random.seed", seed, envir = globalenv())
  }
  made[[name]]
}

# What takes an object, by class: each is an expression of `x`.
anything <- expression(print(x), tidy(x), glance(x), summary(x), draw(x), ce_kable(x))
uses <- list(
  ce_state = expression(update(x, p, y), update(x, probs, truth), update(x, p, y, weights = w, cluster = site), c(x, x),
                        c(x, original("state")), ce_panel(x), ce_estimate(x), ce_tune(x), print(x), tidy(x), glance(x),
                        update(x, probs, truth, id = id)),
  ce_fit = expression(predict(x, p), predict(x, probs), predict(x, p, type = "pairs"), predict(x, probs, type = "gap"),
                      predict(x, p, type = "gap"), ce_risk(x, p, y), ce_risk(x, probs, truth),
                      ce_compare(list(a = x, b = original("fit_kde")), p, y), print(x), tidy(x), glance(x), summary(x),
                      draw(x), augment(x, frame)),
  ce_tune = expression(predict(x, p), predict(x, probs), ce_risk(x, p, y), ce_risk(x, probs, truth), print(x), tidy(x),
                       glance(x), summary(x), draw(x), draw(x, type = "gap"), draw(x, type = "risk"), ce_kable(x),
                       augment(x, frame)),
  ce_recalibration = expression(predict(x, p), predict(x, probs), predict(x, law), predict(x), print(x), tidy(x),
                                glance(x), summary(x), draw(x), augment(x, p), augment(x, probs), ce_gain(p, x, y),
                                ce_gain(probs, x, truth), predict(x, data.frame(.pred_1 = p)), ce_kable(x)),
  ce_kernel = expression(skce(p, y, kernel = x), skce(probs, truth, kernel = x), x + x, 2 * x,
                         ckce(p, y, kernel = x), method_kkr(kernel = x), print(x), skce(law, z, kernel = x),
                         skce(law, z, target_kernel = x), ce_test(probs, truth, kernel = x),
                         ce_fit(p, y, method = method_ukkr(1, kernel = x)), format(x)),
  ce_method = expression(ce_fit(p, y, method = x), ce_fit(probs, truth, method = x, notion = "canonical"),
                         ce_tune(p, y, methods = list(x), folds = 2, repeats = 1), print(x),
                         format(x),
                         ce_estimate(p, y, method = x)),
  ce_choice = expression(ce_recalibrate(p, y, method = x), ce_recalibrate(probs, truth, method = x),
                         ce_curve(p, y, type = x), ce_test(p, y, test = x), print(x), format(x), ce_gain(p, x, y)),
  ce_score_rule = expression(ce_score(p, y, score = x), ce_score(law, z, score = x), print(x), format(x),
                             ce_decompose(p, y, score = x),
                             ce_gain(p, (p + 0.5) / 2, y, score = x)),
  ce_metric_value = expression(ce_compare(list(a = p, b = (p + 0.5) / 2), y, metric = x), print(x), format(x),
                               ce_panel(p, y, metrics = list(x))),
  ce_horizon = expression(ce_estimate(p, survival::Surv(z^2, y), horizon = x), print(x)),
  ce_source = expression(update(ce_state(), x, y, p), print(x)),
  ce_distribution = expression(skce(x, z), ce_curve(x, z), ce_score(x, z), format(x), print(x), c(x, x),
                               ce_moments(x, z), ce_coverage(x, z),
                               ce_recalibrate(x, z, method = "variance"), ckce(x, z), ce_test(x, z)),
  ce_assumption = expression(ce_power(x, width = c(slope = 0.4)), print(x), format(x), draw(x)),
  ce_grouped = expression(predict(x, by_group), print(x), tidy(x), glance(x),
                          draw(x), summary(x), augment(x, by_group))
)

draw <- function(x, ...) ggplot2::ggplot_build(ggplot2::autoplot(x, ...))

use_of <- function(x) {
  known <- uses[intersect(class(x), names(uses))]
  of <- if (length(known) > 0) known[[1]] else anything
  # what has no method of its own is shown by the package of data frames
  own <- c("tidy", "glance", "summary", "draw", if (is.data.frame(x)) "print")
  of <- Filter(function(use) !as.character(use[[1]]) %in% own || has_method(as.character(use[[1]]), class(x)),
               as.list(of))
  of[[sample.int(length(of), 1)]]
}

has_method <- function(name, classes) {
  generic <- if (name == "draw") "autoplot" else name
  any(vapply(classes[startsWith(classes, "ce_")], function(class) {
    exists(paste0(generic, ".", class), asNamespace("calibrisk"), inherits = FALSE)
  }, NA))
}

# One field changed ---------------------------------------------------------------------------------------------------
# list(value, path): `value` with one part changed, and which part.
tamper <- function(x, path = "x") {
  inside <- unclass(x)
  if (!is.list(inside) || length(inside) == 0 || is.pairlist(inside)) return(changed(x, path))
  i <- sample.int(length(inside), 1)
  name <- names(inside)[i]
  path <- paste0(path, if (is.null(name) || is.na(name) || !nzchar(name)) paste0("[[", i, "]]") else paste0("$", name))
  deeper <- is.list(inside[[i]]) && length(inside[[i]]) > 0 && runif(1) < 0.8
  part <- if (deeper) tamper(inside[[i]], path) else changed(inside[[i]], path)
  # as lists and their attributes: no method of the class is asked
  kept <- attributes(inside)
  out <- as.list(inside)
  if (is.null(part$value)) {
    if (runif(1) < 0.5) out[i] <- list(NULL) else {
      out <- out[-i]
      kept$names <- kept$names[-i]
    }
  } else {
    out[[i]] <- part$value
  }
  attributes(out) <- kept
  attr(out, "class") <- attr(x, "class")
  list(value = out, path = part$path)
}

changed <- function(value, path) {
  how <- pick(list("delete", "resize", "resize", "retype", "retype", "number", "number", "number", "scale", "other",
                   "attribute"))
  new <- tryCatch(suppressWarnings(changes[[how]](value)), error = function(cnd) NULL)
  list(value = new, path = paste0(path, " (", how, ")"))
}

change_delete <- function(v) NULL

change_resize <- function(v) {
  if (is.function(v) || is.environment(v)) return(list(v, v))
  if (is.matrix(v)) {
    return(pick(list(
      function() v[, 0, drop = FALSE], function() v[0, , drop = FALSE], function() v[-1, , drop = FALSE],
      function() v[, -1, drop = FALSE], function() rbind(v, v), function() cbind(v, v), function() t(v),
      function() as.vector(v)
    ))())
  }
  pick(list(function() v[0], function() v[-1], function() c(v, v), function() rep(v, 100), function() v[1],
            function() matrix(v)))()
}

change_retype <- function(v) {
  pick(list(
    function() as.character(v), function() as.list(v), function() as.integer(v), function() factor(v),
    function() as.complex(v), function() list(), function() "text", function() TRUE, function() sum,
    function() as.raw(1:3), function() new.env(), function() quote(x + y), function() NA_character_,
    function() character(),
    function() array(v, c(1, 1, length(v))), function() as.data.frame(v), function() Sys.Date(), function() 1L
  ))()
}

change_number <- function(v) {
  to <- pick(list(NA, NaN, Inf, -Inf, 1e18, -1, 0, 0.5, 1e-300, 1005, 2, 7, 1e9, -1e-12, 3L))
  if (!is.numeric(v) && !is.logical(v) || length(v) == 0 || runif(1) < 0.3) return(to)
  if (runif(1) < 0.2) v[] <- to else v[[sample.int(length(v), 1)]] <- to
  v
}

change_scale <- function(v) v * pick(list(2, -1, 1e6, 1e-6, 0, 1e300))

change_other <- function(v) {
  from <- original(pick(as.list(names(originals))))
  repeat {
    inside <- unclass(from)
    if (!is.list(inside) || length(inside) == 0 || runif(1) < 0.2) return(from)
    from <- inside[[sample.int(length(inside), 1)]]
  }
}

change_attribute <- function(v) {
  pick(list(function() unclass(v), function() unname(v), function() {
    attributes(v) <- NULL
    v
  }, function() structure(v, class = "other"), function() stats::setNames(v, rev(names(v)))))()
}

changes <- list(delete = change_delete, resize = change_resize, retype = change_retype, number = change_number,
                scale = change_scale, other = change_other, attribute = change_attribute)

# One case: what was changed, the use, and what went wrong.
tamper_case <- function(seed, case, show = FALSE, only = NULL) {
  set.seed((seed * 1e6 + case) %% .Machine$integer.max)
  name <- pick(as.list(if (is.null(only)) names(originals) else grep(only, names(originals), value = TRUE)))
  x <- original(name)
  use <- use_of(x)
  part <- tamper(x)
  where <- paste0(name, ": ", part$path, ", ", paste(deparse(use), collapse = " "))
  if (show) cat(where, "\n")
  scope <- list2env(list(x = part$value), parent = globalenv())
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  out <- NULL
  utils::capture.output(out <- attempt(eval(use, scope)))
  if (show) {
    str(part$value, max.level = 2)
    if (out$refused) print(attr(out$value, "cause"))
  }
  stopped <- grepl("reached (CPU|elapsed) time limit", out$problem %||% "")
  problem <- if (!out$refused && inherits(x, "ce_state")) foreign_sums(part$value)
  list(where = where, refused = out$refused, stopped = stopped, problem = problem)
}

# Whether the sums of a state are not those of its options and rows; by R, and not by the package's own check.
foreign_sums <- function(state) {
  n <- as.numeric(state$n)
  if (length(state$sums) == 0) return(if (n != 0) "rows without sums")
  blocked <- isTRUE(as.logical(state$about$blocked))
  weight <- if (blocked) total_of(state$sums[[1]]$moments, 4) else n
  found <- lapply(state$sums, function(sums) {
    if (!all(is.finite(unlist(sums)))) return("sums that are not finite")
    foreign_problem(sums, state, n, weight, blocked)
  })
  if (length(unlist(found)) > 0) unlist(found)[1]
}

total_of <- function(x, step, first = 1) sum(x[seq(first, nrow(x), step), ])

near <- function(a, b) isTRUE(abs(a - b) <= 1e-5 * b)

foreign_problem <- function(sums, state, n, weight, blocked) {
  m <- if (blocked) 4 else 10
  parts <- if (blocked) state$spec$blocks else state$spec$folds + 1
  narrow <- if (blocked || state$about$notion == "class_wise") 2 else 6
  squares <- total_of(sums$scores, 6, 6)
  c(
    "sums of another spec"[nrow(sums$moments) != 2 * m * (length(state$spec$edges) - 1) * parts],
    "sums of another number of rows"[blocked && !near(sum(sums$counts), n)],
    "moments of other weights"[!near(total_of(sums$moments, m), weight)],
    "narrow cells of other weights"[!near(total_of(sums$fine, narrow), weight)],
    "scores of other weights"[!blocked && !near(squares, weight) || squares > 1.00001 * weight^2]
  )
}

# Cases from..to in this process, a line in `log` before and after each: what was begun and not ended is a crash.
tamper_here <- function(seed, from, to, log, only = NULL) {
  connection <- file(log, "w")
  for (case in seq(from, to)) {
    cat("begin ", case, "\n", sep = "", file = connection)
    flush(connection)
    out <- tamper_case(seed, case, only = only)
    state <- if (out$stopped) "stopped" else
      if (!is.null(out$problem)) "failed" else if (out$refused) "refused" else "ok"
    cat(state, " ", case, " ", out$where, if (!is.null(out$problem)) {
      paste0(": ", substr(gsub("\\s+", " ", out$problem), 1, 200))
    }, "\n", sep = "", file = connection)
  }
  close(connection)
}

# Batches in child processes of limited memory; a batch goes on after a case that ended its process.
tamper_batches <- function(cases, seed, only, batch = 5000, memory = 6e6) {
  lines <- character()
  from <- 1
  while (from <= cases) {
    to <- min(cases, from + batch - 1)
    log <- tempfile()
    command <- sprintf("ulimit -v %.0f; exec %s tools/fuzz.R tamper-here %d %d %d %s %s >%s 2>&1", memory,
                       shQuote(file.path(R.home("bin"), "Rscript")), seed, from, to, shQuote(log), shQuote(only),
                       shQuote(paste0(log, ".out")))
    status <- system(command)
    found <- readLines(log)
    begun <- sub("^begin ", "", utils::tail(found[startsWith(found, "begin ")], 1))
    found <- found[!startsWith(found, "begin ")]
    crashed <- status != 0
    if (crashed && length(begun) == 0) stop("The process did not begin:\n", toString(readLines(paste0(log, ".out"))))
    if (crashed) {
      said <- utils::tail(readLines(paste0(log, ".out"), warn = FALSE), 3)
      found <- c(found, sprintf("crashed %s with status %d: %s", begun, status, paste(said, collapse = " | ")))
    }
    bad <- grepl("^(failed|crashed|stopped) ", found)
    case <- sub("^[a-z]+ ([0-9]+) .*", "\\1", found[bad])
    cat(paste0(sub("^([a-z]+) [0-9]+", "\\1", found[bad]), "\n  Rscript tools/fuzz.R tamper-case ", seed, " ", case,
               "\n", recycle0 = TRUE), sep = "")
    lines <- c(lines, found)
    from <- if (crashed) as.integer(begun) + 1 else to + 1
  }
  lines
}

tamper_mode <- function(mode, arguments) {
  number <- function(i, default) if (length(arguments) < i) default else as.integer(arguments[i])
  if (mode == "tamper-here") {
    tamper_here(number(1), number(2), number(3), arguments[4], if (nzchar(arguments[5])) arguments[5])
    quit(status = 0)
  }
  if (mode == "tamper-case") {
    out <- tamper_case(number(1), number(2), show = TRUE, only = if (length(arguments) > 2) arguments[3])
    cat("\n", if (is.null(out$problem)) if (out$refused) "refused" else "ok" else out$problem, "\n", sep = "")
    quit(status = !is.null(out$problem))
  }
  cases <- number(1, 1000L)
  seed <- number(2, 1L)
  started <- Sys.time()
  lines <- tamper_batches(cases, seed, if (length(arguments) > 2) arguments[3] else "")
  count <- function(word) sum(startsWith(lines, word))
  # what takes too long was stopped as it should be: shown, not a failure
  cat(sprintf("\n%d tampered objects with seed %d in %.0f s: %d refused, %d stopped, %d failed, %d crashed\n", cases,
              seed, as.numeric(difftime(Sys.time(), started, units = "secs")), count("refused"), count("stopped"),
              count("failed"), count("crashed")))
  quit(status = count("failed") + count("crashed") > 0)
}
