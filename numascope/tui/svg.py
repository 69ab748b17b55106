"""A picture of the dashboard as SVG, made without a terminal: what the README shows."""

from __future__ import annotations

import asyncio
import html
import os
import re
from collections.abc import Sequence
from typing import Final

from numascope.tui.app import Dashboard
from numascope.tui.source import ReportSource, is_recording
from numascope.tui.steering import Steering

_LONGEST_WAIT_S: Final = 20.0
_PAUSE_S: Final = 0.05
_TEXT: Final = re.compile(r'(<text [^>]*?x=")([\d.]+)("[^>]*?textLength=")([\d.]+)("[^>]*>)([^<]*)</text>')


def screenshot_svg(
    source: ReportSource,
    width: int = 120,
    height: int = 40,
    *,
    keys: Sequence[str] = (),
    theme: str = "dark",
    reports: int = 1,
    title: str = "numascope",
) -> str:
    """The screen in a window of that size after so many reports and these keys."""

    async def run() -> str:
        app = Dashboard(source, theme=theme, steering=Steering.live(os.environ, read_only=is_recording(source)))
        async with app.run_test(size=(width, height)) as pilot:
            waited = 0.0
            while waited < _LONGEST_WAIT_S and (app.report is None or app.report.sample.number < reports):
                await pilot.pause(_PAUSE_S)
                waited += _PAUSE_S
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            await pilot.pause()
            return _upright(app.export_screenshot(title=title))

    return asyncio.run(run())


def _upright(svg: str) -> str:
    """Leading blanks of a text become part of its place: some viewers drop them, and columns would shift."""
    return _TEXT.sub(_shifted, svg)


def _shifted(found: re.Match[str]) -> str:
    head, x, middle, length, tail, text = found.groups()
    plain = html.unescape(text)
    characters = len(plain)
    blanks = characters - len(plain.lstrip("\u00a0"))
    if not blanks or blanks == characters:
        return found[0]
    step = float(length) / characters
    rest = text.replace("&#160;", "\u00a0").lstrip("\u00a0").replace("\u00a0", "&#160;")
    return f"{head}{float(x) + blanks * step:.2f}{middle}{float(length) - blanks * step:.2f}{tail}{rest}</text>"
