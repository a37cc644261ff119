PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
STAMP := .venv/.installed
WHEEL_DIR := build/wheel-check

.DEFAULT_GOAL := help
.PHONY: help setup agree chains demo docs evolution pages faults faults-local fuzz-readers figures figures-streaming laws-thorough replay-check step-thorough streaming-thorough test test-fast test-oldest test-thorough mutants mutants-thorough zeitgeist check wheel-check release-check clean
.PHONY: cluster-check kafka-check soak peers bench-depth bench-reference bench-batch bench-dirty bench-state bench-local bench-stream bench-millwheel bench-kafka

# Settings of the caller's shell must not affect the project: another virtual environment, another Spark, or a pip that
# installs elsewhere.
unexport PYTHONPATH PYTHONHOME PYTHONOPTIMIZE VIRTUAL_ENV MYPYPATH PIP_TARGET PIP_PREFIX
unexport SPARK_HOME SPARK_CONF_DIR SPARK_REMOTE PYSPARK_SUBMIT_ARGS
unexport PYRIGHT_PYTHON_FORCE_VERSION PYRIGHT_PYTHON_PYLANCE_VERSION
export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Prevents pyright from querying the network for a newer version.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# Spark's workers would otherwise be the first python3 of the PATH, which lacks the project's dependencies.
export PYSPARK_PYTHON := $(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(BIN)/python

# Spark prefers JAVA_HOME to the PATH, so a JAVA_HOME that is too old must be unset.
WITH_JAVA = JAVA_HOME=$$('$(BIN)/python' tests/components/java.py) && export JAVA_HOME && \
	{ [ -n "$$JAVA_HOME" ] || unset JAVA_HOME; } &&

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1:\2/p' Makefile | while IFS=: read -r name text; do \
		printf '  make %-12s %s\n' "$$name" "$$text"; \
	done

setup: $(STAMP) ## prepare .venv and Java (other targets do this if necessary)
	@'$(BIN)/python' tests/components/java.py > /dev/null

demo: $(STAMP) ## run the flights example
	@$(WITH_JAVA) '$(BIN)/python' -m flights

zeitgeist: $(STAMP) ## find spikes and dips in searches with known anomalies, on all engines
	@$(WITH_JAVA) '$(BIN)/python' -m zeitgeist

bench-reference: $(STAMP) ## time the reference interpreter on the flights, at three sizes
	@'$(BIN)/python' -m docs.benchmarks.reference

bench-batch: $(STAMP) ## compare Spark batch with the same queries by hand, on 10 million rows (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m docs.benchmarks.batch

bench-dirty: $(STAMP) ## measure what bad rows cost batches of both engines, on 2 million rows (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m docs.benchmarks.dirty

bench-state: $(STAMP) ## how long a million windows take to open, and to move to Spark and back
	@$(WITH_JAVA) '$(BIN)/python' -m docs.benchmarks.state

bench-local: $(STAMP) ## compare the local engine with Polars and DuckDB by hand, on 10 million rows (minutes)
	@'$(BIN)/python' -m docs.benchmarks.local

bench-stream: $(STAMP) ## compare micro-batches with Spark's own operators and a processor by hand (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m docs.benchmarks.stream

bench-millwheel: $(STAMP) ## measure computations: throughput, latency, watermark lag, the cache of the state (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m docs.benchmarks.millwheel

bench-depth: $(STAMP) ## measure the latency of windows through chains of groupings, also in Spark's operators and Flink (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m docs.benchmarks.depth

bench-lakehouse: $(STAMP) ## compare upserts to Delta with a merge by hand, in an environment of its own (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m docs.benchmarks.lakehouse

bench-kafka: $(STAMP) ## measure topics: Spark against its own operators, and messages per second (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m docs.benchmarks.kafka

nexmark: $(STAMP) ## compare the answers to the queries of Nexmark on all engines and in SQL (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m docs.benchmarks.nexmark

figures: $(STAMP) ## compare the papers' figures and draw them to docs/gallery
	@'$(BIN)/python' -m figures docs/gallery

docs: $(STAMP) ## write the pages that are generated from the code, and build the guide in build/site
	@'$(BIN)/python' -m docs.tables
	@'$(BIN)/python' -m sphinx --fresh-env --fail-on-warning --keep-going --nitpicky --quiet -b html docs build/site
	@echo 'The guide is in build/site/index.html.'

pages: $(STAMP) ## run the pages of the guide and update their output and pictures
	@'$(BIN)/python' -m docs.pages
	@$(WITH_JAVA) '$(BIN)/python' -m docs.mistakes

figures-streaming: $(STAMP) ## compare the papers' figures with real streaming queries (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m figures.streaming

laws-thorough: $(STAMP) ## test every law on 2,000 generated values
	@FLOWALG_PROFILE=thorough '$(BIN)/python' -m pytest -n auto tests/laws/test_laws.py tests/combiners/test_combiners.py

step-thorough: $(STAMP) ## compare the shard step with the reference on 10,000 generated pipelines (minutes)
	@'$(BIN)/python' -m tests.differential step

chains: $(STAMP) ## compare 10,000 generated chains of groupings with plain Python (minutes)
	@'$(BIN)/python' -m tests.differential chains

agree: MINUTES ?= 10
agree: $(STAMP) ## compare all engines on generated pipelines for MINUTES, ten by default, and keep what differs
	@$(WITH_JAVA) '$(BIN)/python' -m tests.differential agree --minutes $(MINUTES)

fuzz-readers: FILES ?= 20000
fuzz-readers: $(STAMP) ## compare the readers of text of all engines on FILES generated files, 20,000 by default (an hour)
	@$(WITH_JAVA) '$(BIN)/python' -m tests.differential readers --files $(FILES)

local-thorough: $(STAMP) ## compare the local engine with the reference on 10,000 generated pipelines (minutes)
	@'$(BIN)/python' -m tests.differential local

evolution: $(STAMP) ## change 10,000 generated pipelines between two starts of a query: none may be silent (minutes)
	@'$(BIN)/python' -m tests.differential evolution

streaming-thorough: $(STAMP) ## compare Spark streaming with the reference on every job and 200 generated pipelines (half an hour)
	@$(WITH_JAVA) '$(BIN)/python' -m tests.differential streaming

faults: $(STAMP) ## kill and damage a streaming query repeatedly; its result must not change (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m tests.faults spark

faults-local: $(STAMP) ## kill a query of the local engine a hundred times, and at every call; its tables must not change (minutes)
	@'$(BIN)/python' -m tests.faults local
	@POLARS_MAX_THREADS=1 '$(BIN)/python' -m tests.faults crashes
	@'$(BIN)/python' -m tests.faults stores

cluster-check: $(STAMP) ## run queries on a cluster of processes, and kill executors, workers and drivers (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m tests.faults cluster

replay-check: $(STAMP) ## replay streaming runs in the reference, from their metrics, and on the engines, from their rows
	@$(WITH_JAVA) '$(BIN)/python' -m tests.differential replay

soak: $(STAMP) ## run queries from Kafka to PostgreSQL and Kafka for an hour, on both streaming engines, and kill them
	@$(WITH_JAVA) '$(BIN)/python' -m tests.faults soak --picture docs/pictures/soak.svg

kafka-check: $(STAMP) ## compare queries over Kafka with the reference, with faults, on a broker of their own (minutes)
	@'$(BIN)/python' -m tests.faults kafka

lakehouse-check: $(STAMP) ## write Delta and Iceberg tables with kills and bad input, in environments of their own (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m tests.faults lakehouse

peers: $(STAMP) ## run the same small programs on flowalg and on its peers, in environments of their own (minutes)
	@$(WITH_JAVA) '$(BIN)/python' -m tests.peers

# Three processes for two cores, each with a Spark session of its own, since tests also wait for brokers and servers. If
# one dies, the run ends and names the test: pytest-xdist would wait forever for the rest of its file.
TESTS := -m pytest -n 3 --dist loadfile --no-loadscope-reorder --max-worker-restart=0

# A test that hangs shows where, and fails.
test: $(STAMP) ## run the tests, except the thorough ones (minutes)
	@$(WITH_JAVA) '$(BIN)/python' $(TESTS) -m "not thorough" -o faulthandler_timeout=300 -o faulthandler_exit_on_timeout=true

test-thorough: export FLOWALG_PROFILE := explore
test-thorough: $(STAMP) ## run all tests, and the generated ones at full depth (hours)
	@$(WITH_JAVA) '$(BIN)/python' $(TESTS)
	@$(MAKE) --no-print-directory laws-thorough step-thorough chains fuzz-readers local-thorough evolution streaming-thorough

# An environment of its own, so that the newest PySpark stays in .venv.
OLDEST := build/oldest

test-oldest: export PYSPARK_PYTHON := $(CURDIR)/$(OLDEST)/bin/python
test-oldest: export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(OLDEST)/bin/python
test-oldest: $(STAMP) ## run the tests on Spark with the oldest PySpark that is supported (minutes)
	@'$(BIN)/python' -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install --quiet -e '.[dev]' 'pyspark==4.1.0'
	@$(WITH_JAVA) $(OLDEST)/bin/python $(TESTS) -m "spark and not thorough"

test-fast: export FLOWALG_PROFILE ?= few
test-fast: $(STAMP) ## run the tests that need no Spark and are quick, with few examples of each property
	@'$(BIN)/python' -m pytest -n auto -m "not spark and not long and not thorough"

mutants: $(STAMP) ## insert one fault at a time; the tests must detect each (minutes)
	@'$(BIN)/python' -m tests.mutations

# cosmic-ray changes files in place, so it works on a copy of the last commit; it has an environment of its own.
COSMIC_RAY := build/cosmic-ray

mutants-thorough: export PATH := $(BIN):$(CURDIR)/$(COSMIC_RAY)/bin:$(PATH)
mutants-thorough: export FLOWALG_PROFILE := mutants
mutants-thorough: $(STAMP) ## change every operator of some modules, and list the changes that no test detects (hours)
	@'$(BIN)/python' -m venv $(COSMIC_RAY)
	@$(COSMIC_RAY)/bin/python -m pip install --quiet 'cosmic-ray>=8.7,<9'
	@rm -rf build/mutants && mkdir -p build/mutants && git archive HEAD | tar -x -C build/mutants
	@cd build/mutants && cp tests/mutations/cosmic-ray.toml . && cosmic-ray init cosmic-ray.toml session.sqlite && \
		cr-filter-operators session.sqlite cosmic-ray.toml && cosmic-ray exec cosmic-ray.toml session.sqlite && \
		cr-report session.sqlite --surviving-only --show-diff

check: $(STAMP) ## lint, formatting and types
	'$(BIN)/python' -m ruff check .
	'$(BIN)/python' -m ruff format --check .
	'$(BIN)/python' -m mypy --strict flowalg laws interpreters tests docs
	'$(BIN)/python' -m pyright

# The stamp is written last: an incomplete environment has no stamp.
$(STAMP): pyproject.toml
	@'$(BIN)/python' -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || { \
			echo 'error: $(PYTHON) is not Python 3.11 or newer; name a newer version: make PYTHON=python3.11' >&2; exit 1; }; \
		$(PYTHON) -c 'import venv, ensurepip' 2> /dev/null || { \
			echo 'error: $(PYTHON) has no venv module; on Debian: apt-get install python3-venv' >&2; exit 1; }; \
		$(PYTHON) -m venv --clear .venv; \
	}
	'$(BIN)/python' -m pip install --quiet -e '.[dev]'
	@touch $@

