"""Recordings as sessions: what is kept of a session, and a session that steps through what was kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numascope
from numascope.cli.session import SAMPLES, Session
from numascope.errors import TargetGoneError, UsageError
from numascope.host.archive.root import open_packed
from numascope.host.pci.numbers import DeviceNumbers, Order
from numascope.host.text import safe_text
from numascope.machine.build import build_machine
from numascope.machine.objects import Machine
from numascope.observe.recording.format import Header
from numascope.observe.recording.reader import Recording, open_recording
from numascope.observe.recording.replay import RECORDING_ENDS, Replay
from numascope.observe.roles.names import Name, OwnNames
from numascope.observe.roles.objects import ROLES
from numascope.observe.select import Wanted
from numascope.plan.dialects.detect import DIALECTS
from numascope.plan.dialects.draft import Scene
from numascope.plan.given import plan_bytes, read_plan
from numascope.review.report import Report
from numascope.review.watch import Question, Watch
from numascope.show.remedy_lines import remedy_parts

_LEAST_GAP_S: Final = 0.01
_MOST_NAMED: Final = 8
_OF_THEN: Final = "for the recorded machine, as it was"


def header_of(session: Session, *, redacted: bool) -> Header:
    """What a recording says of itself: who is watched, against which plan, how often."""
    question = session.question
    return Header(
        numascope=numascope.__version__,
        wall_s=time.time(),
        interval_s=session.interval_s,
        window_s=question.window_s,
        pending_for_s=question.pending_for_s,
        wanted=[(one.pid, one.device, one.scheduler) for one in question.wanted],
        plan_name=None if question.plan is None else question.plan.path.rpartition("/")[2],
        plan=session.plan_data,
        plan_dialect=None if question.plan is None else question.plan.dialect,
        plan_source=question.plan_source,
        redacted=redacted,
        roles={} if question.own is None else question.own.rows,
        device_files=dict(question.numbers.files),
        device_orders={
            name: (list(one.addresses), one.source, one.is_sure) for name, one in question.numbers.orders.items()
        },
    )


@dataclass
class ReplaySession:
    """A watch on a recording; a source of reports as a live session is one."""

    recording: Recording
    replay: Replay
    watch: Watch
    question: Question
    speed: float = 1.0
    """How many times as fast as it was; any thread may set it."""
    last: Report | None = None
    is_recorded = True
    _gap_s: float = field(default=0.0, init=False)

    @property
    def interval_s(self) -> float:
        """How long to wait before the next step."""
        return max(_LEAST_GAP_S, self._gap_s / self.speed)

    @property
    def pace(self) -> str:
        """`×4`: so many times as fast as it was."""
        return f"×{self.speed:.4g}"

    def step(self) -> Report:
        """The report of the next frame; after the last one that again, marked as ended."""
        if self.replay.is_over and self.last is not None:
            if not self.last.ended:
                self.last = replace(self.last, ended=True, notes=(*self.last.notes, *self._lost(), RECORDING_ENDS))
            return self.last
        self.last = _of_then(self.watch.step())
        self._gap_s = self.replay.gap_s  # kept, as the replay itself must not be asked while it reads a frame
        return self.last

    def look(self, for_s: float, samples: int = SAMPLES) -> Report:
        """The report at the end of the recording, all frames before it seen."""
        del for_s, samples
        report = self.step()
        while not self.replay.is_over:
            report = self.step()
        return replace(report, notes=(*report.notes, *self._lost()))

    def _lost(self) -> tuple[str, ...]:
        return (f"the recording {self.recording.lost}",) if self.recording.lost else ()

    def close(self) -> None:
        """Gives the file back."""
        self.recording.close()


def _of_then(report: Report) -> Report:
    """With each command of a remedy marked: its pids are those of the recorded machine, and may be anybody's here and now."""
    findings = tuple(
        replace(one, remedy=f"{_OF_THEN}: {one.remedy}") if any(found for _, found in remedy_parts(one.remedy)) else one
        for one in report.findings
    )
    return replace(report, findings=findings)


def open_replay(
    path: str,
    plan_path: str | None = None,
    targets: Sequence[Wanted] = (),
    *,
    speed: float = 1.0,
    own: OwnNames | None = None,
    dialect: str | None = None,
) -> ReplaySession:
    """A recording, judged against its own plan, targets and names of threads or against others; InputError, UsageError, TargetGoneError."""
    recording = open_recording(path)
    try:
        return _judged(recording, plan_path, targets, speed, own, dialect)
    except BaseException:
        recording.close()
        raise


def _refuse_unseen(recording: Recording, targets: Sequence[Wanted]) -> None:
    """TargetGoneError where a target is in none of the frames."""
    unseen = {one.pid for one in targets}
    seen: set[int] = set()
    for frame in recording.frames() if unseen else ():
        seen.update(frame.sample.processes)
        unseen -= seen
        if not unseen:
            return
    if unseen:
        known = ", ".join(map(str, sorted(seen)[:_MOST_NAMED])) + (" and more" if len(seen) > _MOST_NAMED else "")
        raise TargetGoneError(
            f"{recording.path}: no process {min(unseen)} was recorded: it has {known or 'none at all'}"
        )


def _own_names(header: Header) -> OwnNames | None:
    """The names that were kept, those of roles that this version knows."""
    source = "the recorded names"
    sections = {
        section: [Name(safe_text(start), role, source) for start, role in rows if start and role in ROLES]
        for section, rows in header.roles.items()
    }
    return OwnNames(sections) if sections else None


def _numbers(header: Header) -> DeviceNumbers:
    orders = {
        name: Order(tuple(addresses), safe_text(source), is_sure)
        for name, (addresses, source, is_sure) in header.device_orders.items()
    }
    return DeviceNumbers(header.device_files, orders)


def _judged(
    recording: Recording,
    plan_path: str | None,
    targets: Sequence[Wanted],
    speed: float,
    own: OwnNames | None,
    dialect: str | None,
) -> ReplaySession:
    header = recording.header
    _refuse_unseen(recording, targets)
    replay = Replay(recording)

    def machine() -> Machine:
        return build_machine(open_packed(replay.machine, recording.path))

    first = machine()
    plan, source = None, header.plan_source
    if plan_path is not None:
        plan, source = read_plan(safe_text(plan_path), plan_bytes(plan_path), Scene(first), dialect), "given"
    elif header.plan is not None:
        kept = header.plan_dialect if header.plan_dialect in DIALECTS else None
        plan = read_plan(header.plan_name or "the recorded plan", header.plan, Scene(first), dialect or kept)
    wanted = tuple(targets) or tuple(Wanted(pid, device, scheduler) for pid, device, scheduler in header.wanted)
    if not wanted:
        raise UsageError(f"{recording.path}: names no process that was watched: give the PID")
    question = Question(
        wanted,
        plan,
        source,
        header.window_s,
        header.pending_for_s,
        own=own if own is not None else _own_names(header),
        numbers=_numbers(header),
    )
    return ReplaySession(recording, replay, Watch(first, machine, replay, replay, question), question, speed)
