"""Lines of entries with one picked: findings, help; it scrolls by whole lines."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from numascope.show.ink import Line
from numascope.tui.keys import bindings_of
from numascope.tui.widgets.lines import LinesView

Entries = Callable[[int | None], Sequence[Sequence[Line]]]
"""What to show, given the picked entry: each entry one or more lines."""


class PickList(LinesView, can_focus=True):
    """Entries one below the other; the picked one is kept in view. A `reading` one scrolls, nothing is picked."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("findings")

    class Opened(Message):
        """The user wants to go into an entry."""

        def __init__(self, picked: int) -> None:
            self.picked = picked
            super().__init__()

    def __init__(self, *, id: str, reading: bool = False) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._reading = reading
        self.picked: int | None = None
        self._entries: Entries = lambda _: ()
        self._names: tuple[Hashable, ...] = ()
        self._owners: list[int] = []
        self._top = 0

    def show_entries(self, entries: Entries, names: Sequence[Hashable] = ()) -> None:
        """Shows what the function gives for the entry that is picked; by its name the pick follows an entry that moves."""
        self._entries = entries
        self._follow(tuple(names))
        blocks = entries(self.picked)
        if self.picked is not None and self.picked >= len(blocks):
            self.picked = len(blocks) - 1 if blocks else None
            blocks = entries(self.picked)
        lines = [line for block in blocks for line in block]
        owners = [at for at, block in enumerate(blocks) for _ in block]
        self._scroll_to_picked(owners, len(lines))
        height = max(1, self.size.height)
        self._owners = owners[self._top : self._top + height]
        self.show(lines[self._top : self._top + height])

    def _follow(self, names: tuple[Hashable, ...]) -> None:
        before, self._names = self._names, names
        if self.picked is not None and self.picked < len(before) and before[self.picked] in names:
            self.picked = names.index(before[self.picked])

    def _scroll_to_picked(self, owners: Sequence[int], total: int) -> None:
        height = max(1, self.size.height)
        if self.picked is not None and self.picked in owners:
            first = owners.index(self.picked)
            last = len(owners) - 1 - owners[::-1].index(self.picked)
            if last >= self._top + height:
                self._top = last - height + 1
            self._top = min(self._top, first)
        self._top = max(0, min(self._top, total - height))

    def on_resize(self) -> None:
        """Another height shows more or fewer lines."""
        self.show_entries(self._entries, self._names)

    def pick(self, entry: int | None) -> None:
        """Picks an entry, or none."""
        self.picked = entry
        self.show_entries(self._entries, self._names)

    def pick_on(self, step: int, number: int) -> None:
        """Picks the entry that is so many further on of this number, around the end, and takes the keys."""
        now = -1 if self.picked is None and step > 0 else self.picked or 0
        self.focus()
        self.pick((now + step) % number)

    def _step(self, by: int) -> None:
        number = len(self._entries(None))
        if self._reading:
            self._top = max(0, min(number - self.size.height, self._top + by))
            self.show_entries(self._entries, self._names)
        elif number:
            now = -1 if self.picked is None and by > 0 else self.picked or 0
            self.pick(max(0, min(number - 1, now + by)))

    def action_up(self) -> None:
        """The entry above."""
        self._step(-1)

    def action_down(self) -> None:
        """The entry below."""
        self._step(1)

    def action_page_up(self) -> None:
        """A page up."""
        self._step(-max(1, self.size.height // 3))

    def action_page_down(self) -> None:
        """A page down."""
        self._step(max(1, self.size.height // 3))

    def action_home(self) -> None:
        """The first entry."""
        self._step(-(1 << 20))

    def action_end(self) -> None:
        """The last entry."""
        self._step(1 << 20)

    def action_open(self) -> None:
        """Goes into the picked entry."""
        if self.picked is not None:
            self.post_message(self.Opened(self.picked))

    def action_light(self) -> None:
        """The same as opening: it lights the entry's thread."""
        self.action_open()

    def on_click(self, event: events.Click) -> None:
        """A click picks an entry and opens it."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.y < len(self._owners):
            self.pick(self._owners[offset.y])
            self.action_open()
