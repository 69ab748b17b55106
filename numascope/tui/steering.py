"""Changing things from the dashboard: jobs for the one thread that may step the watch, and what each of them tells."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Self

from numascope.errors import NumascopeError
from numascope.host.here import Here, may_set_for_others
from numascope.host.root import HostRoot
from numascope.review.change import Selection, Undone
from numascope.review.report import Report
from numascope.show.journal import EntryRow
from numascope.steer.apply import Hand
from numascope.steer.change import OldMain, select_changes
from numascope.steer.journal import OpenEntry, Source
from numascope.steer.ledger import Ledger, choose, has_work, is_ours, putting_back, read_ledger
from numascope.steer.listing import row_of, rows_of
from numascope.steer.revert import plan_revert, revert_entry
from numascope.steer.rights import check_rights
from numascope.steer.settle import Settled, apply_until_settled
from numascope.steer.store import Store, opened_store

_WAIT_S: Final = 2.0
"""How long a job waits for another numascope's change: the picture stands still meanwhile."""


@dataclass(frozen=True, slots=True)
class Steering:
    """As whom threads are set and where undo records go; `read_only` leaves only the journal to look at."""

    root: HostRoot
    environ: Mapping[str, str]
    uid: int
    may_set_others: bool
    inferred: bool = False
    read_only: bool = False

    @classmethod
    def live(cls, environ: Mapping[str, str], *, read_only: bool = False) -> Self:
        """As this process, on this machine."""
        root = HostRoot()
        return cls(root, environ, os.geteuid(), may_set_for_others(root), read_only=read_only)

    def select(self, report: Report, old_mains: Mapping[tuple[int, int], OldMain] | None = None) -> Selection:
        """The list of an apply, from one report."""
        return select_changes(report, inferred=self.inferred, old_mains=old_mains)


class Journal(NamedTuple):
    """All entries, oldest first, where they lie, and what of them cannot be read."""

    rows: tuple[EntryRow, ...]
    path: str
    notes: tuple[str, ...] = ()


class Applied(NamedTuple):
    """An apply was done, as far as its results say."""

    settled: Settled
    journal: Journal


class Previewed(NamedTuple):
    """What a revert would do; without an entry nothing of ours is left to put back."""

    entry: EntryRow | None
    undone: tuple[Undone, ...]


class PutBack(NamedTuple):
    """A revert was done; `number` is its own entry, None where nothing was written."""

    reverted: int
    number: int | None
    undone: tuple[Undone, ...]
    journal: Journal


Kind = Literal["apply", "revert", "preview", "journal"]


class Failed(NamedTuple):
    """A job came to an end by an error."""

    kind: Kind
    reason: str


Outcome = Applied | Previewed | PutBack | Journal | Failed
Step = Callable[[], Report]


class Job(NamedTuple):
    """What the sampler's thread does between two looks; it may take looks itself, by the step that it is given."""

    kind: Kind
    run: Callable[[Step], Outcome]


def finished(job: Job, step: Step) -> Outcome:
    """Does a job; what stands in its way becomes a reason in one line."""
    try:
        return job.run(step)
    except (NumascopeError, OSError) as error:
        return Failed(job.kind, str(error))


def apply_job(steering: Steering, report: Report, selection: Selection) -> Job:
    """Sets what the list shows, and looks again until no thread is left with an old set."""

    def run(step: Step) -> Outcome:
        pids = {one.key.pid for one in selection.changes}
        check_rights(steering.root, steering.uid, pids, report.sample.processes)
        plan = report.plan
        path = None if plan is None else os.path.abspath(plan.path)
        source = Source(path, None if plan is None else plan.sha256, report.title)
        with opened_store(steering.root, steering.environ, create=True) as store:
            assert store is not None  # noqa: S101  (made where it was missing)
            with store.locked(_WAIT_S):
                settled = _settle(steering, step, OpenEntry(store, "apply", source), (report, selection))
            return Applied(settled, _journal(store))

    return Job("apply", run)


def _settle(steering: Steering, step: Step, entry: OpenEntry, first: tuple[Report, Selection]) -> Settled:
    try:
        return apply_until_settled(step, steering.select, entry, Hand(steering.root), first)
    except NumascopeError as error:
        if entry.number is None:
            raise
        raise NumascopeError(f"{error}; r puts back what was set, entry {entry.number}") from error
    finally:
        entry.close()


def preview_job(steering: Steering, number: int | None) -> Job:
    """Looks at what a revert of this entry, or of the newest, would do."""

    def run(step: Step) -> Outcome:
        del step
        with opened_store(steering.root, steering.environ, create=False) as store:
            if store is None:
                return Previewed(None, ())
            ledger, hand = read_ledger(store), Hand(steering.root)
            if number is None:
                return _newest(ledger, store.here, hand)
            entry = choose(ledger, store.here, number)
            assert entry is not None  # noqa: S101  (an id without an entry is a UsageError)
            return Previewed(row_of(entry, store.here), plan_revert(entry, hand))

    return Job("preview", run)


def _newest(ledger: Ledger, here: Here, hand: Hand) -> Previewed:
    """Of the newest entry of ours whose threads are not all gone; where all are, of the newest."""
    found = Previewed(None, ())
    for entry in reversed(ledger.entries):
        if not is_ours(entry, here) or not has_work(entry):
            continue
        seen = Previewed(row_of(entry, here), plan_revert(entry, hand))
        if any(one.outcome != "gone" for one in seen.undone):
            return seen
        found = found if found.entry is not None else seen
    return found


def revert_job(steering: Steering, number: int) -> Job:
    """Gives the threads of an entry their old sets back."""

    def run(step: Step) -> Outcome:
        del step
        with opened_store(steering.root, steering.environ, create=False) as store:
            if store is None:
                return Failed("revert", "the journal is gone: nothing is changed")
            with putting_back(store, number, wait_s=_WAIT_S) as (entry, into):
                undone = revert_entry(entry, into, Hand(steering.root))
            return PutBack(number, into.number, undone, _journal(store))

    return Job("revert", run)


def journal_job(steering: Steering) -> Job:
    """Reads all entries."""

    def run(step: Step) -> Outcome:
        del step
        with opened_store(steering.root, steering.environ, create=False) as store:
            return Journal((), "") if store is None else _journal(store)

    return Job("journal", run)


def _journal(store: Store) -> Journal:
    ledger = read_ledger(store)
    return Journal(rows_of(ledger, store.here), store.path, tuple(f"damaged: {one}" for one in ledger.damages))
