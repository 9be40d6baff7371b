# Choices as values: what holds for tests, curves and maps alike.

kinds <- list(
  test = list(by_name = function(choice) as_choice(choice, "test", "test"), has = "bootstrap"),
  curve = list(by_name = function(choice) as_choice(choice, "curve", "type"), has = "smooth"),
  map = list(by_name = function(choice) as_choice(choice, "map", "method"), has = "beta")
)

test_that("a name is the choice with its defaults, and a choice is itself", {
  for (kind in names(kinds)) {
    for (name in made_choices(kind)) {
      default <- getExportedValue("calibrisk", paste0(kind, "_", name))()
      expect_identical(kinds[[kind]]$by_name(name), default)
      expect_identical(kinds[[kind]]$by_name(default), default)
    }
  }
})

test_that("a choice without options is its name, and prints as it", {
  for (kind in setdiff(names(by_name), "computation")) {
    for (name in by_name[[kind]]) {
      expect_identical(eval(str2lang(format(as_choice(name, kind)))), name)
      expect_false(is_exported(paste0(kind, "_", name)))
    }
  }
  makers <- grep("^score_", getNamespaceExports("calibrisk"), value = TRUE)
  expect_setequal(makers, c("score_dss", "score_log"))
  for (name in names(score_makers)) {
    typed <- eval(str2lang(format(as_score(name))), asNamespace("calibrisk"))
    expect_equal(as_score(typed)$name, name)
  }
  expect_setequal(choice_names("computation"), c("auto", "dual", "eigen", "low_rank", "rff"))
  expect_identical(as_choice("rff", "computation"), computation("rff"))
  expect_identical(eval(str2lang(format(computation("rff", n_features = 3)))), computation("rff", n_features = 3))
  expect_error(as_choice("eign", "computation"), "eigen", class = "calibrisk_error_argument")
})

test_that("choices of another kind, unknown names and constructors that were not called are errors", {
  for (kind in names(kinds)) {
    wrong <- list("no such choice", 1, NULL, method_bins(), c("a", "b"))
    by_name <- kinds[[kind]]$by_name
    for (value in wrong) expect_error(by_name(value), "must be one of", class = "calibrisk_error_argument")
    constructor <- getExportedValue("calibrisk", paste0(kind, "_", kinds[[kind]]$has))
    expect_error(by_name(constructor), "It is a function", class = "calibrisk_error_argument")
  }
})

test_that("a choice prints as the call that makes it", {
  for (kind in names(kinds)) {
    for (name in made_choices(kind)) {
      choice <- choice_constructor(kind, name)()
      expect_identical(eval(str2lang(format(choice))), choice)
      expect_output(print(choice), paste0("<ce_choice> ", format(choice)), fixed = TRUE)
    }
  }
  expect_identical(format(test_cme(locations = list(x = diag(2), truth = 1:2), reference = "f")),
                   "test_cme(locations = <list>, reference = \"f\", times = 1000, add_one = TRUE)")
})

test_that("errors of options name the function that has them", {
  cnd <- expect_error(test_block(block = 1), class = "calibrisk_error_argument")
  expect_identical(as.character(cnd$call[[1]]), "test_block")
})
