"""Slurm's explicit binding: `srun --cpu-bind=map_cpu:… | mask_cpu:… | map_ldom:… | mask_ldom:…`, with `--mem-bind` (srun(1)).

How the options are read: slurm_resource_info.c of Slurm; what they mean: get_cpuset() of its task/affinity plugin.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, BadIdListError, CpuSet
from numascope.plan.dialects.draft import MOST_RANKS, Draft, Scene
from numascope.plan.dialects.prefix_notes import BESIDE_LAUNCHER
from numascope.plan.dialects.prefixes import tool_of
from numascope.plan.dialects.slurm_options import Given, given_options
from numascope.plan.dialects.words import Word, commands, decoded, shown
from numascope.plan.json_reader import quoted
from numascope.plan.notes import IDS_NOT_USABLE
from numascope.plan.objects import NoteKind, Plan

_OF_WHOLE_HOSTS: Final = NoteKind("reading", "info", "ask for whole hosts: sbatch --exclusive")
_BEGINS_AGAIN: Final = NoteKind("reading", "warning", "give an element for each task, or start fewer tasks")
_FOR_NOBODY: Final = NoteKind("reading", "warning", "start a task for each element, or remove the rest")
_NAMES_NO_NODES: Final = NoteKind("reading", "info", "give map_mem or mask_mem where memory should be bound")

_ALLOCATION: Final = "Slurm ends the step where such a list has a CPU that the job was not given"
_WHOLE_HOST: Final = "Slurm refuses this where the job has not the whole host"
_WRAPS: Final = "counts modulo the nodes"

_SEPARATOR = re.compile(r",(?![0-9]|[0-9a-fA-F]*(?:,|$))")
"""A comma before what is no value; all others part the elements of a list."""

_LIST = re.compile(r"(map|mask)_?(cpu|ldom|mem)[:=](.*)", re.DOTALL | re.IGNORECASE)
_ITEM = re.compile(r"(0[xX])?([0-9a-fA-F]{1,16384})(?:\*([0-9]{1,6}))?")
_LOUDNESS: Final = frozenset(("q", "quiet", "v", "verbose", "one_thread"))
_UNITS: Final = frozenset(("socket", "sockets", "core", "cores", "thread", "threads", "ldom", "ldoms"))


class _Asked(NamedTuple):
    """What an option asks for: a kind such as `map_cpu`, `rank` or `none`, its list, and whether memory is only preferred."""

    kind: str
    listed: Word | None = None
    prefers: bool = False


def read_slurm(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of an srun command line, or of SLURM_CPU_BIND: the n-th element is for the n-th task of this host. InputError."""
    draft = Draft(path, "slurm", data)
    text = decoded(path, data, "a command line")
    given = given_options(draft, text)
    if given.cpu is None:
        raise draft.wrong(Word("", 1, 1), "has no --cpu-bind and no SLURM_CPU_BIND")
    asked = _asked(draft, given.cpu, "--cpu-bind")
    if asked.listed is None:
        tasks = _by_rank(draft, scene, given, given.cpu, asked.kind)
    else:
        tasks = _by_list(draft, scene, given, given.cpu, asked)
    if given.memory is not None:
        _memory(draft, given.memory, tasks)
    _note_tools(draft, text)
    return draft.plan()


def _note_tools(draft: Draft, text: str) -> None:
    """What a numactl or taskset binds that each task begins with."""
    for command in commands(draft.path, text):
        at = tool_of(command)
        if at is not None and any(word.text.rpartition("/")[2] == "srun" for word in command.words[:at]):
            tool = shown(command.words[at])[1:-1]
            text = (
                f"{tool} behind srun is not read here: each task gets the CPUs and memory that it binds to, not srun's"
            )
            draft.note(command.words[at], BESIDE_LAUNCHER, text)


def _asked(draft: Draft, word: Word, option: str) -> _Asked:
    """The last of all kinds in the value of an option holds, as in Slurm."""
    found = _Asked("")
    prefers = False
    at = 0
    for piece in _SEPARATOR.split(word.text):
        where = word.part(at)._replace(text=piece)
        at += len(piece) + 1
        name = piece.lower()
        matched = _LIST.fullmatch(piece)
        if matched is not None and (matched[2].lower() == "mem") == (option == "--mem-bind"):
            kind = f"{matched[1]}_{matched[2]}".lower()
            found = _Asked(kind, where.part(len(piece) - len(matched[3])))
        elif name in ("no", "none", "rank", "local") or (name == "rank_ldom" and option == "--cpu-bind"):
            found = _Asked("none" if name == "no" else name)
        elif name in ("p", "prefer", "sort") and option == "--mem-bind":
            prefers = prefers or name != "sort"
        elif name in _UNITS and option == "--cpu-bind":
            found = found if found.kind else _Asked("unit")
        elif name not in _LOUDNESS:
            hint = ": write its value, the shell's is not known here" if "$" in piece else ""
            raise draft.wrong(where, f"{option} has {shown(where)}, which Slurm does not know{hint}")
    return found._replace(prefers=prefers)


