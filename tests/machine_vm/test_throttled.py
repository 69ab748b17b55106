"""CPU quotas and pressure of cgroup v2 as Linux 6.1 counts them (pressure: the guest is booted with psi=1)."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from machine_vm.guest import CGROUPS, SLOW_S

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system.cgroup_load import (
    CgroupPlace,
    CpuQuota,
    cgroup_of,
    parse_cpu_stat,
    quota_of,
    read_load,
)
from numascope.review.report import CgroupRates, RankView
from numascope.review.throttled import rates_between, throttled

pytestmark = [pytest.mark.vm("four-node")]

ROOT = HostRoot()
FOR_S = 4.0
SPIN = "while :; do :; done"


@contextlib.contextmanager
def spinners(cgroup: Path, *cpus: int) -> Iterator[list[int]]:
    """A shell that spins on each of these CPUs, in a cgroup; ended at the end."""
    children: list[subprocess.Popen[bytes]] = []
    try:
        for cpu in cpus:
            command = ["taskset", "-c", str(cpu), "sh", "-c", f"read go; {SPIN}"]
            child = subprocess.Popen(command, stdin=subprocess.PIPE)
            children.append(child)
            (cgroup / "cgroup.procs").write_text(str(child.pid))
        for child in children:
            assert child.stdin is not None
            child.stdin.write(b"\n")
            child.stdin.close()
        yield [child.pid for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()


@pytest.fixture
def leaf() -> Iterator[Path]:
    """A cgroup without controllers of its own below one that has the cpu controller."""
    (CGROUPS / "cgroup.subtree_control").write_text("+cpu")
    above = CGROUPS / "pod"
    below = above / "rank"
    below.mkdir(parents=True)
    try:
        yield below
    finally:
        for one in (below, above):
            deadline_s = time.monotonic() + SLOW_S
            while "populated 1" in (one / "cgroup.events").read_text() and time.monotonic() < deadline_s:
                time.sleep(0.1)
            one.rmdir()


def place(pid: int) -> CgroupPlace:
    found = cgroup_of(ROOT, pid)
    assert found is not None
    return found


def watched(pid: int) -> CgroupRates:
    """What happens to the cgroup of a process in the next seconds."""
    where = place(pid)
    quota = quota_of(ROOT, where)
    time.sleep(0.5)
    began_s, before = time.monotonic(), read_load(ROOT, where, quota)
    time.sleep(FOR_S)
    return rates_between(where.name, before, read_load(ROOT, where, quota), time.monotonic() - began_s)


def ranks_of(pids: Sequence[int]) -> list[RankView]:
    return [
        RankView(
            "A", f"rank {at}", pid, at, None, None, CpuSet(), CpuSet.parse("0-1"), {}, 0.1, 0.0, "", 0.0, None, "", "", 1
        )
        for at, pid in enumerate(pids)
    ]  # fmt: skip


def test_a_quota_of_the_parent_throttles_a_cgroup_that_has_no_cpu_controller(leaf: Path) -> None:
    (leaf.parent / "cpu.max").write_text("20000 100000")
    with spinners(leaf, 0, 0) as pids:
        found = watched(pids[0])
        of_leaf = (leaf / "cpu.stat").read_bytes()
        told = throttled(ranks_of(pids), {found.name: found}, dict.fromkeys(pids, found.name))

    assert found.name == "/pod/rank"
    assert (found.quota_cpus, found.quota_path) == (0.2, "/sys/fs/cgroup/pod/cpu.max")
    assert found.throttled_share is not None
    assert found.throttled_share > 0.7
    assert found.throttled_ms_per_s is not None
    assert 300 < found.throttled_ms_per_s < 1000
    assert b"usage_usec" in of_leaf
    assert parse_cpu_stat(of_leaf) is None
    assert [(one.rule, one.severity, one.subject) for one in told] == [
        ("throttled", "error", "ranks 0-1"),
        ("quota", "info", "ranks 0-1"),
    ]
    assert told[0].evidence == "cpu.max 0.20 CPUs in /sys/fs/cgroup/pod, 2 ranks use 0.20"


def test_throttled_time_is_summed_over_cpus_and_waits_for_the_quota_are_pressure(leaf: Path) -> None:
    (leaf.parent / "cpu.max").write_text("20000 100000")
    with spinners(leaf, 0, 1) as pids:
        found = watched(pids[0])

    assert found.throttled_ms_per_s is not None
    assert found.throttled_ms_per_s > 1100
    assert found.cpu_some_ms_per_s is not None
    assert found.cpu_some_ms_per_s > 500


def test_two_spinners_on_one_cpu_are_pressure_of_their_own_cgroup_and_no_throttling(leaf: Path) -> None:
    with spinners(leaf, 2, 2) as pids:
        found = watched(pids[0])

    assert found.pressure_is_own
    assert found.cpu_some_ms_per_s is not None
    assert found.cpu_some_ms_per_s > 700
    assert (found.quota_cpus, found.throttled_share, found.throttled_ms_per_s) == (None, None, None)


def test_one_spinner_alone_is_little_pressure_and_a_wide_quota_holds_nobody_back(leaf: Path) -> None:
    (leaf.parent / "cpu.max").write_text("400000 100000")
    with spinners(leaf, 3) as pids:
        found = watched(pids[0])

    assert found.cpu_some_ms_per_s is not None
    assert found.cpu_some_ms_per_s < 400
    assert found.throttled_share == 0.0


def test_of_a_quota_in_the_cgroup_and_one_above_it_the_tighter_is_found(leaf: Path) -> None:
    (leaf.parent / "cgroup.subtree_control").write_text("+cpu")
    (leaf.parent / "cpu.max").write_text("300000 100000")
    (leaf / "cpu.max").write_text("100000 50000")
    with spinners(leaf, 0) as pids:
        assert quota_of(ROOT, place(pids[0])) == CpuQuota(2.0, str(leaf), "cpu.max")
        (leaf / "cpu.max").write_text("max")
        assert quota_of(ROOT, place(pids[0])) == CpuQuota(3.0, str(leaf.parent), "cpu.max")
        (leaf.parent / "cpu.max").write_text("max")
        assert quota_of(ROOT, place(pids[0])) is None


def test_a_process_in_the_root_has_the_pressure_of_the_machine() -> None:
    with spinners(CGROUPS, 4) as pids:
        where = place(pids[0])
        load = read_load(ROOT, where, quota_of(ROOT, where))

    assert (where.name, where.unified) == ("/", None)
    assert load.cpu_some_us is not None
    assert not load.pressure_is_own
