# Everything a newcomer needs: `make demo` runs the main job, `make test` passes the tests; `make help` lists the rest.
export PYTHONDONTWRITEBYTECODE :=
export OPENBLAS_NUM_THREADS := 1  # tests run one worker per core, and small matrices gain nothing from more threads
V := .venv
PY := $(V)/bin/python
UV := $(V)/bin/uv
COMPILE := $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
OUT ?= demo
DRAWS ?= 1e9
SPLIT := --dist loadfile --no-loadscope-reorder  # a file of tests stays with one worker, so that what its tests share is made once

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-spark test-browser test-random fuzz check papers bench audit-laws coverage docs docs-pages docs-guides format lock clean

help:  ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(V)/.run: requirements.lock pyproject.toml
	python3 -m venv $(V)
	$(PY) -m pip install -q --no-compile uv==0.13.7
	$(UV) pip install -q --python $(PY) --require-hashes -r requirements.lock
	$(UV) pip install -q --python $(PY) --no-deps --no-build-isolation -e .
	@touch $@

$(V)/.dev: $(V)/.run requirements-dev.lock
	$(UV) pip install -q --python $(PY) --require-hashes -r requirements-dev.lock
	@touch $@

$(V)/.spark: $(V)/.dev requirements-spark.lock
	$(UV) pip install -q --python $(PY) --require-hashes -r requirements-spark.lock
	@touch $@

$(V)/.e2e: $(V)/.dev requirements-e2e.lock
	$(UV) pip install -q --python $(PY) --require-hashes -r requirements-e2e.lock
	@touch $@

$(V)/.docs: $(V)/.run requirements-docs.lock
	$(UV) pip install -q --python $(PY) --require-hashes -r requirements-docs.lock
	@touch $@

demo: $(V)/.run  ## release a real table, mine it, and write a report to open (OUT=demo)
	$(V)/bin/sfumato demo -o $(OUT) --force

test: $(V)/.dev  ## run every check and every test
	$(MAKE) --no-print-directory check
	$(PY) -m pytest -n auto $(SPLIT)

test-fast: $(V)/.dev  ## run the tests that take less than a second each
	$(PY) -m pytest -n auto $(SPLIT) -m "not slow"

test-spark: $(V)/.spark  ## run the tests of the Spark engine on a real cluster of this machine (brings pyspark and, if need be, Java)
	$(PY) -m pytest tests/spark tests/contracts/test_engines.py

test-browser: $(V)/.e2e  ## look at every page the product writes in Chromium: axe, narrow screens, paper (needs chromium on the machine)
	$(PY) -m pytest tests/browser -rs

test-random: $(V)/.dev  ## run the property tests on a thousand random examples each (by night; the others use fixed ones)
	HYPOTHESIS_PROFILE=random $(PY) -m pytest -n auto $(SPLIT) -m "not slow"

fuzz: $(V)/.dev  ## read 20,000 broken files with a fresh seed, play 500 mishaps of key and ledger, ask 2,000 questions (half an hour)
	mkdir -p fuzz && SFUMATO_FUZZ=20000 SFUMATO_FUZZ_SEED=$$(date +%s) SFUMATO_FUZZ_KEEP=fuzz SFUMATO_SEQUENCES=500 SFUMATO_QUERIES=2000 \
	$(PY) -m pytest -n auto tests/contracts/test_hostile_inputs.py tests/releases/test_ledger_sequences.py tests/releases/test_draft_sequences.py \
	tests/questions/test_duckdb.py

check: $(V)/.dev  ## lint, types, import direction
	$(V)/bin/ruff check .
	$(V)/bin/ruff format --check .
	$(V)/bin/mypy
	$(V)/bin/lint-imports --no-cache

papers: $(V)/.dev  ## reproduce all five papers quickly, into papers/
	for p in as2000 ib2003 detective2005 dowd2006 liu2012; do $(V)/bin/sfumato reproduce $$p -o papers/$$p --force || exit 1; done

bench: $(V)/.dev  ## measure speed and memory as ratios against peers, into benchmarks/results.md (a quarter of an hour)
	$(PY) benchmarks/run.py

audit-laws: $(V)/.dev  ## draw a billion values from all laws and compare them with their exact probabilities (DRAWS=1e9, a minute)
	$(PY) benchmarks/law_audit.py --draws $(DRAWS)

coverage: $(V)/.dev  ## measure how often every interval that is printed is right, into docs/coverage.md (five minutes)
	$(PY) benchmarks/coverage.py

docs: $(V)/.docs  ## build the documentation into site/index.html; a broken link or an orphan page fails
	$(PY) -m sphinx -q -W --keep-going -b html -d $(V)/.doctrees docs site
	@echo "open site/index.html"

docs-pages: $(V)/.run  ## write the pages of docs/ that the code can write itself
	$(PY) docs/generate.py

docs-guides: $(V)/.dev  ## run the commands of the guides and renew the output shown beside them
	$(PY) docs/guides.py

format: $(V)/.dev  ## format the code
	$(V)/bin/ruff check --fix-only -q .
	$(V)/bin/ruff format -q .

lock:  ## renew the lock files (no registry address is written)
	$(COMPILE) pyproject.toml --group build -o requirements.lock
	$(COMPILE) pyproject.toml --extra sql --extra onnx --group build --group dev -c requirements.lock -o requirements-dev.lock
	$(COMPILE) pyproject.toml --extra spark --group java -c requirements-dev.lock -o requirements-spark.lock
	$(COMPILE) --group docs -c requirements-dev.lock -o requirements-docs.lock
	$(COMPILE) --group e2e -c requirements-dev.lock -o requirements-e2e.lock

clean:  ## remove what the build made
	rm -rf $(V) benchmarks/.peers .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist demo site
