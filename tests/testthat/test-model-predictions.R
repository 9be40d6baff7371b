# Predictions of fitted models, against their packages' own predict().

last_column <- function(data) data[[ncol(data)]]
pima <- function() {
  skip_if_not_installed("MASS")
  list(train = MASS::Pima.tr, test = MASS::Pima.te, formula = type ~ glu + bmi + age)
}
flowers <- function() {
  at <- seq(1, 150, 3)
  list(train = iris[-at, ], test = iris[at, ], formula = Species ~ Sepal.Length + Sepal.Width)
}

test_that("models of two classes give the probability of their second level", {
  d <- pima()
  fit <- stats::glm(d$formula, stats::binomial, d$train)
  new <- ce_predictions(fit, d$test)
  expect_s3_class(new, "tbl_df")
  expect_identical(names(new), c(names(d$test), ".pred_Yes"))
  expect_equal(new$.pred_Yes, unname(stats::predict(fit, d$test, type = "response")))
  expect_equal(ece(new, type)$.estimate, ece(new$.pred_Yes, d$test$type == "Yes")$.estimate)
  train <- transform(d$train, y = as.integer(type) - 1, l = type == "Yes", n = 2)
  event <- function(y) names(ce_predictions(stats::glm(y, stats::binomial, train), d$test))[9]
  expect_identical(c(event(y ~ glu), event(l ~ glu), event(cbind(y, n - y) ~ glu)),
                   c(".pred_1", ".pred_TRUE", ".pred_event"))
  missing <- d$test
  missing$glu[2] <- NA
  expect_identical(which(is.na(ce_predictions(fit, missing)$.pred_Yes)), 2L)
  expect_equal(ece(ce_predictions(fit, missing), type)$n, 331)
})

test_that("classifiers of other packages", {
  d <- pima()
  withr::local_seed(1)
  withr::local_timezone("UTC")
  for (package in c("mgcv", "nnet", "rpart", "ranger", "randomForest", "caret")) skip_if_not_installed(package)
  gam <- mgcv::gam(type ~ s(glu), family = stats::binomial, data = d$train)
  expect_equal(ce_predictions(gam, d$test)$.pred_Yes, as.vector(mgcv::predict.gam(gam, d$test, type = "response")))
  glm <- ce_predictions(stats::glm(d$formula, stats::binomial, d$train), d$test)$.pred_Yes
  multinom <- nnet::multinom(d$formula, d$train, trace = FALSE)
  expect_equal(ce_predictions(multinom, d$test)$.pred_Yes, glm, tolerance = 1e-4)
  train <- caret::train(d$formula, d$train, method = "glm", trControl = caret::trainControl(method = "none"))
  expect_equal(ce_predictions(train, d$test)$.pred_Yes, glm)
  lda <- MASS::lda(d$formula, d$train)
  expect_equal(ce_predictions(lda, d$test)$.pred_Yes, unname(stats::predict(lda, d$test)$posterior[, 2]))
  f <- flowers()
  models <- list(
    ranger = ranger::ranger(f$formula, f$train, probability = TRUE, num.threads = 1),
    forest = randomForest::randomForest(f$formula, f$train), tree = rpart::rpart(f$formula, f$train),
    multinom = nnet::multinom(f$formula, f$train, trace = FALSE), qda = MASS::qda(f$formula, f$train)
  )
  own <- list(
    stats::predict(models$ranger, f$test, num.threads = 1)$predictions,
    stats::predict(models$forest, f$test, type = "prob"), stats::predict(models$tree, f$test, type = "prob"),
    stats::predict(models$multinom, f$test, type = "probs"), stats::predict(models$qda, f$test)$posterior
  )
  both <- ce_predictions(models, f$test)
  for (i in seq_along(both)) {
    expect_identical(names(both[[i]])[6:8], paste0(".pred_", levels(iris$Species)))
    expect_equal(as.matrix(both[[i]][6:8]), unclass(own[[i]])[, levels(iris$Species)], ignore_attr = TRUE)
  }
  expect_identical(nrow(ce_compare(both[1:3], Species, metric = rbs)), 3L)
  expect_identical(nrow(ce_predictions(models$multinom, f$test[1, ])), 1L)
  order <- MASS::polr(factor(cyl) ~ wt, mtcars)
  expect_equal(as.matrix(ce_predictions(order, mtcars)[paste0(".pred_", c(4, 6, 8))]), order$fitted.values,
               ignore_attr = TRUE)
  # levels in another order than they come in the rows
  back <- transform(f$train, Species = factor(Species, rev(levels(Species))))[100:1, ]
  forest <- ranger::ranger(f$formula, back, probability = TRUE, num.threads = 1)
  expect_identical(names(ce_predictions(forest, f$test))[6:8], paste0(".pred_", rev(levels(iris$Species))))
})

