# The layers of R/: calls that point up and the largest cycle of files; fails on the first call that points up and
# where a cycle has more than 17 files (the readers of predictions and outcomes, one room). Also counts the lines of R
# code, the exported names, and the arguments of the exported functions that have an argument for outcomes.
#
#   Rscript tools/layers.R [up] [cycle]    also lists the calls, the files of the cycle
#
# A room is a set of files and may call itself and the rooms above it in this table; CONTRIBUTING says what each is for.
# Of several patterns that fit a file's name the last one counts. Calls are those that codetools finds in the functions
# of the installed namespace, in its lists of functions, and in lines that run when the package is built (descriptions
# of objects, values that functions make). That a generic finds its method, or check_object() a description, is no call.
rooms <- c(
  util   = paste0("^util-|^(args|calibrisk-package|check|choice|collect|condition-text|conditions|",
                  "data|describe-(object|values)|dots|formula|meant-words|memory|mended-line|probability-remedies|",
                  "progress|RcppExports|table|threads|values|workers|zzz-.*|plot-theme)$"),
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
  many   = "^many-|^(state.*|source.*|database.*|monitor.*)$",
  verb   = "^(verb|object)-|^(estimate|power.*|compare.*|rank.*|validate.*|model-(predictions|types))$",
  show   = "^show-|-(print|plot)(-|$)|^(plot|kable.*|report.*|headline-words|page-sentences)$"
)
asked <- commandArgs(TRUE)
most_files <- 17
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
code <- unlist(lapply(setdiff(files, "RcppExports.R"), function(file) readLines(file.path("R", file))))
lines <- sum(!grepl("^\\s*(#|$)", code))
cat(sprintf("Lines of R code (no comments, no blank lines): %s\n", format(lines, big.mark = ",")))
exported <- mget(getNamespaceExports(namespace), namespace, inherits = TRUE)
arguments <- lapply(exported, function(x) names(formals(x)))
of_outcomes <- Filter(function(names) "truth" %in% names, arguments)
cat(sprintf("Exported names: %d; arguments of the %d functions with outcomes: %d\n", length(exported),
            length(of_outcomes), length(unlist(of_outcomes))))
if (length(lost) > 0 || nrow(up) > 0 || length(cycle) > most_files) {
  cat("R/ is not as CONTRIBUTING says: name a room for each file, and let no call point up (`make layers LIST=up`).\n")
  quit(status = 1)
}
