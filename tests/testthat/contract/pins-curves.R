# Reliability curves and PIT histograms.

local({
  pin_curve <- function(at, curve, why = "exact") {
    pin(paste0(at, "/tidy"), tidy(curve), why)
    pin(paste0(at, "/glance"), glance(curve), why)
  }
  curve_of <- function(...) withr::with_seed(1, ce_curve(...))
  curves <- list(binned = "binned", isotonic = curve_isotonic(40), smooth = curve_smooth(times = 40))
  for (type in names(curves)) {
    why <- if (type == "isotonic") "iterated" else "exact"
    at <- paste0("ce_curve/", type, "/")
    pin_curve(paste0(at, "coarse"), curve_of(coarse$p, coarse$y, type = curves[[type]], notion = "binary"), why)
    pin_curve(paste0(at, "fine"), curve_of(fine$p, fine$y, type = curves[[type]], notion = "binary"), why)
    pin_curve(paste0(at, "five"), curve_of(five$p, five$y, type = curves[[type]], notion = "top_label"), why)
  }
  pin_curve("ce_curve/binned/mass",
            curve_of(fine$p, fine$y, type = curve_binned(6, "mass"), notion = "binary"))
  pin_curve("ce_curve/binned/level",
            curve_of(fine$p, fine$y, type = curve_binned(6), notion = "binary", level = 0.8))
  pin_curve("ce_curve/binned/class", curve_of(three$p, three$y, type = curve_binned(6), notion = "class_wise"))
  pin_curve("ce_curve/binned/groups",
            curve_of(five$frame, truth, type = curve_binned(5), notion = "top_label", .by = group))
  pin_curve("ce_curve/smooth/bandwidth",
            curve_of(fine$p, fine$y, type = curve_smooth(0.8, times = 40), notion = "binary"))
  for (name in names(laws)) {
    pin_curve(paste0("ce_curve/pit/", name), curve_of(laws[[name]], outcome_of(name), type = curve_pit(6)))
    pin_curve(paste0("ce_curve/quantile/", name), curve_of(laws[[name]], outcome_of(name), type = curve_quantile()))
  }
  decide <- function(...) withr::with_seed(1, ce_decision(...))
  pin_curve("ce_decision/fine", decide(fine$p, fine$y))
  pin_curve("ce_decision/options", decide(coarse$p, coarse$y, thresholds = c(0.15, 0.4), recalibration = "isotonic",
                                          folds = 3, times = 200, level = 0.8), "iterated")
  pin_curve("ce_decision/models", decide(list(a = fine$p, b = fine$p^2), fine$y, thresholds = 0.3))
})
