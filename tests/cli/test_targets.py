"""Whom a verb is about: pids, names, patterns; several are listed, and a pattern never takes long."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import PRELUDE, program
from verbs import numascope

from numascope.cli.targets import Named, parse_targets, resolved
from numascope.errors import TargetGoneError, UsageError
from numascope.observe.sample import ProcessFacts
from numascope.observe.select import Wanted

pytestmark = pytest.mark.live

RANK = PRELUDE + "sleep()"
JOB = f"""
for rank in range(2):
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", {RANK!r}, "MARK"], {{**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)}})
name("TITLE"); time.sleep(0.7); ready(); sleep()
"""


def job(mark: str, title: str = "pt_elastic") -> str:
    return JOB.replace("MARK", mark).replace("TITLE", title)


def process(pid: int, *cmdline: str, comm: str = "python") -> ProcessFacts:
    return ProcessFacts(pid, 1, 0, 1, comm, cmdline, {})


def test_numbers_are_pids_and_all_else_is_a_name() -> None:
    assert parse_targets(["7", "8=device2", "train.py"], "x.*y") == (
        Wanted(7),
        Wanted(8, 2),
        Named("train.py"),
        Named("x.*y", is_pattern=True),
    )
    for wrong in ("0", "7=gpu1", "train.py=device0", "", "12345678901"):
        with pytest.raises(UsageError, match="is no target"):
            parse_targets([wrong], None)


def test_a_name_finds_the_whole_job_and_a_pattern_too(tmp_path: Path) -> None:
    mark = f"mark-{os.getpid()}"
    out = tmp_path / "out.nsr"
    title = f"own-{os.getpid()}"
    with program(job(mark)) as child, program(job("other", title)) as other:
        by_name = numascope("attach", "--once", "--for", "0.2s", title)
        by_pattern = numascope("attach", "--once", "--for", "0.2s", "--match", f"{mark}$")
        recorded = numascope("record", "--match", f"{mark}$", "--for", "0.3s", "-o", str(out))
        nothing = numascope("attach", "--once", "--match", f"{mark}-and-more")

    assert f"{title} {other.pid} · " in by_name.stdout, by_name.stderr
    assert f"torchrun {child.pid} · 2 ranks" in by_pattern.stdout, by_pattern.stderr
    assert out.exists(), recorded.stderr
    assert nothing.returncode == 4
    assert "no command line matches" in nothing.stderr


def test_several_are_listed_in_one_line() -> None:
    mark = f"mark-{os.getpid()}"
    with program(job(f"{mark}-a")) as one, program(job(f"{mark}-b")) as other:
        by_pattern = numascope("attach", "--once", "--match", mark)
        without = numascope("attach", "--once")
        recorded = numascope("record", "-o", "/dev/null/x")

    lower, higher = sorted((one.pid, other.pid))
    for done in (by_pattern, without, recorded):
        assert done.returncode == 2
        assert "say which by its PID" in done.stderr
        assert f"{lower} (torchrun" in done.stderr
        assert f"{higher} (torchrun" in done.stderr
        assert len(done.stderr.splitlines()) <= 2  # that there is no terminal is said before


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*a){30}x", "((a*)*)*$"])
def test_a_pattern_that_never_ends_is_refused_in_time(pattern: str) -> None:
    facts = {7: process(7, "python", "a" * 4000 + "!")}
    began_s = time.monotonic()

    with pytest.raises(UsageError, match=r"takes longer than 1 s"):
        resolved([Named(pattern, is_pattern=True)], facts, [])

    assert time.monotonic() - began_s < 10


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("((", "is no pattern at character 2"),
        ("a{99999999999}", "is no pattern"),
        ("x" * 1001, "longer than 1000 characters"),
        ("*", "nothing to repeat"),
    ],
)
def test_what_is_no_pattern_is_said(pattern: str, says: str) -> None:
    with pytest.raises((UsageError, TargetGoneError)) as told:
        resolved([Named(pattern, is_pattern=True)], {7: process(7, "python")}, [])

    assert re.search(says, str(told.value))
    assert "\n" not in str(told.value)


def test_a_long_list_is_cut_and_counted() -> None:
    facts = {pid: process(pid, "python", "same.py") for pid in range(10_000, 10_020)}

    with pytest.raises(UsageError, match=r"20 are called \"same.py\".* and 12 more$"):
        resolved([Named("same.py")], facts, [])


def test_whoever_carries_the_pattern_in_its_own_arguments_is_not_meant() -> None:
    """The shell that runs numascope, and numascope itself, have the pattern in their command lines."""
    mark = f"mark-{os.getpid()}-here"
    command = f"{sys.executable} -m numascope attach --once --match {mark}; true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    assert f'no command line matches "{mark}"' in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["attach", "--once", "--follow", "{pid}"], "--once looks once: use numascope diff --watch --follow"),
        (["attach", "--follow", "{pid}"], "there is no terminal: use numascope diff --watch --follow"),
        (["diff", "/dev/null", "--follow", "{pid}"], "--follow goes with --watch"),
        (["attach", "--once", "--replay", "/no/such", "train.py"], "of a recording give the PID"),
        (["attach", "--once", "--match", ""], "--match: its value is empty"),
        (
            ["attach", "--once", "--roles", "/no/such", "{pid}"],
            "there is no such file: give the path of a table of roles",
        ),
    ],
)
def test_what_does_not_go_together_is_said(arguments: list[str], says: str) -> None:
    with program("ready(); sleep()") as child:
        done = numascope(*(one.format(pid=child.pid) for one in arguments))

    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
