# make demo: the whole story on bundled data.  make test: lint, types and every test.
# Both set up what they need first: uv, the locked environment, a Java.

UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
RUN := $(UV) run --no-sync

.PHONY: demo test site environment java chromium bench bench-peers clean
.DEFAULT_GOAL := demo

demo: environment java
	$(RUN) partage demo -o demo

test: environment java chromium
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(RUN) zensical build --clean --strict
	$(RUN) pytest --cov=partage --cov-report=term:skip-covered

# The documentation as pages, in site/; a broken link or a warning fails.
site: environment
	$(RUN) zensical build --clean --strict

bench: environment
	$(RUN) python benchmarks/plan.py

# Fetches the peers into the user's cache folder; docs/benchmarks.md says how long it takes.
bench-peers: environment
	$(RUN) python benchmarks/peers.py

environment: $(UV)
	@$(UV) sync --locked --quiet --extra spark --extra connect --extra kafka --extra aiokafka

# Reached only where there is no uv on the PATH.
.tools/bin/uv:
	@python3 -m venv .tools || { echo "partage: python3 -m venv failed: install python3-venv, or uv" >&2; exit 1; }
	@.tools/bin/pip install --quiet uv

java:
	@scripts/ensure-java

chromium:
	@scripts/ensure-chromium

clean:
	rm -rf .venv .tools .cache demo dist site .coverage
