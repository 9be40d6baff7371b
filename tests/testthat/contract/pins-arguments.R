# Arguments that all verbs share (level, event, missing rows, groups), and options that no other section calls.

local({
  frame <- two$frame[1:60, ]
  holes <- frame
  holes[c(5, 21), 1] <- NA
  holes$truth[33] <- NA
  late <- two$frame[61:120, ]
  fit <- ce_fit(late, truth, notion = "top_label", method = method_bins(4))
  second <- ce_fit(late, truth, notion = "binary", method = method_bins(4), event_level = "second")
  folds <- rep(1:3, 20)
  # verb(data, event_level, na_rm, level); `event`: does the event matter?
  verbs <- list(
    ece = list(TRUE, function(x, ...) ece(x, truth, notion = "binary", ...)),
    rbs = list(TRUE, function(x, ...) rbs(x, truth, notion = "binary", ...)),
    ks_error = list(TRUE, function(x, ...) ks_error(x, truth, notion = "binary", ...)),
    mmce = list(TRUE, function(x, ...) mmce(x, truth, notion = "binary", ...)),
    smooth_ece = list(TRUE, function(x, ...) smooth_ece(x, truth, notion = "binary", bandwidth = 0.1, ...)),
    kde_error = list(TRUE, function(x, ...) kde_error(x, truth, notion = "binary", kernel = "triweight", ...)),
    ici = list(TRUE, function(x, level = NULL, ...) ici(x, truth, notion = "binary", ...)),
    cox_calibration = list(TRUE, function(x, ...) cox_calibration(x, truth, notion = "binary", ...)),
    spiegelhalter = list(TRUE, function(x, level = NULL, ...) spiegelhalter(x, truth, notion = "binary", ...)),
    hosmer_lemeshow = list(TRUE, function(x, level = NULL, ...) hosmer_lemeshow(x, truth, notion = "binary", ...)),
    ce_panel = list(FALSE, function(x, ...) ce_panel(x, truth, notion = "binary", ...)),
    ce_hierarchy = list(FALSE, function(x, ...) ce_hierarchy(x, truth, ...)),
    ce_score = list(FALSE, function(x, ...) ce_score(x, truth, score = "log", ...)),
    upper_bound = list(FALSE, function(x, ...) ce_score(x, truth, score = "log", ..., bound = TRUE)),
    ce_decompose = list(TRUE, function(x, level = NULL, ...) {
      ce_decompose(x, truth, method = "isotonic", notion = "binary", ...)
    }),
    ce_gain = list(FALSE, function(x, ...) {
      after <- x
      after[1:2] <- 0.1 + 0.8 * x[1:2]
      ce_gain(x, after, truth, injective = TRUE, ...)
    }),
    u_score = list(FALSE, function(x, ...) {
      ce_score(x, truth, score = function(p, y, q, z) (y == z) - p[, 1] * q[, 1], ...)
    }),
    skce = list(FALSE, function(x, ...) skce(x, truth, ...)),
    jkce = list(FALSE, function(x, ...) skce(x, truth, ..., kernel = "ckce")),
    ckce = list(FALSE, function(x, ...) ckce(x, truth, ridge = 0.2, computation = "dual", ...)),
    ckce_ridge = list(FALSE, function(x, level = NULL, ...) loo_errors(x, truth, ridge = 0.2, ...)),
    ucme = list(FALSE, function(x, ...) ucme(x, truth, locations = 3, ...)),
    ce_test = list(FALSE, function(x, ...) tidy(ce_test(x, truth, test = "block", ...))),
    ce_fit = list(TRUE, function(x, level = NULL, ...) {
      predict(ce_fit(x, truth, notion = "binary", method = method_bins(4), ...), late[1:6, ], type = "gap")
    }),
    ce_risk = list(TRUE, function(x, ...) ce_risk(second, x, truth, ...)),
    ce_compare = list(FALSE, function(x, ...) {
      zero <- ce_fit(late, truth, notion = "top_label", method = method_bins(1))
      ce_compare(list(a = fit, b = zero), x, truth, ...)
    }),
    ce_tune = list(TRUE, function(x, ...) {
      glance(ce_tune(x, truth, notion = "binary", methods = list(bins = method_bins(c(2, 4))), folds = 3, ...))
    }),
    ce_estimate = list(TRUE, function(x, ...) {
      ce_estimate(x, truth, notion = "binary", method = method_bins(4), ...)
    }),
    ce_curve = list(TRUE, function(x, ...) {
      tidy(ce_curve(x, truth, type = curve_binned(n_bins = 3), notion = "binary", ...))
    }),
    ce_recalibrate = list(TRUE, function(x, level = NULL, ...) {
      tidy(ce_recalibrate(x, truth, method = map_histogram(n_bins = 3), ...))
    })
  )
  for (verb in names(verbs)) {
    event <- verbs[[verb]][[1]]
    call <- verbs[[verb]][[2]]
    pin(paste0("level/", verb), call(frame, level = 0.8))
    if (startsWith(verb, "ce_") && verb != "ce_score") {
      pin(paste0("na_rm/true/", verb), call(holes))
    } else {
      pin(paste0("na_rm/true/", verb), call(holes, na_rm = TRUE))
      pin(paste0("na_rm/false/", verb), call(holes, na_rm = FALSE))
    }
    if (event) {
      pin(paste0("event/first/", verb), call(frame, event_level = "first"))
      pin(paste0("event/second/", verb), call(frame, event_level = "second"))
    }
  }

  # groups
  grouped <- function(verb, value) pin(paste0("groups/", verb), value)
  grouped("ici", ici(frame, truth, notion = "binary", smoother = "isotonic", .by = group))
  grouped("hosmer_lemeshow", hosmer_lemeshow(two$frame, truth, notion = "binary", n_groups = 4, .by = group))
  grouped("smooth_ece", smooth_ece(frame, truth, notion = "binary", bandwidth = 0.1, .by = group))
  grouped("kde_error", kde_error(frame, truth, notion = "binary", kernel = "triweight", .by = group))
  grouped("upper_bound", ce_score(frame, truth, .by = group, bound = TRUE))
})

