"""Interrupts as /proc/interrupts counts them by CPU, and where each may go; lines are parsed only when somebody needs their numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.cpuset import LARGEST_ID, CpuSet
from numascope.host import parse
from numascope.host.root import HostRoot
from numascope.host.system.lists import read_value
from numascope.host.text import safe_text

INTERRUPTS: Final = "proc/interrupts"
IRQ_DIRECTORY: Final = "proc/irq"
AFFINITIES: Final = ("effective_affinity_list", "smp_affinity_list")
"""Where an interrupt goes, and where it may go."""

_MOST_BYTES: Final = 64 << 20
"""A line has 11 bytes a CPU: 1,024 CPUs with 5,000 interrupts."""

_COLUMN: Final = re.compile(rb"CPU([0-9]{1,5})")
_HARDWARE_NUMBER: Final = re.compile(rb"([0-9]{1,12})(?:-.*)?", re.DOTALL)
_TRIGGERS: Final = (b"Level", b"Edge")
_LONGEST_COUNT: Final = 20
"""Digits of the largest number of 64 bits."""
_LONGEST_TAIL: Final = 512


class InterruptTable(NamedTuple):
    """The CPU of each column, and the lines of numbered interrupts as they stand; those with a name (LOC, RES, TLB …) are no device's."""

    cpus: tuple[int, ...]
    lines: Mapping[int, bytes]
    """IRQ → its line."""


def read_table(root: HostRoot) -> InterruptTable | None:
    """/proc/interrupts now (proc_interrupts(5)); None where it cannot be read."""
    return parse_table(root.read_if_there(INTERRUPTS, _MOST_BYTES) or b"")


def parse_table(raw: bytes) -> InterruptTable | None:
    """Splits /proc/interrupts into lines; CPUs that are offline have no column. None where its first line names no CPUs."""
    header, *lines = raw.split(b"\n")
    cpus = _columns(header)
    if not cpus:
        return None
    found = {}
    for line in lines[:-1]:  # what follows the last line break is nothing, or a line cut short
        number = line[: max(0, line.find(b":", 0, 12))].strip()
        if number.isdigit():
            found[int(number)] = line
    return InterruptTable(cpus, found)


def _columns(header: bytes) -> tuple[int, ...] | None:
    """The CPUs of a header; None where a word is no CPU, or a CPU stands twice."""
    words = [_COLUMN.fullmatch(word) for word in header.split()]
    cpus = tuple(int(word[1]) for word in words if word)
    sound = len(cpus) == len(words) and len(set(cpus)) == len(cpus) and max(cpus, default=0) <= LARGEST_ID
    return cpus if sound else None


def _fields(line: bytes, columns: int) -> tuple[list[bytes], bytes] | None:
    """The counts of a line and what follows them; None where there are more or fewer counts than columns."""
    counts = line[line.find(b":") + 1 :].split(None, columns)
    tail = counts.pop().rstrip() if len(counts) > columns else b""
    if len(counts) < columns or not b"".join(counts).isdigit() or tail.partition(b" ")[0].isdigit():
        return None
    return counts, tail


def growth(before: bytes, after: bytes, columns: int) -> dict[int, int]:
    """Column → how many more interrupts it counts in the later line of the same IRQ.

    A counter that ran backward (32 bits wrap, a CPU went away) is left out; so are all where the line is now another
    device's, or has not that many columns.
    """
    old, new = _fields(before, columns), _fields(after, columns)
    if old is None or new is None or old[1] != new[1]:
        return {}
    moved = [
        (at, int(now) - int(then))
        for at, (then, now) in enumerate(zip(old[0], new[0], strict=True))
        if then != now and max(len(then), len(now)) <= _LONGEST_COUNT
    ]
    return {at: more for at, more in moved if more > 0}


def device_name(line: bytes, columns: int) -> str | None:
    """Who asked for the interrupt, safe to print: `mlx5_comp3`, `PCIe PME, aerdrv`; else its chip.

    A line ends with chip, hardware number, trigger and names (`show_interrupts` in kernel/irq/proc.c); a chip may have
    blanks in its name. None where a CPU interrupts itself: timer and PMU have numbers on aarch64.
    """
    fields = _fields(line, columns)
    words = [] if fields is None else fields[1][:_LONGEST_TAIL].split()
    at = next((at for at, word in enumerate(words) if at and (word[:1] == b"-" or _HARDWARE_NUMBER.fullmatch(word))), 0)
    if words and at and _is_private(words[0], words[at]):
        return None
    names = words[at + 1 :]
    if names and names[0] in _TRIGGERS:
        del names[0]
    if names and names[0].startswith(b"-"):
        del names[0]
    return safe_text(b" ".join(names or words[: at or 1])) or "?"


def _is_private(chip: bytes, number: bytes) -> bool:
    """Whether each CPU has this interrupt for itself: INTIDs 0-31 and 1056-1119 of an Arm GIC (PPIs, extended PPIs)."""
    matched = _HARDWARE_NUMBER.fullmatch(number)
    if matched is None or not chip.startswith(b"GIC"):
        return False
    return int(matched[1]) < 32 or 1056 <= int(matched[1]) < 1120


def read_irq_cpus(root: HostRoot, irq: int) -> CpuSet | None:
    """The CPUs that an interrupt goes to, else those that it may go to (Documentation/core-api/irq/irq-affinity.rst); None where neither can be read."""
    found = (read_value(root, f"{IRQ_DIRECTORY}/{irq}/{name}", parse.some_ids) for name in AFFINITIES)
    return next(filter(None, found), None)


def read_irq_node(root: HostRoot, irq: int) -> int | None:
    """The NUMA node of the interrupt's device, by `node` beside its affinity; None where the kernel knows none (-1)."""
    node = read_value(root, f"{IRQ_DIRECTORY}/{irq}/node", parse.decimal)
    return node if node is not None and node >= 0 else None
