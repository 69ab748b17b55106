"""Command lines that begin with numactl or taskset, one for each rank.

numactl(8) and taskset(1) of Debian 12 (numactl 2.0.16, util-linux 2.38), and what these programs were seen to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from numascope.cpuset import EMPTY, CpuSet
from numascope.plan.dialects.draft import MOST_RANKS, Draft, Scene
from numascope.plan.dialects.loops import run_commands
from numascope.plan.dialects.prefix_lists import Known, numactl_list, taskset_cpus
from numascope.plan.dialects.prefix_notes import DEVICE_BY_PLACE, ONE_LINE_FOR_ALL_RANKS, ONLY_LAST_HOLDS
from numascope.plan.dialects.torchrun import of_each_rank, ranks_started
from numascope.plan.dialects.words import Command, Word, decoded, shown
from numascope.plan.objects import MemoryPolicy, Plan

TOOLS: Final = ("numactl", "taskset")
ALL_TAKEN: Final = "numactl --all"
"""As the tool of a rule: numactl that is not held to its launcher's mask, by its option or by a tool before it in the line."""

_DEVICE = re.compile(r"\bdevice ?([0-9]{1,5})\b")
_CASE = re.compile(r"([0-9]{1,5})\)")
_RANK_VARIABLES: Final = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "DEVICE_ID", "RANK", "RANK_ID")
_TALKERS: Final = frozenset(
    ("which", "type", "hash", "echo", "printf", "man", "apt", "apt-get", "yum", "dnf", "apk", "conda")
)
"""Commands of scripts that name a tool and do not start it."""

_LONG: Final[Mapping[str, str]] = {
    "all": "a", "interleave": "i", "preferred": "p", "preferred-many": "P", "weighted-interleave": "w", "cpubind": "c",
    "cpunodebind": "N", "physcpubind": "C", "huge": "u", "shmid": "I", "show": "s", "hardware": "H", "membind": "m",
    "localalloc": "l", "strict": "t", "shm": "S", "file": "f", "offset": "o", "length": "L", "dump": "d", "dump-nodes": "D",
    "touch": "T", "verify": "V", "shmmode": "M", "balancing": "b",
}  # fmt: skip
_WITH_VALUE: Final = "CNcmipPw"
_BARE: Final = "labt"
_QUERIES: Final = "sH"
_POLICIES: Final[Mapping[str, MemoryPolicy]] = {
    "m": "bind", "i": "interleave", "p": "preferred", "P": "preferred-many", "w": "weighted-interleave", "l": "local",
}  # fmt: skip
_TASKSET_LONG: Final[Mapping[str, str]] = {"all-tasks": "a", "pid": "p", "cpu-list": "c", "help": "h", "version": "V"}


def tool_of(command: Command) -> int | None:
    """Where in a command the first word numactl or taskset stands that is started."""
    for at, word in enumerate(command.words):
        name = word.text.rpartition("/")[2]
        if name in _TALKERS or (
            name == "command" and at + 1 < len(command.words) and command.words[at + 1].text in ("-v", "-V")
        ):
            return None
        if name in TOOLS:
            return at
    return None


