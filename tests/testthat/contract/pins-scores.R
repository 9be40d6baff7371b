# Proper scores: values, means, bounds, decompositions, gains, moments.

local({
  rules <- list(brier = "brier", log = score_log(), log_floor = score_log(1e-3), spherical = "spherical")
  for (name in names(rules)) {
    rule <- rules[[name]]
    pin(paste0("score_value/five/", name), score_parts(rule, five$p, five$y)$value)
    pin(paste0("score_value/many/", name), score_parts(rule, many$p, many$y)$value)
    pin(paste0("ce_score/five/", name), ce_score(five$p, five$y, score = rule))
    pin(paste0("ce_score/two/", name), ce_score(two$p, two$y, score = rule))
    pin(paste0("ce_score/coarse/", name), ce_score(coarse$p, coarse$y, score = rule))
    pin(paste0("ce_score/fine/", name), ce_score(fine$p, fine$y, score = rule))
    pin(paste0("upper_bound/five/", name), ce_score(five$p, five$y, score = rule, bound = TRUE))
    pin(paste0("upper_bound/coarse/", name), ce_score(coarse$p, coarse$y, score = rule, bound = TRUE))
  }
  pin("ce_score/groups", ce_score(five$frame, truth, score = c("brier", "spherical"), .by = group))
})

local({
  rules <- list(dss = score_dss(), mse = "mse", crps = "crps")
  for (name in names(laws)) {
    y <- outcome_of(name)
    for (rule in names(rules)) {
      pin(paste("score_value/law", name, rule, sep = "/"), score_parts(rules[[rule]], laws[[name]], y)$value)
      pin(paste("ce_score/law", name, rule, sep = "/"), ce_score(laws[[name]], y, score = rules[[rule]]))
    }
  }
  pin("score_value/moments/dss", score_parts(score_dss(), list(mean = real$mean, variance = real$sd^2), real$y)$value)
  pin("upper_bound/law/dss", ce_score(laws$normal, real$y, score = score_dss(min_variance = 0.1), bound = TRUE))
  pin("upper_bound/law/crps", ce_score(laws$normal, real$y, score = "crps", bound = TRUE))
  pin("ce_score/law/groups",
      ce_score(data.frame(m = real$mean, s = real$sd, y = real$y, group = real$group), y, pred_normal(m, s),
               score = "crps", .by = group))
})

# a family from outside the package, without moments, densities and CRPS
local({
  weibull <- new_family("weibull", list(shape = c(0, Inf), scale = c(0, Inf)), moments = NULL,
                        cdf = stats::pweibull, quantile = stats::qweibull, draw = NULL, density = NULL,
                        support = "positive")
  law <- weibull(shape = 1 + real$sd, scale = exp(real$mean / 4))
  pin("ce_score/law/own", ce_score(law, abs(real$y), score = c("dss", "mse", "crps")))
  others <- list(
    gamma = pred_gamma(1 + real$sd, 1 / (0.5 + real$sd)), lognormal = pred_lognormal(real$mean / 4, real$sd),
    t = pred_t(3 + real$sd, real$mean, real$sd), beta = pred_beta(1 + real$sd, 2),
    negbin = pred_negbin(real$rate, 1 + real$sd),
    quantiles = pred_quantiles(real$mean + outer(real$sd, c(-1.5, 0, 0.5, 1.5)), c(0.1, 0.5, 0.6, 0.9))
  )
  for (name in names(others)) {
    y <- switch(name, negbin = real$count, beta = stats::plogis(real$y), abs(real$y))
    pin(paste0("ce_score/law/", name), ce_score(others[[name]], y, score = c("dss", "mse", "crps")))
    pin(paste0("ce_moments/law/", name), ce_moments(others[[name]], y))
    pin(paste0("ce_curve/law/", name, "/pit"), tidy(ce_curve(others[[name]], y, type = "pit"))$observed)
    for (type in c("unbiased", "biased")) {
      pin(paste("skce/law", name, type, sep = "/"), skce(others[[name]], y, type = type))
    }
    pin(paste0("ckce/law/", name), ckce(others[[name]], y))
    pin(paste0("ce_test/law/", name), ce_test(others[[name]], y, test = test_conditional(times = 50)))
  }
  pin("ce_curve/law/own/pit", tidy(ce_curve(law, abs(real$y), type = "pit"))$observed)
})

