"""How the program ends where its output cannot be written."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = f"{sys.executable} -m numascope"
SMALL = '--synthetic "package:2 core:2 pu:1"'
FULL = "numascope: standard output: cannot be written: No space left on device\n"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("arguments", [f"topo {SMALL}", f"topo {SMALL} --json", f"topo {SMALL} -f svg", "--help"])
def test_a_full_disk_is_an_error_that_says_what_could_not_be_written(arguments: str) -> None:
    done = shell(f"{PROGRAM} {arguments} >/dev/full")
    assert (done.returncode, done.stderr) == (2, FULL)


@pytest.mark.parametrize("arguments", [f"topo {SMALL}", "jobs", "diff", "capture", "revert", "--version"])
def test_a_closed_output_is_refused_before_anything_is_done(arguments: str) -> None:
    done = shell(f"{PROGRAM} {arguments} >&-")
    assert done.returncode == 2
    assert done.stderr == "numascope: standard output: is closed: open it, or send it to /dev/null\n"
    assert shell(f"{PROGRAM} {arguments} >&- 2>&-").returncode == 2
    assert shell(f"{PROGRAM} {arguments} >&- 2>/dev/full").returncode == 2


def test_an_output_that_is_open_for_reading_only_is_an_error() -> None:
    done = shell(f"{PROGRAM} topo {SMALL} 1</dev/null")
    assert (done.returncode, done.stderr) == (2, "numascope: standard output: cannot be written: Bad file descriptor\n")


def test_a_reader_that_goes_away_is_told_nothing_and_no_verdict() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "numascope", "topo", *shlex.split(SMALL)],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("errors", ["2>&-", "2>/dev/full"])
def test_closed_or_full_errors_change_no_exit_code(errors: str) -> None:
    assert shell(f"{PROGRAM} topo {SMALL} {errors}").returncode == 0
    assert shell(f"{PROGRAM} topo --root /no-such-directory {errors}").returncode == 2
    assert shell(f"{PROGRAM} topo --no-such-option {errors}").returncode == 2


def test_a_closed_input_is_no_terminal(tmp_path: Path, snapshots: Path) -> None:
    plan = tmp_path / "bind.json"
    plan.write_text('{"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": "0"}}}')
    replayed = shell(f"{PROGRAM} replay {snapshots}/recordings/torchrun.nsr <&-")
    applied = shell(f"{PROGRAM} apply {plan} $$=device0 <&-; exit $?")
    assert (replayed.returncode, applied.returncode) == (1, 2)
    assert "no terminal, so this is the page of --once" in replayed.stderr
    assert "no terminal: there is nobody to ask" in applied.stderr
    assert "Traceback" not in replayed.stderr + applied.stderr


def test_the_encoding_that_was_asked_for_stays() -> None:
    done = shell(f"PYTHONIOENCODING=ascii:replace {PROGRAM} topo {SMALL}")
    assert done.returncode == 0
    assert done.stdout.isascii()
