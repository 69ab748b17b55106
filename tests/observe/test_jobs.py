"""Jobs are told by environments and parents; ranks are never guessed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from observe.captured import read_job

from numascope.observe.jobs import find_jobs, process_job
from numascope.observe.sample import ProcessFacts
from numascope.observe.select import Wanted, roots_of, select_jobs


def process(
    pid: int, ppid: int, comm: str, environ: dict[str, str] | None = None, cmdline: tuple[str, ...] = ()
) -> ProcessFacts:
    return ProcessFacts(pid, ppid, 100, pid, comm, cmdline or (comm,), environ if environ is not None else {})


def facts_of(*processes: ProcessFacts) -> dict[int, ProcessFacts]:
    return {one.pid: one for one in processes}


def worker(pid: int, ppid: int, rank: int, **more: str) -> ProcessFacts:
    environ = {"MS_ROLE": "MS_WORKER", "RANK_ID": str(rank), "DEVICE_ID": str(rank), "MS_SCHED_PORT": "8118"}
    return process(pid, ppid, "python", {**environ, **more})


MSRUN = facts_of(
    process(10, 1, "msrun", cmdline=("python3", "/usr/bin/msrun", "--worker_num=2")),
    process(11, 10, "python", {"MS_ROLE": "MS_SCHED", "RANK_ID": "0", "MS_SCHED_PORT": "8118"}),
    worker(12, 10, 0),
    worker(13, 10, 1),
    replace(worker(14, 10, 0), comm="tail"),
    worker(15, 12, 0),  # a dataset process carries its worker's environment
    worker(16, 15, 0),
)


def test_msrun_has_a_launcher_a_scheduler_and_ranks_with_their_helpers() -> None:
    (job,) = find_jobs(MSRUN)

    assert (job.framework, job.launcher, job.scheduler) == ("mindspore", 10, 11)
    assert [(rank.pid, rank.number, rank.device, rank.helpers) for rank in job.ranks] == [
        (12, 0, 0, (15, 16)),
        (13, 1, 1, ()),
    ]
    assert job.others == (14,)


def test_a_job_whose_launcher_ended_is_one_job_by_its_scheduler_address() -> None:
    orphans = {pid: replace(one, ppid=1) if one.ppid == 10 else one for pid, one in MSRUN.items() if pid != 10}

    (job,) = find_jobs(orphans)

    assert job.launcher is None
    assert [rank.pid for rank in job.ranks] == [12, 13]


def test_two_jobs_are_told_apart_by_their_scheduler_address() -> None:
    other = facts_of(worker(30, 1, 0, MS_SCHED_PORT="9"), worker(31, 1, 1, MS_SCHED_PORT="9"))

    assert len(find_jobs({**MSRUN, **other})) == 2


def test_visible_devices_are_sorted_as_mindspore_does() -> None:
    facts = facts_of(
        worker(12, 1, 0, ASCEND_RT_VISIBLE_DEVICES="5,3"), worker(13, 1, 1, ASCEND_RT_VISIBLE_DEVICES="5,3")
    )

    (job,) = find_jobs(facts)

    assert [rank.device for rank in job.ranks] == [3, 5]
    assert "sorted" in job.ranks[0].device_source


def test_a_rank_beyond_the_visible_devices_has_no_known_device() -> None:
    (job,) = find_jobs(facts_of(worker(13, 1, 1, ASCEND_RT_VISIBLE_DEVICES="5")))

    assert job.ranks[0].device is None


def test_the_jobs_own_plan_is_named() -> None:
    (job,) = find_jobs(facts_of(worker(12, 1, 0, MSRUN_BIND_FILE="/data/bind.json", MSRUN_BIND_FILE_HASH="abc")))

    assert (job.plan_path, job.plan_hash, job.plan_source) == ("/data/bind.json", "abc", "MSRUN_BIND_FILE")


def torch_rank(pid: int, ppid: int, rank: int, **more: str) -> ProcessFacts:
    return process(pid, ppid, "python", {"RANK": str(rank), "LOCAL_RANK": str(rank), "MASTER_PORT": "29500", **more})


TORCHRUN = facts_of(
    process(
        20, 1, "pt_elastic", cmdline=("/venv/bin/python3", "/venv/bin/torchrun", "--numa-binding", "node", "train.py")
    ),
    torch_rank(21, 20, 0),
    torch_rank(22, 20, 1),
    replace(torch_rank(23, 21, 0), comm="pt_data_worker"),
)


def test_torchrun_has_a_launcher_and_ranks_with_their_loaders() -> None:
    (job,) = find_jobs(TORCHRUN)

    assert (job.framework, job.launcher) == ("torch", 20)
    assert [(rank.pid, rank.number, rank.device, rank.helpers) for rank in job.ranks] == [
        (21, 0, 0, (23,)),
        (22, 1, 1, ()),
    ]
    assert job.plan_source == "--numa-binding=node"


@pytest.mark.parametrize(
    ("words", "binding"),
    [
        (("torchrun", "--numa-b=socket", "train.py"), "--numa-binding=socket"),
        (("torchrun", "train.py", "--numa-binding=node"), None),
        (("python3", "-m", "torch.distributed.run", "--numa_binding", "exclusive", "x.py"), "--numa-binding=exclusive"),
        (("torchrun", "--no-such-option", "--numa-binding=node", "x.py"), None),
        (("python3", "own_launcher.py", "--numa-binding=node"), None),
    ],
)
def test_the_binding_is_what_torchrun_s_own_parser_takes_for_it(words: tuple[str, ...], binding: str | None) -> None:
    (job,) = find_jobs({**TORCHRUN, 20: process(20, 1, "pt_elastic", cmdline=words)})
    assert job.plan_source == binding


def test_a_shell_between_launcher_and_rank_is_not_the_rank() -> None:
    facts = facts_of(
        process(20, 1, "pt_elastic"),
        replace(torch_rank(21, 20, 0), comm="bash"),
        torch_rank(24, 21, 0),
    )

    (job,) = find_jobs(facts)

    assert [rank.pid for rank in job.ranks] == [24]


def test_virtual_local_ranks_are_told_by_the_error_file() -> None:
    path = "/tmp/torchelastic_x/run_y/attempt_0/1/error.json"
    facts = facts_of(process(20, 1, "pt_elastic"), torch_rank(22, 20, 1, LOCAL_RANK="0", TORCHELASTIC_ERROR_FILE=path))

    assert find_jobs(facts)[0].ranks[0].device == 1


def test_whoever_only_looks_for_a_job_is_none() -> None:
    facts = facts_of(
        process(40, 1, "grep", cmdline=("grep", "msrun")), process(41, 1, "vim", cmdline=("vim", "torchrun"))
    )

    assert find_jobs(facts) == ()


def test_a_rank_whose_environment_cannot_be_read_is_not_guessed() -> None:
    hidden = {pid: replace(one, environ=None) for pid, one in TORCHRUN.items()}

    (job,) = find_jobs(hidden)

    assert job.ranks == ()
    assert set(job.others) == {21, 22, 23}
    assert "rank is unknown" in job.notes[0]


def test_any_process_is_a_job_of_one_rank_without_number() -> None:
    job = process_job(TORCHRUN, 22)

    assert (job.ranks[0].pid, job.ranks[0].number, job.ranks[0].device) == (22, None, None)


@pytest.mark.parametrize(
    ("wanted", "ranks", "launcher"),
    [
        ((Wanted(20),), [(21, 0), (22, 1)], 20),
        ((Wanted(22),), [(22, 1)], None),
        ((Wanted(22, 5),), [(22, 5)], None),
        ((Wanted(21, 1), Wanted(22, 0)), [(21, 1), (22, 0)], None),
        ((Wanted(23, 7),), [(23, 7)], None),
        ((Wanted(20), Wanted(22)), [(21, 0), (22, 1)], 20),
        ((Wanted(999),), [], None),
    ],
)
def test_targets_are_taken_as_the_user_says(
    wanted: tuple[Wanted, ...], ranks: list[tuple[int, int]], launcher: int | None
) -> None:
    jobs = select_jobs(TORCHRUN, wanted)

    assert [(rank.pid, rank.device) for job in jobs for rank in job.ranks] == ranks
    assert (jobs[0].launcher if jobs else None) == launcher


def test_a_job_is_watched_from_its_top() -> None:
    assert roots_of(select_jobs(TORCHRUN, (Wanted(20),))) == (20, 21, 22)


def test_a_process_mapped_to_the_scheduler_is_the_scheduler() -> None:
    (job,) = select_jobs(TORCHRUN, (Wanted(22, scheduler=True),))

    assert (job.scheduler, job.ranks) == (22, ())


@pytest.mark.parametrize(
    ("name", "has_launcher"),
    [
        ("mindspore-m01_msrun_bindcore_dict_startup", True),
        ("mindspore-m02_msrun_json_graph", True),
        ("mindspore-m03_msrun_json_pynative", True),
        ("mindspore-m04_msrun_bindcore_true_graph_auto", True),
        ("mindspore-m05_msrun_nojoin", False),
    ],
)
def test_captured_msrun_jobs_have_their_ranks_and_no_more(snapshots: Path, name: str, *, has_launcher: bool) -> None:
    captured = read_job(snapshots / f"jobs/{name}.json")

    (job,) = find_jobs(captured.facts)

    assert job.framework == "mindspore"
    assert [rank.number for rank in job.ranks] == [0, 1]
    assert [rank.device for rank in job.ranks] == [0, 1]
    assert (job.launcher is not None) == has_launcher
    assert job.scheduler is not None
    assert all(captured.facts[pid].comm == "tail" for pid in job.others)


@pytest.mark.parametrize(
    "name",
    ["ddp-gloo-nw2-nopin-torchrun", "ddp-bound-numactl-with-escape", "ddp-gloo-nw2-pin-omp2-interop"],
)
def test_captured_torchrun_jobs_have_two_ranks_with_two_loaders_each(snapshots: Path, name: str) -> None:
    captured = read_job(snapshots / f"jobs/torch-{name}.json")

    (job,) = find_jobs(captured.facts)

    assert [rank.number for rank in job.ranks] == [0, 1]
    for rank in job.ranks:
        assert [captured.facts[pid].comm for pid in rank.helpers] == ["pt_data_worker"] * 2


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver", "elastic-fork", "elastic-spawn"])
def test_of_ranks_that_nothing_outside_tells_none_is_guessed(snapshots: Path, method: str) -> None:
    captured = read_job(snapshots / f"jobs/torch-start-method-{method}.json")

    assert find_jobs(captured.facts) == ()
    (job,) = captured.jobs()
    assert [(rank.number, rank.device) for rank in job.ranks] == [(None, None)]
    assert set(job.pids()) == set(captured.facts)
