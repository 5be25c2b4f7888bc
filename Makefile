# make demo: the whole story on bundled data.  make test: lint, types, docs and the tests of every day.
# make test-all adds the long tier.
# Both set up what they need first: uv, the locked environment, a Java.

UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
RUN := $(UV) run --no-sync
BENCH := $(UV) run --locked --group bench --extra spark --extra connect --extra kafka --extra aiokafka --group bench

# Commands start in half the time where Python may keep what it has compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test daily test-long test-failed test-all test-faults test-versions lint types site environment java chromium kerberos bench bench-page dist sbom jar clean
.DEFAULT_GOAL := demo

demo: environment java
	$(RUN) partage demo -o demo
	@echo "To type partage without uv run: . .venv/bin/activate"

# Three processes for two cores: one of them mostly waits for Kafka.
PYTEST := $(RUN) pytest --numprocesses=3 --dist=loadgroup --no-loadscope-reorder --durations=10

# Everything that a change should pass, in minutes. The random tests try the same examples each time.
test: environment java chromium
	$(MAKE) --no-print-directory --jobs=2 daily lint types site

daily: tests/__pycache__
	$(PYTEST) -m "not long" $(COVERAGE)

lint: environment
	$(RUN) ruff check .
	$(RUN) ruff format --check .

types: environment
	$(RUN) mypy

# In a fresh clone one process compiles the tests while mypy runs, instead of three at once later.
tests/__pycache__: | environment
	@$(RUN) pytest --collect-only -qq >/dev/null || true

# The rest: every client, security, faults, packaging, Spark clusters, and the random tests with six
# times the examples. Their seed, which the first line shows, follows from the content of the commit:
# each change tries examples of its own, and a run can be repeated. RANDOM_SEED=7 takes another.
RANDOM_SEED := $(shell printf %d 0x$$(git rev-parse HEAD^{tree} 2>/dev/null | cut -c1-8 | grep . || echo 1))
test-long: environment java chromium kerberos
	$(PYTEST) -m "long or random or hypothesis" --hypothesis-profile=thorough \
		--hypothesis-seed=$(RANDOM_SEED) $(COVERAGE)

# The tests that failed in the last run, one at a time; with its RANDOM_SEED they try the same examples.
test-failed: environment java chromium
	$(RUN) pytest --last-failed --last-failed-no-failures=none --hypothesis-profile=thorough \
		--hypothesis-seed=$(RANDOM_SEED)

# Both, and how much of the source they cover.
test-all: environment
	$(RUN) coverage erase
	$(MAKE) test test-long COVERAGE="--cov=partage --cov-append --cov-report="
	$(RUN) coverage report --skip-covered

# What reads, plans, changes and restores a running cluster, on Kafka of every version that a sandbox
# can run, with KRaft and ZooKeeper; writes the table of docs/reference/versions.md. About an hour, or
# VERSIONS="3.9.2 3.9.2-zookeeper". Jars are downloaded when first used.
VERSIONS :=
test-versions: environment java
	$(RUN) python scripts/versions_table.py $(VERSIONS)

# Faults injected while plans are applied, five seeds of each kind: an hour or more. Another range:
# SEEDS=0-20; one seed, told in full: SEED=7; another version: KAFKA=3.9.2.
SEEDS := 0-104
test-faults: environment java
	$(RUN) python -m tests.faults.campaign --seeds $(SEEDS) $(if $(SEED),--seed $(SEED)) $(if $(KAFKA),--kafka $(KAFKA))

# The documentation as pages, in site/; a broken link or a warning fails.
site: environment
	$(RUN) python scripts/build_site.py

# All comparisons, then the pages. SIZE=small takes 20 minutes, large over two hours. Fetches
# the peers into the user's cache folder.
SIZE := medium
bench: environment java
	$(RUN) python benchmarks/bench.py --size $(SIZE)

# The pages and plots alone, from the results that are kept.
bench-page: environment
	$(RUN) python benchmarks/page.py

# Wheel and sdist, built with the locked hatchling.
dist: environment
	$(RUN) hatchling build

# What partage installs and downloads, jars included, with hashes and licences: CycloneDX and a list in sbom/.
sbom: environment
	$(UV) export --quiet --locked --all-extras --no-default-groups --format cyclonedx1.5 \
		--preview-features sbom-export | $(RUN) python scripts/sbom.py

# The assignor for brokers and Java clients, java/target/partage-assignor.jar, and its tests.
jar: environment
	@$(RUN) python scripts/build_jar.py

environment: $(UV)
	@$(UV) sync --locked --quiet --extra spark --extra connect --extra kafka --extra aiokafka --group bench

# Reached only where there is no uv on the PATH.
.tools/bin/uv:
	@python3 -m venv .tools || { echo "partage: python3 -m venv failed: install python3-venv, or uv" >&2; exit 1; }
	@.tools/bin/pip install --quiet --require-hashes -r scripts/uv.txt

java:
	@scripts/ensure-java

chromium:
	@scripts/ensure-chromium

kerberos:
	@scripts/ensure-kerberos

clean:
	rm -rf .venv .tools .cache demo dist sbom site java/target .coverage
