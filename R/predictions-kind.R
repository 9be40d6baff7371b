# Errors for objects that are not predictions: their kind, and the line that makes predictions of them.

check_kind <- function(x, call) {
  if (is.numeric(x) && (is.matrix(x) || is.null(dim(x)))) return(invisible(x))
  if (inherits(x, "formula")) check_no_formula(call)
  kind <- escape_braces(kind_of(x))
  stop_input(
    "{.arg x} must be a data frame, a numeric matrix (one row per observation, one column per class) or a numeric \\
     vector of probabilities.", "x" = paste0("It is ", kind, "."), kind_remedy(x, call), class = "probs", arg = "x",
    value = x, call = call
  )
}

kind_of <- function(x) {
  if (is.null(x)) return("NULL")
  for (kind in known_kinds) if (kind$is(x)) return(kind$words(x))
  if (is.atomic(x) && !is.object(x)) paste("of type", typeof(x)) else paste("of class", class(x)[1])
}

kind_remedy <- function(x, call) {
  if (is.null(x)) return(remedy("A column that does not exist is NULL: check the spelling after {.code $}"))
  for (kind in known_kinds) if (kind$is(x)) return(kind$remedy(x, call))
  if (length(dim(x)) == 2) {
    return(remedy("Make it a matrix", mended_predictions(call, function(x) call("as.matrix", x))))
  }
  if (is.object(x) && (is.list(x) || isS4(x))) return(model_remedy(x, call))
  predictions_remedy()
}

# Is it what a function of the package returned?
is_result <- function(x) {
  inherits(x, c("ce_table", "ce_result", "ce_summary", "ce_curve", "ce_decision", "ce_fit", "ce_gain", "ce_grouped",
                "ce_hierarchy", "ce_monitor", "ce_rank", "ce_recalibration", "ce_test", "ce_tune", "ce_validation"))
}

# Kinds of objects that users may give, with their descriptions and remedies. The first that fits is used.
known_kinds <- list(
  list(is = is_result, words = function(x) paste0("a result of calibrisk (", class(x)[1], ")"),
       remedy = function(x, call) remedy("Give the predictions and outcomes from which it was computed")),
  list(is = function(x) is_law(x), words = function(x) "a vector of predictive distributions",
       remedy = function(x, call) law_remedy(call)),
  list(is = function(x) isS4(x) && inherits(x, "DBIConnection"), words = function(x) "a connection to a database",
       remedy = function(x, call) {
         tables <- tryCatch(DBI::dbListTables(x), error = function(e) character())
         if (length(tables) == 0) return(NULL)
         remedy("Name the table", mended_predictions(call, function(x) call("ce_database", x, tables[1])))
       }),
  list(is = function(x) is.factor(x),
       words = function(x) paste0("a factor with the levels ", toString(utils::head(levels(x), 5))),
       remedy = function(x, call) factor_remedy(x, call)),
  list(is = function(x) is.matrix(x) && is.atomic(x), words = function(x) paste("a matrix of type", typeof(x)),
       remedy = function(x, call) {
         remedy("Make it numeric", mended_predictions(call, function(x) call("apply", x, 2, quote(as.numeric))))
       }),
  list(is = function(x) is.array(x) && length(dim(x)) > 2,
       words = function(x) paste("an array of", length(dim(x)), "dimensions"),
       remedy = function(x, call) c("i" = "Classes are columns: {.code matrix(x, nrow(x))} binds the slices.")),
  list(is = function(x) rlang::is_bare_list(x), words = function(x) paste("a list of", count_of(length(x), "element")),
       remedy = function(x, call) list_remedy(x, call)),
  list(is = function(x) is.character(x) && is.null(dim(x)),
       words = function(x) if (length(x) == 1) paste0("the text \"", substr(x, 1, 60), "\"") else "of type character",
       remedy = function(x, call) text_remedy(x, call)),
  list(is = function(x) is.logical(x), words = function(x) "of type logical", remedy = function(x, call) {
    remedy("Give the predicted probabilities. Decisions count as probabilities of 0 and 1 after",
           mended_predictions(call, function(x) call("as.numeric", x)) %||% "as.numeric(x)")
  }),
  list(is = is.function, words = function(x) "a function", remedy = function(x, call) predictions_remedy())
)

law_remedy <- function(call) {
  if (verb_text(call) == "`ce_recalibrate()`") {
    return(remedy("Maps of distributions are \"variance\", of normal ones, and temperature scaling of draws",
                  mended_line(call, drop = "method")))
  }
  text <- "This function reads class probabilities. {.fn skce}, {.fn ce_test}, {.fn ce_score} and {.fn ce_curve} read \\
           distributions"
  remedy(text, mended_line(call, only = c("x", "truth", ""), verb = "skce"))
}

