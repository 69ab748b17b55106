"""A plan as MindFormers' `context.affinity_config`: a list of CPUs a device, and positions in it a module."""

from __future__ import annotations

import json

from numascope.plan.make.made import RoleCpus
from numascope.plan.write.outline import Outline, Setting


def mindformers_text(outline: Outline, setting: Setting) -> str:
    """The part of the YAML file; positions count in the list of the device's CPUs."""
    del setting
    lines = ["context:", "  affinity_config:"]
    for part in outline.parts:
        pool = list(part.cpus)
        pieces = ", ".join(json.dumps(piece) for piece in str(part.cpus).split(","))
        lines += [
            f"    device_{part.subject.device}:",
            f"      affinity_cpu_list: [{pieces}]",
            "      module_to_cpu_dict:",
        ]
        lines += [f"        {one.role}: {_positions(one, pool)}" for one in part.roles]
    return "\n".join([*lines, ""])


def _positions(one: RoleCpus, pool: list[int]) -> list[int]:
    at = {cpu: position for position, cpu in enumerate(pool)}
    return [at[cpu] for cpu in one.cpus]
