.PHONY: help run quick fix test check lint bench coverage soak docs
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
docs:  ## write the generated parts of the manual
	python docs/generate.py
	python docs/licences.py
