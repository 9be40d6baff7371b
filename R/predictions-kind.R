# Errors for objects that are not predictions: their kind.

check_kind <- function(x) {
  if (is.numeric(x) && length(dim(x)) < 3) return(invisible(if (is.matrix(x)) x else plain_vector(x)))
  kind <- kind_of(x)
  stop_input(
    "{.arg x} must be a data frame, a numeric matrix (one row per observation, one column per class) or a numeric \\
     vector of probabilities.", "x" = "It is {kind}.",
    "i" = if (is_model(x)) "Predictions are given, not the model: {.fn ce_predictions} adds them to new data.",
    "i" = if (is_law(x)) "{.fn skce}, {.fn ce_test}, {.fn ce_score} and {.fn ce_curve} read distributions.",
    "i" = if (rlang::is_bare_list(x)) "{.fn ce_compare} takes a list of several models' predictions.",
    "i" = if (inherits(x, c("survey.design", "svyrep.design"))) "Its {.field variables} are a data frame; weights and \
           clusters are columns of it, given as {.arg weights} and {.arg cluster}.",
    "i" = if (inherits(x, c("mids", "mild"))) "Multiple imputations are not pooled: one completed data set is read at \
           a time, as a data frame.",
    "i" = if (is_path(x)) "{file_words}",
    class = "probs", arg = "x", value = x
  )
}

file_words <- "Files are read into a data frame first, by `read.csv()` or a package of their own, such as jsonlite."

kind_of <- function(x) {
  if (is.null(x)) return("NULL, as a column that does not exist")
  if (is_result(x)) return(paste0("a result of calibrisk (", class(x)[1], ")"))
  if (is_law(x)) return("a vector of predictive distributions")
  if (isS4(x) && inherits(x, "DBIConnection")) return("a connection to a database, not one of its tables")
  kind_of_values(x)
}

kind_of_values <- function(x) {
  if (is.factor(x)) return(paste0("a factor with the levels ", toString(utils::head(levels(x), 5))))
  if (is.matrix(x) && is.atomic(x)) return(paste("a matrix of type", typeof(x)))
  if (is.array(x) && length(dim(x)) > 2) return(paste("an array of", length(dim(x)), "dimensions"))
  if (rlang::is_bare_list(x)) return(paste("a list of", count_of(length(x), "element")))
  if (rlang::is_string(x)) return(paste("the text", describe(x)))
  if (is.function(x)) return("a function")
  if (is.atomic(x) && !is.object(x)) paste0("of type ", typeof(x), seen_text(x)) else paste("of class", class(x)[1])
}

# The name of a file that exists, or that ends as one.
is_path <- function(x) rlang::is_string(x) && (file.exists(x) || nzchar(tools::file_ext(x)))

# A pattern that all texts share, given instead of numbers.
seen_text <- function(x) {
  x <- if (is.factor(x)) levels(x) else if (is.character(x)) x[!is.na(x)]
  if (length(x) == 0) return("")
  paste0(", such as ", encodeString(substr(x[1], 1, 40), quote = "\""),
         if (all(grepl("[0-9] *%$", x))) ": all values end in %" else
           if (all(grepl("^[-+ 0-9]*(,[0-9]+)? *$", x)) && any(grepl(",", x))) ": the values have decimal commas")
}

# Is it what a function of the package returned?
is_result <- function(x) {
  inherits(x, c("ce_result", "ce_summary"))
}

is_model <- function(x) {
  of <- function(generic, class) utils::getS3method(generic, class, optional = TRUE)
  known <- function(class) !is.null(of("ce_predictions", class) %||% of("predict", class))
  is.object(x) && any(vapply(setdiff(class(x), c("list", "default")), known, NA))
}
