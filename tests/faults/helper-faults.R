source("../testthat/helper-database.R", local = TRUE)
source("../testthat/helper-stand-ins.R", local = TRUE)

fault_rows <- function(n = 300) {
  withr::with_seed(1, {
    p <- stats::runif(n)
    data.frame(p = p, y = as.integer(stats::runif(n) < p))
  })
}

# What is serialised shares nothing with what is changed in place.
copy_of <- function(x) unserialize(serialize(x, NULL))

# A disk of so many kilobytes.
local_disk <- function(kilobytes, frame = parent.frame()) {
  folder <- tempfile("disk")
  dir.create(folder)
  mounted <- system2("mount", c("-t", "tmpfs", "-o", paste0("size=", kilobytes, "k"), "none", folder),
                     stdout = FALSE, stderr = FALSE) == 0
  skip_if_not(mounted, "mounting a disk")
  withr::defer(system2("umount", folder), frame)
  folder
}

# The disk filled up to so many bytes.
leave_room <- function(folder, kilobytes, bytes) {
  writeBin(raw(1024 * kilobytes - bytes), file.path(folder, "rest"))
}
