"""All entries of the journal together: what of each is still to be put back, and which one a revert without an id means."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from numascope.errors import InputError, UsageError
from numascope.host.here import Here
from numascope.review.change import Outcome, Thread
from numascope.steer.journal import BACK, Entry, OpenEntry, Recorded, Source, parse_entry
from numascope.steer.page_entry import marked
from numascope.steer.page_records import PagesBack
from numascope.steer.records import Damage
from numascope.steer.store import WAIT_S, Store


@dataclass(frozen=True, slots=True)
class Ledger:
    """The entries of this boot by rising id, those of other boots, and what could not be read."""

    entries: tuple[Entry, ...]
    elsewhere: tuple[Entry, ...]
    damages: tuple[Damage, ...]

    def entry(self, number: int) -> Entry | None:
        """The entry of this boot with that id."""
        return next((one for one in self.entries if one.header.id == number), None)


def read_ledger(store: Store) -> Ledger:
    """Reads every entry; a damaged one is used as far as it can be read."""
    entries: list[Entry] = []
    damages: list[Damage] = []
    for number in store.ids():
        path = store.entry_path(number)
        try:
            entry, found = parse_entry(store.read(number), path)
        except InputError as error:
            damages.append(Damage(path, error.problem))
            continue
        damages += found
        if entry is None:
            continue
        if entry.header.id != number or entry.header.boot_id != store.here.boot_id:
            damages.append(
                Damage(f"{path}:1", "is not the entry or not of the boot that its file's place says: not used")
            )
            continue
        entries.append(entry)
    elsewhere = [entry for _, data, path in store.others() if (entry := parse_entry(data, path)[0]) is not None]
    return Ledger(tuple(_overlaid(_marked(entries))), tuple(elsewhere), tuple(damages))


def _marked(entries: list[Entry]) -> list[Entry]:
    """The entries with what later ones have put back."""
    back: dict[int, dict[Thread, tuple[int, Outcome]]] = {}
    pages: dict[int, dict[tuple[int, int], tuple[int, PagesBack]]] = {}
    for entry in entries:
        of = entry.header.reverts
        if of is None or entry.header.kind != "revert":
            continue
        pages.setdefault(of, {}).update({(one.pid, one.starttime): (entry.header.id, one) for one in entry.backs})
        marks = back.setdefault(of, {})
        found = [(one.thread, one.outcome) for one in entry.changes]
        found += [(Thread(one.pid, one.tid, one.starttime), one.result) for one in entry.results]
        for thread, outcome in found:
            old = marks.get(thread)
            if outcome is not None and (old is None or old[1] not in BACK):
                marks[thread] = (entry.header.id, outcome)
    return [
        replace(
            one,
            changes=tuple(_mark(change, back[one.header.id]) for change in one.changes),
            pages=marked(one.pages, pages[one.header.id]),
        )
        if one.header.id in back
        else one
        for one in entries
    ]


def _mark(change: Recorded, marks: dict[Thread, tuple[int, Outcome]]) -> Recorded:
    mark = marks.get(change.thread)
    return change if mark is None else replace(change, reverted_by=mark[0], revert_outcome=mark[1])


def _overlaid(entries: list[Entry]) -> list[Entry]:
    """The entries, by rising id, each told which later one set its threads again and was not reverted."""
    later: dict[Thread, int] = {}
    found: list[Entry] = []
    for entry in reversed(entries):
        if entry.header.kind == "revert":
            found.append(entry)
            continue
        found.append(_told(entry, later))
        later = {one.thread: entry.header.id for one in entry.changes if one.is_open} | later
    return found[::-1]


def _told(entry: Entry, later: Mapping[Thread, int]) -> Entry:
    if not any(one.thread in later for one in entry.changes):
        return entry
    return replace(entry, changes=tuple(replace(one, set_again_by=later.get(one.thread)) for one in entry.changes))


def is_ours(entry: Entry, here: Here) -> bool:
    """Whether the pids of an entry mean here what they meant when it was written."""
    header = entry.header
    return (header.boot_id, header.pid_namespace, header.time_namespace, header.uid) == (
        here.boot_id, here.pid_namespace, here.time_namespace, here.uid,
    )  # fmt: skip


def has_work(entry: Entry, *, force: bool = False) -> bool:
    """Whether a revert of it would have something to look at; what somebody changed since counts only with `force`."""
    if entry.header.kind == "revert":
        return False
    if any(one.is_untried or (force and one.is_open) for one in entry.pages):
        return True
    return any(one.is_open and (force or one.revert_outcome != "changed") for one in entry.changes)


def _newest(entries: Sequence[Entry], lives: Callable[[int, int], bool], *, force: bool) -> Entry | None:
    """The newest with work in a living process; then one whose threads somebody changed since; then one whose job has ended."""
    work = [one for one in entries if has_work(one, force=True)]
    living = [one for one in work if any(lives(*process) for process in one.processes())]
    untouched = [one for one in living if has_work(one, force=force)]
    found = untouched or living or work
    return found[-1] if found else None


def choose(
    ledger: Ledger,
    here: Here,
    number: int | None,
    *,
    force: bool = False,
    lives: Callable[[int, int], bool] = lambda _pid, _starttime: True,
    moves: bool = False,
) -> Entry | None:
    """The entry of that id, or the newest of ours with something to put back; None where there is none. UsageError says why not.

    `lives` tells whether the process of that pid and start is still there; `moves` whether the asker can put pages back.
    """
    if number is None:
        ours = [one for one in ledger.entries if is_ours(one, here) and (moves or one.header.kind != "move")]
        return _newest(ours, lives, force=force)
    entry = ledger.entry(number)
    if entry is None:
        damage = next((one for one in ledger.damages if f"/{number:04d}.jsonl" in one.place), None)
        if damage is not None:
            raise InputError(
                damage.place, f"entry {number} cannot be read: what it changed may still be in force ({damage.problem})"
            )
        place = next((one.path for one in ledger.elsewhere if one.header.id == number), None)
        why = (
            f"no entry {number} of this boot"
            if place is None
            else f"{place}: is of another boot, its pids mean nothing now"
        )
        raise UsageError(f"{why}: numascope revert --list shows what there is")
    if not is_ours(entry, here):
        raise UsageError(f"entry {number} was written in another pid or time namespace: revert it there")
    if entry.header.kind == "revert":
        raise UsageError(f"entry {number} is itself a revert, of {entry.header.reverts}: apply the plan again instead")
    if entry.header.kind == "move" and not moves:
        raise UsageError(f"entry {number} moved pages: numascope revert {number} puts them back, from a terminal")
    return entry


@contextlib.contextmanager
def putting_back(
    store: Store, number: int, *, force: bool = False, moves: bool = False, wait_s: float = WAIT_S
) -> Iterator[tuple[Entry, OpenEntry]]:
    """That entry as it is now, and a new one for what is put back of it, under the lock; InputError where that is held longer.

    It is read again because another numascope may have put it back while this one asked or waited.
    """
    with store.locked(wait_s):
        entry = choose(read_ledger(store), store.here, number, force=force, moves=moves)
        assert entry is not None  # noqa: S101  (an entry is never taken away)
        header = entry.header
        into = OpenEntry(store, "revert", Source(header.plan, header.plan_sha256, header.title), reverts=header.id)
        try:
            yield entry, into
        finally:
            into.close()
