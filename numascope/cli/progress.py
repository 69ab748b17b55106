"""How far a long act is: a bar that is drawn over on a terminal, a line every few seconds elsewhere, nothing where JSON is wanted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from numascope.cli.steering import Style

_BAR_EVERY_S: Final = 0.1
_LINE_EVERY_S: Final = 5.0


class Progress:
    """Counts pages towards a total."""

    def __init__(self, total: int, style: Style) -> None:
        from numascope.cli.output import has_tty

        self._total = total
        self._width = style.width
        self._silent = style.as_json
        self._bar = has_tty()
        self._done = 0
        self._began_s = time.monotonic()
        self._said_s = self._began_s

    def add(self, pages: int) -> None:
        """Counts pages that were dealt with, and says so when it is time."""
        self._done += pages
        now_s = time.monotonic()
        if not self._silent and now_s - self._said_s >= (_BAR_EVERY_S if self._bar else _LINE_EVERY_S):
            self._said_s = now_s
            self._say(now_s)

    def end(self) -> None:
        """Leaves the last state, and the terminal at the beginning of a line."""
        if not self._silent and self._done:
            self._say(time.monotonic())
            if self._bar:
                click.echo()

    def _say(self, now_s: float) -> None:
        from numascope.show.move import progress_text

        text = progress_text(self._done, self._total, now_s - self._began_s, bar=self._bar, width=self._width)
        click.echo(f"\r\x1b[K{text}" if self._bar else text, nl=not self._bar)
