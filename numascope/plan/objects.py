"""A plan: rules from (device or scheduler, role) to CPUs and memory nodes, and notes, each with its place in the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from numascope.cpuset import EMPTY, CpuSet

BindMode = Literal["cpu", "numa", "none"]
MemoryPolicy = Literal["bind", "preferred", "preferred-many", "interleave", "weighted-interleave", "local"]
"""The kernel's memory policies that a plan may ask for (set_mempolicy(2)); `local` names no nodes."""

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the plan's file something is written; lines and columns from 1."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """Whom a rule speaks of: a device by number, or the scheduler (`device` None)."""

    device: int | None

    def __str__(self) -> str:
        return "scheduler" if self.device is None else f"device{self.device}"


SCHEDULER = Subject(None)

WHOLE_PROCESS: Final = "any"
"""The role of a process as a whole, and of each of its threads that no other role has."""

HOT_ROLES: Final = ("main", "runtime", "pynative", "autograd")
"""Roles on whose latency the device waits, the hottest first."""

PROCESS_ROLES: Final = frozenset({"main", WHOLE_PROCESS})
"""Roles that the process itself has, so that everything in it inherits from them."""


@dataclass(frozen=True, slots=True)
class Rule:
    """CPUs of one role of one subject; role `any` is the whole process.

    A role `name:PATTERN` are the threads whose names fit the pattern, in which `*` stands for any characters and `?` for one.
    In `numa` mode `nodes` holds what the plan says and `cpus` is empty until the plan is resolved on a machine.
    """

    subject: Subject
    role: str
    cpus: CpuSet
    place: Place
    nodes: CpuSet | None = None
    tool: str | None = None
    """What binds it, where lines of one plan are by several tools: a name as of a dialect, None: as the plan's."""
    order: tuple[int, ...] = ()
    """The CPUs as threads take them by position, repeats too, where that is not once each in ascending order."""
    is_written: bool = True
    """False: the file does not say it in so many words, its reader adds what the framework makes of that."""

    def by_position(self) -> tuple[int, ...]:
        """The CPUs as threads take them that are bound to one each."""
        return self.order or tuple(self.cpus)


@dataclass(frozen=True, slots=True)
class MemoryRule:
    """The memory nodes that a subject's pages should come from."""

    subject: Subject
    nodes: CpuSet
    place: Place
    policy: MemoryPolicy = "bind"


class NoteKind(NamedTuple):
    """What a check makes of notes of one kind: the rule that they belong to, their weight, and what to do."""

    rule: str
    severity: Severity
    remedy: str
    told_by: tuple[str, ...] = ()
    """Rules on the machine, or how their names begin, that say the same of the same place."""
    anywhere: bool = False
    """They say it of another place."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader found odd and does not refuse."""

    place: Place | str | None
    """Where; a path: in that file as a whole; None: in the plan as a whole."""
    text: str
    kind: NoteKind

    def __str__(self) -> str:
        return self.text if self.place is None else f"{self.place}: {self.text}"


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan as read; `sha256` is of the bytes, `text_sha256` of the text with universal newlines (MindSpore's)."""

    path: str
    dialect: str
    sha256: str
    text_sha256: str
    cpu_mode: BindMode
    memory_mode: BindMode
    fixed_actors: bool
    rules: tuple[Rule, ...]
    memory: tuple[MemoryRule, ...]
    notes: tuple[Note, ...] = ()

    def subjects(self) -> tuple[Subject, ...]:
        """Everybody the plan speaks of: devices by number, then the scheduler."""
        found = {rule.subject for rule in self.rules} | {rule.subject for rule in self.memory}
        return tuple(sorted(found, key=lambda one: (one.device is None, one.device or 0)))


@dataclass(frozen=True, slots=True)
class Target:
    """Where a thread should run: `planned` by the plan, `cpus` what of it is online and in the process's cpuset."""

    planned: CpuSet
    cpus: CpuSet
    place: Place
    why: str
    """In words: `runtime[1] of device5`, `main of device0`."""
    either: CpuSet = EMPTY
    """Where the framework may as well have put it: the last that bound it wins."""
    one_each: bool = False
    """The framework binds each such thread to one CPU of these, so a mask of one CPU is as planned."""

    def judged_by(self, allowed: CpuSet | None) -> CpuSet:
        """The set that a thread with this mask is held against: `either` where it has that, else `cpus`."""
        return self.either if allowed and allowed <= self.either and not allowed <= self.cpus else self.cpus
