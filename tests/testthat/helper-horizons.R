# Times of events with the hazard h, and its risks by 5, 10 and 20.
followed_rows <- function(n, seed) {
  withr::with_seed(seed, {
    h <- 0.05 * exp(stats::rnorm(n))
    event <- stats::rexp(n, h)
    stop <- stats::rexp(n, 0.03)
  })
  d <- data.frame(p5 = -expm1(-5 * h), p10 = -expm1(-10 * h), p20 = -expm1(-20 * h), site = rep_len(c("a", "b"), n))
  d$s <- structure(cbind(time = pmin(event, stop), status = as.numeric(event <= stop)), type = "right", class = "Surv")
  d
}

validate_quietly <- function(...) suppressMessages(ce_validate(..., times = 0))
