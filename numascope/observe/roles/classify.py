"""The role of each thread of one process: by its process where that tells, by its name, by evidence, else unnamed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from numascope.observe.jobs.schemes import LAUNCHERS
from numascope.observe.roles.evidence import dataset_process, pipeline_roles, pool_roles
from numascope.observe.roles.names import COMM_BYTES, NameTable, OwnNames
from numascope.observe.roles.objects import ProcessView, Role, ThreadFacts
from numascope.observe.roles.tables import NAMES_OF, SIGNATURES, TITLES
from numascope.observe.roles.tables.torch import FORMER_MAIN

_MAIN: Final = Role("main", "named", "its process's first thread")
_LAUNCHER: Final = Role("launcher", "named", "launches the job")
_IN_LAUNCHER: Final = Role("launcher", "named", "a thread of the launcher")
_UNNAMED: Final = Role("unnamed", "unknown", "carries its process's name")
_INHERITED: Final = Role("unnamed", "unknown", "carries a name that its process had before, or its creator")
_INTERPRETER: Final = re.compile(r"python[0-9.]*")
_FORKSERVER: Final = "multiprocessing.forkserver"
_UNKNOWN: Final = "process"


def roles_of(process: ProcessView, threads: Sequence[ThreadFacts], own: OwnNames | None = None) -> tuple[Role, ...]:
    """The role of each thread of one process; `own` are the user's names, which go before all tables."""
    whole = _role_of_whole_process(process, threads)
    if whole is not None:
        return tuple(whole for _ in threads)
    tables = [NAMES_OF.get(process.framework, NAMES_OF[_UNKNOWN])]
    if own is not None:
        tables.insert(0, own.table(process.framework))
    by_name: dict[str, Role] = {}
    for comm in {thread.comm for thread in threads}:
        by_name[comm] = _role_by_name(process, comm, tables)
    unnamed = [thread for thread in threads if by_name[thread.comm].name == "unnamed" and thread.tid != process.pid]
    found = _by_evidence(process, threads, unnamed)
    first = _first_thread(process)
    return tuple(
        first if thread.tid == process.pid else found.get(thread.tid, by_name[thread.comm]) for thread in threads
    )


def framework_of(comms: Iterable[str]) -> str | None:
    """The framework that these threads' names are of; None where no name is of one framework only."""
    for comm in comms:
        found = SIGNATURES.find(comm)
        if found is not None:
            return found.role
    return None


def _role_by_name(process: ProcessView, comm: str, tables: Sequence[NameTable]) -> Role:
    if comm == process.comm:
        return _IN_LAUNCHER if process.kind == "launcher" else _UNNAMED
    for table in tables:
        found = table.find(comm)
        if found is not None:
            return Role(
                found.role, "named", f'comm "{comm}"' + (f", by {found.source}" if table is not tables[-1] else "")
            )
    if process.kind == "launcher":
        return _IN_LAUNCHER
    if comm == FORMER_MAIN or _INTERPRETER.fullmatch(comm) or comm in _names_before(process):
        return _INHERITED
    return Role("other", "unknown", f'comm "{comm}" is in no table')


def _names_before(process: ProcessView) -> set[str]:
    """What a process was called by exec: the program, or the launcher's script, that its command line starts with."""
    names = [part.rpartition("/")[2] for part in process.cmdline[:2]]
    return {name[:COMM_BYTES] for at, name in enumerate(names) if at == 0 or name in LAUNCHERS}


def _by_evidence(
    process: ProcessView, threads: Sequence[ThreadFacts], unnamed: Sequence[ThreadFacts]
) -> dict[int, Role]:
    if not unnamed or process.kind == "launcher":
        return {}
    if process.framework == "mindspore":
        return pipeline_roles(process, unnamed)
    return pool_roles(process, next((one for one in threads if one.tid == process.pid), None), unnamed)


def _first_thread(process: ProcessView) -> Role:
    if process.kind == "launcher":
        return _LAUNCHER
    title = TITLES.find(process.comm)
    if title is None or process.kind == "rank":
        return _MAIN
    return Role(title.role, "named", f'process "{process.comm}", {title.source}')


def _role_of_whole_process(process: ProcessView, threads: Sequence[ThreadFacts]) -> Role | None:
    if process.kind == "other" and process.comm == "tail":
        return Role("log", "named", "follows a worker's log")
    if process.kind not in ("helper", "other"):
        return None
    service = _service(process)
    if service is not None or process.kind == "other":
        return service
    if process.framework == "mindspore" and process.parent_cmdline in (None, process.cmdline):
        return dataset_process(process, threads)
    return None


def _service(process: ProcessView) -> Role | None:
    """Processes that PyTorch and Python's multiprocessing start beside a rank, whatever framework runs in it."""
    if process.comm == "pt_data_worker":
        return Role("loader", "named", 'comm "pt_data_worker"')
    arguments = " ".join(process.cmdline[:8])
    if "compile_worker" in arguments:
        return Role("compile", "named", "torch.compile's worker pool, by its command line")
    if "multiprocessing.resource_tracker" in arguments:
        return Role("housekeeping", "named", "Python's multiprocessing, by its command line")
    # What a fork server forks has its command line too, and is whatever the program wanted.
    if _FORKSERVER in arguments and _FORKSERVER not in " ".join((process.parent_cmdline or ())[:8]):
        return Role("housekeeping", "named", "Python's multiprocessing, by its command line")
    return None
