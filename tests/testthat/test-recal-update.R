# Model updating: regressions against glm(), the order of the closed test, and how often each model is chosen.

update_data <- function(n = 300, truth = identity, seed = 1) {
  withr::with_seed(seed, {
    z <- stats::rnorm(n, -0.5, 1.2)
    data.frame(p = stats::plogis(z), z = z, y = stats::rbinom(n, 1, stats::plogis(truth(z))))
  })
}
harrell <- function(z) stats::quantile(z, c(.05, .35, .65, .95), names = FALSE, type = 1)
glm_fits <- function(d, w = rep(1, nrow(d))) {
  at <- harrell(d$z)
  d$s <- splines::ns(d$z, knots = at[2:3], Boundary.knots = at[c(1, 4)])
  d$w <- w
  fit <- function(formula) suppressWarnings(stats::glm(formula, stats::binomial, d, d$w))
  list(intercept = fit(y ~ offset(z)), slope = fit(y ~ z), flexible = fit(y ~ s))
}

test_that("likelihoods, coefficients and predictions are those of glm()", {
  d <- update_data(truth = function(z) 0.3 + 0.7 * z)
  fits <- glm_fits(d)
  tests <- tidy(ce_recalibrate(d$p, d$y, method = "update"))
  none <- sum(stats::dbinom(d$y, 1, d$p, log = TRUE))
  likelihood <- c(none, vapply(fits, function(f) as.numeric(stats::logLik(f)), 0))
  expect_equal(tests$log_likelihood, unname(likelihood), tolerance = 1e-8)
  ratio <- 2 * (likelihood[4] - likelihood[1:3])
  expect_equal(tests$statistic, unname(c(ratio, NA)), tolerance = 1e-6)
  expect_equal(tests$p.value[1:3], unname(stats::pchisq(ratio, 4:2, lower.tail = FALSE)), tolerance = 1e-6)
  expect_identical(tests$df, c(4, 3, 2, NA))
  expect_identical(tests$model, c("none", "intercept", "slope", "flexible"))
  new <- data.frame(z = c(-6, -1, 0.2, 4))
  at <- harrell(d$z)
  for (model in names(fits)) {
    map <- ce_recalibrate(d$p, d$y, method = map_update(model))
    if (model == "flexible") new$s <- splines::ns(new$z, knots = at[2:3], Boundary.knots = at[c(1, 4)])
    expect_equal(predict(map, stats::plogis(new$z)), unname(stats::predict(fits[[model]], new, type = "response")),
                 tolerance = 1e-6)
    expect_identical(tidy(map)$chosen, tests$model == model)
  }
  slope <- tidy(ce_recalibrate(d$p, d$y, method = map_update("slope")), type = "parameters")
  expect_equal(slope$std.error, sqrt(diag(stats::vcov(fits$slope)))[2:1], tolerance = 1e-5, ignore_attr = TRUE)
  one <- tidy(ce_recalibrate(d$p, d$y, method = map_update("intercept")), type = "parameters")
  expect_equal(one$std.error, sqrt(stats::vcov(fits$intercept)[1]), tolerance = 1e-5)
})

test_that("no change is kept in 95 % of samples that need none, and each kind of change is found", {
  shares <- function(truth, reps, seed) {
    chosen <- vapply(seq_len(reps), function(i) {
      d <- update_data(400, truth, seed + i)
      tests <- ce_recalibrate(d$p, d$y, method = "update")$tests
      tests$model[tests$chosen]
    }, "")
    c(table(factor(chosen, update_models))) / reps
  }
  null <- shares(identity, 200, 1000)[["none"]]
  expect_gt(null, 0.915)
  expect_lt(null, 0.985)
  expect_gt(shares(function(z) z + 0.8, 30, 2000)[["intercept"]], 0.85)
  expect_gt(shares(function(z) 0.4 * z, 30, 3000)[["slope"]], 0.85)
  expect_gt(shares(function(z) z + 0.6 * z^2 - 0.6, 30, 4000)[["flexible"]], 0.95)
})

