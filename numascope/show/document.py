"""What the JSON documents share."""

from __future__ import annotations

from numascope.cpuset import CpuSet

Document = dict[str, object]


def set_or_null(one: CpuSet | None) -> str | None:
    """A set of CPUs or nodes as a range string; what is unknown as null."""
    return None if one is None else str(one)
