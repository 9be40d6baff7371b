# Models and predictions of further packages, against their own predict().

packages_data <- function() {
  skip_if_not_installed("MASS")
  test <- MASS::Pima.te[1:40, ]
  test$glu[2] <- NA
  list(train = MASS::Pima.tr, test = test, x = as.matrix(MASS::Pima.tr[c("glu", "bmi")]),
       new = as.matrix(test[c("glu", "bmi")]))
}
packages_fails <- function(code, message, class = "model") {
  expect_error(code, message, class = paste0("calibrisk_error_", class))
}

test_that("glmnet is read at one penalty", {
  skip_if_not_installed("glmnet")
  glmnet <- asNamespace("glmnet")
  d <- packages_data()
  path <- glmnet$glmnet(d$x, d$train$type, family = "binomial")
  test <- d$test[rev(names(d$test))]
  expect_equal(ce_predictions(path, test, s = 0.01)$.pred_Yes,
               as.vector(stats::predict(path, d$new, s = 0.01, type = "response")))
  withr::local_seed(1)
  cross <- glmnet$cv.glmnet(d$x, d$train$type, family = "binomial", nfolds = 3)
  own <- function(s) as.vector(stats::predict(cross, d$new, s = s, type = "response"))
  expect_equal(ce_predictions(cross, test)$.pred_Yes, own("lambda.1se"))
  expect_equal(ce_predictions(cross, test, s = "lambda.min")$.pred_Yes, own("lambda.min"))
  flowers <- as.matrix(iris[2:1])
  several <- glmnet$glmnet(flowers, iris$Species, family = "multinomial")
  expect_equal(as.matrix(ce_predictions(several, iris, s = 0.01)[6:8]),
               stats::predict(several, flowers, s = 0.01, type = "response")[, , 1], ignore_attr = TRUE)
  packages_fails(ce_predictions(path, test), "missing", "argument")
  packages_fails(ce_predictions(path, test, s = c(0.1, 0.2)), "2 values", "argument")
  packages_fails(ce_predictions(path, test["age"], s = 0.1), "glu", "columns")
  packages_fails(ce_predictions(path, transform(test, glu = "a"), s = 0.1), "character", "columns")
  packages_fails(ce_predictions(glmnet$glmnet(d$x, d$train$age), test, s = 0.1), "elnet")
  packages_fails(ce_predictions(glmnet$cv.glmnet(d$x, d$train$age, nfolds = 3), test), "elnet")
})

test_that("boosted trees of gbm are read at one number of trees", {
  skip_if_not_installed("gbm")
  gbm <- asNamespace("gbm")
  d <- packages_data()
  withr::local_seed(1)
  fit <- gbm$gbm((type == "Yes") ~ glu + bmi, "bernoulli", d$train, n.trees = 9)
  expect_equal(ce_predictions(fit, d$test, n.trees = 5)$.pred_1,
               stats::predict(fit, d$test, n.trees = 5, type = "response"))
  bare <- gbm$gbm.fit(as.data.frame(d$x), as.numeric(d$train$type) - 1, distribution = "bernoulli", n.trees = 9,
                       verbose = FALSE)
  expect_equal(ce_predictions(bare, d$test, n.trees = 5)$.pred_1,
               stats::predict(bare, as.data.frame(d$new), n.trees = 5, type = "response"))
  three <- suppressWarnings(gbm$gbm(Species ~ Sepal.Width + Petal.Width, "multinomial", iris, n.trees = 5))
  expect_equal(as.matrix(ce_predictions(three, iris, n.trees = 5)[6:8]),
               stats::predict(three, iris, n.trees = 5, type = "response")[, , 1], ignore_attr = TRUE)
  packages_fails(ce_predictions(fit, d$test, n.trees = 5:6), "2 values", "argument")
  packages_fails(ce_predictions(three, iris, n.trees = 4:5), "2 values", "argument")
  packages_fails(ce_predictions(bare, d$test["bmi"], n.trees = 5), "glu", "columns")
  normal <- gbm$gbm(glu ~ bmi, "gaussian", d$train, n.trees = 5)
  packages_fails(ce_predictions(normal, d$test, n.trees = 5), "gaussian")
})

