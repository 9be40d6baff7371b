# Weighted and clustered rows: every verb that takes them.

design_of <- function(n) {
  list(share = 0.2 + round(sequence(n, 0.6), 3), copies = as.integer(3 * sequence(n, 0.9)),
       site = letters[1 + (seq_len(n) * 5) %% 17])
}

# Of a function of (weights, cluster): importance weights, clusters, both; frequencies are repeated rows.
pin_design <- function(key, n, verb, why = "exact") {
  rows <- design_of(n)
  pin(paste0("design/", key, "/weights"), verb(rows$share, NULL), why)
  pin(paste0("design/", key, "/cluster"), verb(NULL, rows$site), why)
  pin(paste0("design/", key, "/both"), verb(rows$share, rows$site), why)
  pin(paste0("design/", key, "/copies"), verb(rows$copies, NULL), why)
}

pin_design("ece", 160, function(w, g) ece(fine$p, fine$y, notion = "binary", weights = w, cluster = g))
pin_design("ece/mass", 160, function(w, g) {
  ece(fine$p, fine$y, notion = "binary", type = "mass", p = 2, debias = TRUE, weights = w, cluster = g)
})
pin_design("ece/sweep", 160, function(w, g) {
  ece(fine$p, fine$y, notion = "binary", type = "sweep", weights = w, cluster = g)
})
pin_design("ece/class", 150, function(w, g) ece(five$p, five$y, notion = "class_wise", weights = w, cluster = g))
pin_design("ece/canonical", 150, function(w, g) {
  ece(five$p, five$y, notion = "canonical", type = "discrete", p = 2, weights = w, cluster = g)
})
pin_design("ece/bootstrap", 160, function(w, g) {
  ece(fine$p, fine$y, notion = "binary", times = 20, weights = w, cluster = g)
})
pin_design("rbs", 150, function(w, g) rbs(five$p, five$y, weights = w, cluster = g))
pin_design("ks_error", 160, function(w, g) ks_error(fine$p, fine$y, notion = "binary", weights = w, cluster = g))
pin_design("mmce", 160, function(w, g) {
  mmce(fine$p, fine$y, notion = "binary", type = "unbiased", weights = w, cluster = g)
})
pin_design("smooth_ece", 160, function(w, g) smooth_ece(fine$p, fine$y, notion = "binary", weights = w, cluster = g))
pin_design("kde_error/triweight", 160, function(w, g) {
  kde_error(fine$p, fine$y, kernel = "triweight", notion = "binary", weights = w, cluster = g)
})
pin_design("ici", 160, function(w, g) ici(fine$p, fine$y, notion = "binary", weights = w, cluster = g))
pin_design("ici/isotonic", 160, function(w, g) {
  ici(fine$p, fine$y, notion = "binary", smoother = "isotonic", times = 20, weights = w,
      cluster = g)
})
pin_design("cox_calibration", 160, function(w, g) {
  cox_calibration(fine$p, fine$y, notion = "binary", weights = w, cluster = g)
})
pin_design("spiegelhalter", 160, function(w, g) {
  spiegelhalter(fine$p, fine$y, notion = "binary", weights = w, cluster = g)
})
pin_design("hosmer_lemeshow", 160, function(w, g) {
  hosmer_lemeshow(fine$p, fine$y, notion = "binary", weights = w, cluster = g)
})
pin_design("ce_panel", 160, function(w, g) ce_panel(fine$p, fine$y, notion = "binary", weights = w, cluster = g))
pin_design("ce_hierarchy", 150, function(w, g) ce_hierarchy(five$p, five$y, weights = w, cluster = g))
pin_design("ce_score", 150, function(w, g) {
  ce_score(five$p, five$y, score = c("brier", "spherical"), weights = w, cluster = g)
})
pin_design("ce_score/real", real$n, function(w, g) {
  ce_score(laws$laplace, real$y, score = c("crps", "dss"), weights = w, cluster = g)
})
pin_design("upper_bound", 150, function(w, g) {
  ce_score(five$p, five$y, score = "brier", bound = TRUE, weights = w, cluster = g)
})
pin_design("u_score", real$n, function(w, g) {
  score <- function(p1, y1, p2, y2) p1[cbind(seq_along(y1), y1)] * p2[cbind(seq_along(y2), y2)]
  ce_score(five$p[seq_len(real$n), ], five$y[seq_len(real$n)], score = score, weights = w, cluster = g)
})
pin_design("ce_decompose", 120, function(w, g) {
  ce_decompose(coarse$p, coarse$y, score = c("brier", "spherical"), weights = w, cluster = g)
})
pin_design("ce_decompose/isotonic", 160, function(w, g) {
  ce_decompose(fine$p, fine$y, method = "isotonic", times = 20, weights = w, cluster = g)
})
pin_design("ce_decompose/real", real$n, function(w, g) {
  ce_decompose(laws$normal, real$y, score = c("crps", "mse"), n_bins = 4, weights = w, cluster = g)
})
pin_design("ce_moments", real$n, function(w, g) {
  ce_moments(laws$normal, real$y, after = pred_normal(real$mean, 1), weights = w, cluster = g)
})
curves <- list(binned = "binned", isotonic = curve_isotonic(20), smooth = curve_smooth(times = 20))
for (type in names(curves)) {
  pin_design(paste0("ce_curve/", type), 160, function(w, g) {
    curve <- ce_curve(fine$p, fine$y, type = curves[[type]], notion = "binary", weights = w, cluster = g)
    list(curve = tidy(curve), glance = glance(curve))
  })
}
for (name in c("normal", "poisson")) {
  pin_design(paste0("ce_curve/pit/", name), real$n, function(w, g) {
    curve <- ce_curve(laws[[name]], outcome_of(name), type = curve_pit(5, 20), weights = w, cluster = g)
    list(curve = tidy(curve), glance = glance(curve))
  })
}
pin_design("validate", 160, function(w, g) {
  tidy(ce_validate(fine$p, fine$y, group = rep(c("a", "b"), 80), times = 0, weights = w, cluster = g))
})
for (name in c("stack", "platt")) {
  pin_design(paste0("ce_decision/", name), 160, function(w, g) {
    found <- ce_decision(fine$p, fine$y, recalibration = if (name == "stack") method_stack() else name,
                         thresholds = c(0.1, 0.3, 0.6), weights = w, cluster = g)
    list(curve = tidy(found), glance = glance(found))
  })
}
