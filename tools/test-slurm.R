# Sources read by the jobs of a Slurm queue: a queue of one node on loopback, made from Debian's packages in a temporary
# folder, and removed. Not part of the gate; needs root.
#
#   Rscript tools/test-slurm.R
#
# The states must be those of one process, digit by digit, and a job that is cancelled an error of its class that
# leaves the state as it was.

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))

install_slurm <- function() {
  missing <- c(if (!nzchar(Sys.which("slurmctld"))) "slurm-wlm", if (!nzchar(Sys.which("munged"))) "munge",
               if (!nzchar(system.file(package = "future.batchtools"))) "r-cran-future.batchtools")
  if (length(missing) == 0) return(invisible())
  message("Installing from Debian: ", paste(missing, collapse = " "))
  Sys.setenv(DEBIAN_FRONTEND = "noninteractive")
  system2("apt-get", c("-y", "-qq", "install", "--no-install-recommends", missing), stdout = FALSE)
  if (!nzchar(Sys.which("slurmctld"))) stop("There is no Slurm: install Debian's `slurm-wlm`.", call. = FALSE)
}

run_quietly <- function(...) {
  command <- paste(...)
  if (system(paste(command, ">/dev/null 2>&1")) != 0) stop("Failed: ", command, call. = FALSE)
}

free_ports <- function(n) {
  open <- lapply(sample(49152:65000, 50), function(port) {
    tryCatch(list(port = port, socket = serverSocket(port)), error = function(cnd) NULL)
  })
  open <- open[lengths(open) > 0]
  for (one in open) close(one$socket)
  vapply(open, `[[`, 0, "port")[seq_len(n)]
}

stop_process <- function(file) if (file.exists(file)) tools::pskill(as.integer(readLines(file, 1)))

# The value of `code`, which finds the queue in SLURM_CONF.
with_slurm <- function(code) {
  install_slurm()
  folder <- tempfile("slurm", tmpdir = "/tmp")
  at <- function(...) file.path(folder, ...)
  for (name in c("", "state", "spool", "munge")) dir.create(at(name), mode = "0755", showWarnings = FALSE)
  on.exit(unlink(folder, recursive = TRUE))
  # who speaks to the queue signs with this key
  writeBin(as.raw(sample(0:255, 1024, TRUE)), at("munge", "key"))
  Sys.chmod(at("munge", "key"), "0600")
  run_quietly("chown -R munge", at("munge"))
  munge <- at("munge", c("socket", "key", "pid", "seed", "log"))
  run_quietly("runuser -u munge -- munged",
              paste0("--", c("socket", "key-file", "pid-file", "seed-file", "log-file"), "=", munge, collapse = " "))
  on.exit(stop_process(at("munge", "pid")), add = TRUE, after = FALSE)
  host <- sub("[.].*", "", Sys.info()[["nodename"]])
  ports <- free_ports(2)
  writeLines(c(
    "ClusterName=calibrisk", "SlurmUser=root", "AuthType=auth/munge", paste0("AuthInfo=socket=", munge[1]),
    paste0("SlurmctldHost=", host, "(127.0.0.1)"), paste0("SlurmctldPort=", ports[1]), paste0("SlurmdPort=", ports[2]),
    paste0("StateSaveLocation=", at("state")), paste0("SlurmdSpoolDir=", at("spool")),
    paste0("SlurmctldPidFile=", at("controller.pid")), paste0("SlurmdPidFile=", at("node.pid")),
    paste0("SlurmctldLogFile=", at("controller.log")), paste0("SlurmdLogFile=", at("node.log")),
    "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "SelectType=select/cons_tres",
    "SelectTypeParameters=CR_Core", "MpiDefault=none", "JobAcctGatherType=jobacct_gather/none",
    paste0("NodeName=", host, " NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN"),
    paste0("PartitionName=all Nodes=", host, " Default=YES MaxTime=INFINITE State=UP")
  ), at("slurm.conf"))
  withr::local_envvar(SLURM_CONF = at("slurm.conf"))
  for (program in c("slurmctld", "slurmd")) run_quietly(program)
  on.exit(for (name in c("node.pid", "controller.pid")) stop_process(at(name)), add = TRUE, after = FALSE)
  # until the node is there
  for (i in 1:60) {
    if (any(grepl("idle", system2("sinfo", "-h", stdout = TRUE)))) break
    Sys.sleep(0.5)
  }
  message(system2("sinfo", "--version", stdout = TRUE), ", one node")
  force(code)
}

# --- What is checked --------------------------------------------------------------------------------------------------

run_checks <- function() {
  library(calibrisk)
  withr::local_dir(withr::local_tempdir()) # where the queue's registry goes
  rows <- withr::with_seed(1, data.frame(p = runif(40000), u = runif(40000)))
  rows$y <- as.integer(rows$u < rows$p)
  files <- paste0("part-", 1:4, ".csv")
  for (i in 1:4) utils::write.csv(rows[seq(i, 40000, 4), ], files[i], row.names = FALSE)
  sources <- lapply(normalizePath(files), ce_source)
  alone <- update(ce_state(), sources, y, p)

  future::plan(future.batchtools::batchtools_slurm, template = "slurm-simple",
               resources = list(walltime = 600, ncpus = 1, memory = 500))
  queued <- update(ce_state(), sources, y, p)
  was <- unserialize(serialize(queued, NULL))
  cancelled <- ce_source(function() {
    system2("scancel", Sys.getenv("SLURM_JOB_ID"))
    Sys.sleep(60)
  })
  error <- tryCatch(update(queued, c(sources[1], list(cancelled)), y, p), error = class)
  checks <- c(
    "four sources by jobs: the digits of one process" = identical(queued, alone),
    "a job that is cancelled is an error of its class" = "calibrisk_error_worker" %in% error,
    "it leaves the state as it was" = identical(queued, was),
    "and the queue goes on" = identical(update(ce_state(), sources, y, p), alone)
  )
  cat(paste0(ifelse(checks, "ok      ", "FAILED  "), names(checks), "\n"), sep = "")
  as.integer(!all(checks))
}

# in a process of its own, which cleans up its jobs while there is a queue
status <- if ("--checks" %in% commandArgs(trailingOnly = TRUE)) {
  run_checks()
} else {
  with_slurm(system2(file.path(R.home("bin"), "Rscript"), c("tools/test-slurm.R", "--checks")))
}
quit(status = status)
