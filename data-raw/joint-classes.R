# Level and power of the joint test of more than two classes (ce_test() and the canonical error of ce_estimate()), next
# to the conditional test of the SKCE and the likelihood ratio of K - 1 biases and a temperature. Prints tables, stores
# nothing.
#
#   Rscript data-raw/joint-classes.R [samples of the level] [of power]    about 40 minutes for 2,000 and 200
#   0 leaves a part out

library(calibrisk)
options(calibrisk.threads = 1L)
times <- as.numeric(commandArgs(TRUE))
times <- replace(c(2000, 200), seq_along(times), times)
set.seed(26)
as_labels <- 40  # sets of labels for the same predictions

dirichlet <- function(n, alpha) {
  p <- matrix(stats::rgamma(n * length(alpha), rep(alpha, each = n)), n)
  p <- pmax(p, 1e-300)
  p / rowSums(p)
}
# peaked: confident predictions; rare: half of the classes have a hundredth of the predictions
shapes <- list(
  flat = function(K) rep(1, K), peaked = function(K) rep(1.5 / K, K),
  rare = function(K) rep(c(2, 0.02), c(K - K %/% 2, K %/% 2))
)
drawn_labels <- function(p, sets) {
  below <- t(apply(p, 1, cumsum))
  vapply(seq_len(sets), function(s) {
    pmin(1L + rowSums(stats::runif(nrow(p)) > below), ncol(p))
  }, numeric(nrow(p)))
}
normed <- function(p) p / rowSums(p)
joint <- function(p, labels) {
  storage.mode(labels) <- "integer"
  out <- calibrisk:::cpp_class_test(p, labels, list(0:6), 0.95, 1999L, 1L)[[1]]
  data.frame(p = vapply(out, `[[`, 0, "p.value"), low = vapply(out, `[[`, 0, "low"))
}

cat("Share of calibrated samples with p < .05:\n")
cells <- expand.grid(n = c(100, 300, 1000), K = c(3, 10, 26), shape = names(shapes))
cells <- cells[order(cells$n), ]
for (cell in seq_len(nrow(cells))[times[1] > 0]) {
  alpha <- shapes[[cells$shape[cell]]](cells$K[cell])
  rejected <- replicate(times[1] / as_labels, {
    p <- dirichlet(cells$n[cell], alpha)
    mean(joint(p, drawn_labels(p, as_labels))$p < 0.05)
  })
  cat(unlist(lapply(cells[cell, ], format)), mean(rejected), "\n")
}

# The truth of a prediction.
laws <- list(
  "temperature 1.3" = function(p) normed(p^(1 / 1.3)),
  "temperature 0.75" = function(p) normed(p^(1 / 0.75)),
  "odds of one class x 1.5" = function(p) normed(cbind(1.5 * p[, 1], p[, -1])),
  "odds of two in turn x 1.4" = function(p) normed(sweep(p, 2, rep_len(c(1.4, 1), ncol(p)), "*")),
  "two classes swapped in 40 %" = function(p) {
    p[, 1:2] <- 0.6 * p[, 1:2] + 0.4 * p[, 2:1]
    p
  },
  "gap in one class" = function(p) {
    one <- p[, 2]
    gap <- one + 1.4 * one * (1 - one) * sin(2 * pi * rank(one) / length(one))
    gap <- pmin(pmax(gap, 0), 1)
    p <- p * ((1 - gap) / (1 - one))
    p[, 2] <- gap
    p
  },
  "slope of one class 0.7" = function(p) normed(cbind(p[, 1]^0.7, p[, -1])),
  "confidence of every other class" = function(p) normed(p^rep(rep_len(c(1.35, 0.65), ncol(p)), each = nrow(p)))
)

# Newton's method for biases and temperature: labels follow softmax(t log p + b), b of the first class 0.
likelihood_ratio_p <- function(p, y) {
  l <- log(pmax(p, exp(-12)))
  K <- ncol(p)
  value <- function(theta) {
    z <- theta[1] * l + rep(c(0, theta[-1]), each = nrow(p))
    z <- z - apply(z, 1, max)
    list(q = normed(exp(z)), loglik = sum(z[cbind(seq_along(y), y)] - log(rowSums(exp(z)))))
  }
  theta <- c(1, rep(0, K - 1))
  start <- now <- value(theta)
  for (step in 1:30) {
    e <- -now$q
    e[cbind(seq_along(y), y)] <- e[cbind(seq_along(y), y)] + 1
    gradient <- c(sum(e * l), colSums(e)[-1])
    off <- l - rowSums(now$q * l)
    H <- diag(colSums(now$q)) - crossprod(now$q)
    H <- rbind(c(sum(now$q * off^2), colSums(now$q * off)[-1]), cbind(colSums(now$q * off)[-1], H[-1, -1]))
    move <- tryCatch(solve(H + diag(1e-8, K), gradient), error = function(cnd) 0 * gradient)
    for (half in 0:20) {
      new <- value(theta + move / 2^half)
      if (is.finite(new$loglik) && new$loglik >= now$loglik) break
    }
    theta <- theta + move / 2^half
    done <- new$loglik - now$loglik < 1e-8
    now <- new
    if (done) break
  }
  stats::pchisq(2 * (now$loglik - start$loglik), K, lower.tail = FALSE)
}

cat("Share of samples with p < .05, and with a lower limit above the error:\n")
power <- expand.grid(law = names(laws), n = c(300, 1000), K = c(3, 10), shape = c("flat", "peaked"),
                     stringsAsFactors = FALSE)
power <- power[order(power$n), ]
for (cell in seq_len(nrow(power))[times[2] > 0]) {
  K <- power$K[cell]
  found <- replicate(times[2], {
    p <- dirichlet(power$n[cell], shapes[[power$shape[cell]]](K))
    truth <- laws[[power$law[cell]]](p)
    y <- drawn_labels(truth, 1)
    test <- joint(p, y)
    skce <- suppressWarnings(ce_test(p, factor(y, 1:K), test = test_conditional(times = 199)))
    c(joint = test$p < 0.05, skce = skce$p.value < 0.05, likelihood_ratio = likelihood_ratio_p(p, y[, 1]) < 0.05,
      low_missed = test$low > sqrt(mean(rowSums((truth - p)^2))))
  })
  cat(unlist(lapply(power[cell, ], format)), paste(rownames(found), rowMeans(found)), "\n")
}
