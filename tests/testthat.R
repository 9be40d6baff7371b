library(testthat)
library(calibrisk)

test_check("calibrisk")
