"""Boxes of a machine as rectangles: each as large as what is in it, neighbours of one size, near a pleasant shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from numascope.show.boxes.box import Box, More
from numascope.show.boxes.cells import acrosses
from numascope.show.svg.cores import CORE, cores, groups_a_row, run_size
from numascope.show.svg.ink import Palette, length, rectangle, words

_PAD: Final = 10.0
_GAP: Final = 8.0
_TITLE: Final = 12.0
_SMALL: Final = 10.0
_LINE: Final = 15.0
_CHIP: Final = 16.0
_CHIP_GAP: Final = 5.0
_BAR: Final = 4.0
_BAR_GAP: Final = 3.0
_RUN_GAP: Final = 6.0
_WIDE: Final = 1.6
"""Width over height that boxes in a box come close to."""
_EMPTY: Final = 4.0
"""How much worse than a bad shape empty places are."""


@dataclass(frozen=True, slots=True)
class Block:
    """A box with its size in user units and what it was made of."""

    box: Box
    width: float
    height: float
    per_row: tuple[int, ...]
    """Groups a row, for each kind of cores."""
    across: int
    inside: tuple[Block, ...]
    more: tuple[str, ...]
    """Lines of what was folded."""


def block(box: Box) -> Block:
    """The box and all in it, measured."""
    inside = tuple(block(one) for one in box.inside if isinstance(one, Box))
    more = tuple(line for one in box.inside if isinstance(one, More) for line in more_lines(one))
    per_row = tuple(groups_a_row(run) for run in box.runs)
    across = across_of(inside)
    widths = [
        length("x" * max(len(title_of(box)), _label_room(box)), _TITLE if box.names else _SMALL),
        *(length(fact, _SMALL) for fact in (*facts_of(box), *more)),
        length("x" * max(0, box.cpu_width - len(box.cpu_words)), _SMALL) + length("".join(facts_of(box)[:1]), _SMALL),
        *(run_size(run, each)[0] + _label_width(box) for run, each in zip(box.runs, per_row, strict=True)),
        sum(map(_chip_width, chips_of(box))) - _CHIP_GAP,
        area(inside, across)[0],
    ]
    found = Block(box, max(widths) + 2 * _PAD, 0.0, per_row, across, inside, more)
    parts = [height for height in _heights(found) if height]
    return replace(found, height=sum(parts) + _GAP * (len(parts) - 1) + 2 * _PAD)


def _heights(one: Block) -> tuple[float, ...]:
    """Of its names and facts, its cores, what is inside, what was folded, and its devices; 0 where there is none."""
    box = one.box
    bar = _BAR + _BAR_GAP if _used(box) is not None else 0.0
    runs = [run_size(run, each)[1] for run, each in zip(box.runs, one.per_row, strict=True)]
    return (
        _LINE * (bool(title_of(box)) + len(facts_of(box))) + bar,
        sum(runs) + _RUN_GAP * (len(runs) - 1) if runs else 0.0,
        area(one.inside, one.across)[1],
        _LINE * len(one.more),
        _CHIP if chips_of(box) else 0.0,
    )


def across_of(blocks: Sequence[Block]) -> int:
    """How many side by side come nearest to a pleasant shape; a row that is less than full counts as worse."""
    if not blocks:
        return 1

    def strain(across: int) -> float:
        width, height = area(blocks, across)
        empty = -len(blocks) % across / len(blocks)
        return abs(math.log(width / height / _WIDE)) + _EMPTY * empty

    return min(acrosses(len(blocks)), key=lambda across: (strain(across), across))


def area(blocks: Sequence[Block], across: int) -> tuple[float, float]:
    """The size of blocks side by side in rows: all as wide as the widest, each row as high as its highest."""
    if not blocks:
        return 0.0, 0.0
    rows = [blocks[at : at + across] for at in range(0, len(blocks), across)]
    width = max(one.width for one in blocks)
    return (
        across * width + (across - 1) * _GAP,
        sum(max(one.height for one in row) for row in rows) + (len(rows) - 1) * _GAP,
    )


def drawn(blocks: Sequence[Block], x: float, y: float, across: int, colours: Palette, depth: int = 0) -> list[str]:
    """Blocks in rows from that corner on; grounds alternate with the depth."""
    found: list[str] = []
    width = max((one.width for one in blocks), default=0.0)
    for at in range(0, len(blocks), across):
        row = blocks[at : at + across]
        height = max(one.height for one in row)
        for place, one in enumerate(row):
            found += _box(one, x + place * (width + _GAP), y, width, height, colours, depth)
        y += height + _GAP
    return found


def _box(one: Block, x: float, y: float, width: float, height: float, colours: Palette, depth: int) -> list[str]:
    box = one.box
    ground = colours.page if depth % 2 else colours.panel
    edge = f'stroke-opacity="{0.55 if depth == 0 else 0.35}"'
    title = ": ".join(filter(None, [box.title or "cache", str(box.cpus)]))
    found = ["<g>", rectangle(x, y, width, height, fill=ground, stroke=colours.dim, radius=6, more=edge, title=title)]
    left = x + _PAD
    tops = []
    at = y + _PAD
    for size in _heights(one):
        tops.append(at)
        at += size + _GAP if size else 0.0
    found += _heading(box, left, tops[0], width - 2 * _PAD, colours)
    at = tops[1]
    for number, (run, per_row) in enumerate(zip(box.runs, one.per_row, strict=True)):
        if run.label:
            found.append(words(left, at + CORE - 2, run.label, _SMALL, colours.dim))
        found += cores(run, per_row, left + _label_width(box), at, colours, faint=number > 0)
        at += run_size(run, per_row)[1] + _RUN_GAP
    found += drawn(one.inside, left, tops[2], one.across, colours, depth + 1)
    found += [words(left, tops[3] + 10 + _LINE * at, line, _SMALL, colours.dim) for at, line in enumerate(one.more)]
    for chip in chips_of(box):
        found += _chip(chip, left, tops[4], colours)
        left += _chip_width(chip)
    return [*found, "</g>"]


def _heading(box: Box, left: float, at: float, width: float, colours: Palette) -> list[str]:
    """Names, facts, and a bar of the memory in use."""
    found = []
    if title_of(box):
        size = _TITLE if box.names else _SMALL
        found.append(words(left, at + 10, title_of(box), size, colours.text, bold=bool(box.names)))
        at += _LINE
    for fact in facts_of(box):
        found.append(words(left, at + 10, fact, _SMALL, colours.dim))
        at += _LINE
    if (used := _used(box)) is not None:
        found += _bar(left, at + _BAR_GAP - 1, width, used, colours)
    return found


def _label_room(box: Box) -> int:
    """The longest label of any small box of its kind, so that these are of one size."""
    if box.labels:
        return box.label_widths[min(1, len(box.labels) - 1)]
    return box.label_widths[0] if box.is_cell else 0


def title_of(box: Box) -> str:
    """Its names; of a cache its CPUs."""
    return box.title or (box.labels[min(1, len(box.labels) - 1)] if box.labels else "")


def facts_of(box: Box) -> list[str]:
    """CPUs and caches in a line, memory in another."""
    return [" · ".join(facts) for facts in (box.head, box.memory) if facts]


def more_lines(more: More) -> list[str]:
    """What was folded, a line each."""
    return [more.title, *(entry.replace("\N{NO-BREAK SPACE}", " ") for entry in more.entries)]


def chips_of(box: Box) -> list[str]:
    """Devices, one by one: `npu d0`."""
    found = []
    for part in filter(None, box.devices.split(", ")):
        kind, *names = part.split(" ")
        found += [f"{kind} {name}" for name in names]
    return found


def _chip_width(text: str) -> float:
    return length(text, _SMALL) + 12 + _CHIP_GAP


def _chip(text: str, x: float, y: float, colours: Palette) -> list[str]:
    width = _chip_width(text) - _CHIP_GAP
    return [
        rectangle(x, y, width, _CHIP, stroke=colours.near, radius=8),
        words(x + width / 2, y + 11.5, text, _SMALL, colours.near, anchor="middle"),
    ]


def _used(box: Box) -> float | None:
    """The share of its memory that is in use, of a box that is one node."""
    if not box.memory or len(box.nodes) != 1:
        return None
    node = box.nodes[0]
    if not node.memory_kib or node.free_kib is None:
        return None
    return min(1.0, max(0.0, 1 - node.free_kib / node.memory_kib))


def _bar(x: float, y: float, width: float, used: float, colours: Palette) -> list[str]:
    return [
        rectangle(
            x,
            y,
            width,
            _BAR,
            fill=colours.dim,
            radius=2,
            more='fill-opacity="0.25"',
            title=f"{used:.0%} of memory in use",
        ),
        *([rectangle(x, y, max(_BAR, width * used), _BAR, fill=colours.dim, radius=2)] if used > 0 else []),
    ]


def _label_width(box: Box) -> float:
    widest = max((len(run.label) for run in box.runs), default=0)
    return length("x" * (widest + 1), _SMALL) if widest else 0.0
