# What articles and vignettes read instead of computing it: tables with six digits.
folder <- "vignettes/articles/precomputed"
save_table <- function(x, name) {
  dir.create(folder, showWarnings = FALSE)
  numbers <- vapply(x, is.numeric, NA)
  x[numbers] <- lapply(x[numbers], signif, 6)
  utils::write.csv(x, file.path(folder, paste0(name, ".csv")), row.names = FALSE)
}
