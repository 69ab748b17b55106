"""The palettes as data, and from them the style of every span."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES, Theme

from numascope.show.ink import Line, Span, Token

_TOKENS: Final[tuple[Token, ...]] = (
    "text", "dim", "escape", "stranger", "warn", "near", "far", "lit", "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
)  # fmt: skip


@dataclass
class Palette:
    """A colour for each token, on a page and on a panel; styles are made once each."""

    name: str
    page: str
    panel: str
    colours: Mapping[Token, str]
    dark: bool = True
    ansi: bool = False
    _styles: dict[tuple[Span, bool], Style] = field(default_factory=dict)

    def style(self, span: Span, *, panel: bool) -> Style:
        """The Rich style of a span's token and form."""
        key = (span._replace(text=""), panel)
        found = self._styles.get(key)
        if found is None:
            ground = self.panel if panel else self.page
            found = Style(
                color=self.colours[span.token],
                bgcolor=ground,
                bold=span.bold,
                reverse=span.reverse,
                underline=span.underline,
            )
            self._styles[key] = found
        return found

    def strip(self, line: Line, width: int, *, panel: bool = False) -> Strip:
        """The line as a strip of exactly `width` cells."""
        segments = [Segment(span.text, self.style(span, panel=panel)) for span in line]
        return Strip(segments).adjust_cell_length(width, self.style(Span(""), panel=panel))

    def theme(self) -> Theme:
        """The same colours for what Textual itself draws: input line, scroll bar, palette."""
        colour = {token: f"ansi_{name}" if self.ansi else name for token, name in self.colours.items()}
        page, panel = (f"ansi_{self.page}", f"ansi_{self.panel}") if self.ansi else (self.page, self.panel)
        variables = dict(BUILTIN_THEMES["ansi-dark"].variables) if self.ansi else {}
        return Theme(
            f"numascope-{self.name}", primary=colour["lit"], secondary=colour["near"], warning=colour["warn"],
            error=colour["escape"], success=colour["near"], accent=colour["lit"], foreground=colour["text"],
            background=page, surface=panel, panel=panel, dark=self.dark, ansi=self.ansi, variables=variables,
        )  # fmt: skip


def _palette(name: str, page: str, panel: str, colours: str, *, dark: bool = True) -> Palette:
    return Palette(name, page, panel, dict(zip(_TOKENS, colours.split(), strict=True)), dark)


PALETTES: Final[tuple[Palette, ...]] = (
    _palette(
        "dark", "#12161c", "#232b36",
        "#d8dee6 #98a4b3 #ef6179 #ebb3fd #fef867 #8febb7 #dea644 #3391ff "
        "#c4a692 #eeee8b #87bc43 #b8f5d0 #d7e0ea #b7acd6 #ad78ec #cf759a",
    ),
    _palette(
        "light", "#fbfaf7", "#ebe9e3",
        "#1b1f24 #5a626c #8a150f #a61acd #935e02 #166446 #361308 #012a7f "
        "#260d11 #6c6c24 #273805 #1c5249 #175de8 #0f0fb5 #18053a #975182",
        dark=False,
    ),
    _palette(
        "contrast", "#000000", "#1c1c1c",
        "#ffffff #b4b4b4 #fd8183 #df80ff #fff500 #57ffbe #eab64e #b1d8fa "
        "#f9d3d2 #baa655 #d7fdae #06f91b #66b3bd #be91fc #dfcefd #e78e95",
    ),
    _palette(
        "blind", "#12161c", "#232b36",
        "#e6e9ee #98a4b3 #e99837 #ff4995 #f3f258 #0093ff #f5c8b1 #11d5ff "
        "#c9f90e #e0bfbf #c97c7b #a299bb #a0e6fd #60bc29 #7188fb #f1f4be",
    ),
    Palette(
        "16", "default", "default",
        dict(zip(_TOKENS, (
            "default", "default", "bright_red", "bright_magenta", "yellow", "green", "bright_yellow", "bright_cyan",
            "cyan", "green", "blue", "magenta", "white", "cyan", "green", "blue",
        ), strict=True)),
        ansi=True,
    ),
)  # fmt: skip
"""Dark, light, high contrast, safe for colour-blind eyes, and the 16 colours of any terminal."""

SIXTEEN: Final = PALETTES[-1]
