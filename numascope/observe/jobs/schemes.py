"""How launchers tell a process which rank it is: one row a scheme, the first that a process's environment fits holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

MSRUN: Final = "msrun"


class Scheme(NamedTuple):
    """Variables of a rank's environment, and the programs that set them; the launcher's own framework goes before the scheme's."""

    framework: str
    rank: str
    local: str | None
    needs: str | None
    """A variable that has to be there too, with a number in it: without it the others are a copy that means another process."""
    run: tuple[str, ...]
    """Variables that together tell one run from another where no launcher is seen."""
    launchers: Mapping[str, str]
    """Name of a program or of its process → framework."""
    alone: frozenset[str] = frozenset()
    """Those launchers that are a job even while they have no rank yet."""


TORCH: Final = Scheme(
    "torch", "RANK", "LOCAL_RANK", None, ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"),
    {
        "pt_elastic": "torch", "torchrun": "torch", "torch.distributed.run": "torch", "torch.distributed.launch": "torch",
        "accelerate": "torch", "deepspeed.launcher.launch": "deepspeed", "deepspeed": "deepspeed",
    },
    frozenset({"pt_elastic", "torchrun", "torch.distributed.run"}),
)  # fmt: skip
"""torch/distributed/elastic/agent/server/local_elastic_agent.py; DeepSpeed's deepspeed/launcher/launch.py sets the same two."""

OPEN_MPI: Final = Scheme(
    "mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", None, ("PMIX_NAMESPACE", "OMPI_MCA_orte_ess_jobid"),
    dict.fromkeys(("mpirun", "mpiexec", "orterun", "prterun", "orted", "prted"), "mpi"),
)  # fmt: skip
"""Open MPI's mpirun(1), section "Environment variables"; jax/_src/clusters/ompi_cluster.py reads the same."""

PRRTE: Final = Scheme("mpi", "PMIX_RANK", None, "PRTE_LAUNCHED", ("PMIX_NAMESPACE",), OPEN_MPI.launchers)
"""PRRTE's prterun for programs that are not Open MPI's (jax/_src/clusters/prrte_cluster.py); under srun the row of Slurm tells more."""

JAX: Final = Scheme("jax", "JAX_PROCESS_ID", None, None, ("JAX_COORDINATOR_ADDRESS",), {})
"""What launchers of JAX set for `jax.distributed.initialize` (kubeflow/trainer's JAX runtime; there is no launcher of JAX's own)."""

SLURM: Final = Scheme(
    "slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_ID", ("SLURM_JOB_ID", "SLURM_STEP_ID"), {"slurmstepd": "slurm"}
)  # fmt: skip
"""srun(1), "OUTPUT ENVIRONMENT VARIABLES". A batch script has SLURM_PROCID=0 too, but no step number of fewer than ten digits."""

SCHEMES: Final = (TORCH, OPEN_MPI, PRRTE, JAX, SLURM)

SERVERS: Final[Mapping[str, str]] = {
    "vllm": "vllm", "vllm.entrypoints.openai.api_server": "vllm", "vllm.entrypoints.cli.main": "vllm",
    "sglang": "sglang", "sglang.launch_server": "sglang",
}  # fmt: skip
"""Programs that start a serving engine → framework (vLLM's and SGLang's own documentation of their command lines)."""

LAUNCHERS: Final = frozenset({MSRUN, *SERVERS, *(name for scheme in SCHEMES for name in scheme.launchers)})
"""Names that a command line tells a launcher by; none of them says anything of the user."""
