# Installs what is missing of the packages that DESCRIPTION names, and nothing else.
#
#   Rscript tools/install-deps.R [FIELD ...] [--system]
#
# Depends, Imports and LinkingTo always; FIELD adds others: Suggests, Config/Needs/develop, ...
# A needed package that cannot be had is an error, one of the further fields a warning.
# --system adds the programs that R CMD check wants (pandoc, qpdf, tidy, ccache), clang for make
# check-clang and pngquant, for lighter figures.
#
# Where R is Debian's own and apt-get may be used (root), packages come built as r-cran-*, with
# OpenBLAS under R's linear algebra; whatever is then still missing comes from CRAN, into the
# first library that can be written to, else into the user's own.

source("tools/library.R")

args <- commandArgs(trailingOnly = TRUE)
system_tools <- "--system" %in% args
optional_fields <- setdiff(args, "--system")
needed_fields <- c("Depends", "Imports", "LinkingTo")

read_requirements <- function(fields) {
  description <- read.dcf("DESCRIPTION")
  text <- description[, intersect(fields, colnames(description))]
  entries <- trimws(unlist(strsplit(text, ",")))
  entries <- entries[nzchar(entries) & !grepl("^R( |\\(|$)", entries)]
  version <- ifelse(grepl(">=", entries), sub(".*>= *([0-9.-]+).*", "\\1", entries), "0")
  out <- data.frame(package = sub("[ (].*", "", entries), version = version)
  out[!duplicated(out$package), ]
}

is_missing <- function(required) {
  have <- vapply(required$package, function(p) {
    tryCatch(as.character(utils::packageVersion(p)), error = function(e) "")
  }, "")
  too_old <- function(h, v) !nzchar(h) || utils::compareVersion(h, v) < 0
  as.logical(mapply(too_old, have, required$version))
}

missing_of <- function(fields) {
  required <- read_requirements(fields)
  required$package[is_missing(required)]
}

# ---- Debian -------------------------------------------------------------------------------------

is_debian_root <- function() {
  nzchar(Sys.which("apt-get")) && startsWith(R.home(), "/usr/lib/R") &&
    identical(system("id -u", intern = TRUE), "0")
}

quietly <- function(command) system(paste(command, ">/dev/null 2>&1")) == 0

# For long commands: what they said is shown where they fail.
run_logged <- function(command) {
  log <- tempfile()
  if (system(paste(command, ">", log, "2>&1")) == 0) return(TRUE)
  message(paste(utils::tail(readLines(log), 5), collapse = "\n"))
  FALSE
}

apt_install <- function(packages) {
  if (length(packages) == 0) return(invisible())
  Sys.setenv(DEBIAN_FRONTEND = "noninteractive")
  apt <- "apt-get -y -qq -o DPkg::Lock::Timeout=300"
  run_logged(paste(apt, "update"))
  known <- Filter(function(p) quietly(paste("apt-cache show", p)), packages)
  if (length(known) == 0) return(invisible())
  message("Installing from Debian: ", paste(known, collapse = " "))
  install <- paste(apt, "install --no-install-recommends", paste(known, collapse = " "))
  if (!run_logged(install)) message("apt-get failed; going on without.")
}

debian_system_packages <- function() {
  wanted <- c("libopenblas0-pthread", "r-base-dev")
  wanted <- wanted[!vapply(wanted, function(p) quietly(paste("dpkg -s", p)), NA)]
  if (system_tools) {
    programs <- c("pandoc", "qpdf", "tidy", "ccache", "clang", "pngquant")
    wanted <- c(wanted, programs[!nzchar(Sys.which(programs))])
  }
  wanted
}

# ---- CRAN ---------------------------------------------------------------------------------------

cran_install <- function(packages) {
  if (length(packages) == 0) return(invisible())
  if (identical(unname(getOption("repos")["CRAN"]), "@CRAN@")) {
    utils::chooseCRANmirror(graphics = FALSE, ind = 1, local.only = TRUE)
  }
  message("Installing from CRAN: ", paste(packages, collapse = " "))
  utils::install.packages(packages, lib = writable_library(), quiet = TRUE,
                          Ncpus = max(1L, parallel::detectCores(), na.rm = TRUE))
}

all_fields <- c(needed_fields, optional_fields)
if (is_debian_root()) {
  packages <- missing_of(all_fields)
  apt_install(c(debian_system_packages(),
                if (length(packages) > 0) paste0("r-cran-", tolower(packages))))
}
cran_install(missing_of(all_fields))

absent <- missing_of(needed_fields)
if (length(absent) > 0) {
  message("These packages are needed and could not be installed: ", paste(absent, collapse = ", "))
  if ("RcppParallel" %in% absent && !nzchar(Sys.which("cmake"))) {
    message("RcppParallel is built with cmake: install cmake, then run this again.")
  }
  quit(status = 1)
}
absent <- missing_of(optional_fields)
if (length(absent) > 0) {
  message("Going on without the optional packages ", paste(absent, collapse = ", "), ".")
}
