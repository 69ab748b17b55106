"""Memory of known placement, sampled a hundred times: the interval holds the true share, and is no wider than it must be."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from machine_vm.guest import CGROUPS, numascope
from memory_programs import PLACING, look, shares_of
from processes import program

from numascope.cpuset import CpuSet
from numascope.host.maps import FILE, SHARED, Kind
from numascope.host.root import HostRoot
from numascope.observe.memory_look import walk
from numascope.observe.share import MemoryShare

pytestmark = [pytest.mark.vm("four-node", "memory-only")]

ROOT = HostRoot()
TRIALS = 100
LEAST_HELD = 90
MOST_WIDTH = 2.0
HOLD = "ready(); time.sleep(100_000)"
FAR = 2
"""Of four-node one of the far nodes, of memory-only the one without CPUs."""

PLACEMENTS = {
    "bind": f"place(120 * MIB, [{FAR}])",
    "interleave": "set_mempolicy(INTERLEAVE, [0, 1, 2]); touch(mapped(120 * MIB), 120 * MIB)",
    "default": "os.sched_setaffinity(0, [4, 5]); touch(mapped(100 * MIB), 100 * MIB)",
    "blocks of 2 MiB": f"for at in range(50): place(2 * MIB, [0, 0, 1, {FAR}][at % 4:][:1])",
    "one page in fifty off": f"""
address = mapped(100 * MIB)
libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(100 * MIB), 15)
for at in range(0, 100 * MIB, 200 * 1024):
    mbind(address + at, 4096, BIND, [{FAR}])
    mbind(address + at + 4096, 196 * 1024, BIND, [0])
touch(address, 100 * MIB)
""",
    "300 GiB reserved": f"""
mapped(256 * GIB, PRIVATE | ANONYMOUS | NORESERVE, rights=0)
thin = mapped(64 * GIB, PRIVATE | ANONYMOUS | NORESERVE)
libc.madvise(ctypes.c_void_p(thin), ctypes.c_size_t(64 * GIB), 15)
for at in range(64, 0, -1): touch(thin + at * GIB - 4096 * at, 1)
wide = mapped(300 * GIB, PRIVATE | ANONYMOUS | NORESERVE)
libc.madvise(ctypes.c_void_p(wide), ctypes.c_size_t(300 * GIB), 15)
for start, size, node in ((77 * GIB, 70 * MIB, 1), (201 * GIB + 4096 * 77, 110 * MIB, {FAR})):
    mbind(wide + start, size, BIND, [node]); touch(wide + start, size)
""",
}


LIES_ON = {
    "bind": (FAR, 0.8),
    "interleave": (FAR, 0.3),
    "default": (1, 0.8),
    "blocks of 2 MiB": (FAR, 0.2),
    "one page in fifty off": (FAR, 0.015),
    "300 GiB reserved": (FAR, 0.5),
}
"""Placement → a node and the least share that lies there, the interpreter's own memory being elsewhere."""


class Seen(NamedTuple):
    """How often the interval of a node held its true share, and how wide it was against that of as many independent pages."""

    held: int
    width: float | None


def trials(pid: int) -> tuple[dict[int, float], dict[int, Seen]]:
    """The true share of each node by a walk of all pages, and what a hundred looks say of it."""
    truth = shares_of({one.node: one.kib for one in walk(ROOT, pid).nodes or ()})
    shares = [look(ROOT, pid, seed).share for seed in range(TRIALS)]
    return truth, {node: _seen(shares, node, share) for node, share in truth.items()}


def _seen(shares: list[MemoryShare], node: int, true: float) -> Seen:
    found = [(one.total.on(CpuSet.of([node])), one.pages_resident) for one in shares]
    known = [(interval, pages) for interval, pages in found if interval is not None]
    held = sum(interval.low <= true <= interval.high for interval, _ in known)
    # Of a share near nothing the textbook's width is none, and no interval that holds it can be so narrow.
    if not known or not 0.01 < true < 0.99:
        return Seen(held, None)
    theory = 3.92 * math.sqrt(true * (1 - true))
    return Seen(held, sum((one.high - one.low) * math.sqrt(pages) / theory for one, pages in known) / len(known))


@pytest.mark.parametrize("name", PLACEMENTS)
def test_the_interval_holds_the_true_share_and_is_not_much_wider_than_the_theory(name: str) -> None:
    with program(PLACING + PLACEMENTS[name] + "\n" + HOLD) as child:
        truth, seen = trials(child.pid)

    told = f"{name}: true {truth}, seen {seen}"
    print(told)  # noqa: T201  (with -s: the table)
    assert all(one.held >= LEAST_HELD for one in seen.values()), told
    widths = [one.width for one in seen.values() if one.width is not None]
    assert all(width <= MOST_WIDTH for width in widths), told
    node, least = LIES_ON[name]
    assert truth[node] > least, told


