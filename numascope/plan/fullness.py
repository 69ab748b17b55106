"""How much of a node's memory can still be given to a rank: what is free, and page cache, which gives way."""

from __future__ import annotations

from typing import Final

from numascope.machine.objects import Node

_FULL: Final = 0.1
"""A node with less than this share of its memory to give is nearly full."""


def share_if_nearly_full(node: Node, cache_kib: int | None) -> float | None:
    """The share of its memory that a node has to give where that is little, from 0 to 1; else None, as where it is unknown.

    `cache_kib` None: its page cache is unknown, and only what is free counts.
    """
    if node.free_kib is None or not node.memory_kib:
        return None
    share = (node.free_kib + (cache_kib or 0)) / node.memory_kib
    return share if share < _FULL else None
