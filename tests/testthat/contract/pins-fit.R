# Fits, their risk, tuning, estimates and comparison.

local({
  methods <- list(
    bins = method_bins(8), bins_mass = method_bins(6, type = "mass"), bins_debiased = method_bins(8, debias = TRUE),
    kde = method_kde(0.05), kkr = method_kkr(0.01), ukkr = method_ukkr(0.1), power = method_power(1.5),
    kernel = method_ukkr(0.1, kernel_laplace(0.5)),
    "function" = method_function(function(p, q) outer(p[, 1], q[, 1]) / 50)
  )
  data <- list(
    binary_coarse = list(x = coarse$p, y = coarse$y, notion = "binary"),
    binary_fine = list(x = fine$p, y = fine$y, notion = "binary"),
    top_five = list(x = five$p, y = five$y, notion = "top_label"),
    class_three = list(x = three$p, y = three$y, notion = "class_wise"),
    canonical_three = list(x = three$p, y = three$y, notion = "canonical"),
    canonical_many = list(x = many$p, y = many$y, notion = "canonical")
  )
  rows <- function(x, at) if (is.matrix(x)) x[at, , drop = FALSE] else x[at]
  for (name in names(data)) {
    one <- data[[name]]
    first <- seq_len(90)
    rest <- setdiff(seq_along(one$y), first)
    for (m in names(methods)) {
      if (one$notion == "canonical" && startsWith(m, "bins")) next
      at <- paste("fit", name, m, sep = "/")
      fit <- suppressMessages(ce_fit(rows(one$x, first), one$y[first], notion = one$notion, method = methods[[m]]))
      pin(paste0(at, "/glance"), glance(fit))
      pin(paste0(at, "/squared"), predict(fit, rows(one$x, rest), type = "squared"))
      pin(paste0(at, "/pairs"), predict(fit, rows(one$x, rest[1:9]), type = "pairs"))
      pin(paste0(at, "/gap"), predict(fit, rows(one$x, rest), type = "gap"))
      pin(paste0(at, "/risk"), ce_risk(fit, rows(one$x, rest), one$y[rest]))
    }
  }
})

local({
  fit <- function(method, rows = 1:90) ce_fit(five$frame[rows, ], truth, notion = "top_label", method = method)
  rest <- five$frame[91:150, ]
  fits <- list(bins = fit(method_bins(10)), kde = fit(method_kde(0.05)), ukkr = fit(method_ukkr(0.1)))
  pin("ce_risk/groups", ce_risk(fits$bins, rest, truth, .by = group))
  pin("ce_compare/five", ce_compare(fits, rest, truth))
  pin("ce_compare/groups", ce_compare(fits, rest, truth, .by = group))
  pin("augment/ce_fit", augment(fits$bins, rest)[c(".squared", ".gap")])
  grouped <- ce_fit(five$frame[1:90, ], truth, notion = "top_label", method = method_bins(4), .by = group)
  pin("ce_fit/groups/tidy", tidy(grouped))
  pin("ce_fit/groups/glance", glance(grouped))
  pin("tidy/ce_fit/class", tidy(ce_fit(three$p, three$y, notion = "class_wise", method = method_bins(4))))
})

pin("pair_risk/matrix", pair_risk(tcrossprod(fine$p - 0.5) / 10, fine$p - fine$y))
pin("pair_risk/function", pair_risk(function(i, j) outer(fine$p[i], fine$p[j]) / 20, fine$p - fine$y))
pin("pair_risk/vectors", pair_risk(tcrossprod(three$p) / 20, three$p - diag(3)[three$y, ]))
pin("pair_risk/missing",
    pair_risk(ifelse(outer(1:160, 1:160, `+`) %% 50 == 0, NA, 0.01), fine$p - fine$y, na_rm = TRUE))

for (notion in c("binary", "top_label", "class_wise", "canonical")) {
  for (name in names(ce_methods(notion))) {
    method <- ce_methods(notion)[[name]]
    pin(paste("default_grid", notion, name, sep = "/"), as.numeric(default_grid(method, notion, 400)))
  }
}

