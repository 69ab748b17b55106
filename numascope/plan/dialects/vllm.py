"""vLLM's VLLM_CPU_OMP_THREADS_BIND: the CPUs of each rank's OpenMP threads, ranks apart by `|`.

vllm/envs.py, vllm/v1/worker/cpu_worker.py (the n-th part is for local rank n) and csrc/cpu/utils.cpp of vLLM 0.9 to 0.18
(each OpenMP thread is pinned to one CPU of the list, and memory bound to the nodes of the CPUs); since April 2026
vllm/utils/ompmultiprocessing.py (OMP_PLACES, KMP_AFFINITY or GOMP_CPU_AFFINITY of each rank, memory bound likewise).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.plan.dialects.draft import MOST_RANKS, Draft, Scene
from numascope.plan.dialects.variables import value_of
from numascope.plan.dialects.vllm_auto import BEFORE, Engines, auto_lists
from numascope.plan.dialects.words import Word, commands, decoded, shown
from numascope.plan.notes import IDS_NOT_USABLE
from numascope.plan.objects import NoteKind, Plan

NAME: Final = "VLLM_CPU_OMP_THREADS_BIND"

_RESERVED: Final = "VLLM_CPU_NUM_OF_RESERVED_CPU"
_VISIBLE: Final = "CPU_VISIBLE_MEMORY_NODES"
_SIZES: Final = {
    "--tensor-parallel-size": "tp", "-tp": "tp", "--pipeline-parallel-size": "pp", "-pp": "pp",
    "--data-parallel-size": "dp", "-dp": "dp",
}  # fmt: skip

_LISTS_NOT_OF_RANKS: Final = NoteKind("reading", "error", "give a list for each rank")
_BY_VERSION: Final = NoteKind("reading", "info", "give lists where another version runs it")
_ONE_RANK_ASSUMED: Final = NoteKind("reading", "info", "write the command with its options beside the variable")
_WITHOUT_CPU: Final = NoteKind("reading", "warning", "keep fewer CPUs free, or give lists")
_NOT_BOUND: Final = NoteKind("reading", "info", "give its CPUs where it should be bound")


class _Beside(NamedTuple):
    """What stands beside the variable: sizes of the job, and other variables."""

    sizes: dict[str, int]
    variables: dict[str, Word]

    @property
    def ranks(self) -> int:
        """Of one engine."""
        return self.sizes.get("tp", 1) * self.sizes.get("pp", 1)


def read_vllm(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of that variable, `auto` as vLLM computes it; InputError, also for what binds nothing."""
    draft = Draft(path, "vllm", data)
    text = decoded(path, data, "a setting")
    value = value_of(draft, text, NAME)
    beside = _beside(draft, text)
    if value.text == "auto":
        _auto(draft, scene, value, beside)
        return draft.plan()
    if value.text in ("nobind", "all", ""):
        raise draft.wrong(value, f"{NAME}={value.text} binds nothing")
    parts = value.text.split("|")
    wanted = beside.ranks * beside.sizes.get("dp", 1)
    if beside.sizes and len(parts) != wanted:
        draft.note(value, _LISTS_NOT_OF_RANKS, f"{len(parts)} lists for {wanted} ranks: vLLM ends, give each rank one")
    if len(parts) > MOST_RANKS:
        raise draft.wrong(value, f"more than {MOST_RANKS} ranks, far more than a machine has")
    at = 0
    for rank, part in enumerate(parts):
        _rank(draft, scene, value.part(at)._replace(text=part), rank)
        at += len(part) + 1
    return draft.plan()


def _beside(draft: Draft, text: str) -> _Beside:
    sizes: dict[str, int] = {}
    variables: dict[str, Word] = {}
    for command in commands(draft.path, text):
        for word, following in zip(command.words, (*command.words[1:], None), strict=True):
            assigned = word.assigned()
            if assigned is not None and assigned[0] in (_RESERVED, _VISIBLE):
                variables[assigned[0]] = word.part(len(assigned[0]) + 1)
            name, equals, _ = word.text.replace("_", "-").partition("=")
            size = word.part(len(name) + 1) if equals else following
            if name in _SIZES and size is not None:
                sizes[_SIZES[name]] = _number(draft, size, name, 1)
    return _Beside(sizes, variables)


def _number(draft: Draft, word: Word, name: str, least: int) -> int:
    if not re.fullmatch("[0-9]{1,6}", word.text) or not least <= int(word.text) <= MOST_RANKS:
        raise draft.wrong(word, f"{name} is {shown(word)}: expected {least} to {MOST_RANKS}")
    return int(word.text)


def _auto(draft: Draft, scene: Scene, value: Word, beside: _Beside) -> None:
    reserved = beside.variables.get(_RESERVED)
    visible = beside.variables.get(_VISIBLE)
    engines = Engines(
        beside.ranks,
        beside.sizes.get("dp", 1),
        None if reserved is None else _number(draft, reserved, _RESERVED, 0),
        None if visible is None or not visible.text else _listed(draft, visible),
    )
    if engines.ranks * engines.number > MOST_RANKS:
        raise draft.wrong(value, f"more than {MOST_RANKS} ranks, far more than a machine has")
    lists = auto_lists(scene.machine, scene.allowed, engines)
    if isinstance(lists, str):
        raise draft.wrong(value, lists)
    draft.note(value, _BY_VERSION, BEFORE)
    if not beside.sizes:
        text = "no --tensor-parallel-size here, so one rank: vLLM gives each rank a node"
        draft.note(value, _ONE_RANK_ASSUMED, text)
    for rank, cpus in enumerate(lists):
        if not cpus:
            text = f"rank {rank} is left without a CPU: set {_RESERVED} lower, or give lists"
            draft.note(value, _WITHOUT_CPU, text)
        _bind(draft, scene, value, rank, cpus)


def _listed(draft: Draft, word: Word) -> Sequence[int]:
    pieces = word.text.split(",")
    if len(pieces) > MOST_RANKS or not all(re.fullmatch(r"\s*[0-9]{1,6}\s*", piece) for piece in pieces):
        raise draft.wrong(word, f"{_VISIBLE} is {shown(word)}: expected nodes such as 0,1")
    return [int(piece) for piece in pieces]


def _rank(draft: Draft, scene: Scene, word: Word, rank: int) -> None:
    if word.text.strip() == "all":
        draft.note(word, _NOT_BOUND, f"rank {rank} is not bound")
        return
    cpus = draft.ids(word, f"the list of rank {rank}")
    if not cpus:
        raise draft.wrong(word, f"the list of rank {rank} is empty: vLLM fails, give its CPUs")
    if cpus - scene.allowed:
        draft.note(word, IDS_NOT_USABLE, f"CPU {cpus - scene.allowed} is not there or not allowed here")
    _bind(draft, scene, word, rank, cpus)


def _bind(draft: Draft, scene: Scene, word: Word, rank: int, cpus: CpuSet) -> None:
    draft.give(word, rank, cpus, is_written=False)  # the list is that of the threads, and the process has it as well
    draft.give(word, rank, cpus, "omp")
    draft.give_memory(word, rank, CpuSet.of(node.id for node in scene.machine.nodes if node.cpus & cpus))
