"""Hints beside the verdicts on real processes: a real OpenMP runtime, a launcher that is bound, and silence where neither is so."""

from __future__ import annotations

import ctypes.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import OWN_CPUS, PRELUDE, needs_two_cpus, program

from numascope.cli.session import open_session
from numascope.observe.select import Wanted

pytestmark = [pytest.mark.live, needs_two_cpus]

needs_libgomp = pytest.mark.skipif(ctypes.util.find_library("gomp") is None, reason="needs the runtime of GCC's OpenMP")

LOADS_OPENMP = "ctypes.CDLL('libgomp.so.1'); ready(); sleep()"
"""Its constructor binds the thread that loads it, as `import torch` does."""

LAUNCHES = """
import subprocess
environ = {**os.environ, "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "TORCHELASTIC_RESTART_COUNT": "1"}
name("pt_elastic"); exec(sys.argv[1])
child = subprocess.Popen([sys.executable, "-c", sys.argv[2]], stdout=subprocess.PIPE, env=environ, start_new_session=True)
child.stdout.readline(); print(child.pid, flush=True); child.wait()
"""


def plan_on(cpu: int, folder: Path) -> str:
    path = folder / "bind.json"
    path.write_text(json.dumps({"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": str(cpu)}}}))
    return str(path)


def evidence(one: Wanted, plan: str) -> str:
    """What is told of the threads that are out of place."""
    session = open_session((one,), plan, interval_s=0.1, window_s=1.0)
    try:
        report = session.look(0.3)
    finally:
        session.close()
    return "\n".join(one.evidence for one in report.findings if one.rule in ("escaped", "astray", "loose", "narrow"))


@contextmanager
def launched(bind_launcher: str, rank: str) -> Iterator[int]:
    """The pid of a process named as torchrun's, which ran `bind_launcher` and started a rank."""
    command = [sys.executable, "-c", PRELUDE + LAUNCHES, bind_launcher, PRELUDE + rank]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout is not None
        pid = int(launcher.stdout.readline())
        try:
            yield launcher.pid
        finally:
            os.kill(pid, 9)


@needs_libgomp
@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"OMP_PROC_BIND": "true"}, "OMP_PROC_BIND=true, libgomp mapped"),
        ({"OMP_PLACES": "threads"}, "OMP_PLACES=threads, libgomp mapped"),
        ({"GOMP_CPU_AFFINITY": str(OWN_CPUS[0])}, f"GOMP_CPU_AFFINITY={OWN_CPUS[0]}, libgomp mapped"),
    ],
)
def test_a_variable_that_narrowed_main_is_named(environ: dict[str, str], told: str, tmp_path: Path) -> None:
    with program(LOADS_OPENMP, **environ) as child:
        assert os.sched_getaffinity(child.pid) == {OWN_CPUS[0]}
        assert told in evidence(Wanted(child.pid, device=0), plan_on(OWN_CPUS[-1], tmp_path))


@needs_libgomp
@pytest.mark.parametrize(
    "environ",
    [{"OMP_PROC_BIND": "false", "OMP_PLACES": "threads"}, {"KMP_AFFINITY": "compact"}, {"OMP_PROC_BIND": "nonsense"}],
)
def test_a_variable_that_narrowed_nobody_is_not_named(environ: dict[str, str], tmp_path: Path) -> None:
    with program(LOADS_OPENMP, **environ) as child:
        assert os.sched_getaffinity(child.pid) == set(OWN_CPUS)
        told = evidence(Wanted(child.pid, device=0), plan_on(OWN_CPUS[-1], tmp_path))
    assert told
    assert next(iter(environ)) not in told


def test_a_rank_that_has_the_set_of_its_bound_launcher_is_told_so_and_what_was_bound_live_is_lost(
    tmp_path: Path,
) -> None:
    with launched(f"os.sched_setaffinity(0, {{{OWN_CPUS[0]}}})", "ready(); sleep()") as launcher:
        told = evidence(Wanted(launcher), plan_on(OWN_CPUS[-1], tmp_path))
    assert "pt_elastic" in told
    assert "what a launcher is bound to, its ranks inherit" in told
    assert "TORCHELASTIC_RESTART_COUNT=1" in told


def test_a_rank_that_bound_itself_is_told_neither(tmp_path: Path) -> None:
    own = f"os.sched_setaffinity(0, {{{OWN_CPUS[0]}}}); ready(); sleep()"
    with launched("pass", own) as launcher:
        told = evidence(Wanted(launcher), plan_on(OWN_CPUS[-1], tmp_path))
    assert told
    assert "pt_elastic" not in told
    assert "TORCHELASTIC" not in told
