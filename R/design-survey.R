# Survey designs as data: their variables, whose rows count by their weights, with the clusters and strata of the first
# stage.

is_survey <- function(x) inherits(x, "survey.design")

# The design is a column with columns of its own, which are not predictions.
survey_column <- ".survey"

survey_frame <- function(x) {
  stop_if(!is.data.frame(x$variables), "A survey design must be of one phase, with its rows in memory.",
          "x" = "It is {.cls {class(x)[1]}}.", class = c("unsupported", "argument"), arg = "x")
  out <- x$variables
  ids <- x$cluster[[1]]
  design <- data.frame(weights = 1 / as.numeric(x$prob))
  if (anyDuplicated(ids) > 0) design$cluster <- vctrs::vec_group_id(ids)
  strata <- vctrs::vec_group_id(x$strata[[1]])
  if (max(strata) > 1) design[c("strata", "drawn")] <- list(c(strata), as.numeric(x$fpc$sampsize[, 1]))
  out[[survey_column]] <- design
  out
}

# The raw design of these rows, or NULL if they are those of no survey.
survey_design <- function(input, x) {
  design <- if (is.data.frame(x)) .subset2(x, survey_column)
  if (!is.data.frame(design)) return(NULL)
  given <- c("weights", "cluster")[c(is_given(input$weights), is_given(input$cluster))]
  stop_if(length(given) > 0, "A survey design has weights and clusters of its own.",
          "x" = "{.arg {given[1]}} is given.", class = "argument", arg = given[1])
  raw <- list(weights = check_weights(design$weights, FALSE), cluster = design$cluster, kind = "importance",
              copies = FALSE, strata = design$strata, drawn = design$drawn)
  raw[lengths(raw) > 0]
}
