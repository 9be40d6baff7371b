# Byte code of all functions would weigh 1.3 of the 5 MB that an installed package may have (`ByteCompile` is false),
# and without any R compiles what a first ce_tune() calls, inner functions again and again, for half of its time. So
# what ce_tune() and ce_estimate() of plain rows of one probability can reach, with all methods of the generics among
# it, is compiled while the package is built. R compiles the others where they are called often.
compile_reached <- function(start, namespace) {
  functions <- Filter(function(name) is.function(namespace[[name]]), ls(namespace, all.names = TRUE))
  elsewhere <- paste0(
    "database|state|horizon|censor|surviv|follow_up|cluster|weighted|worker|source|group|", # rows that are not plain
    "canonical|class_wise|simplex|matrix|adapt|krylov|unseen|further|factor|gram|landmark|", # vectors
    "power|ensemble|stack|form_function|steps|rset|", # methods that are asked for
    "family|mixture|temper|parameter|", # predictive distributions
    "stop|warn|tell|plural|brace|nearest|neighbour|sentence|tidy|glance" # words
  )
  functions <- grep(elsewhere, functions, value = TRUE, invert = TRUE)
  calls <- lapply(mget(functions, envir = namespace), function(f) all.names(body(f)))
  reached <- character()
  while (length(start) > 0) {
    reached <- c(reached, start)
    generics <- Filter(function(name) "UseMethod" %in% calls[[name]], start)
    methods <- unlist(lapply(generics, function(name) functions[startsWith(functions, paste0(name, "."))]))
    start <- setdiff(intersect(c(unlist(calls[start]), methods), functions), reached)
  }
  for (name in reached) assign(name, compiler::cmpfun(namespace[[name]]), namespace)
}
compile_reached(c("ce_tune", "ce_estimate"), environment())
