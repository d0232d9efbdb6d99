# Two commands do everything on a fresh machine (Python 3.10+, Node 20+, git, make):
#   make demo   a real kernel dies, its post-mortem is shown
#   make test   all tests
#   make check  lint and the quick unit tests: 1.5 minutes of processor time
#   make dev    JupyterLab on this tree: Python is installed editable, the panel is built anew when it changes
# make deaths plays every real death there is and keeps the score; it needs 7 GB for the libraries that die.

PYTHON ?= python3
VENV ?= .venv
BIN := $(CURDIR)/$(VENV)/bin
# More than there are processors: most tests wait for kernels.
WORKERS ?= 3
ROUNDS ?= 100
export PATH := $(BIN):$(PATH)

PANEL := jupyter_kerneldoctor/labextension/package.json
PANEL_SOURCES := package.json yarn.lock tsconfig.json $(shell find src style schema -type f -not -path '*/__tests__/*' 2>/dev/null)
PACKAGE_SOURCES := pyproject.toml kerneldoctor.py $(shell find jupyter_kerneldoctor jupyter-config -type f -not -path '*/labextension/*' -not -name '*.pyc' 2>/dev/null)
TOOLS := $(if $(and $(wildcard $(BIN)/mypy),$(wildcard $(BIN)/pytest)),,$(VENV)/.test)

.PHONY: demo lab dev test check test-quick lint test-python test-panel test-ui bench deaths torture foreign-suites test-pythons compatibility docs docs-links screenshots clean prerequisites

demo: $(VENV)/.demo
	$(BIN)/python demo/demo.py

lab: $(VENV)/.demo
	$(BIN)/python demo/lab.py

# The stamp goes, so that the tests install the package itself again.
dev: $(TOOLS) $(PANEL)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	rm -f $(VENV)/.demo
	mkdir -p build/dev && ln -sfn $(CURDIR)/jupyter_kerneldoctor/labextension build/dev/jupyter-kerneldoctor
	$(BIN)/jlpm dev

# All parts run, whatever fails; the last line names those that failed.
PARTS := lint test-python test-panel test-ui
test: $(VENV)/.test
	@failed=; \
	for part in $(PARTS); do $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; done; \
	if [ -n "$$failed" ]; then echo "Failed:$$failed"; exit 1; fi; \
	echo "Passed: $(PARTS)"

# On the tree itself: nothing is built or installed first.
check: $(TOOLS)
	@$(MAKE) --no-print-directory --keep-going --jobs 2 --output-sync=target lint test-quick

# Bytecode is kept even where the environment says otherwise: pytest rewrites each test file and compiles it.
test-quick: $(TOOLS)
	env -u PYTHONDONTWRITEBYTECODE PYTHONPATH=$(CURDIR) $(BIN)/pytest -q -n auto -m 'not slow and not hypothesis' tests/unit

# Where the tools are, nothing is installed: it may be a tree of its own, installed with `pip install --editable`.
lint: $(TOOLS) | node_modules/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/jlpm lint:check

test-python: $(VENV)/.test
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -n $(WORKERS) --dist worksteal

test-panel: $(VENV)/.test
	$(BIN)/jlpm test

test-ui: $(VENV)/.test ui-tests/node_modules/.installed
	cd ui-tests && $(BIN)/jlpm playwright test

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/stacks.py

deaths: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m deaths.accuracy --write docs/accuracy.md

# Some minutes; a night's worth with ROUNDS=5000. As root it also mounts small disks and starts containers.
torture: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m torture --rounds $(ROUNDS) --workers $(WORKERS)

# Half an hour: the suites of ipykernel, jupyter_client, nbclient and jupyter_server, with KernelDoctor and without.
foreign-suites: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m foreign

# On Python 3.10 to 3.14, and 3.14 without the GIL: the unit tests, real deaths and stacks. What is not installed is fetched by uv, or named at the end.
test-pythons: $(VENV)/.test $(BIN)/uv
	PYTHONPATH=tests $(BIN)/python -m versions.suite $(PYTHONS)

# A kernel dies in each JupyterLab, each Notebook and on each Python, in a real browser; the README's table is written anew.
compatibility: $(VENV)/.test $(BIN)/uv ui-tests/node_modules/.installed
	PYTHONPATH=tests $(BIN)/python -m versions.front_ends --write README.md

# The reference pages, and the site in build/docs; a warning, as of a link that leads nowhere, is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m jupyter_kerneldoctor.diagnosis.reference
	$(BIN)/python docs/recorded_fields.py
	$(BIN)/python docs/rest_types.py
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --doctree-dir build/doctrees docs build/docs

# Addresses elsewhere: needs the network.
docs-links: docs
	$(BIN)/sphinx-build --quiet -b linkcheck --doctree-dir build/doctrees docs build/links

screenshots: $(VENV)/.test ui-tests/node_modules/.installed
	cd ui-tests && $(BIN)/jlpm screenshots

clean:
	rm -rf $(VENV) .venv-deaths node_modules ui-tests/node_modules jupyter_kerneldoctor/labextension lib dist build docs/generated \
		.yarn *.tsbuildinfo
	find . -name __pycache__ -prune -exec rm -rf {} +

# -- what the targets above stand on ---------------------------------------------------------------------------------

FETCH_HINT := { echo "Nothing could be fetched. If it says \`certificate\` above, a proxy stands between: name its certificate in \
NODE_EXTRA_CA_CERTS and SSL_CERT_FILE, as docs/guide/troubleshooting.md says, and try again." >&2; exit 1; }

prerequisites:
	@./prerequisites.sh $(PYTHON)

$(BIN)/jlpm: | prerequisites
	$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'jupyter-builder>=1.2' || $(FETCH_HINT)

node_modules/.installed: package.json yarn.lock | $(BIN)/jlpm
	@echo "Fetching what builds the panel, and building it: some minutes, most of them in silence."
	@$(BIN)/jlpm install || $(FETCH_HINT)
	touch $@

$(PANEL): $(PANEL_SOURCES) node_modules/.installed | $(BIN)/jlpm
	$(BIN)/jlpm build:prod
	touch $@

$(VENV)/.demo: $(PANEL) $(PACKAGE_SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '.[demo]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps .
	touch $@

$(BIN)/uv: | $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/.test: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '.[demo,test]'
	touch $@

$(VENV)/.docs: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '.[docs]'
	touch $@

# A browser: Debian's where we may install it (Playwright's own does not run everywhere), else Playwright's.
ui-tests/node_modules/.installed: ui-tests/package.json ui-tests/yarn.lock | $(BIN)/jlpm
	cd ui-tests && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 $(BIN)/jlpm install
	ui-tests/install-browser
	touch $@
