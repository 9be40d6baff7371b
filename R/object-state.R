# Fields of states.

# A spec serves many chunks.
spec_rule <- once(remade(function(x) {
  inside <- function(values) if (is.numeric(values) && length(values) > 1) values[-c(1, length(values))] else values
  canonical <- identical(x$notion, "canonical")
  equal <- are_numbers(x$n_bins, 1, 1) && are_numbers(x$bins, x$n_bins + 1, 0) &&
    isTRUE(all(x$bins == (0:x$n_bins) / x$n_bins))
  choices <- c(
    list(notion = x$notion, knots = x$knots, grid = x$grid, folds = x$folds, test = x$test, blocks = x$blocks,
         event_level = x$event_level),
    if (equal) list(n_bins = x$n_bins) else list(breaks = if (is.null(x$bins)) NA else inside(x$bins)),
    if (canonical) list(landmarks = x$landmarks, kernel = x$kernel)
  )
  do.call(ce_state, choices, quote = TRUE)$spec
}, c(breaks = "bins")))

about_rule <- once(fields(
  notion = one_of(c("binary", "top_label", "class_wise", "canonical")),
  levels = texts(unique = TRUE, least = 2),
  event = function(x, o) a_count(1, length(o$levels))(x, o),
  scalar = function(x, o) scalar_rule(x, o), blocked = a_flag,
  weights = one_of(c("none", "frequency", "importance")),
  owner = function(x, o) {
    ok <- is.character(x) && identical(names(x), c("given", "as")) && x[[1]] %in% c("none", "cluster", "id") &&
      x[[2]] %in% c("", "numbers", "text") && (x[[1]] == "none") == (x[[2]] == "")
    if (!ok) fault("the names `given` and `as` of what tells rows apart", x)
  },
  horizon = maybe(numbers(1)),
  landmarks = whether(function(o) o$notion == "canonical",
                      function(x, o) a_matrix(cols = length(o$levels), lower = 0, upper = 1)(x, o)),
  kernel = whether(function(o) o$notion == "canonical", described("ce_kernel")),
  also = function(x) {
    if (x$notion == "canonical" && !nrow(x$landmarks) %in% seq(2, most_landmarks)) {
      return(fault(paste("2 to", most_landmarks, "rows"), x$landmarks, "$landmarks"))
    }
    grouped <- x$weights == "importance" || x$owner[["given"]] == "cluster"
    if (x$blocked != grouped) fault(grouped, x$blocked, "$blocked")
  }
))

describe_object("ce_state", once(of_version(function(...) check_state_version(...), fields(
  spec = spec_rule,
  n = a_count(), dropped = a_count(),
  follow_up = function(x, o) {
    found <- numbers(2, lower = 0, whole = TRUE)(x, o)
    found %||% fault_if(!identical(names(x), c("events", "censored")), "the numbers `events` and `censored`", x)
  },
  about = whether(function(o) o$n > 0, about_rule),
  also = function(x) {
    chosen <- x$spec$notion
    if (!is.null(x$about) && !is.null(chosen) && chosen != x$about$notion) {
      return(fault(dQuote(chosen, FALSE), x$about$notion, "$about$notion"))
    }
    sums_fault(x$sums, x$spec, x$about, x$n)
  }
))))

# The sums of a state of these rows: how many there are of each, and of how many moments in turn (0: of any numbers).
sums_sizes <- function(spec, about, problem) {
  if (about$notion == "canonical") {
    q <- length(about$levels) + nrow(landmark_map(about)$pivot_rows)
    return(list(squares = c(choose(q + 1, 2) * spec$blocks, 0), rows = c(3 * spec$blocks, 0)))
  }
  classes <- about$notion == "class_wise"
  out <- lapply(sums_dim(spec, about), function(dim) c(prod(dim), dim[1]))
  out$scores[2] <- 0
  if (about$blocked || classes) out$fine[2] <- 0
  if (classes && problem == 1) out$cross <- c(choose(length(about$levels) + 1, 2), 0)
  out
}

