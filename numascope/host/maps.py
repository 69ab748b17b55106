"""What an address space is made of, by /proc/PID/maps: a list of mappings, which costs by their number and never by their size."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from numascope.host import parse
from numascope.host.root import HostRoot

MOST_MAPS_BYTES: Final = 8 << 20
"""A process may have 65,530 mappings (`max_map_count`) of some 100 bytes; more are left out, and that is said."""

_MOST_MOUNTS_BYTES: Final = 1 << 20
_HUGE: Final = re.compile(r"hugepages-([0-9]{1,9})kB")
_PAGE_SIZE_OPTION: Final = re.compile(rb"(?:^|,)pagesize=([0-9]{1,6})([KMG])")
_UNIT_KIB: Final = {b"K": 1, b"M": 1 << 10, b"G": 1 << 20}
_MFD_HUGETLB: Final = 4
_MFD_HUGE_SHIFT: Final = 26
"""include/uapi/linux/memfd.h: the logarithm of the page size stands above this bit."""

_LINE: Final = re.compile(
    rb"^([0-9a-f]{1,16})-([0-9a-f]{1,16}) ([r-][w-][x-])[sp] [0-9a-f]{1,16} ([0-9a-f]{1,5}:[0-9a-f]{1,5}) [0-9]{1,20} *(.*)$",
    re.MULTILINE,
)
_DEVICE_PATHS: Final = (b"/dev/", b"anon_inode:", b"/dmabuf:")
_USER_END: Final = 1 << 57
"""No address of a process is higher (five levels of page tables)."""


class Kind(NamedTuple):
    """What memory is for: `anonymous`, `heap`, `stack`, `file`, `shared`, or `huge` with the size of its pages."""

    name: str
    page_kib: int | None = None


ANONYMOUS: Final = Kind("anonymous")
HEAP: Final = Kind("heap")
STACK: Final = Kind("stack")
FILE: Final = Kind("file")
SHARED: Final = Kind("shared")
_RESERVED: Final = Kind("reserved")
_DEVICE: Final = Kind("device")
_SPECIAL: Final = Kind("special")


class Region(NamedTuple):
    """Addresses from `start` up to `end`, of one kind; neighbours of a kind are one region."""

    start: int
    end: int
    kind: Kind


class AddressSpace(NamedTuple):
    """The regions that can hold memory of a node, by rising address, and how much was left out: PROT_NONE, and what drivers map."""

    regions: tuple[Region, ...]
    reserved_kib: int = 0
    device_kib: int = 0
    is_cut: bool = False
    """There are more mappings than are read."""

    @property
    def mapped_kib(self) -> int:
        """The size of all regions, most of which may never have been touched."""
        return sum(one.end - one.start for one in self.regions) >> 10


def read_maps(root: HostRoot, pid: int | str) -> AddressSpace:
    """The address space of a process; DeniedError where this user may not read it, AbsentError where it is gone."""
    raw = root.read(f"proc/{pid}/maps", MOST_MAPS_BYTES)
    return parse_maps(raw, memory_devices(root, pid), is_cut=len(raw) >= MOST_MAPS_BYTES)


def parse_maps(raw: bytes, devices: Mapping[str, Kind], *, is_cut: bool = False) -> AddressSpace:
    """Reads `maps` (proc_pid_maps(5)); `devices` says which device numbers mean shared memory or huge pages."""
    regions: list[Region] = []
    left_out = {_RESERVED: 0, _DEVICE: 0, _SPECIAL: 0}
    for start_text, end_text, rights, device, path in _LINE.findall(raw):
        start, end = int(start_text, 16), int(end_text, 16)
        if not (regions[-1].end if regions else 0) <= start < end <= _USER_END:
            continue
        kind = _RESERVED if rights == b"---" else _kind(path, devices.get(device.decode("ascii")))
        if kind in left_out:
            left_out[kind] += end - start
        elif regions and regions[-1].end == start and regions[-1].kind == kind:
            regions[-1] = Region(regions[-1].start, end, kind)
        else:
            regions.append(Region(start, end, kind))
    return AddressSpace(tuple(regions), left_out[_RESERVED] >> 10, left_out[_DEVICE] >> 10, is_cut)


def _kind(path: bytes, by_device: Kind | None) -> Kind:
    if not path:
        return ANONYMOUS
    if path.startswith(b"["):
        if path == b"[heap]":
            return HEAP
        if path.startswith(b"[stack"):
            return STACK
        return ANONYMOUS if path.startswith(b"[anon:") else SHARED if path.startswith(b"[anon_shmem:") else _SPECIAL
    if by_device is not None:
        return by_device
    if path.startswith(b"/dev/zero"):
        return ANONYMOUS
    return _DEVICE if path.startswith(_DEVICE_PATHS) else FILE


def memory_devices(root: HostRoot, pid: int | str) -> Mapping[str, Kind]:
    """Device number, as `maps` writes it → shared memory, or huge pages of a size: the mounts of a process, and the kernel's own."""
    raw = root.read_if_there(f"proc/{pid}/mountinfo", _MOST_MOUNTS_BYTES) or b""
    found = dict(_mounted(raw.splitlines()))
    if root.is_live:
        sizes = [int(size[1]) for name in root.names("sys/kernel/mm/hugepages") if (size := _HUGE.fullmatch(name))]
        found.update(_of_kernel(sizes))
    return found


def _mounted(lines: Iterable[bytes]) -> Iterator[tuple[str, Kind]]:
    """The tmpfs and hugetlbfs among the lines of mountinfo (proc_pid_mountinfo(5))."""
    for line in lines:
        before, _, after = line.partition(b" - ")
        left, right = before.split(), after.split()
        if len(left) < 3 or len(right) < 3 or right[0] not in (b"tmpfs", b"hugetlbfs"):
            continue
        major, _, minor = left[2].partition(b":")
        numbers = parse.decimal(major), parse.decimal(minor)
        if numbers[0] is None or numbers[1] is None:
            continue
        size = _PAGE_SIZE_OPTION.search(right[2])
        if right[0] == b"tmpfs":
            yield f"{numbers[0]:02x}:{numbers[1]:02x}", SHARED
        elif size is not None:
            yield f"{numbers[0]:02x}:{numbers[1]:02x}", Kind("huge", int(size[1]) * _UNIT_KIB[size[2]])


def _of_kernel(huge_kib: Iterable[int]) -> Iterator[tuple[str, Kind]]:
    """The kernel's own file systems of shared memory and of huge pages, which no list of mounts has: an empty file of each tells."""
    for kind, flags in [(SHARED, 0)] + [
        (Kind("huge", size), _MFD_HUGETLB | ((size << 10).bit_length() - 1) << _MFD_HUGE_SHIFT) for size in huge_kib
    ]:
        try:
            descriptor = os.memfd_create("numascope", os.MFD_CLOEXEC | flags)
        except OSError:  # a kernel without it
            continue
        try:
            device = os.fstat(descriptor).st_dev
        finally:
            os.close(descriptor)
        yield f"{os.major(device):02x}:{os.minor(device):02x}", kind