test_that("mixed and ordered regressions", {
  d <- packages_data()
  new <- d$test[d$test$npreg %in% d$train$npreg, ]
  skip_if_not_installed("lme4")
  lme4 <- asNamespace("lme4")
  mixed <- lme4$glmer(type ~ scale(glu) + (1 | npreg), d$train, stats::binomial)
  expect_equal(ce_predictions(mixed, new)$.pred_Yes, unname(stats::predict(mixed, new, type = "response")))
  fixed <- stats::predict(mixed, d$test, type = "response", re.form = NA)
  expect_equal(ce_predictions(mixed, d$test, re.form = NA)$.pred_Yes, unname(fixed))
  packages_fails(ce_predictions(mixed, transform(new, npreg = 99)), "must predict the rows")
  counts <- suppressMessages(lme4$glmer(npreg ~ (1 | type), d$train, stats::poisson))
  packages_fails(ce_predictions(counts, new), "poisson")
  skip_if_not_installed("ordinal")
  ordinal <- asNamespace("ordinal")
  cars <- transform(mtcars, cyl = factor(cyl))
  fit <- ordinal$clm(cyl ~ wt, data = cars)
  cars$wt[2] <- NA
  out <- as.matrix(ce_predictions(fit, cars)[paste0(".pred_", c(4, 6, 8))])
  expect_equal(out, stats::predict(fit, cars["wt"])$fit, ignore_attr = TRUE)
  expect_equal(out[-2, ], stats::predict(MASS::polr(cyl ~ wt, transform(mtcars, cyl = factor(cyl))), cars[-2, ],
                                         type = "probs"), tolerance = 1e-3, ignore_attr = TRUE)
  packages_fails(ce_predictions(ordinal$clm(factor(gear) ~ wt, data = mtcars), mtcars), "factor\\(gear\\)")
})

test_that("networks, support vectors, naive Bayes and neighbours", {
  for (package in c("nnet", "e1071", "caret")) skip_if_not_installed(package)
  e1071 <- asNamespace("e1071")
  d <- packages_data()
  withr::local_seed(1)
  formula <- type ~ glu + bmi
  yes <- function(fit) ce_predictions(fit, d$test)$.pred_Yes
  network <- nnet::nnet(formula, d$train, size = 1, trace = FALSE)
  expect_equal(yes(network), unname(stats::predict(network, d$test)[, 1]))
  three <- nnet::nnet(Species ~ ., iris, size = 1, trace = FALSE)
  expect_equal(as.matrix(ce_predictions(three, iris)[6:8]), stats::predict(three, iris), ignore_attr = TRUE)
  bayes <- e1071$naiveBayes(formula, d$train)
  expect_equal(yes(bayes), stats::predict(bayes, d$test, type = "raw")[, 2])
  # levels in the order of the factor, not of the rows
  last <- d$train[order(d$train$type, decreasing = TRUE), ]
  vectors <- e1071$svm(formula, last, probability = TRUE)
  own <- attr(stats::predict(vectors, d$test[-2, ], probability = TRUE), "probabilities")
  expect_equal(yes(vectors), append(unname(own[, "Yes"]), NA, 1))
  bare <- e1071$svm(d$x, d$train$type, probability = TRUE)
  own <- attr(stats::predict(bare, d$new[-2, ], probability = TRUE), "probabilities")
  expect_equal(yes(bare), append(unname(own[, "Yes"]), NA, 1))
  more <- transform(d$train, type = factor(type, c(levels(type), "Other")))
  expect_identical(is.na(yes(e1071$svm(formula, more, probability = TRUE))), is.na(yes(vectors)))
  near <- stats::predict(caret::knn3(formula, d$train), d$test[-2, ], type = "prob")[, 2]
  expect_equal(yes(caret::knn3(formula, d$train)), append(near, NA, 1))
  expect_equal(yes(caret::knn3(d$x, d$train$type)), append(near, NA, 1))
  if (rlang::is_installed("kknn")) {
    kknn <- asNamespace("kknn")
    weighted <- kknn$train.kknn(formula, d$train, kmax = 5)
    expect_equal(yes(weighted), append(stats::predict(weighted, d$test[-2, ], type = "prob")[, 2], NA, 1))
    packages_fails(yes(kknn$train.kknn(glu ~ bmi, d$train, kmax = 5)), "means")
  }
  packages_fails(yes(e1071$svm(formula, d$train)), "probability = TRUE")
  packages_fails(yes(caret::knn3(unname(d$x), d$train$type)), "have none")
  packages_fails(yes(e1071$svm(glu ~ bmi, d$train, probability = TRUE)), "not a classification")
  packages_fails(ce_predictions(bayes, d$test["bmi"]), "glu", "columns")
  packages_fails(yes(nnet::nnet(glu ~ bmi, d$train, size = 1, linout = TRUE, trace = FALSE)), "not a factor")
})

