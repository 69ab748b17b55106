"""A plan while a dialect is read: its rules, its notes with their places, and the errors that it raises."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from numascope.cpuset import EMPTY, BadIdListError, CpuSet
from numascope.errors import InputError
from numascope.machine.objects import Machine
from numascope.plan.dialects.words import Word
from numascope.plan.json_reader import quoted, universal_newlines
from numascope.plan.make.seats import Seats
from numascope.plan.notes import Notes
from numascope.plan.objects import WHOLE_PROCESS, MemoryPolicy, MemoryRule, NoteKind, Place, Plan, Rule, Subject
from numascope.plan.ranges import read_ids

MOST_RANKS = 4_096
"""More than any machine has; bounds what a mistyped count costs."""


class Scene(NamedTuple):
    """What a plan is read for: a machine, and its devices where the user says where they sit (None: as found)."""

    machine: Machine
    seats: Seats | None = None

    @property
    def allowed(self) -> CpuSet:
        """The online CPUs that whoever looks may use; all online ones where that is not known."""
        cpus = self.machine.cpus
        return cpus.online if cpus.allowed is None else cpus.online & cpus.allowed


class Draft:
    """Gathers the rules of one plan of one dialect."""

    def __init__(self, path: str, dialect: str, data: bytes) -> None:
        self.path, self.dialect, self.data = path, dialect, data
        self._rules: list[Rule] = []
        self._memory: list[MemoryRule] = []
        self._notes = Notes(path)

    def place(self, word: Word) -> Place:
        """The place of a word."""
        return Place(self.path, word.line, word.column)

    def wrong(self, word: Word, problem: str) -> InputError:
        """The error to raise for a word."""
        return InputError(self.path, problem, word.line, word.column)

    def note(self, word: Word, kind: NoteKind, text: str) -> None:
        """Keeps a note on a word."""
        self._notes.add(self.place(word), kind, text)

    def give(
        self,
        word: Word,
        device: int | None,
        cpus: CpuSet,
        role: str = WHOLE_PROCESS,
        *,
        nodes: CpuSet | None = None,
        tool: str | None = None,
        order: tuple[int, ...] = (),
        is_written: bool = True,
    ) -> None:
        """A rule: these CPUs, or the CPUs of these nodes, to a role; one without any is none."""
        if cpus or nodes:
            given = EMPTY if nodes else cpus
            self._rules.append(
                Rule(Subject(device), role, given, self.place(word), nodes or None, tool, order, is_written)
            )

    def give_memory(self, word: Word, device: int | None, nodes: CpuSet, policy: MemoryPolicy = "bind") -> None:
        """A rule for the memory of a subject."""
        if nodes or policy == "local":
            self._memory.append(MemoryRule(Subject(device), nodes, self.place(word), policy))

    def ids(self, word: Word, name: str) -> CpuSet:
        """The ids of a list such as `0-3,8`; InputError says which piece is wrong."""
        try:
            return read_ids(word.text)
        except BadIdListError as failure:
            where = "" if failure.found in ("", word.text.strip()) else f"in {quoted(failure.found)} "
            raise self.wrong(word, f"{name} is {quoted(word.text)}: {where}{failure.problem}") from None

    def plan(self, *, fixed_actors: bool = False) -> Plan:
        """The plan of all that was gathered."""
        return Plan(
            path=self.path,
            dialect=self.dialect,
            sha256=hashlib.sha256(self.data).hexdigest(),
            text_sha256=hashlib.sha256(universal_newlines(self.data)).hexdigest(),
            cpu_mode="cpu" if any(rule.cpus for rule in self._rules) else "numa" if self._rules else "none",
            memory_mode="numa" if self._memory else "none",
            fixed_actors=fixed_actors,
            rules=tuple(self._rules),
            memory=tuple(self._memory),
            notes=self._notes.all(),
        )
