# Samples of many kinds, and what contradicts what among the results of all verbs about them.

battery_case <- function(seed) {
  withr::with_seed(seed, {
    n <- sample(c(60, 150, 300, 800), 1)
    base <- sample(c(0, -1, -4, 3), 1)
    slope <- sample(c(1, 1, 0.6, 1.5), 1)
    intercept <- sample(c(0, 0, 0.6), 1)
    z <- stats::rnorm(n, base)
    if (sample(6, 1) == 1) z <- rep(base, n)  # one prediction
    out <- list(n = n, seed = seed, kind = sample(c("rows", "rows", "clusters", "weights", "copies", "few clusters"), 1),
                level = sample(c(0.95, 0.95, 0.9), 1), delta = sample(c(0.05, 0.15), 1))
    if (sample(3, 1) == 1) {
      l <- cbind(z, matrix(stats::rnorm(2 * n), n))
      q <- exp(slope * l + rep(c(intercept, 0, 0), each = n))
      out$p <- exp(l) / rowSums(exp(l))
      colnames(out$p) <- c("a", "b", "c")
      out$y <- factor(c("a", "b", "c")[max.col(t(apply(q / rowSums(q), 1, cumsum)) >= stats::runif(n), "first")],
                      c("a", "b", "c"))
    } else {
      out$p <- stats::plogis(z)
      out$y <- stats::rbinom(n, 1, stats::plogis(intercept + slope * z))
    }
    out$other <- if (is.matrix(out$p)) out$p^0.7 / rowSums(out$p^0.7) else stats::plogis(0.7 * z + 0.1)
    out$group <- sample(c("u", "v"), n, replace = TRUE)
    out$design <- switch(out$kind, rows = list(), clusters = list(cluster = sample(15, n, replace = TRUE)),
                         "few clusters" = list(cluster = sample(4, n, replace = TRUE)),
                         weights = list(weights = stats::rexp(n) + 0.1), copies = list(weights = sample(3L, n, TRUE)))
    out
  })
}

# Interval, p-value and sentence of rows of ce_estimate().
estimate_contradictions <- function(rows, text, level) {
  reject <- rows$p.value < 1 - level - 1e-12
  tested <- !is.na(rows$p.value)
  # a single row's own sentence stands for it, those of several rows are together
  says <- function(sentence) nrow(rows) == 1 && tested && grepl(sentence, text)
  wrong <- c(
    "interval and p-value" = any((rows$conf.low > 0) != reject, na.rm = TRUE),
    "limits" = any(rows$conf.low > rows$estimate | rows$estimate > rows$conf.high, na.rm = TRUE),
    "bound" = any(rows$lower_bound < rows$conf.low | rows$lower_bound > rows$conf.high, na.rm = TRUE),
    "upper bound" = any(rows$conf.high > rows$upper_bound + 1e-12 & rows$conf.high > rows$conf.low, na.rm = TRUE),
    "above" = says("calibration error is above 0") && !reject,
    "not above" = says("calibration error is not shown to be above 0") && reject,
    "no evidence" = any(reject[tested]) && grepl("[Nn]o evidence of miscalibration", text)
  )
  names(wrong)[wrong]
}

