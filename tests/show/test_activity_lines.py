"""What stands below a picked thread: changes of its mask, how it is switched and moved, its process and what that is kept from."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
import reports

from numascope.cpuset import CpuSet
from numascope.host.parse_sched import Scheduling
from numascope.observe.sample import ProcessFacts
from numascope.review.activity import Activity, MaskChange, Moves
from numascope.review.report import CgroupRates, Placement, Report
from numascope.show.activity_lines import activity_lines, cgroup_words, process_words, switch_words
from numascope.show.canvas import cells
from numascope.show.detail import detail_lines
from numascope.show.ink import plain

AT_S = 1_700_000_000.0
CLOCK = time.strftime("%H:%M:%S", time.localtime(AT_S))
ONCE = MaskChange(AT_S - 1, AT_S, CpuSet.parse("0-7"), CpuSet.parse("3"))
USUAL = Activity(Scheduling("other"), 12.0, 3.0)
USUAL_WORDS = "other; gave its CPU up 12/s, lost it 3.0/s"


def shown(activity: Activity) -> tuple[Report, Placement]:
    report = reports.eight_ranks()
    return report, replace(report.placements[0], activity=activity)


def lines(activity: Activity, width: int = 100) -> list[str]:
    report, one = shown(activity)
    return [plain(line).rstrip() for line in activity_lines(report, one, width)]


def test_of_a_thread_of_which_nothing_is_known_nothing_is_said() -> None:
    assert lines(Activity()) == []


def test_a_mask_that_changed_once_is_told_from_what_to_what_and_by_when() -> None:
    assert lines(Activity(mask_changes=(ONCE,))) == [f" mask    0-7 → 3 by {CLOCK}"]


@pytest.mark.parametrize(("earlier", "words"), [(1, ", 1 change before that"), (7, ", 7 changes before that")])
def test_of_several_changes_the_last_is_told_and_the_others_are_counted(earlier: int, words: str) -> None:
    other = ONCE._replace(before=CpuSet.parse("9"), by_s=AT_S - 100)

    assert lines(Activity(mask_changes=(*[other] * earlier, ONCE))) == [f" mask    0-7 → 3 by {CLOCK}{words}"]


def test_a_mask_that_could_not_be_read_is_a_question_mark() -> None:
    assert lines(Activity(mask_changes=(ONCE._replace(before=None),)))[0].startswith(" mask    ? → 3")


@pytest.mark.parametrize(
    ("activity", "words"),
    [
        (USUAL, USUAL_WORDS),
        (Activity(Scheduling("fifo", 50), 0.0, 0.04), "fifo 50; gave its CPU up 0/s, lost it 0.1/s"),
        (Activity(Scheduling("batch", 0, 5), None, 12_345.6), "batch nice 5; gave its CPU up ?, lost it 12,346/s"),
        (
            USUAL._replace(moves=Moves(10, 2, 1)),
            f"{USUAL_WORDS}; seen to move 10 under its L3, 2 to another L3, 1 to another node",
        ),
        (USUAL._replace(moves=Moves(node=4)), f"{USUAL_WORDS}; seen to move 4 to another node"),
        (
            USUAL._replace(numa_faults_per_s=20.0, numa_moved_per_s=0.0, preferred_node=1),
            f"{USUAL_WORDS}; NUMA balancing: 20/s faults, 0/s pages moved, prefers N1",
        ),
        (USUAL._replace(numa_faults_per_s=0.0, numa_moved_per_s=0.0), USUAL_WORDS),
    ],
)  # fmt: skip
def test_switches_and_moves_in_words(activity: Activity, words: str) -> None:
    assert switch_words(activity) == words


def test_without_an_l3_a_move_is_said_to_be_within_the_node() -> None:
    report, one = shown(USUAL._replace(moves=Moves(core=3)))
    bare = replace(report, machine=report.machine._replace(caches=()))

    (line,) = activity_lines(bare, one, 100)
    assert plain(line).rstrip().endswith("seen to move 3 within its node")


def of_process(report: Report, facts: ProcessFacts, cgroups: dict[str, CgroupRates] | None = None) -> str:
    sample = replace(report.sample, processes={facts.pid: facts})
    return process_words(replace(report, sample=sample, cgroups=cgroups or {}), facts.pid)


FACTS = ProcessFacts(10, 1, 5, 10, "python", ("python",), {})
HELD = CgroupRates("/job", 3.5, "/sys/fs/cgroup/job/cpu.max", 800.0, 0.42, 120.0, 0.4, 0.0, pressure_is_own=True)


def test_a_process_in_a_container_has_both_numbers() -> None:
    assert of_process(reports.two_cpus(), FACTS) == "10"
    assert of_process(reports.two_cpus(), replace(FACTS, inner_pid=7)) == "10, 7 in its container"
    assert process_words(reports.two_cpus(), 10) == "", "of a process that is gone nothing is said"


def test_a_cpuset_and_memory_nodes_are_told_where_they_are_not_all() -> None:
    report = reports.eight_ranks()
    everything = replace(FACTS, mems_allowed=CpuSet.parse("0-7"), cpuset=report.machine.cpus.online)

    assert of_process(report, everything) == "10"
    assert of_process(report, replace(FACTS, mems_allowed=CpuSet.parse("0-1"), cpuset=CpuSet.parse("0-47"))) == (
        "10; memory nodes 0-1; cpuset 0-47"
    )


def test_variables_that_rebind_threads_are_named() -> None:
    facts = replace(FACTS, environ={"OMP_PROC_BIND": "close", "GOMP_CPU_AFFINITY": "0-3", "OMP_PLACES": ""})

    assert of_process(reports.two_cpus(), facts) == "10; OMP_PROC_BIND=close GOMP_CPU_AFFINITY=0-3"


def test_quota_and_pressure_of_its_cgroup_are_told() -> None:
    facts = replace(FACTS, cgroup="/job")

    assert of_process(reports.two_cpus(), facts, {"/job": HELD}) == (
        "10; quota 3.5 CPUs, held back in 42 % of the periods; CPU pressure 120 ms/s"
    )
    assert of_process(reports.two_cpus(), facts, {}) == "10"


@pytest.mark.parametrize(
    ("quota", "words"), [(0.25, "quota 0.25 CPUs"), (1.0, "quota 1.0 CPUs"), (1024.0, "quota 1024.0 CPUs")]
)
def test_a_quota_has_its_digits_whatever_its_size(quota: float, words: str) -> None:
    assert cgroup_words(HELD._replace(quota_cpus=quota))[0].startswith(words)


def test_pressure_of_the_whole_machine_is_said_to_be_so_and_what_is_unknown_is_not_told() -> None:
    assert cgroup_words(HELD._replace(quota_cpus=None, pressure_is_own=False)) == [
        "CPU pressure 120 ms/s of the whole machine"
    ]
    assert cgroup_words(HELD._replace(throttled_share=None, cpu_some_ms_per_s=None)) == [
        "quota 3.5 CPUs, held back in ? of the periods"
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_window(width: int) -> None:
    report, one = shown(
        USUAL._replace(moves=Moves(10, 2, 1), mask_changes=(ONCE._replace(before=CpuSet.of(range(0, 190, 2))),))
    )

    assert {cells(line) for line in activity_lines(report, one, width)} == {width}


def test_in_few_rows_the_most_telling_line_is_the_one_that_stays() -> None:
    report, one = shown(USUAL._replace(mask_changes=(ONCE,)))
    bare = replace(report, findings=())
    by_height = {rows: [plain(line).split()[0] for line in detail_lines(bare, one, 80, rows)] for rows in range(1, 40)}

    assert all(len(lines) <= rows for rows, lines in by_height.items())
    first = next(lines for lines in by_height.values() if "sched" in lines)
    assert first.index("mask") + 1 == first.index("sched")
