# Every target sets up what it needs: python3 (3.11 or newer), git and make are enough on a fresh machine.

.PHONY: help demo test test-vm check bench format bundle clean

help:
	@echo 'make demo     start a stand-in training job and watch it'
	@echo 'make test     make check, then the tests'
	@echo 'make test-vm  tests inside emulated machines of several nodes (Debian 12, root); VM=four-node for one'
	@echo 'make check    ruff, mypy, import-linter'
	@echo 'make format   let ruff mend what it can'
	@echo 'make bench    the benchmarks'
	@echo 'make bundle   one file in dist/ that runs on a host without internet'
	@echo 'make clean    remove all that these made'

demo:
	@tools/venv
	@.venv/bin/numascope demo

test: check
	.venv/bin/pytest -q

test-vm:
	@tools/venv dev
	tests/testbed/vm test $(VM)

check:
	@tools/venv dev
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports

format:
	@tools/venv dev
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

bench:
	@tools/venv dev
	.venv/bin/python bench/run.py

bundle:
	@tools/venv
	.venv/bin/python tools/bundle.py

clean:
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
