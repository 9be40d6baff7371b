# Objects whose fields were changed, as a file or another process may hand them over.

tampered <- local({
  withr::local_seed(3)
  p <- runif(60)
  probs <- matrix(rexp(180), 60)
  list(p = p, y = rbinom(60, 1, p), w = rexp(60), probs = probs / rowSums(probs), truth = sample.int(3, 60, TRUE))
})

small_state <- function(..., spec = list()) {
  given <- utils::modifyList(list(grid = c(5, 10), folds = 2, blocks = 16), spec)
  update(do.call(ce_state, given), ...)
}

# x with the field at a path of names and positions changed, and that path in words.
set_at <- function(x, path, value) {
  first <- path[[1]]
  if (length(path) > 1) {
    x[[first]] <- set_at(x[[first]], path[-1], value)
  } else if (is.data.frame(x) && !is.null(value)) {
    # what no data frame takes
    x <- set_at_law(x, first, value)
  } else {
    x[first] <- list(value)
  }
  x
}

set_at_law <- function(law, name, value) {
  kept <- attributes(law)
  out <- unclass(law)
  out[[name]] <- value
  attributes(out) <- kept
  out
}

path_text <- function(path) {
  sub("^[$]", "", paste(vapply(path, function(k) if (is.numeric(k)) paste0("[[", k, "]]") else paste0("$", k), ""),
                        collapse = ""))
}

refused <- function(value, field) {
  cnd <- expect_error(value, class = "calibrisk_error_object")
  expect_identical(cnd$field, field)
  expect_match(conditionMessage(cnd), field, fixed = TRUE)
}

test_that("a changed spec of a state is refused by its field", {
  with(tampered, {
    state <- small_state(p, y)
    changes <- list(folds = 1005, test = 1.5, blocks = 1e9, grid = 1e7, n_bins = 16, bins = NA, knots = 7,
                    fine = rep(state$spec$fine, 2), edges = rev(state$spec$edges), inner = NULL, notion = "other",
                    event_level = 2, kernel = kernel_linear(), n_bins = Inf, fine = c(Inf, state$spec$fine[-1]))
    for (i in seq_along(changes)) {
      broken <- state
      broken$spec[names(changes)[i]] <- changes[i]
      refused(update(broken, p, y), paste0("spec$", names(changes)[i]))
    }
    refused(ce_estimate(broken), "spec$fine")
    broken <- small_state(p, y, weights = w)
    broken$spec$blocks <- 32
    refused(update(broken, p, y, weights = w), "sums[[1]]$moments")
  })
})

test_that("changed sums of a state are refused", {
  with(tampered, {
    state <- small_state(p, y)
    moments <- state$sums[[1]]$moments
    changes <- list(moments[, 0], moments[-1, ], rbind(moments, moments), as.character(moments), NULL, c(moments),
                    replace(moments, 1, NaN), replace(moments, 1:10, -1), replace(moments, 2, 1e18))
    for (change in changes) {
      broken <- state
      broken$sums[[1]]["moments"] <- list(change)
      for (use in list(function(s) update(s, p, y), function(s) c(s, state), function(s) c(state, s), ce_panel,
                       ce_estimate, ce_tune, function(s) capture.output(print(s)))) {
        expect_error(use(broken), class = "calibrisk_error_object")
      }
    }
    broken <- small_state(probs, truth, spec = list(notion = "class_wise"))
    broken$sums[[3]]$blocks <- broken$sums[[3]]$blocks * 1e300
    refused(ce_estimate(broken), "sums[[3]]$blocks")
    heavy <- small_state(p, y, weights = 1e50 * w / max(w))
    expect_identical(object_fault(heavy), NULL)
    state$sums[[1]]$fine <- state$sums[[1]]$fine[-1, ]
    refused(ce_tune(state), "sums[[1]]$fine")
    # of other rows than their numbers
    weighted <- small_state(p, y, weights = w)
    squares <- weighted$sums[[1]]$squares
    weighted$sums[[1]]$squares[] <- replace(0 * squares, 1, sum(squares))
    expect_error(tidy(weighted), "of the same rows", class = "calibrisk_error_object")
    classes <- small_state(probs, truth, spec = list(notion = "class_wise"))
    classes$sums <- classes$sums[-1]
    refused(update(classes, probs, truth), "sums")
    canonical <- small_state(probs, truth, spec = list(notion = "canonical", landmarks = 4))
    canonical$about$landmarks <- canonical$about$landmarks[, -1]
    refused(ce_tune(canonical), "about$landmarks")
    monitor <- update(ce_monitor(block = 10), p, y)
    monitor$streams[[1]]$cells <- monitor$streams[[1]]$cells[, -1]
    refused(update(monitor, p, y), "streams[[1]]$cells")
    monitor$streams <- NULL
    refused(c(monitor, monitor), "streams")
  })
})

