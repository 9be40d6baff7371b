test_that("verbs of fits, estimates and maps take weights and clusters alike", {
  set.seed(1)
  for (verb in design_verbs) {
    found <- expect_weights(of_columns(verb), 1e-6)
    data <- transform(found$data, own = 1:120)
    plain <- found$plain
    expect_false(isTRUE(all.equal(verb(data, y, prob, cluster = centre), plain)))
    expect_equal(verb(data[sample(120), ], y, prob, weights = share, cluster = centre),
                 verb(data, y, prob, weights = share, cluster = centre), tolerance = 1e-8)
    one <- intersect(c("estimate", "risk", "gain", "squared"), names(plain))
    own_clusters <- verb(data, y, prob, cluster = own)[one]
    # as many rows as clusters: intervals of these use Student's t
    attr(own_clusters, "df") <- attr(plain, "df")
    expect_equal(own_clusters, plain[one], tolerance = 1e-8)
  }
})

test_that("fits are weighted: repeated rows, one value, scale, rows of weight 0", {
  for (object in design_objects) expect_weights(of_vectors(object))
})

test_that("importance weights that are whole fit what repeated rows do", {
  data <- design_rows_frame()
  rows <- rep(seq_len(nrow(data)), data$copies)
  # leaving out a row, or counting rows, is another thing
  counting <- c("steps", "stack")
  for (name in setdiff(names(design_objects), counting)) {
    object <- design_objects[[name]]
    expect_message(whole <- object(data$prob, data$y, weights = as.numeric(data$copies)),
                   class = "calibrisk_message_weights")
    expect_equal(whole, object(data$prob[rows], data$y[rows]), tolerance = 1e-6)
  }
})

test_that("weighted maps are those of repeated rows", {
  data <- design_rows_frame()
  rows <- rep(seq_len(nrow(data)), data$copies)
  for (name in names(design_maps)) {
    map <- design_maps[[name]]
    repeated <- map(data$prob[rows], data$y[rows])
    expect_equal(map(data$prob, data$y, weights = data$copies), repeated)
    whole <- suppressMessages(map(data$prob, data$y, weights = as.numeric(data$copies)))
    expect_equal(whole, repeated, tolerance = if (name %in% c("diag", "vector", "matrix", "dirichlet")) 1e-3 else 1e-6)
    expect_equal(map(data$prob, data$y, weights = rep(.3, 120)), map(data$prob, data$y))
    expect_equal(map(data$prob, data$y, cluster = data$centre), map(data$prob, data$y))
  }
})

test_that("risks of weighted and clustered rows are their formula, with its derivatives", {
  data <- design_rows_frame(50)
  e <- data$prob - data$y
  w <- data$share
  cluster <- match(data$centre, sort(unique(data$centre)))
  for (fit in design_fits) {
    h <- predict(fit, data$prob, type = "pairs")
    loss <- (outer(e, e) - h)^2
    naive <- function(w, other) sum(outer(w, w) * loss * other) / sum(outer(w, w) * other)
    apart <- outer(cluster, cluster, "!=")
    expect_equal(ce_risk(fit, data, y, prob, weights = share)$risk, naive(w, 1 - diag(50)))
    expect_equal(ce_risk(fit, data, y, prob, cluster = centre)$risk, naive(rep(1, 50), apart))
    expect_equal(ce_risk(fit, data, y, prob, weights = share, cluster = centre)$risk, naive(w, apart))
    repeated <- ce_risk(fit, data[rep(1:50, data$copies), ], y, prob, cluster = centre)
    expect_equal(as.list(ce_risk(fit, data, y, prob, weights = copies, cluster = centre)), as.list(repeated))
    # the influence is the derivative by a row's weight
    risk <- form_risk(fit$forms[[1]], matrix(data$prob), matrix(e), new_design(50, w, cluster))
    estimate <- risk_estimate(risk$projections, new_design(50, w, cluster))
    expect_equal(estimate$value, naive(w, apart))
    heavier <- naive(replace(w, 7, w[7] + 1e-6), apart)
    expect_equal((heavier - naive(w, apart)) / 1e-6 * sum(w), estimate$influence[7], tolerance = 1e-4)
  }
})

