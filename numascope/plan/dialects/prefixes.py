"""Command lines that begin with numactl or taskset, one for each rank.

numactl(8) and taskset(1) of Debian 12 (numactl 2.0.16, util-linux 2.38), and what these programs were seen to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from numascope.cpuset import EMPTY, BadIdListError, CpuSet
from numascope.plan.dialects.draft import MOST_RANKS, Draft, Scene
from numascope.plan.dialects.words import Command, Word, commands, decoded, shown
from numascope.plan.objects import MemoryPolicy, Plan

TOOLS: Final = ("numactl", "taskset")

_DEVICE = re.compile(r"\bdevice ?([0-9]{1,5})\b")
_CASE = re.compile(r"([0-9]{1,5})\)")
_RANK_VARIABLES: Final = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "DEVICE_ID", "RANK", "RANK_ID")
_LONG: Final[Mapping[str, str]] = {
    "physcpubind": "C", "cpunodebind": "N", "cpubind": "N", "membind": "m", "interleave": "i", "preferred": "p",
    "preferred-many": "P", "weighted-interleave": "w", "localalloc": "l", "all": "a", "balancing": "b",
}  # fmt: skip
_VALUELESS: Final = "lab"
_POLICIES: Final[Mapping[str, MemoryPolicy]] = {
    "m": "bind", "i": "interleave", "p": "preferred", "P": "preferred-many", "w": "weighted-interleave", "l": "local",
}  # fmt: skip
_LIST = re.compile(r"(!?)(\+?)(.*)", re.DOTALL)
_STRIDED = re.compile(r"\s*([0-9]{1,9})-([0-9]{1,9}):([0-9]{1,9})\s*")
_MASK = re.compile(r"(?:0[xX])?([0-9a-fA-F][0-9a-fA-F,]{0,20000})")


def tool_of(command: Command) -> int | None:
    """Where in a command the first word numactl or taskset stands."""
    return next((at for at, word in enumerate(command.words) if word.text.rpartition("/")[2] in TOOLS), None)


def read_prefixes(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of such lines: a rank a line, in their order where neither a comment nor a variable names its device. InputError."""
    draft = Draft(path, "taskset", data)
    seen: dict[int, Word] = {}
    for command in commands(path, decoded(path, data, "a command line")):
        at = tool_of(command)
        if at is None:
            continue
        word = command.words[at]
        device = _device(command, at, len(seen))
        if device in seen:
            raise draft.wrong(word, f"device{device} has a line already, line {seen[device].line}: keep one")
        if len(seen) >= MOST_RANKS:
            raise draft.wrong(word, f"more than {MOST_RANKS} lines, far more than ranks")
        if word.text.endswith("numactl"):
            draft.dialect = "numactl"
        seen[device] = word
        _Line(draft, scene, device).read(command.words[at:])
    if not seen:
        raise draft.wrong(Word("", 1, 1), "has no line that begins with numactl or taskset")
    return draft.plan()


def _device(command: Command, at: int, number: int) -> int:
    """The device that the comment beside a line names, else the rank of its variable or case label, else its number."""
    for comment in (command.behind, command.above):
        named = _DEVICE.search(comment)
        if named is not None:
            return int(named[1])
    for word in command.words[:at]:
        label, assigned = _CASE.fullmatch(word.text), word.assigned()
        if label is not None:
            return int(label[1])
        if assigned is not None and assigned[0] in _RANK_VARIABLES and re.fullmatch("[0-9]{1,5}", assigned[1]):
            return int(assigned[1])
    return number


