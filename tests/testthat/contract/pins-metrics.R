# Binned and other metrics of class predictions.

# Other bins have no number.
of_type <- function(data, type, n_bins, ...) {
  if (type %in% c("width", "mass")) return(ece(data$p, data$y, ..., type = type, n_bins = n_bins))
  ece(data$p, data$y, ..., type = type)
}

for (type in c("width", "mass", "sweep", "discrete")) {
  for (p in c(1, 2, 3.5, Inf)) {
    at <- paste(type, p, sep = "/")
    why <- if (p == Inf) "rounding" else "exact"
    pin(paste0("ece/binary/coarse/", at),
        of_type(coarse, type, 10, p = p, notion = "binary"), why)
    pin(paste0("ece/binary/fine/", at),
        of_type(fine, type, 10, p = p, notion = "binary"), why)
    pin(paste0("ece/top/five/", at),
        of_type(five, type, 10, p = p, notion = "top_label"), why)
    pin(paste0("ece/class/five/", at),
        of_type(five, type, 10, p = p, notion = "class_wise"), why)
    pin(paste0("ece/class/many/", at),
        of_type(many, type, 10, p = p, notion = "class_wise"), why)
  }
  pin(paste0("ece/debias/binary/coarse/", type),
      of_type(coarse, type, 6, p = 2, debias = TRUE, notion = "binary"))
  pin(paste0("ece/debias/class/five/", type),
      of_type(five, type, 6, p = 2, debias = TRUE, notion = "class_wise"))
}
for (type in c("width", "discrete", "median_variance")) {
  for (p in c(1, 2, Inf)) {
    why <- if (p == Inf) "rounding" else "exact"
    pin(paste("ece/canonical/five", type, p, sep = "/"),
        of_type(five, type, 3, p = p, notion = "canonical"), why)
    pin(paste("ece/canonical/three", type, p, sep = "/"),
        of_type(three, type, 4, p = p, notion = "canonical"), why)
  }
}
pin("ece/canonical/debias", ece(five$p, five$y, type = "median_variance", p = 2, debias = TRUE, notion = "canonical"))
pin("ece/canonical/min_size", ece(five$p, five$y, type = "median_variance", min_size = 25, notion = "canonical"))
pin("ece/bins", ece(fine$p, fine$y, n_bins = c(1, 5, 15, 100), notion = "binary"))
pin("ece/top/two", ece(two$p, two$y, notion = "top_label"))
pin("ece/top/vector", ece(fine$p, fine$y, notion = "top_label"))
pin("ece/binary/two/first", ece(two$frame, truth, .pred_a, .pred_b, notion = "binary", event_level = "first"))
pin("ece/binary/two/second", ece(two$frame, truth, .pred_a, .pred_b, notion = "binary", event_level = "second"))
pin("ece/level", ece(five$p, five$y, notion = "top_label", level = 0.8))
pin("ece/bootstrap", ece(five$p, five$y, notion = "top_label", times = 40))
pin("ece/bootstrap/class", ece(five$p, five$y, p = 2, notion = "class_wise", times = 20))
pin("ece/groups", ece(five$frame, truth, notion = "top_label", .by = group))
pin("ece/groups/binary", ece(coarse$frame, y, prob, notion = "binary", .by = group))
local({
  holes <- five$frame
  holes$.pred_b[c(3, 17)] <- NA
  pin("ece/missing/dropped", ece(holes, truth, notion = "top_label"))
  pin("ece/missing/kept", ece(holes, truth, notion = "top_label", na_rm = FALSE))
})
pin("ece/constant", ece(rep(0.3, 20), rep(c(0, 1), 10), notion = "binary"))
pin("ece/perfect", ece(c(0, 1, 1, 0), c(0, 1, 1, 0), notion = "binary"))
pin("ece/one_row", ece(0.4, 1, notion = "binary"))
pin("ece/absent_class", ece(five$p[five$y < 5, ], five$y[five$y < 5], notion = "class_wise"))

