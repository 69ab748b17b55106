"""What a verb loads is a promise: Textual and Rich cost more to import than `topo` and `diff` cost to run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from numascope.cli.standin_process import StandIn

SCREEN = frozenset({"textual", "rich", "plotext"})
PROGRAM = """
import sys
sys.argv[0] = "numascope"
from numascope.cli import main
try:
    main()
finally:
    print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a verb in an interpreter of its own that tells at its end what it has loaded."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def loaded_by(done: subprocess.CompletedProcess[str]) -> frozenset[str]:
    lines = [line for line in done.stderr.splitlines() if line.startswith("loaded:")]
    assert len(lines) == 1, done.stderr
    return frozenset(lines[0].split()[1:])


def test_the_command_line_itself_loads_no_screen_and_no_psutil() -> None:
    program = "import sys, numascope.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "numascope" in loaded
    assert not loaded & {*SCREEN, "psutil"}


def test_help_and_version_load_no_screen() -> None:
    assert not loaded_by(run("--help")) & {*SCREEN, "msgspec", "psutil"}
    assert not loaded_by(run("--version")) & {*SCREEN, "msgspec", "psutil"}


@pytest.mark.live
def test_topo_as_json_loads_no_screen() -> None:
    done = run("topo", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"] == "numascope.topo/1"
    assert not loaded_by(done) & SCREEN


@pytest.mark.live
def test_diff_as_json_loads_no_screen() -> None:
    with StandIn(for_s=60) as job:
        done = run("diff", job.plan_path, "--json")
    assert done.returncode in {0, 1, 3}, done.stderr
    assert json.loads(done.stdout)["schema"] == "numascope.diff/1"
    assert not loaded_by(done) & SCREEN
