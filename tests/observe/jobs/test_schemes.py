"""Ranks of Open MPI, Slurm, DeepSpeed and JAX are told by what their launchers set; a rank is in one job only."""

from __future__ import annotations

from dataclasses import replace

from observe.test_jobs import facts_of, process, torch_rank

from numascope.observe.jobs import find_jobs


def mpi_rank(pid: int, ppid: int, rank: int, **more: str) -> dict[str, str]:
    del pid, ppid
    return {
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(rank % 4),
        "PMIX_RANK": str(rank),
        **more,
    }


def slurm(rank: int, local: int, step: str | None = "0") -> dict[str, str]:
    found = {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(local), "SLURM_JOB_ID": "77"}
    return found if step is None else {**found, "SLURM_STEP_ID": step}


def test_open_mpi_tells_rank_and_local_rank() -> None:
    facts = facts_of(
        process(10, 1, "prted"),
        process(11, 10, "python", mpi_rank(11, 10, 4)),
        process(12, 10, "python", mpi_rank(12, 10, 5)),
        process(13, 12, "python", mpi_rank(12, 10, 5)),
    )

    (job,) = find_jobs(facts)

    assert (job.framework, job.launcher) == ("mpi", 10)
    assert [(rank.pid, rank.number, rank.local, rank.helpers) for rank in job.ranks] == [
        (11, 4, 0, ()),
        (12, 5, 1, (13,)),
    ]


def test_prrte_alone_tells_no_local_rank_and_so_no_device() -> None:
    environ = {"PMIX_RANK": "3", "PMIX_NAMESPACE": "prterun-a-1@1", "PRTE_LAUNCHED": "1"}

    (job,) = find_jobs(facts_of(process(10, 1, "prterun"), process(11, 10, "app", environ)))

    assert [(rank.number, rank.local, rank.device) for rank in job.ranks] == [(3, None, None)]


def test_slurm_tells_rank_and_local_rank_below_its_step_daemon() -> None:
    facts = facts_of(
        process(10, 1, "slurmstepd"),
        process(11, 10, "python", slurm(8, 0)),
        process(12, 10, "bash", slurm(9, 1)),
        process(13, 12, "python", slurm(9, 1)),
    )

    (job,) = find_jobs(facts)

    assert (job.framework, job.launcher) == ("slurm", 10)
    assert [(rank.pid, rank.number, rank.device) for rank in job.ranks] == [(11, 8, 0), (13, 9, 1)]


def test_a_batch_script_of_slurm_is_no_rank() -> None:
    for step in (None, "4294967291"):
        assert (
            find_jobs(facts_of(process(11, 1, "bash", slurm(0, 0, step)), process(12, 11, "python", slurm(0, 0, step))))
            == ()
        )


def test_torchrun_below_srun_is_a_torch_job_and_no_second_one() -> None:
    facts = facts_of(
        process(10, 1, "slurmstepd"),
        process(20, 10, "bash", slurm(0, 0)),
        process(21, 20, "pt_elastic", slurm(0, 0)),
        process(25, 20, "nvidia-smi", slurm(0, 0)),
        torch_rank(22, 21, 0, **slurm(0, 0)),
        torch_rank(23, 21, 1, **slurm(0, 0)),
    )

    (job,) = find_jobs(facts)

    assert (job.framework, job.launcher, [rank.pid for rank in job.ranks]) == ("torch", 21, [22, 23])


def test_deepspeed_is_told_by_its_launcher() -> None:
    launch = ("/venv/bin/python", "-u", "-m", "deepspeed.launcher.launch", "--world_info=e30=", "train.py")
    facts = facts_of(
        process(9, 1, "deepspeed", cmdline=("/venv/bin/python", "/venv/bin/deepspeed", "train.py")),
        process(10, 9, "python", cmdline=launch),
        torch_rank(11, 10, 0),
        torch_rank(12, 10, 1),
    )

    (job,) = find_jobs(facts)

    assert (job.framework, job.launcher) == ("deepspeed", 10)
    assert [rank.number for rank in job.ranks] == [0, 1]


def test_jax_processes_are_one_job_by_their_coordinator() -> None:
    environ = {"JAX_COORDINATOR_ADDRESS": "a:1", "JAX_NUM_PROCESSES": "2"}
    facts = facts_of(
        process(11, 1, "python", {**environ, "JAX_PROCESS_ID": "0"}),
        process(12, 1, "python", {**environ, "JAX_PROCESS_ID": "1", "CUDA_VISIBLE_DEVICES": "6"}),
    )

    (job,) = find_jobs(facts)

    assert (job.framework, job.launcher) == ("jax", None)
    assert [(rank.number, rank.device) for rank in job.ranks] == [(0, None), (1, 6)]


def test_visible_devices_map_the_local_rank_of_torch() -> None:
    facts = facts_of(process(20, 1, "pt_elastic"), torch_rank(21, 20, 1, CUDA_VISIBLE_DEVICES="7,4"))

    (job,) = find_jobs(facts)

    assert job.ranks[0].device == 4


def test_a_rank_whose_environment_may_not_be_read_is_in_no_job() -> None:
    facts = facts_of(process(10, 1, "mpirun"), replace(process(11, 10, "python"), environ=None))

    assert find_jobs(facts) == ()
