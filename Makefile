# The commands of the project; `make help` lists them. Needs R and make; the rest is installed.
RSCRIPT = Rscript
# asked for once
EIGEN = $(eval EIGEN := $(shell $(RSCRIPT) -e 'cat(system.file("include", package = "RcppEigen"))'))$(EIGEN)
CORES = $(shell getconf _NPROCESSORS_ONLN)
CXX = g++
# without NDEBUG Eigen asserts sizes and positions, and so does the standard library
CORE_FLAGS = -std=c++17 -O1 -D_GLIBCXX_ASSERTIONS -Wall -Wextra -Wshadow -pedantic -pthread
HEADERS = $(shell find inst/include -name '*.h')
FORMATTED = $(wildcard src/*.h) $(filter-out src/RcppExports.cpp,$(wildcard src/*.cpp)) $(HEADERS) \
  $(wildcard inst/extending/*.cpp tests/core/*.cpp tests/core/*.h)
GENERATED = man NAMESPACE R/RcppExports.R src/RcppExports.cpp src/Makevars
CORE = tests/core/build
# all, or those of UNITS, which leave out the unit of all headers
CORE_SOURCES = $(if $(UNITS),$(UNITS:%=tests/core/test_%.cpp) tests/core/main.cpp,$(wildcard tests/core/*.cpp))
CORE_OBJECTS = $(patsubst tests/core/%.cpp,$(CORE)/%.o,$(CORE_SOURCES)) $(if $(UNITS),,$(CORE)/all_headers.o)
comma = ,
PAPERS = $(patsubst vignettes/precomputed/%.rds,%,$(wildcard vignettes/precomputed/*.rds))

.PHONY: help deps install demo test try test-database test-faults test-executors test-parallel test-main-thread test-slurm test-tidymodels \
  contract mutations check document readme layers names recipes lint format check-format check-documented check-readme extending articles \
  pages papers check-papers fuzz \
  fuzz-tamper bench site \
  test-core check-clang sanitize sanitize-address sanitize-thread valgrind release-check clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 24

deps: ## install what is missing, with tools for development and peers to compare with
	@$(RSCRIPT) tools/install-deps.R Suggests Config/Needs/gate Config/Needs/develop --system
	@$(RSCRIPT) tools/install-deps.R Config/Needs/peers

install: ## install what is missing of the needed packages, then the package
	@$(RSCRIPT) tools/install-deps.R
	@$(RSCRIPT) tools/install.R

demo: ## the main job on the built-in data: tables, and figures in demo-output/
	@$(RSCRIPT) tools/install-deps.R Config/Needs/demo
	@$(RSCRIPT) tools/install.R
	@$(RSCRIPT) tools/demo.R

test: ## run the tests; the last line is `N passed, N failed`
	@$(RSCRIPT) tools/install-deps.R Suggests
	@$(RSCRIPT) tools/install.R
	@$(RSCRIPT) tools/test.R '$(FILTER)'

try: ## tests of changed R code, without compiling: against the core that was compiled last; FILTER=kernel
	@$(RSCRIPT) tools/try.R '$(FILTER)'

test-database: install ## the tests of databases on a PostgreSQL server, made and removed
	@$(RSCRIPT) tools/test-database.R

test-faults: install ## killed workers, a stopped server, full disks and interrupts, for real
	@$(RSCRIPT) tools/test-faults.R

test-executors: install ## the tests with loops on std::thread in place of TBB, in a library of their own; FILTER
	@$(RSCRIPT) tools/test-builds.R std-threads '$(FILTER)'

test-parallel: install ## the tests against the RcppParallel of CRAN, in a library of their own (minutes at first); FILTER
	@$(RSCRIPT) tools/test-builds.R rcpp-parallel '$(FILTER)'

test-main-thread: install ## calls of R, BLAS and LAPACK by the core, of which none may be off the main thread (x86-64)
	@$(RSCRIPT) tools/main-thread.R

test-slurm: install ## a list of sources read by jobs of a Slurm queue, made and removed (root)
	@$(RSCRIPT) tools/test-slurm.R

test-tidymodels: install ## the tests with yardstick and tune, which go into a library of their own (minutes at first)
	@$(RSCRIPT) tools/test-tidymodels.R

contract: install ## public numbers that changed; KEYS='<pattern>' REASON='<why>' stores them
	@$(RSCRIPT) tools/contract.R '$(KEYS)' '$(REASON)'

mutations: install ## formulas of R/ that are changed one at a time: does a test see it? PATTERN
	@$(RSCRIPT) tools/mutations.R '$(PATTERN)'

check: ## R CMD build and R CMD check --as-cran; ARGS=--no-tests without the tests
	@$(RSCRIPT) tools/install-deps.R Suggests Config/Needs/gate --system
	@$(RSCRIPT) tools/check.R $(ARGS)

document: ## write NAMESPACE, man/, the Rcpp exports and the rules of src/Makevars
	@$(RSCRIPT) tools/document.R

check-readme: install ## README.md is what `make readme` writes; figures are not compared
	@folder=$$(mktemp -d); cp README.Rmd $$folder; \
	$(RSCRIPT) -e 'rmarkdown::render(commandArgs(TRUE), quiet = TRUE)' $$folder/README.Rmd && \
	diff README.md $$folder/README.md; status=$$?; rm -r $$folder; exit $$status

readme: install ## README.md and its figures, from README.Rmd
	$(RSCRIPT) -e 'rmarkdown::render("README.Rmd", quiet = TRUE)'

layers: install ## calls that point up, cycles of files, lines of R code, names and arguments; LIST='up cycle'
	@$(RSCRIPT) tools/layers.R $(LIST)

names: ## names that two files of R/ define, and scripts that call the package's own functions by other arguments
	@$(RSCRIPT) tools/names.R

recipes: install ## a toy of each recipe of CONTRIBUTING, in a copy of the sources: does it work?
	@$(RSCRIPT) tools/recipes.R

lint: ## R code against .lintr
	@$(RSCRIPT) tools/lint.R

format: ## C++ code by .clang-format
	clang-format -i $(FORMATTED)

# another version formats in another way
check-format: ## C++ code that `make format` would change; skipped where there is no clang-format 14
	@if clang-format --version 2>/dev/null | grep -q 'version 14[.]'; then \
	clang-format --dry-run --Werror $(FORMATTED); \
	else echo "Skipped: there is no clang-format 14."; fi

check-documented: ## what `make document` writes is up to date; skipped outside git
	@if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then \
	$(RSCRIPT) tools/document.R && git diff --exit-code --stat -- $(GENERATED) && \
	test -z "$$(git ls-files --others --exclude-standard -- $(GENERATED))"; \
	else echo "Skipped: not a git repository."; fi

extending: install ## the C++ that the vignettes show, compiled and checked
	@$(RSCRIPT) tools/extending.R

articles: install ## the articles of the site, rendered in a temporary folder
	@$(RSCRIPT) tools/render.R articles

pages: install ## vignettes, rendered into check/pages and checked; PAGE='widmann' for some
	@$(RSCRIPT) tools/install-deps.R Suggests Config/Needs/gate
	@$(RSCRIPT) tools/render.R '$(PAGE)'

papers: install ## the stored results of the vignettes, computed again (hours); PAPER=widmann-2021 PARTS='rates' for some
	@for paper in $(or $(PAPER),$(PAPERS)); do \
	echo "$$paper"; $(RSCRIPT) data-raw/papers/$$paper.R $(PARTS) || exit 1; done

check-papers: install ## stored results that take seconds, and some rows of others, against the package; PAPER, PARTS for some
	@if [ -d "$${CALIBRISK_SHARED:-../shared}/data" ]; then failed=0; for paper in $(or $(PAPER),$(PAPERS)); do \
	$(RSCRIPT) data-raw/papers/$$paper.R check $(PARTS) || failed=1; done; exit $$failed; \
	else echo "Skipped: there is no folder $${CALIBRISK_SHARED:-../shared}/data."; fi

fuzz: install ## odd and invalid calls of every verb; CASES=10000 SEED=2
	@$(RSCRIPT) tools/fuzz.R $(or $(CASES),500) $(or $(SEED),1)

fuzz-tamper: install ## calls with objects whose fields were changed, in processes of their own; CASES, SEED, OBJECTS='^state'
	@$(RSCRIPT) tools/fuzz.R tamper $(or $(CASES),500) $(or $(SEED),1) '$(OBJECTS)'

bench: install ## the benchmarks of bench/, rendered there
	@$(RSCRIPT) bench/run.R

site: install ## the web site, in docs/
	@$(RSCRIPT) tools/site.R

# every header of the core in one unit: what clashes does not compile
$(CORE)/all_headers.cpp: $(HEADERS)
	@mkdir -p $(CORE)
	@printf '%s\n' $(sort $(HEADERS)) | sed 's,inst/include/\(.*\),#include <\1>,' > $@

$(CORE)/%.o: $(CORE)/%.cpp
	$(CXX) $(CORE_FLAGS) -MMD -MP -Iinst/include -isystem $(EIGEN) -c $< -o $@

$(CORE)/%.o: tests/core/%.cpp
	@mkdir -p $(CORE)
	$(CXX) $(CORE_FLAGS) -MMD -MP -Iinst/include -isystem $(EIGEN) -c $< -o $@

# linked each time: one of other UNITS may be newer than these objects
.PHONY: $(CORE)/core
$(CORE)/core: $(CORE_OBJECTS)
	$(CXX) $(CORE_FLAGS) $^ -o $@

-include $(wildcard $(CORE)/*.d)

test-core: ## the C++ core on its own, without R; Eigen and the standard library assert sizes and positions
	@$(RSCRIPT) tools/install-deps.R
	@$(MAKE) --no-print-directory -j$(CORES) $(CORE)/core
	@for instructions in baseline avx2 all; do \
	  echo "loops for $$instructions"; CALIBRISK_INSTRUCTIONS=$$instructions $(CORE)/core || exit 1; done

# as R compiles the units, with the warnings of the core tests
CLANG = clang++
CLANG_FLAGS = -fsyntax-only -std=c++17 -Wall -Wextra -Wshadow -pedantic -Werror $(shell sed -n 's/^PKG_CPPFLAGS = //p' src/Makevars) \
  -Iinst/include $(shell $(RSCRIPT) -e 'cat(paste("-isystem", c(R.home("include"), vapply(c("Rcpp", "RcppEigen", \
  "RcppParallel"), function(p) system.file("include", package = p), ""))))')

check-clang: $(CORE)/all_headers.cpp ## all headers and src/ by clang, which CRAN compiles with too: no error, no warning; CLANG
	@$(RSCRIPT) tools/install-deps.R
	@printf '%s\n' $< $(wildcard src/*.cpp) | xargs -P $(CORES) -n 1 $(CLANG) $(CLANG_FLAGS)

# tests/core once more, in a folder of its own: $(1) its name, $(2) the sanitizers
sanitized = $(MAKE) --no-print-directory -j$(CORES) CORE=tests/core/build-$(1) CORE_FLAGS="-std=c++17 -O1 -g1 \
  -D_GLIBCXX_ASSERTIONS -fno-omit-frame-pointer -fsanitize=$(2) -fno-sanitize-recover=all -Wall -pthread" \
  tests/core/build-$(1)/core && \
  tests/core/build-$(1)/core

sanitize-address: ## the core tests under the sanitizers of addresses and undefined behaviour; UNITS='engine kernel': some
	@$(call sanitized,address,address$(comma)undefined)

sanitize-thread: ## the core tests with their workers under the sanitizer of threads
	@$(call sanitized,thread,thread)

valgrind: install ## the core tests and some examples under valgrind; UNITS='engine' for some files, TOPICS='ece skce'
	@$(MAKE) --no-print-directory -j$(CORES) CORE=tests/core/build-valgrind CORE_FLAGS="-std=c++17 -O1 -g -Wall -pthread" \
	  tests/core/build-valgrind/core
	valgrind -q --error-exitcode=1 tests/core/build-valgrind/core
	@$(RSCRIPT) tools/valgrind.R $(TOPICS)

sanitize: sanitize-address sanitize-thread ## both

release-check: install ## what is too long for the gate: the archive alone, without what is suggested, by clang, the site; STAGES='clang'
	@$(RSCRIPT) tools/install-deps.R Suggests Config/Needs/develop --system
	@$(RSCRIPT) tools/release-check.R $(STAGES)

clean: ## remove what the commands above made
	rm -rf src/*.o src/*.so src/objects.md5 check demo-output docs tests/core/build* Rplots.pdf