test_that("objects that updates return are not looked at again, changed copies are", {
  looked <- 0
  before <- object_rules$ce_state
  withr::defer(assign("ce_state", before, envir = object_rules))
  describe_object("ce_state", once(function(x, o) {
    looked <<- looked + 1
    before(x, o)
  }))
  state <- ce_state(grid = c(5, 10), folds = 2, blocks = 16)
  for (i in 1:5) state <- update(state, tampered$p, tampered$y)
  expect_identical(looked, 1)
  state$n <- -1
  refused(update(state, tampered$p, tampered$y), "n")
  expect_identical(looked, 2)
})

test_that("states go through files and text unharmed", {
  with(tampered, {
    state <- small_state(p, y)
    file <- withr::local_tempfile()
    saveRDS(state, file)
    expect_identical(update(readRDS(file), p, y), update(state, p, y))
    expect_identical(unserialize(serialize(state, NULL)), state)
    # what text gives back: whole numbers are integers
    whole <- state
    whole$sums[[1]]$scores <- round(whole$sums[[1]]$scores)
    as_text <- whole
    storage.mode(as_text$sums[[1]]$scores) <- "integer"
    expect_identical(update(as_text, p, y), update(whole, p, y))
    expect_null(object_fault(state))
  })
})

test_that("the sums of a state are of its rows", {
  with(tampered, {
    states <- list(
      small_state(p, y), small_state(p, y, weights = w, cluster = rep(1:12, 5)),
      small_state(probs, truth, spec = list(notion = "class_wise")),
      small_state(probs, truth, spec = list(notion = "canonical", landmarks = 4))
    )
    for (state in states) {
      expect_null(object_fault(state))
      expect_error(print(set_at(state, list("n"), 7)), "of the same 7 rows", class = "calibrisk_error_object")
      for (name in setdiff(names(state$sums[[1]]), c("squares", "cross", if (state$about$blocked) "scores"))) {
        path <- list("sums", length(state$sums), name)
        expect_error(tidy(set_at(state, path, 0 * state$sums[[1]][[name]])), class = "calibrisk_error_object",
                     info = name)
      }
    }
    for (state in states[2:3]) {
      expect_error(tidy(set_at(state, list("sums", 1, "scores"), -state$sums[[1]]$scores)), "at least 0",
                   class = "calibrisk_error_object")
    }
    monitor <- update(ce_monitor(block = 10), p, y)
    monitor$state$sums[[1]]$moments[] <- 0
    refused(ce_kable(monitor), "state$sums[[1]]$moments")
  })
})

