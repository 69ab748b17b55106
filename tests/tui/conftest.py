from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

GoldenScreen = Callable[[str, str], None]


@pytest.fixture(autouse=True)
def _utc_and_colour(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Screens print local time, and a NO_COLOR of the developer's shell is not this test's."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def golden_screen(request: pytest.FixtureRequest, snapshots: Path) -> GoldenScreen:
    """Compares a screen's text with the one kept; `--update-golden` keeps the new one."""
    update = bool(request.config.getoption("--update-golden"))

    def compare(name: str, text: str) -> None:
        kept = snapshots / "screens" / f"{name}.txt"
        if update:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(text, encoding="utf-8")
        assert kept.is_file(), f"no golden screen {kept}: run pytest with --update-golden and look at it"
        assert text == kept.read_text(encoding="utf-8")

    return compare