# A file, numbers as text, or classes.
text_remedy <- function(x, call) {
  reader <- if (rlang::is_string(x)) file_reader(x)
  if (!is.null(reader)) {
    read <- mended_predictions(call, function(x) as.call(list(str2lang(reader), x)))
    return(remedy("Read the file", read %||% paste0(reader, "(\"", x, "\")")))
  }
  known <- x[!is.na(x)]
  if (length(known) > 0 && !anyNA(suppressWarnings(as.numeric(known)))) {
    return(remedy("Make it numeric", mended_predictions(call, function(x) call("as.numeric", x))))
  }
  if (length(known) > 0 && all(grepl("^[0-9.]+ ?%$", known))) {
    number <- function(x) call("/", call("as.numeric", call("sub", "%", "", x)), 100)
    return(remedy("Make it numeric", mended_predictions(call, number)))
  }
  remedy("Give the predicted probabilities, not the predicted classes")
}

file_reader <- function(path) {
  readers <- c(csv = "read.csv", tsv = "read.delim", txt = "read.table", rds = "readRDS",
               parquet = "arrow::read_parquet", feather = "arrow::read_feather", xlsx = "readxl::read_excel")
  found <- readers[tolower(sub(".*[.]", "", path))]
  if (!is.na(found)) unname(found)
}

# Numbers as levels, outcomes before predictions, or predicted classes.
factor_remedy <- function(x, call) {
  numbers <- suppressWarnings(as.numeric(levels(x)))
  if (nlevels(x) > 2 && !anyNA(numbers) && all(numbers >= 0 & numbers <= 1)) {
    return(remedy("Make it numeric",
                  mended_predictions(call, function(x) call("as.numeric", call("as.character", x)))))
  }
  if (!is.numeric(typed_value("truth", call))) {
    return(remedy("Give the predicted probabilities, not the predicted classes"))
  }
  remedy("Predictions come first, outcomes second", swapped_line(call))
}

# Models, columns of a data frame or of classes, or predictions of several models.
list_remedy <- function(x, call) {
  if (length(x) == 0) return(NULL)
  if (all(vapply(x, is_model, NA))) return(model_remedy(x, call))
  one_length <- length(unique(lengths(x))) == 1
  numbers <- vapply(x, function(part) is.numeric(part) && is.null(dim(part)), NA)
  if (one_length && !all(numbers) && all(vapply(x, is.atomic, NA)) && all(nzchar(rlang::names2(x)))) {
    return(remedy("Make it a data frame", mended_predictions(call, function(x) call("as.data.frame", x))))
  }
  if (all(numbers)) return(vectors_remedy(x, one_length, call))
  compared_remedy(call)
}

compared_remedy <- function(call) {
  remedy("Predictions of several models are compared by", mended_line(
    call, list(metric = quote(ece)), only = c("x", "truth"), verb = "ce_compare"
  ) %||% "ce_compare(models, truth, metric = ece)")
}

vectors_remedy <- function(x, one_length, call) {
  if (!one_length || length(x[[1]]) < 2 || length(x[[1]]) != NROW(typed_value("truth", call) %||% x[[1]])) {
    return(remedy("Give one vector for all rows; {.arg .by} groups the rows of a data frame"))
  }
  sums <- Reduce(`+`, x)
  if (isTRUE(any(abs(sums - 1) > 0.05)) && isTRUE(all(unlist(x) <= 1))) return(compared_remedy(call))
  remedy("Bind columns of classes", mended_predictions(call, function(x) call("do.call", quote(cbind), x)))
}

is_model <- function(x) {
  known <- function(class) !is.null(utils::getS3method("ce_predictions", class, optional = TRUE))
  is.object(x) && any(vapply(setdiff(class(x), c("list", "default")), known, NA))
}

# `f(model, newdata, truth)`, or beside outcomes.
model_remedy <- function(x, call) {
  typed <- typed_call(call)
  text <- if (rlang::is_bare_list(x) || is_model(x)) {
    "Add the predictions of the model to new data"
  } else {
    "A model that {.fn ce_predictions} does not know: add its predictions to the data, named {.code .pred_<level>}"
  }
  verb <- if (rlang::is_bare_list(x)) "ce_compare"
  columns <- typed$args[typed$places[names(typed$places) == ""]]
  if (length(columns) == 0) return(remedy(text, "ce_predictions(model, newdata)"))
  predicted <- call("ce_predictions", typed_argument(typed, "x"), typed_argument(typed, "truth"))
  set <- c(list(x = predicted, truth = columns[[1]]), if (!is.null(verb)) list(metric = quote(ece)))
  remedy(text, mended_line(call, set, drop = "", verb = verb))
}
