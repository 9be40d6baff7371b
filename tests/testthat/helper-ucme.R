# The unnormalised calibration mean embedding.
ucme <- function(x, truth, ..., locations = 3) skce(x, {{ truth }}, ..., locations = locations)
