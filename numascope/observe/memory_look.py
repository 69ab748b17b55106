"""One look at the memory of one process, in short steps: the policy of each thread, and the share on each node."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from numascope.host import procfs
from numascope.host.hidden_pages import HiddenPages
from numascope.host.maps import ANONYMOUS, FILE, SHARED, read_maps
from numascope.host.numa_maps import walk_numa_maps
from numascope.host.page_nodes import PageNodes
from numascope.host.pagemap import PageMap
from numascope.host.parse_proc import StatRecord, parse_policy
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.host.system.cgroup_memory import CgroupMemory, cgroup_v2_of, processes_in, read_cgroup_memory
from numascope.observe.interval import Interval
from numascope.observe.memory import Clock, share_steps
from numascope.observe.residence import Steps
from numascope.observe.share import NOTHING, MemoryShare, NodeShare, Share

_POLICY_BYTES: Final = 40
_STEP: Final = 32
_NUMA_STAT: Final = "memory.numa_stat"


@dataclass(frozen=True, slots=True)
class RankMemory:
    """What was found of a process: the policy of each thread (None: it may not be read, or is gone), and where its memory lies."""

    pid: int
    starttime_ticks: int
    share: MemoryShare
    policies: Mapping[int, str | None] = field(default_factory=dict)
    looked_s: float | None = None
    """When, by the clock of whoever asked."""

    @property
    def policy(self) -> str | None:
        """The policy of the main thread."""
        return self.policies.get(self.pid)


def look_steps(
    root: HostRoot, pid: int, random: Random, clock: Clock, *, cgroup_is_own: bool = False
) -> Steps[RankMemory | None]:
    """Looks at a process, a step of half a millisecond at a time; None where it is gone, or became another program meanwhile.

    `clock` counts CPU time in ns. `cgroup_is_own` says that nobody else is in its cgroup: then the kernel's own count is taken.
    """
    began = procfs.stat_of(root, pid)
    if began is None:
        return None
    policies = yield from _policies(root, pid)
    cost_ns = -clock()
    try:
        share = _counted(root, pid) if cgroup_is_own else None
        if share is None:
            share = yield from _sampled(root, pid, random, clock)
    except AbsentError as error:
        share = MemoryShare(NOTHING, reason=f"this kernel does not tell: {error.strerror} ({error.filename})")
    except DeniedError as error:
        share = MemoryShare(NOTHING, reason=why_denied(root, pid, error))
    if not _is_same(began, procfs.stat_of(root, pid)):
        return None
    return RankMemory(pid, began.starttime_ticks, replace(share, cost_ns=cost_ns + clock()), policies)


def lone_node_steps(root: HostRoot, pid: int, node: int) -> Steps[RankMemory | None]:
    """The same where one node has all the memory: there is nothing to ask, only how much is resident (`status`)."""
    began = procfs.stat_of(root, pid)
    yield
    if began is None:
        return None
    kib = resident_kib(root, pid)
    share = NOTHING if kib is None else whole_share({node: kib})
    reason = "" if share.nodes is not None else "nothing of it is in memory"
    return RankMemory(pid, began.starttime_ticks, MemoryShare(share, source="status", reason=reason))


def is_alone_in_cgroup(root: HostRoot, pid: int, members: frozenset[int]) -> bool:
    """Whether nobody but these processes is in the cgroup v2 of one of them, so that its count of memory is theirs."""
    cgroup = cgroup_v2_of(root, pid) if members else None
    inside = None if cgroup is None else processes_in(root, cgroup)
    return inside is not None and inside <= members


def _is_same(then: StatRecord, now: StatRecord | None) -> bool:
    """Whether a pid still is that process, running that program: an exec draws a new stack."""
    return now is not None and (then.starttime_ticks, then.start_stack) == (now.starttime_ticks, now.start_stack)


def _policies(root: HostRoot, pid: int) -> Steps[dict[int, str | None]]:
    """The policy of each thread, from the first 40 bytes of its `numa_maps`, which walk no page table."""
    found: dict[int, str | None] = {}
    try:
        files = procfs.TaskFiles(root, pid)
    except OSError:
        return found
    try:
        for number, tid in enumerate(files.tids(), 1):
            try:
                found[tid] = parse_policy(files.read(tid, "numa_maps", _POLICY_BYTES))
            except OSError:
                found[tid] = None
            if number % _STEP == 0:
                yield
    finally:
        files.close()
    return found


def _sampled(root: HostRoot, pid: int, random: Random, clock: Clock) -> Steps[MemoryShare]:
    speaker = procfs.speaker_of(root, pid)
    page_map = PageMap(root, speaker)
    try:
        space = read_maps(root, speaker)
        yield
        asker = PageNodes(int(str(speaker).rpartition("/")[2]))
        teller = HiddenPages(root, page_map, asker)
        return (yield from share_steps(space, page_map, asker, random, clock, resident_kib(root, pid), teller))
    finally:
        page_map.close()


def resident_kib(root: HostRoot, pid: int) -> int | None:
    """What of a process is in memory, huge pages included, by its `status`; None where it is gone."""
    status = procfs.status_of(root, procfs.speaker_of(root, pid))
    sizes = [status.get(name, "").split()[:1] for name in ("VmRSS", "HugetlbPages")]
    return sum(int(size[0]) for size in sizes if size and size[0].isdecimal()) if sizes[0] else None


def walk(root: HostRoot, pid: int) -> MemoryShare:
    """Every page, by a walk of `numa_maps`: only on request, since the target may wait for it. DeniedError, AbsentError."""
    counted = walk_numa_maps(root, procfs.speaker_of(root, pid))
    nodes: dict[int, int] = {}
    for sizes in counted.kib.values():
        for node, size in sizes.items():
            nodes[node] = nodes.get(node, 0) + size
    notes = ("there are more mappings than are read: what lies behind them is not counted",) if counted.is_cut else ()
    kinds = {kind: whole_share(sizes) for kind, sizes in sorted(counted.kib.items(), key=lambda one: one[0].name)}
    return MemoryShare(whole_share(nodes), kinds, "numa_maps", "" if nodes else "no page is in memory", notes)


def _counted(root: HostRoot, pid: int) -> MemoryShare | None:
    """What the cgroup of a process counts by node; None where it counts nothing, or where huge pages would be missing."""
    status = procfs.status_of(root, pid)
    cgroup = cgroup_v2_of(root, pid) if status.get("HugetlbPages", "0 kB").split()[0] == "0" else None
    memory = None if cgroup is None else read_cgroup_memory(root, cgroup)
    return None if memory is None else share_of_cgroup(memory)


def share_of_cgroup(memory: CgroupMemory) -> MemoryShare:
    """The kernel's own count as a share: every page is in it, so nothing is asked and nothing is uncertain."""
    kinds = {ANONYMOUS: memory.anonymous_kib, FILE: memory.file_kib, SHARED: memory.shared_kib}
    notes = (
        "counted for all processes of its cgroup, files that it only read included",
        "huge pages of hugetlbfs and what drivers map are not in memory.numa_stat",
    )
    return MemoryShare(
        whole_share({node: memory.on(node) for node in memory.nodes}),
        {kind: whole_share(sizes) for kind, sizes in kinds.items() if any(sizes.values())},
        _NUMA_STAT,
        "" if any(map(memory.on, memory.nodes)) else "its cgroup has no memory",
        notes,
    )


def whole_share(kib: Mapping[int, int]) -> Share:
    """Memory that was counted as a whole, by node."""
    total = sum(kib.values())
    if not total:
        return NOTHING
    nodes = ((node, size / total, size) for node, size in sorted(kib.items()) if size)
    return Share(0, 0, total, tuple(NodeShare(node, 0, Interval(part, part, part), size) for node, part, size in nodes))


def why_denied(root: HostRoot, pid: int, error: OSError) -> str:
    """Why this user may not read it, and who may."""
    if error.errno == errno.ENOSYS or (error.filename or "").startswith("pages of"):
        said = error.strerror or "refused"
        return f"the kernel refuses to say where pages lie ({said}): mostly a container's filter; run outside, or with CAP_SYS_NICE"
    owner = procfs.status_of(root, pid).get("Uid", "").split()[:1]
    if os.geteuid() == 0:
        return (
            "may not be read: we are root, but without CAP_SYS_PTRACE, or within a container's own users; run outside"
        )
    if owner and owner[0] != str(os.geteuid()):
        return f"may not be read: run as its owner (uid {owner[0]}) or as root"
    return "may not be read, though it is ours: it is not dumpable, or has more rights than we; run as root"
