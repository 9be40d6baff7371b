# Differences of net benefit between models on the same rows: what acting on the one brings beyond acting on the other.

# A row per pair of models, group and threshold; NULL where there is no pair. `found`: the parts of the curves.
decision_differences <- function(found, keys, settings) {
  if (!"model" %in% names(keys)) return(NULL)
  groups <- keys[setdiff(names(keys), "model")]
  id <- if (length(groups) == 0) rep(1L, nrow(keys)) else vctrs::vec_group_id(groups)
  pairs <- unlist(lapply(split(seq_along(id), id), function(at) {
    if (length(at) > 1) Filter(function(pair) on_same_rows(found[[pair[1]]], found[[pair[2]]]),
                               utils::combn(at, 2, simplify = FALSE))
  }), recursive = FALSE)
  if (length(pairs) == 0) return(NULL)
  model <- function(k) as.character(keys$model[vapply(pairs, `[`, 0L, k)])
  bind_parts(
    vctrs::vec_cbind(columns_frame(a = model(1), b = model(2)), vctrs::vec_slice(groups, vapply(pairs, `[`, 0L, 1))),
    lapply(pairs, function(pair) {
      a <- found[[pair[1]]]$problem
      b <- found[[pair[2]]]$problem
      # NB(a) - NB(b) is the loss of b with a as its recalibration: both sum over the rows whose decision changes
      of <- decision_limits(b$features[, 1], a$features[, 1], as.numeric(a$labels), a$design, settings)
      limits <- of$sums[[1]]
      # other predictions may decide otherwise on other rows
      if (!identical(a$features, b$features)) limits <- few_changes(limits, of$changed, a$design, settings)
      columns_frame(threshold = settings$thresholds, difference = limits$estimate, !!!limits[2:6])
    })
  )
}

# If fewer than five rows have another decision, or none, the limits allow for Wilson's share of such rows.
few_changes <- function(limits, changed, design, settings) {
  n <- 1 / weight_concentration(design)
  share <- changed / copy_count(design)
  worth <- ifelse(changed < 5, pmax(1, settings$thresholds / (1 - settings$thresholds)), 0)
  for (kind in c("conf", "band")) {
    z <- if (kind == "band") limits$factor else design_quantile((1 + settings$level) / 2, design)
    half <- worth * (wilson_interval(share * n, n, z = z)$high - share)
    low <- paste0(kind, ".low")
    high <- paste0(kind, ".high")
    limits[[low]] <- pmin(limits[[low]], limits$estimate - half)
    limits[[high]] <- pmax(limits[[high]], limits$estimate + half)
  }
  limits
}

# Models of a list may have different outcomes, or other rows that are complete.
on_same_rows <- function(a, b) {
  same <- function(field) identical(a[[field]], b[[field]])
  same("rows") && identical(as.numeric(a$problem$labels), as.numeric(b$problem$labels)) &&
    identical(a$problem$design, b$problem$design)
}

stop_no_differences <- function() {
  stop_input("Differences are those of several models on the same rows.",
             "i" = "As in {.code ce_decision(data, truth, a, b)}.", arg = "type")
}