battery_contradictions <- function(seed, report = FALSE) {
  d <- battery_case(seed)
  call <- function(f, ...) suppressMessages(suppressWarnings(do.call(f, c(list(...), d$design))))
  many <- is.matrix(d$p)
  level <- d$level
  found <- character()
  add <- function(verb, wrong) if (length(wrong) > 0) found <<- c(found, paste0(verb, ": ", wrong))
  same <- function(verb, a, b) if (!isTRUE(all.equal(a, b, tolerance = 1e-9))) add(verb, paste("is", a, "and not", b))

  notions <- if (many) c("top_label", "class_wise", "canonical") else "binary"
  rows <- lapply(stats::setNames(nm = notions), function(notion) {
    row <- call(ce_estimate, d$p, d$y, notion = notion, level = level)
    add(notion, estimate_contradictions(row, page_text(print(row)), level))
    row
  })
  joint <- rows[[length(rows)]]
  test <- call(ce_test, d$p, d$y, test = "joint", level = level)
  same("ce_test", test$p.value, joint$p.value)
  text <- page_text(print(test))
  rejects <- isTRUE(test$p.value < 1 - level - 1e-12)
  if (rejects && grepl("No part of the test rejects", text)) add("ce_test", "sentence")
  if (!rejects && grepl("What the test finds", text)) add("ce_test", "finds nothing")
  if (d$kind == "few clusters" && !is.na(test$p.value) && !grepl("could be significant", text)) {
    add("ce_test", "few clusters")
  }
  below <- call(ce_test, d$p, d$y, delta = d$delta, level = level)
  if (!is.na(below$p.value)) {
    if ((below$p.value < 1 - level - 1e-9) != (below$statistic < d$delta)) add("delta", "interval and p-value")
    says <- grepl(paste0("error is below ", d$delta), page_text(print(below)), fixed = TRUE)
    if (says != (below$p.value < 1 - level)) add("delta", "sentence")
    if (says && isTRUE(joint$conf.low >= d$delta)) add("delta", "below it and above it")
  }

  notion <- if (many) "class_wise" else "binary"
  if (d$kind != "few clusters") {
    tuned <- call(ce_tune, d$p, d$y, methods = method_bins(5), notion = notion, level = level)
    same("ce_tune", tuned$headline$p.value, rows[[notion]]$p.value)
    add("ce_tune", estimate_contradictions(tuned$headline, page_text(print(tuned)), level))
  }

  validated <- call(ce_validate, d$p, d$y, times = 0, level = level, delta = d$delta, notion = if (many) "top_label")
  add("ce_validate", contradictions(page_text(print(validated)), tidy(validated), level = level))
  terms <- tidy(validated)
  one <- terms[terms$term == "calibration_error", ]
  same("ce_validate", one$p.value, rows[[if (many) "top_label" else "binary"]]$p.value)
  if (many) {
    each <- call(ce_validate, d$p, d$y, times = 0, level = level)
    lines <- page_text(print(each))
    p <- stats::p.adjust(tidy(each)$p.value[tidy(each)$term == "calibration_error"], "holm")
    claims <- lengths(regmatches(lines, gregexpr("[^o] [Ee]vidence of miscalibration", lines)))
    if (claims != sum(p < 1 - level - 1e-12, na.rm = TRUE)) add("ce_validate of classes", "model")
  }

  if (report) {
    file <- withr::local_tempfile(fileext = ".html")
    call(ce_report, d$p, d$y, file = file, times = 0, level = level, notion = if (many) "top_label")
    plain <- gsub("\\s+", " ", gsub("<[^>]*>", " ", sub("(?s).*<body>", "", paste(readLines(file), collapse = "\n"),
                                                        perl = TRUE)))
    add("ce_report", contradictions(plain, terms, level = level))
  }

  frame <- if (many) data.frame(d$p, y = d$y, g = d$group) else data.frame(p = d$p, y = d$y, g = d$group)
  frame[names(d$design)] <- d$design
  columns <- if (many) list(quote(c(a, b, c))) else list(quote(p))
  columns <- c(columns, lapply(names(d$design), as.name))
  names(columns) <- c("", names(d$design))
  groups <- suppressMessages(suppressWarnings(rlang::inject(
    ce_estimate(frame, y, !!!columns, .by = g, level = level, notion = !!notion)
  )))
  add("groups", estimate_contradictions(groups, page_text(print(groups)), level))
  for (g in groups$g) {
    own <- frame$g == g
    alone <- suppressMessages(suppressWarnings(rlang::inject(
      ce_estimate(frame[own, ], y, !!!columns, level = level, notion = !!notion)
    )))
    same("a group", groups$p.value[groups$g == g], alone$p.value)
  }

  for (notion in if (many) c("top_label", "class_wise") else "binary") {
    state <- suppressMessages(suppressWarnings(do.call(
      stats::update, c(list(ce_state(notion = notion), d$p, d$y), d$design)
    )))
    of_state <- ce_estimate(state, level = level)
    text <- page_text(print(of_state))
    add(paste("state", notion), estimate_contradictions(of_state, text, level))
    apart <- (of_state$p.value < 1 - level) != (rows[[notion]]$p.value < 1 - level)
    if (isTRUE(apart) && !grepl("so its p-value (differs|can differ)", text)) {
      add(paste("state", notion), "another test without a word")
    }
  }

  differences <- call(ce_compare, list(m = d$p, other = d$other), d$y, metric = ce_estimate, level = level)
  apart <- differences$conf.low > 0 | differences$conf.high < 0
  if (any(apart != (differences$p.value < 1 - level), na.rm = TRUE)) add("ce_compare", "interval and p-value")
  found
}
