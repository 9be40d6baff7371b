# Fits, estimates, risks, tuning and maps of weighted and clustered rows.

local({
  rows <- withr::with_seed(11, data.frame(
    prob = fine$p, y = fine$y, share = stats::rexp(length(fine$y)), copies = sample(0:3, length(fine$y), TRUE),
    centre = sample(20, length(fine$y), TRUE)
  ))
  v <- withr::with_seed(12, stats::rexp(length(three$y)))
  at <- withr::with_seed(13, sample(25, length(three$y), TRUE))
  notions <- c("top_label", "class_wise", "canonical")
  pin("design/ce_estimate/share", ce_estimate(rows, y, prob, weights = share))
  pin("design/ce_estimate/copies", ce_estimate(rows, y, prob, weights = copies))
  pin("design/ce_estimate/cluster", ce_estimate(rows, y, prob, cluster = centre))
  pin("design/ce_estimate/both", ce_estimate(rows, y, prob, weights = share, cluster = centre))
  pin("design/ce_estimate/classes", ce_estimate(three$p, three$y, notion = notions, weights = v))
  pin("design/ce_estimate/classes/cluster", ce_estimate(three$p, three$y, notion = notions, cluster = at))
})
