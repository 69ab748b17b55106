"""Jobs whose ranks are told by variables of their environment: torch, DeepSpeed, Open MPI, JAX, Slurm."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from numascope.observe.jobs.devices import visible_device
from numascope.observe.jobs.kin import (
    Children,
    by_number,
    descendants,
    environ_of,
    launcher_above,
    number_in,
    program_of,
    runs,
    tops,
    with_others,
)
from numascope.observe.jobs.objects import Facts, Job, Rank
from numascope.observe.jobs.schemes import Scheme
from numascope.observe.jobs.torchrun_options import RefusedError, options_begin, torchrun_options
from numascope.observe.sample import ProcessFacts


def ranked_jobs(scheme: Scheme, facts: Facts, children: Children, taken: Container[int]) -> list[Job]:
    """One job a launcher, or where none is seen a run; what a job found before has `taken`, or holds, is none of this scheme's."""
    groups: dict[object, list[int]] = {}
    for pid in tops(facts, children, _identity(scheme, facts)):
        if pid in taken or any(below in taken for below in descendants(children, pid)):
            continue
        environ = environ_of(facts, pid)
        launcher = launcher_above(facts, pid, lambda process: runs(process, scheme.launchers))
        run = tuple(environ.get(name) for name in scheme.run)
        groups.setdefault(launcher if launcher is not None else run, []).append(pid)
    for pid, process in facts.items() if scheme.alone else ():
        parent = facts.get(process.ppid)
        if pid in groups or pid in taken or not runs(process, scheme.alone):
            continue
        if parent is None or not runs(parent, scheme.alone):
            groups[pid] = []
    return [
        _job(scheme, facts, children, key if isinstance(key, int) else None, members) for key, members in groups.items()
    ]


def _identity(scheme: Scheme, facts: Facts) -> Callable[[int], object | None]:
    def identity(pid: int) -> object | None:
        environ = environ_of(facts, pid)
        if scheme.rank not in environ or (scheme.local is not None and scheme.local not in environ):
            return None
        if scheme.needs is not None and number_in(environ.get(scheme.needs)) is None:
            return None
        return environ[scheme.rank]

    return identity


def _job(scheme: Scheme, facts: Facts, children: Children, launcher: int | None, members: list[int]) -> Job:
    ranks = []
    for pid in members:
        environ = environ_of(facts, pid)
        local, name = _local(scheme, environ)
        device, source = visible_device(environ, local, name)
        below = tuple(descendants(children, pid))
        ranks.append(Rank(pid, number_in(environ.get(scheme.rank)), local, device, source, below))
    binding = _numa_binding(facts[launcher].cmdline) if launcher is not None else None
    framework = scheme.framework if launcher is None else _framework(scheme, facts[launcher])
    return with_others(Job(framework, launcher, by_number(ranks), plan_source=binding), facts, children)


def _framework(scheme: Scheme, launcher: ProcessFacts) -> str:
    names = (launcher.comm, *program_of(launcher))
    return next((scheme.launchers[name] for name in names if name in scheme.launchers), scheme.framework)


def _local(scheme: Scheme, environ: Mapping[str, str]) -> tuple[int | None, str]:
    """The local rank and its variable: with torch's virtual_local_rank every LOCAL_RANK is 0 and only the error file's folder tells."""
    error_file = environ.get("TORCHELASTIC_ERROR_FILE", "").split("/") if scheme.local == "LOCAL_RANK" else []
    if len(error_file) >= 3 and error_file[-3].startswith("attempt_"):
        folder = number_in(error_file[-2])
        if folder is not None and folder != number_in(environ.get("LOCAL_RANK")):
            return folder, "TORCHELASTIC_ERROR_FILE"
    return (None, scheme.rank) if scheme.local is None else (number_in(environ.get(scheme.local)), scheme.local)


def _numa_binding(cmdline: Sequence[str]) -> str | None:
    """`--numa-binding=MODE` as torchrun's command line gives it, not what its script is given."""
    begin = options_begin(cmdline)
    if begin is None:
        return None
    try:
        mode = torchrun_options(cmdline[begin:]).numa_binding
    except RefusedError:
        return None
    return None if mode is None else f"--numa-binding={mode}"
