# For tools/fuzz.R: choices as values with odd arguments, each handed to a verb that takes it, and the exported
# functions that are no verbs.

# Values of arguments by name; where a name is not here, the ones that its defaults say, or a number.
choice_values <- list(
  bandwidth = list(0.01, 0.3, 10, 1e-8, "median", -1, NULL), power = list(1, 2, 0.5, 0, 3),
  nu = list(0.5, 1.5, 2.5, 0.7, -1), ridge = list(1e-4, 1, c(0.1, 1), 0, -1), penalty = list(0, 0.01, 100, -1),
  n = list(1, 3, c(2, 5), 1000, 0), n_bins = list(1, 5, 15, 1000, 0), hidden = list(2, c(3, 2), 0),
  range = list(c(0.01, 100), c(0.5, 2), c(1, 1), c(2, 1)), tolerance = list(0.01, 0.5, 1e-10, 0),
  max_rank = list(1, 50, NULL, 0), n_features = list(1, 20, 0), frequencies = list(NULL, diag(2), 3),
  times = list(20, 50, 0, -1), block = list(2, 10, NULL, 1), locations = list(1, 3, diag(2), 0),
  bases = list(NULL, list(hats = 4, kernel = 5), list(), "hats"),
  knots = list(2, 5, 100, 1), exponent = list(NULL, 1, c(0.5, 2), -1),
  df = list(3, 1, 30, 0), alpha = list(0.05, 1, 0), model = list(NULL, "logistic", 3),
  floor = list(0, 1e-6, 0.4, 1),
  kernel = list(quote(kernel_gaussian(0.3)), quote(kernel_tv(0.5)), quote(kernel_laplace(0.5)), "gaussian"),
  target_kernel = list(quote(kernel_gaussian("median")), quote(kernel_white()), quote(kernel_linear()), 3),
  f = list(quote(function(P, Q) tcrossprod(P, Q)), quote(function(P, Q) matrix(0, nrow(P), nrow(Q))), quote(sum), 1),
  notion = list("binary", "top_label", "class_wise", "canonical", "none"),
  name = list("mine", "", 1), parameter = list("h", 2), values = list(1:3, c(0.1, 0.1), numeric(), "a"),
  share = list(c(0.5, 0.5), 1, c(2, 3), NA), confidence = list(0.7, c(0.6, 0.9), 2),
  accuracy = list(0.7, c(0.5, 0.9), -1), variance = list(0, 0.002, -1), method = list(quote(method_kde(0.2)),
                                                                                      quote(method_bins()), "bins")
)

choice_call <- function(name) {
  defaults <- formals(get(name, asNamespace("calibrisk")))
  defaults <- defaults[names(defaults) != "..."]
  needed <- vapply(defaults, function(d) is.name(d) && !nzchar(as.character(d)), NA)
  given <- defaults[needed | names(defaults) == "times" | runif(length(defaults)) < 0.35]
  as.call(c(as.name(name), lapply(stats::setNames(nm = names(given)), function(argument) {
    named <- tryCatch(eval(defaults[[argument]]), error = function(cnd) NULL)
    values <- choice_values[[argument]]
    if (is.character(named) && length(named) > 1) values <- c(as.list(named), "none")
    if (is.null(values)) values <- list(1, 0.5, TRUE, -1)
    if (runif(1) < 0.9) pick(values[seq_len(length(values) - 1)]) else pick(values)
  })))
}

one_of <- function(prefix, without = character()) {
  names <- grep(paste0("^", prefix), getNamespaceExports("calibrisk"), value = TRUE)
  choice_call(pick(as.list(sort(setdiff(names, without)))))
}

one_of_computations <- function() pick(list("dual", "eigen", choice_call("computation")))

a_kernel <- function() {
  kernel <- one_of("kernel_", c("kernel_embedding", "kernel_mmd"))
  pick(list(kernel, kernel, call("+", kernel, quote(kernel_linear())), call("*", kernel, 0.5)))
}

# Laws of every family with parameters at their edges.
a_law <- function(n) {
  positive <- pick(list(rexp(n), rexp(n) + 0.1, rep(1e-6, n), 1e6 * rexp(n), numeric(n)))
  real <- pick(list(rnorm(n), numeric(n), 1e6 * rnorm(n), replace(rnorm(n), 1, NA)))
  pick(list(
    function() list(x = call("pred_beta", positive, rexp(n)), truth = runif(n)),
    function() list(x = call("pred_lognormal", real, positive), truth = rexp(n)),
    function() list(x = call("pred_negbin", positive, rexp(n)), truth = rpois(n, 1)),
    function() list(x = call("pred_t", pick(list(1, 2.5, 30)), real, positive), truth = rnorm(n)),
    function() list(x = call("pred_mixture", call("pred_normal", real, positive), call("pred_normal", 1, 1)),
                    truth = rnorm(n)),
    function() list(x = call("pred_mvnormal", matrix(rnorm(2 * n), n), diag(2)), truth = matrix(rnorm(2 * n), n)),
    function() list(x = call("pred_quantiles", t(apply(matrix(rnorm(3 * n), n), 1, sort)), c(0.1, 0.5, 0.9)),
                    truth = rnorm(n)),
    function() list(x = call("pred_categorical", matrix(c(0.2, 0.3, 0.5), n, 3, byrow = TRUE)),
                    truth = sample.int(3, n, TRUE))
  ))()
}