def read_prefixes(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of such lines: a rank a line, in their order where neither a comment nor a variable names its device. InputError."""
    draft = Draft(path, "taskset", data)
    seen: dict[int, Word] = {}
    for written in run_commands(path, decoded(path, data, "a command line")):
        tool = tool_of(written)
        if tool is None:
            continue
        for command, at in of_each_rank(path, written, tool, scene):
            _add(draft, scene, seen, command, at)
    if not seen:
        raise draft.wrong(Word("", 1, 1), "has no line that begins with numactl or taskset")
    return draft.plan()


def _add(draft: Draft, scene: Scene, seen: dict[int, Word], command: Command, at: int) -> None:
    """What one line gives to its ranks."""
    word = command.words[at]
    device = _device(command, at, len(seen))
    unknown = next((one for one in command.words[:at] if _is_unknown_rank(one)), None)
    if unknown is not None:
        text = f"{shown(unknown)} is known to the shell alone: taken for device{device}, by the order of the lines"
        draft.note(unknown, DEVICE_BY_PLACE, text)
    line = _Line(draft, scene, device)
    if not line.read(command.words[at:]):
        return
    if word.text.endswith("numactl"):
        draft.dialect = "numactl"
    for number in line.devices():
        if number in seen:
            raise draft.wrong(word, f"device{number} has a line already, line {seen[number].line}: keep one")
        if len(seen) >= MOST_RANKS:
            raise draft.wrong(word, f"more than {MOST_RANKS} lines, far more than ranks")
        seen[number] = word
    line.give()


def launcher_cpus(path: str, words: Sequence[Word], scene: Scene) -> CpuSet | None:
    """The CPUs that the numactl or taskset before a launcher leaves it; None where it has neither. InputError."""
    at = tool_of(Command(tuple(words), "", ""))
    if at is None:
        return None
    line = _Line(Draft(path, "taskset", b""), scene, 0)
    line.read(words[at:])
    return line.allowed_inside()


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


def _is_unknown_rank(word: Word) -> bool:
    assigned = word.assigned()
    return assigned is not None and assigned[0] in _RANK_VARIABLES and ("$" in assigned[1] or "`" in assigned[1])


class _Line:
    """One rank's line; a numactl that starts a taskset is both."""

    def __init__(self, draft: Draft, scene: Scene, device: int) -> None:
        self.draft, self.scene, self.device = draft, scene, device
        self.cpus: tuple[Word, CpuSet, CpuSet | None] | None = None
        self.memory: tuple[Word, CpuSet, MemoryPolicy] | None = None
        self.last_nodes: CpuSet | None = None
        self.takes_all = False
        self.tool = "taskset"
        self.allowed = scene.allowed
        self.own: Word | None = None
        self.ranks = 1

    def read(self, words: Sequence[Word]) -> bool:
        """Reads the tools' options up to the command that they start; False: they only show something."""
        at: int | None = 0
        while at is not None and at < len(words) and words[at].text.rpartition("/")[2] in TOOLS:
            is_numactl = words[at].text.rpartition("/")[2] == "numactl"
            self.takes_all, self.allowed, self.own = False, self.allowed_inside(), None
            at = self.numactl(words, at + 1) if is_numactl else self.taskset(words, at + 1)
        if at is None:
            return False
        self.ranks = ranks_started(self.draft.path, words[at:], self.scene, self.allowed_inside()) or 1
        if self.ranks > 1:
            text = f"torchrun starts {self.ranks} ranks here: each inherits the same"
            self.draft.note(words[at], ONE_LINE_FOR_ALL_RANKS, text)
        return True

    def devices(self) -> Iterator[int]:
        """The ranks that this line binds."""
        yield from range(self.device, self.device + self.ranks)

    def give(self) -> None:
        for device in self.devices():
            if self.cpus is not None:
                self.draft.give(self.cpus[0], device, self.cpus[1], nodes=self.cpus[2], tool=self.tool)
            if self.memory is not None:
                self.draft.give_memory(self.memory[0], device, *self.memory[1:])

    def allowed_inside(self) -> CpuSet:
        """The CPUs that a tool further behind in the line may name."""
        if self.cpus is None:
            return self.scene.allowed
        _, cpus, nodes = self.cpus
        for node in self.scene.machine.nodes:
            cpus |= node.cpus if nodes is not None and node.id in nodes else EMPTY
        return cpus & self.scene.machine.cpus.online

    def numactl(self, words: Sequence[Word], at: int) -> int | None:
        self.last_nodes = None
        policy: Word | None = None
        while at < len(words) and words[at].text.startswith("-") and words[at].text != "-":
            word = words[at]
            at += 1
            if word.text == "--":
                break
            for letter, value in self.letters(word):
                if letter in _QUERIES:
                    return None
                if letter not in _WITH_VALUE + _BARE:
                    raise self.draft.wrong(
                        word, f"numactl binds nothing with {shown(word)}: give -C, -N, -m, -p, -i or -l"
                    )
                given = value
                if letter in _WITH_VALUE and value is None:
                    if at == len(words):
                        raise self.draft.wrong(word, f"{shown(word)} has no value behind it")
                    given = words[at]
                    at += 1
                if letter in _POLICIES:
                    if policy is not None:
                        raise self.draft.wrong(word, "a second memory policy: numactl refuses that, keep one")
                    policy = word
                self.option(letter, word, given)
        return at

    def letters(self, word: Word) -> Iterator[tuple[str, Word | None]]:
        """The options in one word, each by its letter and with the value that is in the word itself."""
        if word.text.startswith("--"):
            name, equals, _ = word.text[2:].partition("=")
            yield self.long(word, name, _LONG, "numactl"), word.part(len(name) + 3) if equals else None
            return
        for at, letter in enumerate(word.text[1:], 1):
            if letter in _WITH_VALUE:
                yield letter, word.part(at + 1) if at + 1 < len(word.text) else None
                return
            yield letter, None

    def long(self, word: Word, name: str, known: Mapping[str, str], tool: str) -> str:
        """The letter of a long option, which may be cut short as far as it stays the only one."""
        if name in known:
            return known[name]
        fitting = [one for one in known if one.startswith(name)]
        if len(fitting) > 1:
            raise self.draft.wrong(word, f"{shown(word)} is short for {' and '.join(fitting)}: {tool} refuses it")
        return known[fitting[0]] if fitting else "?"

    def option(self, letter: str, word: Word, value: Word | None) -> None:
        if letter == "a":
            self.takes_all = True
        elif letter in _POLICIES:
            nodes = EMPTY if value is None else self.nodes(value)
            if letter == "p" and len(nodes) > 1:
                raise self.draft.wrong(
                    value or word, "more than one preferred node: numactl refuses that, -P takes several"
                )
            self.memory = (value or word, nodes, _POLICIES[letter])
        elif value is not None:
            if self.own is not None:
                text = "two lists of CPUs or nodes: numactl goes by the last one alone"
                self.draft.note(value, ONLY_LAST_HOLDS, text)
            else:
                self.note_second_tool(value)
                self.tool = ALL_TAKEN if self.takes_all or self.cpus is not None else "numactl"
            self.own = value
            self.cpus = (value, self.cpu_list(value), None) if letter == "C" else (value, EMPTY, self.nodes(value))

    def note_second_tool(self, value: Word) -> None:
        if self.cpus is not None:
            text = f"two tools in this line bind to CPUs: the second one's hold, not {shown(self.cpus[0])}"
            self.draft.note(value, ONLY_LAST_HOLDS, text)

    def cpu_list(self, value: Word) -> CpuSet:
        online = self.scene.machine.cpus.online
        allowed = online if self.takes_all else self.allowed
        every = online if self.takes_all else self.scene.allowed
        return numactl_list(self.draft, value, Known("CPU", allowed, every))

    def nodes(self, value: Word) -> CpuSet:
        if value.text == "same":
            if self.last_nodes is None:
                raise self.draft.wrong(value, '"same" has no nodes before it, which numactl refuses: give node numbers')
            return self.last_nodes
        every = CpuSet.of(node.id for node in self.scene.machine.nodes)
        allowed = every if self.takes_all else every & (self.scene.machine.nodes_allowed or every)
        self.last_nodes = numactl_list(self.draft, value, Known("node", allowed, allowed))
        return self.last_nodes

    def taskset(self, words: Sequence[Word], at: int) -> int | None:
        is_list = False
        while at < len(words) and words[at].text.startswith("-"):
            word = words[at]
            at += 1
            if word.text == "--":
                break
            is_long = word.text.startswith("--")
            flags = self.long(word, word.text[2:], _TASKSET_LONG, "taskset") if is_long else word.text[1:]
            if flags in ("h", "V"):
                return None
            if not flags or set(flags) - set("acp"):
                raise self.draft.wrong(word, f"taskset binds nothing with {shown(word)}: give -c and a list")
            if "p" in flags:
                raise self.draft.wrong(
                    word, "taskset -p binds a process that runs already: give the line that starts one"
                )
            is_list |= "c" in flags
        if at == len(words):
            raise self.draft.wrong(words[-1], "taskset has no CPUs behind it")
        self.note_second_tool(words[at])
        self.tool = "taskset"
        self.cpus = (words[at], taskset_cpus(self.draft, words[at], self.scene.allowed, is_list=is_list), None)
        return at + 1
