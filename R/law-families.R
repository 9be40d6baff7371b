# The families of the package. Read after the files of all of them.
for (name in c("normal", "laplace", "poisson", "bernoulli", "categorical", "mvnormal", "mvnormal_diagonal", "draws",
               "mixture_normal", "mixture_laplace", "mixture_mvnormal", "gamma", "negbin", "t", "lognormal", "beta",
               "quantiles")) {
  assign(name, get(paste0("family_", name))(), envir = families)
}
rm(name)
