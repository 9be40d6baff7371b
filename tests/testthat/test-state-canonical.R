canonical_sample <- function(n, seed = 1) {
  withr::with_seed(seed, {
    p <- matrix(rexp(3 * n), n, dimnames = list(NULL, c("a", "b", "c")))
    p <- p / rowSums(p)
    truth <- apply(p^1.7, 1, function(weights) sample(3, 1, prob = weights))
  })
  block <- block_parts(id_units(seq_len(n)), ce_state()$spec)
  block <- match(block, sort(unique(block)))
  list(p = p, y = factor(c("a", "b", "c")[truth]), block = block,
       fold = fold_of_blocks(max(block), ce_state()$spec)[block])
}

# h on the rows of a fold, from the Gram matrix of the training rows' features.
naive_h <- function(type, phi, e, train, held, ridge) {
  n <- sum(train)
  gram <- tcrossprod(phi[train, ])
  between <- tcrossprod(phi[train, ], phi[held, ])
  if (type == "ukkr") return(crossprod(crossprod(e[train, ], solve(gram + diag(ridge * n, n), between))))
  pairs <- solve(kronecker(gram, gram) + diag(ridge * n^2, n^2), c(tcrossprod(e[train, ])))
  t(between) %*% matrix(pairs, n) %*% between
}

test_that("kernel ridges on landmarks are those of the rows' features", {
  d <- canonical_sample(45)
  state <- update(ce_state(notion = "canonical", landmarks = 6), d$p, d$y, id = 1:45)
  phi <- factor_map_features(landmark_map(state$about), unname(d$p))
  # features of the landmarks: their kernel's matrix
  expect_close(tcrossprod(landmark_map(state$about)$triangle),
               exp(-as.matrix(dist(landmark_map(state$about)$pivot_rows))^2), tol$oracle)
  e <- unname(d$p) - outer(as.integer(d$y), 1:3, `==`)
  sums <- ce_tune(state)
  table <- tidy(sums)
  table <- table[table$fold == 2 & table$value > 1e-8 & seq_len(nrow(table)) %% 3 == 0, ]
  expect_setequal(table$method, c("kkr", "ukkr"))
  train <- d$fold > 0 & d$fold != 2
  for (i in seq_len(nrow(table))) {
    h <- naive_h(table$method[i], phi, e, train, d$fold == 2, table$value[i])
    loss <- (tcrossprod(e[d$fold == 2, ]) - h)^2
    pairs <- outer(d$block[d$fold == 2], d$block[d$fold == 2], `!=`)
    expect_close(table$risk[i], mean(loss[pairs]), 1e-10)
    expect_close(table$squared_error[i], mean(diag(h)), 1e-10)
    if (table$method[i] != "ukkr") next
    other <- naive_h("ukkr", phi, e, train, d$fold == 0, table$value[i])
    expect_close(table$squared_error_test[i], mean(diag(other)), 1e-10)
  }
  # on test rows, by the functions that predict()
  for (m in 1:2) {
    row <- glance(sums)[m, ]
    squared <- predict(sums, d$p[d$fold == 0, ], method = row$method)
    expect_close(row$squared_holdout, mean(squared), 1e-12)
    of_test <- new_design(length(squared), cluster = match(d$block, unique(d$block[d$fold == 0]))[d$fold == 0])
    error <- row_std_error(squared, of_test) / (2 * row$estimate_holdout)
    expect_equal(row$std.error_holdout, if (mean(squared) > 0) error else NA_real_, tolerance = 1e-6)
  }
})

test_that("with all rows as landmarks they are those in memory, where the ridge does not see what the factor leaves", {
  d <- canonical_sample(36, 2)
  state <- update(ce_state(notion = "canonical", landmarks = d$p), d$p, d$y, id = 1:36)
  sums <- tidy(ce_tune(state))
  rows <- tidy(ce_tune(d$p, d$y, notion = "canonical", folds = d$fold, test = which(d$fold == 0), cluster = d$block,
                       methods = list(kkr = method_kkr(), ukkr = method_ukkr())))
  expect_identical(sums[c("method", "fold")], rows[c("method", "fold")])
  seen <- rows$value > 0.2
  for (name in c("value", "risk", "squared_error", "squared_error_test")) {
    expect_close(sums[[name]][seen], rows[[name]][seen], 1e-8)
  }
})

