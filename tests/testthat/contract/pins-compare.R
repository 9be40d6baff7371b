# Models compared by metrics, and weighted metrics.

local({
  frame <- data.frame(y = fine$y, p = fine$p, sharp = plogis(2 * qlogis(pmin(pmax(fine$p, .01), .99))),
                      w = (seq_along(fine$y) %% 7) / 7 + .1, centre = seq_along(fine$y) %% 20)
  for (name in c("ece", "rbs", "ks_error", "mmce", "smooth_ece")) {
    pin(paste0("ce_compare/models/", name), ce_compare(frame, y, p, sharp, metric = name))
  }
  pin("ce_compare/models/design",
      ce_compare(frame, y, p, sharp, metric = ce_metric(ece, p = 2), weights = w, cluster = centre))
  pin("ce_compare/models/outside", withr::with_seed(1, {
    ce_compare(frame, y, p, sharp, metric = function(x, truth) mean(abs(x - truth)), times = 20)
  }))
  frame$region <- seq_along(frame$y) %% 4
  pin("ce_grades", ce_grades(round(frame$p, 1), frame$y))
  pin("ce_meta", ce_meta(ce_validate(frame, y, p, .by = region, times = 0)))
  laws <- list(a = pred_normal(qnorm(seq_along(fine$y) / 201), 1), b = pred_laplace(0, 1 + frame$w))
  outcomes <- qnorm((seq_along(fine$y) * 0.618) %% 1)
  for (name in c("crps", "log", "skce", "ckce")) {
    pin(paste0("ce_compare/laws/", name),
        ce_compare(laws, outcomes, metric = name, weights = frame$w, cluster = frame$centre))
  }
  pin("ce_rank/laws", withr::with_seed(1, {
    tidy(ce_rank(laws, outcomes, metric = c("ckce_debiased", "crps"), times = 5, n_sub = 50))
  }))
  pin("ce_rank/metric", withr::with_seed(1, {
    tidy(ce_rank(list(a = frame$p, b = frame$sharp), frame$y, metric = list(ece, rbs), times = 5))
  }))
  metrics <- list(ece = ece, rbs = rbs, ks_error = ks_error, mmce = mmce, smooth_ece = smooth_ece)
  for (name in names(metrics)) {
    pin(paste0("design/", name, "/weights"), metrics[[name]](frame, y, p, weights = w))
    pin(paste0("design/", name, "/cluster"), metrics[[name]](frame, y, p, cluster = centre))
  }
  pin("design/ece/bootstrap", withr::with_seed(1, {
    ece(frame, y, p, weights = w, cluster = centre, times = 30)
  }))
})

local({
  n <- length(fine$y)
  status <- as.numeric(seq_len(n) %% 4 > 0)
  s <- structure(cbind(time = (seq_len(n) * 7) %% 50 + 1, status = status), type = "right", class = "Surv")
  pin("horizon/rbs", rbs(fine$p, s, horizon = 20))
  pin("horizon/strata", ece(fine$p, s, horizon = ce_horizon(20, strata = rep(1:2, length.out = n))))
})

local({
  w <- (seq_along(three$y) %% 7) / 7 + .1
  centre <- seq_along(three$y) %% 20
  verbs <- list(skce = skce, ckce = ckce, jkce = function(...) skce(..., kernel = "ckce"))
  for (name in names(verbs)) {
    pin(paste0("design/", name, "/weights"), verbs[[name]](three$p, three$y, weights = w))
    pin(paste0("design/", name, "/cluster"), verbs[[name]](three$p, three$y, cluster = centre))
    pin(paste0("design/", name, "/both"), verbs[[name]](three$p, three$y, weights = w, cluster = centre))
  }
  pin("design/ucme", withr::with_seed(1, ucme(three$p, three$y, weights = w, cluster = centre)))
  pin("design/ce_test",
      withr::with_seed(1, tidy(ce_test(three$p, three$y, weights = w, test = test_conditional(times = 50)))))
  pin("design/ckce_ridge", loo_errors(three$p, three$y, weights = w))
  pin("design/law", skce(laws$normal, real$y, weights = (seq_along(real$y) %% 5) + .5,
                         cluster = seq_along(real$y) %% 9))
  pin("design/kde_error", kde_error(fine$p, fine$y, weights = (seq_along(fine$y) %% 7) / 7 + .1, bandwidth = .1))
})
