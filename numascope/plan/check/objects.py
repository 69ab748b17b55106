"""What a check asks about and what it finds: a plan on a machine, its findings, and what the framework itself would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.plan.json_reader import MOST_VALUES
from numascope.plan.objects import HOT_ROLES, WHOLE_PROCESS, Place, Rule, Severity, Subject
from numascope.plan.owners import Owners

MOST_LINES: Final = 8
"""So many cases of one finding are told in full; the others keep their places."""

MOST_PLACES: Final = MOST_VALUES

_LONGEST_TEXT: Final = 400


class CheckFinding(NamedTuple):
    """One rule's fault, at its places in the plan's file; each text is one line."""

    rule: str
    severity: Severity
    places: tuple[Place, ...]
    """Where it is written, the first one foremost; never empty."""
    text: str
    evidence: tuple[str, ...]
    remedy: str


class Hit(NamedTuple):
    """One case of a rule: where, what, and what shows it."""

    place: Place
    text: str
    evidence: str = ""


class DeviceIrqs(NamedTuple):
    """The interrupts of the device at one PCI address: IRQ → the CPUs that it goes to."""

    address: str
    cpus: Mapping[int, CpuSet]


class HostFacts(NamedTuple):
    """What a check wants to know of the host beside its machine; None is unknown."""

    has_v1_cpuset: bool | None = None
    """Whether there is the only file by which MindSpore up to 2.10 knows its CPUs."""
    tools: Mapping[str, bool] | None = None
    """`numactl`, `taskset` → whether it is on the PATH."""
    irqs: tuple[DeviceIrqs, ...] | None = None
    cache_kib: Mapping[int, int] = {}
    """Node → page cache, which gives way to what a rank asks for."""
    is_link: bool = False
    """Whether the plan's path is a symbolic link."""


class JobFacts(NamedTuple):
    """What a live job tells of its plan and of its threads; None is unknown."""

    pid: int
    framework: str
    plan_path: str | None
    plan_hash: str | None
    real_path: str | None
    """The plan that is checked, as an absolute path."""
    cpuset: CpuSet | None
    mask: CpuSet | None
    """What the launcher itself may use, which numactl and torchrun go by."""
    ranks: int = 0
    omp_threads: int | None = None
    """The largest OMP_NUM_THREADS of its ranks."""
    loaders: int = 0
    """The most processes that one rank has started."""
    is_readable: bool = True
    """Whether its environment may be read, which names its plan."""
    file_hash: str | None = None
    """The text hash of what now lies at `plan_path`, as the job sees it."""
    is_gone: bool = False
    """Whether the job sees no file there any more."""


class Question(NamedTuple):
    """A plan on a machine and all that is known beside it; what the rules read."""

    owners: Owners
    cpuset: CpuSet
    """Online CPUs that the job's cpuset lets it use."""
    mask: CpuSet
    """Of these what the launcher's own affinity lets numactl and torchrun use."""
    host: HostFacts
    job: JobFacts | None = None
    threads: Mapping[str, int] = {}
    """Role → the threads that the user says it will have."""

    @property
    def free(self) -> CpuSet:
        """The CPUs that the job may use, that the kernel balances threads on, and that the plan gives to nobody."""
        cpus = self.owners.machine.cpus
        return self.cpuset - self.owners.planned - cpus.isolated - cpus.partitioned


def gathered(
    rule: str, severity: Severity, hits: Sequence[Hit], remedy: str, more: Sequence[str] = ()
) -> tuple[CheckFinding, ...]:
    """One finding for all cases of a rule, by their order in the file; none for no case."""
    if not hits:
        return ()
    ordered = sorted(hits, key=lambda hit: (hit.place.line, hit.place.column))
    first, *rest = ordered
    lines = [first.evidence] if first.evidence else []
    lines += [
        f"{_where(first.place, hit.place)}{hit.text}{f'; {hit.evidence}' if hit.evidence else ''}"
        for hit in rest[: MOST_LINES - 1]
    ]
    left_out = len(rest) - (MOST_LINES - 1)
    if left_out > 0:
        lines.append(f"and {left_out} more")
    places = tuple(dict.fromkeys(hit.place for hit in ordered[:MOST_PLACES]))
    evidence = tuple(map(shortened, (*lines, *more)))
    return (CheckFinding(rule, severity, places, shortened(first.text), evidence, shortened(remedy)),)


def shortened(text: str) -> str:
    """A list of thousands of single CPUs is told by its beginning."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _where(first: Place, place: Place) -> str:
    if (place.path, place.line) == (first.path, first.line):
        return ""
    return f"line {place.line}: " if place.path == first.path else f"{place}: "


def is_scheduler(subject: Subject) -> bool:
    """Whether it is MindSpore's scheduler, which hardly runs."""
    return subject.device is None


def is_hot(rule: Rule) -> bool:
    """Whether the device waits for what runs there."""
    return rule.role in (*HOT_ROLES, WHOLE_PROCESS) and not is_scheduler(rule.subject)


def plural(count: int, word: str) -> str:
    """`1 CPU`, `2 CPUs`."""
    return f"{count} {word}{'' if count == 1 else 's'}"
