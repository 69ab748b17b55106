"""The frequency of a running CPU as cpufreq tells it, and whom it costs to ask (Documentation/admin-guide/pm/cpufreq.rst)."""

from __future__ import annotations

import re
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot
from numascope.host.system.clocks import POLICIES
from numascope.host.system.isolation import read_isolation, read_partitioned
from numascope.host.system.lists import CPU_DIRECTORY, numbers_of, read_cpu_lists, read_value

_RELEASE: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,4})\D.*", re.DOTALL)
_SILENT_SINCE: Final = (5, 19)
"""From here on arch_freq_get_on_cpu of x86 takes the sample of the scheduler's tick; before, it interrupted the CPU and
slept 10 ms where its own sample was old (arch/x86/kernel/cpu/aperfmperf.c)."""

_MOST_KHZ: Final = 100_000_000


def has_cpufreq(root: HostRoot, cpu: int) -> bool:
    """Whether the kernel sets clocks at all, that of `cpu` for one; under most hypervisors it does not."""
    return bool(numbers_of(root, POLICIES, "policy") or root.names(f"{CPU_DIRECTORY}/cpu{cpu}/cpufreq"))


def read_khz(root: HostRoot, cpu: int) -> int | None:
    """`scaling_cur_freq` of a CPU in kHz, one value for all CPUs of its policy; None where the kernel does not know it.

    On x86 it is measured over the last tick of a CPU that runs, elsewhere it is what was last asked of the hardware.
    """
    khz = read_value(root, f"{CPU_DIRECTORY}/cpu{cpu}/cpufreq/scaling_cur_freq", parse.decimal)
    return khz if khz is not None and 0 < khz <= _MOST_KHZ else None


def read_policy_cpus(root: HostRoot, cpu: int) -> CpuSet:
    """The CPUs whose clock is set together with that of `cpu`, itself among them (`affected_cpus`)."""
    own = CpuSet.of([cpu])
    return own | (read_value(root, f"{CPU_DIRECTORY}/cpu{cpu}/cpufreq/affected_cpus", parse.spaced_ids) or EMPTY)


def read_left_alone(root: HostRoot) -> CpuSet:
    """The CPUs whose frequency is not to be asked.

    Those of nohz_full have no tick that could measure it. Isolated ones, by the kernel's lists or a cpuset partition,
    are added where reading would interrupt them: before Linux 5.19, or where the kernel's release is unknown.
    """
    lists = read_cpu_lists(root)
    isolation = read_isolation(root, lists.isolated, lists.nohz_full, lists.possible or EMPTY)
    ticking = isolation.nohz_full or EMPTY
    return ticking if _reads_silently(root) else ticking | (isolation.isolated or EMPTY) | read_partitioned(root)


def _reads_silently(root: HostRoot) -> bool:
    release = _RELEASE.fullmatch(read_value(root, "proc/sys/kernel/osrelease", parse.text) or "")
    return release is not None and (int(release[1]), int(release[2])) >= _SILENT_SINCE
