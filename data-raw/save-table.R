# What the vignettes read instead of computing it: tables with six digits.
folder <- "vignettes/precomputed"
dir.create(folder, showWarnings = FALSE)
save_table <- function(x, name) {
  numbers <- vapply(x, is.numeric, NA)
  x[numbers] <- lapply(x[numbers], signif, 6)
  utils::write.csv(x, file.path(folder, paste0(name, ".csv")), row.names = FALSE)
}
