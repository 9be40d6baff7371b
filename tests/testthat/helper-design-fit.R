# Verbs that give a table: of a binary data frame with `prob` and `y`.
design_verbs <- list(
  estimate = function(...) plain_frame(ce_estimate(...)),
  gain = function(data, ...) {
    after <- data
    after$prob <- .1 + .8 * data$prob
    ce_gain(data, after, ..., injective = TRUE)
  },
  map_gain = function(data, ...) ce_gain(data, "platt", ..., folds = 4),
  risk = function(...) ce_risk(design_fits$bins, ...),
  # the joint test of clusters is another one
  validate = function(...) subset(tidy(ce_validate(..., times = 0)), term != "joint"),
  compare = function(data, y, prob, ...) {
    compared <- ce_compare(design_fits, data, y, prob, ...)
    compared[order(compared$method), ]
  }
)

# Fitted without weights, to be evaluated with them.
design_fits <- withr::with_seed(2, {
  p <- stats::runif(80)
  y <- stats::rbinom(80, 1, p^2)
  lapply(list(bins = method_bins(6), steps = method_bins(5, debias = TRUE), ukkr = method_ukkr(.1),
              product = method_function(function(a, b) outer(a[, 1], b[, 1]) / 20)),
         function(method) ce_fit(p, y, method = method))
})

# Verbs that give an object: what it says of new predictions, or its own table.
design_grid <- c(.05, .3, .55, .9)
fitted_with <- function(method) {
  function(...) {
    fit <- ce_fit(..., method = method)
    data.frame(squared = predict(fit, design_grid))
  }
}
design_objects <- list(
  bins = fitted_with(method_bins(6)), mass = fitted_with(method_bins(5, type = "mass")),
  steps = fitted_with(method_bins(5, debias = TRUE)), kde = fitted_with(method_kde(.1)),
  kkr = fitted_with(method_kkr(.01)), ukkr = fitted_with(method_ukkr(.05)),
  laplace = fitted_with(method_ukkr(.05, kernel_laplace(.5))),
  laplace_kkr = fitted_with(method_kkr(.01, kernel_laplace(.5))),
  stack = fitted_with(method_stack())
)

mapped_with <- function(method) {
  function(...) {
    map <- suppressWarnings(ce_recalibrate(..., method = method))
    data.frame(squared = predict(map, design_grid), loss = map$objective[["after"]])
  }
}
design_maps <- c(
  lapply(stats::setNames(nm = c("temperature", "vector", "matrix", "dirichlet", "ets", "beta", "platt", "isotonic",
                                "histogram", "constant_confidence", "label_frequency")), mapped_with),
  list(diag = mapped_with(map_diag(hidden = 3)), ets_log = mapped_with(map_ets("log")),
       brier = mapped_with(map_temperature("brier")), update = mapped_with("update"),
       flexible = mapped_with(map_update("flexible")))
)

# Without what print() says of the rows.
plain_frame <- function(x) {
  attributes(x)[c("design", "dropped", "level")] <- NULL
  x
}
