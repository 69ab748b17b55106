"""Devices on the CPUs of ranks are told once a rank, by what they count there."""

from __future__ import annotations

import pytest

from numascope.cpuset import CpuSet
from numascope.observe.interrupts import Interrupt
from numascope.review.interrupts import interrupts_on_planned
from numascope.review.report import Finding, RankView


def rank(number: int, planned: str) -> RankView:
    return RankView(
        "A", f"rank {number}", 100 + number, number, number, None, CpuSet(), CpuSet.parse(planned), {}, 1.0, 0.0, "",
        0.0, None, "", "", threads=8,
    )  # fmt: skip


def told(ranks: list[RankView], *interrupts: Interrupt, node: int | None = None) -> list[Finding]:
    return interrupts_on_planned(ranks, interrupts, lambda _: CpuSet.span(12, 15), lambda _: node)


def test_a_device_on_a_planned_cpu_is_told_with_its_affinity_and_how_to_move_it() -> None:
    (found,) = told([rank(0, "12-15")], Interrupt(87, "mlx5_comp3", 12, 15_200.4), node=1)

    assert (found.rule, found.severity, found.subject, found.rank) == ("interrupts", "warning", "CPU 12 of rank 0", 0)
    assert found.text == "mlx5_comp3 (irq 87) interrupts it 15,200 times a second"
    assert found.evidence == "irq 87 goes to CPU 12-15"
    assert "echo LIST > /proc/irq/87/smp_affinity_list" in found.remedy
    assert "best of its node 1" in found.remedy
    assert "irqbalance may undo it" in found.remedy


@pytest.mark.parametrize(
    ("per_s", "severities"), [(99.9, []), (100.0, ["info"]), (9_999.9, ["info"]), (10_000.0, ["warning"])]
)
def test_a_hundred_a_second_are_worth_a_note_and_ten_thousand_a_warning(per_s: float, severities: list[str]) -> None:
    assert [one.severity for one in told([rank(0, "12")], Interrupt(87, "eth0", 12, per_s))] == severities


def test_what_counts_is_all_that_lands_on_one_cpu() -> None:
    queues = [Interrupt(80 + at, f"eth0-{at}", 12, 3_000.0) for at in range(4)]
    (found,) = told([rank(0, "12-15")], *queues)

    assert found.severity == "warning"
    assert "12,000/s on CPU 12 in all" in found.evidence


def test_a_cpu_that_no_rank_was_planned_to_have_is_nobodys_business() -> None:
    assert told([rank(0, "12-15"), rank(1, "")], Interrupt(87, "eth0", 11, 50_000.0)) == []


def test_a_rank_has_one_finding_that_names_the_worst_three() -> None:
    queues = [Interrupt(80 + cpu, f"mlx5_comp{cpu}", cpu, 1_000.0 + cpu) for cpu in range(160)]
    found = told([rank(at, f"{20 * at}-{20 * at + 19}") for at in range(8)], *queues)

    assert [one.subject for one in found] == [f"CPU {20 * at + 19} of rank {at}" for at in range(8)]
    assert found[1].text == "mlx5_comp39 (irq 119) interrupts it 1,039 times a second, and 19 more on CPU 20-38"
    assert found[1].evidence == (
        "irq 119 goes to CPU 12-15; mlx5_comp38 (irq 118) 1,038/s on CPU 38; mlx5_comp37 (irq 117) 1,037/s on CPU 37"
    )


def test_a_cpu_that_two_ranks_share_is_told_once_and_names_both() -> None:
    (found,) = told([rank(0, "12"), rank(1, "12-13")], Interrupt(87, "eth0", 12, 500.0))

    assert found.subject == "CPU 12 of rank 0, rank 1"


def test_an_affinity_that_may_not_be_read_is_unknown() -> None:
    (found,) = interrupts_on_planned(
        [rank(0, "12")], [Interrupt(87, "eth0", 12, 500.0)], lambda _: None, lambda _: None
    )

    assert found.evidence == "irq 87 goes to CPU ?"
    assert "node" not in found.remedy
