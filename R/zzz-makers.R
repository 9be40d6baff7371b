# R's own errors ("unused argument", "argument is missing") name no remedy. Functions that make values take no further
# arguments: each gets `...` and looks at what it was given. Functions with required arguments look for them. Both are
# written into the functions when the package is built.

local({
  namespace <- topenv()
  makers <- c(
    paste0("assume_", c("beta", "logit")),
    paste0("basis_", c("hats", "kernel")),
    paste0("ce_", c("database", "horizon", "methods", "monitor", "source", "state")),
    paste0("computation_", c("auto", "dual", "eigen", "low_rank", "rff")),
    paste0("curve_", c("binned", "isotonic", "pit", "quantile", "smooth")),
    paste0("kernel_", c("embedding", "gaussian", "hellinger", "laplace", "linear", "matern", "matrix", "mmd", "tv",
                        "wasserstein", "white")),
    paste0("map_", c("beta", "constant_confidence", "diag", "dirichlet", "ets", "histogram", "isotonic",
                     "label_frequency", "matrix", "platt", "temperature", "update", "variance", "vector")),
    paste0("method_", c("bins", "function", "kde", "kkr", "power", "stack", "ukkr")),
    paste0("pred_", c("bernoulli", "beta", "categorical", "draws", "gamma", "laplace", "lognormal", "mvnormal",
                      "negbin", "normal", "poisson", "quantiles", "t")),
    paste0("score_", c("brier", "crps", "dss", "log", "mse", "spherical")),
    paste0("test_", c("block", "bootstrap", "bound", "cme", "conditional", "consistency", "cumulative", "joint")),
    "ece_bias", "new_family", "pair_risk", "ridge_loo"
  )
  # other functions with required arguments
  with_required <- c(paste0("ce_", c("compare", "gain", "kable", "metric", "predictions", "rank", "report", "risk")),
                     "as_distribution", "fit_form", "new_form", "new_method", "pair_features", "pred_family",
                     "predict.ce_fit", "predict.ce_tune", "score_parts", "tune_path")
  # a check for the required arguments of which the function does not say more itself; `truth`, and `x` beside models,
  # have one of their own
  check_of_missing <- function(fn) {
    calls <- calls_in(body(fn), c("missing", "check_bandwidth"))
    required <- setdiff(required_arguments(fn), c("truth", unlist(lapply(calls, all.vars))))
    required <- required[required != "x" | seq_along(required) == 1]
    given <- lapply(setNames(nm = required), function(name) call("missing", as.name(name)))
    if (length(given) > 0) as.call(list(quote(check_given), as.call(c(quote(c), given))))
  }
  for (name in setdiff(with_required, makers)) {
    fn <- get(name, namespace)
    body(fn) <- as.call(c(quote(`{`), check_of_missing(fn), body(fn)))
    assign(name, fn, namespace)
  }
  for (name in makers) {
    maker <- get(name, namespace)
    check <- check_of_missing(maker)
    formals(maker) <- c(formals(maker), list(... = rlang::missing_arg()))
    body(maker) <- as.call(c(quote(`{`), quote(if (...length() > 0) check_no_more(...)), check, body(maker)))
    assign(name, maker, namespace)
  }
  # the list was made of the functions before they changed
  made <- names(namespace$score_makers)
  namespace$score_makers <- setNames(mget(paste0("score_", made), namespace), made)
})
