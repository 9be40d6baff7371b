# Every method of a class with a description (R/describe-object.R) compares its object with it first, and refuses
# further arguments: written into the methods when the package is built.

local({
  namespace <- topenv()
  exports <- c("print", "format", "tidy", "glance", "summary", "autoplot", "plot", "predict", "augment", "update",
               "estimate", "paper_table")
  for (class in ls(object_rules)) {
    for (generic in exports) {
      name <- paste0(generic, ".", class)
      if (!exists(name, namespace, inherits = FALSE)) next
      method <- get(name, namespace)
      if (any(c("check_state", "check_monitor") %in% all.names(body(method)))) next
      own <- as.name(names(formals(method))[1])
      check <- bquote(check_object(.(own), .(as.character(own)), current_env()))
      if (generic == "print") {
        check <- bquote(if (is_reshaped(.(own))) return(print_reshaped(.(own), ...)) else .(check))
      }
      # what no one reads would be ignored; tidy() and glance() are called with options of other classes
      empty <- if (generic %in% c("autoplot", "augment", "predict") && "..." %in% names(formals(method)) &&
                     !any(c("...", "no_figure", "one_group") %in% all.names(body(method)))) quote(check_empty(...))
      body(method) <- as.call(c(quote(`{`), check, empty, body(method)))
      assign(name, method, namespace)
    }
  }
})
