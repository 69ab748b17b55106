"""A question before something is changed, and in its place what became of it; only `y` means yes."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Final, Literal, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.message import Message
from textual.screen import ModalScreen

from numascope.show.canvas import wrapped
from numascope.show.dialog import beside, body_rows, centred, frame_height, framed, inner_width
from numascope.show.ink import Line, Span
from numascope.tui.keys import actions_of
from numascope.tui.screens.page import SMALLEST
from numascope.tui.widgets.lines import LinesView

_ACTIONS: Final = actions_of("dialog")
_MOST_COLUMNS: Final = 110
_MARGIN: Final = 6
_MARGIN_ROWS: Final = 2
_AGAIN_S: Final = 1.0
"""So long `y` waits after the list has changed."""

Body = Callable[[int], Sequence[Line]]
"""The list, for so many cells."""


class Question(NamedTuple):
    """What is asked; `promise` is said below the list, `yes` beside the key (empty: nothing is left to say yes to)."""

    title: str
    body: Body
    promise: str
    yes: str
    kinds: Hashable
    """What the user agrees to; a list of other kinds has to be looked at again."""


class Confirm(ModalScreen[None], inherit_bindings=False):
    """Shows a question; `agreed` is called once, when the user says yes."""

    def __init__(self, question: Question, agreed: Callable[[], None]) -> None:
        super().__init__()
        self.state: Literal["asking", "working", "told"] = "asking"
        self._question = question
        self._agreed = agreed
        self._title = question.title
        self._body = question.body
        self._said = ""
        self._has_changed = False
        self._drawn_at = math.inf
        self._yes_from = math.inf
        self._top = 0
        self._is_readable = False

    def compose(self) -> ComposeResult:
        """The frame is drawn as lines."""
        yield LinesView(id="dialog", panel=True)

    def on_mount(self) -> None:
        """Keys that were typed before it can be seen do not count."""
        self.redraw()
        self.call_after_refresh(self._seen)

    def _seen(self) -> None:
        self._drawn_at = self._yes_from = _now()

    async def on_key(self, event: events.Key) -> None:
        """Keys are taken here and not by bindings, which know no time: what was typed at something else than is shown is dropped."""
        event.stop()
        action = _ACTIONS.get(event.key)
        if action is not None and event.time >= (self._yes_from if action == "yes" else self._drawn_at):
            await self.run_action(action)

    def on_resize(self, event: events.Resize) -> None:
        """Another window is another frame."""
        del event
        self.redraw()

    # What is shown

    def ask_anew(self, question: Question) -> None:
        """Shows the list as it is now; where other kinds of threads are on it, `y` waits."""
        if question.kinds != self._question.kinds:
            self._has_changed = True
            self._yes_from = _now() + _AGAIN_S
        self._question = question
        self._body = question.body
        self.redraw()

    def tell(self, title: str, body: Body, said: str) -> None:
        """Shows what became of it, until the user leaves."""
        self.state = "told"
        self._title, self._body, self._said, self._top = title, body, said, 0
        self.redraw()

    def redraw(self) -> None:
        """Draws the frame at the size that it needs; a report may come before its lines stand, or after."""
        view = next(iter(self.query(LinesView)), None)
        if view is None:
            return
        columns, rows = self.app.size
        self._is_readable = columns >= SMALLEST[0] and rows >= SMALLEST[1]
        view.display = self._is_readable
        if not self._is_readable:
            return
        width = min(columns - _MARGIN, _MOST_COLUMNS)
        inner = inner_width(width)
        body = [(), *self._body(inner), ()]
        foot = self._foot(inner)
        height = frame_height(body, foot, rows - _MARGIN_ROWS)
        self._top = max(0, min(self._top, len(body) - body_rows(foot, height)))
        view.styles.width, view.styles.height = width, height
        view.show(framed(self._title, body, foot, width, height, self._top))

    def _foot(self, width: int) -> list[Line]:
        if self.state == "told":
            said: list[Line] = [(Span(piece),) for piece in wrapped(self._said, width)] if self._said else []
            return [*said, (), centred(_choice("⏎", "close", here=True), width)]
        promise: list[Line] = [(Span(piece, "dim"),) for piece in wrapped(self._question.promise, width)]
        if self.state == "working":
            return [*promise, (), centred((Span("working …", "lit"),), width)]
        yes, no = self._question.yes, _choice("n", "no", here=True)
        choices = beside(_choice("y", yes, here=False), no) if yes else no
        changed: list[Line] = [(Span("changed, look again", "warn", bold=True),)] if self._has_changed else [()]
        return [*promise, *changed, centred(choices, width)]

    # Keys

    def action_yes(self) -> None:
        """Does it."""
        if self.state != "asking" or not self._question.yes or not self._is_readable:
            return
        self.state = "working"
        self.redraw()
        self._agreed()

    def action_no(self) -> None:
        """Goes away; what has begun goes on."""
        self.dismiss()

    def _scroll(self, by: int) -> None:
        self._top = max(0, self._top + by)
        self.redraw()

    def action_up(self) -> None:
        """A line up."""
        self._scroll(-1)

    def action_down(self) -> None:
        """A line down."""
        self._scroll(1)

    def action_page_up(self) -> None:
        """A page up."""
        self._scroll(-max(1, self.app.size.height // 3))

    def action_page_down(self) -> None:
        """A page down."""
        self._scroll(max(1, self.app.size.height // 3))

    def action_home(self) -> None:
        """The first line."""
        self._scroll(-self._top)

    def action_end(self) -> None:
        """The last line."""
        self._scroll(1 << 20)


def _choice(key: str, words: str, *, here: bool) -> Line:
    """A key and what it means; the one that Enter stands for is reversed."""
    return Span(f" {key} ", "lit", bold=True, reverse=here), Span(f" {words} ", reverse=here)


def _now() -> float:
    """The time as events carry it."""
    return Message().time
