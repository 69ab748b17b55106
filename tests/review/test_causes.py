"""Hints beside verdicts: each with what tells it, and silent where that is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from bare_machines import machine

from numascope.cpuset import EMPTY, CpuSet
from numascope.observe.roles import Role
from numascope.observe.sample import ProcessFacts, ThreadKey
from numascope.plan.objects import Place, Target
from numascope.review.activity import Activity, MaskChange
from numascope.review.causes import Around, Cause, around, causes
from numascope.review.evidence import NOTHING
from numascope.review.report import Placement, RankView, Verdict

HOST = machine(16, nodes=2)
WORKER, LAUNCHER, HELPER = 100, 50, 120


def cpus(text: str) -> CpuSet:
    return CpuSet.parse(text)


def placed(
    allowed: str,
    target: str = "4-7",
    *,
    role: str = "runtime",
    verdict: Verdict = "loose",
    is_main: bool = False,
    pid: int = WORKER,
) -> Placement:
    planned = cpus(target)
    return Placement(
        key=ThreadKey(pid, pid if is_main else pid + 1, 1, 0), comm="x", label="x", role=Role(role, "named", ""), rank=0,
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
    helper: ProcessFacts | None = None,
    *,
    is_bound: bool = False,
    device_node: int | None = None,
) -> list[Cause]:
    processes = {each.pid: each for each in (worker, launcher, helper) if each is not None}
    found = {pid: cpus(text) for pid, text in (masks or {}).items()}
    bound = frozenset({0} if is_bound else ())
    return causes(one, Around(processes, found, HOST._replace(kernel=kernel), {0: WORKER}, {0: device_node}, bound))


def rank_view() -> RankView:
    return RankView(
        letter="A", name="rank 0", pid=WORKER, number=0, device=0, device_node=None, planned_nodes=EMPTY, planned_cpus=EMPTY,
        counts={}, busy=None, wait_ms_per_s=None, wait_label="", migrations_per_s=None, policy=None, policy_source="",
        memory_verdict="", threads=2,
    )  # fmt: skip


def texts(found: list[Cause]) -> str:
    return "\n".join(one.text for one in found)


def openmp(*runtimes: str, **environ: str) -> ProcessFacts:
    """A rank with these variables and runtimes."""
    return replace(process(WORKER, LAUNCHER, **environ), libraries=runtimes or ("libgomp",))


def test_an_openmp_variable_is_named_with_the_runtime_that_heeds_it() -> None:
    (cause,) = hints(placed("4", verdict="narrow", role="main", is_main=True), openmp(OMP_PROC_BIND="true"))
    assert cause == Cause("OMP_PROC_BIND=true, libgomp mapped", "start without OMP_PROC_BIND")


@pytest.mark.parametrize(
    ("runtimes", "environ"),
    [
        ((), {"OMP_PROC_BIND": "true"}),  # nobody heeds it
        (("libgomp",), {"OMP_PROC_BIND": "false"}),
        (("libgomp",), {"OMP_PROC_BIND": "false", "OMP_PLACES": "cores"}),  # seen with torch 2.13
        (("libgomp",), {"KMP_AFFINITY": "compact"}),  # seen with torch 2.13
        (("libgomp", "libiomp5"), {"KMP_AFFINITY": "verbose,none"}),
    ],
)
def test_variables_that_bind_nobody_are_no_cause(runtimes: tuple[str, ...], environ: dict[str, str]) -> None:
    worker = replace(process(WORKER), environ=environ, libraries=runtimes)
    assert hints(placed("4", verdict="narrow"), worker) == []


def test_a_mask_that_is_no_place_of_openmp_s_is_not_its_work() -> None:
    assert hints(placed("8-11", verdict="astray"), openmp(OMP_PROC_BIND="true")) == []
    assert "OMP_PLACES=sockets" in texts(hints(placed("8-11", verdict="astray"), openmp(OMP_PLACES="sockets")))
    kmp = "granularity=socket,compact"
    assert kmp in texts(hints(placed("8-11", verdict="astray"), openmp("libiomp5", KMP_AFFINITY=kmp)))


def test_what_a_rank_inherited_openmp_did_not_do() -> None:
    launcher = process(LAUNCHER, comm="pt_elastic")
    one = placed("8", verdict="astray")
    (cause,) = hints(one, openmp(OMP_PROC_BIND="true"), {LAUNCHER: "8"}, launcher=launcher)
    assert cause.text.startswith("pt_elastic 50, which started it, has the same mask")
    assert hints(placed("0-15"), openmp(OMP_PLACES="sockets"), {LAUNCHER: "0-15"}, launcher=launcher) == []


def test_a_launcher_that_the_same_variable_narrowed_is_not_told_to_be_started_unbound() -> None:
    launcher = replace(process(LAUNCHER, comm="pt_elastic", OMP_PROC_BIND="true"), libraries=("libgomp",))
    one = placed("0", verdict="narrow", target="0-7")
    (cause,) = hints(one, openmp(OMP_PROC_BIND="true"), {LAUNCHER: "0"}, launcher=launcher)
    assert cause.text.endswith("; pt_elastic 50, which started it, has that variable and this mask too")
    assert cause.lasting == "start without OMP_PROC_BIND"


def test_a_helper_s_mask_is_explained_by_its_rank_s_variable_and_never_by_its_rank_as_launcher() -> None:
    helper = process(HELPER, WORKER)
    one = placed("0", verdict="narrow", target="0-7", role="loader", pid=HELPER, is_main=True)
    (cause,) = hints(one, openmp(OMP_PROC_BIND="true"), {WORKER: "0"}, helper=helper)
    assert cause.text == "OMP_PROC_BIND=true, libgomp mapped"
    assert hints(one, process(WORKER), {WORKER: "0"}, helper=helper) == []


@pytest.mark.parametrize(
    ("value", "role", "main", "node", "told"),
    [
        ("1", "unnamed", "0-3", None, True),
        ("1", "unnamed", "0-3", 1, True),
        ("0", "unnamed", "0-3", None, False),
        ("1", "main", "0-3", None, False),
        ("1", "unnamed", "8-15", None, False),  # it has what main has: nobody put it there by itself
        ("1", "unnamed", "0-3", 0, False),  # the GPU is elsewhere
    ],
)
def test_nccl_that_ignores_masks_is_named_for_threads_on_the_cpus_of_the_gpu(
    value: str, role: str, main: str, node: int | None, told: bool
) -> None:
    one = placed("8-15", verdict="astray", role=role)
    found = hints(one, process(WORKER, NCCL_IGNORE_CPU_AFFINITY=value), {WORKER: main}, device_node=node)
    assert ("NCCL_IGNORE_CPU_AFFINITY=1" in texts(found)) == told


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (
            "6.1.0-28-amd64",
            "it was never bound within it, or on Linux 6.1 a write of cpuset.cpus or a move between cgroups wiped that",
        ),
        ("5.10.0", "on Linux 5.10 a write"),
        ("6.2.0", "Linux 6.2 keeps masks when a cpuset changes, so it was not bound within it"),
        ("6.18.44", "Linux 6.18 keeps masks"),
        (None, "on Linux before 6.2 a write of cpuset.cpus"),
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
    assert "does that (kubelet, Slurm)" in cause.text
    assert cause.lasting == "numascope hold puts it back each time"
    (later,) = hints(one, process(WORKER, cpuset="0-11"), kernel="6.18.0")
    assert later.text.endswith("Linux 6.18 keeps masks when a cpuset changes, so somebody set it")


def test_a_launcher_that_is_bound_itself_is_named() -> None:
    worker, launcher = process(WORKER, LAUNCHER), process(LAUNCHER, comm="pt_elastic")
    (cause,) = hints(placed("0-3", verdict="astray"), worker, {LAUNCHER: "0-3"}, launcher=launcher)
    assert cause.text.startswith("pt_elastic 50, which started it, has the same mask")
    assert hints(placed("0-15"), worker, {LAUNCHER: "0-15"}, launcher=launcher) == []
    assert hints(placed("0-3", verdict="astray"), worker, {LAUNCHER: "0-4"}, launcher=launcher) == []
    narrow = placed("0", verdict="narrow", target="0-7")
    assert "pt_elastic 50" in texts(hints(narrow, worker, {LAUNCHER: "0"}, launcher=launcher))
    confined = process(WORKER, LAUNCHER, cpuset="0-3")
    assert "pt_elastic" not in texts(
        hints(placed("0-3", verdict="astray"), confined, {LAUNCHER: "0-3"}, launcher=launcher)
    )


@pytest.mark.parametrize(
    ("count", "allowed", "launcher", "told"),
    [
        ("2", "0-15", None, True),
        ("2", "0-7", "0-7", True),
        ("2", "0", "0-15", False),  # it does not have what its launcher has: something bound it since
        ("0", "0-15", None, False),
        ("", "0-15", None, False),
    ],
)
def test_a_rank_that_torchrun_started_anew_lost_what_was_bound_live(
    count: str, allowed: str, launcher: str | None, told: bool
) -> None:
    worker = process(WORKER, LAUNCHER, TORCHELASTIC_RESTART_COUNT=count)
    found = hints(placed(allowed), worker, {} if launcher is None else {LAUNCHER: launcher})
    assert (f"TORCHELASTIC_RESTART_COUNT={count}" in texts(found)) == told


def test_modules_that_still_have_main_s_set_were_never_bound() -> None:
    worker = process(WORKER, MS_ROLE="MS_WORKER")
    (cause,) = hints(placed("0-7", "4-5"), worker, {WORKER: "0-7"})
    assert "set_cpu_affinity" in cause.text
    assert hints(placed("0-3", "4-5"), worker, {WORKER: "0-7"}) == []
    assert hints(placed("0-7", "4-5", role="kernel"), worker, {WORKER: "0-7"}) == []
    assert hints(placed("0-7", "4-5"), process(WORKER), {WORKER: "0-7"}) == []
    assert hints(placed("0-7", "4-5"), worker, {WORKER: "0-7"}, is_bound=True) == []


def test_a_mindspore_thread_is_known_by_its_name_where_msrun_did_not_start_its_process() -> None:
    actor = replace(placed("0-7", "4-5"), comm="ActorThread_0")
    assert "set_cpu_affinity" in texts(hints(actor, process(WORKER), {WORKER: "0-7"}))


def test_a_dataset_worker_is_held_against_its_rank_s_main_thread() -> None:
    worker = process(WORKER, MS_ROLE="MS_WORKER")
    helper = process(HELPER, WORKER, MS_ROLE="MS_WORKER")
    one = placed("0-7", "4-5", role="minddata", pid=HELPER, is_main=True)
    assert "set_cpu_affinity" in texts(hints(one, worker, {WORKER: "0-7", HELPER: "0-7"}, helper=helper))
    assert hints(one, worker, {WORKER: "0-3", HELPER: "0-7"}, helper=helper) == []


def test_a_rank_is_bound_once_a_module_of_it_is_elsewhere_than_main() -> None:
    main = placed("0-7", role="main", is_main=True)
    ranks: list[RankView] = [rank_view()]
    assert around([main, placed("0-7")], ranks, {}, HOST).bound == frozenset()
    assert around([main, placed("4")], ranks, {}, HOST).bound == {0}


@pytest.mark.parametrize("verdict", ["ok", "pending", "unplanned", "unknown", "blocked"])
def test_a_thread_that_is_not_out_of_place_has_no_cause(verdict: Verdict) -> None:
    worker = process(WORKER, OMP_PROC_BIND="true", TORCHELASTIC_RESTART_COUNT="1")
    assert hints(placed("4-7", verdict=verdict), worker) == []
