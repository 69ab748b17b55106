"""The light: one thread, shown on the map where it is planned, where it is allowed and where it ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numascope.tui.widgets.pick_list import PickList

if TYPE_CHECKING:
    from numascope.observe.sample import ThreadKey
    from numascope.review.report import Placement
    from numascope.tui.app import Dashboard


class Light:
    """Which thread is lit in one dashboard; lives in the thread of the screen."""

    def __init__(self, app: Dashboard) -> None:
        self._app = app
        self._key: ThreadKey | None = None

    @property
    def placement(self) -> Placement | None:
        """The lit thread, as the report on the screen has it."""
        report = self._app.report
        if report is None or self._key is None:
            return None
        return next((one for one in report.placements if one.key == self._key), None)

    def put_on(self, key: ThreadKey) -> None:
        """Lights a thread and goes to the map; no finding is picked there."""
        self._app.get_screen("overview").query(PickList).first().pick(None)
        self._show(key)

    def put_on_finding(self, at: int) -> None:
        """Lights the first thread of a finding; a finding without threads opens in full."""
        report = self._app.report
        if report is None or at >= len(report.findings):
            return
        keys = report.findings[at].keys
        if keys:
            self._show(keys[0])
        else:
            self._app.action_show("findings")
            self._app.get_screen("findings").query_one(PickList).pick(at)

    def put_out(self) -> bool:
        """Puts it out; tells whether there was one."""
        had, self._key = self._key is not None, None
        return had

    def _show(self, key: ThreadKey) -> None:
        self._key = key
        self._app.action_show("overview")
        self._app.redraw()
