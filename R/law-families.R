# The families of the package. Read after the files of all of them.
for (one in mget(paste0("family_", c(
  "normal", "laplace", "poisson", "bernoulli", "categorical", "mvnormal", "mvnormal_diagonal", "draws",
  "mixture_normal", "mixture_laplace", "mixture_mvnormal", "gamma", "negbin", "t", "lognormal", "beta", "quantiles"
)))) assign(one$name, one, envir = families)
rm(one)
