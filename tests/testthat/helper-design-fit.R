# Verbs that give a table: of the same data frame.
design_verbs <- list(
  estimate = function(...) plain_frame(ce_estimate(...))
)

# Without what print() says of the rows.
plain_frame <- function(x) {
  attributes(x)[c("design", "dropped", "level")] <- NULL
  x
}
