"""CPU time by CPU out of /proc/stat (show_stat of fs/proc/stat.c). Pure."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_CPU_LINE: Final = re.compile(rb"^cpu(\d+) ([\d ]+)$", re.MULTILINE)


class CpuTicks(NamedTuple):
    """Clock ticks of one CPU since boot; `user` has nice and guests in it, `irq` both kinds of interrupts; idle and iowait may run backward."""

    user: int
    system: int
    irq: int
    iowait: int
    idle: int
    steal: int

    @property
    def busy(self) -> int:
        """All but idle, iowait and what a hypervisor took away."""
        return self.user + self.system + self.irq

    @property
    def total(self) -> int:
        """All of it."""
        return self.user + self.system + self.irq + self.iowait + self.idle + self.steal


def parse_cpu_ticks(raw: bytes) -> dict[int, CpuTicks]:
    """CPU → its ticks; guest time is in user already, and is not counted twice."""
    ticks: dict[int, CpuTicks] = {}
    for number, text in _CPU_LINE.findall(raw):
        fields = [int(field) for field in text.split()[:8]]
        if len(fields) >= 5:
            user, nice, system, idle, iowait, irq, softirq, steal = (*fields, *(0,) * (8 - len(fields)))
            ticks[int(number)] = CpuTicks(user + nice, system, irq + softirq, iowait, idle, steal)
    return ticks
