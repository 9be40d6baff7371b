#' Several models of the same rows
#'
#' Reads the predictions of several models once. The result is the `x` of every function that takes class probabilities,
#' whose result then has a column `model` in front: `ce_estimate(m)`, `ce_curve(m)`, `ce_validate(m)`, `ce_score(m)`,
#' `ece(m)`. It is also what [ce_compare()] and [ce_rank()] compare. `summary(m)` and `plot(m)` have all models on one
#' page, see [summary.ce_models()].
#'
#' @section Rows:
#' All models predict the same rows, which are paired by their position, or by `id`. A row that is incomplete for one
#' model is left out for all of them, and so is an `id` that a model lacks. The printed line counts both. Do not give
#' `truth`, `weights`, `cluster` and `horizon` again to functions of the result.
#' @section Outcomes of each model:
#' If predictions are confidences in a top label, and outcomes say whether it was right (`TRUE` or 1), then outcomes
#' differ between models. They may, in a list of data frames and in long data, and a message says that they do. Rows are
#' paired all the same. Compare such models by the accuracy (`metric = "error"`) and by calibration errors of the top
#' label. Do not compare them by scores or the AUROC: these are of another outcome for each model, and a network that is
#' always wrong and says so has a Brier score of 0.
#' @param x One of
#'   * a named list with the predictions of each model: matrices, vectors of probabilities or of distributions, or data
#'     frames with the same rows. In a data frame, the columns in `...` are read, or else the numeric ones that start
#'     with `.pred_` (all numeric ones if there are none);
#'   * a data frame with a column for every model, chosen by `...`;
#'   * a data frame in long form, with one row for each model and observation, and `model` and `id`.
#' @param truth The outcomes: a column, or a vector beside a list of matrices or vectors.
#' @param ... Columns of the predictions. If each column is a model, a name is that of the model: `full = .pred_1`.
#'   Expressions such as `pred_normal(mu, sigma)` are distributions.
#' @param model,id For long data: the column that names the model, and the one that says which rows belong together.
#'   Models are in the order in which they first appear.
#' @param .by Columns of groups: results have a row for each model and group. Comparisons take all rows and refuse them.
#' @param weights,cluster,horizon,event_level How rows and outcomes are read; see [ce_args].
#' @return A `ce_models`: a named list with the predictions of each model as they were read. Parts of it, such as
#'   `m[c("a", "b")]`, are `ce_models` too.
#' @section Errors:
#' Those of [ce_args]. In functions of the result, `calibrisk_error_models` for an argument that it has read already.
#' @concept several models
#' @concept checkpoints
#' @concept long data
#' @concept leaderboard
#' @export
#' @examples
#' long <- transform(letters_predictions, row = rep(1:10000, 3))
#' long <- long[long$row <= 500, ]
#' m <- ce_models(long, truth, starts_with(".pred_"), model = model, id = row)
#' m
#' ce_estimate(m)
#' ce_compare(m, metric = "brier")
#' long$part <- long$row <= 250
#' ce_estimate(ce_models(long, truth, starts_with(".pred_"), model = model, id = row, .by = part))
#'
#' # each network's confidence, and whether it was right
#' set.seed(1)
#' confidence <- list(a = runif(300, .5, 1), b = runif(300, .5, 1))
#' networks <- lapply(confidence, function(p) data.frame(p, correct = runif(300) < p^2))
#' ce_models(networks, correct)
ce_models <- function(x, truth, ..., model = NULL, id = NULL, .by = NULL, event_level = "first", weights = NULL,
                      cluster = NULL, horizon = NULL) {
  if (missing(x)) stop_no_predictions()
  check_has_rows(x)
  x <- read_table(x)
  settings <- list(design = design_input(enquo(weights), enquo(cluster), horizon, copies = TRUE), own = TRUE,
                   event_level = check_choice(event_level, c("first", "second")))
  truth <- enquo(truth)
  check_truth_given(truth)
  columns <- enquos(...)
  parts <- model_parts(x, enquo(model), enquo(id), columns)
  models <- said_once(if (!is.null(parts)) {
    # of data frames with the same rows, each with its outcomes
    align_events(each_direction(names(parts), function(name) in_model({
      law_or_classes(read_laws(parts[[name]], truth, columns, settings$event_level, TRUE, settings$design))
    }, name)))
  } else if (is.data.frame(x)) {
    column_models(x, truth, columns, settings)
  } else {
    list_models(x, truth, settings)
  }, "cluster")
  groups_of_models(new_models(models, attr(parts, "left_out") %||% 0L), enquo(.by), parts %||% list(x))
}

