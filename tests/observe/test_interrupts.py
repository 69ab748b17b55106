"""Rates between two looks at /proc/interrupts; the clock is passed in."""

from __future__ import annotations

from pathlib import Path

import pytest
from interrupt_files import interrupts_text, write_interrupts
from roots import CountingRoot

from numascope.cpuset import CpuSet
from numascope.host.root import HostRoot
from numascope.host.system.interrupts import INTERRUPTS
from numascope.observe.interrupts import Interrupt, InterruptScan

CPUS = (0, 1, 4)
ALL = CpuSet.of(CPUS)


class Watched:
    """A scan of a root whose interrupts a test writes, and its clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = CountingRoot(str(folder))
        self.now_s = 1000.0
        self.scan = InterruptScan(self.root, lambda: self.now_s)

    def look(
        self, counts: dict[int, tuple[str, dict[int, int]]], after_s: float = 10.0, cpus: tuple[int, ...] = CPUS
    ) -> tuple[Interrupt, ...]:
        """What a scan tells of these counts, that long after the last."""
        write_interrupts(self.folder, interrupts_text(cpus, counts))
        self.now_s += after_s
        return self.scan.scan(ALL)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def test_a_rate_is_what_a_cpu_counted_between_two_looks(watched: Watched) -> None:
    assert watched.look({87: ("mlx5_comp3", {4: 500}), 40: ("nvme0q3", {1: 0})}) == ()

    assert watched.look({87: ("mlx5_comp3", {4: 152_500}), 40: ("nvme0q3", {1: 8000})}) == (
        Interrupt(87, "mlx5_comp3", 4, 15_200.0),
        Interrupt(40, "nvme0q3", 1, 800.0),
    )


def test_the_file_is_read_every_ten_seconds_and_the_last_result_stays_meanwhile(watched: Watched) -> None:
    watched.look({87: ("eth0", {0: 0})})
    first = watched.look({87: ("eth0", {0: 100})})
    watched.root.seen.clear()

    assert watched.look({87: ("eth0", {0: 9000})}, after_s=9.9) == first
    assert watched.root.seen == []
    assert watched.look({87: ("eth0", {0: 1100})}, after_s=0.1) == (Interrupt(87, "eth0", 0, 100.0),)
    assert watched.root.seen == [INTERRUPTS]


def test_for_no_cpus_nothing_is_read(watched: Watched) -> None:
    assert watched.scan.scan(CpuSet()) == ()
    assert watched.root.seen == []


def test_only_the_cpus_that_are_asked_for_are_told(watched: Watched) -> None:
    watched.look({87: ("eth0", {0: 0, 4: 0})})
    watched.look({87: ("eth0", {0: 1000, 4: 2000})})

    assert watched.scan.scan(CpuSet.of([0])) == (Interrupt(87, "eth0", 0, 100.0),)


@pytest.mark.parametrize(("more", "told"), [(9, 0), (10, 1)])
def test_less_than_once_a_second_is_not_told(watched: Watched, more: int, told: int) -> None:
    watched.look({87: ("eth0", {0: 0})})
    assert len(watched.look({87: ("eth0", {0: more})})) == told


def test_a_counter_that_ran_backward_tells_nothing(watched: Watched) -> None:
    watched.look({87: ("eth0", {0: 4_294_967_000, 1: 0})})
    assert watched.look({87: ("eth0", {0: 800, 1: 50})}) == (Interrupt(87, "eth0", 1, 5.0),)


def test_after_cpus_went_or_came_the_count_begins_anew(watched: Watched) -> None:
    watched.look({87: ("eth0", {0: 0, 4: 0})})

    assert watched.look({87: ("eth0", {0: 1000, 4: 5000})}, cpus=(0, 4)) == ()
    assert watched.look({87: ("eth0", {0: 2000, 4: 5000})}, cpus=(0, 4)) == (Interrupt(87, "eth0", 0, 100.0),)


def test_the_count_of_a_cpu_that_went_is_not_that_of_one_that_came(watched: Watched) -> None:
    watched.look({87: ("eth0", {0: 0, 1: 100})}, cpus=(0, 1))
    assert watched.look({87: ("eth0", {0: 0, 4: 9000})}, cpus=(0, 4)) == ()


def test_an_interrupt_that_is_new_or_another_devices_tells_nothing_yet(watched: Watched) -> None:
    watched.look({87: ("eth0", {0: 0})})
    assert watched.look({87: ("nvme0q1", {0: 5000}), 88: ("eth0", {0: 5000})}) == ()


def test_of_very_many_the_busiest_4096_are_told(watched: Watched) -> None:
    watched.look({irq: (f"queue{irq}", {}) for irq in range(1500)})
    found = watched.look({irq: (f"queue{irq}", dict.fromkeys(CPUS, 1000 + irq)) for irq in range(1500)})

    assert len(found) == 4096
    assert (found[0].irq, found[-1].irq) == (1499, 134)


def test_where_an_interrupt_goes_is_read_when_asked_and_once_a_look(watched: Watched) -> None:
    watched.look({87: ("eth0", {0: 0})})
    directory = watched.folder / "proc/irq/87"
    directory.mkdir(parents=True)
    (directory / "smp_affinity_list").write_text("4\n")
    watched.root.seen.clear()

    assert [watched.scan.cpus_of(87) for _ in range(3)] == [CpuSet.of([4])] * 3
    assert [watched.scan.node_of(87) for _ in range(3)] == [None] * 3
    assert len(watched.root.seen) == 3
    watched.look({87: ("eth0", {0: 0})})
    (directory / "smp_affinity_list").write_text("1\n")
    assert watched.scan.cpus_of(87) == CpuSet.of([1])


def test_a_file_that_cannot_be_read_is_said_and_not_taken_for_silence(watched: Watched) -> None:
    assert watched.scan.note == ""
    watched.now_s += 10
    assert watched.scan.scan(ALL) == ()
    assert "cannot be read" in watched.scan.note
    watched.look({87: ("eth0", {0: 0})})
    assert watched.scan.note == ""


@pytest.mark.live
def test_this_machines_interrupts_are_read() -> None:
    now_s = iter((0.0, 10.0))
    scan = InterruptScan(HostRoot(), lambda: next(now_s))
    scan.scan(CpuSet.span(0, 8191))
    found = scan.scan(CpuSet.span(0, 8191))

    assert scan.note == ""
    assert all(one.per_s >= 1 for one in found)
