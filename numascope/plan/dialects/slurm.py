"""Slurm's explicit binding: `srun --cpu-bind=map_cpu:… | mask_cpu:… | map_ldom:… | mask_ldom:…`, with `--mem-bind` (srun(1))."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, BadIdListError, CpuSet
from numascope.plan.dialects.draft import MOST_RANKS, Draft, Scene
from numascope.plan.dialects.words import Word, commands, decoded, shown
from numascope.plan.objects import Plan
from numascope.plan.positions import quoted

WHOLE_HOST: Final = "Slurm heeds such a list only where the job has the whole host"
"""What is so of every such list."""

_KINDS: Final = ("map_cpu", "mask_cpu", "map_ldom", "mask_ldom")
_MEMORY_KINDS: Final = ("map_mem", "mask_mem")
_TYPED = re.compile(r"(?:(?:[a-z_]+),)*?([a-z]+_[a-z]+)[:=](.*)", re.DOTALL)
_ITEM = re.compile(r"(0[xX])?([0-9a-fA-F]{1,16384})(?:\*([0-9]{1,6}))?")
_VARIABLES: Final[Mapping[str, str]] = {
    "SLURM_CPU_BIND": "cpu-bind", "SBATCH_CPU_BIND": "cpu-bind", "SLURM_MEM_BIND": "mem-bind", "SBATCH_MEM_BIND": "mem-bind",
}  # fmt: skip
_COUNTS: Final = ("ntasks-per-node", "ntasks", "n")


class _Given(NamedTuple):
    """The options of one srun that matter."""

    cpu: Word | None
    memory: Word | None
    tasks: int | None


def read_slurm(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of an srun command line, or of SLURM_CPU_BIND: the n-th element is for the n-th task of this host. InputError."""
    draft = Draft(path, "slurm", data)
    given = _given(draft, decoded(path, data, "a command line"))
    if given.cpu is None:
        raise draft.wrong(Word("", 1, 1), "has no --cpu-bind and no SLURM_CPU_BIND")
    kind, elements = _elements(draft, given.cpu, _KINDS, "--cpu-bind")
    tasks = len(elements) if given.tasks is None else given.tasks
    if given.tasks is not None and tasks > len(elements):
        draft.note(given.cpu, f"{tasks} tasks for {len(elements)} elements: the list begins again")
    if tasks < len(elements):
        draft.note(given.cpu, f"{len(elements)} elements for {tasks} tasks: the rest is for nobody")
    draft.note(given.cpu, WHOLE_HOST)
    known = CpuSet.of(node.id for node in scene.machine.nodes)
    for task in range(tasks):
        word, ids = elements[task % len(elements)]
        if kind.endswith("ldom"):
            if ids - known:
                draft.note(word, f"node {ids - known} is not there: this machine has {known or 'none'}")
            draft.give(word, task, EMPTY, nodes=ids)
        else:
            if ids - scene.machine.cpus.online:
                draft.note(word, f"CPU {ids - scene.machine.cpus.online} is not online here")
            draft.give(word, task, ids)
    _memory(draft, given.memory, tasks)
    return draft.plan()


def _memory(draft: Draft, word: Word | None, tasks: int) -> None:
    """`--mem-bind=map_mem:…` and `mask_mem:…`; its other types name no nodes."""
    if word is None:
        return
    if "local" in word.text.split(","):
        for task in range(tasks):
            draft.give_memory(word, task, EMPTY, "local")
        return
    if not any(kind in word.text for kind in _MEMORY_KINDS):
        draft.note(word, f"{shown(word)} names no nodes: the memory is not planned")
        return
    _, elements = _elements(draft, word, _MEMORY_KINDS, "--mem-bind")
    prefers = re.search(r"(?:^|,)p(?:refer)?(?:,|$)", word.text.partition(":")[0] + ",") is not None
    for task in range(tasks):
        where, nodes = elements[task % len(elements)]
        draft.give_memory(where, task, nodes, "preferred" if prefers else "bind")


def _given(draft: Draft, text: str) -> _Given:
    found: dict[str, Word] = {}
    tasks: int | None = None
    for command in commands(draft.path, text):
        words = command.words
        is_srun = any(word.text.rpartition("/")[2] in ("srun", "sbatch", "salloc") for word in words)
        for at, word in enumerate(words):
            name, value = _option(words, at)
            if name in ("cpu-bind", "mem-bind"):
                if name in found and found[name].text != value.text:
                    raise draft.wrong(value, f"a second --{name}, the first is in line {found[name].line}: keep one")
                found[name] = value
            elif name in _COUNTS and is_srun and tasks is None:
                tasks = _count(draft, name, value)
            del word
    return _Given(found.get("cpu-bind"), found.get("mem-bind"), tasks)


def _option(words: Sequence[Word], at: int) -> tuple[str, Word]:
    """The name of an option, without dashes, and its value; of a variable the option that it stands for."""
    word = words[at]
    following = words[at + 1] if at + 1 < len(words) else Word("", word.line, word.column)
    assigned = word.assigned()
    if assigned is not None and assigned[0] in _VARIABLES:
        return _VARIABLES[assigned[0]], word.part(len(assigned[0]) + 1)
    if word.text.startswith("--"):
        name, equals, _ = word.text[2:].partition("=")
        return name.replace("_", "-"), word.part(len(name) + 3) if equals else following
    if word.text.startswith("-n"):
        return "n", word.part(2) if len(word.text) > 2 else following
    return "", word


def _count(draft: Draft, name: str, value: Word) -> int:
    if not re.fullmatch("[0-9]{1,6}", value.text) or not 1 <= int(value.text) <= MOST_RANKS:
        raise draft.wrong(value, f"the number of tasks ({name}) is {shown(value)}: expected 1 to {MOST_RANKS}")
    return int(value.text)


def _elements(draft: Draft, word: Word, kinds: Sequence[str], option: str) -> tuple[str, list[tuple[Word, CpuSet]]]:
    """The kind, and each element of the list with its ids; `0*4` stands for four."""
    found = _TYPED.fullmatch(word.text.replace("mapcpu", "map_cpu").replace("maskcpu", "mask_cpu"))
    if found is None or found[1] not in kinds:
        raise draft.wrong(word, f"{option}={quoted(word.text)}: numascope reads lists, {', '.join(kinds)}")
    elements: list[tuple[Word, CpuSet]] = []
    at = len(word.text) - len(found[2])
    for piece in found[2].split(","):
        where = Word(piece, word.line, word.column + at)
        at += len(piece) + 1
        ids, times = _element(draft, where, is_mask=found[1].startswith("mask"))
        if len(elements) + times > MOST_RANKS:
            raise draft.wrong(where, f"more than {MOST_RANKS} elements, far more than tasks of a host")
        elements += [(where, ids)] * times
    return found[1], elements


def _element(draft: Draft, word: Word, *, is_mask: bool) -> tuple[CpuSet, int]:
    found = _ITEM.fullmatch(word.text)
    try:
        if found is not None:
            times = 1 if found[3] is None else int(found[3])
            number = int(found[2], 16 if is_mask or found[1] else 10)
            ids = CpuSet(number) if is_mask else CpuSet.of((number,))
            if ids and times:
                return ids, times
    except (ValueError, BadIdListError):
        pass
    expected = "a hexadecimal mask such as 0xf0" if is_mask else "a number such as 4, or 4*2 for two tasks"
    raise draft.wrong(word, f"{shown(word)}: expected {expected}")
