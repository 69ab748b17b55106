"""Looks at real processes: what is resident, of which kind, by whose right, and that size costs nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from random import Random

import pytest
from memory_programs import PLACING, finished, look
from processes import EXECS_ITSELF, eventually, program, tell

from numascope.cpuset import CpuSet
from numascope.host import procfs
from numascope.host.maps import ANONYMOUS, FILE, SHARED, Kind
from numascope.host.root import HostRoot
from numascope.host.system.cgroup_memory import CgroupMemory
from numascope.observe.memory_look import look_steps, share_of_cgroup, walk, whole_share

pytestmark = pytest.mark.live

ROOT = HostRoot()
NODES = CpuSet.of(int(name[4:]) for name in ROOT.names("sys/devices/system/node") if name[4:].isdigit())
needs_nodes = pytest.mark.skipif(not NODES, reason="a kernel without NUMA nodes")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="starts processes as other users")
TOUCH_60_MIB = "address = mapped(60 * MIB); touch(address, 60 * MIB)\n"
RESERVED_320_GIB = """
mapped(256 * GIB, rights=0)
wide = mapped(64 * GIB, PRIVATE | ANONYMOUS | NORESERVE)
libc.madvise(ctypes.c_void_p(wide), ctypes.c_size_t(64 * GIB), 15)
for at in range(1, 200): touch(wide + at * 300 * MIB, 1)
"""

AS_NOBODY = """
import json, os, sys, time
from random import Random
from numascope.host.root import HostRoot
from numascope.observe.memory_look import look_steps
root = HostRoot()
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
steps = look_steps(root, int(sys.argv[1]), Random(1), time.thread_time_ns)
try:
    while True: next(steps)
except StopIteration as done: found = done.value
print(json.dumps([found.share.reason, found.share.nodes, found.policy, found.share.pages_asked]))
"""


@needs_nodes
def test_what_was_touched_is_found_with_its_kind_and_lies_on_nodes_that_there_are() -> None:
    code = """
touch(mapped(60 * MIB), 60 * MIB); touch(mapped(20 * MIB, SHARED | ANONYMOUS), 20 * MIB)
ready(); sleep()"""
    with program(PLACING + code) as child:
        share = look(ROOT, child.pid, 1).share
        exact = walk(ROOT, child.pid)
    assert share.pages_resident >= 1_000
    on = share.total.on(NODES)
    assert on is not None
    assert on.share == 1.0
    assert share.kinds[SHARED].resident_kib == pytest.approx(20 << 10, rel=0.02)
    assert share.kinds[ANONYMOUS].resident_kib >= 60 << 10  # type: ignore[operator]
    assert share.total.resident_kib == pytest.approx(exact.total.resident_kib, rel=0.05)
    assert {FILE, ANONYMOUS, SHARED} <= share.kinds.keys()


@needs_nodes
@pytest.mark.parametrize("reserved", ["", RESERVED_320_GIB], ids=["small", "320 GiB reserved"])
def test_reserved_addresses_change_neither_the_share_nor_its_size(reserved: str) -> None:
    with program(PLACING + TOUCH_60_MIB + reserved + "ready(); sleep()") as child:
        found = look(ROOT, child.pid, 1)
    assert found.share.pages_resident >= 1_000
    assert found.share.nodes is not None
    assert 60 << 10 < (found.share.total.resident_kib or 0) < 120 << 10


@needs_nodes
def test_a_stack_at_the_very_end_of_the_address_space_is_no_obstacle() -> None:
    code = """
if "AGAIN" not in os.environ:
    libc = ctypes.CDLL(None)
    libc.personality(0x0040000)  # ADDR_NO_RANDOMIZE
    os.execve(sys.executable, sys.orig_argv, {**os.environ, "AGAIN": "1"})
ready(); sleep()"""
    with program(code) as child:
        found = look(ROOT, child.pid, 1)
    assert found.share.nodes is not None, found.share.reason


def test_each_thread_has_its_policy() -> None:
    with program("for _ in range(3): thread(sleep)\nready(); sleep()") as child:
        found = look(ROOT, child.pid, 1)
        policy = procfs.policy_of(ROOT, child.pid)
    assert len(found.policies) == 4
    assert found.policy == policy is not None


@needs_root
@pytest.mark.parametrize("dumpable", [True, False])
def test_another_users_memory_is_unknown_and_it_is_said_who_may_read_it(dumpable: bool) -> None:
    code = "" if dumpable else "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"
    with program(code + "ready(); sleep()") as child:
        command = [sys.executable, "-c", AS_NOBODY, str(child.pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    reason, nodes, policy, asked = json.loads(done.stdout)
    assert reason == "may not be read: run as its owner (uid 0) or as root"
    assert (nodes, policy, asked) == (None, None, 0)


def test_a_process_that_is_gone_gives_nothing() -> None:
    with program("ready(); sleep()") as child:
        half = look_steps(ROOT, child.pid, Random(1), lambda: 0)  # noqa: S311  (a sample, no secret)
        next(half)
    assert finished(half) is None
    assert finished(look_steps(ROOT, child.pid, Random(1), lambda: 0)) is None  # noqa: S311  (the same)


def test_a_process_that_became_another_program_meanwhile_gives_nothing() -> None:
    with program(EXECS_ITSELF) as child:
        half = look_steps(ROOT, child.pid, Random(1), lambda: 0)  # noqa: S311  (a sample, no secret)
        next(half)
        before = procfs.stat_of(ROOT, child.pid)
        assert before is not None
        tell(child)

        def became_another() -> bool:
            now = procfs.stat_of(ROOT, child.pid)
            return now is not None and now.start_stack not in (0, before.start_stack)

        assert eventually(became_another)
        assert finished(half) is None


@needs_nodes
def test_a_process_whose_main_thread_has_ended_is_still_looked_at() -> None:
    code = """
thread(sleep); touch(mapped(30 * MIB), 30 * MIB); ready()
libc.pthread_exit(None)"""
    with program(PLACING + code) as child:
        assert eventually(lambda: (procfs.stat_of(ROOT, child.pid) or (None,) * 3)[2] == "Z")
        found = look(ROOT, child.pid, 1)
    assert found.share.nodes is not None, found.share.reason


def test_a_count_by_the_kernel_is_exact_and_says_what_is_not_in_it() -> None:
    share = share_of_cgroup(CgroupMemory({0: 300, 1: 0}, {0: 0, 1: 100}, {0: 0, 1: 0}))
    off = share.off(CpuSet.of([0]))
    assert off == (0.25, 0.25, 0.25)
    assert share.kinds.keys() == {ANONYMOUS, FILE}
    assert any("hugetlbfs" in note for note in share.notes)
    assert share_of_cgroup(CgroupMemory({}, {}, {})).nodes is None
    assert whole_share({}).nodes is None
    assert Kind("huge", 2048) not in share.kinds
