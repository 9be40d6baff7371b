# src/Makevars is generated from the includes of src/: a list out of date leaves old objects.
# Runs where the tests stand in the project; an installed package has no sources.
project <- test_path("..", "..")
skip_if_not(file.exists(file.path(project, "tools", "dependencies.R")), "the project's sources")

test_that("the rules of make name the headers that each unit includes", {
  tools <- new.env()
  sys.source(file.path(project, "tools", "dependencies.R"), tools)
  src <- file.path(project, "src")
  makevars <- readLines(file.path(src, "Makevars"))
  expect_identical(makevars, c(tools$makevars_flags(src), tools$dependency_rules(src)))
})

test_that("the rules know headers that are included by headers only", {
  tools <- new.env()
  sys.source(file.path(project, "tools", "dependencies.R"), tools)
  src <- file.path(withr::local_tempdir(), "src")
  core <- file.path(src, "..", "inst", "include", "calibrisk")
  dir.create(src)
  dir.create(core, recursive = TRUE)
  writeLines(c("#include <vector>", '#include "host.h"'), file.path(src, "a.cpp"))
  writeLines("#include <calibrisk/outer.h>", file.path(src, "host.h"))
  writeLines("#include <calibrisk/inner.h>", file.path(core, "outer.h"))
  writeLines("#include <cmath>", file.path(core, "inner.h"))
  writeLines("int b;", file.path(src, "b.cpp"))
  rules <- tools$dependency_rules(src)[-1]
  expect_identical(rules, c(
    "all: $(SHLIB)", "a.o: \\", "  ../inst/include/calibrisk/inner.h \\",
    "  ../inst/include/calibrisk/outer.h \\", "  host.h"
  ))
})
