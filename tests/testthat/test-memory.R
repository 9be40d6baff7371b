test_that("a Gram matrix that cannot be is an error with its size", {
  many <- 3e6 # 65 TB
  cnd <- expect_error(kernel_matrix(kernel_tv(1), seq_len(many)), class = "calibrisk_error_memory")
  expect_match(conditionMessage(cnd), "3,000,000 rows and 3,000,000 columns")
  expect_match(conditionMessage(cnd), "67055 GB")
  expect_error(kernel_matrix(kernel_wasserstein(1), pred_normal(1, 1), pred_normal(seq_len(many), 1)),
               class = "calibrisk_error_memory")
  expect_identical(dim(kernel_matrix(kernel_tv(1), seq_len(200))), c(200L, 200L))
})

test_that("free memory is what the system says, else what R may have", {
  file <- withr::local_tempfile(lines = c("MemTotal: 5 kB", "MemAvailable:   2048 kB"))
  expect_identical(available_memory(file), 2048 * 1024)
  expect_gt(available_memory(file.path(file, "none")), 0)
})
