# The recipes of CONTRIBUTING, followed: adds a toy metric, method, family, map and validation term to a copy of the
# sources, loads it with the core of the installed package, and checks that each has its number and is where the recipe
# says. Fails where it is not, and where a toy needs a file that its recipe does not name. A kernel is compiled:
# tests/core has its contract.
#
#   Rscript tools/recipes.R

source("tools/library.R")
# an installation that was up to date left no objects in src/
core <- file.path(writable_library(), "calibrisk", "libs", paste0("calibrisk", .Platform$dynlib.ext))
recipes <- strsplit(paste(readLines("CONTRIBUTING.md"), collapse = "\n"), "\n## ")[[1]]
copy <- file.path(tempfile("recipes-"), "calibrisk")
dir.create(copy, recursive = TRUE)
kept <- c("R", "src", "data", "inst", "NAMESPACE", "DESCRIPTION")
invisible(file.copy(kept, copy, recursive = TRUE, copy.date = TRUE))
invisible(file.copy(core, file.path(copy, "src"), overwrite = TRUE, copy.date = TRUE))
setwd(copy)

touched <- list()
kind <- NULL
touch <- function(file) touched[[kind]] <<- union(touched[[kind]], file)
# adds lines below the first one that has the text
add <- function(file, below, lines) {
  touch(file)
  code <- readLines(file)
  at <- grep(below, code, fixed = TRUE)
  if (length(at) == 0) stop(file, " has no line with ", below, call. = FALSE)
  writeLines(append(code, lines, at[1]), file)
}
create <- function(file, lines) {
  touch(file)
  writeLines(lines, file)
}
# what `make document` writes
document <- function(lines) write(lines, "NAMESPACE", append = TRUE)
s3 <- function(generic, class) document(sprintf("S3method(%s,%s)", generic, class))

