"""What a CPU did with the last interval, in words and as rows of the document; what is unknown is left out, or null."""

from __future__ import annotations

from dataclasses import replace

import pytest
import reports

from numascope.host.parse_stat import CpuTicks
from numascope.observe.interrupts import Interrupt
from numascope.observe.rates import CpuShares
from numascope.review.report import Report
from numascope.show.cpu_words import cpu_rows, interrupt_words, load_words


def report(**shown: object) -> Report:
    """Two CPUs, with these fields of their report; those of the sample are set in it."""
    base = reports.two_cpus()
    of_sample = {name: shown.pop(name) for name in ("clocks_khz", "interrupts", "cpu_ticks") if name in shown}
    return replace(base, sample=replace(base.sample, **of_sample), **shown)  # type: ignore[arg-type]


MIXED = CpuShares(0.8, 0.1, 0.03, 0.02, 0.0)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({0: MIXED}, "93 % busy: user 80, system 10, irq 3, iowait 2"),
        ({0: CpuShares(0.93, 0.0, 0.0, 0.0, 0.0)}, "93 % busy"),
        ({0: CpuShares(0.93, 0.004, 0.0, 0.0, 0.0)}, "93 % busy"),
        ({0: CpuShares(0.0, 0.0, 0.0, 0.0, 0.5)}, "93 % busy: steal 50"),
        ({}, "93 % busy"),
    ],
)
def test_a_load_is_split_where_it_is_not_the_programs_alone(shares: dict[int, CpuShares], words: str) -> None:
    assert load_words(report(loads={0: 0.93}, shares=shares), [0]) == words


def test_of_several_cpus_it_is_the_mean_of_those_that_are_known() -> None:
    shown = report(loads={0: 0.5, 1: 1.0, 2: None}, clocks_khz={0: 2_000_000, 1: 3_000_000})

    assert load_words(shown, [0, 1, 2]) == "75 % busy  2.50 GHz"
    assert load_words(shown, [2]) == "load ?"
    assert load_words(shown, []) == "load ?"
    assert load_words(shown, [99]) == "load ?"


def test_the_device_that_interrupts_most_is_named_and_the_others_are_counted() -> None:
    shown = report(
        interrupts=(Interrupt(40, "mlx5_comp0", 0, 12_345.0), Interrupt(41, "nvme0q1", 0, 20_000.0), Interrupt(42, "x", 1, 9e9))
    )  # fmt: skip

    assert interrupt_words(shown, [0]) == "irq 41 nvme0q1 20,000/s +1"
    assert interrupt_words(shown, [1]) == "irq 42 x 9,000,000,000/s"
    assert interrupt_words(shown, [7]) == ""


TICKS = dict.fromkeys((1, 0), CpuTicks(1, 1, 1, 1, 1, 1))


def test_each_cpu_has_a_row_by_number_and_null_is_unknown() -> None:
    shown = report(loads={0: 0.9, 1: None}, shares={0: MIXED}, clocks_khz={0: 2_400_000}, cpu_ticks=TICKS)
    first, second = cpu_rows(shown)

    assert first == {
        "cpu": 0, "node": 0, "busy": 0.9, "user": 0.8, "system": 0.1, "irq": 0.03, "iowait": 0.02, "steal": 0.0,
        "clock_khz": 2_400_000, "interrupts_per_s": None,
    }  # fmt: skip
    assert second["cpu"] == 1
    assert {second[name] for name in ("busy", "user", "system", "irq", "iowait", "steal", "clock_khz")} == {None}


def test_interrupts_of_a_cpu_are_summed_and_where_some_are_known_none_is_zero() -> None:
    shown = report(interrupts=(Interrupt(40, "a", 0, 10.0), Interrupt(41, "b", 0, 5.5)), cpu_ticks=TICKS)

    assert [row["interrupts_per_s"] for row in cpu_rows(shown)] == [15.5, 0.0]


def test_without_a_sample_of_cpus_there_is_no_row() -> None:
    assert cpu_rows(report(cpu_ticks={})) == []
