"""The threads of a process at one instant, as roles are told from them: for a verb that looks once."""

from __future__ import annotations

from numascope.host import procfs
from numascope.host.affinity import AffinityReader
from numascope.host.parse_proc import parse_schedstat
from numascope.host.root import AbsentError, DeniedError, HostRoot
from numascope.observe.roles.objects import ThreadFacts


def read_threads(root: HostRoot, pid: int, masks: AffinityReader) -> tuple[ThreadFacts, ...]:
    """All threads of a process by tid, those left out that end meanwhile; DeniedError, AbsentError once the process is gone."""
    files = procfs.TaskFiles(root, pid)
    try:
        found = [one for tid in sorted(files.tids()) if (one := _thread(files, tid, masks)) is not None]
    finally:
        files.close()
    return tuple(found)


def _thread(files: procfs.TaskFiles, tid: int, masks: AffinityReader) -> ThreadFacts | None:
    try:
        identity = files.identity(tid)
        times = parse_schedstat(files.read(tid, "schedstat"))
        allowed = masks.read(tid)
    except AbsentError:
        return None
    except DeniedError:
        times = allowed = None
    if identity is None:
        return None
    return ThreadFacts(tid, identity.comm, identity.starttime_ticks, None if times is None else times.run_ns, allowed)
