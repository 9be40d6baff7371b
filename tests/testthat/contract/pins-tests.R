# Tests of calibration, and ranks of models.

local({
  data <- list(coarse = list(coarse$p, coarse$y), five = list(five$p, five$y), many = list(many$p, many$y),
               normal = list(laws$normal, real$y), draws = list(laws$draws, real$y),
               poisson = list(laws$poisson, real$count))
  for (name in names(data)) {
    x <- data[[name]][[1]]
    y <- data[[name]][[2]]
    test <- function(...) ce_test(x, y, ..., draws = 20)
    at <- paste0("ce_test/", name, "/")
    pin(paste0(at, "bootstrap"), test(test = test_bootstrap(99)))
    pin(paste0(at, "conditional"), test(test = test_conditional(times = 60)))
    pin(paste0(at, "consistency"), test(test = test_consistency(if (name == "draws") 20 else 60)))
    pin(paste0(at, "block"), test(test = "block"))
    pin(paste0(at, "bound"), test(test = "bound"))
    if (name %in% c("five", "normal")) {
      pin(paste0(at, "block/5"), test(test = test_block(5)))
      pin(paste0(at, "block/pairs"), test(test = test_block(reference = "pairs")))
      for (type in c("biased", "block")) pin(paste0(at, "bound/", type), test(test = test_bound(type)))
      pin(paste0(at, "add_one"), test(test = test_conditional(times = 50, add_one = FALSE)))
    }
    for (reference in c("redraw", "chisq", "f")) {
      pin(paste0(at, "cme/", reference), test(test = test_cme(3, reference, times = 49)))
    }
  }
  pin("ce_test/auto", ce_test(five$p, five$y, test = test_conditional(times = 49)))
  pin("ce_test/auto/law", ce_test(laws$normal, real$y, test = test_conditional(times = 49)))
  pin("ce_test/kernel",
      ce_test(five$p, five$y, test = test_bootstrap(times = 49), kernel = kernel_laplace(0.3),
              target_kernel = kernel_gaussian(1)))
  pin("ce_test/tolerance", ce_test(three$p, three$y, test = test_conditional(49, tolerance = 1e-3)))
  pin("ce_test/group", ce_test(five$frame, truth, group = group, test = test_conditional(times = 49)))
  pin("ce_test/groups", tidy(ce_test(five$frame, truth, .by = group, test = "block")))
  pin("ce_test/given",
      ce_test(three$p, three$y,
              test = test_cme(reference = "chisq", locations = list(x = three$p[1:3, ], truth = three$y[1:3]))))
  pin("ce_test/joint/bases", ce_test(five$p, five$y, test = test_joint(list(hats = 4, hats = 8))))
  for (statistic in c("bridge", "kuiper", "ks")) {
    pin(paste0("ce_test/cumulative/", statistic), ce_test(coarse$p, coarse$y, test = test_cumulative(statistic, 99)))
  }
  pin("ce_test/null", ce_test(five$p, five$y, test = test_conditional(times = 60))$null)
})

local({
  sharpen <- function(p, power) p^power / rowSums(p^power)
  models <- list(plain = three$p, sharp = sharpen(three$p, 2), flat = sharpen(three$p, 0.5))
  metrics <- c("ckce", "ckce_debiased", "jkce", "ece", "ece_canonical", "ece_pointwise", "brier", "log_loss", "error")
  for (metric in metrics) {
    ranked <- withr::with_seed(1, ce_rank(models, three$y, metric = metric, n_sub = 50, times = 12))
    pin(paste0("ce_rank/tidy/", metric), tidy(ranked))
    pin(paste0("ce_rank/glance/", metric), glance(ranked))
    pin(paste0("ce_rank/orders/", metric), as.data.frame(ranked$orders))
    pin(paste0("ce_rank/pairs/", metric), as.data.frame(ranked$pairs))
    pin(paste0("ce_rank/draws/", metric), ranked$draws$estimate)
  }
  pooled <- kernel_linear() + kernel_gaussian(stats::median(stats::dist(do.call(rbind, models))))
  pin("ce_rank/pooled",
      tidy(ce_rank(models, three$y, metric = ce_metric("ckce_debiased", kernel = pooled, ridge = 0.1),
                   n_sub = 50, times = 5)))
  pin("ce_rank/function",
      tidy(ce_rank(models, three$y, metric = list(wrong = function(p, y) mean(max.col(p) != y)),
                   n_sub = 50, times = 5)))
  pin("ce_rank/scalar",
      tidy(ce_rank(list(a = coarse$p, b = coarse$p^2), coarse$y,
                   metric = list(ce_metric("ece_canonical", n_bins = 5), "log_loss", "error"),
                   n_sub = 40, times = 8)))
})

local({
  state <- update(ce_state(), coarse$p, coarse$y, id = seq_along(coarse$p))
  numbers_of <- function(table) table[names(table) != "detail"]
  pin("ce_state/panel", numbers_of(ce_panel(state)), "iterated")
  pin("ce_state/headline", ce_estimate(state))
  # the choice among ridges of much the same risk is up to rounding
  pin("ce_state/tune", tidy(ce_tune(state))[c("method", "value", "fold", "risk")], "iterated")
  blocks <- update(ce_state(blocks = 12), coarse$p, coarse$y, cluster = seq_along(coarse$p) %% 40)
  pin("ce_state/blocks", ce_estimate(blocks), "iterated")
  pin("ce_state/block panel", numbers_of(ce_panel(blocks)), "iterated")
  differences <- c("method", "difference", "difference_std.error")
  pin("ce_state/tune differences", glance(ce_tune(state))[differences], "iterated")
  classes <- update(ce_state(notion = "class_wise", blocks = 12), three$p, three$y)
  pin("ce_state/class_wise", ce_estimate(classes), "iterated")
  large_ridges <- function(state) {
    table <- tidy(ce_tune(state))
    table[table$value > 1e-6, ]
  }
  weighted <- update(ce_state(), coarse$p, coarse$y, weights = 1 + coarse$p, cluster = seq_along(coarse$p) %% 40)
  pin("ce_state/tune of blocks", large_ridges(weighted), "iterated")
  classes <- update(ce_state(notion = "class_wise"), three$p, three$y, id = seq_along(three$y))
  pin("ce_state/class-wise tune", large_ridges(classes), "iterated")
})
