"""The list: who is changed by default, who only when asked, and who never, each with its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reports import placement, rank_view, report
from shapes import Shape, machine

from numascope.cpuset import CpuSet
from numascope.observe.sample import ProcessFacts
from numascope.review.change import Selection
from numascope.review.report import Placement, Report, Verdict
from numascope.steer.change import OldMain, select_changes

PID = 41207


def thread(
    tid: int, label: str, planned: str | None, allowed: str | None, verdict: Verdict, **more: object
) -> Placement:
    return placement(tid, label, "runtime", 0, planned, allowed, 3, verdict, pid=PID, **more)  # type: ignore[arg-type]


def main(allowed: str, verdict: Verdict) -> Placement:
    return thread(PID, "main", "0-3", allowed, verdict)


def judged(*threads: Placement) -> Report:
    on = machine(Shape(2, 1, 1, 4))
    one = report("msrun 41200", on, threads, [rank_view("A", PID, 0, "0-3", threads, 0, "0")])
    facts = ProcessFacts(PID, 41200, 8_841_207, 1, "python", ("python", "train.py"), {}, uid=1004)
    return replace(one, sample=replace(one.sample, processes={PID: facts}))


def tids(selection: Selection) -> list[int]:
    return [one.key.tid for one in selection.changes]


def reasons(selection: Selection) -> dict[str, int]:
    return {one.reason.partition(":")[0]: one.count for one in selection.left_alone}


@pytest.mark.parametrize("verdict", ["escaped", "astray", "loose", "narrow"])
def test_a_planned_thread_out_of_place_is_changed(verdict: Verdict) -> None:
    found = select_changes(judged(main("0-3", "ok"), thread(2, "ActorThread_0", "1", "5", verdict)))
    (change,) = found.changes
    assert (change.key.tid, str(change.before), str(change.after), change.verdict) == (2, "5", "1", verdict)
    assert (change.rank, change.role, change.process.cmdline) == ("rank 0 d0", "runtime", ("python", "train.py"))
    assert reasons(found) == {"as planned already": 1}


@pytest.mark.parametrize(
    ("environ", "libraries", "fragile"),
    [
        ({"OMP_PROC_BIND": "true", "RANK": "0"}, ("libgomp",), [(PID, "OMP_PROC_BIND=true", "libgomp")]),
        ({"OMP_PROC_BIND": "FALSE"}, ("libgomp",), []),
        ({"GOMP_CPU_AFFINITY": "0"}, (), []),
    ],
)
def test_a_process_whose_runtime_binds_its_own_threads_is_told_apart(
    environ: dict[str, str], libraries: tuple[str, ...], fragile: list[tuple[int, str, str]]
) -> None:
    one = judged(main("0-7", "loose"))
    facts = replace(one.sample.processes[PID], environ=environ, libraries=libraries)
    found = select_changes(replace(one, sample=replace(one.sample, processes={PID: facts})))
    assert list(found.fragile) == fragile


@pytest.mark.parametrize("verdict", ["pending", "unknown", "blocked"])
def test_what_is_pending_unknown_or_blocked_is_left_with_its_word(verdict: Verdict) -> None:
    found = select_changes(judged(thread(2, "ActorThread_0", "1", "5", verdict)), everything=True)
    assert found.changes == ()
    assert reasons(found) == {verdict: 1}


def test_a_subset_of_the_target_is_in_place() -> None:
    assert select_changes(judged(thread(2, "ActorThread_0", "0-3", "1-2", "ok")), everything=True).changes == ()


def test_roles_told_by_evidence_are_changed_only_when_asked() -> None:
    guessed = judged(main("0-3", "ok"), thread(2, "python", "1", "5", "loose", confidence="inferred"))
    assert tids(select_changes(guessed)) == []
    assert any("--inferred" in one.reason for one in select_changes(guessed).left_alone)
    assert tids(select_changes(guessed, inferred=True)) == [2]
    assert tids(select_changes(guessed, everything=True)) == [2]


def test_unplanned_threads_move_with_their_main_thread_when_they_share_its_old_set() -> None:
    same = thread(2, "KernelThread_0", None, "0-191", "unplanned")
    own = thread(3, "KernelThread_1", None, "7", "unplanned")
    found = select_changes(judged(main("0-191", "escaped"), same, own))
    assert [(one.key.tid, str(one.after)) for one in found.changes] == [(PID, "0-3"), (2, "0-3")]
    assert reasons(found) == {"not in the plan; they keep their parent's set": 1}


def test_they_stay_where_they_are_while_main_is_in_place() -> None:
    found = select_changes(judged(main("0-3", "ok"), thread(2, "KernelThread_0", None, "0-191", "unplanned")))
    assert found.changes == ()


def test_later_passes_know_the_old_set_of_a_main_thread_that_was_changed() -> None:
    late = judged(main("0-3", "ok"), thread(2, "KernelThread_0", None, "0-191", "unplanned"))
    old = {(PID, 8_841_207): OldMain(CpuSet.parse("0-191"), CpuSet.parse("0-3"))}
    assert tids(select_changes(late, old_mains=old)) == [2]


def test_all_takes_every_thread_of_a_rank_onto_mains_cpus() -> None:
    found = select_changes(
        judged(main("0-3", "ok"), thread(2, "x", None, "7", "unplanned"), thread(3, "y", None, "1", "unplanned")),
        everything=True,
    )
    assert [(one.key.tid, str(one.after)) for one in found.changes] == [(2, "0-3")]


def test_a_process_that_could_not_be_read_is_left() -> None:
    one = judged(thread(2, "ActorThread_0", "1", "5", "escaped"))
    found = select_changes(replace(one, sample=replace(one.sample, processes={})))
    assert found.changes == ()
    assert reasons(found) == {"its process could not be read": 1}


def test_every_thread_is_either_changed_or_left() -> None:
    threads = [
        main("0-191", "escaped"),
        *(thread(tid, f"t{tid}", None, "0-191" if tid % 2 else "7", "unplanned") for tid in range(2, 30)),
    ]
    found = select_changes(judged(*threads))
    assert len(found.changes) + sum(one.count for one in found.left_alone) == found.threads == len(threads)
