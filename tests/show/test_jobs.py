"""The list of jobs says how each rank's device is known, and what contradicts it."""

from __future__ import annotations

from numascope.observe.jobs import Facts, find_jobs, with_held
from numascope.observe.sample import ProcessFacts
from numascope.show.ink import plain
from numascope.show.jobs import jobs_document, jobs_lines

FACTS: Facts = {
    20: ProcessFacts(20, 1, 1, 20, "mpirun", ("mpirun",), {}),
    21: ProcessFacts(
        21, 20, 1, 21, "python", ("python",), {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    ),
}


def test_a_device_held_open_that_is_not_the_ranks_is_told_below_the_list() -> None:
    jobs = with_held(find_jobs(FACTS), {21: ("nvidia5",)})

    lines = [plain(line) for line in jobs_lines(jobs, FACTS, [], 0.0)]

    assert "mpirun" in lines[1]
    assert lines[-1].startswith("21 is on device 0 by OMPI_COMM_WORLD_LOCAL_RANK, but holds /dev/nvidia5 open")


def test_the_document_tells_it_with_the_rank() -> None:
    jobs = with_held(find_jobs(FACTS), {21: ("nvidia0",)})

    (job,) = jobs_document(jobs, FACTS, [])["jobs"]  # type: ignore[misc]  # a list, as the schema says

    assert job["framework"] == "mpi"  # type: ignore[has-type]  # the same
    assert job["ranks"][0]["device_source"] == "OMPI_COMM_WORLD_LOCAL_RANK, holds /dev/nvidia0 open"  # type: ignore[has-type]  # the same
    assert job["ranks"][0]["notes"] == []  # type: ignore[has-type]  # the same