# options of single verbs
pin("ckce/target", ckce(three$p, three$y, target_kernel = kernel_gaussian(1), ridge = 0.1))
pin("ckce/max_rank", ckce(three$p, three$y, computation = computation("low_rank", 0.2, 12), ridge = 0.1))
pin("ckce/auto", ckce(three$p, three$y, computation = computation("auto"), ridge = 0.1))
for (diagonal in c("all", "different")) {
  pin(paste0("ckce/draws_diagonal/", diagonal),
      ckce(laws$mixture_laplace, real$y, draws = 10, draws_diagonal = diagonal, ridge = 0.1))
}
pin("ckce_ridge/kernel",
    loo_errors(three$p, three$y, kernel = kernel_laplace(0.5),
               target_kernel = kernel_gaussian(1), ridge = c(0.01, 0.1)))
pin("ckce_ridge/eigen", loo_errors(three$p, three$y, computation = "eigen", ridge = c(0.01, 0.1)))
pin("ckce_ridge/low_rank",
    loo_errors(three$p, three$y, computation = computation("low_rank", 0.1, 20), ridge = c(0.01, 0.1)))
pin("ckce_ridge/group",
    loo_errors(five$frame, truth, group = group, group_kernel = "shared", computation = "dual", ridge = c(0.01, 0.1)))
pin("jkce/target", skce(three$p, three$y, target_kernel = kernel_gaussian(1), kernel = "ckce"))
pin("jkce/frequencies",
    skce(three$p, three$y, computation = computation("rff", frequencies = cbind(1:5, 5:1, c(0, 1, 0, 2, 0)) / 2),
         kernel = kernel_gaussian(0.5)))
pin("jkce/max_rank",
    skce(three$p, three$y, computation = computation("low_rank", max_rank = 12, tolerance = 0.2), kernel = "ckce"))
pin("jkce/group_kernel", skce(five$frame, truth, group = group, group_kernel = "shared", kernel = "ckce"))
pin("ucme/kernels",
    ucme(three$p, three$y, locations = 3, kernel = kernel_gaussian(0.5), target_kernel = kernel_gaussian(1)))
pin("ce_rank/kernel",
    tidy(ce_rank(list(a = three$p, b = three$p[, c(2, 1, 3)]), three$y,
                 metric = ce_metric("jkce", kernel = kernel_laplace(0.4)), level = 0.8, n_sub = 40, times = 5)))
pin("ce_rank/event",
    tidy(ce_rank(list(a = two$frame[1:2], b = two$frame[2:1]), two$truth, metric = "ece_canonical",
                 event_level = "second",
                 n_sub = 40, times = 5)))
pin("method_function/na_rm", local({
  fit <- ce_fit(fine$p, fine$y, notion = "binary", method = method_function(function(p, q) {
    ifelse(outer(p[, 1], q[, 1], `+`) > 1.5, NA, 0.01)
  }, na_rm = TRUE))
  ce_risk(fit, fine$p[1:60], fine$y[1:60])
}))
pin("new_form/core", local({
  fit_square <- function(method, problem, point, context) {
    new_form("square", core = diag(c(0.01, -0.02)), features = 2)
  }
  registerS3method("fit_form", "ce_method_square", fit_square, envir = asNamespace("calibrisk"))
  registerS3method("pair_features", "ce_form_square", function(form, features, threads) cbind(1, features),
                   envir = asNamespace("calibrisk"))
  fit <- ce_fit(fine$p, fine$y, notion = "binary", method = new_method("square", parameter = NULL, values = NA))
  ce_risk(fit, fine$p[1:60], fine$y[1:60])
}))
pin("method_kkr/kernel", predict(ce_fit(
  three$p[1:60, ], three$y[1:60], notion = "canonical", method = method_kkr(0.01, kernel_tv(0.5))
), three$p[61:90, ]))

# one probability column of two levels: which event, by its name or by event_level
local({
  frame <- data.frame(.pred_yes = fine$p, chance = fine$p, truth = factor(c("no", "yes")[1 + fine$y]))
  pin("event/named/ece", ece(frame, truth, .pred_yes, notion = "binary"))
  pin("event/unnamed/first/ece", ece(frame, truth, chance, notion = "binary", event_level = "first"))
  pin("event/unnamed/second/ece", ece(frame, truth, chance, notion = "binary", event_level = "second"))
  pin("event/named/skce", skce(frame, truth, .pred_yes))
})