test_that("weighted and clustered rows are tested by the robust covariance", {
  d <- update_data(300, function(z) 0.5 * z)
  w <- withr::with_seed(5, stats::runif(300, 0.2, 2))
  w <- w / mean(w)
  fit <- glm_fits(d, w)$slope
  x <- stats::model.matrix(fit)
  p <- stats::fitted(fit)
  scores <- w * x * (d$y - p)
  bread <- solve(crossprod(x * w * p * (1 - p), x))
  leverage <- rowSums((x %*% bread) * x) * w * p * (1 - p)
  rao_scott <- function(scores) {
    m <- nrow(scores)
    v <- m / (m - 1) * bread %*% crossprod(scores) %*% bread
    ratio <- 2 * sum(w * (stats::dbinom(d$y, 1, p, log = TRUE) - stats::dbinom(d$y, 1, stats::plogis(d$z), log = TRUE)))
    2 * ratio / sum(diag(solve(bread, v)))
  }
  # with three distinct predictions per knot gone, the slope is the largest model: that is its test against none
  few <- function(...) update_tests(update_fits(d$z, numeric(), d$y, ...), d$y, d$z, ..., map_update())
  plain <- few(new_design(300, w))
  expect_identical(plain$test, rep("Rao-Scott", 4))
  expect_equal(plain$statistic[1], rao_scott(scores / (1 - leverage)), tolerance = 1e-5)
  cluster <- rep(1:30, 10)
  expect_equal(few(new_design(300, w, cluster))$statistic[1], rao_scott(rowsum(scores, cluster)), tolerance = 1e-5)
  # about the same as the ratio where rows count the same, and rejections at about the level
  all <- tidy(ce_recalibrate(d$p, d$y, method = "update", cluster = 1:300))
  expect_equal(all$statistic[1], tidy(ce_recalibrate(d$p, d$y, method = "update"))$statistic[1], tolerance = 0.4)
  hits <- vapply(1:100, function(i) {
    d <- update_data(300, seed = 500 + i)
    ce_recalibrate(d$p, d$y, method = "update", cluster = rep(1:50, 6))$tests$chosen[1]
  }, NA)
  expect_gt(mean(hits), 0.89)
  expect_error(ce_recalibrate(d$p, d$y, method = "update", cluster = rep(1:3, 100)), "map_platt",
               class = "calibrisk_error_cluster")
  named <- ce_recalibrate(d$p, d$y, method = map_update("slope"), cluster = rep(1:3, 100))
  expect_identical(tidy(named)$p.value, rep(NA_real_, 4))
  expect_identical(tidy(named)$chosen, c(FALSE, FALSE, TRUE, FALSE))
})

test_that("models that the data cannot tell apart are left out", {
  d <- update_data()
  same <- ce_recalibrate(rep(0.3, 40), rep(0:1, 20), method = "update")
  expect_identical(tidy(same)$chosen, c(FALSE, TRUE, FALSE, FALSE))
  expect_identical(is.na(tidy(same)$log_likelihood), c(FALSE, FALSE, TRUE, TRUE))
  expect_true(glance(same)$converged)
  expect_equal(predict(same, 0.3), 0.5)
  two <- rep(c(0.3, 0.6), 20)
  expect_identical(is.na(tidy(ce_recalibrate(two, rep(c(0, 1, 1, 0), 10), method = "update"))$log_likelihood),
                   c(FALSE, FALSE, FALSE, TRUE))
  expect_error(ce_recalibrate(two, rep(c(0, 1, 1, 0), 10), method = map_update("flexible")), "distinct",
               class = "calibrisk_error_degenerate")
  expect_warning(apart <- ce_recalibrate(1:9 / 10, rep(0:1, c(4, 5)), method = "update"), "separate",
                 class = "calibrisk_warning_convergence")
  expect_identical(is.na(tidy(apart)$log_likelihood), c(FALSE, FALSE, TRUE, TRUE))
  expect_warning(sure <- ce_recalibrate(1:9 / 10, rep(1, 9), method = "update"), "outcomes are equal",
                 class = "calibrisk_warning_convergence")
  expect_identical(predict(sure, c(0, 0.25, 1)), c(0, 0.25, 1))
  # certain predictions are floored in the logit, not changed where no change is chosen
  edge <- ce_recalibrate(c(0, 1, d$p), c(0, 1, d$y), method = map_update("none"))
  expect_identical(suppressWarnings(predict(edge, c(0, 0.3, 1))), c(0, 0.3, 1))
})

