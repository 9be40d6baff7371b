# Four predictions of three classes, for the tests of input.
probs3 <- rbind(c(0.7, 0.2, 0.1), c(0.1, 0.8, 0.1), c(0.25, 0.25, 0.5), c(0.6, 0.3, 0.1))
truth3 <- c(1L, 2L, 3L, 1L)

# A model of `Yes` and the same predictions in every shape.
pima_like <- function(n = 150, seed = 1) {
  withr::with_seed(seed, {
    p <- stats::plogis(stats::rnorm(n, -0.5, 1.5))
    yes <- stats::runif(n) < stats::plogis(0.7 * stats::qlogis(p))
    tibble::tibble(type = factor(ifelse(yes, "Yes", "No"), levels = c("No", "Yes")), .pred_No = 1 - p, .pred_Yes = p)
  })
}
