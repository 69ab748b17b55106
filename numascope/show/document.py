"""What the JSON documents share."""

from __future__ import annotations

from numascope.cpuset import CpuSet
from numascope.machine.objects import Machine

Document = dict[str, object]


def source_of(machine: Machine) -> Document:
    """Where a machine was read: this host, or the path, archive or words that stand for another."""
    return {"root": "/", "live": True} if machine.source == "live" else {"root": machine.source, "live": False}


def set_or_null(one: CpuSet | None) -> str | None:
    """A set of CPUs or nodes as a range string; what is unknown as null."""
    return None if one is None else str(one)