local({
  truth <- factor(five$y, levels = seq_len(ncol(five$p)), ordered = TRUE)
  pin("ce_score/five/rps", ce_score(unname(five$p), truth, score = "rps"))
  frame <- data.frame(group = real$group, count = real$count, y = real$y, low = real$mean - 1, high = real$mean + 1)
  frame$normal <- laws$normal
  frame$poisson <- pred_poisson(real$rate)
  frame$draws <- pred_draws(outer(real$rate, 1:7, function(m, k) round(m * k / 3)))
  frame$mixture <- laws$mixture
  frame$quantiles <- pred_quantiles(real$mean + outer(real$sd, c(-1.5, 0, 1.5)), c(0.1, 0.5, 0.9))
  models <- ce_coverage(frame, y, normal, mixture, quantiles, level = 0.8)
  pin("ce_coverage/models", tidy(models))
  pin("ce_coverage/models/scores", glance(models))
  pin("ce_coverage/models/quantiles", models$quantiles)
  pin("ce_coverage/counts", tidy(ce_coverage(frame, count, poisson, draws, .by = group)))
  pin("ce_coverage/curve", tidy(ce_coverage(frame, y, normal, level = 0.8), type = "curve")[c(1, 20, 40), ])
  pin("ce_coverage/ends", tidy(ce_coverage(frame, y, low, high, level = 0.8, cluster = group)))
})

for (method in c("discrete", "isotonic")) {
  for (score in c("brier", "log", "spherical")) {
    pin(paste("ce_decompose/coarse", method, score, sep = "/"),
        ce_decompose(coarse$p, coarse$y, score = score, method = method, notion = "binary"))
    pin(paste("ce_decompose/fine", method, score, sep = "/"),
        ce_decompose(fine$p, fine$y, score = score, method = method, notion = "binary"))
    pin(paste("ce_decompose/five", method, score, sep = "/"),
        ce_decompose(five$p, five$y, score = score, method = method, notion = "top_label"))
  }
}
pin("ce_decompose/canonical", ce_decompose(five$p, five$y, score = c("brier", "spherical"), notion = "canonical"))
pin("ce_decompose/bootstrap", ce_decompose(coarse$p, coarse$y, score = "brier", notion = "binary", times = 20))
pin("ce_decompose/groups", ce_decompose(five$frame, truth, notion = "top_label", method = "isotonic", .by = group))

local({
  warm <- function(p) sqrt(p) / rowSums(sqrt(p))
  for (score in c("brier", "log", "spherical")) {
    pin(paste0("ce_gain/three/", score), ce_gain(three$p, warm(three$p), three$y, score = score, injective = TRUE))
    pin(paste0("ce_gain/fine/", score), ce_gain(fine$p, 0.1 + 0.8 * fine$p, fine$y, score = score))
  }
  pin("ce_gain/five/brier", ce_gain(five$p, warm(five$p), five$y, score = "brier"))
  map <- ce_recalibrate(three$frame[1:90, ], truth, method = "temperature")
  pin("ce_gain/maps/fine", ce_gain(fine$frame, list(map_platt(), map_update(df = 2)), y, prob, folds = 4, repeats = 2,
                                   .by = group), "iterated")
  pin("ce_gain/maps/three", ce_gain(three$p, c("temperature", "histogram"), three$y, score = score_log(1e-6)),
      "iterated")
  pin("ce_gain/map", ce_gain(three$frame[91:150, ], map, truth), "iterated")
  after <- three$frame
  after[1:3] <- warm(as.matrix(after[1:3]))
  pin("ce_gain/groups", ce_gain(three$frame, after, truth, .by = group))
})

local({
  x <- cbind(real$mean, real$sd^2)
  pin("ce_moments/law", ce_moments(laws$normal, real$y))
  pin("ce_moments/after", ce_moments(laws$normal, real$y, after = pred_normal(real$mean, 1.3 * real$sd)))
  frame <- data.frame(.pred_mean = x[, 1], .pred_variance = x[, 2], y = real$y, group = real$group)
  pin("ce_moments/groups", ce_moments(frame, y, .pred_mean, .pred_variance, .by = group))
})

local({
  residual <- function(p, y) p - diag(ncol(p))[y, , drop = FALSE]
  kernel_score <- function(p1, y1, p2, y2) {
    exp(-sqrt(rowSums((p1 - p2)^2))) * rowSums(residual(p1, y1) * residual(p2, y2))
  }
  pin("u_score/five", ce_score(five$p, five$y, score = kernel_score))
  pin("u_score/coarse", ce_score(coarse$p, coarse$y, score = kernel_score))
  pin("u_score/groups", ce_score(five$frame, truth, score = kernel_score, .by = group))
})

# planning
pin("ce_power/wished", ce_power(assume_model(c(-2, 1), slope = 0.7), threshold = 0.2, power = 0.8, width = c(
  oe_ratio = 0.5, slope = 0.3, auroc = 0.1, net_benefit = 0.05, standardized_net_benefit = 0.3, calibration_error = 0.08
)))
pin("ce_power/expected", ce_power(assume_model(beta = c(1, 3), intercept = -0.3), n = 400, threshold = 0.3, level = 0.9))
pin("ce_power/pilot", ce_power(assume_pilot(fine$p, fine$y, recalibration = "platt"), n = 300))
