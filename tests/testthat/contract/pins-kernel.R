# Kernels, and the kernel statistics of classes and of laws.

local({
  kernels <- list(
    gaussian = kernel_gaussian(0.4), laplace = kernel_laplace(0.4), tv = kernel_tv(0.3), linear = kernel_linear(),
    white = kernel_white(), matern0.5 = kernel_matern(0.5, 0.4), matern1.5 = kernel_matern(1.5, 0.4),
    matern2.5 = kernel_matern(2.5, 0.4), sum = kernel_linear() + 2 * kernel_gaussian(0.2),
    product = kernel_tv(0.5) * kernel_laplace(1), gaussian_median = kernel_gaussian("median"),
    laplace_median = kernel_laplace("median"), tv_median = kernel_tv("median"),
    sum_median = kernel_linear() + kernel_gaussian("median")
  )
  for (name in names(kernels)) {
    pin(paste0("kernel_matrix/five/", name), kernel_matrix(kernels[[name]], five$p[1:40, ]))
    pin(paste0("kernel_matrix/cross/", name), kernel_matrix(kernels[[name]], three$p[1:6, ], three$p[7:30, ]))
    pin(paste0("kernel_matrix/scalar/", name), kernel_matrix(kernels[[name]], coarse$p[1:30]))
  }
  for (name in c("tv_median", "gaussian_median", "sum", "laplace")) {
    for (type in c("unbiased", "biased", "block", "block_biased")) {
      pin(paste("skce/five", type, name, sep = "/"), skce(five$p, five$y, type = type, kernel = kernels[[name]]))
    }
    pin(paste0("skce/coarse/", name), skce(coarse$p, coarse$y, kernel = kernels[[name]]))
    pin(paste0("skce/many/", name), skce(many$p, many$y, kernel = kernels[[name]]))
    for (type in c("unbiased", "biased")) {
      pin(paste("jkce/five", type, name, sep = "/"),
          skce(five$p, five$y, type = type, kernel = kernels[[name]], computation = "auto"))
    }
    pin(paste0("ckce/five/", name), ckce(five$p, five$y, kernel = kernels[[name]], computation = "dual"))
  }
})
pin("skce/default", skce(fine$p, fine$y))
pin("skce/block/2", skce(five$p, five$y, type = "block", block = 2))
pin("skce/block/10", skce(five$p, five$y, type = "block", block = 10))
pin("skce/target", skce(five$p, five$y, target_kernel = kernel_gaussian(0.7)))
pin("skce/group", skce(five$frame, truth, group = group))
pin("skce/groups", skce(five$frame, truth, .by = group))
pin("skce/tolerance", skce(three$p, three$y, tolerance = 1e-3))
pin("skce/function",
    skce(three$p[1:20, ], three$y[1:20], kernel = function(p, y, q, z) exp(-sum(abs(p - q))) * (y == z)))
pin("jkce/low_rank", skce(three$p, three$y, computation = "low_rank", kernel = "ckce"))
pin("jkce/rff", skce(three$p, three$y, computation = computation("rff", n_features = 20), kernel = kernel_gaussian(0.5)))
pin("jkce/group", skce(five$frame, truth, group = group, kernel = "ckce"))
pin("jkce/groups", skce(five$frame, truth, .by = group, kernel = "ckce"))
for (computation in c("dual", "eigen", "low_rank")) {
  for (debias in c("none", "off_diagonal", "null_mean")) {
    pin(paste("ckce/three", computation, debias, sep = "/"),
        ckce(three$p, three$y, computation = computation, debias = debias, ridge = c(0.05, 0.3)))
  }
}
pin("ckce/rff", ckce(three$p, three$y, computation = computation("rff", n_features = 20), kernel = kernel_gaussian(0.5)))
pin("ckce/frequencies",
    ckce(three$p, three$y, computation = computation("rff", frequencies = cbind(1:5, 5:1, c(0, 1, 0, 2, 0)) / 2),
         kernel = kernel_gaussian(0.5)))
pin("ckce/loo", within(ckce(three$p, three$y, ridge = "loo"), rm(path)))
pin("ckce/coarse", ckce(coarse$p, coarse$y, ridge = 0.2))
pin("ckce/many", ckce(many$p, many$y))
pin("ckce/null", ckce(three$p, three$y, times = 60))
pin("ckce/group/delta", ckce(five$frame, truth, group = group, group_kernel = "delta"))
pin("ckce/group/shared", ckce(five$frame, truth, group = group, group_kernel = "shared"))
pin("ckce/group/kernel",
    ckce(five$p, five$y, group = (1:150 %% 11) / 10, group_kernel = kernel_gaussian(0.5)))
