.PHONY: help run test check bench coverage soak docs
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
docs:  ## write the generated parts of the manual
	python docs/generate.py
	python docs/licences.py
