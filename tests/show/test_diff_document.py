"""The `diff` document holds what docs/diff.md says, by the same names, and plain values only."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import reports

from numascope.cpuset import CpuSet
from numascope.host.parse_sched import Scheduling
from numascope.host.parse_stat import CpuTicks
from numascope.observe.interrupts import Interrupt
from numascope.observe.sample import ProcessFacts
from numascope.review.activity import Activity, MaskChange, Moves
from numascope.review.report import CgroupRates, Report
from numascope.show.diff_document import delta_document, diff_document

DOCUMENTED = Path(__file__).resolve().parents[2] / "docs" / "diff.md"

CHANGE = MaskChange(1.0, 2.0, None, CpuSet.parse("3"))
ACTIVITY = Activity(
    Scheduling("fifo", 5), 1.0, 2.0, 3.0, 4.0, 1, Moves(5, 6, 7), (CHANGE._replace(before=CpuSet.parse("0-7")), CHANGE)
)


def full() -> Report:
    """A report with something in each list of the document."""
    base = reports.eight_ranks()
    facts = ProcessFacts(
        41227, 1, 5, 41200, "python", ("python",), {"OMP_PROC_BIND": "close"}, 1004, cpuset=CpuSet.parse("0-47"),
        policy="bind:0", mems_allowed=CpuSet.parse("0-7"), cgroup="/job", inner_pid=7,
    )  # fmt: skip
    sample = replace(
        base.sample,
        processes={facts.pid: facts, 9: replace(facts, pid=9, inner_pid=None, environ=None)},
        cpu_ticks={0: CpuTicks(1, 1, 1, 1, 1, 1)},
        interrupts=(Interrupt(40, "mlx5", 3, 12.5),),
        unseen_ns={facts.pid: 20_000_000},
    )
    held = CgroupRates("/job", 3.5, "/sys/fs/cgroup/job/cpu.max", 800.0, 0.4, 120.0, 0.4, 0.0, pressure_is_own=True)
    placements = (replace(base.placements[0], activity=ACTIVITY), *base.placements[1:])
    return replace(base, sample=sample, cgroups={"/job": held}, placements=placements)


def documented() -> dict[str, set[str]]:
    """Field → the names that its row of the table has at the start of its entries."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", DOCUMENTED.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", text)) for name, text in rows}


@pytest.mark.parametrize(
    "field", ["jobs", "ranks", "nodes", "cpus", "cgroups", "interrupts", "processes", "threads", "findings"]
)
def test_every_field_of_every_row_is_documented(field: str) -> None:
    document: dict[str, Any] = dict(diff_document(full()))
    (first, *_) = document[field]

    assert set(first) <= documented()[field]


def test_the_document_is_plain_and_goes_through_json() -> None:
    document = diff_document(full())

    assert json.loads(json.dumps(document)) == document


def test_a_process_has_both_its_numbers_what_rebinds_it_and_the_time_that_nobody_saw() -> None:
    document: dict[str, Any] = dict(diff_document(full()))
    first, second = document["processes"]

    assert first == {
        "pid": 41227, "inner_pid": 7, "ppid": 1, "comm": "python", "uid": 1004, "cgroup": "/job", "cpuset": "0-47",
        "mems_allowed": "0-7", "policy": "bind:0", "rebinding": "OMP_PROC_BIND=close",
        "environ": {"OMP_PROC_BIND": "close"}, "unseen_ns": 20_000_000,
    }  # fmt: skip
    assert (second["inner_pid"], second["unseen_ns"], second["rebinding"]) == (None, None, "")


def test_a_thread_has_its_scheduling_switches_moves_and_the_history_of_its_mask() -> None:
    document: dict[str, Any] = dict(diff_document(full()))
    known, unknown = document["threads"][:2]

    assert known["scheduling"] == {"policy": "fifo", "rt_priority": 5, "nice": 0}
    assert (known["voluntary_per_s"], known["involuntary_per_s"]) == (1.0, 2.0)
    assert (known["numa_faults_per_s"], known["numa_moved_per_s"], known["preferred_node"]) == (3.0, 4.0, 1)
    assert known["moves_seen"] == {"core": 5, "l3": 6, "node": 7}
    assert known["mask_changes"] == [
        {"since_s": 1.0, "by_s": 2.0, "before": "0-7", "after": "3"},
        {"since_s": 1.0, "by_s": 2.0, "before": None, "after": "3"},
    ]
    assert (unknown["scheduling"], unknown["voluntary_per_s"], unknown["mask_changes"]) == (None, None, [])


def test_a_policy_that_changed_is_a_row_of_the_delta_and_a_rate_alone_is_none() -> None:
    before = full()
    faster, other = ACTIVITY._replace(voluntary_per_s=99.0), ACTIVITY._replace(scheduling=Scheduling("other"))

    def delta(activity: Activity) -> list[Any]:
        rows = (replace(before.placements[0], activity=activity), *before.placements[1:])
        document: dict[str, Any] = dict(delta_document(before, replace(before, placements=rows)))
        return list(document["threads"])

    assert delta(faster) == []
    assert [row["scheduling"]["policy"] for row in delta(other)] == ["other"]
