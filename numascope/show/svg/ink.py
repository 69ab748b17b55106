"""SVG elements as text: colours of the palettes, rectangles, and text that is escaped."""

from __future__ import annotations

import html
import re
from typing import Final, Literal, NamedTuple

from numascope.errors import UsageError

FONT: Final = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
ADVANCE: Final = 0.602
"""The width of a character of these fonts, as a share of the size."""

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow (https://www.w3.org/TR/xml/#charsets)."""


class Palette(NamedTuple):
    """The colours of one theme by what they mean; the same as those of the dashboard."""

    page: str
    panel: str
    text: str
    dim: str
    near: str
    lit: str


PALETTES: Final = {
    "light": Palette("#fbfaf7", "#ebe9e3", "#1b1f24", "#5a626c", "#166446", "#012a7f"),
    "dark": Palette("#12161c", "#232b36", "#d8dee6", "#98a4b3", "#8febb7", "#3391ff"),
    "contrast": Palette("#000000", "#1c1c1c", "#ffffff", "#b4b4b4", "#57ffbe", "#b1d8fa"),
    "blind": Palette("#12161c", "#232b36", "#e6e9ee", "#98a4b3", "#0093ff", "#11d5ff"),
}


def palette(theme: str) -> Palette:
    """The colours of a theme; UsageError where there is none of that name."""
    if theme not in PALETTES:
        raise UsageError(f"no colours called {theme[:40]!r}: give one of {', '.join(PALETTES)}")
    return PALETTES[theme]


def escaped(text: str) -> str:
    """Text for an element or an attribute; what XML does not allow becomes U+FFFD."""
    return html.escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text), quote=True)


def length(text: str, size: float) -> float:
    """How wide a text is, in user units."""
    return len(text) * ADVANCE * size


def rectangle(
    x: float, y: float, width: float, height: float, *, fill: str = "none", stroke: str = "none", radius: float = 3,
    more: str = "", title: str = "",
) -> str:  # fmt: skip
    """A rectangle with round corners; the title is what a viewer shows under the pointer."""
    edge = f' stroke="{stroke}"' if stroke != "none" else ""
    shape = (
        f'<rect x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
        f' rx="{_number(radius)}" fill="{fill}"{edge}{f" {more}" if more else ""}'
    )
    return f"{shape}><title>{escaped(title)}</title></rect>" if title else f"{shape}/>"


def words(
    x: float, y: float, text: str, size: float, fill: str, *, bold: bool = False,
    anchor: Literal["start", "middle", "end"] = "start",
) -> str:  # fmt: skip
    """A line of text whose base line is at y."""
    weight = ' font-weight="bold"' if bold else ""
    at = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{_number(x)}" y="{_number(y)}" font-size="{_number(size)}" fill="{fill}"{weight}{at}>{escaped(text)}</text>'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
