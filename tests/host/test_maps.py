"""`maps` as kernels write it: kinds, what is left out, and bytes that are no maps at all."""

from __future__ import annotations

import itertools
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import program

from numascope.host.maps import (
    ANONYMOUS,
    FILE,
    HEAP,
    SHARED,
    STACK,
    Kind,
    Region,
    memory_devices,
    parse_maps,
    read_maps,
)
from numascope.host.root import AbsentError, HostRoot

HUGE = Kind("huge", 2048)
DEVICES = {"00:01": SHARED, "00:0e": HUGE}

MAPS = rb"""00400000-00401000 r-xp 00000000 fe:00 1234                       /usr/bin/python3.11
00401000-00402000 r--p 00001000 fe:00 1234                       /usr/bin/python3.11
01000000-01100000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f4000000000 ---p 00000000 00:00 0
7f4000000000-7f4000200000 rw-p 00000000 00:00 0
7f4000200000-7f4000400000 rw-p 00000000 00:00 0                  [anon:python]
7f4000400000-7f4000800000 rw-p 00000000 00:0e 7                  /anon_hugepage (deleted)
7f4000800000-7f4000900000 rw-s 00000000 00:01 2049               /dev/zero (deleted)
7f4000900000-7f4000a00000 rw-s 00000000 00:01 9                  /memfd:a\012b (deleted)
7f4000a00000-7f4000b00000 rw-s 00000000 00:05 700                /dev/davinci_manager
7f4000b00000-7f4000b01000 rw-p 00000000 00:05 5                  /dev/zero
7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0                  [stack]
7ffe00030000-7ffe00034000 r--p 00000000 00:00 0                  [vvar]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0          [vsyscall]
"""


def test_every_kind_is_known_by_what_the_kernel_says_of_it() -> None:
    space = parse_maps(MAPS, DEVICES)
    assert space.regions == (
        Region(0x400000, 0x402000, FILE),
        Region(0x1000000, 0x1100000, HEAP),
        Region(0x7F4000000000, 0x7F4000400000, ANONYMOUS),
        Region(0x7F4000400000, 0x7F4000800000, HUGE),
        Region(0x7F4000800000, 0x7F4000A00000, SHARED),
        Region(0x7F4000B00000, 0x7F4000B01000, ANONYMOUS),
        Region(0x7FFE00000000, 0x7FFE00021000, STACK),
    )


def test_what_cannot_be_touched_and_what_a_driver_maps_is_left_out_and_told() -> None:
    space = parse_maps(MAPS, DEVICES)
    assert space.reserved_kib == 256 << 20
    assert space.device_kib == 1 << 10
    assert space.mapped_kib < 20 << 10
    assert not space.is_cut


@given(st.lists(st.sampled_from(MAPS.splitlines()) | st.binary(max_size=120), max_size=30))
def test_whatever_the_bytes_regions_rise_and_never_overlap(lines: list[bytes]) -> None:
    regions = parse_maps(b"\n".join(lines), DEVICES).regions
    for before, after in itertools.pairwise(regions):
        assert before.start < before.end <= after.start < after.end


@pytest.mark.live
def test_a_real_process_has_its_kinds_and_no_page_size_is_guessed() -> None:
    code = """
import mmap
private = mmap.mmap(-1, 3 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
shared = mmap.mmap(-1, 5 << 20)
reserved = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)
other = os.memfd_create("ring"); os.ftruncate(other, 7 << 20)
named = mmap.mmap(other, 7 << 20)
ready(); sleep()
"""
    root = HostRoot()
    with program(code) as child:
        space = read_maps(root, child.pid)
    sizes: dict[Kind, int] = {}
    for one in space.regions:
        sizes[one.kind] = sizes.get(one.kind, 0) + one.end - one.start
    assert sizes[SHARED] == 12 << 20
    assert sizes[ANONYMOUS] >= 3 << 20
    assert min(sizes[HEAP], sizes[STACK], sizes[FILE]) > 0
    assert space.reserved_kib >= 1 << 20
    assert all(kind.page_kib is None for kind in sizes)


@pytest.mark.live
def test_the_kernels_own_file_systems_of_shared_memory_and_huge_pages_are_found() -> None:
    root = HostRoot()
    found = memory_devices(root, os.getpid())
    sizes = {int(name[10:-2]) for name in root.names("sys/kernel/mm/hugepages")}
    assert SHARED in found.values()
    assert {kind.page_kib for kind in found.values() if kind.name == "huge"} == sizes


@pytest.mark.live
def test_a_process_that_is_gone_is_absent() -> None:
    with pytest.raises(AbsentError):
        read_maps(HostRoot(), 4_194_305)
