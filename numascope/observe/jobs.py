"""Which processes are a training job: its launcher, its ranks and each rank's helpers. Pure: facts in, jobs out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from numascope.observe.sample import ProcessFacts

Facts = Mapping[int, ProcessFacts]

_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})


BY_HAND: Final = "given by hand"


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank: its top process, its device by the plan's numbering (None: unknown), and its descendants."""

    pid: int
    number: int | None
    local: int | None
    device: int | None
    device_source: str
    helpers: tuple[int, ...] = ()

    @property
    def by_hand(self) -> bool:
        """Whether the user said which device it has."""
        return self.device_source == BY_HAND


@dataclass(frozen=True, slots=True)
class Job:
    """A launcher and what it launched; a process of no known framework is a job of its own kind, `process`."""

    framework: str
    launcher: int | None
    ranks: tuple[Rank, ...]
    scheduler: int | None = None
    others: tuple[int, ...] = ()
    plan_path: str | None = None
    plan_hash: str | None = None
    plan_source: str | None = None
    """Where the job's own plan is named: `MSRUN_BIND_FILE`, `--numa-binding=node` …; None where the job names none."""
    notes: tuple[str, ...] = ()

    def pids(self) -> tuple[int, ...]:
        """Every process of the job."""
        heads = tuple(pid for pid in (self.launcher, self.scheduler) if pid is not None)
        return heads + tuple(pid for rank in self.ranks for pid in (rank.pid, *rank.helpers)) + self.others


def children_of(facts: Facts) -> dict[int, list[int]]:
    """Parent → its children, by pid."""
    children: dict[int, list[int]] = {}
    for pid in sorted(facts):
        children.setdefault(facts[pid].ppid, []).append(pid)
    return children


def descendants(children: Mapping[int, list[int]], pid: int) -> list[int]:
    """All processes below one, parents before children."""
    found: list[int] = []
    todo = list(reversed(children.get(pid, [])))
    while todo:
        one = todo.pop()
        found.append(one)
        todo.extend(reversed(children.get(one, [])))
    return found


def find_jobs(facts: Facts) -> tuple[Job, ...]:
    """The jobs among these processes: MindSpore's by `MS_ROLE`, torch's by `RANK` and `LOCAL_RANK`, launchers by name."""
    children = children_of(facts)
    jobs = [*_mindspore_jobs(facts, children), *_torch_jobs(facts, children)]
    return tuple(sorted(jobs, key=lambda job: min(job.pids())))


def process_job(facts: Facts, pid: int) -> Job:
    """A process of no known framework, with its descendants, as a job of one unnumbered rank."""
    below = descendants(children_of(facts), pid)
    return Job("process", None, (Rank(pid, None, None, None, "", tuple(below)),))


def _environ(facts: Facts, pid: int) -> Mapping[str, str]:
    process = facts.get(pid)
    return {} if process is None or process.environ is None else process.environ


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 10 else None


def _tops(facts: Facts, children: Mapping[int, list[int]], same: Callable[[int], object | None]) -> list[int]:
    """The topmost processes of each identity: children carry a copy of the environment; a shell stands for its one child."""
    tops = []
    for pid, process in facts.items():
        identity = same(pid)
        if identity is None or same(process.ppid) == identity:
            continue
        top = pid
        while facts[top].comm in _SHELLS:
            alike = [child for child in children.get(top, []) if same(child) == identity]
            if len(alike) != 1:
                break
            top = alike[0]
        tops.append(top)
    return sorted(tops)


def _launcher_of(facts: Facts, pid: int, is_launcher: Callable[[ProcessFacts], bool]) -> int | None:
    """The nearest process above that launches; shells and wrappers may stand between."""
    seen = {pid}
    above = facts.get(facts[pid].ppid)
    while above is not None and above.pid not in seen:
        if is_launcher(above):
            return above.pid
        seen.add(above.pid)
        above = facts.get(above.ppid)
    return None


# MindSpore: msrun sets MS_ROLE, RANK_ID and DEVICE_ID in the environment that each worker is started with.


def _mindspore_identity(facts: Facts) -> Callable[[int], object | None]:
    def identity(pid: int) -> object | None:
        process, environ = facts.get(pid), _environ(facts, pid)
        if (
            process is None or process.comm == "tail"
        ):  # msrun --join follows each log with a `tail` in the worker's environment
            return None
        role = environ.get("MS_ROLE")
        return (role, environ.get("RANK_ID")) if role in ("MS_WORKER", "MS_SCHED") else None

    return identity


def _mindspore_device(environ: Mapping[str, str]) -> tuple[int | None, str]:
    local = _number(environ.get("DEVICE_ID"))
    visible = environ.get("ASCEND_RT_VISIBLE_DEVICES")
    if local is None or not visible or "MS_SIMULATION_LEVEL" in environ:
        return local, "DEVICE_ID"
    numbers = [_number(part.strip()) for part in visible.split(",")]
    known = sorted(number for number in numbers if number is not None)
    if len(known) != len(numbers) or local >= len(known):
        return None, f"DEVICE_ID={local} has no place in ASCEND_RT_VISIBLE_DEVICES={visible}"
    return known[local], f"DEVICE_ID={local} of the sorted ASCEND_RT_VISIBLE_DEVICES={visible}"


def _mindspore_jobs(facts: Facts, children: Mapping[int, list[int]]) -> list[Job]:
    tops = _tops(facts, children, _mindspore_identity(facts))
    groups: dict[object, list[int]] = {}
    for pid in tops:
        environ = _environ(facts, pid)
        launcher = _launcher_of(facts, pid, _is_msrun)
        address = (environ.get("MS_SCHED_HOST"), environ.get("MS_SCHED_PORT"))
        groups.setdefault(launcher if launcher is not None else address, []).append(pid)
    for pid, process in facts.items():
        if _is_msrun(process) and pid not in groups:
            groups[pid] = []
    return [
        _mindspore_job(facts, children, key if isinstance(key, int) else None, tops) for key, tops in groups.items()
    ]