# The names that a wheel adds to the installer's site-packages are part of its interface.
define CHECK_TOP_LEVEL
import sys, zipfile

found = {name.split("/")[0] for name in zipfile.ZipFile(sys.argv[1]).namelist()}
engines = {"flowalg_reference", "flowalg_polars", "flowalg_spark"}
packages = {"flowalg", "flowalg_laws", "flowalg_columns", "flowalg_kafka", "flowalg_shard", "flowalg_sinks", "flowalg_snapshots", "flowalg_tools"} | engines
info = {name for name in found if name.endswith(".dist-info")}
assert found - info == packages and len(info) == 1, f"top level of the wheel: {sorted(found)}"
assert f"{info.pop()}/licenses/LICENSE" in zipfile.ZipFile(sys.argv[1]).namelist(), "the wheel has no licence"
endef
export CHECK_TOP_LEVEL

# The algebra alone must not install an engine.
define CHECK_PLAIN
import importlib.util

import flowalg

present = [name for name in ("pyspark", "polars", "datasketches", "hypothesis") if importlib.util.find_spec(name)]
assert not present, f"the plain wheel installs {present}"
endef
export CHECK_PLAIN

# Python's -I keeps the source tree out of the import path: only the content of the wheel can be imported.
wheel-check: $(STAMP) ## build the wheel and test it in clean environments, without and with its extras
	@rm -rf $(WHEEL_DIR)
	'$(BIN)/python' -m build --wheel --outdir $(WHEEL_DIR) > /dev/null
	@'$(BIN)/python' -I -c "$$CHECK_TOP_LEVEL" $(WHEEL_DIR)/*.whl
	@'$(BIN)/python' -m venv $(WHEEL_DIR)/plain
	$(WHEEL_DIR)/plain/bin/python -m pip install --quiet $(WHEEL_DIR)/*.whl
	@$(WHEEL_DIR)/plain/bin/python -I -c "$$CHECK_PLAIN"
	@'$(BIN)/python' -m venv $(WHEEL_DIR)/extras
	$(WHEEL_DIR)/extras/bin/python -m pip install --quiet "$$(echo $(WHEEL_DIR)/*.whl)[polars]"
	@$(WHEEL_DIR)/extras/bin/python -I -c 'import flowalg_polars.batch, flowalg_polars.streaming, flowalg_sinks'
	$(WHEEL_DIR)/extras/bin/python -m pip install --quiet "$$(echo $(WHEEL_DIR)/*.whl)[spark,laws]"
	@$(WHEEL_DIR)/extras/bin/python -I -c 'import flowalg_laws, flowalg_reference, flowalg_spark'
	@rm -rf $(WHEEL_DIR)
	@echo 'wheel-check: the wheel is complete, and plain without its extras'

release-check: $(STAMP) ## build wheel and sdist and try them with each extra on each Python of the machine (an hour)
	@'$(BIN)/python' -m tests.packaging.release_check

clean: ## remove all files of these targets, including .venv and a downloaded Java
	rm -rf .venv .java build dist docs/api .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	rm -rf spark-warehouse metastore_db derby.log artifacts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