test_that("changed fits are refused by their field", {
  with(tampered, {
    bins <- ce_fit(p, y, method = method_bins(5))
    steps <- ce_fit(p, y, method = method_bins(5, debias = TRUE))
    stack <- ce_fit(p, y, method = method_stack())
    top <- ce_fit(probs, truth, method = method_stack(), notion = "canonical")
    kkr <- ce_fit(p, y, method = method_kkr(0.1))
    factor <- ce_fit(probs, truth, method = method_ukkr(0.1), notion = "canonical")
    kde <- ce_fit(probs, truth, method = method_kde(0.1), notion = "canonical")
    form <- function(...) list("forms", 1, ...)
    cases <- list(
      list(bins, p, form("values"), 1:3), list(bins, p, form("edges"), c(0.9, 0.1, 0.2, 0.3)),
      list(bins, p, list("forms"), list()), list(bins, p, list("event"), 7), list(bins, p, list("levels"), "a"),
      list(bins, p, form("core"), diag(2)), list(bins, p, form("gap"), NA),
      list(steps, p, form("parts", 1, "v"), -1), list(steps, p, form("core"), 1),
      list(stack, p, form("weights"), numeric(9)), list(stack, p, form("shapes", 1, "own"), list()),
      list(stack, p, form("shapes", 1, "weights"), list(matrix(0, 1, 1))),
      list(stack, p, form("shapes", 1, "recipe"), "nothing"), list(stack, p, form("dimension"), 1e9),
      list(top, probs, form("shapes", 1, "weights"), list()), list(top, probs, form("shapes", 1, "scale"), NULL),
      list(kkr, p, form("map", "rank"), 1e9), list(kkr, p, form("basis"), matrix(0, 1, 1)),
      list(kkr, p, form("core"), matrix(0, 1, 1)), list(factor, probs, form("map", "triangle"), matrix(1, 2, 2)),
      list(factor, probs, form("map", "kernel", "bandwidth"), NaN), list(factor, probs, form("map", "kernel"), 1),
      list(kde, probs, form("labels"), 9L), list(kde, probs, form("labels"), rep(9L, 60)),
      list(kde, probs, form("bandwidth"), quote(stop("evaluated"))), list(kde, probs, form("weights"), 1)
    )
    for (case in cases) refused(predict(set_at(case[[1]], case[[3]], case[[4]]), case[[2]]), path_text(case[[3]]))
    # features that are not residuals
    refused(predict(set_at(kkr, form("gap"), TRUE), p, type = "gap"), "forms[[1]]$gap")
    refused(augment(set_at(steps, form("gap"), TRUE), data.frame(p), p), "forms[[1]]$gap")
    # a single probability of three classes, and bars without height
    refused(predict(set_at(kde, list("scalar"), TRUE), p), "scalar")
    refused(plot(set_at(bins, list("histogram", "counts"), 0 * bins$histogram$counts)), "histogram$counts")
    # of features that the notion does not have
    refused(predict(set_at(kde, list("levels"), letters[1:4]), probs), "forms[[1]]")
    refused(ce_risk(set_at(bins, form("values"), 1:3), p, y), "forms[[1]]$values")
    refused(ce_compare(list(set_at(bins, form("values"), 1:3), kkr), p, y), "forms[[1]]$values")
    tune <- ce_tune(p, y, methods = list(method_bins(c(2, 5)), method_kde(0.1)), folds = 2, repeats = 1)
    refused(predict(set_at(tune, list("forms", "bins", 1, 1, "values"), 1), p), "forms[[1]][[1]][[1]]$values")
    refused(tidy(set_at(tune, list("tidy", "risk"), list(1))), "tidy$risk")
    refused(glance(set_at(tune, list("labels"), NULL)), "labels")
  })
})

