"""Copies of other machines' /sys and /proc, unpacked for a test."""

from __future__ import annotations

import json
import posixpath
import re
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

MACHINES = Path(__file__).resolve().parent.parent / "snapshots" / "machines"
"""The machines that numascope keeps, each a folder."""

_STORE = Path(__file__).resolve().parent.parent.parent / "shared" / "captures"
_READ = re.compile(
    r"""(?:^|/)(?:
        proc/(?!irq/|bus/).*
        | dev/cpuset/.* | .*cgroup/.*(?:cpus|mems|controllers)[.a-z]*
        | system/cpu/[^/]+
        | system/cpu/cpu\d+/(?:online|topology|topology/[^/]+|cpu_capacity|cpufreq|l\d_\w+)
        | system/cpu/cpu\d+/cache/index\d+/(?:level|type|size|shared_cpu_\w+)
        | cpufreq(?:/policy\d+)?/cpuinfo_max_freq
        | system/node/[^/]+
        | system/node/node\d+/(?:cpulist|cpumap|cpu\d+|meminfo|distance|memory_side_cache/.*)
        | devices/cpu_(?:core|atom)/cpus
        | (?:class|devices/virtual)/dmi(?:/.*)? | sys/hypervisor/type | virtual/memory_tiering/.*
        | system/cpu/cpufreq/.* | system/node/node\d+/(?:hugepages|access\d)/.*
        | bus/pci/devices/[^/]+
        | (?:bus/pci/devices|devices/pci[^/]+)/.*/?(?:class|vendor|device|numa_node|local_cpu\w+)
        | devices/pci[^/]+/.*/(?:net|infiniband|nvme)/[^/]+
    )$""",
    re.VERBOSE,
)
"""Of the thousands of files of a capture, those that numascope reads."""


@cache
def expected() -> dict[str, Any]:
    """Capture → what hwloc and lscpu read from it; empty where the store is absent."""
    path = _STORE / "expected.json"
    if not path.is_file():
        return {}
    entries: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {name: entry for name, entry in entries.items() if not name.startswith("_")}


def unpack(archive: Path, into: Path) -> Path:
    """Unpacks what a machine is read from; nothing leaves `into`."""
    with tarfile.open(archive) as tar:
        # The library's own filters came with 3.11.4; Debian 12 has 3.11.2. Members are sorted out here instead.
        tar.extraction_filter = lambda member, _: member
        tar.extractall(into, members=[member for member in tar if _READ.search(member.name) and _stays_inside(member)])  # noqa: S202
    return into


def _stays_inside(member: tarfile.TarInfo) -> bool:
    """Whether a file, folder or link lies, and points, below where it is unpacked; what may not be written is made writable."""
    member.mode |= 0o700 if member.isdir() else 0o600
    target = posixpath.join(posixpath.dirname(member.name), member.linkname) if member.issym() else member.name
    inside = not any(posixpath.normpath(one).startswith(("/", "..")) for one in (member.name, target))
    return inside and (member.isreg() or member.isdir() or member.issym())
