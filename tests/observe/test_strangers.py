"""Who uses CPU time and is not watched has a name after few scans, on slow machines too, and with the thread that it is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from processes import OWN_CPUS, needs_two_cpus, program
from roots import CountingRoot

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.observe.strangers import Stranger, StrangerScan

SCANS = 10
ON_TWO = CpuSet.parse("2")
KERNEL_THREAD = 0x00200000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

HASHING = """
import hashlib
block = bytes(1 << 20)
def hash(cpu=None):
    if cpu is not None: os.sched_setaffinity(0, {cpu})
    while True: hashlib.sha256(block).digest()
"""
"""Threads that do this run side by side."""


class Machine:
    """A /proc written file by file, and a clock that moves when it is told to, and by `slow_s` each time it is read."""

    def __init__(self, folder: Path, slow_s: float = 0.0) -> None:
        self.folder = folder
        self.now_s = 1000.0
        self.slow_s = slow_s
        (folder / "proc").mkdir()

    def clock(self) -> float:
        """Seconds."""
        self.now_s += self.slow_s
        return self.now_s

    def has(
        self, pid: int, comm: str = "x", *, used_s: float = 0, cpu: int = 2, state: str = "S", threads: int = 1,
        start: int = 1, flags: int = 0, tid: int | None = None,
    ) -> None:  # fmt: skip
        """A process with one look at it from now on, or one of its threads; fields as proc_pid_stat(5) counts them."""
        fields = ["0"] * 50
        fields[0], fields[6], fields[11] = state, str(flags), str(int(used_s * TICKS_PER_S))
        fields[17], fields[19], fields[36] = str(threads), str(start), str(cpu)
        path = self.folder / f"proc/{pid}" / ("" if tid is None else f"task/{tid}")
        path.mkdir(parents=True, exist_ok=True)
        (path / "stat").write_text(f"{tid or pid} ({comm}) {' '.join(fields)}\n")

    def loses(self, pid: int) -> None:
        """A process that has one thread ends."""
        (self.folder / f"proc/{pid}/stat").unlink()
        (self.folder / f"proc/{pid}").rmdir()

    def scan(self) -> StrangerScan:
        """A scan of it that knows nothing yet."""
        return StrangerScan(HostRoot(str(self.folder)), self.clock, self.clock)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def looks(machine: Machine, scan: StrangerScan, passed_s: float = 1.0) -> tuple[Stranger, ...]:
    """The next scan, shares rounded to a thousandth."""
    machine.now_s += passed_s
    found = scan.scan((), ON_TWO)
    return tuple(one if one.busy is None else one._replace(busy=round(one.busy, 3)) for one in found)


def test_the_busy_one_is_named_with_its_share_and_the_cpu_where_it_ran(machine: Machine) -> None:
    machine.has(10, "busy", used_s=5)
    machine.has(11, "idle", used_s=5)
    scan = machine.scan()
    assert looks(machine, scan) == ()

    machine.has(10, "busy", used_s=5.4, cpu=3)

    assert looks(machine, scan) == (Stranger(10, "busy", 3, 0.4),)


def test_one_that_runs_there_has_a_name_at_once_but_no_share(machine: Machine) -> None:
    machine.has(10, "here", state="R")
    machine.has(11, "elsewhere", state="R", cpu=3)

    assert looks(machine, machine.scan()) == (Stranger(10, "here", 2, None),)


def test_the_watched_and_numascope_itself_are_no_strangers(machine: Machine) -> None:
    machine.has(10, state="R")
    machine.has(os.getpid(), state="R")

    assert machine.scan().scan({10}, ON_TWO) == ()


def test_two_looks_within_less_than_many_clock_ticks_are_one(machine: Machine) -> None:
    machine.has(10)
    scan = machine.scan()
    looks(machine, scan)
    machine.has(10, used_s=0.1)
    assert looks(machine, scan, 0.2) == ()

    assert looks(machine, scan, 0.2) == (Stranger(10, "x", 2, 0.25),)


def test_a_kernel_thread_is_named_as_one(machine: Machine) -> None:
    machine.has(12, "ksoftirqd/2", flags=KERNEL_THREAD)
    scan = machine.scan()
    looks(machine, scan)
    machine.has(12, "ksoftirqd/2", used_s=0.99, flags=KERNEL_THREAD)

    assert looks(machine, scan) == (Stranger(12, "ksoftirqd/2", 2, 0.99, is_kernel=True),)


def test_of_a_process_with_threads_each_busy_one_is_named_where_it_runs(machine: Machine) -> None:
    def java(used_s: float) -> None:
        machine.has(20, "java", used_s=2 * used_s, cpu=7, threads=8)
        for tid in range(20, 28):
            busy = tid in (22, 25)
            machine.has(20, f"t{tid}", used_s=used_s if busy else 0, cpu=tid - 20, tid=tid)

    scan = machine.scan()
    for used_s in (0, 0.5):
        java(used_s)
        assert looks(machine, scan) == (), "its main thread's CPU says nothing of the others"
    java(1.0)

    assert looks(machine, scan) == (
        Stranger(20, "java", 2, 0.5, 22, "t22"),
        Stranger(20, "java", 5, 0.5, 25, "t25"),
    )


def test_threads_with_nanoseconds_in_schedstat_are_told_by_these(machine: Machine) -> None:
    (machine.folder / "proc/self").mkdir()
    (machine.folder / "proc/self/schedstat").write_text("1000000 0 1\n")
    machine.has(20, "java", threads=2)
    machine.has(20, "t", tid=21)
    scan = machine.scan()
    for passed_s in range(3):
        machine.has(20, "java", used_s=0.1 * passed_s, threads=2)
        (machine.folder / "proc/20/task/21/schedstat").write_text(f"{passed_s * 12_400_000} 0 1\n")
        found = looks(machine, scan)

    assert found == (Stranger(20, "java", 2, 0.012, 21, "t"),)


def test_one_that_came_to_rest_or_ended_has_no_name_any_more(machine: Machine) -> None:
    scan = machine.scan()
    for used_s in (0, 1):
        machine.has(10, used_s=used_s)
        machine.has(11, used_s=used_s)
        found = looks(machine, scan)
    assert len(found) == 2

    machine.loses(11)

    assert looks(machine, scan) == ()


def test_a_number_that_is_used_again_is_another_process(machine: Machine) -> None:
    scan = machine.scan()
    for used_s in (0, 1):
        machine.has(10, "old", used_s=used_s)
        looks(machine, scan)
    machine.has(10, "new", used_s=1.5, start=500)
    assert looks(machine, scan) == ()

    machine.has(10, "new", used_s=1.8, start=500)

    assert looks(machine, scan) == (Stranger(10, "new", 2, 0.3),)


def test_after_a_time_without_scans_a_share_is_of_now_and_not_of_all_that_time(machine: Machine) -> None:
    machine.has(10)
    scan = machine.scan()
    looks(machine, scan)
    looks(machine, scan)
    machine.has(10, used_s=30)
    assert looks(machine, scan, 600.0) == ()

    machine.has(10, used_s=30.9)

    assert looks(machine, scan) == (Stranger(10, "x", 2, 0.9),)


def test_scans_that_are_far_apart_all_along_have_shares_too(machine: Machine) -> None:
    scan = machine.scan()
    for used_s in (0, 30, 60):
        machine.has(10, used_s=used_s)
        found = looks(machine, scan, 60.0)

    assert found == (Stranger(10, "x", 2, 0.5),)


def test_one_that_cannot_be_seen_has_no_name(machine: Machine) -> None:
    """`hidepid` of proc(5): the number may be listed, its files are not there."""
    (machine.folder / "proc/10").mkdir()
    machine.has(20, "java", threads=8)
    scan = machine.scan()
    looks(machine, scan)
    machine.has(20, "java", used_s=1, threads=8)

    assert looks(machine, scan) == ()


def test_where_every_look_takes_long_there_are_32_a_scan_and_the_next_goes_on_there(tmp_path: Path) -> None:
    machine = Machine(tmp_path, slow_s=0.01)
    for pid in range(100, 300):
        machine.has(pid, cpu=3)
    root = CountingRoot(str(tmp_path))
    scan = StrangerScan(root, machine.clock, machine.clock)
    root.seen.clear()
    counts = []
    for _ in range(7):
        looks(machine, scan)
        counts.append(len(root.seen))

    assert [after - before for before, after in pairwise(counts)][:5] == [32] * 5
    assert len(set(root.seen)) == 200


def test_of_many_processes_on_a_slow_machine_the_busy_one_keeps_its_turn(tmp_path: Path) -> None:
    machine = Machine(tmp_path, slow_s=0.01)
    for pid in range(100, 400):
        machine.has(pid, cpu=3)
    scan = machine.scan()
    seen = []
    for number in range(40):
        machine.has(399, "busy", used_s=0.5 * number, cpu=2)
        seen.append(any(one.comm == "busy" for one in looks(machine, scan)))

    assert seen.index(True) < 25
    assert all(seen[seen.index(True) :])


def test_what_it_remembers_is_no_more_than_who_is_there(machine: Machine) -> None:
    scan = machine.scan()
    for pid in range(10, 510):
        machine.has(pid, state="R")
        looks(machine, scan)
        machine.loses(pid)
    looks(machine, scan)

    assert not scan._known


def test_a_thread_has_a_share_after_three_scans_that_are_as_close_as_a_look_allows(machine: Machine) -> None:
    scan = machine.scan()
    for number in range(3):
        machine.has(20, "java", used_s=0.41 * number, threads=2)
        machine.has(20, "t", used_s=0.41 * number, tid=21)
        found = looks(machine, scan, 0.41)

    assert found == (Stranger(20, "java", 2, 1.0, 21, "t"),)


# This machine


def scans(scan: StrangerScan, cpus: CpuSet, pid: int) -> Iterator[list[Stranger]]:
    """What ten scans say of a process, as a watch would make them, each half a second after the last."""
    for _ in range(SCANS):
        yield [one for one in scan.scan((), cpus) if one.pid == pid]
        time.sleep(0.5)


@pytest.mark.live
@needs_two_cpus
def test_a_process_that_spins_on_a_cpu_is_named_with_it() -> None:
    cpu = OWN_CPUS[1]
    scan = StrangerScan(HostRoot())
    with program(f"os.sched_setaffinity(0, {{{cpu}}}); ready(); spin()") as child:
        rows = scans(scan, CpuSet.of([cpu]), child.pid)
        (one,) = next(found for found in rows if found and found[0].busy is not None)

    assert one == Stranger(child.pid, one.comm, cpu, one.busy)
    assert 0.01 < (one.busy or 0) < 1.05


@pytest.mark.live
@needs_two_cpus
def test_of_eight_threads_the_two_that_spin_are_named_each_on_its_cpu() -> None:
    first, second = OWN_CPUS[:2]
    code = f"""{HASHING}
for _ in range(5): thread(sleep)
named("spins-first", hash, {first}); named("spins-second", hash, {second}); time.sleep(0.3); ready(); sleep()"""
    scan = StrangerScan(HostRoot())
    with program(code) as child:
        wanted = {("spins-first", first), ("spins-second", second)}
        rows = scans(scan, CpuSet.of([first, second]), child.pid)

        assert any({(one.thread, one.cpu) for one in found if one.busy is not None} == wanted for found in rows)
