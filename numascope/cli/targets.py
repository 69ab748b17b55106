"""Whom the user means: pids, names of programs, patterns of command lines; what is not one thing is an error that lists it."""

from __future__ import annotations

import os
import re
import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final, NamedTuple

from numascope.cli.arguments import parse_target, refuse_empty
from numascope.errors import TargetGoneError, UsageError
from numascope.host.text import safe_text
from numascope.observe.jobs import Facts, Job
from numascope.observe.jobs.kin import runs
from numascope.observe.named import Candidate, ancestors, called, candidates, matching
from numascope.observe.select import Wanted

MATCH_S: Final = 1.0
"""A pattern that takes longer on all command lines of this host is refused."""

_LONGEST_PATTERN: Final = 1000
_MOST_LISTED: Final = 8


class Named(NamedTuple):
    """A program's name, or a pattern of command lines."""

    text: str
    is_pattern: bool = False


Target = Wanted | Named


def parse_targets(texts: Sequence[str], match: str | None) -> tuple[Target, ...]:
    """What stands on the command line, and what is given with `--match`; UsageError."""
    refuse_empty("--match", match)
    found = tuple(_parse(text) for text in texts)
    return found if match is None else (*found, Named(match, is_pattern=True))


def only_pids(targets: Sequence[Target]) -> tuple[Wanted, ...]:
    """The targets, where none is a name; UsageError: names are those of living processes."""
    found = tuple(one for one in targets if isinstance(one, Wanted))
    if len(found) < len(targets):
        raise UsageError("a name is looked up among living processes: of a recording give the PID")
    return found


def _parse(text: str) -> Target:
    if text and not text.isdigit() and "=" not in text:
        return Named(text)
    return parse_target(text)


def resolved(targets: Sequence[Target], facts: Facts, jobs: Sequence[Job]) -> tuple[Wanted, ...]:
    """The targets by pid; a name that means nobody, or several, is an error. The main thread only, as it sets a timer."""
    wanted: list[Wanted] = []
    for one in targets:
        if isinstance(one, Wanted):
            wanted.append(one)
        else:
            wanted.extend(each for each in _meant(one, facts, jobs) if each not in wanted)
    return tuple(wanted)


def _meant(one: Named, facts: Facts, jobs: Sequence[Job]) -> tuple[Wanted, ...]:
    shown = f'"{safe_text(one.text)}"'
    if one.is_pattern:
        # Whoever started this has its arguments too: a shell, sudo; and other instances have theirs.
        own = ancestors(facts, os.getpid())
        others = {pid: each for pid, each in facts.items() if pid not in own and not runs(each, ("numascope",))}
        pids, nobody = _matching(others, one.text), f"no command line matches {shown}"
    else:
        pids, nobody = called(facts, jobs, one.text) - {os.getpid()}, f"no process is called {shown}"
    found = candidates(facts, jobs, pids)
    if not found:
        raise TargetGoneError(f"{nobody}: numascope jobs lists what runs")
    if len(found) > 1:
        verb = "match" if one.is_pattern else "are called"
        raise UsageError(f"{len(found)} {verb} {shown}, say which by its PID: {_listed(found)}")
    return found[0].wanted


def several_jobs(jobs: Sequence[Job], facts: Facts) -> UsageError:
    """That more jobs run than one, and which."""
    found = candidates(facts, jobs, {pid for job in jobs for pid in job.pids()})
    return UsageError(f"{len(jobs)} jobs run here, say which by its PID: {_listed(found)}")


def _listed(found: Sequence[Candidate]) -> str:
    more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    return ", ".join(f"{one.pid} ({one.words})" for one in found[:_MOST_LISTED]) + more


def _matching(facts: Facts, text: str) -> set[int]:
    """The processes whose command line matches; UsageError for what is no pattern, or takes too long."""
    shown = f'--match "{safe_text(text[:80])}"'
    if len(text) > _LONGEST_PATTERN:
        raise UsageError(f"{shown}: longer than {_LONGEST_PATTERN} characters: give a part of the command line")
    try:
        with _limit(MATCH_S), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return matching(facts, re.compile(text))
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise UsageError(f"{shown} is no pattern{where}: {safe_text(error.msg)} (Python's re)") from None
    except (RecursionError, OverflowError, MemoryError):
        raise UsageError(f"{shown} is no pattern: it is nested too deeply or counts too far") from None
    except TimeoutError:
        raise UsageError(
            f"{shown} takes longer than {MATCH_S:g} s: give one without repeats inside of repeats, such as (a+)+"
        ) from None


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """TimeoutError after so many seconds; the engine of `re` looks for signals while it searches (Modules/_sre)."""

    def over(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
