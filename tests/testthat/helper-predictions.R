# Four predictions of three classes, for the tests of input.
probs3 <- rbind(c(0.7, 0.2, 0.1), c(0.1, 0.8, 0.1), c(0.25, 0.25, 0.5), c(0.6, 0.3, 0.1))
truth3 <- c(1L, 2L, 3L, 1L)