sums_fault <- function(sums, spec, about, n) {
  problems <- if (is.null(about)) 0 else if (about$notion == "class_wise") length(about$levels) else 1
  if (!is.list(sums) || length(sums) != problems) return(fault(paste("a list of", problems), sums, "$sums"))
  for (j in seq_along(sums)) {
    found <- problem_sums_fault(sums[[j]], sums_sizes(spec, about, j)) %||%
      rows_fault(sums, j, n, about)
    if (!is.null(found)) return(within_field(found, paste0("$sums[[", j, "]]")))
  }
}

# The sums of a problem are of n rows, whose weights are those of the first problem.
rows_fault <- function(sums, j, n, about) {
  total <- function(name, of = j, step = 1L, from = 1L) {
    x <- sums[[of]][[name]]
    sum(x[seq.int(from, nrow(x), step), ])
  }
  m <- if (about$blocked) moments_of_block else moments_of_cell
  impossible <- FALSE
  if (about$notion == "canonical") {
    totals <- c(rows = total("rows", step = 3L))
    weight <- total("rows", step = 3L, from = 2L)
  } else {
    weight <- if (about$blocked) total("moments", 1, m) else n
    cells <- about$blocked || about$notion == "class_wise"
    squares <- function(name) total("scores", step = length(score_sums), from = match(name, score_sums))
    of_weights <- squares("weight_square")
    totals <- c(moments = total("moments", step = m), if (about$blocked) c(counts = total("counts")),
                if (!about$blocked && cells) c(blocks = total("blocks", step = moments_of_block)),
                fine = total("fine", step = if (cells) 2L else moments_of_narrow),
                if (!about$blocked) c(scores = of_weights))
    scores <- rowSums(sums[[j]]$scores)
    if (any(scores < 0)) return(fault("sums of at least 0", min(scores), "$scores"))
    # residuals are at most 1, and n weights have a sum
    impossible <- max(squares("square"), weight^2 / n) > 1.000001 * of_weights || of_weights > 1.000001 * weight^2
  }
  must <- ifelse(names(totals) %in% c("counts", "rows"), n, weight)
  bad <- which(abs(totals - must) > 1e-6 * must)[1]
  first_fault(
    if (weight <= 0) fault("sums of rows with weights", weight, paste0("$", names(totals)[1])),
    if (!is.na(bad)) {
      fault(paste("sums of the same", count_of(n, "row")), totals[[bad]], paste0("$", names(totals)[bad]))
    },
    if (impossible) fault(paste("squares of weights and residuals of", count_of(n, "row")), of_weights, "$scores")
  )
}

# Moments are sums of weights, which are at most 1e50, products those of their squares, of 2^53 rows: what is larger
# cannot be, and the squares of these are finite.
largest_sum <- c(moments = 1e70, products = 1e125)

problem_sums_fault <- function(sums, sizes) {
  same <- is.list(sums) && setequal(names(sums), names(sizes))
  if (!same) return(fault(paste("a list of", toString(names(sizes))), sums))
  for (name in names(sizes)) {
    x <- .subset2(sums, name)
    size <- sizes[[name]]
    largest <- largest_sum[[if (size[2] > 1) "moments" else "products"]]
    found <- first_fault(
      fault_if(!is.matrix(x) || !is.numeric(x) || any(dim(x) != c(size[1], 2)),
               paste("a matrix of numbers of", size[1], "x 2"), x),
      fault_if(!cpp_are_sums(x, as.integer(size[2])),
               if (size[2] == 0) "finite sums" else "sums of rows with weights of at least 0", x),
      fault_if(max(0, abs(x)) > largest, paste("sums of at most", largest), max(abs(x)))
    )
    if (!is.null(found)) return(within_field(found, paste0("$", name)))
  }
}
