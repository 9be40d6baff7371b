# The layers of R/ and the price of its abilities: fails where a call points up, or a count is above its ceiling. A
# ceiling goes down with every change that leaves room, and up only in a commit that says why.
#
#   Rscript tools/layers.R [up] [cycle]    also lists the calls, the files of the cycle
#
# A room is a set of files and may call itself and the rooms above it in this table; CONTRIBUTING says what each is for.
# Of several patterns that fit a file's name the last one counts. Calls are those that codetools finds in the functions
# of the installed namespace, in its lists of functions, and in lines that run when the package is built (values
# that functions make). That a generic finds its method is no call.
rooms <- c(
  util   = paste0("^util-|^(args|calibrisk-package|check|choice|conditions|data|",
                  "dots|meant-words|memory|progress|RcppExports|table|threads|values|workers|plot-theme)$"),
  kern   = "^kern-|^kernel(-scale)?$",
  law    = "^law-|^(family.*|distribution)$",
  row    = paste0("^row-|^(design.*|predictions.*|group.*|horizon|folds|take-rows|event-words|notion|",
                  "tune-results|distribution-read|summary)$"),
  est    = "^est-|^(influence|crossfit|pair-clusters|risk-statistics|resample)$",
  pair   = "^pair-(?!risk|clusters)|^(kernel-d.*|kernel-features|ckce-(engine|features|group|input))$",
  ladder = "^ladder(-.*)?$",
  form   = "^form(-.*)?$|^pair-risk.*$",
  meth   = "^meth-|^method(-.*)?$",
  metric = paste0("^metric-|^(score-.*|moments|pit|ece-bias|smooth-limits|skce(-factor|-sums)?|",
                  "ucme|hierarchy|ckce(-choices|-law|-null|-ridge)?)$"),
  map    = "^map-|^(recal-.*|recalibrate|gain.*)$",
  test   = "^test-|^ce-test(-.*)?$",
  curve  = "^curve(-.*)?$|^decision(-.*)?$",
  tune   = "^tune(-tables|-methods|-folds)?$|^(fit|fit-fingerprint|risk)$",
  many   = "^many-|^(state.*|source.*|database.*)$",
  verb   = "^verb-|^(coverage|estimate|power.*|compare.*|rank.*|validate.*|model-(packages|predictions|types))$",
  show   = "^show-|-(print|plot)(-|$)|^(plot|kable.*|report.*|headline-words|page-sentences)$"
)
asked <- commandArgs(TRUE)
# The goals were 100 exports and 330 arguments. Seven exports came with later work: ce_panel(), ce_moments(),
# ce_grades(), ce_pool(), ce_meta(), ce_optimism(), pred_quantiles(). Of the arguments 340 are the twelve that verbs
# share: x, truth, ..., .by, weights, cluster, horizon, event_level, level, notion, times, na_rm.
ceilings <- c(
  "files of the largest cycle" = 6, "lines of R code" = 17497, "exported names" = 107,
  "arguments of functions with outcomes" = 442, "lines of test code" = 21000, "lines of the longest help page" = 150
)
namespace <- loadNamespace(read.dcf("DESCRIPTION", "Package")[1])
files <- sort(list.files("R", "[.]R$"))
room_of <- function(file) {
  hit <- vapply(rooms, grepl, logical(length(file)), x = sub("[.]R$", "", file), perl = TRUE)
  hit <- matrix(hit, length(file))
  ifelse(rowSums(hit) > 0, max.col(hit + 0, "last"), NA)
}
code <- lapply(setNames(nm = files), function(file) as.list(parse(file.path("R", file), keep.source = FALSE)))
assigns <- function(e) is.call(e) && is.name(e[[2]]) && deparse(e[[1]])[1] %in% c("<-", "=")
assigned <- function(code) unique(vapply(Filter(assigns, code), function(e) as.character(e[[2]]), ""))
defined <- lapply(code, assigned)
home <- setNames(rep(files, lengths(defined)), unlist(defined))
home <- home[names(home) %in% ls(namespace, all.names = TRUE)]
closures <- function(x, depth = 0) {
  if (is.primitive(x)) NULL else if (is.function(x)) list(x) else if (is.list(x) && depth < 3) {
    unlist(lapply(unclass(x), closures, depth + 1), recursive = FALSE)
  }
}
calls <- do.call(rbind, lapply(names(home), function(name) {
  globals <- unlist(lapply(closures(get(name, namespace)), codetools::findGlobals, merge = TRUE))
  to <- setdiff(intersect(globals, names(home)), name)
  if (length(to) > 0) data.frame(from = name, to = to, file = unname(home[name]), other = unname(home[to]))
}))
built <- do.call(rbind, lapply(files, function(file) {
  is_function <- function(e) assigns(e) && is.call(e[[3]]) && identical(e[[3]][[1]], quote(`function`))
  lines <- Filter(Negate(is_function), code[[file]])
  globals <- codetools::findGlobals(as.function(list(as.call(c(quote(`{`), lines)))), merge = TRUE)
  to <- setdiff(intersect(globals, names(home)), defined[[file]])
  if (length(to) > 0) data.frame(from = paste("lines of", file), to = to, file = file, other = unname(home[to]))
}))
calls <- rbind(calls, built)
largest_cycle <- function(from, to) {
  nodes <- unique(c(from, to))
  reach <- diag(length(nodes))
  reach[cbind(match(from, nodes), match(to, nodes))] <- 1
  repeat {
    further <- (reach %*% reach > 0) + 0
    if (sum(further) == sum(reach)) break
    reach <- further
  }
  both <- reach * t(reach)
  nodes[both[which.max(rowSums(both)), ] > 0]
}
up <- calls[which(room_of(calls$other) > room_of(calls$file)), ]
cycle <- largest_cycle(calls$file, calls$other)
in_rooms <- largest_cycle(names(rooms)[room_of(calls$file)], names(rooms)[room_of(calls$other)])
lost <- files[is.na(room_of(files))]
cat(sprintf("%d functions and values in %d files and %d rooms; %d calls, %d of them between files\n", length(home),
            length(files), length(rooms), nrow(calls), sum(calls$file != calls$other)))