test_that("models of numbers give distributions", {
  cars <- mtcars[1:24, ]
  new <- mtcars[25:32, ]
  fit <- stats::lm(mpg ~ wt, cars)
  interval <- stats::predict(fit, new, interval = "prediction", level = 0.9)
  law <- ce_predictions(fit, new)$.pred
  half <- (interval[, "upr"] - interval[, "lwr"]) / 2
  expect_equal(unclass(law)$sd %||% law_moments(law)$variance^0.5, unname(half / stats::qt(0.95, 22)))
  expect_equal(format(ce_predictions(stats::glm(mpg ~ wt, data = cars), new)$.pred), format(law))
  score <- function(fit, data = new) ce_score(ce_predictions(fit, data), carb, score = "crps")$.estimate
  poisson <- stats::glm(carb ~ wt, stats::poisson, cars)
  mean <- stats::predict(poisson, new, type = "response")
  expect_equal(score(poisson), ce_score(pred_poisson(mean), new$carb, score = "crps")$.estimate)
  gamma <- stats::glm(carb ~ wt, stats::Gamma("log"), cars)
  shape <- 1 / summary(gamma)$dispersion
  mean <- stats::predict(gamma, new, type = "response")
  expect_equal(score(gamma), ce_score(pred_gamma(shape, shape / mean), new$carb, score = "crps")$.estimate)
  for (package in c("MASS", "mgcv", "ranger")) skip_if_not_installed(package)
  quine <- MASS::quine
  counts <- MASS::glm.nb(Days ~ Age, quine)
  both <- list(counts, mgcv::gam(Days ~ Age, family = mgcv::nb(), data = quine))
  crps <- vapply(ce_predictions(both, quine), function(p) ce_score(p, Days, score = "crps")$.estimate, 0)
  direct <- ce_score(pred_negbin(stats::fitted(counts), counts$theta), quine$Days, score = "crps")$.estimate
  expect_equal(unname(crps), rep(direct, 2), tolerance = 1e-3)
  scale <- mgcv::gam(list(mpg ~ s(wt, k = 4), ~ wt), family = mgcv::gaulss(), data = cars)
  own <- stats::predict(scale, new, type = "response")
  expect_equal(format(ce_predictions(scale, new)$.pred), format(pred_normal(own[, 1], 1 / own[, 2])))
  forest <- ranger::ranger(mpg ~ wt, cars, quantreg = TRUE, num.threads = 1, seed = 1)
  expect_true(all(is.finite(ce_score(ce_predictions(forest, new), mpg, score = "crps")$.estimate)))
})

test_that("survival models give the probability of an event by the horizon", {
  skip_if_not_installed("survival")
  lung <- survival::veteran
  fit <- survival::coxph(survival::Surv(time, status) ~ karno + survival::strata(celltype), lung)
  own <- 1 - stats::predict(fit, transform(lung, time = 100), type = "survival")
  new <- lung
  new$karno[3] <- NA
  out <- ce_predictions(fit, new, horizon = 100)
  expect_identical(out$.pred_event[3], NA_real_)
  expect_equal(out$.pred_event[-3], unname(own)[-3], tolerance = 1e-6)
  error <- suppressMessages(ece(out, survival::Surv(time, status), horizon = 100, n_bins = 3))
  expect_true(error$.estimate > 0 && error$.estimate < 0.2)
  expect_error(ce_predictions(fit, lung), "horizon", class = "calibrisk_error_horizon")
  skip_if_not_installed("ranger")
  forest <- ranger::ranger(survival::Surv(time, status) ~ karno, lung, num.threads = 1, seed = 1)
  grown <- stats::predict(forest, lung, num.threads = 1)
  at <- max(which(grown$unique.death.times <= 100))
  expect_equal(ce_predictions(forest, lung, horizon = 100)$.pred_event, 1 - grown$survival[, at])
  expect_identical(ce_predictions(forest, lung, horizon = 0.1)$.pred_event, rep(0, nrow(lung)))
})

