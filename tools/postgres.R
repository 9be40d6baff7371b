# A PostgreSQL server of one's own: made from Debian's packages in a temporary folder, on loopback, run by an
# unprivileged user.

server_programs <- function() utils::tail(sort(Sys.glob("/usr/lib/postgresql/*/bin")), 1)

install_server <- function() {
  missing <- c(if (length(server_programs()) == 0) "postgresql",
               if (!nzchar(system.file(package = "RPostgreSQL"))) "r-cran-rpostgresql")
  if (length(missing) == 0) return(invisible())
  message("Installing from Debian: ", paste(missing, collapse = " "))
  Sys.setenv(DEBIAN_FRONTEND = "noninteractive")
  system2("apt-get", c("-y", "-qq", "install", "--no-install-recommends", missing), stdout = FALSE)
  if (length(server_programs()) == 0) stop("There is no PostgreSQL: install Debian's `postgresql`.", call. = FALSE)
}

is_root <- function() identical(system2("id", "-u", stdout = TRUE), "0")

# The server refuses to be root.
user_command <- function(command, arguments) {
  command <- paste(c(shQuote(command), arguments), collapse = " ")
  if (is_root()) command <- paste("runuser -u postgres -- sh -c", shQuote(paste("cd /tmp &&", command)))
  paste(command, ">/dev/null 2>&1")
}

run_command <- function(command) if (system(command) != 0) stop("The server failed: ", command, call. = FALSE)

free_port <- function() {
  for (port in sample(49152:65000, 50)) {
    open <- tryCatch(serverSocket(port), error = function(cnd) NULL)
    if (!is.null(open)) {
      close(open)
      return(port)
    }
  }
  stop("There is no free port.", call. = FALSE)
}

# The value of `code`, which finds the server in CALIBRISK_POSTGRES, and in CALIBRISK_POSTGRES_START and _STOP the
# commands of a shell that start and stop it.
with_server <- function(code) {
  install_server()
  programs <- server_programs()
  folder <- tempfile("postgres", tmpdir = "/tmp")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  password <- paste(sample(c(letters, 0:9), 24, TRUE), collapse = "")
  writeLines(password, file.path(folder, "password"))
  if (is_root()) system2("chown", c("-R", "postgres", folder))
  data <- file.path(folder, "data")
  run_command(user_command(file.path(programs, "initdb"), c(
    "-D", data, "-U", "calibrisk", "-A", "scram-sha-256", "-E", "UTF8", "--no-sync",
    "--pwfile", file.path(folder, "password")
  )))
  port <- free_port()
  control <- function(...) user_command(file.path(programs, "pg_ctl"), c("-D", data, ...))
  options <- shQuote(paste0("-c listen_addresses=127.0.0.1 -c fsync=off -c unix_socket_directories= -p ", port))
  start <- control("-w", "-l", file.path(folder, "log"), "-o", options, "start")
  stop <- control("-m", "immediate", "stop")
  run_command(start)
  on.exit(system(stop), add = TRUE, after = FALSE)
  Sys.setenv(CALIBRISK_POSTGRES = paste0("host=127.0.0.1 port=", port, " user=calibrisk password=", password),
             CALIBRISK_POSTGRES_START = start, CALIBRISK_POSTGRES_STOP = stop)
  force(code)
}