def test_file_pages_lie_where_the_file_was_written(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    code = f"""
set_mempolicy(BIND, [{FAR}])
with open({str(path)!r}, "wb") as file: file.write(bytes(80 * MIB))
set_mempolicy(0, [])
file = os.open({str(path)!r}, os.O_RDONLY)
address = mapped(80 * MIB, SHARED, 1, file)
total = sum(ctypes.string_at(address + at, 1)[0] for at in range(0, 80 * MIB, 4096))
"""
    with program(PLACING + code + HOLD) as child:
        truth, seen = trials(child.pid)
        kinds = look(ROOT, child.pid, 1).share.kinds
    assert all(one.held >= LEAST_HELD for one in seen.values()), (truth, seen)
    on = [one.on(CpuSet.of([FAR])) for kind, one in kinds.items() if kind in (FILE, SHARED)]
    assert max(one.share for one in on if one is not None) > 0.7


def test_two_ranks_that_share_memory_are_both_told_where_it_lies() -> None:
    code = f"""
file = os.memfd_create("ring")
os.ftruncate(file, 80 * MIB)
address = mapped(80 * MIB, SHARED, 3, file)
mbind(address, 20 * MIB, BIND, [0]); mbind(address + 20 * MIB, 60 * MIB, BIND, [{FAR}])
touch(address, 80 * MIB)
if os.fork() == 0:
    for at in range(0, 80 * MIB, 4096): ctypes.string_at(address + at, 1)
    os.write(9, b"x"); time.sleep(100_000)
os.read(8, 1)
"""
    pipe = "reading, writing = os.pipe(); os.dup2(reading, 8); os.dup2(writing, 9)\n"
    with program(PLACING + pipe + code + HOLD) as child:
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        for pid in (child.pid, *map(int, children)):
            truth, seen = trials(pid)
            assert all(one.held >= LEAST_HELD for one in seen.values()), (pid, truth, seen)
            shared = look(ROOT, pid, 1).share.kinds[SHARED].on(CpuSet.of([FAR]))
            assert shared is not None
            assert shared.low <= 0.75 <= shared.high


@pytest.fixture
def huge_pages() -> Iterator[int]:
    """Forty huge pages of 2 MiB on the far node."""
    pool = Path(f"/sys/devices/system/node/node{FAR}/hugepages/hugepages-2048kB/nr_hugepages")
    pool.write_text("40")
    try:
        if int(pool.read_text()) < 40:
            pytest.skip("the guest has no room for forty huge pages")
        yield 40
    finally:
        pool.write_text("0")


def test_huge_pages_are_a_kind_of_their_own(huge_pages: int) -> None:
    code = f"place({huge_pages} * 2 * MIB, [{FAR}], flags=PRIVATE | ANONYMOUS | HUGE)\n"
    with program(PLACING + code + HOLD) as child:
        truth, seen = trials(child.pid)
        share = look(ROOT, child.pid, 1).share.kinds[Kind("huge", 2048)]
    assert all(one.held >= LEAST_HELD for one in seen.values()), (truth, seen)
    on = share.on(CpuSet.of([FAR]))
    assert share.resident_kib == huge_pages * 2048
    assert on is not None
    assert on.share == 1.0


def test_a_cgroup_of_ones_own_is_counted_by_the_kernel() -> None:
    (CGROUPS / "cgroup.subtree_control").write_text("+memory")
    cgroup = CGROUPS / "rank"
    cgroup.mkdir()
    try:
        join = f"open({str(cgroup / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
        with program(PLACING + join + f"place(100 * MIB, [{FAR}])\n" + HOLD) as child:
            share = look(ROOT, child.pid, 1, cgroup_is_own=True).share
            document = json.loads(numascope("memory", str(child.pid), "--json").stdout)
        on = share.total.on(CpuSet.of([FAR]))
        assert (share.source, document["processes"][0]["method"]) == ("memory.numa_stat", "memory.numa_stat")
        assert on is not None
        assert on.share > 0.9
        assert on.low == on.high
    finally:
        deadline_s = time.monotonic() + 30
        while (cgroup / "cgroup.procs").read_text() and time.monotonic() < deadline_s:
            time.sleep(0.1)
        cgroup.rmdir()


def test_the_verb_says_why_memory_is_off_its_node() -> None:
    code = f"os.sched_setaffinity(0, [0, 1]); set_mempolicy(PREFERRED, [{FAR}]); touch(mapped(100 * MIB), 100 * MIB)\n"
    with program(PLACING + code + HOLD) as child:
        done = numascope("memory", str(child.pid), "--kind")
        full = numascope("memory", str(child.pid), "--full", "--yes", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"why: its policy is prefer:{FAR}" in done.stdout
    assert "N0 home" in done.stdout
    (process,) = json.loads(full.stdout)["processes"]
    assert (process["method"], process["home_nodes"]) == ("numa_maps", "0")
    assert process["off_home"]["low"] == process["off_home"]["high"] > 0.8


def test_threads_with_a_policy_of_their_own_are_told() -> None:
    code = f"def bound():\n    set_mempolicy(BIND, [{FAR}]); sleep()\nthread(bound); time.sleep(1)\n"
    with program(PLACING + code + HOLD) as child:
        policies = look(ROOT, child.pid, 1).policies
    assert policies[child.pid] == "default"
    assert sorted(map(str, policies.values())) == [f"bind:{FAR}", "default"]
