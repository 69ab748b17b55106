"""What a node can take before the kernel reclaims there, from /proc/zoneinfo."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.host.pagemap import PAGE_BYTES
from numascope.host.root import HostRoot
from numascope.host.system.node_room import NodeRoom, parse_zoneinfo, read_node_rooms

KIB = PAGE_BYTES >> 10

ZONES = b"""\
Node 0, zone    DMA32
  per-node stats
      nr_inactive_anon 4711
  pages free     5000
        boost    0
        min      100
        low      200
        high     300
        spanned  8000
        present  8000
        managed  7000
        cma      0
        protection: (0, 0, 900, 900, 900)
      nr_free_pages 5000
  pagesets
    cpu: 0
              count: 12
              high:  378
              batch: 63
Node 0, zone   Normal
  pages free     40
        min      50
        low      60
        high     70
        managed  90000
        protection: (0, 0, 0, 0, 0)
Node 2, zone   Normal
  pages free     1000
        min      5
        low      6
        high     10
        managed  90000
        protection: (0, 0, 0, 0, 0)
Node 2, zone  Movable
  pages free     0
        high     0
        managed  0
        protection: (0, 0, 0, 0, 0)
"""


def test_the_zones_of_a_node_are_added_up_each_with_what_it_keeps() -> None:
    rooms = parse_zoneinfo(ZONES)
    assert rooms == {
        0: NodeRoom(5040 * KIB, (300 + 900 + 40) * KIB),
        2: NodeRoom(1000 * KIB, 10 * KIB),
    }
    assert rooms[0].room_kib == 3800 * KIB


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_error(noise: bytes) -> None:
    for one in parse_zoneinfo(ZONES[:300] + noise).values():
        assert 0 <= one.kept_kib <= one.free_kib


@pytest.mark.live
def test_this_machine_has_nodes_with_room() -> None:
    rooms = read_node_rooms(HostRoot())
    assert rooms
    assert sum(one.free_kib for one in rooms.values()) > 0