test_that("parametric survival regression gives the probability of an event by the horizon", {
  skip_if_not_installed("survival")
  lung <- survival::veteran
  new <- lung
  new$karno[2] <- NA
  formula <- survival::Surv(time, status) ~ karno
  for (dist in c("weibull", "lognormal", "gaussian", "t")) {
    fit <- survival::survreg(formula, lung, dist = dist)
    # the quantiles are at their own level
    at <- stats::predict(fit, lung[3, ], type = "quantile", p = 0.3)
    expect_equal(ce_predictions(fit, new, horizon = unname(at))$.pred_event[2:3], c(NA, 0.3))
  }
  Surv <- survival::Surv
  strata <- survival::strata
  strata <- survival::survreg(Surv(time, status) ~ karno + strata(trt), lung)
  packages_fails(ce_predictions(strata, lung, horizon = 50), "several scales")
  packages_fails(ce_predictions(fit, lung), "horizon", "horizon")
})

test_that("predictions of ranger and posterior draws of probabilities come without their model", {
  draws <- matrix(c(.2, .4, .1, .9, .7, .6), 2)
  rows <- data.frame(x = 1:3)
  expect_equal(ce_predictions(draws, rows)$.pred_event, c(.3, .5, .65))
  classes <- array(c(draws, 1 - draws), c(2, 3, 2), list(NULL, NULL, c("a", "b")))
  expect_equal(ce_predictions(classes, rows)$.pred_b, 1 - c(.3, .5, .65))
  several <- ce_predictions(array(c(draws / 2, draws / 2, 1 - draws), c(2, 3, 3)), rows)
  expect_equal(several$.pred_3, 1 - c(.3, .5, .65))
  packages_fails(ce_predictions(t(draws), rows), "2 rows?, `newdata` has 3")
  packages_fails(ce_predictions(10 * draws, rows), "5 of 6", "probs")
  packages_fails(ce_predictions(matrix("a", 2, 3), rows), "character")
  skip_if_not_installed("posterior")
  expect_equal(ce_predictions(posterior::rvar(draws), rows)$.pred_event, c(.3, .5, .65))
  skip_if_not_installed("ranger")
  forest <- ranger::ranger(Species ~ ., iris, probability = TRUE, num.threads = 1, num.trees = 5, seed = 1)
  own <- stats::predict(forest, iris, num.threads = 1)
  expect_equal(ce_predictions(own, iris), ce_predictions(forest, iris, num.threads = 1))
  packages_fails(ce_predictions(own, iris[1:9, ]), "150 rows", "length")
  votes <- ranger::ranger(Species ~ ., iris, num.threads = 1, num.trees = 5)
  packages_fails(ce_predictions(stats::predict(votes, iris, num.threads = 1), iris), "no probabilities")
})

test_that("predictions of mlr3 come in the order of the rows, and of the positive class", {
  skip_if_not_installed("mlr3")
  skip_if_not_installed("rpart")
  mlr3 <- asNamespace("mlr3")
  d <- packages_data()
  learner <- mlr3$lrn("classif.rpart", predict_type = "prob")
  own <- stats::predict(rpart::rpart(type ~ ., d$train), d$test)
  learner$train(mlr3$as_task_classif(d$train, target = "type", positive = "Yes"))
  expect_equal(ce_predictions(learner$predict_newdata(d$test), d$test)$.pred_Yes, unname(own[, "Yes"]))
  flowers <- mlr3$as_task_classif(iris, target = "Species")
  learner$train(flowers)
  mixed <- learner$predict(flowers, row_ids = 150:1)
  fit <- rpart::rpart(Species ~ ., iris)
  expect_equal(ce_predictions(mixed, iris), ce_predictions(fit, iris))
  packages_fails(ce_predictions(learner$predict(flowers, row_ids = 2:9), iris[2:9, ]), "not 1 to 8")
  learner$predict_type <- "response"
  learner$train(flowers)
  packages_fails(ce_predictions(learner$predict(flowers), iris), "predict_type")
})

test_that("classes without rows of the fit have no column, or none of another class", {
  skip_if_not_installed("ranger")
  d <- withr::with_seed(1, data.frame(x = stats::rnorm(60)))
  for (used in list(c("a", "c"), c("a", "c", "d"))) {
    d$y <- factor(rep(used, length.out = 60), levels = c("a", "b", "c", "d"))
    model <- suppressWarnings(ranger::ranger(y ~ x, d, probability = TRUE, num.threads = 1))
    found <- as.data.frame(ce_predictions(model, d))
    own <- predict(model, d, num.threads = 1)$predictions
    shown <- if (length(used) == 2) "c" else used
    expect_equal(found[paste0(".pred_", shown)], as.data.frame(own[, shown, drop = FALSE]), ignore_attr = TRUE)
    expect_false(any(c(".pred_b", if (length(used) == 2) ".pred_d") %in% names(found)))
  }
})
