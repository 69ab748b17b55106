"""Which boot of which machine this is, in whose namespaces and with which rights: what an undo record must name to be of use."""

from __future__ import annotations

import os
import socket
import time
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, CpuSet
from numascope.host import parse, procfs
from numascope.host.root import HostRoot
from numascope.host.text import safe_text

_CAP_SYS_NICE: Final = 23
"""Number of the capability that may set another user's affinity (include/uapi/linux/capability.h)."""

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class Here(NamedTuple):
    """This boot and these namespaces; a pid means nothing in any other. Namespaces are inode numbers, 0 where the kernel names none."""

    boot_id: str
    host: str
    uid: int
    pid_namespace: int
    time_namespace: int


def read_here(root: HostRoot) -> Here:
    """Where and as whom this process runs (random/boot_id of proc(5), namespaces(7)); DeniedError, AbsentError."""
    boot_id = safe_text(root.read("proc/sys/kernel/random/boot_id", 64).strip())
    return Here(
        boot_id, safe_text(socket.gethostname()), os.geteuid(), _namespace(root, "pid"), _namespace(root, "time")
    )


def _namespace(root: HostRoot, kind: str) -> int:
    digits = (root.link(f"proc/self/ns/{kind}") or "").removeprefix(f"{kind}:[").removesuffix("]")
    return int(digits) if digits.isdecimal() else 0


def boot_ticks() -> int:
    """Clock ticks since boot, now: the clock of a thread's start time (field 22 of proc_pid_stat(5))."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) * _TICKS_PER_S // 1_000_000_000


def possible_cpus(root: HostRoot) -> CpuSet:
    """Every CPU that could ever be here; empty where /sys does not say."""
    return parse.id_list(root.read_if_there("sys/devices/system/cpu/possible") or b"") or EMPTY


def online_cpus(root: HostRoot) -> CpuSet:
    """The CPUs that run now; empty where /sys does not say."""
    return parse.id_list(root.read_if_there("sys/devices/system/cpu/online") or b"") or EMPTY


def may_set_for_others(root: HostRoot) -> bool:
    """Whether this process has CAP_SYS_NICE in effect (`CapEff` of proc_pid_status(5))."""
    effective = procfs.status_of(root, os.getpid()).get("CapEff", "0")
    return bool(int(effective, 16) >> _CAP_SYS_NICE & 1)