pin("ckce/groups", ckce(five$frame, truth, .by = group))
for (target in c("outcome", "gap")) {
  pin(paste0("ckce_ridge/", target), ckce(three$p, three$y, ridge = ridge_loo(10^(-3:1), target))$path[[1]])
}
chosen <- ckce(five$frame, truth, .by = group, ridge = "loo")
pin("ckce_ridge/default", do.call(rbind, Map(cbind, group = chosen$group, chosen$path))[c("group", "ridge", "loo")])

for (draw in 1:2) {
  pin(paste0("ucme/five/", draw), ucme(five$p, five$y, locations = 5), seed = draw)
}
pin("ucme/given", ucme(three$p, three$y, locations = list(x = three$p[1:4, ], truth = three$y[1:4])))
pin("ucme/groups", ucme(five$frame, truth, locations = 3, .by = group))

# predictive laws
for (name in names(laws)) {
  y <- outcome_of(name)
  for (type in c("unbiased", "biased", "block")) {
    pin(paste("skce/law", name, type, sep = "/"), skce(laws[[name]], y, type = type, draws = 20))
  }
  pin(paste0("skce/law/", name, "/laplace"), skce(laws[[name]], y, target_kernel = kernel_laplace(1), draws = 20))
  pin(paste0("jkce/law/", name), skce(laws[[name]], y, draws = 20, kernel = "ckce"))
  pin(paste0("ckce/law/", name), ckce(laws[[name]], y, draws = 20))
  pin(paste0("ucme/law/", name), ucme(laws[[name]], y, locations = 4, draws = 20))
  pin(paste0("kernel_mmd/law/", name),
      kernel_matrix(kernel_mmd(1, kernel_gaussian(1), 2), laws[[name]][1:10], draws = 20))
  pin(paste0("kernel_embedding/law/", name),
      kernel_matrix(kernel_embedding(kernel_gaussian(1)), laws[[name]][1:10], draws = 20))
  if (name != "poisson") {
    for (power in 1:2) {
      pin(paste("kernel_wasserstein/law", name, power, sep = "/"),
          kernel_matrix(kernel_wasserstein(1, power), laws[[name]][1:10]))
    }
  }
  if (name %in% c("normal", "laplace", "poisson")) {
    for (power in 1:2) {
      pin(paste("kernel_hellinger/law", name, power, sep = "/"),
          kernel_matrix(kernel_hellinger(0.5, power), laws[[name]][1:10]))
    }
  }
}
pin("skce/law/groups",
    skce(data.frame(m = real$mean, s = real$sd, y = real$y, group = real$group), y, pred_normal(m, s), .by = group))
pin("skce/law/bernoulli", skce(pred_bernoulli(fine$p), fine$y))
pin("skce/law/categorical", skce(pred_categorical(three$p), three$y))
pin("kernel_hellinger/categorical", kernel_matrix(kernel_hellinger(0.5), pred_categorical(three$p[1:20, ])))
pin("ckce/law/ridge", ckce(laws$normal, real$y, ridge = c(0.05, 0.5), kernel = kernel_wasserstein(1)))
pin("ckce/law/null", ckce(laws$normal, real$y, times = 40))
local({
  mean <- cbind(real$mean, rev(real$mean))
  y <- cbind(real$y, rev(real$y))
  vector <- pred_mvnormal(mean, cbind(real$sd, rev(real$sd))^2)
  full <- pred_mvnormal(mean, array(vapply(real$sd, function(s) c(s, 0.3, 0.3, 1), numeric(4)), c(2, 2, real$n)))
  both <- pred_mixture(vector, pred_mvnormal(mean + 1, 0.5), weights = c(0.8, 0.2))
  draws <- pred_draws(array(c(outer(real$mean, 1:6 / 4, `+`), outer(rev(real$mean), 1:6 / 5, `-`)), c(real$n, 6, 2)))
  several <- list(diagonal = vector, full = full, mixture = both, draws = draws)
  for (name in names(several)) {
    law <- several[[name]]
    pin(paste0("skce/law/mvnormal/", name), skce(law, y))
    pin(paste0("jkce/law/mvnormal/", name), skce(law, y, kernel = "ckce"))
    pin(paste0("ckce/law/mvnormal/", name), ckce(law, y))
    pin(paste0("kernel_mmd/law/mvnormal/", name), kernel_matrix(kernel_mmd(1, kernel_gaussian(1)), law[1:10]))
    if (name == "draws") next
    pin(paste0("kernel_wasserstein/law/mvnormal/", name), kernel_matrix(kernel_wasserstein(1), law[1:10]))
  }
  pin("kernel_hellinger/law/mvnormal", kernel_matrix(kernel_hellinger(0.5), full[1:10]))
})
pin("as_distribution", kernel_matrix(kernel_wasserstein(1), as_distribution(laws$normal)[1:10]))
