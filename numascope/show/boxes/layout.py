"""Where each box stands: how many side by side, how wide, how tall; the fewest lines that the width allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

from numascope.show.boxes.box import Box, More
from numascope.show.boxes.cells import Grid, acrosses, grid_of, least_width
from numascope.show.boxes.rows import one_line, own_lines
from numascope.show.canvas import cells
from numascope.show.topo.words import columns, wrap

WALLS: Final = 4
"""Cells that a box takes beside what is in it: two walls and two blanks."""
TITLE_ENDS: Final = 6
"""`┌─ ` and ` ─┐` around a title."""
_WIDEST_FACT: Final = 32
"""A fact longer than this may be broken to get more boxes side by side."""

FULL: Final = 0.75
"""What needs this much of a width may be stretched to all of it."""

LEAST_WIDTH: Final = 24
"""Below this a picture of boxes in boxes is no picture any more."""

_NEARLY: Final = 1.2
"""What boxes in a box may take more lines by, to stand beside each other."""

_INDENT: Final = "  "


class Flow(NamedTuple):
    """Frames side by side: how many, how wide each, blanks between them, their form, and the lines within each row of frames."""

    across: int
    width: int
    gap: int
    compact: bool
    """Each says all in one line."""
    titled: bool
    """Each says all but its cores in its frame."""
    heights: tuple[int, ...]

    @property
    def lines(self) -> int:
        """All rows with their frames."""
        return sum(height + 2 for height in self.heights)


class Segment(NamedTuple):
    """Neighbours that are drawn alike: frames of their own, cells with shared walls, or one text of what was folded."""

    kind: Literal["flow", "grid", "more"]
    boxes: tuple[Box, ...] = ()
    more: More | None = None


def segments(items: Sequence[Box | More], *, outermost: bool = False) -> Iterator[Segment]:
    """The items in runs that are drawn alike; the outermost boxes always have frames of their own."""
    run: list[Box] = []

    def finished() -> Iterator[Segment]:
        if run:
            is_grid = run[0].is_cell and not outermost
            yield Segment("grid" if is_grid else "flow", tuple(run))
            run.clear()

    for item in items:
        if isinstance(item, More):
            yield from finished()
            yield Segment("more", more=item)
            continue
        if run and _look(run[0]) != _look(item):
            yield from finished()
        run.append(item)
    yield from finished()


def _look(box: Box) -> tuple[object, ...]:
    """What neighbours must have in common to be drawn in one row."""
    return bool(box.inside), box.is_cell, bool(box.cores), bool(box.cpus)


def more_lines(more: More, width: int) -> list[str]:
    """What was folded, in words: a heading, and an entry for each in columns."""
    widest = max(map(len, more.entries))
    return [*wrap(more.title, width), *columns(more.entries, widest + 2, width, _INDENT)]


class Geometry:
    """Sizes of boxes, each found once for boxes that take the same room."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._shapes: dict[int, int] = {}
        self._flows: dict[tuple[tuple[int, ...], int], Flow] = {}
        self._grids: dict[tuple[tuple[int, ...], int], Grid] = {}
        self._heights: dict[tuple[int, int, bool], int] = {}
        self._least: dict[int, int] = {}
        self._kept: list[Box] = []

    def shape(self, box: Box) -> int:
        """A number that boxes have in common if they take the same room at every width."""
        known = self._shapes.get(id(box))
        if known is None:
            facts = tuple(fact if len(fact) > LEAST_WIDTH else len(fact) for fact in (*box.head, "", *box.tail))
            runs = tuple((run.label, tuple(map(len, run.groups)), len(str(max(run.firsts)))) for run in box.runs)
            inside = tuple(
                self.shape(item) if isinstance(item, Box) else (item.title, item.entries) for item in box.inside
            )
            labels = (len(box.title), len(box.labels), box.label_widths, box.cpu_width)
            known = self._numbers.setdefault((facts, runs, inside, labels), len(self._numbers))
            self._shapes[id(box)] = known
            self._kept.append(box)
        return known

    def flow(self, boxes: Sequence[Box], width: int) -> Flow:
        """The frames in the way that takes the fewest lines; of (nearly) equal ones the fewest side by side, so that a package is a line."""
        key = (tuple(map(self.shape, boxes)), width)
        if key not in self._flows:
            self._flows[key] = self._best_flow(boxes, width)
        return self._flows[key]

    def _best_flow(self, boxes: Sequence[Box], width: int) -> Flow:
        least = max(self.least(box) for box in boxes)
        found = [self._flow(boxes, 1, width)]
        for across in acrosses(len(boxes))[1:]:
            if (width - across + 1) // across < least:
                break
            found.append(self._flow(boxes, across, width))
        fewest = min(flow.lines for flow in found)
        return next(
            flow
            for flow in found
            if flow.lines == fewest or (flow.lines <= fewest * _NEARLY and self._fills(boxes, flow))
        )

    def _fills(self, boxes: Sequence[Box], flow: Flow) -> bool:
        """Whether what is in boxes around others would take more lines in much narrower ones."""
        narrower = int(flow.width * FULL)
        return any(
            box.inside
            and self.height(box, narrower, titled=flow.titled) > self.height(box, flow.width, titled=flow.titled)
            for box in boxes
        )

    def _flow(self, boxes: Sequence[Box], across: int, width: int) -> Flow:
        each = (width - across + 1) // across
        spare = width - across * each - (across - 1)
        gap = 2 if across > 1 and spare >= across - 1 else 1
        short = [one_line(box) for box in boxes]
        compact = all(line is not None and cells(line) <= each - WALLS for line in short)
        titled = all(len(title_words(box)) + TITLE_ENDS <= each for box in boxes if box.inside)
        heights = [1 if compact else self.height(box, each, titled=titled) for box in boxes]
        rows = tuple(max(heights[at : at + across]) for at in range(0, len(boxes), across))
        return Flow(across, each, gap, compact, titled, rows)

    def least(self, box: Box) -> int:
        """The width below which its title or a fact would be broken."""
        shape = self.shape(box)
        if shape not in self._least:
            inner = [min(len(fact), _WIDEST_FACT) for fact in (*box.head, *box.tail)]
            inner += [len(run.label) + 2 + max(map(len, run.groups)) for run in box.runs]
            for segment in segments(box.inside):
                if segment.kind == "flow":
                    inner += [self.least(one) for one in segment.boxes]
                elif segment.kind == "grid":
                    inner.append(least_width(segment.boxes))
            self._least[shape] = max(len(box.title) + TITLE_ENDS, max(inner, default=0) + WALLS)
        return self._least[shape]

    def height(self, box: Box, width: int, *, titled: bool) -> int:
        """Lines within its frame at that width."""
        key = (self.shape(box), width, titled)
        if key not in self._heights:
            inner = width - WALLS
            own = len(own_lines(box, inner, facts=not (titled and box.inside)))
            self._heights[key] = own + sum(self.segment_height(one, inner) for one in segments(box.inside))
        return self._heights[key]

    def segment_height(self, segment: Segment, width: int) -> int:
        """Lines of a run of neighbours with their frames."""
        if segment.more is not None:
            return len(more_lines(segment.more, width))
        if segment.kind == "grid":
            return self.grid(segment.boxes, width).lines
        return self.flow(segment.boxes, width).lines

    def grid(self, boxes: Sequence[Box], width: int) -> Grid:
        """The cells in the way that takes the fewest lines."""
        key = (tuple(map(self.shape, boxes)), width)
        if key not in self._grids:
            self._grids[key] = grid_of(boxes, width)
        return self._grids[key]


def title_words(box: Box) -> str:
    """Names and all facts, as they stand in the frame of a box around others."""
    return " · ".join((*box.names, *box.head, *box.tail))
