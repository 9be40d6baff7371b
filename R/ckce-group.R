# Covariates that calibration conditions on besides the prediction (Moskvichev & Sejdinovic 2025, section 3.3): a kernel
# on groups or covariates that multiplies the one on predictions.

# values: NULL, an atomic vector, a matrix or a data frame, one row per observation; data: what was read of these.
ckce_group <- function(values, group_kernel, data) {
  if (is.null(values)) {
    stop_if(!is.null(group_kernel), "{.arg group_kernel} needs {.arg group}.", arg = "group_kernel")
    return(NULL)
  }
  check_group_size(vctrs::vec_size(values), data$n_input)
  values <- vctrs::vec_slice(values, data$rows)
  stop_if(any(vctrs::vec_detect_missing(values)), "{.arg group} must not have missing values.",
          "x" = "{sum(vctrs::vec_detect_missing(values))} of {length(data$rows)} are missing.",
          "i" = "Drop these rows, or give them a group of their own.", class = "group", arg = "group")
  if (is_kernel(group_kernel)) {
    # 1 + kernel: without the constant, linear functions of the prediction would not lie in the product's space on a
    # continuous covariate, and CKCE's population value need not exist
    check_feature_kernel(group_kernel, "group_kernel")
    features <- as_features(values, "group")
    return(list(type = "kernel", features = features, kernel = resolve_kernel(group_kernel, features)))
  }
  type <- check_choice(group_kernel %||% "delta", c("delta", "shared"), "group_kernel")
  id <- as.integer(vctrs::vec_group_id(values))
  keys <- vctrs::vec_unique(values)
  labels <- if (is.data.frame(keys)) key_labels(keys) else if (is.matrix(keys)) {
    apply(keys, 1, paste, collapse = ", ")
  } else if (is.atomic(keys)) keys else format(keys)
  list(type = type, id = id, labels = labels, features = matrix(as.numeric(id)), kernel = kernel_white())
}