# A data frame for each model, of long data and of lists with columns that are selected; NULL for other input.
model_parts <- function(x, model, id, columns) {
  long <- is_given(model) || is_given(id)
  if (is.data.frame(x)) {
    stop_if(inherits(x, "grouped_df"), "{.arg x} must have no groups: all its rows are read at once.",
            "x" = "It is grouped by {.field {setdiff(names(attr(x, 'groups')), '.rows')}}.", class = "group", arg = "x")
    return(if (long) long_parts(ungroup_frame(x), model, id))
  }
  stop_if(!is_bare_list(x), "{.arg x} must be a list of predictions, or a data frame.",
          "x" = "It is {describe(x)}.", arg = "x")
  stop_if(long, "{.arg model} and {.arg id} are columns of a data frame in long form.",
          "x" = "{.arg x} is a list.", class = "columns", arg = "model")
  if (length(columns) == 0) return(NULL)
  names(x) <- list_names(x, rep("model", length(x)))
  x <- Map(function(part, name) in_model(read_results(part), name), x, names(x))
  other <- Find(Negate(is.data.frame), x)
  stop_if(!is.null(other), "{.arg ...} selects columns of data frames.", "x" = "A model is {describe(other)}.",
          class = "columns", arg = "...")
  x
}

# From long data: the rows of each model, those of the same `id` at the same place.
long_parts <- function(x, model, id) {
  keys <- list(model = model, id = id)
  keys <- Map(function(quo, arg) {
    column <- select_column(quo, x, arg)
    stop_if(is.null(column), "{.arg {arg}} must be given: long data need {.arg model} and {.arg id}.",
            "x" = "It is missing.", class = "columns", arg = arg)
    value <- x[[column]]
    check_text(value, arg)
    row <- which(is.na(value))[1]
    stop_if(!is.na(row), "{.arg {arg}} must not be missing.", "x" = "Row {row} is {.val {NA}}.",
            class = "columns", arg = arg, row = row)
    value
  }, keys, names(keys))
  name <- as.character(keys$model)
  code <- match(keys$id, unique(keys$id))
  rows <- split(seq_along(name), factor(name, unique(name)))
  pairs <- vctrs::new_data_frame(list(name = name, code = code))
  twice <- if (vctrs::vec_duplicate_any(pairs)) anyDuplicated(pairs) else 0
  stop_if(twice > 0, "A model must have one row for each {.arg id}.",
          "x" = "{.val {name[twice]}} has several of {.val {keys$id[twice]}}.", class = "columns", arg = "id",
          row = twice)
  common <- Reduce(intersect, lapply(rows, function(at) code[at]))
  left_out <- length(unique(code)) - length(common)
  if (nrow(x) > 0 && length(common) == 0) stop_empty(left_out)
  structure(lapply(rows, function(at) x[at[match(common, code[at])], ]), left_out = left_out)
}

