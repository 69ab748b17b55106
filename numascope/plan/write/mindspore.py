"""A made plan as MindSpore's unified bind JSON."""

from __future__ import annotations

import json

from numascope.cpuset import CpuSet
from numascope.errors import UsageError
from numascope.plan.make.made import WHOLE_PROCESS, Made, Share
from numascope.plan.mindspore import MODULES


def mindspore_text(made: Made, indent: int = 2) -> str:
    """The file for `msrun --bind_numa=FILE`; what binds a whole process is its `main`, which everything inherits. UsageError."""
    strange = sorted({one.role for share in made.shares for one in share.roles} - {*MODULES, WHOLE_PROCESS})
    if strange:
        raise UsageError(
            f"MindSpore has no module {', '.join(strange)}: leave it out of --roles, or give --to numactl or --json"
        )
    cpus: dict[str, object] = {f"device{share.seat.number}": _modules(share) for share in made.shares}
    if made.scheduler:
        cpus["scheduler"] = {"main": str(made.scheduler)}
    memory = {f"device{share.seat.number}": _nodes(share.memory) for share in made.shares if share.memory}
    config = {
        "bind_cpu_mode": "cpu",
        "bind_memory_mode": "numa" if memory else "none",
        "actor_thread_fix_bind": made.fixed_actors,
    }
    document = {"bind_config": config, "bind_cpu": cpus, **({"bind_memory": memory} if memory else {})}
    return json.dumps(document, indent=indent) + "\n"


def _modules(share: Share) -> dict[str, str]:
    return {("main" if one.role == WHOLE_PROCESS else one.role): str(one.cpus) for one in share.roles}


def _nodes(nodes: CpuSet) -> int | str:
    return nodes.first if len(nodes) == 1 else str(nodes)