def _program(process: ProcessFacts) -> tuple[str, ...]:
    """The names that a command line runs: the program, and what an interpreter was told to run."""
    names = tuple(part.rpartition("/")[2] for part in process.cmdline[:4])
    if not names or not names[0].startswith("python"):
        return names[:1]
    return names[2:3] if names[1:2] == ("-m",) else tuple(name for name in names[1:] if not name.startswith("-"))[:1]


def _is_msrun(process: ProcessFacts) -> bool:
    return process.comm == "msrun" or "msrun" in _program(process)


def _mindspore_job(facts: Facts, children: Mapping[int, list[int]], launcher: int | None, tops: list[int]) -> Job:
    ranks, scheduler = [], None
    for pid in tops:
        environ = _environ(facts, pid)
        if environ["MS_ROLE"] == "MS_SCHED":
            scheduler = pid
            continue
        device, source = _mindspore_device(environ)
        below = tuple(descendants(children, pid))
        local = _number(environ.get("DEVICE_ID"))
        ranks.append(Rank(pid, _number(environ.get("RANK_ID")), local, device, source, below))
    named = next((environ for pid in tops if "MSRUN_BIND_FILE" in (environ := _environ(facts, pid))), {})
    job = Job(
        framework="mindspore",
        launcher=launcher,
        ranks=_by_number(ranks),
        scheduler=scheduler,
        plan_path=named.get("MSRUN_BIND_FILE"),
        plan_hash=named.get("MSRUN_BIND_FILE_HASH"),
        plan_source="MSRUN_BIND_FILE" if named else None,
    )
    return _with_others(job, facts, children)


# torch: torchrun (torch.distributed.run) sets RANK and LOCAL_RANK in the environment that each rank is started with.


def _torch_identity(facts: Facts) -> Callable[[int], object | None]:
    def identity(pid: int) -> object | None:
        environ = _environ(facts, pid)
        return environ["RANK"] if "RANK" in environ and "LOCAL_RANK" in environ else None

    return identity


def _is_torchrun(process: ProcessFacts) -> bool:
    return process.comm == "pt_elastic" or not {"torchrun", "torch.distributed.run"}.isdisjoint(_program(process))


def _torch_local(environ: Mapping[str, str]) -> tuple[int | None, str]:
    """The true local rank: with virtual_local_rank every LOCAL_RANK is 0 and only the error file's folder tells."""
    error_file = environ.get("TORCHELASTIC_ERROR_FILE", "").split("/")
    if len(error_file) >= 3 and error_file[-3].startswith("attempt_"):
        folder = _number(error_file[-2])
        if folder is not None and folder != _number(environ.get("LOCAL_RANK")):
            return folder, "TORCHELASTIC_ERROR_FILE"
    return _number(environ.get("LOCAL_RANK")), "LOCAL_RANK"


def _torch_jobs(facts: Facts, children: Mapping[int, list[int]]) -> list[Job]:
    groups: dict[object, list[int]] = {}
    for pid in _tops(facts, children, _torch_identity(facts)):
        environ = _environ(facts, pid)
        launcher = _launcher_of(facts, pid, _is_torchrun)
        run = (environ.get("TORCHELASTIC_RUN_ID"), environ.get("MASTER_ADDR"), environ.get("MASTER_PORT"))
        groups.setdefault(launcher if launcher is not None else run, []).append(pid)
    for pid, process in facts.items():
        parent = facts.get(process.ppid)
        if _is_torchrun(process) and pid not in groups and not (parent is not None and _is_torchrun(parent)):
            groups[pid] = []
    return [_torch_job(facts, children, key if isinstance(key, int) else None, tops) for key, tops in groups.items()]


def _torch_job(facts: Facts, children: Mapping[int, list[int]], launcher: int | None, tops: list[int]) -> Job:
    ranks = []
    for pid in tops:
        environ = _environ(facts, pid)
        local, source = _torch_local(environ)
        below = tuple(descendants(children, pid))
        ranks.append(Rank(pid, _number(environ.get("RANK")), local, local, source, below))
    binding = _numa_binding(facts[launcher].cmdline) if launcher is not None else None
    job = Job("torch", launcher, _by_number(ranks), plan_source=binding)
    return _with_others(job, facts, children)


def _numa_binding(cmdline: Iterable[str]) -> str | None:
    """`--numa-binding=MODE` as torchrun's command line gives it."""
    parts = list(cmdline)
    for at, part in enumerate(parts):
        name, equals, value = part.replace("_", "-").partition("=")
        if name == "--numa-binding":
            mode = value if equals else (parts[at + 1] if at + 1 < len(parts) else "?")
            return f"--numa-binding={mode}"
    return None


def _by_number(ranks: list[Rank]) -> tuple[Rank, ...]:
    return tuple(sorted(ranks, key=lambda rank: (rank.number is None, rank.number or 0, rank.pid)))


def _with_others(job: Job, facts: Facts, children: Mapping[int, list[int]]) -> Job:
    """Adds what else hangs below the launcher, and says where ranks may hide behind an unreadable environment."""
    known = set(job.pids())
    heads = [pid for pid in (job.launcher, job.scheduler) if pid is not None]
    below = dict.fromkeys(pid for head in heads for pid in descendants(children, head) if pid not in known)
    hidden = [pid for pid in below if facts[pid].environ is None]
    notes = job.notes
    if hidden:
        notes = (*notes, f"environment of {hidden[0]} cannot be read: its rank is unknown")
    return replace(job, others=tuple(below), notes=notes)
