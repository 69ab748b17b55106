"""A cgroup's memory by node, as the kernel itself counts it (`memory.numa_stat` of cgroup v2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.host import parse
from numascope.host.root import HostRoot

_MOST_BYTES: Final = 1 << 18
_MOST_PIDS_BYTES: Final = 1 << 16
_USER_MEMORY: Final = ("anon", "file", "shmem")
"""The counters that are told here; `file` has `shmem` in it, and page cache that nobody maps."""


class CgroupMemory(NamedTuple):
    """KiB by node: anonymous memory, files read or mapped (page cache), and shared memory. Huge pages of hugetlbfs are not in it."""

    anonymous_kib: Mapping[int, int]
    file_kib: Mapping[int, int]
    shared_kib: Mapping[int, int]

    def on(self, node: int) -> int:
        """All of it on one node."""
        return sum(one.get(node, 0) for one in (self.anonymous_kib, self.file_kib, self.shared_kib))

    @property
    def nodes(self) -> list[int]:
        """The nodes that are counted."""
        return sorted({*self.anonymous_kib, *self.file_kib, *self.shared_kib})


def cgroup_v2_of(root: HostRoot, pid: int) -> str | None:
    """The directory of a process's cgroup v2, below the root; None where it has none, or is in the topmost, which counts nothing."""
    for line in (root.read_if_there(f"proc/{pid}/cgroup", 1 << 16) or b"").splitlines():
        path = line.removeprefix(b"0::").decode("utf-8", "surrogateescape")
        if not line.startswith(b"0::/") or path == "/" or ".." in path.split("/"):
            continue
        found = (f"{mount}{path}" for mount in ("sys/fs/cgroup", "sys/fs/cgroup/unified"))
        return next((one for one in found if root.read_if_there(f"{one}/cgroup.procs", 1) is not None), None)
    return None


def read_cgroup_memory(root: HostRoot, cgroup: str) -> CgroupMemory | None:
    """The memory of a cgroup by node; None where its memory controller is off or may not be read."""
    raw = root.read_if_there(f"{cgroup}/memory.numa_stat", _MOST_BYTES)
    return None if raw is None else parse_numa_stat(raw)


def parse_numa_stat(raw: bytes) -> CgroupMemory | None:
    """Reads `memory.numa_stat` (Documentation/admin-guide/cgroup-v2.rst): `anon N0=4096 N1=0`, in bytes."""
    found: dict[str, dict[int, int]] = {}
    for line in raw.splitlines():
        name, *fields = line.split()[:4096] or [b""]
        key = name.decode("ascii", "replace")
        if key in _USER_MEMORY and key not in found:
            found[key] = dict(filter(None, map(_on_node, fields)))
    if found.keys() != set(_USER_MEMORY):
        return None
    shared = found["shmem"]
    files = {node: max(0, size - shared.get(node, 0)) for node, size in found["file"].items()}
    return CgroupMemory(found["anon"], files, shared)


def _on_node(field: bytes) -> tuple[int, int] | None:
    """`N1=8192` as a node and KiB."""
    node_text, equals, size_text = field.partition(b"=")
    node, size = parse.decimal(node_text.removeprefix(b"N")), parse.decimal(size_text)
    if not equals or not node_text.startswith(b"N") or node is None or size is None or min(node, size) < 0:
        return None
    return node, size >> 10


def processes_in(root: HostRoot, cgroup: str) -> frozenset[int] | None:
    """The processes in a cgroup itself; None where that is not known, or where it has cgroups below it."""
    raw = root.read_if_there(f"{cgroup}/cgroup.procs", _MOST_PIDS_BYTES)
    below = root.read_if_there(f"{cgroup}/cgroup.stat", 1 << 12)
    if raw is None or below is None or len(raw) >= _MOST_PIDS_BYTES:
        return None
    counts = dict(line.split(b" ", 1) for line in below.splitlines() if b" " in line)
    if counts.get(b"nr_descendants") != b"0":
        return None
    return frozenset(int(word) for word in raw.split() if word.isdigit())
