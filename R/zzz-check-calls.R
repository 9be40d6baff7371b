# R's own errors ("unused argument", "argument is missing", "object not found") name no remedy. Functions that make
# values take no further arguments: each gets `...` and looks at what it was given. Functions with required arguments
# look for them, and those that take a choice look for one without quotes. All are written into the functions when the
# package is built.

local({
  namespace <- topenv()
  makers <- c(
    paste0("assume_", c("beta", "logit")),
    paste0("basis_", c("hats", "kernel")),
    paste0("ce_", c("database", "horizon", "methods", "monitor", "source", "state")),
    paste0("computation_", c("auto", "low_rank", "rff")),
    paste0("curve_", c("binned", "isotonic", "pit", "quantile", "smooth")),
    paste0("kernel_", c("embedding", "gaussian", "hellinger", "laplace", "linear", "matern", "matrix", "mmd", "tv",
                        "wasserstein", "white")),
    paste0("map_", c("beta", "constant_confidence", "diag", "dirichlet", "ets", "histogram",
                     "label_frequency", "matrix", "platt", "temperature", "update", "vector")),
    paste0("method_", c("bins", "function", "kde", "kkr", "power", "stack", "ukkr")),
    paste0("pred_", c("bernoulli", "beta", "categorical", "draws", "gamma", "laplace", "lognormal", "mvnormal",
                      "negbin", "normal", "poisson", "quantiles", "t")),
    paste0("score_", c("dss", "log")),
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
  with_words <- c("assume_pilot",
                  paste0("ce_", c("compare", "curve", "decision", "decompose", "estimate", "fit", "gain", "hierarchy",
                                  "kable", "metric", "panel", "rank", "recalibrate", "report", "risk", "score",
                                  "test", "tune", "validate")),
                  "ckce", "cox_calibration", "default_grid", "ece", "fit_form", "hosmer_lemeshow", "ici",
                  "kde_error", "kernel_matrix", "ks_error", "mmce", "new_form", "rbs", "score_parts", "skce",
                  "smooth_ece", "spiegelhalter", "tune_path", "ucme")
  for (name in c(with_words, makers)) {
    fn <- get(name, namespace)
    words <- intersect(names(formals(fn)), namespace$word_arguments)
    if (length(words) == 0) next
    kept <- attributes(fn)
    # most calls give few of them
    checks <- lapply(words, function(word) {
      call("if", call("!", call("missing", as.name(word))), call("check_words", word))
    })
    body(fn) <- as.call(c(quote(`{`), checks, body(fn)))
    attributes(fn) <- kept
    assign(name, fn, namespace)
  }
  chosen <- function(kind) {
    made <- sub(paste0("^", kind, "_"), "", grep(paste0("^", kind, "_"), makers, value = TRUE))
    sort(c(made, namespace$without_options[[kind]]))
  }
  kernels <- c("gaussian", "laplace", "tv", "hellinger", "wasserstein")
  kernels <- setNames(paste0("kernel_", c(paste0(kernels, "(\"median\")"), "linear()", "white()")),
                      c(kernels, "linear", "white"))
  scores <- names(namespace$score_makers)
  metrics <- Filter(function(name) namespace$is_own_metric(namespace[[name]]), with_words)
  namespace$word_texts <- list(
    notion = namespace$ce_notions, event_level = c("first", "second"), adjust = stats::p.adjust.methods,
    preset = names(namespace$preset_choices), score = scores, recalibration = chosen("map"),
    metric = c(metrics, namespace$one_number_verbs, scores, names(namespace$metric_presets())), kernel = kernels,
    target_kernel = kernels,
    method = namespace$method_calls, methods = setNames(sub("[(].*", "()", namespace$method_calls),
                                                        names(namespace$method_calls)),
    "ce_test$test" = c("auto", chosen("test")), "ce_recalibrate$method" = chosen("map"),
    "ce_curve$type" = chosen("curve")
  )
  # the list was made of the functions before they changed
  made <- names(namespace$score_makers)
  namespace$score_makers <- setNames(mget(paste0("score_", made), namespace), made)
})