test_that("changed kernels, methods, bases and other choices are refused by their field", {
  with(tampered, {
    kernel <- kernel_gaussian(0.5) + kernel_tv("median")
    refused(skce(p, y, kernel = set_at(kernel, list("parts"), list())), "parts")
    refused(kernel_matrix(set_at(kernel, list("parts", 2), kernel_linear), probs), "parts[[2]]")
    refused(2 * set_at(kernel, list("parts", 1, "bandwidth"), NA), "parts[[1]]$bandwidth")
    refused(skce(p, y, kernel = set_at(kernel_tv(1), list("scale"), Inf)), "scale")
    # what is a call is not evaluated
    refused(skce(p, y, kernel = set_at(kernel_tv(1), list("bandwidth"), quote(stop("evaluated")))), "bandwidth")
    refused(ce_recalibrate(p, y, method = set_at(map_platt(), list("penalty"), quote(stop("evaluated")))), "penalty")
    refused(format(set_at(kernel_tv(1), list("type"), "own")), "type")
    many <- Reduce(`+`, rep(list(kernel_linear()), 20))
    expect_null(object_fault(many))
    deep <- Reduce(function(inner, i) new_kernel("sum", parts = list(inner)), 1:300, kernel_linear())
    expect_error(skce(p, y, kernel = deep), class = "calibrisk_error_object")
    refused(ce_fit(p, y, method = set_at(method_bins(5), list("values"), 1e9)), "n")
    refused(ce_fit(p, y, method = set_at(method_kkr(1), list("kernel", "type"), "white!")), "kernel")
    refused(ce_curve(p, y, type = set_at(curve_smooth(), list("bandwidth"), -1)), "bandwidth")
    refused(ce_test(p, y, test = set_at(test_bootstrap(), list("times"), 1e9)), "times")
    refused(ce_score(p, y, score = set_at(as_score("brier"), list("value"), 1)), "value")
    # functions and numbers that are of none of the package's scores
    refused(ce_score(pred_normal(p, 1), w, score = set_at(as_score("brier"), list("real"), sum)), "real")
    refused(ce_gain(p, p / 2, y, score = set_at(as_score("brier"), list("infimum"), 3)), "infimum")
    refused(format(set_at(score_log(), list("name"), "other")), "name")
    expect_identical(object_fault(unserialize(serialize(score_log(1e-7), NULL))), NULL)
    for (make in score_makers) expect_identical(object_fault(make()), NULL)
    refused(ce_estimate(p, y, horizon = set_at(ce_horizon(1), list("time"), NaN)), "time")
    refused(format(set_at_law(pred_normal(p, 1), "sd", 0 * p[-1] + 1)), "sd")
  })
})

test_that("changed recalibration maps are refused by their field", {
  with(tampered, {
    platt <- ce_recalibrate(p, y, method = "platt")
    classes <- ce_recalibrate(probs, truth, method = "vector")
    network <- ce_recalibrate(probs, truth, method = map_diag(hidden = 2))
    histogram <- ce_recalibrate(p, y, method = map_histogram(4))
    expect_error(predict(set_at(platt, list("map", "maps"), list()), p), class = "calibrisk_error_object")
    refused(predict(set_at(platt, list("map", "maps", 1, "a"), "1"), p), "map$maps[[1]]$a")
    refused(predict(set_at(classes, list("map", "w"), diag(2)), probs), "map$w")
    refused(predict(set_at(classes, list("layout", "order"), 1:4), probs), "layout$order")
    refused(predict(set_at(network, list("map", "hidden"), c(1000L, 1000L)), probs), "map$parameters")
    refused(predict(set_at(network, list("map", "range"), 1), probs), "map$range")
    refused(predict(set_at(histogram, list("map", "maps", 1, "value"), 1), p), "map$maps[[1]]$value")
    refused(ce_gain(p, set_at(platt, list("kind"), NULL), y), "kind")
  })
})

test_that("an order of classes that is of no integers is refused without a warning", {
  map <- with(tampered, ce_recalibrate(probs, truth, method = "temperature"))
  expect_no_warning(refused(predict(set_at(map, list("layout", "order"), 1e300 * 1:3), tampered$probs), "layout$order"))
})

test_that("maps of distributions know how those were given", {
  law <- pred_normal(tampered$p, 1)
  columns <- cbind(mean = tampered$p, sd = 1)
  for (x in list(law, columns, as.data.frame(columns), data.frame(law = law))) {
    truth <- tampered$w
    map <- if (is.data.frame(x)) {
      x$truth <- truth
      dots <- lapply(setdiff(names(x), "truth"), as.name)
      rlang::inject(ce_recalibrate(x, truth, !!!dots, method = "variance"))
    } else {
      ce_recalibrate(x, truth, method = "variance")
    }
    expect_identical(object_fault(map), NULL)
    refused(predict(set_at(map, list("layout", "type"), NULL), x), "layout$type")
    refused(predict(set_at(map, list("layout", "columns"), letters), x), "layout$columns")
  }
  map <- ce_recalibrate(columns, tampered$w, method = "variance")
  refused(predict(set_at(map, list("layout", "roles"), c("sd", "sd")), columns), "layout$roles")
  map <- ce_recalibrate(law, tampered$w, method = "temperature")
  expect_identical(object_fault(map), NULL)
  refused(predict(set_at(map, list("layout", "type"), "matrix"), law), "layout$type")
})

