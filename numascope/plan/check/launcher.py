"""Who carries a plan out, by its dialect: what becomes of CPUs and nodes that are not there, and which form to make instead.

Measured with MindSpore 2.10, numactl 2.0.16 and util-linux 2.38 on kernel 6.1; else by the sources of Slurm 23.11
(src/plugins/task/affinity/dist_tasks.c), vLLM (csrc/cpu/utils.cpp) and torch_npu (NPUAffinityController.cpp).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.plan.dialects.prefixes import ALL_TAKEN
from numascope.plan.dialects.torch_npu import BINDS_NOBODY
from numascope.plan.objects import Plan, Rule

_ANY: Final = frozenset({"cpu-absent", "cpu-offline", "cpu-denied"})
_UNKNOWN: Final = frozenset({"cpu-absent", "cpu-denied"})
"""CPUs that a tool does not find in its own mask, which may well have offline ones."""

_REFUSED_NODE: Final = "numactl refuses it, and the rank ends with its usage text"


class Launcher(NamedTuple):
    """What the one who binds makes of CPUs that cannot be used."""

    refuses: frozenset[str] = frozenset()
    """Of which rules a single CPU ends a rank, whatever else is left."""
    refusal: str = ""
    cut: str = "the kernel leaves them out silently"
    """What happens where others of the set are left."""
    nothing: str = "nothing is left: the kernel refuses (EINVAL), and the rank does not start"
    node: str = _REFUSED_NODE
    """What happens where memory or a process is bound to a node that is not there."""
    form: str | None = None
    """The form of `plan make --to` in which to make another."""


_MINDSPORE: Final = Launcher(
    _ANY, "MindSpore ends before it starts anybody", node="MindSpore ends before it starts anybody"
)

_LAUNCHERS: Final[Mapping[str, Launcher]] = {
    "mindspore": _MINDSPORE,
    "msrun": _MINDSPORE._replace(form="msrun"),
    "numascope": Launcher(
        _ANY, "numascope run refuses it unless --fallback is given, MindSpore ends", node="numascope run refuses it",
        form="numascope",
    ),
    "mindformers": Launcher(
        _ANY, "set_cpu_affinity ends the program with RuntimeError", form="mindformers",
    ),
    "torch": Launcher(form="torchrun"),
    "torch_npu": Launcher(
        cut="torch_npu then binds nobody, of no device, unless force:1 is given",
        nothing="torch_npu then binds nobody, of no device", form="torch_npu",
    ),
    "vllm": Launcher(_ANY, "vLLM ends: it pins a thread to each CPU of the list", node="vLLM then binds no memory", form="vllm"),
    "rankfile": Launcher(_ANY, "mpirun ends before it starts anybody", form="rankfile"),
    "slurm": Launcher(
        _UNKNOWN, "srun ends the step: CPU binding outside of job step allocation",
        node="srun cannot bind there", form="slurm",
    ),
    "numactl": Launcher(_UNKNOWN, "numactl refuses the whole list, and the rank ends with its usage text", form="numactl"),
    ALL_TAKEN: Launcher(
        frozenset({"cpu-absent"}), "numactl refuses the whole list, and the rank ends with its usage text",
        form="numactl",
    ),
    "taskset": Launcher(form="taskset"),
}  # fmt: skip


def launcher_of(plan: Plan, rule: Rule | None = None) -> Launcher:
    """Who binds what this plan, or this rule of it, says; torch_npu with force:1 goes on with the CPUs that are there, and its reader then has no note."""
    if plan.dialect == "torch_npu" and not any(note.kind == BINDS_NOBODY for note in plan.notes):
        return Launcher(form="torch_npu")
    tool = plan.dialect if rule is None or rule.tool is None else rule.tool
    return _LAUNCHERS.get(tool, Launcher())


def remake(plan: Plan) -> str:
    """The command that makes a plan without this fault, in the same form."""
    form = launcher_of(plan).form
    policy = "exclusive" if plan.dialect == "torch" else "balanced"
    return f"numascope plan make --policy {policy}{'' if form is None else f' --to {form}'}"
