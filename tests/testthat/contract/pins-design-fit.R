# Fits, estimates, risks, tuning and maps of weighted and clustered rows.

local({
  rows <- withr::with_seed(11, data.frame(
    prob = fine$p, y = fine$y, share = stats::rexp(length(fine$y)), copies = sample(0:3, length(fine$y), TRUE),
    centre = sample(20, length(fine$y), TRUE)
  ))
  v <- withr::with_seed(12, stats::rexp(length(three$y)))
  at <- withr::with_seed(13, sample(25, length(three$y), TRUE))
  notions <- c("top_label", "class_wise", "canonical")
  pin("design/ce_estimate/share", ce_estimate(rows, y, prob, weights = share))
  pin("design/ce_estimate/copies", ce_estimate(rows, y, prob, weights = copies))
  pin("design/ce_estimate/cluster", ce_estimate(rows, y, prob, cluster = centre))
  pin("design/ce_estimate/both", ce_estimate(rows, y, prob, weights = share, cluster = centre))
  pin("design/ce_estimate/classes", ce_estimate(three$p, three$y, notion = notions, weights = v))
  pin("design/ce_estimate/classes/cluster", ce_estimate(three$p, three$y, notion = notions, cluster = at))
  methods <- list(bins = method_bins(4), steps = method_bins(4, debias = TRUE), kde = method_kde(.1),
                  ukkr = method_ukkr(.1), kkr = method_kkr(.01), stack = method_stack())
  for (m in names(methods)) {
    fit <- ce_fit(rows[1:80, ], y, prob, method = methods[[m]], weights = share, cluster = centre)
    pin(paste0("design/ce_fit/", m), predict(fit, fine$p[81:120], type = "squared"))
    pin(paste0("design/ce_risk/", m), ce_risk(fit, rows[81:160, ], y, prob, weights = share, cluster = centre))
  }
  pin("design/ce_tune", glance(ce_tune(rows, y, prob, methods = methods[c("bins", "ukkr")], folds = 3, repeats = 2,
                                       weights = share, cluster = centre)))
  for (map in c("temperature", "vector", "ets", "beta", "platt", "isotonic", "histogram", "label_frequency")) {
    why <- if (map %in% c("temperature", "vector", "ets", "beta", "platt")) "iterated" else "exact"
    pin(paste0("design/ce_recalibrate/", map),
        tidy(ce_recalibrate(rows, y, prob, method = map, weights = share, cluster = centre))$estimate, why)
  }
  pin("design/ce_recalibrate/update", tidy(ce_recalibrate(rows, y, prob, method = "update", weights = share)),
      "iterated")
  after <- rows
  after$prob <- .1 + .8 * rows$prob
  pin("design/ce_gain/maps", ce_gain(rows, "platt", y, prob, folds = 4, weights = share, cluster = centre), "iterated")
  pin("design/ce_gain", ce_gain(rows, after, y, prob, injective = TRUE, weights = share, cluster = centre))
})
