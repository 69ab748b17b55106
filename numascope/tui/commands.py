"""The command palette: the app's keys by what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from textual.app import SystemCommand

from numascope.tui.keys import KEYS

if TYPE_CHECKING:
    from numascope.tui.app import Dashboard


def palette_commands(app: Dashboard) -> Iterator[SystemCommand]:
    """A command for each key of the app; one that does nothing now says why."""
    closed = app.closed_keys()
    for key in KEYS:
        if "app" in key.owners and not key.action.endswith("command_palette"):
            title, _, rest = key.meaning.partition(":")
            why = f"not now, {closed[key.label]}: " if key.label in closed else ""
            yield SystemCommand(
                title.capitalize(), f"{why}{rest.strip()} ({key.label})".strip(), _runner(app, key.action)
            )


def _runner(app: Dashboard, action: str) -> Callable[[], None]:
    def run() -> None:
        app.call_later(app.run_action, action)

    return run
