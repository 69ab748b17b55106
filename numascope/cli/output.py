"""How text reaches the user: colour on a terminal that wants it, ASCII where it must be."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click

from numascope.show.ink import Line, render


def has_tty() -> bool:
    """Whether the output is a terminal; there may be none at all (`>&-`)."""
    return sys.stdout is not None and sys.stdout.isatty()


def has_user() -> bool:
    """Whether somebody sees the output and can answer: a terminal on both sides."""
    return sys.stdin is not None and sys.stdin.isatty() and has_tty()


def wants_colour(choice: str = "auto") -> bool:
    """Whether to colour: as asked, else on a terminal without NO_COLOR (no-color.org) and TERM=dumb."""
    if choice != "auto":
        return choice == "always"
    return has_tty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def terminal_width(width: int | None) -> int:
    """The asked width, else the terminal's, else 80."""
    if width is not None:
        return width
    if not has_tty():
        return 80
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def wants_ascii() -> bool:
    """Whether the signs must be ASCII: the locale is plain C, or the output cannot carry more."""
    locale = next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "")
    return locale in ("C", "POSIX") or not (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")


def echo_lines(lines: Iterable[Line], *, colour: bool, ascii_only: bool = False) -> None:
    """Prints lines as they are, in ASCII where asked or where the terminal has no more."""
    lines = list(lines)
    if ascii_only or wants_ascii():
        from numascope.show.glyphs import to_ascii

        lines = [to_ascii(line) for line in lines]
    click.echo(render(lines, colour=colour), nl=False, color=colour)


def echo_json(document: dict[str, object], *, indent: int | None = 2) -> None:
    """Prints a document; one line where `indent` is None."""
    import msgspec

    raw = msgspec.json.encode(document)
    click.echo((msgspec.json.format(raw, indent=indent) if indent else raw).decode())
