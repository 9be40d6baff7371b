# The ranges of bandwidths and of factors in front of kernels.

bandwidth_range <- c(1e-100, 1e100)

# Squares and cubes of distances over bandwidths have to be finite.
check_bandwidth_range <- function(bandwidth) {
  stop_if(bandwidth < bandwidth_range[1] || bandwidth > bandwidth_range[2],
          "The bandwidth of a kernel must be between {bandwidth_range[1]} and {bandwidth_range[2]}.",
          "x" = "It is {.val {bandwidth}}.", "i" = "Use other units.", arg = "bandwidth", value = bandwidth)
  bandwidth
}

kernel_scales <- c(1e-50, 1e50)

# Fourth powers of kernels are taken, and products of a kernel on predictions and one on outcomes.
check_kernel_scale <- function(kernel) {
  scale <- total_scale(kernel)
  stop_if(!isTRUE(scale >= kernel_scales[1] && scale <= kernel_scales[2]),
          "The factor of a kernel must be between {kernel_scales[1]} and {kernel_scales[2]}.",
          "x" = "It is {.val {signif(scale, 3)}}.", "i" = "Factors change the units of an error alone, and no test.",
          class = "kernel", arg = "scale")
  kernel
}

# The largest factor of a part, factors of products multiplied.
total_scale <- function(kernel) {
  parts <- vapply(kernel$parts, total_scale, 0)
  kernel$scale * switch(kernel$type, sum = max(parts), product = prod(parts), 1)
}