test_that("a map of the variances of a vector takes no data frame", {
  map <- ce_recalibrate(pred_normal(tampered$p, 1), tampered$w, method = "variance")
  expect_error(predict(map, data.frame(a = tampered$p)), class = "calibrisk_error_columns")
})

test_that("results with changed tables are refused, shorter ones are not", {
  with(tampered, {
    estimate <- ce_estimate(p, y)
    expect_output(print(estimate[, 1:3]))
    hierarchy <- ce_hierarchy(p, y)
    expect_output(print(hierarchy[setdiff(names(hierarchy), "n_distinct")]), "quantity")
    hierarchy$n_distinct <- NA
    expect_output(print(hierarchy), "Hierarchy")
    metrics <- ece(p, y)
    expect_output(print(metrics[, 1:3]))
    expect_error(print(set_at_law(metrics, ".estimate", list(1, 2))), class = "calibrisk_error_object")
    # numbers that somebody has formatted
    for (table in list(metrics, estimate)) {
      table[[intersect(c(".estimate", "estimate"), names(table))]] <- "0.1 (0 to 0.2)"
      expect_output(print(table, width = Inf), "0.1 (0 to 0.2)", fixed = TRUE)
    }
    expect_output(print(hierarchy[0, ]), "quantity")
    terms <- ckce(p, y, ridge = 0.1, group = rep(1:2, 30))
    refused(tidy(set_at(terms, list("groups"), list(list(1)))), "groups[[1]]")
    lost <- terms[setdiff(names(terms), "groups")]
    expect_no_warning(expect_identical(tidy(lost)$estimate, terms$.estimate))
    refused(tidy(set_at(estimate, list("upper_bound"), data.frame(1))), "upper_bound")
    expect_output(print(set_at(estimate, list("upper_bound"), data.frame(a = 1))), "upper_bound")
    expect_error(tidy(structure(set_at(unclass(estimate), list("n"), list(1, 2)), class = class(estimate))),
                 class = "calibrisk_error_object")
  })
})

# The class of another package, without methods.
foreign <- function(x) structure(x, class = "other")

test_that("fields of a tuning result that its print reads are refused by their name", {
  with(tampered, {
    tune <- ce_tune(p, y, methods = list(method_bins(2), method_kkr(1)), folds = 2, repeats = 1)
    cases <- list(list(list("diagnostics", "kkr", 1), 3), list(list("level"), 1),
                  list(list("glance", "method"), factor(tune$glance$method)))
    for (case in cases) {
      cnd <- expect_error(capture.output(print(set_at(tune, case[[1]], case[[2]]))), class = "calibrisk_error_object",
                          info = path_text(case[[1]]))
      expect_true(is.character(cnd$field), info = path_text(case[[1]]))
    }
  })
})

test_that("summaries and groups hold results", {
  with(tampered, {
    of_curve <- summary(ce_curve(p, y))
    for (object in list(NULL, 1, list(1), kernel_tv(1), foreign(1))) {
      refused(tidy(set_at(of_curve, list("object"), object)), "object")
    }
    grouped <- ce_fit(data.frame(p, y, g = rep(1:2, 30)), y, p, .by = g, method = method_bins(3))
    refused(tidy(set_at(grouped, list("results", 1), 1)), "results[[1]]")
    refused(tidy(set_at(grouped, list("results", 1), ce_test(p, y))), "results")
    refused(print(set_at(grouped, list("missing"), list(keys = grouped$keys[0, ], errors = list(), at = 3))),
            "missing$at")
    expect_null(object_fault(grouped))
  })
})

