# Runs every benchmark in a fresh R, from the project's root; each writes its own bench/<name>.md.
scripts <- setdiff(list.files("bench", "[.]R$", full.names = TRUE), file.path("bench", c("run.R", "setup.R")))
for (script in scripts) {
  message(script)
  status <- system2(file.path(R.home("bin"), "Rscript"), script)
  if (status != 0) stop(script, " failed.", call. = FALSE)
}