test_that("posterior draws come by the generics of rstantools", {
  skip_if_not_installed("rstantools")
  epred <- matrix(c(.2, .4, .1, .9, .7, .6), 2)
  register <- function(generic, value) {
    registerS3method(generic, "drawn_model", function(object, newdata, ...) value[, seq_len(nrow(newdata))],
                     envir = asNamespace("rstantools"))
  }
  register("posterior_epred", epred)
  register("posterior_predict", 10 * epred)
  registerS3method("family", "drawn_model", function(object, ...) list(family = object$kind),
                   envir = asNamespace("stats"))
  registerS3method("ce_predictions", "drawn_model", ce_predictions.stanreg, envir = asNamespace("calibrisk"))
  model <- function(kind) structure(list(kind = kind), class = c("drawn_model", "stanreg"))
  rows <- data.frame(x = 1:3)
  expect_equal(ce_predictions(model("binomial"), rows)$.pred_event, c(.3, .5, .65))
  expect_equal(format(ce_predictions(model("gaussian"), rows)$.pred), format(pred_draws(t(10 * epred))))
})

test_that("what cannot be predicted is a classed error", {
  d <- pima()
  fit <- stats::glm(d$formula, stats::binomial, d$train)
  fails <- function(code, message, class = "model") {
    expect_error(code, message, class = paste0("calibrisk_error_", class))
  }
  fails(ce_predictions(1, d$test), "numeric")
  fails(ce_predictions(structure(list(), class = "earth"), d$test), "earth")
  fails(ce_predictions(fit), "missing", "argument")
  fails(ce_predictions(list(), d$test), "empty", "argument")
  fails(ce_predictions(list(a = fit, b = 3), d$test), "model \"b\"")
  fails(ce_predictions(stats::glm(glu ~ bmi, stats::quasi, d$train), d$test), "quasi")
  fails(ce_predictions(stats::lm(cbind(glu, bmi) ~ age, d$train), d$test), "several outcomes")
  skip_if_not_installed("ranger")
  fails(ce_predictions(ranger::ranger(type ~ glu, d$train, num.threads = 1), d$test), "probability = TRUE")
  fails(ce_predictions(ranger::ranger(glu ~ bmi, d$train, num.threads = 1), d$test), "quantreg")
  skip_if_not_installed("randomForest")
  fails(ce_predictions(randomForest::randomForest(glu ~ bmi, d$train), d$test), "means")
  skip_if_not_installed("rpart")
  fails(ce_predictions(rpart::rpart(glu ~ bmi, d$train), d$test), "anova")
  skip_if_not_installed("caret")
  fitted <- caret::train(glu ~ bmi, d$train, method = "lm", trControl = caret::trainControl(method = "none"))
  fails(ce_predictions(fitted, d$test), "finalModel")
})

test_that("a model in place of predictions is told of what reads it", {
  model <- stats::glm(vs ~ wt, stats::binomial, mtcars)
  error <- expect_error(ce_estimate(model, mtcars$vs), class = "calibrisk_error_probs")
  expect_match(conditionMessage(error), "`ce_predictions()` adds", fixed = TRUE)
  error <- expect_error(ce_estimate(list(0.1, 0.2), mtcars$vs[1:2]), class = "calibrisk_error_probs")
  expect_no_match(conditionMessage(error), "ce_predictions", fixed = TRUE)
})

test_that("a class that inherits from a known one is read if it predicts alike, else refused by its name", {
  d <- transform(mtcars, y = vs, own = wt)
  glm <- stats::glm(y ~ wt, stats::binomial, d)
  other <- structure(glm, class = c("scam", class(glm)))
  expect_error(ce_predictions(other, d), "<scam>", class = "calibrisk_error_model")
  expect_error(ce_predictions(list(other), d), "<scam>", class = "calibrisk_error_model")
  law <- function(fit) format(ce_predictions(fit, d)$.pred)
  expect_equal(law(stats::aov(mpg ~ wt, d)), law(stats::lm(mpg ~ wt, d)))
  skip_if_not_installed("mgcv")
  bam <- mgcv::bam(y ~ s(wt, k = 4), stats::binomial, d)
  expect_equal(ce_predictions(bam, d)$.pred_1, unname(stats::fitted(bam)))
})

test_that("Cox models without a risk for new rows say why", {
  skip_if_not_installed("survival")
  d <- transform(survival::veteran, id = rep(1:10, length.out = 137), state = factor(1, 0:2), row = 1:137)
  visits <- rbind(transform(d, start = 0), transform(d, start = time, time = time + 1, state = factor(2, 0:2)))
  Surv <- survival::Surv
  coxph <- survival::coxph
  strata <- survival::strata
  models <- list(
    conditional = survival::clogit(status ~ karno + strata(id), d),
    frailty = survival::coxph(Surv(time, status) ~ karno + survival::frailty(id), d),
    states = survival::coxph(Surv(start, time, state) ~ karno, visits, id = row)
  )
  for (name in names(models)) {
    expect_error(ce_predictions(models[[name]], d, horizon = 100), name, class = "calibrisk_error_model")
  }
  moving <- survival::coxph(Surv(time, status) ~ tt(karno), d, tt = function(x, t, ...) x * t)
  expect_error(ce_predictions(moving, d, horizon = 100), class = "calibrisk_error_model")
})

