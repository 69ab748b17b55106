"""Of a process's environment that is kept which says who it is or rebinds its threads, and nothing else."""

from __future__ import annotations

import pytest
from processes import program

from numascope.host.root import HostRoot
from numascope.observe.facts import read_facts

KEPT = {
    "OMPI_COMM_WORLD_RANK": "3",
    "PMIX_RANK": "3",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_ID": "0",
    "JAX_PROCESS_ID": "3",
    "CUDA_VISIBLE_DEVICES": "4,5",
    "ASCEND_RT_VISIBLE_DEVICES": "6",
    "ANY_VISIBLE_DEVICES": "7",
    "MSRUN_CPU_LIST": "[0]",
    "CPU_AFFINITY_CONF": "1",
    "GOMP_CPU_AFFINITY": "0",
    "MKL_NUM_THREADS": "1",
    "NCCL_DEBUG": "INFO",
}
DROPPED = {"AWS_SECRET_ACCESS_KEY": "x", "SLURM_JOB_USER": "me", "MY_VISIBLE_DEVICES_TOKEN": "x", "JAX_TOKEN": "x"}


@pytest.mark.live
def test_only_what_says_who_a_process_is_or_rebinds_threads_is_kept() -> None:
    with program("ready(); sleep()", **KEPT, **DROPPED) as child:
        facts = read_facts(HostRoot(), child.pid)

    assert facts is not None
    assert facts.environ is not None
    assert {name: facts.environ.get(name) for name in KEPT} == KEPT
    assert not DROPPED.keys() & facts.environ.keys()
