"""CPUs that the kernel was told, or a cpuset partition tells it, to leave alone, beyond the lists in /sys."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot
from numascope.host.system.lists import read_value

COMMAND_LINE: Final = "proc/cmdline"
_PIECE = re.compile(r"(N|[0-9]{1,5})(?:-(N|[0-9]{1,5})(?::([0-9]{1,5})/([0-9]{1,5}))?)?")
_FLAG = re.compile(r"([A-Za-z_]+),")
_UNIFIED: Final = ("sys/fs/cgroup", "sys/fs/cgroup/unified")
_MOST_GROUPS: Final = 256
"""Children of the root cgroup that are asked whether they are a partition; on a plain system there are four."""


class Isolation(NamedTuple):
    """Which CPUs are left alone, by the kernel's lists, else by its command line; None where neither can be read."""

    isolated: CpuSet | None
    nohz_full: CpuSet | None


def read_isolation(root: HostRoot, isolated: CpuSet | None, nohz_full: CpuSet | None, possible: CpuSet) -> Isolation:
    """These lists of /sys; in the place of one that is None, what `isolcpus=` and `nohz_full=` ask of the kernel.

    Of `isolcpus=`, only the flag `domain`, or no flag, takes CPUs out of load balancing; `nohz` is nohz_full
    (Documentation/admin-guide/kernel-parameters.txt, housekeeping_isolcpus_setup of kernel/sched/isolation.c).
    """
    if isolated is not None and nohz_full is not None:
        return Isolation(isolated, nohz_full)
    words = _command_line(root)
    if words is None:
        return Isolation(isolated, nohz_full)
    flags, cpus = _isolcpus(_value(words, "isolcpus") or "", possible)
    ticks = _value(words, "nohz_full")
    if isolated is None:
        isolated = cpus if "domain" in flags else EMPTY
    if nohz_full is None:
        nohz_full = boot_list(ticks, possible) if ticks else cpus if "nohz" in flags else EMPTY
    return Isolation(isolated, nohz_full)


def _isolcpus(value: str, possible: CpuSet) -> tuple[frozenset[str], CpuSet]:
    """The flags before the list, of which `domain` is meant where there is none, and the list."""
    flags, at = set(), 0
    while flag := _FLAG.match(value, at):
        flags.add(flag[1])
        at = flag.end()
    known = flags & {"domain", "nohz", "managed_irq"}
    return frozenset(known or {"domain"}), boot_list(value[at:], possible)


def read_rcu_nocbs(root: HostRoot, possible: CpuSet) -> CpuSet | None:
    """The CPUs whose RCU callbacks are offloaded, by `rcu_nocbs` of the kernel's command line (Documentation/admin-guide/kernel-parameters.txt); None where that cannot be read."""
    words = _command_line(root)
    if words is None:
        return None
    value = _value(words, "rcu_nocbs")
    return EMPTY if value is None else boot_list(value or "all", possible)


def _command_line(root: HostRoot) -> list[str] | None:
    """The words of the kernel's own; what follows `--` is init's."""
    raw = root.read_if_there(COMMAND_LINE, 1 << 16)
    if raw is None:
        return None
    words = raw.decode("ascii", "replace").split()
    return words[: words.index("--")] if "--" in words else words


def _value(words: list[str], name: str) -> str | None:
    """What stands behind the first `name=`, empty where `name` stands alone; None where it does not stand there."""
    return next((word.partition("=")[2] for word in words if word.partition("=")[0] == name), None)


def boot_list(text: str, possible: CpuSet) -> CpuSet:
    """A list of the command line: `all`, `N` for the last CPU, `0-31:2/4` (lib/bitmap.c); empty where it is not one."""
    if text.lower() == "all":
        return possible
    found = EMPTY
    if not possible:
        return EMPTY
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