test_that("models of competing risks give the cumulative incidence of a cause", {
  skip_if_not_installed("survival")
  d <- withr::with_seed(3, data.frame(time = rexp(300), x = rnorm(300), row = 1:300,
                                      state = factor(sample(0:2, 300, TRUE), 0:2, c("none", "relapse", "death"))))
  new <- replace(d[1:4, ], "x", c(-1, NA, 0, 1))
  fit <- survival::coxph(survival::Surv(time, state) ~ x, d, id = row)
  horizon <- ce_horizon(1, cause = "death")
  risk <- ce_predictions(fit, new, horizon = horizon)$.pred_event
  # by the hazards of the causes, no two of which have a time in common
  hazards <- lapply(c("relapse", "death"), function(cause) {
    one <- survival::coxph(survival::Surv(time, state == cause) ~ x, d)
    hazard <- survival::basehaz(one, centered = FALSE)
    outer(diff(c(0, hazard$hazard))[hazard$time <= 1], exp(stats::coef(one) * new$x))
  })
  all <- hazards[[1]] + hazards[[2]]
  steps <- hazards[[2]] / all * (1 - exp(-all)) * exp(-(apply(all, 2, cumsum) - all))
  expect_equal(risk, colSums(replace(steps, is.nan(steps), 0)) * c(1, NA, 1, 1))
  expect_equal(ce_predictions(fit, new[1, ], horizon = horizon)$.pred_event, risk[1])
  expect_error(ce_predictions(fit, new, horizon = 1), "\"relapse\" and \"death\"", class = "calibrisk_error_horizon")
  one <- survival::coxph(survival::Surv(time, state == "death") ~ x, d)
  expect_error(ce_predictions(one, new, horizon = horizon), "`model` has one", class = "calibrisk_error_horizon")
  skip_if_not_installed("riskRegression")
  Hist <- getExportedValue("prodlim", "Hist")
  new$x[2] <- 0
  for (name in c("CSC", "FGR")) {
    peer <- getExportedValue("riskRegression", name)(Hist(time, state, cens.code = "none") ~ x, d, cause = "death")
    found <- ce_predictions(peer, new, horizon = horizon)$.pred_event
    risk <- getExportedValue("riskRegression", "predictRisk")(peer, new, times = 1, cause = "death")
    expect_equal(found, as.vector(risk), info = name)
  }
})

test_that("models of rms give what those of R give", {
  skip_if_not_installed("rms")
  rms <- asNamespace("rms")
  d <- transform(mtcars, y = vs, yes = factor(vs, 0:1, c("no", "yes")), gears = factor(gear))
  new <- d
  new$wt[2] <- NA
  event <- function(fit) last_column(ce_predictions(fit, new))
  binary <- event(stats::glm(y ~ wt, stats::binomial, d))
  expect_identical(names(ce_predictions(rms$lrm(yes ~ wt, d), new))[15], ".pred_yes")
  expect_equal(event(rms$lrm(yes ~ wt, d)), binary, tolerance = 1e-5)
  expect_equal(event(rms$Glm(y ~ wt, stats::binomial, d)), binary)
  three <- rms$lrm(gears ~ wt, d)
  expect_equal(as.matrix(ce_predictions(three, d)[paste0(".pred_", 3:5)]),
               stats::predict(three, d, type = "fitted.ind"), ignore_attr = TRUE)
  new <- d
  same <- function(a, b) expect_equal(format(event(a)), format(event(b)))
  same(rms$ols(mpg ~ wt, d), stats::lm(mpg ~ wt, d))
  same(rms$Glm(carb ~ wt, stats::poisson, d), stats::glm(carb ~ wt, stats::poisson, d))
  same(rms$Glm(mpg ~ wt, stats::gaussian, d), stats::glm(mpg ~ wt, stats::gaussian, d))
  lung <- survival::veteran
  risk <- function(fit) ce_predictions(fit, lung, horizon = 100)$.pred_event
  expect_equal(risk(rms$cph(survival::Surv(time, status) ~ karno, lung, x = TRUE, y = TRUE)),
               risk(survival::coxph(survival::Surv(time, status) ~ karno, lung)))
})
