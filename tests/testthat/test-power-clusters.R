test_that("the rows of the published criteria are multiplied by the design effect", {
  # (4 * 3 + 8 * 7) / 12 other rows in a random row's cluster
  expect_equal(design_effect(new_power_clusters(c(4, 8), 0.3)), 1 + 68 / 12 * 0.3)
  nodes <- assume_model(c(-5, 2.5))
  width <- c(oe_ratio = 1, slope = 0.2, auroc = 0.1)
  plain <- ce_power(nodes, width = width, prevalence = 0.018, auroc = 0.8)
  found <- ce_power(nodes, width = width, prevalence = 0.018, auroc = 0.8, cluster_size = 21, icc = 0.05)
  expect_true(all(abs(found$n - 2 * plain$n) <= 2))
  there <- ce_power(nodes, n = 4000, cluster_size = 21, icc = 0.05)
  expect_equal(there$target[1:3], ce_power(nodes, n = 2000)$target[1:3])
  expect_identical(tidy(ce_power(nodes, n = 300, cluster_size = 1, icc = 0.4)), tidy(ce_power(nodes, n = 300)))
  printed <- gsub(" +", " ", paste(utils::capture.output(print(found)), collapse = " "))
  expect_match(printed, "of 21 rows, intra-cluster correlation 0.05 (design effect 2)", fixed = TRUE)
  expect_match(printed, "434 clusters", fixed = TRUE)
  uneven <- ce_power(nodes, width = width["slope"], cluster_size = c(10, 30), icc = 0.05)
  expect_gt(uneven$n, ce_power(nodes, width = width["slope"], cluster_size = 20, icc = 0.05)$n)
})

test_that("drawn outcomes have their probability and their correlation, whatever the sizes of the clusters", {
  clusters <- new_power_clusters(c(2, 6), 0.3)
  withr::local_seed(1)
  cluster <- draw_clusters(60000, clusters)
  expect_equal(as.numeric(table(tabulate(cluster)))[1:2] / 15000, c(0.5, 0.5), tolerance = 0.03)
  eta <- rep(c(0.2, 0.5), length.out = 60000)
  y <- draw_shared(eta, cluster, 0.3)
  expect_equal(as.numeric(tapply(y, eta, mean)), c(0.2, 0.5), tolerance = 0.02)
  e <- y - eta
  pair <- which(cluster[-1] == cluster[-60000])
  same <- pair[pair + 2 <= 60000]
  same <- same[cluster[same] == cluster[same + 2]]
  expect_equal(cor(e[same], e[same + 2]), 0.3, tolerance = 0.06)
  different <- mean(e[pair] * e[pair + 1])
  expect_equal(different, 0.3 * (0.2 - 0.2 * 0.5), tolerance = 0.08)
})

test_that("clustered studies vary as the design effect says where risks are alike, and less where they are not", {
  skip_on_cran()
  clusters <- new_power_clusters(20, 0.1)
  spread <- function(nodes, seed) {
    drawn <- withr::with_seed(seed, replicate(400, {
      rows <- draw_study(nodes, 600, clusters)
      rank <- rank(rows$p)
      events <- sum(rows$y)
      c(oe_ratio = events / sum(rows$p), slope = glm.fit(cbind(1, qlogis(rows$p)), rows$y,
                                                         family = stats::binomial())$coefficients[[2]],
        auroc = (sum(rank[rows$y == 1]) / events - (events + 1) / 2) / (600 - events))
    }))
    2 * qnorm(0.975) * apply(drawn, 1, sd)
  }
  expected <- function(nodes, n) {
    out <- ce_power(nodes, n = n, cluster_size = 20, icc = 0.1)
    stats::setNames(out$target, out$criterion)
  }
  alike <- assume_model(c(-1, 0.05))
  expect_equal(spread(alike, 1)[["oe_ratio"]], expected(alike, 600)[["oe_ratio"]], tolerance = 0.1)
  apart <- assume_model(c(-1, 1.5))
  found <- spread(apart, 2)
  bound <- expected(apart, 600)[names(found)]
  plain <- stats::setNames(ce_power(apart, n = 600)$target[1:3], names(found))
  expect_true(all(found < bound))
  # predictions vary, too, which the formula of O:E leaves out
  expect_true(all(found > 0.85 * plain))
})

test_that("the interval of the headline is that of drawn clusters, whose rows belong together", {
  skip_on_cran()
  nodes <- assume_model(beta = c(1, 3), slope = 0.6)
  found <- withr::with_seed(3, ce_power(nodes, n = 500, cluster_size = 10, icc = 0.2, simulate = 40))
  found <- found[found$criterion %in% c("calibration_error", "test"), ]
  expect_equal(found$target[1], found$simulated[1], tolerance = 0.2)
  expect_lt(abs(found$target[2] - found$simulated[2]), 0.25)
  # as if the rows were independent it would be a narrower one
  plain <- ce_power(nodes, n = 500)
  expect_lt(1.1 * plain$target[plain$criterion == "calibration_error"], found$target[1])
})

test_that("what cannot be is a classed error", {
  nodes <- assume_model(beta = c(1, 3))
  expect_error(ce_power(nodes, n = 100, icc = 0.1), "cluster_size", class = "calibrisk_error_argument")
  expect_error(ce_power(nodes, n = 100, cluster_size = 5), "icc", class = "calibrisk_error_argument")
  expect_error(ce_power(nodes, n = 100, cluster_size = 0, icc = 0.1), class = "calibrisk_error_argument")
  expect_error(ce_power(nodes, n = 100, cluster_size = 5, icc = 2), class = "calibrisk_error_argument")
  # fewer than two clusters say nothing
  few <- ce_power(nodes, n = 15, cluster_size = 10, icc = 0.1)
  expect_identical(few$target[few$criterion == "calibration_error"], Inf)
})