test_that("clusters are in one fold, and on one side of the test split", {
  data <- design_rows_frame()
  cluster <- match(data$centre, sort(unique(data$centre)))
  whole <- function(fold) all(vapply(split(fold, cluster), function(f) length(unique(f)), 0L) == 1)
  split <- withr::with_seed(1, make_split(120, 4, .25, cluster = cluster))
  expect_true(whole(split$fold))
  expect_identical(sum(vapply(split(split$fold, cluster), `[`, 0L, 1) == 0), 3L)
  expect_true(whole(withr::with_seed(1, make_split(120, 3, test = which(cluster == 2), cluster = cluster))$fold))
  expect_error(make_split(120, 3, test = which(cluster == 2)[1], cluster = cluster), class = "calibrisk_error_cluster")
  expect_error(make_split(120, rep_len(1:3, 120), 0, cluster = cluster), class = "calibrisk_error_cluster")
  tuned <- ce_tune(data, y, prob, methods = list(method_bins(c(2, 4))), folds = 3, repeats = 2, cluster = centre,
                   weights = share)
  expect_true(whole(tuned$split$fold))
  expect_true(all(is.finite(tidy(tuned)$risk)))
  map <- ce_recalibrate(data, y, prob, method = "histogram", folds = 3, cluster = centre)
  expect_true(whole(map$fold))
})

test_that("standard errors of maps of clusters are those of their scores", {
  data <- design_rows_frame()
  data$own <- 1:120
  data$y <- as.integer((1:120 * .618) %% 1 < data$prob)
  for (method in c("temperature", "platt", "constant_confidence")) {
    error <- function(...) ce_recalibrate(data, y, prob, method = method, ...)$terms$std.error
    # robust standard errors are near those of the information where the model is about right
    expect_equal(error(cluster = own), error(), tolerance = .5)
    expect_false(isTRUE(all.equal(error(cluster = own), error(cluster = centre))))
  }
})

test_that("fits, tunes and maps say in print what their rows count", {
  d <- withr::with_seed(6, data.frame(p = runif(60), w = rep(c(1, 2, 1.5), 20), g = rep(1:12, 5)))
  d$y <- as.numeric(withr::with_seed(7, runif(60)) < d$p)
  said <- function(x) paste(capture.output(print(x)), collapse = " ")
  weighted <- "Rows are weighted: effective\\s+sample size 55.9 of 60"
  verbs <- list(
    function(...) ce_fit(d$p, d$y, method = method_bins(3), ...),
    function(...) suppressWarnings(ce_tune(d$p, d$y, methods = method_bins(c(2, 3)), ...)),
    function(...) ce_recalibrate(d$p, d$y, ...),
    function(...) ce_recalibrate(pred_normal(d$p, 1), d$y, method = "variance", ...)
  )
  for (verb in verbs) {
    expect_no_match(said(verb()), "weighted|clusters")
    expect_match(said(verb(cluster = d$g)), "treat the 12\\s+clusters as\\s+independent\\s+units.")
    expect_match(said(verb(weights = d$w, cluster = d$g)), paste0(weighted, "; standard errors .* 12\\s+clusters"))
  }
})

test_that("parts of a draw are one draw: risks of rows that stand for less", {
  data <- design_rows_frame()
  e <- data$prob - data$y
  whole <- c(rep(1, 110), rep(2, 10))
  parts <- rep(seq_len(120), each = 2)
  split <- rep(c(.3, .7), 120) * whole[parts]
  for (form in list(ce_fit(data$prob, data$y, method = method_bins(6))$forms[[1]],
                    ce_fit(data$prob, data$y, method = method_bins(5, debias = TRUE))$forms[[1]])) {
    here <- form_risk(form, matrix(data$prob), matrix(e), new_design(120, copies = whole))
    there <- form_risk(form, matrix(data$prob[parts]), matrix(e[parts]), new_design(240, copies = split))
    expect_equal(there$risk, here$risk, tolerance = 1e-12)
    expect_equal(there$projections, here$projections[parts], tolerance = 1e-12)
    expect_equal(there$std.error, here$std.error, tolerance = 1e-12)
  }
})
