"""The dashboard: one sampler thread sends reports, screens draw them, keys go to the place that knows them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar

from textual import work
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen
from textual.worker import Worker, WorkerState, get_current_worker

from numascope.cpuset import CpuSet
from numascope.review.report import Report
from numascope.show.ink import Span
from numascope.tui.commands import palette_commands
from numascope.tui.desk import Desk
from numascope.tui.keys import bindings_of
from numascope.tui.light import Light
from numascope.tui.messages import ReportReady, SamplerFailed, SteeringDone
from numascope.tui.player import Player
from numascope.tui.sampling import Sampling
from numascope.tui.screens.findings import FindingsPage
from numascope.tui.screens.help import HelpPage
from numascope.tui.screens.journal import JournalPage
from numascope.tui.screens.overview import Overview
from numascope.tui.screens.page import Page
from numascope.tui.screens.threads import ThreadsPage
from numascope.tui.source import ReportSource
from numascope.tui.state import SAID_S, cost_words, ended_notice, is_stale, largest_resident_mib, state_word
from numascope.tui.steering import Steering
from numascope.tui.terminal import has_hung_up
from numascope.tui.theme import PALETTES, SIXTEEN, Palette
from numascope.tui.widgets.machine_map import MachineMap


class Dashboard(App[None], inherit_bindings=False):
    """Shows the reports of a source until the user quits; `clock` is asked for ages. Without `steering` it changes nothing."""

    CSS_PATH: ClassVar[str] = "numascope.tcss"
    TITLE: str | None = "numascope"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("app")
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = True
    COMMAND_PALETTE_BINDING: ClassVar[str] = "ctrl+p"
    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(
        self,
        source: ReportSource,
        *,
        theme: str = "dark",
        ascii_only: bool = False,
        clock: Callable[[], float] = time.monotonic,
        resident_mib: Callable[[], int] = largest_resident_mib,
        steering: Steering | None = None,
    ) -> None:
        colourless = "NO_COLOR" in os.environ
        super().__init__(ansi_color=True if colourless else None)
        self._source = source
        self._clock = clock
        self._resident_mib = resident_mib
        self._last_report_at: float | None = None
        self._failure = ""
        self._said: tuple[str, float] = ("", 0.0)
        self._sampling = Sampling(source, self.post_message)
        self.light = Light(self)
        self.desk = Desk(self, steering, self._sampling.submit)
        self.player = Player(self, source, self._sampling)
        self.newest: Report | None = None
        """What was seen last, also while paused."""
        self.ascii_only = ascii_only
        self.paused = False
        self.stale = False
        """No report came for several intervals: what is shown is dim."""
        self.report: Report | None = None
        self.palette: Palette = SIXTEEN if colourless else next(one for one in PALETTES if one.name == theme)
        self._pages: dict[str, Page] = {}

    def on_mount(self) -> None:
        """Colours, screens, and the sampler thread."""
        for palette in PALETTES:
            self.register_theme(palette.theme())
        self.theme = f"numascope-{self.palette.name}"
        kinds = {"overview": Overview, "threads": ThreadsPage, "findings": FindingsPage, "journal": JournalPage}
        self._pages = {name: kind() for name, kind in {**kinds, "help": HelpPage}.items()}
        for name, page in self._pages.items():
            self.install_screen(page, name)
        self.push_screen("overview")
        self.set_interval(1.0, self._tick)
        self._sampling.started(self._sample())

    @work(thread=True, exclusive=True, exit_on_error=False, group="sampler")
    def _sample(self) -> None:
        """Looks and does what is asked, until told to end."""
        self._sampling.run(get_current_worker())

    def on_report_ready(self, message: ReportReady) -> None:
        """Takes in a report; while paused it waits unseen, unless it was asked for."""
        self._last_report_at = self._clock()
        self._failure = ""
        self.newest = message.report
        if not self.paused or self.player.is_stepping:
            self.show_newest()
        self.desk.on_report(message.report)

    def on_steering_done(self, message: SteeringDone) -> None:
        """A change was made, or was looked at."""
        self.desk.take(message.outcome)

    def on_sampler_failed(self, message: SamplerFailed) -> None:
        """No report: what was seen stays, with the reason on top."""
        self._failure = message.reason
        self.redraw()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A sampler that fell over says so instead of leaving a picture that looks alive."""
        if event.worker.group == "sampler" and event.state is WorkerState.ERROR:
            self.post_message(SamplerFailed(f"the sampler stopped: {event.worker.error!r}", fatal=True))

    def show_newest(self) -> None:
        """What was seen last becomes the picture; a target that is gone leaves the picture of before."""
        before, newest = self.report, self.newest
        if newest is not None:
            ended_empty = newest.ended and not newest.placements
            self.report = replace(before, ended=True) if ended_empty and before is not None else newest
        self.redraw()

    def _tick(self) -> None:
        """The age of the last report, or of what was said, may have become news; without a terminal it is over."""
        if not self.is_headless and has_hung_up():
            self.exit()
        if self._said[0] and self._clock() > self._said[1]:
            self.say("")
        if self.report is not None and self._age() > self._source.interval_s:
            self.redraw()

    def _age(self) -> float:
        return 0.0 if self._last_report_at is None else self._clock() - self._last_report_at

    def redraw(self) -> None:
        """Draws the screen that is shown; where the picture has become stale or fresh, every line of every screen anew."""
        stale = is_stale(self.report, self._source, paused=self.paused, age_s=self._age())
        if stale != self.stale:
            self.stale = stale
            for page in self._pages.values():
                for widget in page.query("*"):
                    widget.refresh()
        shown = next((one for one in reversed(self.screen_stack) if isinstance(one, Page)), None)
        if shown is not None:
            shown.redraw()

    def state_word(self) -> Span:
        """The word at the right of the first line."""
        return state_word(self.report, self._source, paused=self.paused, age_s=self._age())

    def notice(self) -> str:
        """What stands in the second line instead of what is watched: an answer, or why there is no news."""
        if not self._said[0] and self.report is not None and self.report.ended:
            return ended_notice(self.report)
        return self._said[0] or self._failure

    def say(self, text: str) -> None:
        """Shows a line for some seconds in place of what is watched."""
        self._said = (text, self._clock() + SAID_S)
        self.redraw()

    def cost_words(self, width: int) -> str:
        """What numascope itself costs, for the last line."""
        return cost_words(self.report, width, self._resident_mib)

    def show_threads_on(self, cpus: tuple[int, ...]) -> None:
        """Opens Threads with the filter of a CPU."""
        self.action_show("threads")
        page = self._pages["threads"]
        if isinstance(page, ThreadsPage):
            self.call_after_refresh(page.set_filter, f"cpu:{CpuSet.of(cpus)}")
            self.call_after_refresh(self.redraw)

    def action_show(self, name: str) -> None:
        """Goes to a screen."""
        if self.screen is not self._pages[name]:
            self.switch_screen(name)

    def action_pause(self) -> None:
        """Holds the picture still, or goes on with the newest report."""
        self.paused = not self.paused
        self.player.hold(held=self.paused)
        if self.paused:
            self.redraw()
        else:
            self.show_newest()

    def action_speed(self, doublings: int) -> None:
        """A recording goes twice as fast, or half."""
        self.player.change_speed(doublings)

    def action_next_look(self) -> None:
        """A recording that is held still goes one frame on."""
        self.player.step()

    def closed_keys(self) -> dict[str, str]:
        """The keys that do nothing now, each with the reason in a word."""
        return {**self.desk.closed_keys(), **self.player.closed_keys()}

    def action_next_theme(self) -> None:
        """The next palette; NO_COLOR keeps its own."""
        if self.no_color:
            return
        at = PALETTES.index(self.palette)
        self.palette = PALETTES[(at + 1) % len(PALETTES)]
        self.theme = f"numascope-{self.palette.name}"
        self.screen.refresh(layout=True)
        for widget in self.screen.query("*"):
            widget.refresh()

    def action_command_palette(self) -> None:
        """All actions by name; not over a question."""
        if not self.desk.is_asking:
            super().action_command_palette()

    def action_help(self) -> None:
        """Opens the help, or leaves it."""
        self.action_show("overview" if self.screen is self._pages["help"] else "help")

    def action_next_finding(self, step: int) -> None:
        """Picks the next finding on Overview or Findings; on Threads, its thread."""
        if self.report is not None and self.report.findings and isinstance(self.screen, Page):
            self.screen.next_finding(self.report, step)

    def action_apply(self) -> None:
        """Shows what an apply would set, and asks."""
        self.desk.ask_apply()

    def action_revert(self) -> None:
        """Shows what a revert would put back, and asks: of the picked entry, else of the newest."""
        self.desk.ask_revert(self.screen.picked if isinstance(self.screen, JournalPage) else None)

    def action_zoom(self, closer: bool) -> None:  # noqa: FBT001  an action's argument is written in the key table
        """One node of the map alone, or all again."""
        if isinstance(self.screen, Overview):
            self.screen.query_one(MachineMap).zoom(closer=closer)

    def action_step_back(self) -> None:
        """One step back: filter line, help, light, cursor, filter."""
        self._step_back()

    def action_leave(self) -> None:
        """One step back; where there is none, quit."""
        if not self._step_back():
            self.exit()

    def _step_back(self) -> bool:
        """Whether there was a step to go back."""
        if isinstance(self.screen, Page):
            return self.screen.step_back()
        self.action_show("overview")
        return True

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette."""
        del screen
        yield from palette_commands(self)
