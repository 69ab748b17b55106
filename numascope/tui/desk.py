"""What `a` and `r` do: a list from the newest report or the journal, the question, the job, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from numascope.review.change import Selection
from numascope.review.report import Report
from numascope.show.apply import outcomes_text
from numascope.show.journal import EntryRow
from numascope.steer.rights import refusal
from numascope.tui.questions import (
    applied_words,
    apply_question,
    left_text,
    plain_lines,
    put_back_words,
    revert_question,
)
from numascope.tui.screens.confirm import Body, Confirm, Question
from numascope.tui.steering import (
    Applied,
    Failed,
    Job,
    Journal,
    Outcome,
    Previewed,
    PutBack,
    Steering,
    apply_job,
    journal_job,
    preview_job,
    revert_job,
)

if TYPE_CHECKING:
    from numascope.tui.app import Dashboard

Deed = Literal["apply", "revert"]

_KEYS: Final[dict[Deed, str]] = {"apply": "a", "revert": "r"}


class Closed(NamedTuple):
    """Why a key does nothing now: in a word for the last line, and in a sentence."""

    word: str
    sentence: str


class Desk:
    """Asks and has things done for one dashboard; lives in the thread of the screen and reads nothing from /proc or disk."""

    def __init__(self, app: Dashboard, steering: Steering | None, submit: Callable[[Job], None]) -> None:
        self._app = app
        self._steering = steering
        self._submit = submit
        self._dialog: Confirm | None = None
        self._asked: Deed = "apply"
        self._shown: tuple[Report, Selection] | None = None
        self._entry: EntryRow | None = None
        self._is_working = False
        self._looks = 0
        self.journal: Journal | None = None
        """As it was last read; None: not yet."""

    # What is possible

    def closed(self, report: Report | None) -> Mapping[Deed, Closed]:
        """What cannot be done now, and why."""
        if self._steering is None or self._steering.read_only:
            why = Closed("read-only", "read-only: this dashboard changes nothing")
            return {"apply": why, "revert": why}
        why_not = _no_apply(self._steering, report)
        return {} if why_not is None else {"apply": why_not}

    def closed_keys(self) -> dict[str, str]:
        """The same by key, each with its word."""
        return {_KEYS[deed]: why.word for deed, why in self.closed(self._app.newest).items()}

    @property
    def is_asking(self) -> bool:
        """Whether a question, or what became of it, is on the screen."""
        return self._dialog is not None

    def _may(self, deed: Deed) -> Steering | None:
        """With what to do it; None, and said why, where it cannot be done."""
        closed = self.closed(self._app.newest).get(deed)
        if closed is not None:
            self._app.say(closed.sentence)
        elif self._is_working:
            self._app.say("the last change is still being made")
        elif self._dialog is None:
            return self._steering
        return None

    # Asking

    def ask_apply(self) -> None:
        """Shows what an apply would set, and asks; or says that there is nothing to do."""
        report, steering = self._app.newest, self._may("apply")
        if steering is None or report is None:
            return
        selection = steering.select(report)
        if not selection.changes:
            self._app.say(f"nothing to apply: {left_text(selection)}")
            return
        refused = _refused(steering, report, selection)
        if refused:
            self._app.say(refused)
            return
        self._shown = (report, selection)
        self._open("apply", apply_question(report, selection))

    def ask_revert(self, entry: EntryRow | None) -> None:
        """Has a revert of this entry, or of the newest, looked at; the question follows."""
        steering = self._may("revert")
        if steering is None:
            return
        if entry is not None and not entry.can_revert:
            self._app.say(f"entry {entry.id}: {entry.state}")
            return
        self._look_at_revert(steering, None if entry is None else entry.id)

    def _look_at_revert(self, steering: Steering, number: int | None) -> None:
        if not self._looks:
            self._looks += 1
            self._submit(preview_job(steering, number))

    def _open(self, deed: Deed, question: Question) -> None:
        self._asked = deed
        self._dialog = Confirm(question, self._agreed)
        self._app.push_screen(self._dialog, self._left)

    def _left(self, result: None) -> None:
        del result
        self._dialog = None
        self._app.redraw()

    def _agreed(self) -> None:
        """The user said yes to what was shown last."""
        if self._steering is None:
            return
        self._is_working = True
        if self._asked == "revert" and self._entry is not None:
            self._submit(revert_job(self._steering, self._entry.id))
        elif self._shown is not None:
            self._submit(apply_job(self._steering, *self._shown))

    def read_journal(self) -> None:
        """Has the journal read anew."""
        if self._steering is None:
            self.journal = Journal((), "")
        else:
            self._submit(journal_job(self._steering))

    # What comes

    def on_report(self, report: Report) -> None:
        """A question that is open is asked about what is true now."""
        dialog = self._dialog
        if dialog is None or dialog.state != "asking" or self._steering is None:
            return
        if self._asked == "apply":
            selection = self._steering.select(report)
            self._shown = (report, selection)
            dialog.ask_anew(apply_question(report, selection))
        elif self._entry is not None:
            self._look_at_revert(self._steering, self._entry.id)

    def take(self, outcome: Outcome) -> None:
        """Shows what a job tells."""
        match outcome:
            case Journal():
                self.journal = outcome
            case Previewed():
                self._looks = 0
                self._take_preview(outcome)
            case Applied():
                self.journal = outcome.journal
                self._tell("applied", *applied_words(outcome))
            case PutBack():
                self.journal = outcome.journal
                self._tell("reverted", *put_back_words(outcome))
            case Failed():
                self._fail(outcome)
        self._app.redraw()

    def _fail(self, failed: Failed) -> None:
        if failed.kind in ("apply", "revert"):
            self._tell("not done", lambda width: plain_lines(failed.reason, width), "")
            return
        self._app.say(failed.reason)
        if failed.kind == "preview":
            self._looks = 0
        elif self.journal is None:
            self.journal = Journal((), "", (failed.reason,))

    def _take_preview(self, seen: Previewed) -> None:
        due = sum(one.outcome == "set" for one in seen.undone)
        dialog = self._dialog
        if dialog is not None:
            if dialog.state == "asking" and self._asked == "revert" and seen.entry is not None:
                dialog.ask_anew(revert_question(seen.entry, seen))
        elif seen.entry is None:
            self._app.say("nothing of ours is left to put back")
        elif not due:
            self._app.say(
                f"entry {seen.entry.id}: nothing to put back, {outcomes_text(one.outcome for one in seen.undone)}"
            )
        else:
            self._entry = seen.entry
            self._open("revert", revert_question(seen.entry, seen))

    def _tell(self, title: str, body: Body, said: str) -> None:
        """In the question's place; where the user has left it, in one line."""
        self._is_working = False
        if self._dialog is not None and self._dialog.state == "working":
            self._dialog.tell(title, body, said)
        else:
            lines = body(1000)
            first = "".join(span.text for span in lines[0]).strip() if lines else ""
            self._app.say(f"{title}: {first}")


def _no_apply(steering: Steering, report: Report | None) -> Closed | None:
    if report is None:
        return Closed("no report yet", "nothing was seen yet")
    if report.ended:
        return Closed("ended", f"{report.title} is gone: there is nothing to set")
    if report.plan is None:
        return Closed("no plan", f"no plan to apply ({report.plan_source}): give one with --plan")
    pids = {rank.pid for rank in report.ranks} or set(report.sample.processes)
    refused = None if steering.may_set_others else refusal(steering.uid, pids, report.sample.processes)
    return None if refused is None else Closed("not permitted", str(refused))


def _refused(steering: Steering, report: Report, selection: Selection) -> str:
    pids = {one.key.pid for one in selection.changes}
    refused = None if steering.may_set_others else refusal(steering.uid, pids, report.sample.processes)
    return "" if refused is None else str(refused)