def _by_rank(draft: Draft, scene: Scene, given: Given, word: Word, kind: str) -> int:
    """`rank` and `rank_ldom`: task n on CPU n, or on node n."""
    if kind == "none":
        raise draft.wrong(word, "--cpu-bind=none binds nothing")
    if kind not in ("rank", "rank_ldom"):
        raise draft.wrong(
            word,
            f"--cpu-bind={quoted(word.text)} names no CPUs: srun chooses them of those that the job gets; "
            "give map_cpu or mask_cpu, such as the masks that --cpu-bind=verbose prints",
        )
    if given.tasks is None:
        raise draft.wrong(
            word, f"--cpu-bind={kind} is by task, and how many tasks there are is not said: give --ntasks"
        )
    draft.note(word, _OF_WHOLE_HOSTS, _WHOLE_HOST)
    for task in range(given.tasks):
        if kind == "rank":
            draft.give(word, task, CpuSet.of((task % max(1, len(scene.machine.cpus.online)),)))
        else:
            draft.give(word, task, EMPTY, nodes=_wrapped(scene, CpuSet.of((task,))))
    return given.tasks


def _by_list(draft: Draft, scene: Scene, given: Given, word: Word, asked: _Asked) -> int:
    elements = _elements(draft, asked)
    tasks = len(elements) if given.tasks is None else given.tasks
    if tasks > len(elements):
        draft.note(
            word,
            _BEGINS_AGAIN,
            f"{tasks} tasks for {len(elements)} elements: the list begins again, so that tasks share CPUs",
        )
    if tasks < len(elements):
        draft.note(word, _FOR_NOBODY, f"{len(elements)} elements for {tasks} tasks: no task gets the last ones")
    by_node = asked.kind.endswith("ldom")
    draft.note(word, _OF_WHOLE_HOSTS, _WHOLE_HOST if by_node else _ALLOCATION)
    known = CpuSet.of(node.id for node in scene.machine.nodes)
    for task in range(tasks):
        where, ids = elements[task % len(elements)]
        if by_node:
            wrapped = _wrapped(scene, ids)
            if ids - known:
                text = f"node {ids - known} is not there: Slurm {_WRAPS} and takes {wrapped}"
                draft.note(where, IDS_NOT_USABLE, text)
            draft.give(where, task, EMPTY, nodes=wrapped)
        else:
            if ids - scene.machine.cpus.online:
                draft.note(where, IDS_NOT_USABLE, f"CPU {ids - scene.machine.cpus.online} is not online here")
            draft.give(where, task, ids)
    return tasks


def _wrapped(scene: Scene, ids: CpuSet) -> CpuSet:
    """Node numbers as Slurm takes them: modulo the highest of the machine and one."""
    number = 1 + max((node.id for node in scene.machine.nodes), default=0)
    return CpuSet.of({one % number for one in ids})


def _memory(draft: Draft, word: Word, tasks: int) -> None:
    """`--mem-bind=map_mem:…`, `mask_mem:…` and `local`; its other types name no nodes."""
    asked = _asked(draft, word, "--mem-bind")
    if asked.kind == "local":
        for task in range(tasks):
            draft.give_memory(word, task, EMPTY, "local")
    elif asked.listed is None:
        draft.note(word, _NAMES_NO_NODES, f"{shown(word)} names no nodes: the memory is not planned")
    else:
        elements = _elements(draft, asked)
        for task in range(tasks):
            where, nodes = elements[task % len(elements)]
            draft.give_memory(where, task, nodes, "preferred" if asked.prefers else "bind")


def _elements(draft: Draft, asked: _Asked) -> list[tuple[Word, CpuSet]]:
    """Each element of a list with its ids; `0*4` stands for four."""
    elements: list[tuple[Word, CpuSet]] = []
    word = asked.listed or Word("", 1, 1)
    at = 0
    for piece in word.text.split(","):
        where = word.part(at)._replace(text=piece)
        at += len(piece) + 1
        ids, times = _element(draft, where, is_mask=asked.kind.startswith("mask"))
        if len(elements) + times > MOST_RANKS:
            raise draft.wrong(where, f"more than {MOST_RANKS} elements, far more than tasks of a host")
        elements += [(where, ids)] * times
    return elements


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
    hint = ", the shell's variable is not known here" if "$" in word.text else ""
    raise draft.wrong(word, f"{shown(word)}: expected {expected}{hint}")