class _Line:
    """One rank's line; a numactl that starts a taskset is both."""

    def __init__(self, draft: Draft, scene: Scene, device: int) -> None:
        self.draft, self.scene, self.device = draft, scene, device
        self.cpus: tuple[Word, CpuSet, CpuSet | None] | None = None
        self.policy: Word | None = None

    def read(self, words: Sequence[Word]) -> None:
        """Reads the tools' options up to the command that they start."""
        at = 0
        while at < len(words) and words[at].text.rpartition("/")[2] in TOOLS:
            is_numactl = words[at].text.rpartition("/")[2] == "numactl"
            at = self.numactl(words, at + 1) if is_numactl else self.taskset(words, at + 1)
        if self.cpus is not None:
            self.draft.give(self.cpus[0], self.device, self.cpus[1], nodes=self.cpus[2])

    def numactl(self, words: Sequence[Word], at: int) -> int:
        while at < len(words) and words[at].text.startswith("-"):
            word = words[at]
            at += 1
            if word.text == "--":
                break
            if word.text.startswith("--"):
                name, equals, _ = word.text[2:].partition("=")
                letter = _LONG.get(name.replace("_", "-"), "")
                value = word.part(len(name) + 3) if equals else None
            else:
                letter = word.text[1:2]
                value = word.part(2) if len(word.text) > 2 else None
            if letter not in _LONG.values() or not letter:
                raise self.draft.wrong(word, f"numactl binds nothing with {shown(word)}: give -C, -N, -m, -p, -i or -l")
            if letter not in _VALUELESS and value is None:
                if at == len(words):
                    raise self.draft.wrong(word, f"{shown(word)} has no value behind it")
                value = words[at]
                at += 1
            self.option(letter, word, value)
        return at

    def option(self, letter: str, word: Word, value: Word | None) -> None:
        if letter in _POLICIES:
            if self.policy is not None:
                raise self.draft.wrong(word, "a second memory policy: numactl refuses that, keep one")
            self.policy = word
            nodes = EMPTY if value is None else self.listed(value, "node")
            self.draft.give_memory(value or word, self.device, nodes, _POLICIES[letter])
        elif letter in "CN" and value is not None:
            if self.cpus is not None:
                self.draft.note(value, "the second list of CPUs or nodes: numactl heeds the last one only")
            ids = self.listed(value, "CPU" if letter == "C" else "node")
            self.cpus = (value, ids, None) if letter == "C" else (value, EMPTY, ids)
            strange = ids - self.scene.allowed if letter == "C" else EMPTY
            if strange:
                self.draft.note(
                    value, f"CPU {strange} is not there or not allowed here: numactl refuses the whole list"
                )

    def listed(self, value: Word, name: str) -> CpuSet:
        """A list of numactl's: `all`, `!` for the others, `+` for positions in the cpuset."""
        nodes = CpuSet.of(node.id for node in self.scene.machine.nodes)
        allowed = self.scene.allowed if name == "CPU" else nodes & (self.scene.machine.nodes_allowed or nodes)
        matched = _LIST.fullmatch(value.text)
        assert matched is not None  # noqa: S101  (the pattern takes any text)
        if matched[3] == "same" or ":" in matched[3]:
            raise self.draft.wrong(value, f"{shown(value)}: give {name} numbers, numascope does not look devices up")
        if matched[3] == "all":
            return allowed
        word = value.part(len(matched[1]) + len(matched[2]))
        ids = self.draft.ids(word, f"the {name} list")
        if not ids:
            raise self.draft.wrong(value, f"an empty list of {name}s, which numactl refuses")
        if matched[2]:
            members = list(allowed)
            self.draft.note(value, f"{shown(value)} is relative to the cpuset: here {allowed or 'none'}")
            ids = CpuSet.of(members[one] for one in ids if one < len(members))
        return allowed - ids if matched[1] else ids

    def taskset(self, words: Sequence[Word], at: int) -> int:
        is_list = False
        while at < len(words) and words[at].text.startswith("-"):
            word = words[at]
            flags = word.text[1:]
            if flags not in ("-cpu-list", "-all-tasks") and (not flags or set(flags) - set("acp")):
                raise self.draft.wrong(word, f"taskset binds nothing with {shown(word)}: give -c and a list")
            if "p" in flags and not flags.startswith("-"):
                raise self.draft.wrong(
                    word, "taskset -p binds a process that runs already: give the line that starts one"
                )
            is_list |= flags == "-cpu-list" or ("c" in flags and not flags.startswith("-"))
            at += 1
        if at == len(words):
            raise self.draft.wrong(words[-1], "taskset has no CPUs behind it")
        if self.cpus is not None:
            self.draft.note(words[at], "taskset comes after numactl: its CPUs hold")
        cpus = self.strided(words[at]) if is_list else self.mask(words[at])
        if not cpus:
            raise self.draft.wrong(words[at], f"{shown(words[at])} is no CPU, which taskset refuses")
        lost = cpus - self.scene.allowed
        if lost:
            self.draft.note(words[at], f"CPU {lost} is not there or not allowed here: taskset leaves it out silently")
        self.cpus = (words[at], cpus, None)
        return at + 1

    def strided(self, word: Word) -> CpuSet:
        """A list in which a range may have a stride: `0-31:2`."""
        bits = 0
        for piece in word.text.split(","):
            found = _STRIDED.fullmatch(piece)
            if found is None:
                bits |= self.draft.ids(Word(piece, word.line, word.column), "the CPU list").bits
                continue
            first, last, step = map(int, found.groups())
            whole = self.draft.ids(Word(f"{first}-{last}", word.line, word.column), "the CPU list")
            if not step:
                raise self.draft.wrong(word, f"{shown(word)}: a stride of 0, give 1 or more")
            bits |= CpuSet.of(cpu for cpu in whole if (cpu - first) % step == 0).bits
        return CpuSet(bits)

    def mask(self, word: Word) -> CpuSet:
        found = _MASK.fullmatch(word.text)
        digits = "" if found is None else found[1].replace(",", "")
        try:
            return CpuSet(int(digits, 16))
        except (ValueError, BadIdListError):
            raise self.draft.wrong(
                word, f"{shown(word)} is no mask: give a hexadecimal one, or -c and a list"
            ) from None
