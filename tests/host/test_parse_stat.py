"""CPU time by CPU out of /proc/stat."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from numascope.host.parse_stat import CpuTicks, parse_cpu_ticks


def test_idle_iowait_and_stolen_time_are_not_busy() -> None:
    raw = b"cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 10 1 5 100 7 2 3 50 4 0\ncpu12 1 0 0 9 0 0 0 0 0 0\nintr 5\n"
    ticks = parse_cpu_ticks(raw)

    assert {cpu: (one.busy, one.total) for cpu, one in ticks.items()} == {0: (21, 178), 12: (1, 10)}


def test_nice_counts_as_user_and_both_kinds_of_interrupts_as_one() -> None:
    raw = b"cpu3 10 1 5 100 7 2 3 50 4 0\n"

    assert parse_cpu_ticks(raw) == {3: CpuTicks(user=11, system=5, irq=5, iowait=7, idle=100, steal=50)}


def test_a_kernel_that_counts_no_interrupts_and_no_stolen_time_has_none() -> None:
    assert parse_cpu_ticks(b"cpu0 10 1 5 100 7\n") == {0: CpuTicks(11, 5, 0, 7, 100, 0)}


@given(st.binary(max_size=200))
def test_any_bytes_are_ticks_or_nothing(raw: bytes) -> None:
    parse_cpu_ticks(raw)
    parse_cpu_ticks(b"cpu0 " + raw + b"\n")
