"""How often sleepers are read: 40 where nobody can be waiting, 10 usually, every time under pressure."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.host.parse_stat import CpuTicks
from numascope.host.system.counters import RunQueues
from numascope.observe.waiting import QUIET_ROTATION, ROTATION, WaitWatch

S = 1_000_000_000
QUIET, WAITING = RunQueues(1, 100), RunQueues(5, 100)


def ticks(cpus: int, busy_s: float, number: int) -> dict[int, CpuTicks]:
    """The counters at second `number` of CPUs that are busy for so much of each."""
    busy = round(100 * busy_s * number)
    return {cpu: CpuTicks(busy, 0, 0, 0, 100 * number - busy, 0) for cpu in range(cpus)}


def rotations(
    *looks: tuple[RunQueues | None, int | None], cpus: int = 4, busy_s: float = 1.0, threads: int = 100
) -> list[int]:
    """One for each second's run queues and total of pressure (µs)."""
    watch = WaitWatch()
    return [
        watch.rotation(at * S, queues, some_us, ticks(cpus, busy_s, at), threads)
        for at, (queues, some_us) in enumerate(looks, 1)
    ]


def test_where_two_or_fewer_are_runnable_nobody_waits_behind_another() -> None:
    assert rotations((RunQueues(1, 9), 0), (RunQueues(2, 9), 900_000), (RunQueues(3, 9), 900_000)) == [
        QUIET_ROTATION,
        QUIET_ROTATION,
        ROTATION,
    ]


def test_run_queues_that_cannot_be_read_are_not_taken_for_quiet() -> None:
    assert rotations((None, None), (None, None)) == [ROTATION, ROTATION]


def test_without_psi_a_tenth_is_read() -> None:
    assert rotations((WAITING, None), (WAITING, None), (WAITING, None)) == [ROTATION] * 3


def test_while_somebody_waits_all_are_read_at_every_look() -> None:
    looks = [(WAITING, 0), (WAITING, 0), (WAITING, 500_000), (WAITING, 1_000_000), (WAITING, 1_000_000)]

    assert rotations(*looks) == [ROTATION, ROTATION, 1, 1, ROTATION]
    assert rotations(*((QUIET, some_us) for _, some_us in looks)) == [QUIET_ROTATION] * 5


def test_one_starved_thread_among_a_hundred_busy_cpus_is_pressure() -> None:
    """PSI tells a share of the CPUs that are not idle: a hundredth is a whole CPU with somebody waiting."""
    assert rotations((WAITING, 0), (WAITING, 10_000), cpus=100)[-1] == 1
    assert rotations((WAITING, 0), (WAITING, 10_000), cpus=100, busy_s=0.01)[-1] == ROTATION
    assert rotations((WAITING, 0), (WAITING, 10_000), cpus=4)[-1] == ROTATION


def test_of_very_many_threads_no_more_than_two_thousand_are_read_in_one_look_for_pressures_sake() -> None:
    looks = [(WAITING, 0), (WAITING, 900_000)]

    assert rotations(*looks, threads=5_000)[-1] == 3
    assert rotations(*looks, threads=100_000)[-1] == ROTATION


def test_a_total_that_ran_backward_is_of_another_cgroup_and_says_nothing() -> None:
    looks = [(WAITING, 5_000_000), (WAITING, 100), (WAITING, 100), (WAITING, 100)]

    assert rotations(*looks) == [ROTATION] * 4


def test_two_looks_at_one_instant_say_nothing() -> None:
    watch = WaitWatch()
    for some_us in (0, 900_000):
        assert watch.rotation(S, WAITING, some_us, ticks(4, 1.0, 1), 100) == ROTATION


LOOKS = st.lists(
    st.tuples(
        st.none() | st.builds(RunQueues, st.integers(0, 50), st.integers(1, 1 << 22)),
        st.none() | st.integers(0, 1 << 50),
        st.integers(0, 1 << 40),
        st.integers(0, 64),
        st.floats(0, 1),
    ),
    max_size=12,
)


@given(LOOKS, st.integers(0, 200_000))
def test_it_is_always_one_to_ten_or_forty(
    looks: list[tuple[RunQueues | None, int | None, int, int, float]], threads: int
) -> None:
    """Whatever counters do: nothing shown is older than forty samples, nor than ten while somebody may wait."""
    watch = WaitWatch()
    for at, (queues, some_us, now_ns, cpus, busy_s) in enumerate(looks):
        found = watch.rotation(now_ns, queues, some_us, ticks(cpus, busy_s, at), threads)
        assert found == QUIET_ROTATION or 1 <= found <= ROTATION
        if queues is None or queues.runnable > 2:
            assert found <= ROTATION
        if found < ROTATION:
            assert found >= min(ROTATION, math.ceil(threads / 2000))


@pytest.mark.parametrize("rotation", [1, 2, 3, 10, 40])
def test_each_thread_has_its_turn_once_in_a_rotation(rotation: int) -> None:
    tids = [7, 8, 19, 100, 4242, 70_001]
    read = [[tid for tid in tids if tid % rotation == number % rotation] for number in range(rotation)]

    assert sorted(tid for turn in read for tid in turn) == tids


def test_waits_that_ended_need_no_looking_for() -> None:
    """What runs on one CPU waits for the other: the pressure is theirs, and nobody else is sought."""
    watch = WaitWatch()
    busy = {0: CpuTicks(100, 0, 0, 0, 0, 0)}
    watch.rotation(0, RunQueues(5, 1), 0, {0: CpuTicks(0, 0, 0, 0, 0, 0)}, 10)

    assert watch.rotation(10**9, RunQueues(5, 1), 900_000, busy, 10, explained_ns=850_000_000) == ROTATION
    later = {0: CpuTicks(200, 0, 0, 0, 0, 0)}
    assert watch.rotation(2 * 10**9, RunQueues(5, 1), 1_800_000, later, 10, explained_ns=0) == 1
