"""CPUs that the kernel was told, or a cpuset partition tells it, to leave alone, beyond the lists in /sys."""

from __future__ import annotations

import re
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot
from numascope.host.system.lists import read_value

_CMDLINE: Final = "proc/cmdline"
_PIECE = re.compile(r"(N|[0-9]{1,5})(?:-(N|[0-9]{1,5})(?::([0-9]{1,5})/([0-9]{1,5}))?)?")
_UNIFIED: Final = ("sys/fs/cgroup", "sys/fs/cgroup/unified")
_MOST_GROUPS: Final = 256
"""Children of the root cgroup that are asked whether they are a partition; on a plain system there are four."""


def read_rcu_nocbs(root: HostRoot, possible: CpuSet) -> CpuSet:
    """The CPUs whose RCU callbacks are offloaded, by `rcu_nocbs` of the kernel's command line (Documentation/admin-guide/kernel-parameters.txt)."""
    words = (root.read_if_there(_CMDLINE, 1 << 16) or b"").decode("ascii", "replace").split()
    value = next((word.partition("=")[2] or "all" for word in words if word.partition("=")[0] == "rcu_nocbs"), None)
    return EMPTY if value is None or not possible else boot_list(value, possible)


def boot_list(text: str, possible: CpuSet) -> CpuSet:
    """A list of the command line: `all`, `N` for the last CPU, `0-31:2/4` (lib/bitmap.c); empty where it is not one."""
    if text.lower() == "all":
        return possible
    found = EMPTY
    for piece in text.split(","):
        matched = _PIECE.fullmatch(piece)
        if matched is None:
            return EMPTY
        first, last = (possible.last if end == "N" else int(end) for end in (matched[1], matched[2] or matched[1]))
        used, group = int(matched[3] or 1), int(matched[4] or 1)
        if last < first or not 0 < used <= group or last > possible.last:
            return EMPTY
        found |= CpuSet.of(cpu for cpu in range(first, last + 1) if (cpu - first) % group < used)
    return found & possible


def read_partitioned(root: HostRoot) -> CpuSet:
    """The CPUs of isolated cpuset partitions (Documentation/admin-guide/cgroup-v2.rst, `cpuset.cpus.partition`).

    Kernels from 6.8 on list them in the root cgroup; before, partitions directly below it are asked.
    """
    for top in _UNIFIED:
        names = root.names(top)
        if "cgroup.controllers" not in names:
            continue
        if "cpuset.cpus.isolated" in names:
            return read_value(root, f"{top}/cpuset.cpus.isolated", parse.id_list) or EMPTY
        if b"cpuset" not in (root.read_if_there(f"{top}/cgroup.controllers", 4096) or b"").split():
            return EMPTY
        found = EMPTY
        for name in names[:_MOST_GROUPS]:
            if read_value(root, f"{top}/{name}/cpuset.cpus.partition", parse.text) == "isolated":
                found |= read_value(root, f"{top}/{name}/cpuset.cpus.effective", parse.id_list) or EMPTY
        return found
    return EMPTY