test_that("chunks change nothing, and landmarks stay those of the first rows", {
  d <- canonical_sample(300)
  whole <- update(ce_state(notion = "canonical", landmarks = 7), d$p, d$y)
  empty <- ce_state(notion = "canonical", landmarks = whole$about$landmarks)
  parts <- lapply(split(1:300, rep(1:3, c(10, 250, 40))), function(rows) update(empty, d$p[rows, ], d$y[rows]))
  merged <- c(parts[[3]], parts[[1]], parts[[2]])
  expect_same_numbers(as.list(glance(ce_tune(merged))), as.list(glance(ce_tune(whole))), 1e-11)
  first <- update(new_state(whole$spec), d$p[1:100, ], d$y[1:100])
  expect_identical(update(first, d$p[101:300, ], d$y[101:300])$about$landmarks, first$about$landmarks)
  other <- update(new_state(whole$spec), d$p[101:300, ], d$y[101:300])
  expect_error(c(first, other), class = "calibrisk_error_landmarks")
  # columns by their names
  turned <- update(ce_state(notion = "canonical", landmarks = d$p[1:5, 3:1]), d$p, d$y)
  expect_identical(turned$about$landmarks, unname(d$p[1:5, ]))
})

test_that("what canonical sums do not hold says so", {
  d <- canonical_sample(60)
  state <- update(ce_state(notion = "canonical"), d$p, d$y)
  expect_output(print(state), "20 landmarks of the first rows")
  expect_error(ce_estimate(state), class = "calibrisk_error_notion")
  expect_error(ce_panel(state), class = "calibrisk_error_notion")
  expect_error(ce_tune(update(new_state(state$spec), d$p[1:8, ], d$y[1:8])), class = "calibrisk_error_folds")
  for (landmarks in list(1, 100, matrix(1, 3, 3), "a")) {
    expect_error(ce_state(notion = "canonical", landmarks = landmarks), class = "calibrisk_error_argument")
  }
  few <- ce_state(notion = "canonical", landmarks = diag(2))
  expect_error(update(few, d$p, d$y), class = "calibrisk_error_argument")
})

test_that("columns of landmarks are matched by name, rows are probabilities, and there are two", {
  d <- canonical_sample(40)
  marks <- d$p[1:4, ]
  about <- function(marks) update(ce_state(notion = "canonical", landmarks = marks), d$p, d$y)$about$landmarks
  known <- about(unname(marks))
  expect_error(ce_state(notion = "canonical", landmarks = marks * c(1, 1, .5, 1)), "Row 3 sums to 0.5; 1 of 4",
               class = "calibrisk_error_argument")
  state <- ce_state(notion = "canonical")
  expect_error(update(state, d$p[1, , drop = FALSE], d$y[1]), "two different rows", class = "calibrisk_error_landmarks")
  expect_error(update(state, d$p[c(1, 1), ], d$y[1:2]), "It has 1", class = "calibrisk_error_landmarks")
})

test_that("weighted and clustered rows are tuned as by the rows' features, with the errors of blocks", {
  d <- canonical_sample(240, 3)
  w <- withr::with_seed(4, rexp(240))
  cluster <- withr::with_seed(5, sample(80, 240, TRUE))
  empty <- ce_state(notion = "canonical", landmarks = d$p[1:7, ])
  for (weights in list(NULL, w)) {
    state <- update(empty, d$p, d$y, weights = weights, cluster = cluster)
    sums <- ce_tune(state)
    block <- block_parts(id_units(cluster), empty$spec)
    block <- match(block, sort(unique(block)))
    fold <- fold_of_blocks(max(block), empty$spec)[block]
    problem <- new_problem(unname(d$p), unname(d$p) - outer(as.integer(d$y), 1:3, `==`), as.integer(d$y),
                           design = new_design(240, weights, block))
    by_rows <- lapply(names(sums$forms), function(m) lapply(1:5, function(f) {
      at <- fold == f
      form_risk(sums$forms[[m]][[1]][[f]], problem$features[at, ], problem$residuals[at, ],
                design_rows(problem$design, at))
    }))
    risk <- vapply(by_rows, function(folds) mean(vapply(folds, `[[`, 0, "risk")), 0)
    expect_close(glance(sums)$risk, risk, tol$oracle)
    designs <- lapply(1:5, function(f) design_rows(problem$design, fold == f))
    one <- paired_difference(lapply(by_rows[[1]], `[[`, "projections"), lapply(by_rows[[2]], `[[`, "projections"), designs)
    other <- which(!glance(sums)$selected)
    expect_close(abs(glance(sums)$difference[other]), abs(one$difference), 1e-6)
    expect_close(glance(sums)$difference_std.error[other], one$std.error, 1e-6)
    squared <- Reduce(`+`, lapply(sums$forms$ukkr[[1]], form_squared, problem$features[fold == 0, ])) / 5
    expect_close(glance(sums)$squared_holdout[2], row_mean(squared, design_rows(problem$design, fold == 0)), tol$oracle)
    expect_output(print(sums), paste0(if (is.null(weights)) "Clustered rows" else "Weighted, clustered rows \\(effective",
                                      ".*", "7\\s+landmarks"))
  }
})