test_that("tables that have lost a column say which their methods need", {
  skip_if_not_installed("ggplot2")
  with(tampered, {
    errors <- ce_estimate(p, y)
    lacks <- function(value, column) {
      cnd <- expect_error(value, class = "calibrisk_error_columns")
      expect_match(conditionMessage(cnd), column, fixed = TRUE)
    }
    lacks(glance(errors[-1]), "notion")
    lacks(ggplot2::autoplot(errors[names(errors) != "estimate"]), "estimate")
    lacks(format(errors[names(errors) != "conf.low"]), "conf.low")
    expect_output(print(errors[-1]), "estimate")
    gains <- ce_gain(p, c("platt", "temperature"), y)
    lacks(ggplot2::autoplot(gains[names(gains) != "level"]), "level")
    power <- ce_power(assume_model(c(-1, 1)), width = c(slope = 0.4))
    expect_s3_class(paper_table(power[names(power) != "events"]), "data.frame")
    power$events <- NA_real_
    expect_output(print(power), "NA events")
    # columns of a class without methods
    for (column in c("method", "estimate", "notion")) {
      refused(ggplot2::autoplot(set_at(errors, list(column), foreign(errors[[column]]))), column)
    }
  })
})

test_that("numbers of choices are plain, not arrays of length one", {
  with(tampered, {
    refused(ce_curve(p, y, type = set_at(curve_binned(), list("n_bins"), matrix(15))), "n_bins")
    refused(ce_recalibrate(probs, truth, method = set_at(map_diag(hidden = 2), list("penalty"), matrix(1))), "penalty")
    refused(print(set_at(ce_state(n_bins = 5), list("spec", "n_bins"), matrix(5))), "spec$n_bins")
    refused(print(set_at(ce_state(), list("spec", "test"), matrix(0.2))), "spec$test")
    refused(skce(p, y, kernel = set_at(kernel_wasserstein(), list("power"), matrix(1))), "power")
    cnd <- expect_error(curve_binned(n_bins = matrix(5)), class = "calibrisk_error_argument")
    expect_match(conditionMessage(cnd), "an array of dimension 1 x 1", fixed = TRUE)
  })
})

test_that("vectors of predictions are refused by their field when they are printed", {
  law <- pred_normal(tampered$p, 1)
  for (value in list(sum, new.env(), kernel_tv(1), ce_test(tampered$p, tampered$y))) {
    refused(print(set_at_law(law, "mean", value)), "mean")
    refused(ce_curve(set_at_law(law, "mean", value), tampered$w), "mean")
  }
  expect_output(print(law), "ce_distribution<normal>")
  refused(print(set_at(assume_model(c(0, 1)), list("logit"), 1e300 * assume_model(c(0, 1))$logit)), "logit")
})

test_that("a spec that is no list, and squares that no weights have, are refused", {
  with(tampered, {
    state <- update(ce_state(blocks = 16), p, y, weights = w + .1)
    for (value in list(1, "a", NULL, list(), tibble::tibble(a = 1))) {
      expect_no_warning(expect_error(update(set_at(state, list("spec"), value), p, y), class = "calibrisk_error_object"))
    }
    scores <- state$sums[[1]]$scores
    last <- nrow(scores) - length(score_sums) * 0:15
    refused(ce_estimate(set_at(state, list("sums", 1, "scores"), replace(scores, last, scores[last] * 1e6))),
            "sums[[1]]$scores")
    refused(ce_estimate(set_at(state, list("sums", 1, "scores"), replace(scores, last, 0))), "sums[[1]]$scores")
  })
})

test_that("pair forms that are joined all have a core, or none", {
  expect_error(block_diagonal(list(diag(2), NULL)), class = "calibrisk_error_object")
  expect_null(block_diagonal(list(NULL, NULL)))
})

test_that("a parameter of a distribution is a number for each prediction", {
  law <- pred_gamma(tampered$p + 1, 2)
  refused(print(set_at_law(law, "shape", cbind(tampered$p, 1))), "shape")
})

test_that("the scale and the shift of variances are not negative", {
  map <- ce_recalibrate(pred_normal(tampered$p, 1), tampered$w, method = "variance")
  refused(predict(set_at(map, list("map", "w"), -1e-12), pred_normal(0, 1)), "map$w")
  refused(predict(set_at(map, list("map", "b"), -1), pred_normal(0, 1)), "map$b")
})

test_that("a changed table of a database is refused by its field", {
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "predictions", data.frame(p = tampered$p, y = tampered$y))
  table <- ce_database(con, "predictions")
  refused(ece(set_at(table, list("con"), NULL), y, p), "con")
  refused(ce_estimate(set_at(table, list("from"), NA), y, p), "from")
  refused(print(set_at(table, list("columns"), 1)), "columns")
})

