# Every target makes and reuses the virtual environment in .venv by itself. `make help` lists them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_STAMP := $(VENV)/.installed-run
STAMP := $(VENV)/.installed-test
BENCH_STAMP := $(VENV)/.installed-bench
TOOLS := .tools
ARGS ?=
IMG ?= quarterdeck:latest
COVERAGE_FLOOR ?=
export PATH := $(CURDIR)/$(TOOLS)/bin:$(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed-%: pyproject.toml constraints.txt constraints-test.txt constraints-run.txt tools/venv.sh
	@bash tools/venv.sh $(PYTHON) $(VENV) $*

.PHONY: venv
venv: $(STAMP) ## Make the virtual environment with what running and testing need

##@ Use

.PHONY: run
run: $(RUN_STAMP) ## Start the control plane: API server, operators, dashboard, everything on loopback
	@mkdir -p $(TOOLS); (bash tools/web.sh $(TOOLS) $(BIN)/python >$(TOOLS)/web.log 2>&1 </dev/null &)
	@$(BIN)/quarterdeck up $(ARGS)

.PHONY: web
web: $(RUN_STAMP) ## Build the dashboard (by Node on the PATH, or one from PyPI in .tools)
	@bash tools/web.sh $(TOOLS) $(BIN)/python

.PHONY: shell
shell: $(RUN_STAMP) ## Open a shell with quarterdeck on the PATH and the kubeconfig of `make run`
	@export KUBECONFIG=$${KUBECONFIG:-$(CURDIR)/.quarterdeck/kubeconfig}; exec bash

.PHONY: run-cluster
run-cluster: $(RUN_STAMP) ## Run the operators here against the cluster of KUBECONFIG, without a lease
	@$(BIN)/quarterdeck run --no-leader-elect $(ARGS)

##@ Test

.PHONY: test
test: $(STAMP) ## Run all tests (ARGS="-k name" is passed on; COVERAGE_FLOOR=90 measures coverage)
	@PYTHONPATH=$(CURDIR)/tools $(BIN)/python -m pytest -n auto --dist worksteal \
		$(if $(COVERAGE_FLOOR),-p branch_coverage.plugin --coverage-floor $(COVERAGE_FLOOR)) $(ARGS)

.PHONY: test-unit
test-unit: $(STAMP) ## Run the tests that do no I/O
	@$(BIN)/python -m pytest -n auto tests/unit $(ARGS)

.PHONY: test-integration
test-integration: $(STAMP) ## Run the tests with an in-process server
	@$(BIN)/python -m pytest -n auto tests/contract tests/integration $(ARGS)

.PHONY: test-e2e
test-e2e: $(STAMP) ## Run the tests with real processes and clients
	@$(BIN)/python -m pytest -n auto tests/e2e $(ARGS)

.PHONY: test-full
test-full: $(STAMP) tools ## Run everything, also what needs slow Go builds
	@bash tools/helm.sh $(TOOLS)
	@bash tools/s3.sh $(TOOLS) $(VENV)
	@bash tools/alloy.sh $(TOOLS)
	@bash tools/kubernetes.sh $(TOOLS)
	@built=$(CURDIR)/$(TOOLS)/kubernetes; if [ -x $$built/kube-apiserver ] && [ -x $$built/etcd ]; then \
		export KUBE_APISERVER=$${KUBE_APISERVER:-$$built/kube-apiserver} ETCD=$${ETCD:-$$built/etcd}; fi; \
		QUARTERDECK_FULL=1 QUARTERDECK_REQUIRE_TOOLS="$(QUARTERDECK_REQUIRE_TOOLS) helm containerd ctr runc" \
		$(BIN)/python -m pytest -n auto $(ARGS)

.PHONY: test-durability
test-durability: $(STAMP) ## Kill the server 300 times under load
	@QUARTERDECK_KILLS=300 $(BIN)/python -m pytest tests/contract/storage/test_durability.py --timeout 3600 $(ARGS)

##@ Check

.PHONY: check
check: $(BENCH_STAMP) ## Format, lint, strict types, import layers, generated files, docs
	@bash tools/check.sh

.PHONY: lint
lint: $(STAMP) ## Format and lint only
	@ruff format --check . && ruff check .

.PHONY: format
format: $(STAMP) ## Rewrite the sources in the house format
	@ruff format . && ruff check --fix .

##@ Generate

.PHONY: update
update: generate manifests ## Regenerate everything that is generated

.PHONY: generate
generate: $(STAMP) ## Regenerate builders and reference pages
	@$(BIN)/python -m quarterdeck.codegen generate

.PHONY: manifests
manifests: $(STAMP) ## Regenerate config/ (CRDs, RBAC)
	@$(BIN)/python -m quarterdeck.codegen manifests

.PHONY: descriptions
descriptions: $(STAMP) ## Install Kubernetes' own descriptions for kubectl explain (needs Go)
	@go run -C tools/builtins . -descriptions $(CURDIR)/build/descriptions
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation build/descriptions

.PHONY: verify
verify: $(STAMP) ## Fail if a generated file is not what `make update` would write
	@$(BIN)/python -m quarterdeck.codegen verify

.PHONY: record-roles
record-roles: $(STAMP) ## Record what operators ask of the API server in their tests; verify compares
	@rm -rf build/uses
	@QUARTERDECK_RECORD_USES=build/uses $(BIN)/python -m pytest -q -n auto --dist worksteal tests/integration/operators
	@PYTHONPATH=tests/support $(BIN)/python -m role_recorder build/uses

.PHONY: docs
docs: ## Build the documentation into build/site, a folder for each version; links are checked
	@bash tools/docs.sh $(PYTHON) $(TOOLS)

##@ Measure and build

.PHONY: bench
bench: $(BENCH_STAMP) ## Run the standard benchmarks (ARGS=--quick for a short run)
	@$(BIN)/python -m bench $(ARGS)

.PHONY: bench-full
bench-full: $(BENCH_STAMP) ## Run every benchmark at full size
	@$(BIN)/python -m bench --full $(ARGS)

.PHONY: build
build: $(STAMP) web ## Build wheel and sdist into dist/, the dashboard in both
	@$(BIN)/python -m hatchling build

.PHONY: image
image: build ## Assemble the images as an OCI layout in dist/image without a container engine, with an SBOM
	@PYTHONPATH=tools $(BIN)/python -m image_build --wheel "$$(ls -t dist/quarterdeck-*.whl | head -1)" --output dist/image

.PHONY: docker-build
docker-build: web ## Build the container image with the dashboard in it (IMG=)
	@docker info >/dev/null 2>&1 || { echo "docker-build: no container engine is running; start one and try again" >&2; exit 2; }
	docker build $(if $(BASE),--build-arg BASE=$(BASE)) -t $(IMG) .

.PHONY: release-check
release-check: ## Refuse a release whose parts disagree, or an image on a base without a digest (BASE=)
	@BASE='$(BASE)' tools/release_check.sh
	@$(MAKE) --no-print-directory image
	@$(BIN)/python tools/release_versions.py dist

.PHONY: docker-push
docker-push: ## Push the container image (IMG=)
	@docker info >/dev/null 2>&1 || { echo "docker-push: no container engine is running; start one and try again" >&2; exit 2; }
	docker push $(IMG)

##@ Deploy

.PHONY: install
install: $(RUN_STAMP) ## Install the CRDs into the cluster of KUBECONFIG
	@$(BIN)/quarterdeck apply -f config/crd/bases

.PHONY: uninstall
uninstall: $(RUN_STAMP) ## Remove the CRDs from the cluster of KUBECONFIG
	@$(BIN)/quarterdeck delete -f config/crd/bases --ignore-not-found

.PHONY: deploy
deploy: $(RUN_STAMP) ## Deploy the operators to the cluster of KUBECONFIG (IMG=)
	@$(BIN)/quarterdeck manifests --image $(IMG) | $(BIN)/quarterdeck apply -f -

.PHONY: undeploy
undeploy: $(RUN_STAMP) ## Remove the operators from the cluster of KUBECONFIG; CRDS=delete removes CRDs, all their objects and the namespace too
	@$(BIN)/quarterdeck manifests $(if $(filter delete,$(CRDS)),,--without-crds --without-namespace) | $(BIN)/quarterdeck delete -f - --ignore-not-found

.PHONY: tools
tools: $(STAMP) ## Build kubectl where Go is present, and the dashboard; apt-get servers for tests
	@bash tools/kubectl.sh $(TOOLS) $(VENV)
	@bash tools/debian.sh
	@bash tools/vm.sh $(TOOLS)
	@bash tools/web.sh $(TOOLS) $(BIN)/python || echo "tools: the dashboard was not built, its tests are skipped" >&2

.PHONY: clean
clean: ## Remove what the targets made
	rm -rf $(VENV) $(TOOLS) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
