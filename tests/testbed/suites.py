"""Which machines the tests of `tests/machine_vm` are run on: one boot each, pytest inside."""

# ruff: noqa: T201  (what a command line says)

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from testbed.boot import NO_RESULT, TIMED_OUT, run
from testbed.job import Job

REPOSITORY: Final = Path(__file__).resolve().parent.parent.parent

PYTHON: Final = REPOSITORY / ".venv/bin/python"
"""The interpreter that `tools/venv dev` sets up, with pytest in it."""

_NO_FILES_LEFT: Final = ("-o", "tmp_path_retention_policy=failed")
"""They lie in the guest's memory, on whatever node."""

IN_VM: Final = "NUMASCOPE_IN_VM"
"""The environment variable that tells a test in the guest which machine it is on."""


class Suite(NamedTuple):
    """A machine that tests run on, and what its kernel is told."""

    machine: str
    kernel_arguments: str = ""
    timeout_s: float = 900.0


SUITES: Final = {
    suite.machine: suite
    for suite in (
        Suite("four-node", timeout_s=2400.0),
        Suite("two-socket", "isolcpus=domain,2-5 nohz_full=12"),
        Suite("memory-only", timeout_s=1800.0),
        Suite("chiplets", timeout_s=600.0),
    )
}
"""Machine → its suite, in the order in which `vm test` boots them."""


def run_suites(machines: Iterable[str], guest: Path, pytest_arguments: Iterable[str], timeout_s: float | None) -> int:
    """Boots each machine and runs its tests; 0 if all passed, TIMED_OUT or NO_RESULT where that is all that went wrong, else 1."""
    ended: dict[str, int] = {}
    for machine in machines:
        suite = SUITES[machine]
        print(f"testbed: {machine} {suite.kernel_arguments}".rstrip(), file=sys.stderr, flush=True)
        job = Job(
            machine,
            (
                str(PYTHON),
                "-m",
                "pytest",
                "-p",
                "no:cacheprovider",
                *_NO_FILES_LEFT,
                "tests/machine_vm",
                *pytest_arguments,
            ),
            timeout_s=timeout_s or suite.timeout_s,
            environment=((IN_VM, machine), ("PYTHONDONTWRITEBYTECODE", "1")),
            kernel_arguments=suite.kernel_arguments,
        )
        ended[machine] = run(job, guest)
    for machine, status in ended.items():
        print(f"testbed: {machine}: {_in_words(status)}", file=sys.stderr, flush=True)
    return next((1 for status in ended.values() if status not in (0, TIMED_OUT, NO_RESULT)), max(ended.values()))


def _in_words(status: int) -> str:
    known = {0: "passed", TIMED_OUT: "out of time", NO_RESULT: "the machine gave no result"}
    return known.get(status, f"FAILED (pytest ended {status})")
