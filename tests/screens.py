"""Runs a dashboard without a terminal and reads its screen as text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from textual.pilot import Pilot

from numascope.host.root import HostRoot
from numascope.review.report import Report
from numascope.tui.app import Dashboard
from numascope.tui.screens.confirm import Confirm
from numascope.tui.steering import Steering

Steps = Callable[[Dashboard, Pilot[None]], Awaitable[None]]


class Scripted:
    """A source that gives the reports of a list, then the last one again; `steps` counts."""

    def __init__(self, *reports: Report, interval_s: float = 1.0) -> None:
        self.interval_s = interval_s
        self._reports = list(reports)
        self.steps = 0
        self.closed = False

    is_recorded = False

    @property
    def pace(self) -> str:
        """As a live session has it."""
        return f"live {self.interval_s:g}s"

    def step(self) -> Report:
        """The next report, numbered."""
        report = self._reports[min(self.steps, len(self._reports) - 1)]
        self.steps += 1
        return replace(report, sample=replace(report.sample, number=self.steps))

    def close(self) -> None:
        """Notes that it was asked to."""
        self.closed = True


STEERING = Steering(HostRoot(), {"NUMASCOPE_STATE": "/nowhere"}, uid=1004, may_set_others=True)
"""May change everything and has never changed anything."""


def dashboard(
    *shown: Report, theme: str = "dark", ascii_only: bool = False, steering: Steering | None = STEERING
) -> Dashboard:
    """An app whose clock stands still and whose own size is always the same."""
    return Dashboard(
        Scripted(*shown),
        theme=theme,
        ascii_only=ascii_only,
        clock=lambda: 0.0,
        resident_mib=lambda: 38,
        steering=steering,
    )


def screen_text(app: Dashboard) -> str:
    """What stands on the screen, a line a row, without trailing blanks."""
    strips = app.screen._compositor.render_strips()
    return "".join(strip.text.rstrip() + "\n" for strip in strips)


def screen_rows(app: Dashboard) -> list[str]:
    """The same as rows at their full width."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


async def settled(pilot: Pilot[None], app: Dashboard) -> None:
    """Waits until the first report is drawn."""
    deadline = time.monotonic() + 20
    while app.report is None and time.monotonic() < deadline:
        await pilot.pause(0.02)
    await pilot.pause()
    await pilot.pause()


def drive(app: Dashboard, size: tuple[int, int], keys: Sequence[str] = (), steps: Steps | None = None) -> str:
    """Runs the app in a window of that size, presses the keys, takes the steps, and gives the screen's text."""

    async def run() -> str:
        async with app.run_test(size=size) as pilot:
            await settled(pilot, app)
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            await pilot.pause()
            if steps is not None:
                await steps(app, pilot)
            return screen_text(app)

    return asyncio.run(run())


async def until(pilot: Pilot[None], holds: Callable[[], bool], within_s: float = 20.0) -> None:
    """Waits until something comes true."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, screen_text(pilot.app)  # type: ignore[arg-type]
        await pilot.pause(0.02)
    await pilot.pause()


def is_asking(app: Dashboard) -> bool:
    """Whether the question can be answered."""
    return isinstance(app.screen, Confirm) and app.screen.state == "asking" and app.screen._yes_from <= time.monotonic()
