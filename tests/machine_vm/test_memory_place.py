"""Where ranks' memory lies, seen by a watch: off the CPUs that they run on, off the plan, counted by a cgroup of their own."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from machine_vm.guest import CGROUPS, findings
from memory_programs import PLACING, look, shares_of
from processes import program

from numascope.cli.session import open_session
from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.observe.memory_look import walk
from numascope.observe.select import Wanted
from numascope.review.report import Report
from numascope.show.diff_document import diff_document
from numascope.show.ink import plain
from numascope.show.rank_lines import ranks_table

pytestmark = [pytest.mark.vm("four-node")]

SPIN = "ready()\nwhile True: pass"
ON_NODE_1 = "os.sched_setaffinity(0, [4, 5])\n"
ELSEWHERE = "os.sched_setaffinity(0, [0])\ntouch(mapped(120 * MIB), 120 * MIB)\n"
"""Touched first on node 0 and never again, so that NUMA balancing has no reason to bring it after the thread."""

PLAN = {
    "bind_config": {"bind_cpu_mode": "cpu", "bind_memory_mode": "numa", "actor_thread_fix_bind": True},
    "bind_cpu": {"device0": {"main": "4-7"}},
    "bind_memory": {"device0": 1},
}


def looked(wanted: Wanted, plan: str | None = None) -> Report:
    """The report of a second, as a verb that looks once has it."""
    session = open_session((wanted,), plan, interval_s=0.5, window_s=1.0)
    try:
        return session.look(2.0)
    finally:
        session.close()


def true_share_off(pid: int, node: int) -> float:
    """Every page counted."""
    shares = shares_of({one.node: one.kib for one in walk(HostRoot(), pid).nodes or ()})
    return 1.0 - shares.get(node, 0.0)


def documented(report: Report) -> dict[str, Any]:
    """The document of `diff`."""
    return dict(diff_document(report))


def plan_file(folder: Path, **changes: object) -> str:
    path = folder / "bind.json"
    path.write_text(json.dumps(PLAN | changes))
    return str(path)


def test_memory_off_the_node_that_a_rank_runs_on_is_told_with_its_interval_and_why() -> None:
    with program(PLACING + ELSEWHERE + ON_NODE_1 + SPIN) as child:
        report = looked(Wanted(child.pid))
        true = true_share_off(child.pid, 1)

    (rank,) = report.ranks
    (told,) = findings(report, "remote-memory")
    assert rank.memory is not None
    assert rank.memory.off is not None
    assert rank.memory.home == CpuSet.of([1])
    assert rank.memory.off.low <= true <= rank.memory.off.high
    assert true > 0.5
    assert "off N1" in told.text
    assert " on N0" in told.text
    assert "its policy is default" in told.evidence
    document = documented(report)["ranks"][0]
    assert document["share_interval"] == [rank.memory.off.low, rank.memory.off.high]
    assert (document["memory"]["home_nodes"], document["verdict"]) == ("1", None)
    assert f"{100 * rank.memory.off.share:.1f} ±" in plain(ranks_table(report, 80, 9)[1])
    assert not report.partial


def test_memory_where_a_rank_runs_is_no_finding() -> None:
    with program(PLACING + ON_NODE_1 + "touch(mapped(120 * MIB), 120 * MIB)\n" + SPIN) as child:
        report = looked(Wanted(child.pid))

    (rank,) = report.ranks
    assert rank.memory is not None
    assert rank.memory.off is not None
    assert rank.memory.off.share < 0.2
    assert not findings(report, "remote-memory")


def test_pages_off_the_plan_under_the_right_policy_have_spilled(tmp_path: Path) -> None:
    code = "set_mempolicy(BIND, [1]); place(120 * MIB, [0]); place(60 * MIB, [1])\n"
    with program(PLACING + ON_NODE_1 + code + SPIN) as child:
        report = looked(Wanted(child.pid, 0), plan_file(tmp_path))

    (rank,) = report.ranks
    (told,) = findings(report, "spilled")
    assert rank.memory_verdict == "spilled"
    assert "though its policy is bind:1" in told.text


def test_a_plan_without_an_entry_for_a_rank_is_named_as_the_reason(tmp_path: Path) -> None:
    plan = plan_file(
        tmp_path, bind_memory={"device1": 2}, bind_cpu={"device0": {"main": "4-7"}, "device1": {"main": "8"}}
    )
    with program(PLACING + ELSEWHERE + ON_NODE_1 + SPIN) as child:
        report = looked(Wanted(child.pid, 0), plan)

    (told,) = findings(report, "remote-memory")
    assert f"{plan} binds no memory of device0" in told.evidence
    assert "lasting: bind the memory of device0 in the plan" in told.remedy


@contextlib.contextmanager
def own_cgroup() -> Iterator[Path]:
    """A cgroup with the memory controller, removed once nobody is in it."""
    (CGROUPS / "cgroup.subtree_control").write_text("+memory")
    cgroup = CGROUPS / "alone"
    cgroup.mkdir()
    try:
        yield cgroup
    finally:
        deadline_s = time.monotonic() + 30
        while (cgroup / "cgroup.procs").read_text() and time.monotonic() < deadline_s:
            time.sleep(0.1)
        cgroup.rmdir()


def test_a_rank_alone_in_its_cgroup_is_counted_by_the_kernel() -> None:
    with own_cgroup() as cgroup:
        join = f"open({str(cgroup / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
        with program(PLACING + join + ELSEWHERE + ON_NODE_1 + SPIN) as child:
            report = looked(Wanted(child.pid))

    (rank,) = report.ranks
    assert rank.memory is not None
    assert rank.memory.off is not None
    assert rank.memory.seen.share.source == "memory.numa_stat"
    assert rank.memory.off.low == rank.memory.off.high > 0.5


def test_numa_balancing_is_told_where_it_is_on() -> None:
    setting = Path("/proc/sys/kernel/numa_balancing")
    before = setting.read_text()
    try:
        setting.write_text("1")
        with program(PLACING + ON_NODE_1 + SPIN) as child:
            told = documented(looked(Wanted(child.pid)))
        setting.write_text("0")
        with program(PLACING + ON_NODE_1 + SPIN) as child:
            silent = documented(looked(Wanted(child.pid)))
    finally:
        setting.write_text(before)

    assert told["balancing"]["numa_balancing"] == 1
    assert None not in told["balancing"].values()
    assert silent["balancing"]["numa_balancing"] == 0
    assert silent["balancing"]["hint_faults_per_s"] is None
    assert all(node["cache_kib"] is not None and node["total_kib"] for node in told["nodes"])


def test_pages_that_numa_balancing_watches_are_told_too() -> None:
    """Linux 6.1 hides them from move_pages(2); they are found by their frames. Of a thread that runs all pages are watched soon."""
    setting = Path("/proc/sys/kernel/numa_balancing")
    before = setting.read_text()
    try:
        setting.write_text("1")
        with program(PLACING + ELSEWHERE + ON_NODE_1 + SPIN) as child:
            time.sleep(3)
            share = look(HostRoot(), child.pid, 1).share
            size_kib = sum(one.kib for one in walk(HostRoot(), child.pid).nodes or ())
    finally:
        setting.write_text(before)

    on = share.total.on(CpuSet.of([0]))
    assert on is not None
    assert on.low > 0.8
    assert share.pages_resident > 0.95 * share.pages_asked
    assert abs((share.total.resident_kib or 0) - size_kib) < 0.1 * size_kib