if (length(lost) > 0) cat("No room:", lost, "\n")
cat(sprintf("Calls that point up: %d, to %d functions\n", nrow(up), length(unique(up$to))))
cat(sprintf("Largest cycle: %d files, %d rooms\n", length(cycle), length(in_rooms)))
if ("up" %in% asked) {
  room <- names(rooms)[room_of(up$other)]
  cat(sort(sprintf("%s (%s, %s) <- %s (%s)", up$to, up$other, room, up$from, up$file)), sep = "\n")
}
if ("cycle" %in% asked) cat(cycle, fill = 120)
lines_of <- function(files) sum(!grepl("^\\s*(#|$)", unlist(lapply(files, readLines, warn = FALSE))))
rendered_lines <- function(page) length(capture.output(tools::Rd2txt(page, options = list(underline_titles = FALSE))))
exported <- mget(getNamespaceExports(namespace), namespace, inherits = TRUE)
of_outcomes <- Filter(function(names) "truth" %in% names, lapply(exported, function(x) names(formals(x))))
counts <- setNames(c(
  length(cycle), lines_of(file.path("R", setdiff(files, "RcppExports.R"))), length(exported),
  length(unlist(of_outcomes)), lines_of(list.files("tests/testthat", "[.](R|dcf)$", full.names = TRUE)),
  max(vapply(list.files("man", "[.]Rd$", full.names = TRUE), rendered_lines, 1L))
), names(ceilings))
cat(sprintf("%s: %s (at most %s)\n", names(counts), format(counts, big.mark = ","), format(ceilings, big.mark = ",")),
    sep = "")
if (length(lost) > 0 || nrow(up) > 0 || any(counts > ceilings)) {
  cat("R/ is not as CONTRIBUTING says: name a room for each file, let no call point up (`make layers LIST=up`), and",
      "stay below the ceilings.\n")
  quit(status = 1)
}
