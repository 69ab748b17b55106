"""Pages moved while NUMA balancing watches them: Linux 6.1 neither tells where such a page lies nor moves it until it is touched."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_vm.guest import SLOW_S
from machine_vm.test_move import FAR, HOME, Mover, mib_on
from memory_programs import PLACING
from processes import eventually, program

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.show.page_rows import Survey
from numascope.steer.pages import PageLister, survey_pages

pytestmark = [pytest.mark.vm("four-node")]

PAGES = 120 * 256
MEMORY = f"""
os.sched_setaffinity(0, [12])
set_mempolicy(BIND | 1 << 13, [{HOME}])
address = mapped(120 * MIB)
libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(120 * MIB), 15)
touch(address, 120 * MIB); ready()
"""
"""MPOL_F_NUMA_BALANCING: marked, but brought nowhere, since its thread runs on a node (3) that the policy does not name."""

BUSY = MEMORY + "while True: touch(address, 120 * MIB)"
COLD = MEMORY + "while True: pass"


@pytest.fixture
def mover(tmp_path: Path) -> Mover:
    return Mover(tmp_path)


@pytest.fixture(autouse=True)
def _balancing() -> Iterator[None]:
    switch = Path("/proc/sys/kernel/numa_balancing")
    before = switch.read_text()
    switch.write_text("1")
    try:
        yield
    finally:
        switch.write_text(before)


def survey_of(pid: int) -> Survey:
    """All its pages as root sees them."""
    lister = PageLister(HostRoot(), pid)
    try:
        return survey_pages(lister, CpuSet.of([FAR]))
    finally:
        lister.close()


def is_watched(pid: int, part: float) -> bool:
    """Whether this part of the pages is marked."""
    return eventually(lambda: survey_of(pid).watched > part * PAGES, SLOW_S)


def test_memory_in_use_moves_as_a_whole_and_comes_back(mover: Mover) -> None:
    with program(PLACING + BUSY) as child:
        assert is_watched(child.pid, 0.1)
        (moved,) = json.loads(mover.move(child.pid, "--json", wanted=None).out)["results"]
        there = mib_on(child.pid)
        (undone,) = json.loads(mover.run("revert", "--yes", "--json", wanted=None).out)["undone_pages"]
        back = mib_on(child.pid)

    print(moved, there, undone, back)  # noqa: T201  (with -s)
    assert moved["pages"]["moved"] >= PAGES
    assert moved["pages"]["gone"] < 0.01 * PAGES
    assert there[FAR] >= 120
    assert undone["pages"]["moved"] >= PAGES
    assert undone["pages"]["gone"] < 0.01 * PAGES
    assert back[HOME] >= 120


def test_cold_memory_is_listed_by_its_frames_and_stays_without_being_called_gone(mover: Mover) -> None:
    with program(PLACING + COLD) as child:
        assert is_watched(child.pid, 0.95)
        before = mib_on(child.pid)
        document = json.loads(mover.move(child.pid, "--json", wanted=1).out)
        after = mib_on(child.pid)

    print(document, before, after)  # noqa: T201  (with -s)
    (preview,), (result,) = document["moves"], document["results"]
    assert preview["untold"] == 0
    assert next(one for one in preview["nodes"] if one["node"] == HOME)["to_move"] >= PAGES
    assert preview["watched"] > 0.9 * PAGES
    assert result["pages"]["watched"] > 0.9 * PAGES
    assert result["pages"]["gone"] < 0.01 * PAGES
    assert after[HOME] > 0.9 * before[HOME]


def test_who_is_not_told_of_frames_says_so_before(mover: Mover) -> None:
    words = ("apply", "--memory", "move", "PID", "--to", str(FAR), "--dry-run")
    with program(PLACING + COLD) as child:
        assert is_watched(child.pid, 0.95)
        command = mover.command(*(str(child.pid) if word == "PID" else word for word in words))
        done = subprocess.run(
            ["setpriv", "--bounding-set=-sys_admin", *command],
            capture_output=True, text=True, check=False, env=mover.environ(),
        )  # fmt: skip

    print(done.stdout, done.stderr)  # noqa: T201  (with -s)
    assert done.returncode == 1
    assert "did not say where they lie (NUMA balancing)" in " ".join(done.stdout.split())
