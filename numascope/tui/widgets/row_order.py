"""Which thread stands in which row: rows hold still between ticks, new ones join the end, gone ones stay a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from numascope.observe.sample import ThreadKey
from numascope.review.report import Placement, Report
from numascope.show.rows import sorted_placements

GONE_SAMPLES: Final = 10
"""A thread that ended keeps its row for so many samples."""


class Row(NamedTuple):
    """A thread as last seen; `gone` is how many samples ago it was, 0: it is there."""

    placement: Placement
    gone: int


class RowOrder:
    """The rows of a table over time: order is made when a sort is chosen, not at each tick."""

    def __init__(self) -> None:
        self._rows: dict[ThreadKey, Row] = {}
        self._sample: int | None = None
        self.sort = "verdict"

    def rows(self) -> list[Row]:
        """The rows, top first."""
        return list(self._rows.values())

    def sort_by(self, sort: str) -> None:
        """Orders the rows anew, gone ones last."""
        self.sort = sort
        there = {
            one.key: Row(one, 0)
            for one in sorted_placements([row.placement for row in self._rows.values() if not row.gone], sort)
        }
        self._rows = {**there, **{key: row for key, row in self._rows.items() if row.gone}}

    def update(self, report: Report, wanted: Callable[[Report, Placement], bool]) -> None:
        """Takes in a report: known rows keep their place, whatever they say now."""
        fresh = {one.key: one for one in report.placements if wanted(report, one)}
        alive = {one.key for one in report.placements}
        tick = self._sample != report.sample.number
        self._sample = report.sample.number
        first = not self._rows
        kept: dict[ThreadKey, Row] = {}
        for key, row in self._rows.items():
            seen = fresh.get(key)
            if seen is not None:
                kept[key] = Row(seen, 0)
            elif row.gone + tick <= GONE_SAMPLES and key not in alive:
                kept[key] = Row(row.placement, row.gone + tick)
        for key, placement in fresh.items():
            kept.setdefault(key, Row(placement, 0))
        self._rows = kept
        if first:
            self.sort_by(self.sort)

    def clear(self) -> None:
        """Forgets all rows: what comes next is ordered as on entering the screen."""
        self._rows = {}