for (preset in c("torchmetrics", "netcal", "uncertainty-calibration", "better-uncertainty-calibration")) {
  pin(paste0("preset/top/five/", preset), ece(five$p, five$y, preset = preset, notion = "top_label"))
  pin(paste0("preset/vector/coarse/", preset), ece(coarse$p, coarse$y, preset = preset))
}
for (preset in c("torchmetrics", "netcal", "scikit-learn")) {
  pin(paste0("preset/binary/coarse/", preset), ece(coarse$p, coarse$y, preset = preset, notion = "binary"))
}
for (preset in c("netcal", "uncertainty-calibration", "better-uncertainty-calibration")) {
  pin(paste0("preset/mass/five/", preset), ece(five$p, five$y, preset = preset, type = "mass", notion = "top_label"))
}
pin("preset/mass/coarse/scikit-learn", ece(coarse$p, coarse$y, preset = "scikit-learn", type = "mass"))
for (preset in c("uncertainty-calibration", "better-uncertainty-calibration")) {
  pin(paste0("preset/class/five/", preset), ece(five$p, five$y, preset = preset, notion = "class_wise"))
  pin(paste0("preset/debias/five/", preset),
      ece(five$p, five$y, preset = preset, p = 2, debias = TRUE, notion = "top_label"))
  pin(paste0("preset/discrete/five/", preset), ece(five$p, five$y, preset = preset, type = "discrete"))
}
pin("preset/max/netcal", ece(five$p, five$y, preset = "netcal", p = Inf, notion = "top_label"))
pin("preset/root/torchmetrics", ece(five$p, five$y, preset = "torchmetrics", p = 2, notion = "top_label"))

pin("rbs/vector/coarse", rbs(coarse$p, coarse$y, notion = "binary"))
pin("rbs/vector/fine", rbs(fine$p, fine$y, notion = "binary"))
for (notion in c("canonical", "class_wise", "top_label")) {
  for (data in c("two", "five", "many")) {
    one <- get(data)
    pin(paste("rbs", notion, data, sep = "/"), rbs(one$p, one$y, notion = notion))
  }
}
pin("rbs/groups", rbs(five$frame, truth, notion = "canonical", .by = group))
pin("rbs/bootstrap", rbs(five$p, five$y, notion = "canonical", times = 40))

for (data in c("coarse", "fine")) {
  one <- get(data)
  pin(paste0("ks_error/binary/", data), ks_error(one$p, one$y, notion = "binary"))
  pin(paste0("mmce/binary/", data), mmce(one$p, one$y, notion = "binary"))
  pin(paste0("mmce/unbiased/", data), mmce(one$p, one$y, notion = "binary", type = "unbiased", bandwidth = 0.1))
  pin(paste0("smooth_ece/binary/", data), smooth_ece(one$p, one$y, notion = "binary"))
  pin(paste0("smooth_ece/bandwidth/", data), smooth_ece(one$p, one$y, notion = "binary", bandwidth = 0.1))
  pin(paste0("ici/binary/", data), ici(one$p, one$y, notion = "binary", smoother = "loess"))
  pin(paste0("ici/isotonic/", data), ici(one$p, one$y, notion = "binary", smoother = "isotonic"))
  pin(paste0("kde_error/triweight/", data), kde_error(one$p, one$y, kernel = "triweight", notion = "binary"))
  pin(paste0("spiegelhalter/", data), spiegelhalter(one$p, one$y, notion = "binary"))
  pin(paste0("hosmer_lemeshow/", data), hosmer_lemeshow(one$p, one$y, notion = "binary"))
  pin(paste0("hosmer_lemeshow/fitted/", data),
      hosmer_lemeshow(one$p, one$y, notion = "binary", fitted = TRUE, n_groups = 6))
}
for (data in c("two", "five", "many")) {
  one <- get(data)
  pin(paste0("ks_error/top/", data), ks_error(one$p, one$y, notion = "top_label"))
  pin(paste0("ks_error/class/", data), ks_error(one$p, one$y, notion = "class_wise"))
  pin(paste0("mmce/top/", data), mmce(one$p, one$y, notion = "top_label"))
  pin(paste0("smooth_ece/top/", data), smooth_ece(one$p, one$y, notion = "top_label"))
  pin(paste0("ici/top/", data), ici(one$p, one$y, notion = "top_label", smoother = "loess"))
  pin(paste0("spiegelhalter/top/", data), spiegelhalter(one$p, one$y, notion = "top_label"))
  pin(paste0("hosmer_lemeshow/top/", data), hosmer_lemeshow(one$p, one$y, notion = "top_label"))
}
pin("ici/span", ici(fine$p, fine$y, notion = "binary", smoother = "loess", span = 0.4))
pin("ici/bootstrap", ici(fine$p, fine$y, notion = "binary", smoother = "isotonic", times = 20))
pin("ks_error/bootstrap", ks_error(five$p, five$y, notion = "top_label", times = 40))
pin("mmce/bootstrap", mmce(five$p, five$y, notion = "top_label", times = 20))
pin("smooth_ece/bootstrap",
    smooth_ece(five$p, five$y, notion = "top_label", bandwidth = 0.2, times = 20))
