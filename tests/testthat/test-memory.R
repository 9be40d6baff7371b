test_that("a Gram matrix that cannot be is an error with its size", {
  many <- 3e6 # 65 TB
  cnd <- expect_error(check_memory(many, many, "the Gram matrix"), class = "calibrisk_error_memory")
  expect_match(conditionMessage(cnd), "3,000,000 rows and 3,000,000 columns")
  expect_match(conditionMessage(cnd), "67055 GB")
  expect_no_error(check_memory(200, 200, "the Gram matrix"))
})

test_that("free memory is what the system says, else what R may have", {
  file <- withr::local_tempfile(lines = c("MemTotal: 5 kB", "MemAvailable:   2048 kB"))
  expect_identical(available_memory(file), 2048 * 1024)
  expect_gt(available_memory(file.path(file, "none")), 0)
})
