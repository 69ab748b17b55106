"""What apply and revert share: whether there is somebody to ask, where the journal lies, and how things are printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from numascope.show.ink import Line
    from numascope.show.journal import EntryRow
    from numascope.steer.store import Store


class Style(NamedTuple):
    """How the user wants to read it."""

    as_json: bool
    all_rows: bool
    width: int
    ascii_only: bool

    def lines(self, lines: list[Line]) -> None:
        """Prints text, and nothing where JSON is wanted."""
        from numascope.cli.output import echo_lines, wants_colour

        if not self.as_json and lines:
            echo_lines(lines, colour=wants_colour(), ascii_only=self.ascii_only)

    def text(self, text: str, *, dim: bool = False) -> None:
        """Prints one text, broken at the width."""
        import textwrap

        from numascope.show.ink import Span

        pieces = textwrap.wrap(text, self.width, break_on_hyphens=False, break_long_words=False) or [""]
        self.lines([(Span(piece, "dim" if dim else "text"),) for piece in pieces])

    def blank(self) -> None:
        """Prints an empty line."""
        self.lines([()])

    def document(self, document: dict[str, object]) -> None:
        """Prints a document where JSON is wanted."""
        from numascope.cli.output import echo_json

        if self.as_json:
            echo_json(document)


def need_consent(*, dry_run: bool, yes: bool, as_json: bool) -> None:
    """A usage error where a change is wanted and nobody can be asked: no terminal, or JSON is wanted."""
    from numascope.cli.output import has_user

    if dry_run or yes:
        return
    if as_json or not has_user():
        why = "--json asks nobody" if as_json else "no terminal: there is nobody to ask"
        raise click.UsageError(f"{why}, so nothing is changed. Look at --dry-run first, then give --yes")


def agrees(question: str) -> bool:
    """Whether the user types y; Enter and everything else mean no, and so do keys typed before the question."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    try:
        answer: str = click.prompt(f"{question} y/[n]", default="n", show_default=False, prompt_suffix=": ")
    except click.Abort:
        click.echo()
        return False
    return answer.strip() == "y"


def entry_rows(store: Store, number: int | None) -> tuple[EntryRow, ...]:
    """An entry as it was just written, read back from its file; nothing where nothing was written."""
    from numascope.steer.ledger import read_ledger
    from numascope.steer.listing import row_of

    entry = None if number is None else read_ledger(store).entry(number)
    return () if entry is None else (row_of(entry, store.here),)
