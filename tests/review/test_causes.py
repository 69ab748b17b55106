"""Hints beside verdicts: each with what tells it, and silent where that is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from plan.machines import machine

from numascope.cpuset import CpuSet
from numascope.observe.roles import Role
from numascope.observe.sample import ProcessFacts, ThreadKey
from numascope.plan.objects import Place, Target
from numascope.review.activity import Activity, MaskChange
from numascope.review.causes import Around, Cause, causes
from numascope.review.evidence import NOTHING
from numascope.review.report import Placement, Verdict

HOST = machine(16, nodes=2)
WORKER, LAUNCHER = 100, 50


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def placed(
    allowed: str, target: str = "4-7", *, role: str = "runtime", verdict: Verdict = "loose", is_main: bool = False
) -> Placement:
    planned = cpus(target)
    return Placement(
        key=ThreadKey(WORKER, WORKER if is_main else 101, 1, 0), comm="x", label="x", role=Role(role, "named", ""), rank=0,
        target=Target(planned, planned, Place("bind.json", 1, 1), "x of device0"), allowed=cpus(allowed), cpu=0, cpu_stale=False,
        node=0, state="S", verdict=verdict, severity="warning", busy=0.0, wait_ms_per_s=0.0, migrations_per_s=0.0,
        outside=NOTHING, reason="", activity=Activity(),
    )  # fmt: skip


def process(pid: int, ppid: int = 1, comm: str = "python", cpuset: str | None = None, **environ: str) -> ProcessFacts:
    facts = ProcessFacts(pid, ppid, 1, pid, comm, ("python",), environ)
    return facts if cpuset is None else replace(facts, cpuset=cpus(cpuset))


def hints(
    one: Placement,
    worker: ProcessFacts,
    masks: Mapping[int, str] | None = None,
    kernel: str | None = None,
    launcher: ProcessFacts | None = None,
) -> list[Cause]:
    processes = {WORKER: worker} | ({} if launcher is None else {LAUNCHER: launcher})
    found = {pid: cpus(text) for pid, text in (masks or {}).items()}
    return causes(one, Around(processes, found, HOST._replace(kernel=kernel)))


def texts(found: list[Cause]) -> str:
    return "\n".join(one.text for one in found)


def test_an_openmp_variable_is_named_with_the_runtime_that_heeds_it() -> None:
    worker = replace(process(WORKER, OMP_PROC_BIND="true"), libraries=("libgomp",))
    (cause,) = hints(placed("4", verdict="narrow", role="main", is_main=True), worker)
    assert cause == Cause("OMP_PROC_BIND=true, libgomp mapped", "start without OMP_PROC_BIND")
    assert hints(placed("4", verdict="narrow"), process(WORKER, OMP_PROC_BIND="false")) == []


@pytest.mark.parametrize(
    ("value", "role", "told"), [("1", "unnamed", True), ("0", "unnamed", False), ("1", "main", False)]
)
def test_nccl_that_ignores_masks_is_named_for_threads_that_may_be_its_own(value: str, role: str, told: bool) -> None:
    found = hints(placed("8-15", verdict="astray", role=role), process(WORKER, NCCL_IGNORE_CPU_AFFINITY=value))
    assert ("NCCL_IGNORE_CPU_AFFINITY=1" in texts(found)) == told


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("6.1.0-28-amd64", "on Linux 6.1 any write of cpuset.cpus and any move between cgroups does that"),
        ("5.10.0", "on Linux 5.10 any write"),
        ("6.2.0", "Linux 6.2 keeps masks when a cpuset changes, so it was not bound within it"),
        ("6.18.44", "Linux 6.18 keeps masks"),
        (None, "before Linux 6.2 any write of cpuset.cpus does that"),
    ],
)
def test_a_mask_that_is_the_whole_cpuset_is_worded_by_the_kernel(kernel: str | None, words: str) -> None:
    (cause,) = hints(placed("0-11"), process(WORKER, cpuset="0-11"), kernel=kernel)
    assert cause.text.startswith("its mask is its whole cpuset 0-11: ")
    assert words in cause.text


def test_a_cpuset_of_the_whole_machine_or_another_mask_proves_nothing() -> None:
    assert hints(placed("0-15"), process(WORKER, cpuset="0-15"), kernel="6.1.0") == []
    assert hints(placed("0-7"), process(WORKER, cpuset="0-11"), kernel="6.1.0") == []


def test_a_mask_that_became_the_cpuset_while_it_was_watched_is_said_so() -> None:
    change = MaskChange(1.0, 2.0, cpus("4-7"), cpus("0-11"))
    one = replace(placed("0-11"), activity=Activity(mask_changes=(change,)))
    (cause,) = hints(one, process(WORKER, cpuset="0-11"), kernel="6.1.0")
    assert cause.text.startswith("its mask became its whole cpuset 0-11 while it was watched (from 4-7): on Linux 6.1")
    assert cause.lasting == "numascope hold puts it back each time"


def test_a_launcher_that_is_bound_itself_is_named() -> None:
    worker, launcher = process(WORKER, LAUNCHER), process(LAUNCHER, comm="pt_elastic")
    (cause,) = hints(placed("0-3", verdict="astray"), worker, {LAUNCHER: "0-3"}, launcher=launcher)
    assert cause.text.startswith("pt_elastic 50, which started it, has the same mask")
    assert hints(placed("0-15"), worker, {LAUNCHER: "0-15"}, launcher=launcher) == []
    assert hints(placed("0-3", verdict="astray"), worker, {LAUNCHER: "0-4"}, launcher=launcher) == []


@pytest.mark.parametrize(("count", "told"), [("2", True), ("0", False), ("", False)])
def test_a_rank_that_torchrun_started_anew_lost_what_was_bound_live(count: str, told: bool) -> None:
    found = hints(placed("0-15"), process(WORKER, TORCHELASTIC_RESTART_COUNT=count))
    assert (f"TORCHELASTIC_RESTART_COUNT={count}" in texts(found)) == told


def test_modules_that_still_have_main_s_set_were_never_bound() -> None:
    worker = process(WORKER, MS_ROLE="MS_WORKER")
    (cause,) = hints(placed("0-7", "4-5"), worker, {WORKER: "0-7"})
    assert "set_cpu_affinity" in cause.text
    assert hints(placed("0-3", "4-5"), worker, {WORKER: "0-7"}) == []
    assert hints(placed("0-7", "4-5", role="kernel"), worker, {WORKER: "0-7"}) == []
    assert hints(placed("0-7", "4-5"), process(WORKER), {WORKER: "0-7"}) == []


@pytest.mark.parametrize("verdict", ["ok", "pending", "unplanned", "unknown", "blocked"])
def test_a_thread_that_is_not_out_of_place_has_no_cause(verdict: Verdict) -> None:
    worker = process(WORKER, OMP_PROC_BIND="true", TORCHELASTIC_RESTART_COUNT="1")
    assert hints(placed("4-7", verdict=verdict), worker) == []
