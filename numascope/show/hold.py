"""The log of `hold`: one line an act, with what was put back and what could not be."""

from __future__ import annotations

import time
from collections.abc import Sequence

from numascope.review.change import FAILED, Result
from numascope.review.report import Placement
from numascope.show.ink import Line, Span

_NAMED = 3
"""Threads of one act that its line names; the journal has them all."""


def act_line(wall_s: float, results: Sequence[Result]) -> Line:
    """`03:12:47  set 2: rank 5 d5 ActorThread_1 42317 0-191 → 129, …`, and the failures behind it."""
    clock = time.strftime("%H:%M:%S", time.localtime(wall_s))
    done = [one for one in results if one.outcome in ("set", "trimmed")]
    failed = [one for one in results if one.outcome in FAILED]
    gone = sum(one.outcome == "gone" for one in results)
    names = [f"{_name(one)} {one.change.before} → {one.read_back}" for one in done[:_NAMED]]
    more = [f"{len(done) - _NAMED} more"] if len(done) > _NAMED else []
    line = [Span(clock, "dim"), Span(f"  set {len(done)}"), Span(f": {', '.join([*names, *more])}" if done else "")]
    if failed:
        line.append(Span(f"; {len(failed)} not: {_name(failed[0])}: {failed[0].why or failed[0].outcome}", "warn"))
    if gone:
        line.append(Span(f"; {gone} gone", "dim"))
    return tuple(line)


def blocked_line(wall_s: float, blocked: Sequence[Placement]) -> Line:
    """`03:12:47  cannot hold 3: main 42207: no CPU of 4-7 is in its cpuset`, or that all can be held again."""
    clock = Span(time.strftime("%H:%M:%S", time.localtime(wall_s)), "dim")
    if not blocked:
        return clock, Span("  every planned thread has CPUs that it may use again")
    one = blocked[0]
    return clock, Span(f"  cannot hold {len(blocked)}: {one.label} {one.key.tid}: {one.reason}", "warn")


def _name(one: Result) -> str:
    change = one.change
    return " ".join(part for part in (change.rank, change.label, str(change.key.tid)) if part)
