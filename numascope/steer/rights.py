"""Whether this user may set the threads that a list names: asked before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from numascope.errors import NotPermittedError
from numascope.host.here import may_set_for_others
from numascope.host.root import HostRoot
from numascope.observe.sample import ProcessFacts


def check_rights(root: HostRoot, uid: int, pids: Iterable[int], processes: Mapping[int, ProcessFacts]) -> None:
    """NotPermittedError where one of these processes is another user's and CAP_SYS_NICE is not in effect (sched_setaffinity(2))."""
    refused = refusal(uid, pids, processes)
    if refused is not None and not may_set_for_others(root):
        raise refused


def refusal(uid: int, pids: Iterable[int], processes: Mapping[int, ProcessFacts]) -> NotPermittedError | None:
    """Why a user without CAP_SYS_NICE may not set the threads of these processes; None where all are his own."""
    foreign = {
        pid: process.uid
        for pid in pids
        if (process := processes.get(pid)) is not None and process.uid is not None and process.uid != uid
    }
    if not foreign:
        return None
    pid, owner = min(foreign.items())
    more = f" and {len(foreign) - 1} more processes" if len(foreign) > 1 else ""
    return NotPermittedError(
        f"{pid}{more} belong{'' if more else 's'} to uid {owner}, not to us (uid {uid}): run as uid {owner}, or as root "
        "(CAP_SYS_NICE); nothing is changed"
    )
