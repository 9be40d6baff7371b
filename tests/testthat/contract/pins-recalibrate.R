# Recalibration maps: parameters, objectives, predictions. Newton's and other iterations end at a tolerance.

local({
  classes <- c("temperature", "vector", "matrix", "ets", "diag", "dirichlet", "beta", "platt", "isotonic", "histogram",
               "constant_confidence", "label_frequency")
  iterated <- c("temperature", "vector", "matrix", "ets", "diag", "dirichlet", "beta", "platt")
  new <- list(three = three$p[91:150, ], five = five$p[91:150, ], coarse = coarse$p[91:120], fine = fine$p[101:160])
  fits <- function(name, method, ...) {
    data <- get(name)
    rows <- setdiff(seq_along(data$y), seq_along(data$y)[-(1:(length(data$y) - NROW(new[[name]])))])
    x <- if (is.matrix(data$p)) data$p[rows, ] else data$p[rows]
    suppressWarnings(ce_recalibrate(x, data$y[rows], method = method, ...))
  }
  pin_map <- function(at, map, new, why) {
    if (why != "network") pin(paste0(at, "/tidy"), tidy(map), why)
    pin(paste0(at, "/glance"), glance(map)[c("objective_before", "objective_after", "objective_crossfit", "n",
                                            "n_parameters", "converged", "injective")], why)
    pin(paste0(at, "/predict"), predict(map, new), why)
  }
  map_of <- function(name, options) {
    if (length(options) == 0) return(name)
    do.call(get(paste0("map_", name), asNamespace("calibrisk")), Filter(Negate(is.null), as.list(options)))
  }
  for (method in classes) {
    why <- if (method == "diag") "network" else if (method %in% iterated) "iterated" else "exact"
    for (name in c("three", "coarse", "fine")) {
      if (name != "three" && method %in% c("diag", "matrix", "dirichlet")) next
      options <- if (method == "diag") list(hidden = c(4, 4)) else
        if (method %in% c("vector", "matrix", "beta", "platt")) list(penalty = 0.05)
      at <- paste("ce_recalibrate", name, method, sep = "/")
      pin_map(at, withr::with_seed(1, fits(name, map_of(method, options))), new[[name]], why)
    }
    if (!method %in% c("beta", "platt", "isotonic", "histogram", "diag", "matrix")) {
      map <- map_of(method, list(loss = "brier", penalty = if (method == "vector") 0.05))
      pin_map(paste0("ce_recalibrate/brier/", method), withr::with_seed(1, fits("three", map)), new$three, why)
    }
  }
  pin_map("ce_recalibrate/five/temperature", fits("five", map_temperature()), new$five, "iterated")
  pin_map("ce_recalibrate/five/histogram", fits("five", map_histogram(4, "width")), new$five, "exact")
  pin_map("ce_recalibrate/five/isotonic", fits("five", "isotonic"), new$five, "exact")
  pin_map("ce_recalibrate/floor", fits("coarse", "temperature", floor = 1e-3), new$coarse, "iterated")
  pin_map("ce_recalibrate/range", fits("fine", map_temperature(range = c(0.9, 1.1))), new$fine, "iterated")
  for (model in c("none", "intercept", "slope", "flexible")) {
    pin_map(paste0("ce_recalibrate/update/", model), fits("fine", map_update(model, df = 2)), new$fine, "iterated")
  }
  pin_map("ce_recalibrate/update/three", fits("three", map_update(alpha = 0.5)), new$three, "iterated")
  logits <- log(three$p + 0.001)
  pin_map("ce_recalibrate/logits", ce_recalibrate(logits[1:90, ], three$y[1:90], logits = TRUE), logits[91:150, ],
          "iterated")
  folded <- ce_recalibrate(fine$p, fine$y, method = "isotonic", folds = rep(1:4, 40))
  pin("ce_recalibrate/folds/fitted", predict(folded))
  pin("ce_recalibrate/folds/glance", glance(folded)[c("objective_before", "objective_after", "objective_crossfit")])
  grouped <- ce_recalibrate(fine$frame, y, prob, method = map_histogram(n_bins = 3), .by = group)
  pin("ce_recalibrate/groups/tidy", tidy(grouped))
  pin("ce_recalibrate/groups/predict", predict(grouped$results[[2]], fine$frame["prob"]))
  map <- ce_recalibrate(fine$frame[1:100, ], y, prob, method = "histogram")
  pin("augment/ce_recalibration", augment(map, fine$frame[101:160, ])$.recal)

  x <- cbind(mean = real$mean, variance = real$sd^2)
  map <- ce_recalibrate(x[1:30, ], real$y[1:30], method = "variance")
  pin("ce_recalibrate/variance/tidy", tidy(map), "iterated")
  pin("ce_recalibrate/variance/glance", glance(map)[c("objective_before", "objective_after", "converged")], "iterated")
  pin("ce_recalibrate/variance/predict", predict(map, x[31:48, ]), "iterated")
  pin("ce_moments/map", ce_moments(x[31:48, ], real$y[31:48], after = map), "iterated")

  values <- list(ets = map_ets("log"), vector = map_vector("brier", c(0.05, 0)), matrix = map_matrix(penalty = 0.1),
                 dirichlet = map_dirichlet(penalty = c(0.1, 0.2)), diag = map_diag(hidden = 3, penalty = 0.01),
                 beta = map_beta(0.1), platt = map_platt(c(0.1, 0)), confidence = map_constant_confidence("log"),
                 frequency = map_label_frequency("log"))
  for (name in names(values)) {
    map <- suppressWarnings(ce_recalibrate(three$p[1:90, ], three$y[1:90], method = values[[name]]))
    pin(paste0("ce_recalibrate/value/", name), glance(map)$objective_after,
        if (name == "diag") "network" else "iterated")
  }
})
