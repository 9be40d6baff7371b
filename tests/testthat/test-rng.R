test_that("only what draws touches the random numbers", {
  path <- test_path("..", "..", "src", "RcppExports.cpp")
  skip_if_not(file.exists(path))
  code <- paste(readLines(path), collapse = "\n")
  functions <- strsplit(code, "\n// cpp_", fixed = TRUE)[[1]][-1]
  scoped <- functions[grepl("RNGScope", functions, fixed = TRUE)]
  draws <- "draw_classes draw_counts deal_copies class_redraws hotelling_redraws bootstrap ensemble_null
            normal_null smooth_samples smooth_redraws sampled_cells redrawn_cells"
  expect_setequal(sub("\n.*", "", scoped), scan(text = draws, what = "", quiet = TRUE))
})

test_that("deterministic calls leave no seed behind", {
  withr::local_preserve_seed()
  p <- c(.2, .7, .4, .9, .1, .6)
  y <- c(0, 1, 0, 1, 0, 1)
  suppressWarnings(rm(".Random.seed", envir = globalenv()))
  ece(p, y)
  skce(p, y, kernel = kernel_tv(.3))
  ckce(p, y)
  for (type in list(curve_smooth(times = 20), curve_isotonic(20))) ce_curve(p, y, type = type)
  ce_risk(ce_fit(p, y, method = method_ukkr(.1)), p, y)
  expect_false(exists(".Random.seed", globalenv(), inherits = FALSE))
})
