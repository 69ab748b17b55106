from __future__ import annotations

from numascope.cpuset import CpuSet
from numascope.machine.objects import Node
from numascope.plan.fullness import share_if_nearly_full

NODE = Node(0, CpuSet.span(0, 3), memory_kib=1000, free_kib=60)


def test_page_cache_counts_as_memory_to_give() -> None:
    assert share_if_nearly_full(NODE, 39) == 0.099
    assert share_if_nearly_full(NODE, 40) is None
    assert share_if_nearly_full(NODE, None) == 0.06


def test_of_a_node_whose_memory_is_unknown_or_none_nothing_is_said() -> None:
    assert share_if_nearly_full(NODE._replace(free_kib=None), 0) is None
    assert share_if_nearly_full(NODE._replace(memory_kib=None), 0) is None
    assert share_if_nearly_full(NODE._replace(memory_kib=0, free_kib=0), 0) is None