# a method from outside, as in ?extending
local({
  method_line <- function() new_method("line", parameter = NULL, values = NA)
  fit_line <- function(method, problem, point, context) {
    new_form("line", coefficients = qr.coef(qr(cbind(1, problem$features)), problem$residuals), gap = TRUE)
  }
  registerS3method("fit_form", "ce_method_line", fit_line, envir = asNamespace("calibrisk"))
  registerS3method("pair_features", "ce_form_line",
                   function(form, features, threads) cbind(1, features) %*% form$coefficients,
                   envir = asNamespace("calibrisk"))
  tuned <- ce_tune(fine$p, fine$y, notion = "binary", methods = list(method_line(), method_bins(c(5, 10))))
  pin("extending/tidy", tidy(tuned)[c("method", "value", "risk", "squared_error", "squared_error_test")])
})

local({
  methods <- list(
    bins = method_bins(c(3, 6, 12)), kde = method_kde(c(0.02, 0.1)), kkr = method_kkr(c(0.001, 0.1)),
    ukkr = method_ukkr(c(0.01, 0.3)), power = method_power(c(0.7, 1, 1.6))
  )
  data <- list(binary_coarse = list(coarse$p, coarse$y, "binary"), binary_fine = list(fine$p, fine$y, "binary"),
               top_five = list(five$p, five$y, "top_label"), class_three = list(three$p, three$y, "class_wise"),
               canonical_three = list(three$p, three$y, "canonical"),
               canonical_many = list(many$p, many$y, "canonical"))
  for (name in names(data)) {
    one <- data[[name]]
    use <- if (one[[3]] == "canonical") methods[-1] else methods
    tuned <- withr::with_seed(1, suppressWarnings(ce_tune(one[[1]], one[[2]], notion = one[[3]], methods = use,
                                                               repeats = 1)))
    pin(paste0("ce_tune/tidy/", name), tidy(tuned))
    pin(paste0("ce_tune/glance/", name), glance(tuned))
    some <- if (is.matrix(one[[1]])) one[[1]][1:20, ] else one[[1]][1:20]
    pin(paste0("ce_tune/predict/", name), predict(tuned, some))
    pin(paste0("ce_tune/risk/", name), ce_risk(tuned, one[[1]], one[[2]]))
  }
  folds <- rep(1:4, length.out = 120)
  tuned <- ce_tune(five$frame, truth, notion = "top_label", methods = methods["bins"], folds = folds, test = 121:150)
  pin("ce_tune/folds/tidy", tidy(tuned))
  pin("ce_tune/folds/glance", glance(tuned))
  pin("ce_tune/augment", augment(tuned, five$frame)[c(".squared", ".gap")])
  tuned <- withr::with_seed(1, ce_tune(five$frame, truth, notion = "top_label", methods = methods["bins"], .by = group))
  pin("ce_tune/groups/glance", glance(tuned))
  pin("ce_tune/kernels", glance(withr::with_seed(1, ce_tune(
    fine$p, fine$y, notion = "binary",
    methods = list(ukkr = method_ukkr(c(0.01, 0.1), list(kernel_gaussian(0.2), kernel_laplace(0.3))))
  ))))
})

pin("ce_estimate/binary/coarse", ce_estimate(coarse$p, coarse$y, notion = "binary"))
pin("ce_estimate/binary/fine", ce_estimate(fine$p, fine$y, notion = "binary"))
pin("ce_estimate/five", ce_estimate(five$frame, truth, notion = c("top_label", "class_wise")))
pin("ce_estimate/canonical/three", ce_estimate(three$frame, truth, notion = "canonical"))
pin("ce_estimate/method", ce_estimate(five$frame, truth, notion = "top_label", method = method_bins(10)))
pin("ce_estimate/method/canonical", ce_estimate(three$p, three$y, notion = "canonical", method = method_ukkr(0.1)))
bases <- list(hats = 4, kernel = 10, function(p) cbind(1, p))
pin("ce_estimate/bases", ce_estimate(three$p, three$y, notion = "canonical", bases = bases))
pin("ce_tune/stack", glance(ce_tune(fine$p, fine$y, notion = "binary", methods = list(method_stack()),
                                    folds = rep(1:4, length.out = length(fine$p)), test = 0)))
pin("ce_estimate/groups", ce_estimate(five$frame, truth, notion = "top_label", method = method_bins(5), .by = group))