pair <- function(data) unname(data[c("x", "truth")])

# Calls by what they are of: each takes predictions (binary, classes or laws) and gives a call.
choices <- list(
  kernel = function(data) {
    verb <- pick(list(quote(skce), quote(ckce), quote(ce_test)))
    as.call(c(verb, pair(data), list(kernel = a_kernel())))
  },
  target = function(data) {
    as.call(c(quote(skce), pair(data), list(kernel = a_kernel(), target_kernel = a_kernel())))
  },
  mmd = function(data) as.call(c(quote(skce), pair(data), list(kernel = one_of("kernel_mmd")))),
  embedding = function(data) one_of("kernel_embedding"),
  computation = function(data) {
    verb <- pick(list(quote(ckce), quote(skce)))
    as.call(c(verb, pair(data), list(kernel = quote(kernel_gaussian(0.3)), computation = one_of_computations())))
  },
  curve = function(data) as.call(c(quote(ce_curve), pair(data), list(type = one_of("curve_")))),
  map = function(data) {
    map <- one_of("map_")
    if (runif(1) < 0.3) return(as.call(list(quote(ce_gain), data$x, map, data$truth)))
    as.call(c(quote(ce_recalibrate), pair(data), list(method = map)))
  },
  method = function(data) {
    method <- one_of("method_")
    if (runif(1) < 0.5) return(as.call(c(quote(ce_fit), pair(data), list(method = method))))
    as.call(c(quote(ce_tune), pair(data), list(methods = list(method, quote(method_bins(4))))))
  },
  test = function(data) as.call(c(quote(ce_test), pair(data), list(test = one_of("test_")))),
  score = function(data) {
    verb <- pick(list(quote(ce_score), quote(ce_decompose)))
    as.call(c(verb, pair(data), list(score = one_of("score_"))))
  },
  basis = function(data) {
    bases <- pick(list(quote(c(hats = 4)), quote(c(kernel = 5)), quote(c(hats = 1)), 3, "hats"))
    as.call(c(quote(ce_estimate), pair(data), list(bases = bases)))
  },
  law = function(data) {
    data <- a_law(NROW(data$x))
    verb <- pick(list(quote(ce_score), quote(ce_curve), quote(skce), quote(ce_moments), quote(ce_test),
                      quote(ce_coverage), quote(ckce), quote(ce_decompose), quote(ce_recalibrate), quote(format)))
    as.call(c(verb, if (identical(verb, quote(format))) list(data$x) else pair(data)))
  },
  pairs = function(data) {
    n <- min(NROW(data$x), 40)
    h <- pick(list(matrix(rnorm(n * n), n), quote(function(i, j) outer(i, j, "+")), matrix(NA_real_, n, n), diag(n),
                   "h"))
    as.call(list(quote(pair_risk), h, pick(list(rnorm(n), matrix(rnorm(2 * n), n), numeric(n), rnorm(n + 1)))))
  },
  methods = function(data) choice_call("ce_methods"),
  new_method = function(data) choice_call("new_method"),
  risk = function(data) {
    fit <- as.call(c(quote(ce_fit), pair(data), list(method = quote(method_kde(0.2)))))
    as.call(list(quote(ce_risk), fit, pick(list(data$x, other_model(data$x))), data$truth))
  },
  bound = function(data) as.call(c(quote(ce_score), pair(data), list(bound = TRUE))),
  database = function(data) {
    p <- if (is.numeric(data$x)) as.vector(data$x)[seq_along(data$truth)] else data$truth
    id <- seq_along(data$truth)
    rows <- data.frame(truth = data$truth, p = p, w = id %% 3, copies = as.integer(id %% 3), share = (id %% 7) / 3,
                       g = id %% 2, one = 1, fold = 2L + id %% 3L)
    rows$select <- sample(c("it's", "a\"b", NA, letters), length(id), TRUE)
    verb <- pick(list(quote(ece), quote(ce_estimate), quote(ce_tune), quote(update)))
    call <- as.call(c(list(verb, quote(tbl), quote(truth), quote(p)),
                      maybe(list(weights = pick(list(quote(w), quote(copies), quote(share), quote(one))))),
                      maybe(list(cluster = pick(list(quote(select), quote(g), quote(fold), quote(one))))),
                      maybe(list(.by = quote(g)))))
    if (identical(verb, quote(update))) {
      call$.by <- NULL
      call <- as.call(append(as.list(call), list(quote(ce_state())), 1))
      if (runif(1) < 0.5) call$in_database <- TRUE
    }
    substitute(local({
      con <- DBI::dbConnect(RSQLite::SQLite())
      on.exit(DBI::dbDisconnect(con))
      DBI::dbWriteTable(con, "rows", ROWS)
      tbl <- dplyr::tbl(con, "rows")
      CALL
    }), list(ROWS = rows, CALL = call))
  }
)