pin("ks_error/groups", ks_error(five$frame, truth, notion = "top_label", .by = group))
pin("mmce/groups", mmce(five$frame, truth, notion = "top_label", .by = group))
pin("kde_error/dirichlet/three/2", kde_error(three$p, three$y, notion = "canonical", bandwidth = 0.05))
pin("kde_error/dirichlet/three/1", kde_error(three$p, three$y, notion = "canonical", bandwidth = 0.05, p = 1))
pin("kde_error/dirichlet/three/chosen", kde_error(three$p, three$y, notion = "canonical"))
pin("kde_error/dirichlet/five/top", kde_error(five$p, five$y, notion = "top_label", bandwidth = 0.05))
pin("kde_error/dirichlet/five/class", kde_error(five$p, five$y, notion = "class_wise", bandwidth = 0.05))
pin("kde_error/dirichlet/coarse", kde_error(coarse$p, coarse$y, notion = "binary", bandwidth = 0.02))
pin("kde_error/triweight/class", kde_error(five$p, five$y, kernel = "triweight", notion = "class_wise", p = 1))
pin("kde_error/triweight/bootstrap",
    kde_error(five$p, five$y, kernel = "triweight", notion = "top_label", times = 20))
pin("spiegelhalter/groups", spiegelhalter(five$frame, truth, notion = "top_label", .by = group))

pin("cox_calibration/fine", cox_calibration(fine$p, fine$y, notion = "binary"))
pin("cox_calibration/floor", cox_calibration(coarse$p, coarse$y, notion = "binary", floor = 1e-3))
pin("cox_calibration/edges", cox_calibration(coarse$p, coarse$y, notion = "binary"))
pin("cox_calibration/top", cox_calibration(three$p, three$y, notion = "top_label"))
pin("cox_calibration/groups", cox_calibration(fine$frame, y, prob, notion = "binary", .by = group))

pin("ce_panel/fine", ce_panel(fine$p, fine$y, notion = "binary", n_bins = 10, smoother = "loess"))
pin("ce_panel/coarse", ce_panel(coarse$p, coarse$y, notion = "binary", smoother = "isotonic", floor = 1e-3))
pin("ce_panel/five", ce_panel(three$p, three$y, notion = "top_label"))
pin("ce_panel/groups", ce_panel(fine$frame, y, prob, notion = "binary", .by = group))

for (data in c("two", "five", "many")) {
  one <- get(data)
  pin(paste0("ce_hierarchy/", data), ce_hierarchy(one$p, one$y))
}
pin("ce_hierarchy/p1", ce_hierarchy(five$p, five$y, p = 1, n_bins = c(5, 10)))
pin("ce_hierarchy/coarse", ce_hierarchy(coarse$p, coarse$y))
pin("ce_hierarchy/groups", ce_hierarchy(five$frame, truth, .by = group))
pin("ece/breaks/fine", ece(fine$p, fine$y, breaks = c(0.05, 0.2, 0.7)))
