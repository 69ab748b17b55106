"""Every process and thread of the real jobs in snapshots/jobs has the role that its framework gives it, or none that is guessed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from observe.captured import Captured, read_job

from numascope.cpuset import CpuSet
from numascope.observe.roles import Planned, Role, call_roll
from numascope.show.ink import plain
from numascope.show.threads import Seen, threads_lines

CAPTURES = sorted((Path(__file__).resolve().parents[3] / "snapshots/jobs").glob("*.json"))


def read(snapshots: Path, name: str) -> Captured:
    return read_job(snapshots / f"jobs/{name}.json")


def roles_in(captured: Captured, pid: int) -> list[tuple[str, str, Role]]:
    """Name, allowed CPUs and role of each thread of a process."""
    told = captured.roll().roles[pid]
    return [(one.comm, str(one.allowed), role) for one, role in zip(captured.threads[pid], told, strict=True)]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_every_thread_of_a_capture_has_the_role_that_was_reviewed(
    path: Path, golden: Callable[[str, Path], None]
) -> None:
    captured = read_job(path)
    about = json.loads(path.read_text())["about"]
    lines = threads_lines(Seen(captured.jobs(), captured.facts, captured.threads, captured.roll()))

    golden(
        f"{about['framework']}: {about['what']}\n\n" + "".join(plain(line) + "\n" for line in lines),
        path.with_suffix(".txt"),
    )


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_no_name_of_a_real_job_is_in_no_table(path: Path) -> None:
    captured = read_job(path)

    found = {role.name for told in captured.roll().roles.values() for role in told}
    assert "other" not in found
    assert all(len(told) == len(captured.threads[pid]) for pid, told in captured.roll().roles.items())


def test_a_bound_worker_has_sixteen_threads_of_the_pipeline_and_five_that_nobody_knows(snapshots: Path) -> None:
    captured = read(snapshots, "mindspore-m02_msrun_json_graph")

    told = roles_in(captured, 24883)

    assert Counter(cpus for _, cpus, role in told if role.name == "minddata") == {"1": 16}
    assert Counter(cpus for _, cpus, role in told if role.name == "unnamed") == {"0-1": 5}
    assert Counter(role.name for *_, role in told) == {
        "main": 1, "comm": 4, "minddata": 16, "unnamed": 5, "runtime": 4, "kernel": 1, "pynative": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "mindspore-m02_msrun_json_graph",
        "mindspore-m03_msrun_json_pynative",
        "mindspore-m04_msrun_bindcore_true_graph_auto",
    ],
)
def test_a_worker_has_two_generators_two_map_workers_and_two_cleaners(snapshots: Path, name: str) -> None:
    captured = read(snapshots, name)
    (job,) = captured.jobs()
    told = captured.roll().roles

    for rank in job.ranks:
        assert Counter((len(told[pid]), told[pid][0].name) for pid in rank.helpers) == {
            (3, "minddata"): 2, (1, "minddata"): 2, (1, "cleaner"): 2,
        }  # fmt: skip
    assert {told[pid][0].name for pid in job.others} == {"log"}


def test_map_workers_that_nobody_bound_are_told_from_cleaners_by_their_work(snapshots: Path) -> None:
    captured = read(snapshots, "mindspore-c01_single_graph_mp")

    told = {pid: captured.roll().roles[pid][0].name for pid in (25127, 25128, 25133, 25140)}

    assert told == {25127: "cleaner", 25128: "minddata", 25133: "minddata", 25140: "cleaner"}


def test_a_process_without_launcher_is_mindspores_by_the_names_of_its_threads(snapshots: Path) -> None:
    captured = read(snapshots, "mindspore-c02_single_pynative_thr")
    (job,) = captured.jobs()

    assert job.framework == "process"
    assert captured.roll().seats[job.ranks[0].pid].framework == "mindspore"


def test_all_of_the_independent_dataset_process_is_the_pipeline(snapshots: Path) -> None:
    captured = read(snapshots, "mindspore-x3_independent_dataset")

    assert {role.name for *_, role in roles_in(captured, 1662)} == {"minddata"}


def test_a_set_that_main_had_before_it_was_bound_makes_no_pipeline(snapshots: Path) -> None:
    captured = read(snapshots, "mindspore-s01_graph_fixbind_hc32")

    told = roles_in(captured, 21184)

    assert Counter(cpus for _, cpus, role in told if role.name == "minddata") == {"0": 16}


def test_threads_of_a_new_iterator_are_told_by_the_set_that_their_workers_log_names(snapshots: Path) -> None:
    captured = read(snapshots, "mindspore-x1b_ext_all_then_new_iter-c")
    by_log = Planned(CpuSet.parse("0"), "the worker's log")

    without = captured.roll().roles[3017]
    with_log = call_roll(captured.jobs(), captured.facts, captured.threads, minddata={0: by_log}).roles[3017]

    assert Counter(role.name for role in without)["minddata"] == 0
    assert [role.evidence for role in with_log if role.name == "minddata"] == [
        "unnamed, on the CPUs of minddata, 0 by the worker's log"
    ] * 2


@pytest.mark.parametrize("name", ["nopin-torchrun", "pin-omp2-interop"])
def test_a_rank_of_torchrun_has_gloos_threads_and_its_loaders(snapshots: Path, name: str) -> None:
    captured = read(snapshots, f"torch-ddp-gloo-nw2-{name}")
    (job,) = captured.jobs()
    told = captured.roll().roles

    for rank in job.ranks:
        counts = Counter(role.name for role in told[rank.pid])
        assert (counts["main"], counts["comm"]) == (1, 3)
        assert {role.name for pid in rank.helpers for role in told[pid]} == {"loader"}
    assert job.launcher is not None
    assert Counter(role.name for role in told[job.launcher]) == {"launcher": 3, "store": 2}


def test_an_openmp_thread_is_told_by_its_work_and_by_their_number(snapshots: Path) -> None:
    captured = read(snapshots, "torch-ddp-bound-numactl-with-escape")

    assert [
        (cpus, role.name, role.confidence) for comm, cpus, role in roles_in(captured, 25871) if comm == "python"
    ] == [
        ("0", "main", "named"),
        ("1", "unnamed", "unknown"),
        ("0", "omp", "inferred"),
        ("0", "unnamed", "unknown"),
        ("0", "unnamed", "unknown"),
    ]


def test_one_thread_a_rank_asked_for_means_no_openmp_pool(snapshots: Path) -> None:
    captured = read(snapshots, "torch-ddp-gloo-nw2-nopin-torchrun")

    assert "omp" not in {role.name for told in captured.roll().roles.values() for role in told}


def test_what_a_fork_server_forks_is_not_the_fork_server(snapshots: Path) -> None:
    captured = read(snapshots, "torch-start-method-forkserver")

    told = {pid: captured.roll().roles[pid][0].name for pid in captured.facts}

    assert told == {1727: "main", 1783: "housekeeping", 1784: "housekeeping", 1786: "main", 1787: "main"}


def test_the_whole_compile_pool_compiles(snapshots: Path) -> None:
    captured = read(snapshots, "torch-compile-pool")

    assert {role.name for pid in (20666, 20689, 20691) for *_, role in roles_in(captured, pid)} == {"compile"}