kind <- "metric"
create("R/metric-toy.R", '
toy <- new_metric("toy", function(x, truth, ..., level = 0.95, .by = NULL, event_level = "first", na_rm = TRUE,
                                  weights = NULL, cluster = NULL, horizon = NULL) {
  metric_frame(x, rows_input(quote_dots, copies = TRUE), "toy", function(predictions) {
    problem <- notion_problems(predictions, "binary")[[1]]
    c(summarise_estimates(list(toy_estimate(problem)), level), list(n = n_obs(predictions)))
  }, choices = list(notion = "binary", level = level))
})
toy_estimate <- function(problem) mean_estimate(abs(problem$residuals[, 1]), problem$design)')
add("R/metric-facts.R", "  smooth_ece ", "  toy               | toy error                |       |      |       |")
add("R/metric-panel.R", "  all <- list(", '    entry("toy", "absolute residuals", toy_estimate, "rows"),')
document("export(toy)")

kind <- "method"
create("R/method-toy.R", '
method_toy <- function(weight = NULL) new_method("toy", "weight", weight)
default_grid.ce_method_toy <- function(method, notion, n) c(0, 0.5, 1)
fit_form.ce_method_toy <- function(method, problem, point, context) {
  new_form("toy", level = point$value * mean(problem$residuals), gap = TRUE)
}
pair_features.ce_form_toy <- function(form, features) matrix(form$level, nrow(features), 1)')
add("R/tune-methods.R", "  notion <- check_notion(notion)",
    '  if (identical(notion, "binary")) return(list(toy = method_toy()))')
document("export(method_toy)")
s3(c("default_grid", "fit_form", "pair_features"), c("ce_method_toy", "ce_method_toy", "ce_form_toy"))

kind <- "family"
create("R/family-toy.R", '
pred_toy <- function(scale) make_distribution(family_toy, list(scale = scale))
family_toy <- family_record(
  "toy", list(scale = c(0, Inf)), moments = NULL, cdf = function(y, scale) stats::pweibull(y, 2, scale),
  quantile = function(u, scale) stats::qweibull(u, 2, scale), draw = NULL, density = NULL, support = "positive"
)')
add("R/law-families.R", "for (one in mget", '  "toy",')
document("export(pred_toy)")

kind <- "map"
create("R/recal-toy.R", '
map_toy <- function(by = 1) new_choice("map", "toy", by = by)
fit_scalar.map_toy <- function(method, p, log_p, log_q, outcome, design) {
  new_map_fit(new_map("toy", by = method$by), map_terms("by", method$by), injective = injectivity(TRUE, "a shift"))
}
map_scalar.ce_map_toy <- function(map, p, log_p, log_q) stats::plogis(log_p - log_q + map$by)')
document("export(map_toy)")
s3(c("fit_scalar", "map_scalar"), c("map_toy", "ce_map_toy"))

kind <- "validation term"
add("R/validate-terms.R", "  log_loss <- -ifelse", "  largest <- row_mean(pmax(p, 1 - p), design)")
add("R/validate-terms.R", '    row("brier", brier, squared),', '    row("toy_term", largest, pmax(p, 1 - p)),')
add("R/metric-facts.R", "  net_benefit ", "  toy_term          | mean confidence          |       |      |       |")

for (kind in names(touched)) {
  recipe <- grep(paste0("^A new ", kind, "\n"), recipes, value = TRUE)
  named <- gsub("toy", "<name>", touched[[kind]], fixed = TRUE)
  lost <- named[!vapply(named, grepl, NA, x = paste(recipe, collapse = ""), fixed = TRUE)]
  if (length(lost) > 0) stop("The recipe of a ", kind, " does not name ", toString(lost), call. = FALSE)
}
pkgload::load_all(".", compile = FALSE, quiet = TRUE, helpers = FALSE, export_all = FALSE)

p <- (1:40) / 41
y <- rep(c(0, 1, 1, 0, 1), 8)
shown <- function(x) gsub("\\s+", " ", paste(utils::capture.output(print(x)), collapse = " "))
has <- function(x, text) grepl(text, shown(x), fixed = TRUE)
error <- mean(abs(p - y))
compared <- ce_compare(list(a = p, b = p^2), y, metric = "toy")
panel <- ce_panel(p, y)
validation <- ce_validate(p, y, times = 0)
terms <- tidy(validation)
tuned <- ce_tune(p, y, notion = "binary", folds = rep(1:2, 20), test = 0)
gains <- ce_gain(p, c("platt", "toy"), y)
same <- function(a, b) isTRUE(all.equal(a, b, check.attributes = FALSE, tolerance = 1e-6))
integral <- stats::integrate(function(t) (stats::pweibull(t, 2, 3) - (t >= 2))^2, 0, Inf, rel.tol = 1e-9)$value
checks <- list(
  metric = c(number = same(toy(p, y)$.estimate, error), tidy = same(tidy(toy(p, y))$estimate, error),
             `by name` = same(compared$difference, error - mean(abs(p^2 - y))), error = compared$std.error > 0,
             panel = same(panel$.estimate[panel$.metric == "toy"], error),
             words = has(summary(ce_models(list(a = p, b = p^2), y), metric = "toy"), "toy error")),
  method = c(number = same(predict(ce_fit(p, y, method = method_toy(0.5)), 0.3, type = "gap"), 0.5 * mean(p - y)),
             `among methods` = names(ce_methods("binary")) == "toy", tuned = identical(glance(tuned)$method, "toy"),
             grid = setequal(tidy(tuned)$value, c(0, 0.5, 1)), print = has(method_toy(2), "weight = 2")),
  family = c(mean = same(ce_moments(pred_toy(3), 2)$estimate[1], 3 * sqrt(pi) / 2 - 2),
             print = has(pred_toy(3), "toy(3)"),
             score = same(ce_score(pred_toy(3), 2, score = "crps")$.estimate, integral),
             `by its name` = is.null(attr(pred_toy(3), "record"))),
  map = c(number = same(predict(ce_recalibrate(p, y, method = map_toy(2)), 0.3), 1 / (1 + 7 / 3 * exp(-2))),
          `by name` = same(ce_recalibrate(p, y, method = "toy")$terms$estimate, 1), gain = "toy" %in% gains$map,
          print = has(map_toy(2), "map_toy(by = 2)")),
  `validation term` = c(number = same(terms$estimate[terms$term == "toy_term"], mean(pmax(p, 1 - p))),
                        print = has(validation, "mean confidence 0.7"),
                        table = any(grepl("mean confidence", ce_kable(validation, format = "pipe"))))
)
for (kind in names(checks)) {
  failed <- names(checks[[kind]])[!checks[[kind]] %in% TRUE]
  cat(sprintf("%-16s %d files of R/: %s\n", kind, length(touched[[kind]]),
              if (length(failed) == 0) "works" else paste("fails:", toString(failed))))
}
quit(status = if (all(unlist(checks) %in% TRUE)) 0 else 1)
