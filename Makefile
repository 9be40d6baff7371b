# The commands of the project; `make help` lists them. Needs R and make; the rest is installed.
RSCRIPT = Rscript
# asked for once
EIGEN = $(eval EIGEN := $(shell $(RSCRIPT) -e 'cat(system.file("include", package = "RcppEigen"))'))$(EIGEN)
CORES = $(shell getconf _NPROCESSORS_ONLN)
CXX = g++
CORE_FLAGS = -std=c++17 -O2 -Wall -Wextra -pedantic -pthread
HEADERS = $(shell find inst/include -name '*.h')
CORE = tests/core/build
CORE_OBJECTS = $(patsubst tests/core/%.cpp,$(CORE)/%.o,$(wildcard tests/core/*.cpp)) $(CORE)/all_headers.o

.PHONY: help deps install demo test contract check document readme lint format bench site test-core clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

deps: ## install what is missing, with tools for development and peers to compare with
	@$(RSCRIPT) tools/install-deps.R Suggests Config/Needs/develop --system
	@$(RSCRIPT) tools/install-deps.R Config/Needs/peers

install: ## install what is missing of the needed packages, then the package
	@$(RSCRIPT) tools/install-deps.R
	@$(RSCRIPT) tools/install.R

demo: ## tune all methods on the built-in data: a table, and a plot in demo-output/
	@$(RSCRIPT) tools/install-deps.R Config/Needs/demo
	@$(RSCRIPT) tools/install.R
	@$(RSCRIPT) tools/demo.R

test: ## run the tests; the last line is `N passed, N failed`
	@$(RSCRIPT) tools/install-deps.R Suggests
	@$(RSCRIPT) tools/install.R
	@$(RSCRIPT) tools/test.R '$(FILTER)'

contract: install ## public numbers that changed; KEYS='<pattern>' REASON='<why>' stores them
	@$(RSCRIPT) tools/contract.R '$(KEYS)' '$(REASON)'

check: ## R CMD build and R CMD check --as-cran
	@$(RSCRIPT) tools/install-deps.R Suggests --system
	@$(RSCRIPT) tools/check.R

document: ## write NAMESPACE, man/, the Rcpp exports and the rules of src/Makevars
	@$(RSCRIPT) tools/document.R

readme: install ## README.md and its figures, from README.Rmd
	$(RSCRIPT) -e 'rmarkdown::render("README.Rmd", quiet = TRUE)'

lint: ## R code against .lintr
	$(RSCRIPT) -e 'lints <- lintr::lint_package(); print(lints); quit(status = length(lints) > 0)'

format: ## C++ code by .clang-format
	clang-format -i src/*.h $(filter-out src/RcppExports.cpp,$(wildcard src/*.cpp)) $(HEADERS)

bench: install ## the benchmarks of bench/, rendered there
	@$(RSCRIPT) bench/run.R

site: install ## the web site, in docs/
	$(RSCRIPT) -e 'pkgdown::build_site(preview = FALSE)'

# every header of the core in one unit: what clashes does not compile
$(CORE)/all_headers.cpp: $(HEADERS)
	@mkdir -p $(CORE)
	@printf '%s\n' $(sort $(HEADERS)) | sed 's,inst/include/\(.*\),#include <\1>,' > $@

$(CORE)/%.o: $(CORE)/%.cpp
	$(CXX) $(CORE_FLAGS) -MMD -MP -Iinst/include -isystem $(EIGEN) -c $< -o $@

$(CORE)/%.o: tests/core/%.cpp
	@mkdir -p $(CORE)
	$(CXX) $(CORE_FLAGS) -MMD -MP -Iinst/include -isystem $(EIGEN) -c $< -o $@

$(CORE)/core: $(CORE_OBJECTS)
	$(CXX) $(CORE_FLAGS) $^ -o $@

-include $(wildcard $(CORE)/*.d)

test-core: ## the C++ core on its own, without R
	@$(RSCRIPT) tools/install-deps.R
	@$(MAKE) --no-print-directory -j$(CORES) $(CORE)/core
	$(CORE)/core

clean: ## remove what the commands above made
	rm -rf src/*.o src/*.so src/objects.md5 check demo-output docs tests/core/build Rplots.pdf
