.PHONY: help docs check test run
help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'
docs:  ## write the generated parts of the manual
	python docs/generate.py
check:  ## format, lint, types, layering
	ruff format --check .
	ruff check .
	mypy .
	pytest -q tests/test_layering.py
test:  ## the whole suite
	pytest
run:  ## the service, as in the README
	gunicorn wsgi:app
