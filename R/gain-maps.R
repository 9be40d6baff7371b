# ce_gain() of maps that are not fitted yet. Each is cross-fitted on the same folds, so every row is recalibrated by a
# map that was fitted without it. One table has the gains of all maps.

# A map, its name, or several of them: list(name = map); NULL for predictions and fitted maps.
unfitted_maps <- function(after) {
  if (is.character(after)) after <- as.list(after)
  if (inherits(after, "ce_choice") || is.function(after)) after <- list(after)
  if (!is.list(after) || is.data.frame(after) || inherits(after, c("ce_recalibration", "ce_grouped"))) return(NULL)
  stop_if(length(after) == 0, "{.arg after} must hold at least one map.", "x" = "It is an empty list.", arg = "after")
  fitted <- vapply(after, inherits, NA, "ce_recalibration")
  stop_if(
    any(fitted), "The maps of a list are fitted here, on folds of the rows.",
    "x" = "Element {which(fitted)[1]} is a map that was fitted before.", arg = "after"
  )
  maps <- lapply(after, as_choice, kind = "map", arg = "after")
  dispersion <- vapply(maps, inherits, NA, "map_variance")
  stop_if(any(dispersion), "{.fn ce_gain} needs maps of class probabilities.",
          "x" = "{.val variance} is one of variances.",
          "i" = "{.code ce_moments(x, truth, after = map)} gives its gain.", arg = "after")
  names(maps) <- list_names(after, vapply(maps, `[[`, "", "name"))
  maps
}

# `input`: the other arguments of ce_gain().
gains_of_maps <- function(x, maps, input) {
  check_count(input$repeats, "repeats")
  input$event_level <- check_choice(input$event_level, c("first", "second"), "event_level")
  out <- by_groups(x, input$by, function(part) gain_of_maps(part, maps, input))
  repeats <- if (input$repeats > 1) paste0(", ", input$repeats, " times")
  folds <- if (length(input$folds) == 1) paste(input$folds, "folds") else "the given folds"
  new_table(out, c("Gain" = paste0("before minus after, maps fitted without the row, in ", folds, repeats),
                   "Estimate" = paste("improvement of the calibration error where the map is injective, else with its",
                                      "loss of sharpness")), "ce_gain")
}

gain_of_maps <- function(part, maps, input) {
  read <- recal_data(part, input)
  data <- scattered_copies(read$data, input)
  before <- gain_scores(given_probs(data), data, input$score)
  splits <- gain_folds(input$folds, input$repeats, data)
  parts <- lapply(names(maps), function(name) {
    fits <- lapply(splits, function(fold) fold_probs(maps[[name]], data, fold, input$score))
    failed <- unique(unlist(lapply(fits, `[[`, "message")))
    warn_if(length(failed) > 0, "The map {.val {name}} has not reached an optimum in every fold.", "x" = "{failed[1]}",
            "i" = "It is flagged: {.field converged} is {.val {FALSE}}.", class = "convergence")
    # a row's gain is its mean over the splits
    after <- rowMeans(vapply(fits, function(fit) gain_scores(fit$probs, data, input$score), numeric(length(before))))
    list(after = after, injective = all(vapply(fits, `[[`, NA, "injective")), converged = length(failed) == 0,
         noise = mean(vapply(fits, `[[`, 0, "noise")))
  })
  parts <- c(list(list(after = before, injective = TRUE, converged = TRUE, noise = 0)), parts)
  pick <- function(name, type) unname(vapply(parts, `[[`, type, name))
  estimates <- lapply(parts, function(one) {
    gain <- finite_difference(before, one$after, data$design)
    mean_estimate(gain, data$design, smallest = -Inf, variance = cpp_row_std_error(gain, data$design)^2 + one$noise,
                  df = paired_df(gain, data$truth, ncol(given_probs(data)), data$design))
  })
  summary <- summarise_estimates(estimates, input$level)
  infinite <- !is.finite(summary$.estimate)
  mask <- function(v) ifelse(infinite, NA_real_, v)
  out <- columns_frame(
    map = c("none", names(maps)), score = input$score$name, before = row_mean(before, data$design),
    after = vapply(parts, function(one) row_mean(one$after, data$design), 0), gain = summary$.estimate,
    std.error = mask(summary$std.error), conf.low = mask(summary$conf.low), conf.high = mask(summary$conf.high),
    injective = pick("injective", NA), converged = pick("converged", NA), folds = max(splits[[1]]),
    repeats = length(splits), n = copy_count(data$design), level = input$level
  )
  with_read(out, read$predictions)
}

# Scores of the rows; `probs` has a column per class.
gain_scores <- function(probs, data, score) {
  value <- score$value(probs, data$truth)
  if (ncol(probs) == 2) score$scalar * value else value
}

# Out-of-fold probabilities. `noise`: what the variance of the mean gain lacks where rows are taken as independent: a
# row is judged by maps that others have fitted, and fits maps that judge them. Both are the same products of the noise
# of two rows, of which the rows' variance knows one.
fold_probs <- function(map, data, fold, score) {
  of <- map_of_rows(map, data)
  found <- cross_fit(fold, given_probs(data), of)
  all <- vapply(found$fits, function(fit) gain_scores(map_probs(fit$map, data), data, score), numeric(length(fold)))
  each <- apply(all - rowMeans(all), 2, cpp_row_std_error, data$design)
  list(probs = found$values, noise = sum(each[is.finite(each)]^2),
       injective = all(vapply(found$fits, function(fit) fit$injective$value, NA)),
       message = unlist(lapply(found$fits, function(fit) if (!fit$converged) fit$message)) %||% character())
}

# Independent copies are in several folds: those of one split are counted, of several the rows are repeated.
scattered_copies <- function(data, input) {
  design <- data$design
  if (is.null(design$copies) || !is.null(design$cluster) || !is.null(read_folds(input$folds))) return(data)
  if (input$repeats > 1 || copy_count(design) < input$folds) return(repeat_copies(data))
  split_copies(data, copies_by_fold(cbind(given_probs(data), 1), data$truth, design, input$folds, even = TRUE))
}

# A fold 1..k of every row, for each repeat: by the rows' values, so that the same rows give the same folds in any
# order; or those that are given.
gain_folds <- function(folds, repeats, data) {
  if (!is.null(data$fold)) return(list(data$fold))
  cluster <- data$design$cluster
  given <- given_folds(folds, data$design$n, data$rows, data$n_rows, cluster)
  if (!is.null(given)) {
    stop_if(repeats > 1, "Given {.arg folds} are one split.", "x" = "{.arg repeats} is {repeats}.",
            class = "folds", arg = "repeats")
    return(list(given))
  }
  check_fold_units(data$design, folds)
  lapply(seq_len(repeats), function(r) design_folds(cbind(given_probs(data), r), data$truth, data$design, folds, TRUE))
}
