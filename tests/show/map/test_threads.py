from __future__ import annotations

from reports import report
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.machine.objects import Core, Machine
from numascope.show.map.picture import map_picture
from numascope.show.map.threads import ThreadPlace, thread_places


def test_a_thread_whose_sibling_is_offline_keeps_its_row_and_its_column() -> None:
    """CPU 8 of cores n and n+32 is off: 40 stays in the row below, where core 8 was."""
    on = machine(Shape(2, 1, 1, 16, threads=2), offline="8")
    whole = machine(Shape(2, 1, 1, 16, threads=2))

    def owners(of: Machine) -> dict[tuple[int, int], tuple[int, ...]]:
        return {(row, column): cpus for row, column, _, cpus in map_picture(report("x", of, [], []), 80, 9, {}).places}

    assert owners(on) == {place: cpus for place, cpus in owners(whole).items() if cpus != (8,)}


def test_of_siblings_n_and_n_plus_1_the_second_keeps_its_row() -> None:
    """CPU 8 is off: its sibling 9 is a second thread, as 11 is."""
    base = machine(Shape(2, 1, 1, 8), offline="8")
    cores = tuple(Core(here, cpu // 8, None, cpu // 8, cpu // 2) for cpu in range(0, 16, 2)
                  if (here := CpuSet.span(cpu, cpu + 1) & base.cpus.online))  # fmt: skip

    assert thread_places(base._replace(cores=cores))[9] == ThreadPlace(8, 1)


def test_where_no_core_is_whole_the_numbers_tell_nothing() -> None:
    """All second threads are off: each core's thread that is left is its only one."""
    assert thread_places(machine(Shape(1, 1, 1, 4, threads=2), offline="4-7")) == {}
