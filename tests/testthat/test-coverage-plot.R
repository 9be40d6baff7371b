test_that("coverage is drawn against nominal coverage, models by shape, groups by panel", {
  skip_if_not_installed("ggplot2")
  withr::local_seed(1)
  d <- data.frame(mu = rexp(90, .1), colour = c("north", "south", "west"))
  d$y <- rpois(90, d$mu)
  found <- ce_coverage(d, y, poisson = pred_poisson(mu), negbin = pred_negbin(mu, 2), .by = colour)
  plot <- plot(found)
  expect_s3_class(plot, "ggplot")
  points <- ggplot2::layer_data(plot, 3)
  expect_equal(sort(points$y), sort(tidy(found)$coverage))
  expect_equal(length(unique(points$shape)), 2)
  expect_equal(levels(plot$data$panel), c("north", "south", "west"))
  alone <- plot(ce_coverage(d, y, pred_poisson(mu)))
  expect_equal(ggplot2::layer_data(alone, 3)$x, tidy(ce_coverage(d, y, pred_poisson(mu)))$nominal)
  expect_error(ggplot2::autoplot(found, level = 1), class = "calibrisk_error_argument")
})

test_that("long names of groups are cut in the titles of panels", {
  skip_if_not_installed("ggplot2")
  d <- data.frame(mu = seq(1, 5, length.out = 90), region = rep(c("north", "south", strrep("long ", 12)), 30))
  d$y <- d$mu + cos(1:90)
  d$event <- as.numeric(d$y > 3)
  d$p <- d$q <- plogis(d$mu - 3)
  found <- ce_coverage(d, y, pred_normal(mu, 1), .by = region)
  models <- ce_models(d, event, p, q, .by = region)
  decision <- plot(ce_decision(models, thresholds = c(.3, .5), recalibration = "platt", times = 100))
  for (plot in list(plot(found), plot(found, type = "curve"), decision)) {
    by <- if (identical(plot, decision)) "group" else "panel"
    titles <- plot$facet$params$labeller(stats::setNames(data.frame(unique(as.character(plot$data[[by]]))), by))
    expect_lte(max(nchar(unlist(titles))), 24)
  }
})
