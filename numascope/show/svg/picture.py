"""The text of `numascope topo --format svg`: the boxes of a machine as one picture without scripts or fonts of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numascope.machine.objects import Machine
from numascope.machine.walk import Walk, walk
from numascope.show.boxes.box import Box
from numascope.show.boxes.cells import acrosses
from numascope.show.boxes.content import boxes_of
from numascope.show.boxes.fold import depth_of, folded
from numascope.show.boxes.legend import core_signs
from numascope.show.svg.blocks import Block, across_of, area, block, drawn, more_lines
from numascope.show.svg.cores import core
from numascope.show.svg.ink import FONT, Palette, escaped, length, palette, rectangle, words
from numascope.show.topo.asides import overlap_words
from numascope.show.topo.facts import (
    cache_lines,
    core_lines,
    counts,
    device_lines,
    distance_lines,
    kind_lines,
    machine_name,
)
from numascope.show.topo.words import wrap

_MARGIN: Final = 20.0
_NAME: Final = 16.0
_SMALL: Final = 10.5
_LINE: Final = 16.0
_GAP: Final = 8.0
_MOST_CORES: Final = 4_096
"""More cores than this are folded: a picture of them all could not be read."""
_LEAST_WIDTH: Final = 420.0
_LEAST_CHARACTERS: Final = 60


def svg_text(machine: Machine, theme: str = "light") -> str:
    """The machine as SVG 1.1 in the colours of `light`, `dark`, `contrast` or `blind`; UsageError for another theme."""
    colours = palette(theme)
    walked = walk(machine)
    whole = boxes_of(machine, walked)
    boxes = (
        whole if sum(box.cores for box in whole) <= _MOST_CORES else folded(whole, frozenset(range(depth_of(whole))))
    )
    main = [block(box) for box in boxes if isinstance(box, Box)]
    more = [line for box in boxes if not isinstance(box, Box) for line in more_lines(box)]
    rows = _alike(main)
    inner = max(area(row, across_of(row))[0] for row in rows)
    sides = [max(across_of(row), _fitting(row, inner) if at else 1) for at, row in enumerate(rows)]
    inner = max(_LEAST_WIDTH, inner, *(length(line, _SMALL) for line in more))
    name, amounts = machine_name(machine), ", ".join(counts(machine, "unknown"))
    y = _MARGIN + _NAME
    parts = [words(_MARGIN, y, name, _NAME, colours.text, bold=True)]
    inner = max(inner, length(name, _NAME), length(amounts, _SMALL))
    y += _LINE + 2
    parts.append(words(_MARGIN, y, amounts, _SMALL, colours.dim))
    y += _LINE
    for row, across in zip(rows, sides, strict=True):
        parts += drawn(row, _MARGIN, y, across, colours)
        y += area(row, across)[1] + _GAP
    y += _LINE
    legend, y = _legend(machine, whole, [*more, *_texts(machine, walked, inner)], y, inner, colours)
    return _document(name, amounts, [*parts, *legend], (inner + 2 * _MARGIN, y + _MARGIN - 8), colours)


def _alike(blocks: Sequence[Block]) -> list[list[Block]]:
    """Neighbours in runs: boxes around others, boxes with cores, boxes without."""
    runs: list[list[Block]] = []
    for one in blocks:
        if runs and _look(runs[-1][0]) == _look(one):
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def _fitting(blocks: Sequence[Block], width: float) -> int:
    """How many side by side fit in a width, all rows as full as can be."""
    fitting = [across for across in acrosses(len(blocks)) if area(blocks, across)[0] <= width]
    return max(fitting, default=1)


def _look(one: Block) -> tuple[bool, bool, bool]:
    return bool(one.inside), bool(one.box.runs), bool(one.box.cpus)


def _texts(machine: Machine, walked: Walk, width: float) -> list[str]:
    """Sibling rule, caches, devices, distances and notes, in lines that fit the picture."""
    characters = max(_LEAST_CHARACTERS, int(width / length("x", _SMALL)))
    texts = [
        *overlap_words(walked.overlaps),
        *core_lines(machine),
        *kind_lines(machine),
        *cache_lines(machine),
        *device_lines(machine, characters),
        *distance_lines(machine, characters),
        *machine.notes,
    ]
    return [line for text in texts for line in wrap(text, characters)]


def _legend(
    machine: Machine, boxes: Sequence[Box], texts: Sequence[str], y: float, width: float, colours: Palette
) -> tuple[list[str], float]:
    """The signs of cores with their meaning, then the texts; with where the next line would stand."""
    parts: list[str] = []
    x = _MARGIN
    for name, threads, meaning in core_signs(machine, boxes):
        room = 18 + length(meaning, _SMALL) + 18
        if x > _MARGIN and x + room > _MARGIN + width:
            x, y = _MARGIN, y + _LINE + 2
        parts += core(x, y - 10, name, threads, meaning, colours)
        parts.append(words(x + 18, y, meaning, _SMALL, colours.dim))
        x += room
    for text in texts:
        y += _LINE
        parts.append(words(_MARGIN, y, text, _SMALL, colours.dim))
    return parts, y + _LINE


def _document(name: str, amounts: str, parts: Sequence[str], size: tuple[float, float], colours: Palette) -> str:
    width, height = (round(each) for each in size)
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img" aria-labelledby="title desc"'
        f' font-family="{escaped(FONT)}" xml:space="preserve">'
    )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        start,
        f'<title id="title">{escaped(name)}</title>',
        f'<desc id="desc">{escaped(amounts)}</desc>',
        rectangle(0, 0, width, height, fill=colours.page, radius=0),
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