# The rows that are complete for all models. `left_out`: how many of the input some model lacks.
new_models <- function(models, left_out = 0L) {
  check_two_models(models, "x")
  sizes <- vapply(models, function(one) one$n_input, 0L)
  other <- which(sizes != sizes[1])[1]
  stop_if(!is.na(other), "All models must have the same rows.",
          "x" = "Model {.val {names(models)[1]}} has {sizes[1]}, model {.val {names(models)[other]}} {sizes[other]}.",
          class = "length", arg = "x")
  common <- common_rows(models)
  n <- n_obs(common[[1]])
  if (n == 0) stop_empty(sizes[1])
  follow_up <- models[[1]]$design$follow_up
  stop_if(!is.null(follow_up) && n < max(vapply(models, n_obs, 1)),
          "With {.arg horizon}, predictions must be missing in the same rows for all models.",
          "x" = "{n} of {max(vapply(models, n_obs, 1))} rows are complete.",
          "i" = "Censoring weights are those of the rows that are read.", class = c("missing", "horizon"), arg = "x")
  check_same_design(common)
  # and those that another model lacks
  dropped <- models[[1]]$dropped + length(unique(models[[1]]$rows)) - length(unique(common[[1]]$rows))
  own <- own_outcomes(common)
  structure(lapply(common, function(one) {
    one[c("dropped", "left_out")] <- list(dropped, left_out)
    # that a label was right is no event
    if (own) one[c("notion", "event_level")] <- list("top_label", NULL)
    one
  }), class = "ce_models")
}

# Differences between models are means over the same weighted rows.
check_same_design <- function(models) {
  first <- models[[1]]$design
  differs <- lapply(models, function(one) {
    Filter(function(part) !isTRUE(all.equal(one$design[[part]], first[[part]], tolerance = 1e-8)),
           c("w", "copies", "cluster", "strata"))
  })
  other <- which(lengths(differs) > 0)[1]
  arg <- if (!is.na(other) && identical(differs[[other]], "cluster")) "cluster" else "weights"
  stop_if(!is.na(other), "All models must have the same {.arg {arg}}.",
          "x" = "Models {.val {names(models)[1]}} and {.val {names(models)[other]}} differ.",
          class = c("models", arg), arg = arg)
}

# Whether outcomes differ between models: each has its own, which say whether its top label was right.
own_outcomes <- function(models) {
  of <- function(one) if (is_real(one)) one$y else simplex_truth(one)
  other <- which(!vapply(models, function(one) identical(of(one), of(models[[1]])), NA))[1]
  if (is.na(other)) return(FALSE)
  right <- vapply(models, function(one) {
    is.null(one$probs) && list(one$levels) %in% list(c("0", "1"), c("FALSE", "TRUE"))
  }, NA)
  stop_if(!all(right) || is_real(models[[1]]), "All models must predict the same outcomes in the same order.",
          "x" = "Models {.val {names(models)[1]}} and {.val {names(models)[other]}} differ.",
          "i" = if (!is_real(models[[1]])) "Outcomes may differ if they say, by {.code TRUE} or 1, whether the top \\
                 label of each model was right.", class = "truth", arg = "truth")
  tell("i" = "Outcomes differ between the models: they are taken to say whether the top label of each was right.",
       class = "outcomes")
  TRUE
}

#' @export
`[.ce_models` <- function(x, i) {
  out <- unclass(x)[i]
  stop_if(length(out) == 0 || any(lengths(out) == 0), "There must be at least one model, and none that is unknown.",
          "x" = "The models are {.val {names(x)}}.", class = c("models", "argument"), arg = "i")
  structure(out, class = class(x), groups = attr(x, "groups"))
}

#' @export
print.ce_models <- function(x, ...) {
  cat("<ce_models> ", models_line(x), "\n", sep = "")
  print_lines(c(models_facts(x), paste0("Models: ", toString(names(x)), ".")))
  invisible(x)
}

models_line <- function(x) {
  paste0(count_of(length(x), "model"), " of the same ", count_of(entered_rows(x[[1]]$design), "row"))
}

# What the predictions are of, and how many rows were left out.
models_facts <- function(x) {
  one <- x[[1]]
  read <- read_facts(one)
  said <- if (is_real(one)) "Outcomes are numbers." else event_sentence(read$event)
  if (identical(one$notion, "top_label")) said <- "Outcomes say whether the top label of each model was right."
  if (n_classes(one) > 2) said <- paste0("Classes: ", n_classes(one), ".")
  c(said,
    design_sentence(list(one$design)), dropped_text(one$dropped),
    if (isTRUE(one$left_out > 0)) paste0(count_of(one$left_out, "row"), " that a model lacks ",
                                         if (one$left_out == 1) "was" else "were", " left out."))
}
