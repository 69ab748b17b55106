"""Numbers, sizes and CPU lists of the topology in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from numascope.cpuset import CpuSet

TIED: Final = "\N{NO-BREAK SPACE}"

_LONG_LIST: Final = 20
_FEWEST_STEPS: Final = 3


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 node`, `2,048 nodes`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def gib(kib: int) -> str:
    """A size of memory in GiB without its unit: one decimal below 10."""
    size = kib / (1 << 20)
    return f"{size:,.0f}" if size >= 10 else f"{size:.1f}"


def cache_size(kib: int | None) -> str:
    """`512 KiB`, `1.25 MiB`, `96 GiB`, or `?`."""
    if kib is None:
        return "?"
    for unit, size in (("GiB", 1 << 20), ("MiB", 1 << 10)):
        if kib >= size:
            return f"{f'{kib / size:.2f}'.rstrip('0').rstrip('.')} {unit}"
    return f"{kib} KiB"


def cpu_list(cpus: CpuSet) -> str:
    """The kernel's range list; a long one that goes in steps as `0-78:2`, as taskset(1) writes it."""
    written = str(cpus)
    if len(written) <= _LONG_LIST:
        return written
    stepped = ",".join(_runs(list(cpus)))
    return stepped if len(stepped) < len(written) else written


def cpus_named(cpus: CpuSet) -> str:
    """`CPU 3`, `CPUs 0-3`."""
    return f"{'CPU' if len(cpus) == 1 else 'CPUs'} {cpu_list(cpus)}"


def ordinal(number: int) -> str:
    """`2nd`, `11th`, `21st`."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _runs(ids: Sequence[int]) -> Iterable[str]:
    at = 0
    while at < len(ids):
        end = at + 1
        step = ids[end] - ids[at] if end < len(ids) else 1
        while end < len(ids) and ids[end] - ids[end - 1] == step:
            end += 1
        count = end - at
        if step == 1 and count > 1:
            yield f"{ids[at]}-{ids[end - 1]}"
        elif count >= _FEWEST_STEPS:
            yield f"{ids[at]}-{ids[end - 1]}:{step}"
        else:
            yield str(ids[at])
            end = at + 1
        at = end


def wrap(text: str, width: int, indent: str = "  ") -> list[str]:
    """Breaks a text at blanks, and where a word is longer than a line after its commas; later lines are indented."""
    lines: list[str] = []
    left, lead = text, ""
    while len(lead) + len(left) > width:
        room = width - len(lead)
        cut = left.rfind(" ", 1, room + 1)
        if cut <= 0:
            cut = left.rfind(",", 1, room) + 1 or room
        lines.append(lead + left[:cut].rstrip(" "))
        left, lead = left[cut:].lstrip(" "), indent
    return [line.replace(TIED, " ") for line in (*lines, lead + left)]


def tied(text: str) -> str:
    """The text with blanks at which `wrap` does not break."""
    return text.replace(" ", TIED)


def columns(cells: Sequence[str], least: int, width: int, indent: str) -> list[str]:
    """Cells in as many equal columns as fit, each at least `least` wide, row by row; a cell longer than a line is wrapped."""
    widest = max([least, *map(len, cells)])
    across = max(1, (width - len(indent) + 1) // (widest + 1))
    rows = -(-len(cells) // across)
    across = max(1, -(-len(cells) // max(1, rows)))
    lines = []
    for at in range(0, len(cells), across):
        row = indent + " ".join(cell.ljust(widest) for cell in cells[at : at + across]).rstrip()
        lines += wrap(row, width, indent + "  ")
    return lines


def down_columns(cells: Sequence[str], width: int) -> list[str]:
    """Cells in columns that are read downwards, as few rows as fit."""
    if not cells:
        return []
    widest = max(map(len, cells))
    across = max(1, (width + 2) // (widest + 2))
    rows = -(-len(cells) // across)
    return ["  ".join(cell.ljust(widest) for cell in cells[row::rows]).rstrip() for row in range(rows)]