test_that("several classes have a test each", {
  s <- simulate_classes(300, 3, temperature = 2.5, seed = 2)
  map <- ce_recalibrate(s$p, s$y, method = "update")
  expect_identical(tidy(map)$class, rep(c("1", "2", "3"), each = 4))
  expect_identical(sum(tidy(map)$chosen), 3L)
  one <- ce_recalibrate(s$p[, 2], s$y == 2, method = "update")
  expect_equal(tidy(map)[5:8, -2], tidy(one)[-2])
  keep <- ce_recalibrate(s$p, s$y, method = map_update("none"))
  expect_equal(predict(keep, diag(3)), diag(3))
  expect_identical(glance(keep)$n_parameters, 0L)
})

test_that("curves that rise and fall are not one to one", {
  rising <- update_data(truth = function(z) z + 0.5)
  bent <- update_data(truth = function(z) 1.2 * z + z^2)
  injective <- function(d, ...) glance(ce_recalibrate(d$p, d$y, method = map_update(...)))$injective
  expect_true(injective(rising, "flexible", df = 2))
  expect_false(injective(bent, "flexible"))
  expect_true(injective(bent, "intercept"))
})

test_that("maps are cross-fitted, printed and drawn, and wrong options named", {
  d <- update_data(truth = function(z) 0.4 * z)
  map <- ce_recalibrate(d$p, d$y, method = "update", folds = rep(1:5, 60))
  expect_output(print(map), "model: slope (flexible against none: p < 0.001", fixed = TRUE)
  expect_lt(glance(map)$objective_crossfit, glance(map)$objective_before)
  expect_identical(tidy(map, type = "parameters")$term, c("slope", "intercept"))
  platt <- ce_recalibrate(d$p, d$y, method = "platt")
  expect_equal(suppressWarnings(predict(map, d$p)), suppressWarnings(predict(platt, d$p)), tolerance = 1e-8)
  expect_error(tidy(platt, type = "tests"), "update", class = "calibrisk_error_argument")
  expect_error(map_update("curve"), "model", class = "calibrisk_error_argument")
  expect_error(map_update(df = 1), "df", class = "calibrisk_error_argument")
  expect_error(map_update(df = 7), "df", class = "calibrisk_error_argument")
  expect_error(map_update(alpha = 5), "alpha", class = "calibrisk_error_argument")
})

test_that("a recalibrated logistic model has an equation", {
  d <- data.frame(a = seq(-2, 2, length.out = 200), b = cos(1:200))
  d$y <- withr::with_seed(1, rbinom(200, 1, plogis(d$a)))
  d$late <- withr::with_seed(2, rbinom(200, 1, plogis(.5 * d$a - .7)))
  model <- glm(y ~ a + b, binomial, d)
  p <- predict(model, type = "response")
  for (method in c("update", "platt")) {
    map <- ce_recalibrate(p, d$late, method = method)
    equation <- plogis(drop(model.matrix(model) %*% coef(map, model = model)))
    expect_equal(unname(equation), suppressWarnings(predict(map, unname(p))), tolerance = 1e-8)
  }
  expect_equal(coef(ce_recalibrate(p, d$late, method = "platt")), setNames(map$terms$estimate, c("slope", "intercept")))
  expect_error(coef(ce_recalibrate(p, d$late, method = "beta"), model = model), class = "calibrisk_error_unsupported")
  expect_error(coef(map, model = lm(y ~ a, d)), class = "calibrisk_error_argument")
})

