# What the vignette `extending` shows in C++ compiles against the installed headers and gives what it
# documents:
#
#   Rscript tools/extending.R

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))

# every file of inst/extending has its check here
checks <- list(
  nadaraya_watson.cpp = function() {
    set.seed(1)
    train <- matrix(stats::runif(600), ncol = 2)
    residuals <- matrix(stats::rnorm(900), ncol = 3)
    x <- matrix(stats::runif(540), ncol = 2) # more rows than a tile has
    distance <- outer(rowSums(x^2), rowSums(train^2), `+`) - 2 * tcrossprod(x, train)
    weights <- exp(-distance / (2 * 0.3^2))
    naive <- weights %*% residuals / rowSums(weights)
    all.equal(smooth_residuals(x, train, residuals, 0.3), naive, tolerance = 1e-10)
  },
  risk_and_skce.cpp = function() {
    set.seed(2)
    n <- 300
    probs <- matrix(stats::rexp(3 * n), n)
    probs <- probs / rowSums(probs)
    residuals <- probs - diag(3)[sample.int(3, n, TRUE), ]
    features <- cbind(1, probs[, 1:2])
    core <- crossprod(matrix(stats::rnorm(9), 3)) / 100
    off <- row(diag(n)) != col(diag(n))
    errors <- (tcrossprod(residuals) - features %*% core %*% t(features))[off]^2
    pairs <- (exp(-as.matrix(stats::dist(probs)) / 0.2) * tcrossprod(residuals))[off]
    all.equal(c(form_risk(residuals, features, core), laplace_skce(probs, residuals, 0.2)),
              c(mean(errors), mean(pairs)), tolerance = 1e-10)
  },
  # the verbs give the same
  tune_and_test.cpp = function() {
    set.seed(3)
    probs <- matrix(stats::rexp(900), 300)
    probs <- probs / rowSums(probs)
    truth <- apply(probs, 1, function(p) sample.int(3, 1, prob = p^2))
    fold <- rep(1:3, 100)
    ridges <- 10^-(1:5)
    got <- tune_and_test(probs, truth, fold, ridges, probs[1:9, ])
    kernel <- calibrisk::kernel_gaussian(0.5)
    tuned <- calibrisk::ce_tune(probs, truth, folds = fold, test = 0, notion = "canonical",
                                methods = list(calibrisk::method_kkr(ridges, kernel)))
    test <- calibrisk::ce_test(probs, truth, kernel = kernel, test = calibrisk::test_block(10))
    all.equal(got, list(colMeans(matrix(tuned$tidy$risk, 3)), tuned$glance$value, stats::predict(tuned, probs[1:9, ]),
                        calibrisk::skce(probs, truth, kernel = kernel)$.estimate, test$estimate, test$p.value),
              tolerance = 1e-10, check.attributes = FALSE)
  }
)

files <- list.files("inst/extending", "[.]cpp$")
stopifnot("a file of inst/extending has no check, or a check no file" = setequal(files, names(checks)))
for (file in files) {
  path <- system.file("extending", file, package = "calibrisk", mustWork = TRUE)
  stopifnot("the installed file is another one: run tools/install.R" =
              tools::md5sum(path) == tools::md5sum(file.path("inst/extending", file)))
  Rcpp::sourceCpp(path, env = globalenv())
  result <- checks[[file]]()
  if (!isTRUE(result)) stop(file, ": ", paste(result, collapse = "; "), call. = FALSE)
  cat(file, "compiles and gives the documented result\n")
}
