"""What stands below the picture of boxes: the signs that were used, and what all parts have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from numascope.cpuset import EMPTY
from numascope.machine.objects import Machine
from numascope.machine.walk import Walk
from numascope.show.boxes.box import Box, More
from numascope.show.boxes.cores import CoreRun
from numascope.show.canvas import cells, joined
from numascope.show.glyphs import CORES, LIT_CORES, mark
from numascope.show.ink import Line, Span
from numascope.show.topo.asides import overlap_words, stepped_words
from numascope.show.topo.details import detail_lines
from numascope.show.topo.facts import cache_lines, core_lines, device_lines, distance_lines, group_lines, kind_lines
from numascope.show.topo.words import cpu_list, plural, wrap

_MEANINGS: Final = {
    "many": "core with more threads",
    "lone": "CPU of no known core",
    "isolated": "isolated",
    "isolated-part": "isolated in part",
    "denied": "not allowed",
    "denied-part": "not allowed in part",
    "offline": "offline",
    "lit": "may run on all of the core",
    "lit-part": "on a part of it",
    "unlit": "may not",
}


def legend_lines(machine: Machine, walked: Walk, boxes: Sequence[Box | More], width: int) -> list[Line]:
    """Signs, sibling rule, caches, clocks, memory, devices, distances and notes, none wider than `width`."""
    found = _signs(machine, boxes, width)
    facts = [
        *overlap_words(walked.overlaps),
        *group_lines(machine),
        *core_lines(machine),
        *kind_lines(machine),
        *cache_lines(machine),
        *detail_lines(machine),
    ]
    asides = [*stepped_words(_texts(boxes)), *(f"- {note}" for note in machine.notes)]
    found += [(Span(text),) for text in _joined(facts, width)]
    found += [(Span(text),) for text in device_lines(machine, width)]
    found += [(Span(line),) for text in distance_lines(machine, width) for line in wrap(text, width)]
    return found + [(Span(line, "dim"),) for aside in asides for line in wrap(aside, width)]


def _joined(facts: Sequence[str], width: int) -> list[str]:
    """The facts in order, short ones in one line."""
    lines: list[str] = []
    for fact in facts:
        if lines and len(lines[-1]) + 2 + len(fact) <= width:
            lines[-1] += f"; {fact}"
        else:
            lines.append(fact)
    return [piece for line in lines for piece in wrap(line, width)]


def _runs(boxes: Iterable[Box | More]) -> Iterator[CoreRun]:
    for box in boxes:
        if isinstance(box, Box):
            yield from box.runs
            yield from _runs(box.inside)


def core_signs(machine: Machine, boxes: Iterable[Box | More]) -> list[tuple[str, int, str]]:
    """The signs that are drawn: name, threads of such a core, meaning."""
    used = {glyph for run in _runs(boxes) for group in run.groups for glyph in group}
    told: set[str] = set()
    return [
        (name, int(name) if name.isdecimal() else 1, _meaning(name, machine, told))
        for name, glyph in (*CORES.items(), *LIT_CORES.items())
        if glyph in used
    ]


def _signs(machine: Machine, boxes: Sequence[Box | More], width: int) -> list[Line]:
    """Each sign that was drawn, with its meaning, and what a group is; as many in a line as fit."""
    entries = [((CORES | LIT_CORES)[name], meaning) for name, _, meaning in core_signs(machine, boxes)]
    texts: list[tuple[Span, ...]] = [(mark(glyph), Span(f" {meaning}")) for glyph, meaning in entries]
    if groups := sorted({run.word for run in _runs(boxes) if run.word}):
        texts.append((Span(f"a group is {' or '.join(groups)}"),))
    lines: list[Line] = []
    for spans in texts:
        if lines and cells(lines[-1]) + 3 + cells(spans) <= width:
            lines[-1] = joined([*lines[-1], Span("   "), *spans])
        elif cells(spans) <= width:
            lines.append(joined(spans))
        else:
            first, *rest = wrap(spans[-1].text, width - 1)
            lines += [joined([*spans[:-1], Span(first)]), *((Span(line),) for line in rest)]
    return lines


def _meaning(name: str, machine: Machine, told: set[str]) -> str:
    """The words for a sign, with the CPUs that are isolated or not allowed, once."""
    if name.isdecimal():
        return f"core with {plural(int(name), 'thread')}"
    what = name.removesuffix("-part")
    cpus = {
        "isolated": machine.cpus.isolated | machine.cpus.partitioned,
        "denied": machine.cpus.online - (machine.cpus.allowed or EMPTY),
    }.get(what)
    if not cpus or what in told:
        return _MEANINGS[name]
    told.add(what)
    return f"{_MEANINGS[name]}: {cpu_list(cpus)}"


def _texts(boxes: Iterable[Box | More]) -> Iterator[str]:
    for box in boxes:
        if isinstance(box, More):
            yield from box.entries
        else:
            yield from (*box.head, *box.labels[:1])
            yield from _texts(box.inside)
