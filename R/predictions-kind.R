# Errors for objects that are not predictions: their kind.

check_kind <- function(x, arg = "x") {
  if (is.numeric(x) && length(dim(x)) < 3) return(invisible(if (is.matrix(x)) x else plain_vector(x)))
  check_text(x, arg)
  elsewhere <- arg == "data" || is_source(x) || is_bare_list(x) && any(vapply(x, is_source, NA))
  hint <- if (elsewhere) "`ce_source()` reads files, tables and pieces for `update()` of a state." else kind_hint(x)
  stop_input(
    "{.arg {arg}} must be a data frame, a numeric matrix (one row per observation, one column per class) or a numeric \\
     vector of probabilities.", "x" = "It is {kind_of(x)}.", "i" = if (!is.null(hint)) "{hint}",
    class = c("source"[elsewhere], "probs"), arg = arg, value = x
  )
}

# Rows that are elsewhere.
is_source <- function(x) {
  files <- is.character(x) && is.null(dim(x)) && length(x) > 0 && all(file.exists(x))
  files || inherits(x, c("ce_source", "tbl_lazy", "DBIConnection"))
}

# How the fields of a file are separated, and the decimal mark: by its first lines.
text_format <- function(file) {
  con <- base::file(file, "r") # decompresses
  on.exit(close(con))
  lines <- suppressWarnings(readLines(con, 1000))
  bare <- gsub("\"[^\"]*\"", "", lines[1], useBytes = TRUE)
  semicolons <- isTRUE(grepl(";", bare, useBytes = TRUE)) && !grepl(",", bare, useBytes = TRUE)
  if (!semicolons) return(list(sep = ",", dec = "."))
  commas <- grepl("(^|;)\"?[-+]?[0-9]*,[0-9]+([eE][-+]?[0-9]+)?\"?(;|$)", lines[-1], useBytes = TRUE)
  list(sep = ";", dec = if (any(commas)) "," else ".")
}

law_readers <- "`ce_test()`, `ce_coverage()`, `ce_score()`, `ce_curve()` and `skce()` read distributions."

kind_hint <- function(x) {
  if (inherits(x, c("mids", "mild"))) return("It holds several completed data sets: `ce_pool()` takes their results.")
  if (inherits(x, "svyrep.design")) {
    return("Replicate weights are not read; `svydesign()` of the same rows is, with weights and clusters.")
  }
  if (is_law(x)) return(law_readers)
  if (is_model(x)) return("Predictions are given, not the model: `ce_predictions()` adds them to new data.")
  if (is_bare_list(x)) "`ce_models()` reads a list of several models' predictions."
}

kind_of <- function(x) {
  if (is.null(x)) return("NULL, as a column that does not exist")
  if (is_result(x)) return(paste0("a result of calibrisk (", class(x)[1], ")"))
  if (is_law(x)) return("a vector of predictive distributions")
  if (is.factor(x)) return(paste0("a factor with the levels ", toString(utils::head(levels(x), 5))))
  if (is.array(x)) return(paste0("an array of type ", typeof(x), " and ", length(dim(x)), " dimensions"))
  if (is.atomic(x) && !is.object(x) && length(x) != 1) return(paste0("of type ", typeof(x), seen_text(x)))
  if (is.object(x)) paste("of class", class(x)[1]) else if (is.character(x)) text_kind(x) else describe(x)
}

text_kind <- function(x) {
  if (!is_source(x)) return(paste("the text", describe(x)))
  paste0("the path of a ", if (dir.exists(x)) "folder, " else "file, ", encodeString(x, quote = "\""))
}

# A pattern that all texts share, given instead of numbers.
seen_text <- function(x) {
  x <- if (is.factor(x)) levels(x) else if (is.character(x)) x[!is.na(x)]
  if (length(x) == 0) return("")
  shared <- if (all(grepl("[0-9] *%$", x))) {
    ": all values end in %, for `pred_confidence(scale = \"percent\")`"
  } else if (all(grepl("^[-+ 0-9]*(,[0-9]+)? *$", x)) && any(grepl(",", x))) {
    ": the values have decimal commas, which `pred_confidence()` reads"
  }
  paste0(", such as ", encodeString(substr(x[1], 1, 40), quote = "\""), shared)
}

# Is it what a function of the package returned?
is_result <- function(x) inherits(x, "ce_result")

is_model <- function(x) {
  of <- function(generic, class) utils::getS3method(generic, class, optional = TRUE)
  known <- function(class) !is.null(of("ce_predictions", class) %||% of("predict", class))
  is.object(x) && any(vapply(setdiff(class(x), c("list", "default")), known, NA))
}
