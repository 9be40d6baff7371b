# Small functions of values that many files use.

drop_null <- function(x) x[!vapply(x, is.null, NA)]

# Without the dimension of an array that has one, or of a single column.
plain_vector <- function(x) if (is.null(dim(x)) || is.object(x) && !is.table(x) || NCOL(x) > 1) x else as.vector(x)

# The numbers of a vector, also of a class of vctrs that has no such conversion: labelled columns without haven.
as_numbers <- function(x) if (is.numeric(x) && !is.object(x)) as.numeric(x) else
  tryCatch(as.numeric(x), error = function(cnd) as.numeric(vctrs::vec_data(x)))

`%|%` <- function(x, y) if (is.na(x)) y else x

# Seed for the counters of the core, from R's generator.
draw_seed <- function() floor(stats::runif(1) * 2^52)

# The value of an expression under this seed of R's default generators; the user's generators and random numbers stay as
# they were.
with_seed_kept <- function(seed, value) {
  old <- globalenv()$.Random.seed
  kinds <- as.list(RNGkind())
  on.exit({
    suppressWarnings(do.call(RNGkind, kinds)) # of "Rounding"
    if (is.null(old)) rm(".Random.seed", envir = globalenv()) else assign(".Random.seed", old, globalenv())
  })
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  force(value)
}

split_columns <- function(x) lapply(seq_len(ncol(x)), function(k) x[, k])

# Predictions and outcomes as one of the readers returned them? A class would make every look at a field take ten times
# as long.
is_read <- function(x) isTRUE(attr(x, "is_read"))

# A list without a class, such as one of several models. What was read is none.
is_bare_list <- function(x) is.list(x) && !is.object(x) && !is_read(x)

# Several of them, by the names of their models: see ce_models()?
is_models <- function(x) inherits(x, "ce_models")

# Are these predictions of a number? Otherwise they are of classes.
is_real <- function(data) !is.null(data[["law"]])

n_classes <- function(predictions) length(predictions$levels)

is_table <- function(x) inherits(x, "tbl_lazy")

is_state <- function(x) inherits(x, "ce_state")

has_sums <- function(x) is_state(x) || is_table(x)

# `y`, the last name of `data$y`; else NULL.
variable_name <- function(expr) {
  if (rlang::is_symbol(expr)) return(as.character(expr))
  if (rlang::is_call(expr, "$") && rlang::is_symbol(expr[[3]])) as.character(expr[[3]])
}

is_given <- function(quo) !rlang::quo_is_null(quo) && !rlang::quo_is_missing(quo)
