"""All of `numa_maps`: the one exact count of a process's pages by node, which costs by their number under its mmap lock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.host import parse
from numascope.host.maps import ANONYMOUS, FILE, HEAP, SHARED, STACK, Kind
from numascope.host.root import HostRoot

MOST_BYTES: Final = 32 << 20
COST_MS_PER_GIB: Final = (5.0, 7.0)
"""Measured with pages of 4 KiB: so long is the lock held, and a thread of the target that faults meanwhile waits for it."""

_SHARED_PATHS: Final = (b"/dev/zero", b"/dev/shm/", b"/SYSV", b"/memfd:")


class Counted(NamedTuple):
    """KiB in memory by kind and node; `is_cut`: there was more than is read."""

    kib: Mapping[Kind, Mapping[int, int]]
    is_cut: bool = False


def walk_numa_maps(root: HostRoot, pid: int | str) -> Counted:
    """Has the kernel count all pages of a process; only when the user asked for it. DeniedError, AbsentError."""
    raw = root.read(f"proc/{pid}/numa_maps", MOST_BYTES)
    return parse_numa_maps(raw)._replace(is_cut=len(raw) >= MOST_BYTES)


def parse_numa_maps(raw: bytes) -> Counted:
    """Reads `numa_maps` (numa(7)): `ADDRESS POLICY [file=…|heap|stack|huge] anon=2 N0=1 N1=1 kernelpagesize_kB=4`."""
    found: dict[Kind, dict[int, int]] = {}
    for line in raw.splitlines():
        fields = line.split()[2:]
        size = next((one[len(b"kernelpagesize_kB=") :] for one in fields if one.startswith(b"kernelpagesize_kB=")), b"")
        page_kib = parse.decimal(size)
        if not page_kib or page_kib < 0:
            continue
        kind = _kind(fields, page_kib)
        for field in fields:
            name, equals, count_text = field.partition(b"=")
            node, count = parse.decimal(name[1:]), parse.decimal(count_text)
            if equals and name[:1] == b"N" and node is not None and count is not None and min(node, count) >= 0:
                nodes = found.setdefault(kind, {})
                nodes[node] = nodes.get(node, 0) + count * page_kib
    return Counted(found)


def _kind(fields: list[bytes], page_kib: int) -> Kind:
    if b"huge" in fields:
        return Kind("huge", page_kib)
    if b"heap" in fields:
        return HEAP
    if b"stack" in fields:
        return STACK
    path = next((one.removeprefix(b"file=") for one in fields if one.startswith(b"file=")), None)
    if path is None:
        return ANONYMOUS
    return SHARED if path.startswith(_SHARED_PATHS) else FILE
