.PHONY: help run quick fix test check lint bench coverage soak docs lock fuzz vendor
# The tests start many processes: what one of them compiles, the others read.
unexport PYTHONDONTWRITEBYTECODE
help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'
run:  ## the service, as in the README
	gunicorn wsgi:app
quick: lint  ## format, lint, types, layering and all tests that need no service
	pytest -q -n auto -m "not service and not crash" --durations=25
fix:  ## format, and mend what the linter can mend
	ruff format .
	ruff check --fix .
	ruff format .
test:  ## the whole suite
	pytest -n 2
check: lint  ## format, lint, types, layering
	pytest -q tests/test_layering.py
lint:
	ruff format --check .
	ruff check .
	mypy .
coverage:  ## the suite with a report of what it does not reach
	pytest --cov --cov-report=term-missing:skip-covered
bench:  ## every benchmark, into docs/benchmarks.md
	python -m bench
soak:  ## ten minutes of mixed load: nothing may grow, be lost or be twice
	python -m bench.soak
fuzz:  ## ten minutes of mutated input for what faces the network; what fails is kept in tests/fuzz/corpus
	python -m tests.fuzz
LOCK = uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-strip-extras --custom-compile-command "make lock" -q
lock:  ## the lock files anew from the ranges (needs uv; installing from them does not)
	$(LOCK) --upgrade requirements.txt -o requirements.lock
	$(LOCK) --upgrade -c requirements.lock requirements-dev.txt -o requirements-dev.lock
docs:  ## write the generated parts of the manual
	python docs/generate.py
	python docs/licences.py
vendor:  ## the console's libraries anew (needs Node 20; using and changing the console does not)
	cd console/vendor/source && npm ci --no-audit --no-fund --ignore-scripts && node build.mjs
