.PHONY: help run test check bench coverage soak docs lock fuzz
help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'
run:  ## the service, as in the README
	gunicorn wsgi:app
test:  ## the whole suite
	pytest
check:  ## format, lint, types, layering
	ruff format --check .
	ruff check .
	mypy .
	pytest -q tests/test_layering.py
coverage:  ## the suite with a report of what it does not reach
	pytest --cov --cov-report=term-missing:skip-covered
bench:  ## every benchmark, into docs/benchmarks.md
	python -m bench
soak:  ## ten minutes of mixed load: nothing may grow, be lost or be twice
	python -m bench.soak
fuzz:  ## ten minutes of mutated input for what faces the network; what fails is kept in tests/fuzz/corpus
	python -m tests.fuzz
LOCK = uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" -q
lock:  ## the lock files anew from the ranges (needs uv; installing from them does not)
	$(LOCK) --upgrade requirements.txt -o requirements.lock
	$(LOCK) --upgrade -c requirements.lock requirements-dev.txt -o requirements-dev.lock
docs:  ## write the generated parts of the manual
	python docs/generate.py
	python docs/licences.py
