"""On which node pages lie that move_pages(2) does not tell of while NUMA balancing watches them: by their frames, as root.

Linux 6.1 to 6.5 answer as if such a page were not there (`follow_page` of mm/gup.c heeds PROT_NONE entries since 474098edac26,
and no longer since d74943a2f3cd), and cold memory stays watched until it is touched again. Seen on 6.1.0-57 of Debian 12.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from numascope.host import parse
from numascope.host.page_nodes import PageNodes
from numascope.host.pagemap import PAGE_BYTES, PageMap
from numascope.host.root import HostRoot
from numascope.host.system.lists import NODE_DIRECTORY, numbers_of, read_value

_BLOCK_SIZE: Final = "sys/devices/system/memory/block_size_bytes"


class HiddenPages:
    """Asks as PageNodes does, and looks for the frame of each page that is in memory and was not told of.

    Without CAP_SYS_ADMIN `pagemap` gives no frames: the answers are then those of PageNodes.
    """

    def __init__(self, root: HostRoot, page_map: PageMap, asker: PageNodes) -> None:
        self._root = root
        self._page_map = page_map
        self._asker = asker
        self._blocks: dict[int, int] | None = None
        self._block_bytes = 0

    def ask(self, addresses: Sequence[int]) -> list[int]:
        """The node of the page at each address; negative where there is none, or it cannot be told. DeniedError, AbsentError."""
        nodes = self._asker.ask(addresses)
        untold = [at for at, node in enumerate(nodes) if node < 0]
        if not untold:
            return nodes
        frames = self._page_map.frames([addresses[at] for at in untold])
        uses = Counter(frames)
        for at, frame in zip(untold, frames, strict=True):
            # A frame met twice is the page of zeros, which is nobody's memory.
            if frame and uses[frame] == 1:
                nodes[at] = self._node_of(frame, nodes[at])
        return nodes

    def _node_of(self, frame: int, unknown: int) -> int:
        """The node whose memory block (Documentation/admin-guide/mm/memory-hotplug.rst) the frame lies in."""
        if self._blocks is None:
            self._blocks = self._read_blocks()
        return self._blocks.get(frame * PAGE_BYTES // self._block_bytes, unknown) if self._block_bytes else unknown

    def _read_blocks(self) -> dict[int, int]:
        self._block_bytes = read_value(self._root, _BLOCK_SIZE, parse.hexadecimal) or 0
        nodes = numbers_of(self._root, NODE_DIRECTORY, "node") if self._block_bytes else ()
        return {
            block: node for node in nodes for block in numbers_of(self._root, f"{NODE_DIRECTORY}/node{node}", "memory")
        }
