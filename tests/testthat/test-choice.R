# Choices as values: what holds for tests, curves and maps alike.

kinds <- list(
  test = list(by_name = function(choice, ...) as_choice(choice, "test", list(...), "test"),
              option = list(replicates = 50), has = "bootstrap"),
  curve = list(by_name = function(choice, ...) as_choice(choice, "curve", list(...), "type"),
               option = list(bandwidth = 0.5), has = "smooth"),
  map = list(by_name = function(choice, ...) as_choice(choice, "map", list(...), "method"),
             option = list(penalty = 0.5), has = "beta"),
  computation = list(by_name = function(choice, ...) as_choice(choice, "computation", list(...), "computation"),
                     option = list(tolerance = 0.1), has = "low_rank")
)

test_that("a name with options is the value with these options, and options of the verb go before the value's", {
  for (kind in names(kinds)) {
    k <- kinds[[kind]]
    constructor <- getExportedValue("calibrisk", paste0(kind, "_", k$has))
    expect_identical(do.call(k$by_name, c(k$has, k$option)), do.call(constructor, k$option))
    expect_identical(do.call(k$by_name, c(list(constructor()), k$option)), do.call(constructor, k$option))
    expect_identical(k$by_name(do.call(constructor, k$option)), do.call(constructor, k$option))
  }
})

test_that("an option that a choice does not have is an error that names who has it", {
  for (kind in names(kinds)) {
    owns <- lapply(rlang::set_names(choice_names(kind)), function(name) {
      setdiff(names(formals(getExportedValue("calibrisk", paste0(kind, "_", name)))), "...")
    })
    options <- unique(unlist(owns))
    for (option in options) {
      having <- names(owns)[vapply(owns, function(own) option %in% own, NA)]
      # every option, and every choice in turn
      others <- setdiff(names(owns), having)
      for (name in unique(others[(match(option, options) + 0:2) %% length(others) + 1])) {
        cnd <- expect_error(do.call(kinds[[kind]]$by_name, rlang::set_names(list(name, 1), c("", option))),
                            class = "calibrisk_error_argument")
        message <- conditionMessage(cnd)
        expect_match(message, paste0("`", option, "` is not an option of the ", kind, " \"", name, "\""), fixed = TRUE)
        for (other in having) expect_match(message, paste0(kind, "_", other, "()"), fixed = TRUE)
      }
    }
  }
})

test_that("choices of another kind, unknown names and constructors that were not called are errors", {
  for (kind in names(kinds)) {
    wrong <- list("no such choice", 1, NULL, method_bins(), c("a", "b"))
    by_name <- kinds[[kind]]$by_name
    for (value in wrong) expect_error(by_name(value), "must be one of", class = "calibrisk_error_argument")
    constructor <- getExportedValue("calibrisk", paste0(kind, "_", kinds[[kind]]$has))
    expect_error(by_name(constructor), "call it", class = "calibrisk_error_argument")
  }
})

test_that("a choice prints as the call that makes it", {
  for (kind in names(kinds)) {
    for (name in choice_names(kind)) {
      choice <- choice_constructor(kind, name)()
      expect_identical(eval(str2lang(format(choice))), choice)
      expect_output(print(choice), paste0("<ce_choice> ", format(choice)), fixed = TRUE)
    }
  }
  expect_identical(format(test_cme(locations = list(x = diag(2), truth = 1:2), reference = "f")),
                   "test_cme(locations = <list>, reference = \"f\", replicates = 1000, add_one = TRUE)")
})

test_that("errors of options name the verb that was called", {
  cnd <- expect_error(ce_test(c(.2, .4), 0:1, test = "block", block = 1), class = "calibrisk_error_argument")
  expect_identical(as.character(cnd$call[[1]]), "ce_test")
  cnd <- expect_error(test_block(block = 1), class = "calibrisk_error_argument")
  expect_identical(as.character(cnd$call[[1]]), "test_block")
})
