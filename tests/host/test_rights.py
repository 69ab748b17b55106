"""What may be read and set, tried on real processes of this and of another user."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import eventually, program

from numascope.errors import TargetGoneError
from numascope.host.rights import CAP_SYS_NICE, Access, Own, probe, process_of_ours, read_own
from numascope.host.root import HostRoot

pytestmark = pytest.mark.live

ROOT = HostRoot()
NOBODY = 65534
OPEN_TO_ALL = {"stat", "status", "schedstat", "sched", "cmdline", "cgroup", "affinity"}
PRIVATE = {"environ", "maps", "numa_maps", "exe", "root", "fd", "pages"}
FILTERED = read_own(ROOT).seccomp != 0
"""A container's seccomp filter commonly refuses move_pages(2), whatever the rights."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="starts processes as other users")

AS_NOBODY = """
import json, os, sys
from numascope.host.rights import probe, read_own
from numascope.host.root import HostRoot
root = HostRoot()
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
own = read_own(root)
target = probe(root, own, int(sys.argv[1]))
print(json.dumps([own.capabilities, target.dumpable, target.hidden, target.uid,
                  {one.what: one.can for one in target.reads}, {one.what: one.can for one in target.changes}]))
"""
"""Asks as nobody; the modules are loaded before, since nobody may not be able to read them."""


class Seen(NamedTuple):
    """What nobody found."""

    capabilities: int
    dumpable: bool | None
    hidden: bool
    uid: int | None
    reads: dict[str, bool | None]
    changes: dict[str, bool | None]


def seen_by_nobody(pid: int, *before: str) -> Seen:
    command = [*before, sys.executable, "-c", AS_NOBODY, str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Seen(*json.loads(done.stdout))


def can(found: tuple[Access, ...], names: set[str]) -> set[bool | None]:
    return {one.can for one in found if one.what in names}


@pytest.fixture
def own() -> Own:
    return read_own(ROOT)


def test_our_own_rights_are_those_of_our_status(own: Own) -> None:
    assert own.uid == os.geteuid()
    assert own.capabilities is not None
    assert own.has(CAP_SYS_NICE) == bool(own.capabilities & 1 << 23)
    assert own.seccomp in (0, 1, 2)
    assert own.in_initial_pid_namespace is not None


def test_a_process_of_ours_can_be_read_and_set(own: Own) -> None:
    with process_of_ours() as pid:
        target = probe(ROOT, own, pid)
    assert target.uid == os.getuid()
    assert can(target.reads, OPEN_TO_ALL) == {True}
    assert [(one.what, one.can, one.reason) for one in target.changes if one.what == "affinity"] == [
        ("affinity", True, "same user")
    ]


def test_the_child_that_things_are_tried_on_is_gone_afterwards(own: Own) -> None:
    with process_of_ours() as pid:
        pass
    with pytest.raises(TargetGoneError):
        probe(ROOT, own, pid)


@needs_root
def test_another_users_process_shows_where_it_runs_and_keeps_its_memory_to_itself() -> None:
    with program("ready(); sleep()") as child:
        seen = seen_by_nobody(child.pid)
    assert seen.capabilities == 0
    assert seen.uid == 0
    assert {name for name, can in seen.reads.items() if can} == OPEN_TO_ALL
    assert {name for name, can in seen.reads.items() if can is False} == PRIVATE
    assert seen.changes == {"affinity": False, "pages": False}


@pytest.fixture
def nobodys() -> Iterator[int]:
    with subprocess.Popen(["sleep", "100"], user=NOBODY, group=NOBODY, extra_groups=[]) as child:
        yield child.pid
        child.kill()


@needs_root
def test_the_same_user_reads_and_sets_all_of_a_dumpable_process_without_root(nobodys: int) -> None:
    seen = seen_by_nobody(nobodys)
    assert seen.capabilities == 0
    assert seen.dumpable is True
    assert {name for name, can in seen.reads.items() if can is False} == ({"pages"} if FILTERED else set())
    assert seen.changes["affinity"] is True


@needs_root
def test_a_process_that_is_not_dumpable_keeps_its_memory_from_its_own_user_but_lets_its_cpus_be_set() -> None:
    code = (
        "os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)\n"
        "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"  # PR_SET_DUMPABLE
        "ready(); sleep()"
    )
    with program(code) as child:
        seen = seen_by_nobody(child.pid)
    assert seen.dumpable is False
    assert {name for name, can in seen.reads.items() if can} == OPEN_TO_ALL
    assert seen.changes == {"affinity": True, "pages": False}


@needs_root
def test_capabilities_open_another_users_process(own: Own, nobodys: int) -> None:
    if not own.has(CAP_SYS_NICE):
        pytest.skip("this root has no CAP_SYS_NICE")
    target = probe(ROOT, own, nobodys)
    assert target.uid == NOBODY
    assert can(target.changes, {"affinity"}) == {True}


@needs_root
def test_a_hidden_process_is_told_from_one_that_is_gone() -> None:
    hide = ["unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"]
    if subprocess.run([*hide, "true"], capture_output=True, check=False).returncode:
        pytest.skip("may not mount /proc here")
    with program("ready(); sleep()") as child:
        seen = seen_by_nobody(child.pid, *hide)
    assert seen.hidden
    assert {name for name, can in seen.reads.items() if can} == {"affinity"}
    assert seen.changes["affinity"] is False


def test_a_number_that_nobody_has_and_a_thread_are_no_targets(own: Own) -> None:
    with pytest.raises(TargetGoneError, match="no process 4194305 here"):
        probe(ROOT, own, 4_194_305)
    with program("thread(sleep); ready(); sleep()") as child:
        tid = max(map(int, os.listdir(f"/proc/{child.pid}/task")))
        with pytest.raises(TargetGoneError, match=f"{tid} is a thread of process {child.pid}"):
            probe(ROOT, own, tid)


def test_a_zombie_has_ended(own: Own) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    try:
        with pytest.raises(TargetGoneError, match="has ended"):
            probe(ROOT, own, pid)
    finally:
        os.waitpid(pid, 0)


def test_masks_are_not_touched_by_asking(own: Own) -> None:
    with program("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); ready(); sleep()") as child:
        before = os.sched_getaffinity(child.pid)
        probe(ROOT, own, child.pid)
        assert os.sched_getaffinity(child.pid) == before


@pytest.mark.skipif(platform.machine() != "x86_64", reason="calls exit(2) by its number")
def test_a_process_whose_main_thread_has_exited_is_read_through_another_thread(own: Own) -> None:
    with program("thread(sleep); ready(); ctypes.CDLL(None).syscall(60, 0)") as child:
        assert eventually(lambda: "State:\tZ" in Path(f"/proc/{child.pid}/status").read_text())
        target = probe(ROOT, own, child.pid)
    assert {one.what for one in target.reads if one.can is not True} <= ({"pages"} if FILTERED else set())


@needs_root
def test_in_a_user_namespace_capabilities_reach_nobody_outside_and_strangers_have_no_number(nobodys: int) -> None:
    code = (
        "import sys; from numascope.host.rights import probe, read_own; from numascope.host.root import HostRoot\n"
        "own = read_own(HostRoot()); one = probe(HostRoot(), own, int(sys.argv[1]))\n"
        "print(own.in_initial_user_namespace, own.has(23), one.uid, one.changes[0].can, one.changes[1].can)"
    )
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False).returncode:
        pytest.skip("may not make a user namespace here")
    command = ["unshare", "-Ur", sys.executable, "-c", code, str(nobodys)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told == "False True None None False\n"
