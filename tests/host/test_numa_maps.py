"""`numa_maps` as numa(7) describes it, and as bytes that it is not."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numascope.host.maps import ANONYMOUS, FILE, HEAP, SHARED, STACK, Kind
from numascope.host.numa_maps import parse_numa_maps, walk_numa_maps
from numascope.host.root import HostRoot

TEXT = b"""00400000 default file=/usr/bin/python3.11 mapped=10 mapmax=3 N0=4 N1=6 kernelpagesize_kB=4
01000000 bind:1 heap anon=3 dirty=3 N1=3 kernelpagesize_kB=4
7f0000000000 prefer (many):0-1 anon=512 dirty=512 N0=500 N2=12 kernelpagesize_kB=4
7f0000400000 default file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 N0=1 N1=1 kernelpagesize_kB=2048
7f0000800000 default file=/dev/zero\\040(deleted) dirty=5 N0=5 kernelpagesize_kB=4
7ffe00000000 default stack anon=2 dirty=2 N0=2 kernelpagesize_kB=4
7ffe00100000 default
"""


def test_pages_are_summed_by_kind_and_node_in_their_own_size() -> None:
    assert parse_numa_maps(TEXT).kib == {
        FILE: {0: 16, 1: 24},
        HEAP: {1: 12},
        ANONYMOUS: {0: 2000, 2: 48},
        Kind("huge", 2048): {0: 2048, 1: 2048},
        SHARED: {0: 20},
        STACK: {0: 8},
    }


@given(st.lists(st.sampled_from(TEXT.splitlines()) | st.binary(max_size=100), max_size=20))
def test_whatever_the_bytes_no_size_is_negative(lines: list[bytes]) -> None:
    found = parse_numa_maps(b"\n".join(lines)).kib
    assert all(node >= 0 and size >= 0 for sizes in found.values() for node, size in sizes.items())


@pytest.mark.live
def test_a_walk_of_ones_own_pages_finds_some_of_each_kind() -> None:
    counted = walk_numa_maps(HostRoot(), os.getpid())
    assert {ANONYMOUS, FILE, STACK} <= counted.kib.keys()
    assert not counted.is_cut