test_that("classes that are saved or printed as tables have a description of their fields", {
  generics <- c("print", "format", "tidy", "glance", "summary", "autoplot", "predict", "augment", "update", "estimate")
  methods <- paste0("^(", paste(generics, collapse = "|"), ")[.](?=ce_)")
  all <- ls(asNamespace("calibrisk"), all.names = TRUE)
  classes <- sub(methods, "", grep(methods, all, value = TRUE, perl = TRUE), perl = TRUE)
  # a method of its own adds to those of every method; results are ordinary lists
  lists <- paste0("ce_", c("curve", "decision", "rank", "test", "validation"))
  expect_identical(setdiff(classes, c(ls(object_rules), "ce_method_stack", lists)), character())
})

test_that("a network of too many weights is refused", {
  expect_error(map_diag(hidden = c(1000, 1000)), class = "calibrisk_error_size")
  expect_identical(network_size(c(10, 10)), 141)
  expect_length(start_network(c(4, 3), 1, matrix(-1:-6, 2)), network_size(c(4, 3)))
})

test_that("networks of too many weights end no process of little memory", {
  skip_on_cran()
  skip_on_os(c("windows", "mac", "solaris"))
  code <- c(
    "library(calibrisk)", "changed <- map_diag()", "changed$hidden <- c(1000, 1000)",
    "for (make in expression(map_diag(hidden = c(1000, 1000)),",
    "  ce_recalibrate(matrix(1 / 3, 6, 3), rep(1:3, 2), method = changed))) {",
    "  cnd <- tryCatch(eval(make), error = identity)",
    "  cat(inherits(cnd, 'calibrisk_error_size'), inherits(cnd, 'calibrisk_error_object'), '')", "}"
  )
  script <- withr::local_tempfile(lines = code, fileext = ".R")
  withr::local_envvar(R_LIBS = paste(.libPaths(), collapse = ":"))
  command <- paste("ulimit -v 1000000; exec", shQuote(file.path(R.home("bin"), "Rscript")), shQuote(script), "2>&1")
  said <- suppressWarnings(system(command, intern = TRUE))
  expect_identical(trimws(said), "TRUE FALSE FALSE TRUE")
})

test_that("the core refuses sums, parts and edges that do not fit", {
  sums <- matrix(0, 4 * 2 * 3, 2)
  add <- function(sums, part = 0L, y = 1L, m = 4L, x = 0.5) cpp_add_moments(sums, c(0, 0.3, 0.7, 1), m, x, y, part, 1)
  expect_identical(add(sums)[(1 * 2 + 1) * 4 + 1, 1], 1)
  for (broken in list(quote(add(sums, 1L)), quote(add(sums, -1L)), quote(add(sums, NA)), quote(add(sums, y = 2L)),
                      quote(add(sums[, 1, drop = FALSE])), quote(add(sums, m = 0L)), quote(add(sums, x = numeric())),
                      quote(cpp_add_sums(sums, sums[-1, ])), quote(cpp_add_products(sums, diag(3), 1L)),
                      quote(cpp_add_scores(sums, 0.5, 1L, 9L, 1)),
                      quote(cpp_group_rows(1, 2, 1, 2, numeric(), 4L, 2L)))) {
    expect_error(eval(broken), class = "calibrisk_error_core")
  }
  expect_true(cpp_are_sums(sums, 4L))
  expect_false(cpp_are_sums(sums, 5L))
  expect_false(cpp_are_sums(replace(sums, 2, 1), 4L))
  expect_true(cpp_are_sums(replace(sums, 2, 1), 0L))
  expect_false(cpp_are_sums(replace(sums, 2, Inf), 0L))
})

test_that("knots that a basis of a stack does not use are not read", {
  fit <- ce_fit(tampered$p, tampered$y, method = method_stack())
  gap <- predict(fit, tampered$p, type = "gap")
  for (knots in c("fine", "coarse")) {
    changed <- set_at(fit, list("forms", 1, "shapes", 1, knots), c(0.2, 0.4))
    expect_identical(predict(changed, tampered$p, type = "gap"), gap)
  }
})
