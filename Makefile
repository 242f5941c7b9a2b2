PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
UV := $(BIN)/uv --quiet --no-python-downloads
TYPESCRIPT := 5.9.3
MATRIX := tests/agents/test_matrix.py
UV_VERSION := $(shell sed -n '/^name = "uv"$$/{n;s/^version = "\(.*\)"$$/\1/p;}' uv.lock)

# An activated environment, or uv's own variables, must not lead `uv sync` away from .venv.
unexport VIRTUAL_ENV UV_PROJECT_ENVIRONMENT
# The largest wheel has 60 MB, and not every line is fast.
export UV_HTTP_TIMEOUT ?= 180

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.PHONY: help demo test coverage check check-page fix screenshots agents test-agents matrix conformance bench parts browser sandboxes redis clean

# Debian packages, each as COMMAND:PACKAGE, and what is done without them where they cannot be had.
define have
	@wanted=; for each in $(1); do \
		PATH="$$PATH:/usr/sbin:/sbin" command -v "$${each%:*}" >/dev/null || wanted="$$wanted $${each#*:}"; \
	done; [ -n "$$wanted" ] || exit 0; \
	sudo=; [ "$$(id -u)" -eq 0 ] || sudo='sudo -n'; \
	get="$$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qqy -o DPkg::Lock::Timeout=60"; \
	if command -v apt-get >/dev/null && $$sudo true 2>/dev/null; then \
		echo "Installing$$wanted …"; \
		{ $$get install $$wanted || { $$get update && $$get install $$wanted; }; } >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "No$$wanted here, and no way to install it: $(2)"
endef

# What failed beside others is tried once more by itself: a loaded machine is no fault, and is told.
define unsteady
{ [ $$? -eq 1 ] && $(BIN)/pytest --last-failed --last-failed-no-failures none -m 'not alone' $(ARGS) && \
	echo 'UNSTEADY: what failed above has passed by itself.'; }
endef

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
	@echo
	@echo '  ARGS="…" is passed on by all of these that run something; PYTHON=… chooses the interpreter of .venv.'

demo: $(BIN)/.synced ## watch four agents exchange mail, one of them killed on the way
	@$(BIN)/postroom demo $(ARGS)

test: check parts ## everything that must hold before a commit
	$(BIN)/pytest -n 3 -m 'not alone' $(ARGS) || $(unsteady)
	$(BIN)/pytest -m alone $(ARGS) || [ $$? -eq 5 ] # 5: none was selected

# Tracing every process that a test starts takes two thirds more time: too much for each commit.
coverage: $(BIN)/.synced parts ## the same tests, and which lines and branches they reach
	$(BIN)/pytest -n 2 -m 'not alone' --cov --cov-report=term $(ARGS)

check: $(BIN)/.synced ## style, types and layers, without running anything
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo --no-cache

check-page: ## check the types of the page's modules (fetches TypeScript from npm)
	npx --yes --package typescript@$(TYPESCRIPT) tsc --project tests/page/tsconfig.json

fix: $(BIN)/.synced ## repair what can be repaired by itself
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/python docs/generate.py

agents: $(BIN)/.synced sandboxes ## install pinned agent CLIs (3 GB) for test-agents; POSTROOM_AGENTS moves them
	@$(BIN)/python -m tests.agents.install $(ARGS)

test-agents: $(BIN)/.synced parts ## run real agent CLIs offline against a scripted model
	$(BIN)/pytest --timeout 600 -v tests/agents --ignore $(MATRIX) --table docs/reference/compatibility.json $(ARGS)
	$(BIN)/pytest -n 3 --timeout 900 -v $(MATRIX) $(ARGS) || [ $$? -eq 5 ] # 5: ARGS selects none
	$(BIN)/python docs/generate.py

matrix: $(BIN)/.synced parts ## the part of test-agents in which the model refuses: three agents at a time
	$(BIN)/pytest -n 3 --timeout 900 -v $(MATRIX) $(ARGS)

conformance: $(BIN)/.synced ## run the protocol's own suite and its Inspector against the MCP server
	@$(BIN)/python -m tests.agents.install node conformance inspector
	$(BIN)/pytest --timeout 600 -v tests/conformance $(ARGS)

bench: $(BIN)/.synced-bench redis ## measure Postroom and its peers in one run
	@$(BIN)/python -m benchmarks $(ARGS)

screenshots: $(BIN)/.synced browser ## take the pictures of the docs anew, from a scripted room
	$(BIN)/python docs/screenshots.py $(ARGS)

clean: ## remove everything that can be made again
	rm -rf .venv .coverage .coverage.* .hypothesis htmlcov .import_linter_cache .pytest_cache .ruff_cache build dist
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit("Postroom needs Python 3.11 or newer: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo 'Setting up .venv …'
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(BIN)/.synced: pyproject.toml uv.lock | $(BIN)/uv
	@$(UV) sync --frozen --python $(BIN)/python
	@touch $@

# Depends on the other stamp, because a plain sync removes what only this group asks for.
$(BIN)/.synced-bench: $(BIN)/.synced
	@$(UV) sync --frozen --python $(BIN)/python --group bench
	@touch $@

# What the tests use beyond Python.
parts: browser
	$(call have,tmux:tmux zsh:zsh fish:fish sshd:openssh-server,the tests that need it are skipped (and fail where CI=true).)

# What shows the page.
browser:
	$(call have,chromium:chromium,the tests of the page are skipped (and fail where CI=true).)

# What the sandboxes of agent CLIs run on.
sandboxes:
	$(call have,bwrap:bubblewrap socat:socat slirp4netns:slirp4netns iptables:iptables,the tests in sandboxes are skipped.)

# One of the peers is no Python package.
redis:
	$(call have,redis-server:redis-server,Redis is not measured.)
