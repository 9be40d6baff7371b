# Every public number against the stored one; see contract/CHANGES.md.

contract_dir <- test_path("contract")
source(file.path(contract_dir, "engine.R"), local = TRUE)

for (section in contract_sections(contract_dir)) {
  test_that(paste0("the numbers of the contract stand: ", section), {
    skip_on_cran()
    withr::local_options(calibrisk.threads = as.integer(Sys.getenv("CALIBRISK_CONTRACT_THREADS", "2")))
    changes <- contract_changes(contract_stored(contract_dir, section), contract_now(contract_dir, section))
    expect(nrow(changes) == 0, contract_report(changes, section))
  })
}

test_that("the contract notices changes, new and missing numbers, and says which", {
  was <- data.frame(key = c("a$x", "a$y", "b", "c", "d"), value = c("1", "0.5", "NA", "2", "1e-15"),
                    why = c("exact", "iterated", "exact", "exact", "exact"))
  is <- was
  expect_identical(nrow(contract_changes(was, is)), 0L)
  is$value <- c("1.00000000001", "0.5000001", "NA", "2", "-2e-15")
  expect_identical(nrow(contract_changes(was, is)), 0L)
  is$value <- c("1.000000001", "0.50001", "1", "2", "1e-12")
  changes <- contract_changes(was, is)
  expect_identical(changes$key, c("a$x", "a$y", "b", "d"))
  report <- contract_report(changes, "some")
  expect_match(report, "4 numbers of the contract changed (some)", fixed = TRUE)
  expect_match(report, "a$x  was 1      is 1.000000001  (+1.0e-09)", fixed = TRUE)
  gone <- contract_changes(was, is[-4, ])
  expect_match(contract_report(gone, "some"), "c    was 2      is (gone)", fixed = TRUE)
  new <- contract_changes(was[-4, ], is)
  expect_match(contract_report(new, "some"), "c    was (not there)  is 2", fixed = TRUE)
  # nor can a tolerance grow unseen
  loose <- was
  loose$why[1] <- "iterated"
  expect_match(contract_report(contract_changes(was, loose), "some"), "was 1 (exact)  is 1 (iterated)", fixed = TRUE)
})

test_that("every export is in the contract or has a reason not to be", {
  exempt <- c(
    fit_form = "what a method implements; ce_fit() calls it",
    tune_path = "what a method implements; ce_tune() calls it",
    pair_features = "what a form implements; predict() calls it",
    ce_models = "reads predictions, whose numbers are pinned by the functions that take them",
    ce_source = "yields chunks of rows, whose numbers are those of the rows at once",
    ce_report = "writes a page of numbers that are pinned by their verbs",
    ce_optimism = "draws samples for numbers that are pinned by their verb",
    ce_kable = "writes a table of numbers that are pinned by their verbs",
    ce_pool = "combines numbers that are pinned by their verbs"
  )
  files <- list.files(contract_dir, "^(pins-|data)", full.names = TRUE)
  used <- unique(unlist(lapply(files, function(file) all.names(parse(file, keep.source = FALSE)))))
  exports <- getNamespaceExports("calibrisk")
  forgotten <- setdiff(exports, c(used, names(exempt)))
  expect(length(forgotten) == 0, paste("Exported, but not in the contract:", toString(forgotten)))
  expect_identical(setdiff(names(exempt), exports), character())
})
