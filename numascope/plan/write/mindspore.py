"""A plan as MindSpore's unified bind JSON, and as numascope's own, which says more."""

from __future__ import annotations

import json

from numascope.cpuset import CpuSet
from numascope.errors import UsageError
from numascope.machine.objects import Machine
from numascope.plan.dialects.mindspore import MODULES, OWN_KEY, OWN_VERSION
from numascope.plan.make.made import Made, RoleCpus
from numascope.plan.objects import WHOLE_PROCESS
from numascope.plan.write.losses import Losses
from numascope.plan.write.outline import Outline, Part, Setting, outline_of_made


def mindspore_text(made: Made, indent: int = 2) -> str:
    """The file for `msrun --bind_numa=FILE`; what binds a whole process is its `main`, which everything inherits. UsageError."""
    strange = sorted({one.role for share in made.shares for one in share.roles} - {*MODULES, WHOLE_PROCESS})
    if strange:
        raise UsageError(
            f"MindSpore has no module {', '.join(strange)}: leave it out of --roles, or give --to numascope or --json"
        )
    return _text(_document(outline_of_made(made), own=False), indent)


def mindspore_form(outline: Outline, setting: Setting) -> str:
    """MindSpore's unified bind JSON of what it can say."""
    by_nodes = [part for part in outline.parts if part.roles]
    if by_nodes and all(part.nodes is not None and part.roles[0].role == "main" for part in by_nodes):
        return _text(_by_nodes(outline), setting.indent)
    return _text(_document(outline, own=False), setting.indent)


def numascope_form(outline: Outline, setting: Setting) -> str:
    """The own bind JSON of numascope (docs/plan.schema.json)."""
    return _text({OWN_KEY: OWN_VERSION, **_document(outline, own=True)}, setting.indent)


def _text(document: dict[str, object], indent: int) -> str:
    return json.dumps(document, indent=indent) + "\n"


def _document(outline: Outline, *, own: bool) -> dict[str, object]:
    cpus = {
        str(part.subject): {_role(one, own=own): _cpus(one, own=own) for one in part.roles}
        for part in outline.parts
        if part.roles
    }
    memory = {str(part.subject): _memory(part) for part in outline.parts if part.memory is not None}
    config = {
        "bind_cpu_mode": "cpu" if cpus else "none",
        "bind_memory_mode": "numa" if memory else "none",
        "actor_thread_fix_bind": outline.fixed_actors,
    }
    return {"bind_config": config, "bind_cpu": cpus, **({"bind_memory": memory} if memory else {})}


def _by_nodes(outline: Outline) -> dict[str, object]:
    memory = {str(part.subject): _memory(part) for part in outline.parts if part.memory is not None}
    cpus = {str(part.subject): _ids(part.nodes) for part in outline.parts if part.nodes is not None}
    config = {"bind_cpu_mode": "numa", "bind_memory_mode": "numa" if memory else "none"}
    return {"bind_config": config, "bind_cpu": cpus, **({"bind_memory": memory} if memory else {})}


def _role(one: RoleCpus, *, own: bool) -> str:
    return "main" if one.role == WHOLE_PROCESS and not own else one.role


def _cpus(one: RoleCpus, *, own: bool) -> object:
    return {"nodes": _ids(one.nodes)} if own and one.nodes is not None else str(one.cpus)


def _memory(part: Part) -> object:
    nodes = part.memory
    assert nodes is not None  # noqa: S101  (the caller asks of bound memory)
    if part.policy == "bind":
        return _ids(nodes)
    return {"policy": part.policy, **({"nodes": _ids(nodes)} if nodes else {})}


def _ids(nodes: CpuSet) -> int | str:
    return nodes.first if len(nodes) == 1 else str(nodes)


def settle_mindspore(outline: Outline, machine: Machine, losses: Losses) -> Outline:
    """Nodes in the place of CPUs, where every subject with CPUs has nodes; else the CPUs that they have here."""
    del machine
    if all(
        part.nodes is not None and part.roles[0].role in ("main", WHOLE_PROCESS) for part in outline.parts if part.roles
    ):
        return outline
    parts = []
    for part in outline.parts:
        for one in part.roles:
            if one.nodes is not None:
                losses.nodes(part.subject, one)
        parts.append(part._replace(roles=tuple(one._replace(nodes=None) for one in part.roles)))
    return outline._replace(parts=tuple(parts))