test_that("the covariance of a map is that of its regression", {
  d <- data.frame(a = seq(-2, 2, length.out = 200), b = cos(1:200), w = rep(c(.5, 1, 3), length.out = 200))
  d$y <- withr::with_seed(1, rbinom(200, 1, plogis(d$a)))
  d$late <- withr::with_seed(2, rbinom(200, 1, plogis(.5 * d$a - .7)))
  model <- glm(y ~ a + b, binomial, d)
  p <- unname(predict(model, type = "response"))
  z <- qlogis(p)
  exact <- glm.control(epsilon = 1e-14)
  line <- glm(late ~ z, binomial, d, control = exact)
  moved <- glm(late ~ offset(z), binomial, d, control = exact)
  map <- ce_recalibrate(p, d$late, method = "platt")
  expect_equal(vcov(map), unname(vcov(line))[2:1, 2:1], tolerance = 1e-6, ignore_attr = TRUE)
  expect_identical(dimnames(vcov(map)), list(c("slope", "intercept"), c("slope", "intercept")))
  intercept <- ce_recalibrate(p, d$late, method = map_update("intercept"))
  expect_equal(vcov(intercept)[[1]], vcov(moved)[[1]], tolerance = 1e-6)
  # its equation: the delta method, which is exact for a line
  at <- as.matrix(cbind(1, d$a, d$b))
  equation <- vcov(map, model = model)
  expect_equal(sqrt(rowSums((at %*% equation) * at)), unname(predict(line, se.fit = TRUE)$se.fit), tolerance = 1e-6)
  expect_equal(sum(vcov(intercept, model = model)), vcov(moved)[[1]], tolerance = 1e-6)
  curve <- vcov(ce_recalibrate(p, d$late, method = map_update("flexible")))
  expect_equal(sqrt(diag(curve)), setNames(tidy(ce_recalibrate(p, d$late, method = map_update("flexible")),
                                                "parameters")$std.error, rownames(curve)))
  expect_identical(dim(vcov(ce_recalibrate(p, d$late, method = map_update("none")))), c(0L, 0L))
  # weighted rows: the sandwich, with residuals over one minus their leverage
  weighted <- suppressWarnings(glm(late ~ z, binomial, d, weights = w, control = exact))
  scores <- model.matrix(weighted) * (d$w * (d$late - fitted(weighted)) / (1 - stats::hatvalues(weighted)))
  scores <- scores - outer(d$w / sum(d$w), colSums(scores))
  sandwich <- vcov(weighted) %*% crossprod(scores) %*% vcov(weighted) * 200 / 199
  expect_equal(vcov(ce_recalibrate(p, d$late, method = "platt", weights = d$w)), sandwich[2:1, 2:1], tolerance = 1e-6,
               ignore_attr = TRUE)
  # T of the logits / T is 1 over the slope of the regression without an intercept
  slope <- glm(late ~ 0 + z, binomial, d, control = exact)
  expect_equal(vcov(ce_recalibrate(p, d$late))[[1]], vcov(slope)[[1]] / coef(slope)[[1]]^4, tolerance = 1e-6)
  expect_error(vcov(ce_recalibrate(p, d$late, method = "isotonic")), class = "calibrisk_error_unsupported")
  expect_error(vcov(ce_recalibrate(p, d$late), model = model), class = "calibrisk_error_unsupported")
  expect_error(vcov(map, modle = model), "model", class = "calibrisk_error_argument")
  expect_error(coef(map, modle = model), "model", class = "calibrisk_error_argument")
  variance <- ce_recalibrate(pred_normal(d$a, 1), d$b, method = "variance")
  expect_error(vcov(variance), "variance", class = "calibrisk_error_unsupported")
  groups <- ce_recalibrate(data.frame(p, y = d$late, g = rep(1:2, 100)), y, p, .by = g, method = "platt")
  expect_error(vcov(groups), class = "calibrisk_error_group")
  expect_error(coef(groups), class = "calibrisk_error_group")
})
