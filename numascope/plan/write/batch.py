"""A plan for the launchers of clusters: Open MPI's rankfile and Slurm's explicit binding."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from numascope.cpuset import EMPTY, CpuSet, union
from numascope.machine.objects import Machine
from numascope.plan.dialects.rankfile import logical_cores
from numascope.plan.make.made import RoleCpus
from numascope.plan.write.launch import PLACEHOLDER
from numascope.plan.write.losses import Losses
from numascope.plan.write.outline import Outline, Part, Setting


def rankfile_text(outline: Outline, setting: Setting) -> str:
    """A rankfile by logical cores, or by logical hardware threads where a core is not given as a whole (mpirun(1), "Rankfiles")."""
    cores = logical_cores(setting.machine)
    whole = all(not core & part.cpus or core <= part.cpus for core in cores for part in outline.parts)
    units = cores if whole else [CpuSet.of((cpu,)) for core in cores for cpu in core]
    qualifier = "" if whole else ":hwtcpus"
    command = shlex.join(setting.command or PLACEHOLDER).replace("\n", " ")
    lines = [f"# mpirun -np {len(outline.parts)} --map-by rankfile:file=THIS-FILE{qualifier} {command}"]
    for part in outline.parts:
        slots = CpuSet.of(at for at, unit in enumerate(units) if unit & part.cpus)
        lines.append(f"rank {part.subject.device}=localhost slot={slots}  # {part.label}")
    return "\n".join([*lines, ""])


def settle_rankfile(outline: Outline, machine: Machine, losses: Losses) -> Outline:
    """Logical numbers are of online CPUs only."""
    online = union(logical_cores(machine))
    parts = []
    for part in outline.parts:
        lost = part.cpus - online
        if lost and part.roles:
            why = "not online, so without a logical number"
            losses.add(part.subject, part.roles[0].role, why, what="CPUs", detail=str(lost))
        roles = tuple(one._replace(cpus=one.cpus & online) for one in part.roles)
        parts.append(part._replace(roles=roles))
    return outline._replace(parts=tuple(parts))


def rankfile_doubts(outline: Outline) -> list[str]:
    """Ranks that mpirun would refuse together."""
    taken = EMPTY
    for part in outline.parts:
        if part.cpus & taken:
            return ["ranks share CPUs: mpirun refuses that without --bind-to :overload-allowed"]
        taken |= part.cpus
    return []


def slurm_text(outline: Outline, setting: Setting) -> str:
    """`srun --cpu-bind=mask_cpu:…`, by nodes `mask_ldom:…`, with the memory as `--mem-bind` (srun(1))."""
    parts = outline.parts
    by_nodes = bool(parts) and all(part.nodes is not None for part in parts)
    kind = "mask_ldom" if by_nodes else "mask_cpu"
    masks = ",".join(hex((part.nodes if by_nodes and part.nodes is not None else part.cpus).bits) for part in parts)
    words = ["srun", f"--ntasks={len(parts)}", f"--cpu-bind={kind}:{masks}"]
    if parts and all(part.policy == "local" for part in parts):
        words.append("--mem-bind=local")
    elif parts and parts[0].memory is not None:
        prefer = "prefer," if parts[0].policy == "preferred" else ""
        words.append(f"--mem-bind={prefer}mask_mem:{','.join(hex((part.memory or EMPTY).bits) for part in parts)}")
    return shlex.join([*words, *(setting.command or PLACEHOLDER)]) + "\n"


def settle_slurm(outline: Outline, machine: Machine, losses: Losses) -> Outline:
    """One kind of list for all tasks: nodes where all have nodes, memory where all have it, by one policy."""
    del machine
    parts: Sequence[Part] = [
        part for part in outline.parts if part.subject.device is not None and (part.cpus or part.nodes)
    ]
    if not all(part.nodes is not None for part in parts):
        parts = [_by_cpus(part, losses) for part in parts]
    if len({part.policy for part in parts if part.memory is not None}) > 1 or any(
        part.memory is None for part in parts
    ):
        for part in parts:
            if part.memory is not None:
                losses.memory(part.subject, part.memory, "srun binds it by one policy for all tasks or for none")
        parts = [part._replace(memory=None, policy="bind") for part in parts]
    rest = [part for part in outline.parts if part.subject.device is None or not (part.cpus or part.nodes)]
    return outline._replace(parts=(*parts, *rest))


def _by_cpus(part: Part, losses: Losses) -> Part:
    roles: list[RoleCpus] = []
    for one in part.roles:
        if one.nodes is not None:
            losses.nodes(part.subject, one)
        roles.append(one._replace(nodes=None))
    return part._replace(roles=tuple(roles))
