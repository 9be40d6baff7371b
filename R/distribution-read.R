# Objects of other packages -> ce_distribution.

as_distribution <- function(x) {
  if (is_distribution(x)) return(x)
  if (inherits(x, "distribution")) {
    missing <- which(law_missing(x))
    stop_if(length(missing) > 0, "Predictive distributions must not be missing here.",
            "x" = "Value {missing[1]} is NA; {length(missing)} of {length(x)} are.", "i" = "Leave their rows out.",
            class = "distribution")
    return(read_distributional(x))
  }
  if (inherits(x, "rvar") || inherits(x, "draws")) return(read_posterior(x))
  stop_input("{.arg x} must be a vector of predictive distributions.", "x" = "It is {.cls {class(x)[1]}}.",
             "i" = "Make one with {.fn pred_normal}, {.fn pred_draws}, ...; see {.code ?pred}. Vectors of the package \\
                    distributional and {.cls rvar}s of posterior are accepted too.", class = "distribution")
}

# rvar: one element per observation; draws matrix: one column (variable) per observation.
read_posterior <- function(x) {
  rlang::check_installed("posterior", "to read draws.")
  if (inherits(x, "rvar")) {
    draws <- posterior::draws_of(x)
    size <- dim(draws)
    # draws x observations (x d)
    if (length(size) <= 2) return(pred_draws(t(matrix(draws, size[1]))))
    if (length(size) == 3) return(pred_draws(aperm(draws, c(2, 1, 3))))
    stop_input("An {.cls rvar} of predictions must be a vector or a matrix (observations x dimensions).",
               "x" = "It has {length(size) - 1} dimensions.", class = "distribution")
  }
  pred_draws(t(unclass(posterior::as_draws_matrix(x))))
}

read_distributional <- function(x) {
  rlang::check_installed("distributional", "to read its distributions.")
  family <- unique(stats::family(x))
  stop_if(length(family) != 1 || anyNA(family), "All predictions must be of one family.",
          "x" = "They are {.val {family}}.", class = "distribution")
  par <- distributional::parameters(x)
  if (family == "mixture") {
    return(do.call(c, lapply(seq_along(x), function(i) {
      parts <- lapply(par$dist[[i]], function(p) as_distribution(vctrs::new_vctr(list(p), class = "distribution")))
      do.call(pred_mixture, c(parts, list(weights = as.vector(par$w[[i]]))))
    })))
  }
  reads <- unlist(lapply(unname(as.list(families)), `[[`, "reads"))
  stop_if(!family %in% names(reads), "The family {.val {family}} of distributional is not known here.",
          "x" = "Its parameters are {.val {names(par)}}.",
          "i" = "Give draws instead: {.code pred_draws(do.call(rbind, distributional::generate(x, 1000)))}.",
          class = "distribution")
  reads[[family]](par)
}

# One reading of predictions and outcomes for every kernel statistic. A list of
#   law  ce_distribution of real-valued or count outcomes, or NULL for classes
#   predictions  ce_predictions for classes, or NULL
#   y  outcomes: n x d matrix (labels 1..K for classes), group: NULL or a vector, n, na
#   rows, n_input  which rows of the input were kept (repeated by frequency weights), of how many
#   dropped  how many rows were incomplete (with predictive distributions)
#   design  what each row counts and which belong together (R/design.R)
read_laws <- function(x, truth, dots = list(), event_level = "first", na_rm = TRUE, design = NULL) {
  if (is_read(x)) return(if (is_real(x)) x else class_laws(as_predictions(x, truth, design = design)))
  check_flag(na_rm)
  check_truth_given(truth)
  if (is.data.frame(x)) {
    x <- ungroup_frame(x)
    law <- law_in_frame(x, dots)
    if (!is.null(law)) {
      columns <- select_columns(truth, x, "truth")
      y <- if (length(columns) == 1) x[[columns]] else unname(as.matrix(x[unname(columns)]))
      return(join_laws(law, y, event_level, na_rm, read_design(design, x, nrow(x))))
    }
  } else if (is_law(x)) {
    check_no_columns(x, dots)
    y <- outcome_vector(truth)
    laws <- join_laws(x, y, event_level, na_rm, read_design(design, NULL, NROW(y)))
    return(replace(laws, "kept", list(attr(x, "kept"))))
  }
  class_laws(as_predictions(x, truth, dots, event_level, na_rm, design = design))
}

laws_of <- function(x, input) read_laws(x, input$truth, input$dots, input$event_level, input$na_rm, input$design)

# Rows that stand for several are repeated unless they are of classes.
counted_laws <- function(part, input) {
  laws <- laws_of(part, input)
  if (is_real(laws)) single_copies(laws) else laws
}

# Outcomes as they are given: a vector, or a matrix of several dimensions.
law_outcomes <- function(laws) if (ncol(laws$y) == 1) laws$y[, 1] else laws$y

# The input of a metric: predictive distributions or class probabilities.
law_or_classes <- function(laws) if (is_real(laws)) replace(laws, "n", copy_count(laws$design)) else laws$predictions

# Missing predictions: NA of a vector of the package, or of distributional.
law_missing <- function(law) {
  if (!inherits(law, "distribution")) return(if (is_distribution(law)) vctrs::vec_detect_missing(law) else FALSE)
  vapply(vctrs::vec_data(law), function(d) is.null(d) || inherits(d, "dist_na"), NA)
}

# They take the place of any other prediction, in rows that are then left out.
fill_missing <- function(law, missing) {
  if (!any(missing)) return(law)
  if (all(missing)) return(pred_normal(numeric(length(law)), 1))
  law[missing] <- law[which(!missing)[1]]
  law
}

# A column, an expression of columns, a vector of the caller's, or a selection of columns. A vector comes first: as a
# selection, integer codes would be read as positions of columns.
read_group <- function(group, x) {
  value <- tryCatch(rlang::eval_tidy(group, data = data_mask(x)), error = function(cnd) cnd)
  if (is.null(value)) return(NULL)
  if (vctrs::vec_is(value)) {
    if (vctrs::vec_size(value) == nrow(x)) return(value)
    named <- is.character(value) && all(value %in% names(x))
    if (rlang::quo_is_symbol(group) && !named) check_group_size(vctrs::vec_size(value), nrow(x))
  }
  columns <- select_columns(group, x, "group")
  if (length(columns) == 1) x[[columns]] else tibble::as_tibble(x[unname(columns)])
}

# The values of a `group` argument, NULL where there is none.
group_values <- function(group, x) {
  value <- if (is.data.frame(x)) read_group(group, ungroup_frame(x)) else row_vector(group, "group")
  stop_if(!is.null(value) && !vctrs::vec_is(value),
          "{.arg group} must be a vector or a data frame, with a value per observation.",
          "x" = "It is {.cls {class(value)[1]}}.", arg = "group")
  value
}

# The distributions that are given: a vector, or a column of a data frame; NULL where there are none.
law_given <- function(x, dots) if (is.data.frame(x)) law_in_frame(ungroup_frame(x), dots) else if (is_law(x)) x

# The column of predictive distributions, or the expression that makes one of parameter columns: pred_normal(mu, sd).
law_in_frame <- function(x, dots) {
  if (length(dots) == 1) {
    if (makes_law(dots[[1]])) {
      law <- rlang::try_fetch(rlang::eval_tidy(dots[[1]], data = data_mask(x)), error = function(cnd) {
        if (inherits(cnd, "calibrisk_error")) return(rlang::zap())
        stop_input("{.arg ...} cannot be evaluated as predictive distributions.", class = "distribution", arg = "...",
                   parent = cnd)
      })
      # others are computed columns, which are none
      if (is_law(law)) return(law)
    }
    columns <- select_columns(rlang::quo(c(!!!dots)), x, "...")
    if (length(columns) == 1 && is_law(x[[columns]])) return(x[[columns]])
    return(NULL)
  }
  laws <- which(vapply(x, is_law, NA))
  if (length(dots) == 0 && length(laws) == 1) x[[laws]] else NULL
}

makes_law <- function(quo) {
  expr <- rlang::quo_get_expr(quo)
  maker <- if (rlang::is_call(expr)) rlang::call_name(expr)
  !is.null(maker) && grepl("^(pred|dist)_", maker)
}

class_laws <- function(predictions) {
  n <- n_obs(predictions)
  probs <- simplex_probs(predictions)
  truth <- simplex_truth(predictions)
  list(law = NULL, probs = probs, y = matrix(as.numeric(truth)), levels = predictions$levels,
       n = if (predictions$na) n + predictions$dropped else n, na = predictions$na, rows = predictions$rows,
       n_input = predictions$n_input, design = predictions$design, predictions = predictions, kept = predictions$kept)
}

join_laws <- function(law, y, event_level, na_rm, raw = list()) {
  missing <- law_missing(law)
  law <- rlang::try_fetch(as_distribution(fill_missing(law, missing)), error = function(cnd) {
    stop_input("{.arg x} cannot be read as predictive distributions.", class = "distribution", parent = cnd)
  })
  # outcomes may be a matrix; a longer or shorter one is an error below
  if (any(missing) && NROW(y) == length(missing)) vctrs::vec_slice(y, missing) <- NA
  probs <- class_probs(law)
  if (!is.null(probs)) return(class_laws(new_predictions(probs, y, event_level, na_rm, raw = raw)))
  y <- numeric_outcomes(y, length(law), dimension_of(law))
  check_magnitude(y, parameters_of(law))
  binary <- family_of(law) == "draws" && length(y) > 0 && all(y %in% c(0, 1, NA))
  stop_if(binary && all(abs(par_of(law, "draws") - 0.5) < 0.5),
          "Draws must be of the outcomes.",
          "x" = "All outcomes are 0 or 1, and all draws lie between them, as draws of a probability do.",
          "i" = "Functions of probabilities read one for each row, such as the mean of its draws, which \\
                 {.fn ce_predictions} adds to data.",
          class = "distribution", arg = "x")
  complete <- complete_rows(y, TRUE, na_rm, raw = raw)
  keep <- complete$rows
  if (!complete$whole) {
    y <- y[keep, , drop = FALSE]
    law <- law[keep]
  }
  if (is_count(law)) check_count_outcomes(y, keep)
  structure(list(law = law, probs = NULL, y = y, levels = NULL,
                 n = if (complete$na) complete$n_input else length(keep), na = complete$na, rows = keep,
                 n_input = complete$n_input, dropped = complete$dropped, design = bind_design(raw, keep)),
            is_read = TRUE)
}

# Class probabilities, of predictions that are made of them.
class_probs <- function(law) {
  probs <- record_of(law)$probs
  if (!is.null(probs)) probs(law)
}

# Outcomes of n predictions of d numbers: a matrix with a row per prediction. Missing values are left out later.
numeric_outcomes <- function(y, n, d = 1L) {
  y <- plain_truth(y)
  stop_if(is.factor(y) || !is.numeric(y) && !is.logical(y), "{.arg truth} must be numeric for predictions of numbers.",
          "x" = "It is {.cls {class(y)[1]}}.",
          "i" = "Classes are predicted by probabilities, as in {.code skce(p, y)}.", class = "truth", arg = "truth")
  y <- unname(as.matrix(y))
  storage.mode(y) <- "double"
  stop_if(ncol(y) != d, "{.arg truth} must have the dimension of the predictions.",
          "x" = "It has {ncol(y)} column{?s}, the predictions have dimension {d}.", class = "length", arg = "truth")
  check_length(n, nrow(y))
  row <- if (!all_finite(y)) which(rowSums(is.nan(y) | is.infinite(y)) > 0)[1]
  stop_if(isTRUE(row > 0), "{.arg truth} must be finite.", "x" = "Row {row} is {.val {y[row, 1]}}.",
          class = "truth", arg = "truth", row = row)
  y
}

largest_number <- 1e50

# Products of a few squares have to be finite: of outcomes y and parameters, a list by their names.
check_magnitude <- function(y, parameters, arg = "x") {
  values <- c(list(truth = y), parameters)
  values <- vapply(values, function(v) if (all_within(v, -largest_number, largest_number)) 0 else
    max(0, abs(v), na.rm = TRUE), 0)
  bad <- which(values > largest_number)
  stop_if(length(bad) > 0, "Outcomes and parameters of predictions must be at most {largest_number} in absolute value.",
          "x" = "The largest {.field {names(values)[bad[1]]}} is {.val {values[[bad[1]]]}}.", "i" = "Use other units.",
          class = if (bad[1] == 1) "truth" else "distribution", arg = if (bad[1] == 1) "truth" else arg)
}

check_count_outcomes <- function(y, rows, arg = "truth") {
  bad <- which(y < 0 | y != round(y))[1]
  stop_if(!is.na(bad), "Outcomes of predictions of counts must be counts.",
          "x" = "Row {rows[bad]} is {.val {signif(y[bad], 7)}}.",
          "i" = "Other numbers are predicted by other families, such as {.fn pred_normal}.", class = "truth", arg = arg)
}

#' @rdname pred
#' @export
pred_mixture <- function(..., weights = NULL) {
  parts <- lapply(list(...), as_distribution)
  stop_if(length(parts) == 0, "A mixture needs components.", "x" = "{.arg ...} is empty.", class = "distribution")
  sizes <- lengths(parts)
  n <- max(sizes, if (is.matrix(weights)) nrow(weights))
  stop_if(any(sizes != n & sizes != 1L), "Components must have the same length, or length 1.",
          "x" = "They have {sizes}.", class = "distribution")
  parts <- lapply(parts, vctrs::vec_recycle, n)
  weight <- mixture_weights(weights, n, length(parts))
  families <- unique(vapply(parts, family_of, ""))
  dimensions <- unique(vapply(parts, dimension_of, 1L))
  mixed <- unique(lapply(parts, function(p) record_of(p)$mixed$family))
  stop_if(length(mixed) > 1 || is.null(mixed[[1]]) || length(dimensions) > 1,
          "Components must be of one family (normal, Laplace or multivariate normal) and dimension.",
          "x" = "They are {.val {families}} in dimension {dimensions}.",
          "i" = "Any other mixture can be given by its draws: {.fn pred_draws}.", class = "distribution")
  # covariances of independent coordinates are stored as variances
  value <- function(p, name) if (name == "cov") full_covariance(p) else par_of(p, name)
  gather <- function(field) {
    do.call(cbind, lapply(parts, function(p) value(p, record_of(p)$mixed$fields[[field]])))
  }
  fields <- lapply(stats::setNames(nm = names(record_of(parts[[1]])$mixed$fields)), gather)
  new_distribution(c(list(weight = weight), fields), mixed[[1]], dimensions, length(parts))
}
