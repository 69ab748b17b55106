"""Serving engines are told by the titles of their processes, and their ranks only where one dimension tells them whole."""

from __future__ import annotations

import pytest
from observe.test_jobs import facts_of, process

from numascope.observe.jobs import find_jobs
from numascope.observe.jobs.served import title_of
from numascope.observe.sample import ProcessFacts


def titled(pid: int, ppid: int, title: str, environ: dict[str, str] | None = None) -> ProcessFacts:
    return process(pid, ppid, title[:15], environ, cmdline=(title, "", ""))


VLLM = facts_of(
    process(10, 1, "vllm", cmdline=("/venv/bin/python", "/venv/bin/vllm", "serve", "model")),
    titled(11, 10, "VLLM::EngineCore"),
    titled(12, 11, "VLLM::Worker_TP0"),
    titled(13, 11, "VLLM::Worker_TP1"),
    process(14, 10, "python", cmdline=("python", "-c", "from multiprocessing.resource_tracker import main;main(3)")),
)


def test_vllm_has_a_front_end_an_engine_and_a_rank_a_worker() -> None:
    (job,) = find_jobs(VLLM)

    assert (job.framework, job.launcher) == ("vllm", 10)
    assert [(rank.pid, rank.number) for rank in job.ranks] == [(12, 0), (13, 1)]
    assert set(job.others) == {11, 14}


def test_an_engine_without_workers_is_the_rank() -> None:
    (job,) = find_jobs({pid: one for pid, one in VLLM.items() if pid not in (12, 13)})

    assert [(rank.pid, rank.number) for rank in job.ranks] == [(11, None)]


def test_sglang_has_a_rank_a_scheduler() -> None:
    facts = facts_of(
        process(10, 1, "python", cmdline=("python3", "-m", "sglang.launch_server", "--tp", "2")),
        titled(11, 10, "sglang::scheduler_TP0"),
        titled(12, 10, "sglang::scheduler_TP1", {"CUDA_VISIBLE_DEVICES": "5"}),
        titled(13, 10, "sglang::detokenizer"),
    )

    (job,) = find_jobs(facts)

    assert (job.framework, job.launcher, job.others) == ("sglang", 10, (13,))
    assert [(rank.pid, rank.number, rank.device) for rank in job.ranks] == [(11, 0, None), (12, 1, 5)]


def test_an_engine_whose_front_end_ended_is_a_job_all_the_same() -> None:
    orphans = facts_of(titled(11, 1, "VLLM::EngineCore"), titled(12, 11, "VLLM::Worker_TP0"))

    (job,) = find_jobs(orphans)

    assert (job.launcher, [rank.pid for rank in job.ranks], job.others) == (None, [12], (11,))


@pytest.mark.parametrize(
    ("title", "number"),
    [
        ("VLLM::Worker_TP3", 3),
        ("VLLM::Worker_TP3_EP3", 3),
        ("VLLM::Worker_DP1_TP0", None),
        ("VLLM::Worker_PP1_TP0", None),
        ("VLLM::Worker", None),
        ("sglang::scheduler_DP0_TP1", None),
        ("sglang::scheduler_PP2", 2),
        ("sglang::tokenizer_worker:4711", None),
    ],
)
def test_a_title_tells_a_rank_only_where_it_has_one_dimension(title: str, number: int | None) -> None:
    found = title_of(titled(1, 0, title))

    assert found is not None
    assert found.number == number


@pytest.mark.parametrize("title", ["VLLM::Mine", "/x/VLLM::Worker", "python", "VLLM::Worker_TPx", ""])
def test_other_titles_are_none(title: str) -> None:
    assert title_of(titled(1, 0, title)) is None
