"""vLLM's VLLM_CPU_OMP_THREADS_BIND: the CPUs of each rank's OpenMP threads, ranks apart by `|`.

vllm/envs.py, vllm/v1/worker/cpu_worker.py (the n-th part is for local rank n) and csrc/cpu/utils.cpp of vLLM 0.9 to 0.18
(each OpenMP thread is pinned to one CPU of the list, and memory bound to the nodes of the CPUs).
"""

from __future__ import annotations

from typing import Final

from numascope.cpuset import CpuSet
from numascope.plan.dialects.draft import MOST_RANKS, Draft, Scene
from numascope.plan.dialects.variables import value_of
from numascope.plan.dialects.words import Word, decoded
from numascope.plan.objects import Plan

NAME: Final = "VLLM_CPU_OMP_THREADS_BIND"


def read_vllm(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of that variable; `auto`, which vLLM computes when it starts, and `nobind` are InputErrors that say so."""
    draft = Draft(path, "vllm", data)
    value = value_of(draft, decoded(path, data, "a setting"), NAME)
    if value.text == "auto":
        raise draft.wrong(value, f"{NAME}=auto is computed by vLLM when it starts: give lists such as 0-31|32-63")
    if value.text in ("nobind", "all", ""):
        raise draft.wrong(value, f"{NAME}={value.text} binds nothing")
    at = 0
    for rank, part in enumerate(value.text.split("|")):
        if rank >= MOST_RANKS:
            raise draft.wrong(value, f"more than {MOST_RANKS} ranks, far more than a machine has")
        _rank(draft, scene, Word(part, value.line, value.column + at), rank)
        at += len(part) + 1
    return draft.plan()


def _rank(draft: Draft, scene: Scene, word: Word, rank: int) -> None:
    if word.text.strip() == "all":
        draft.note(word, f"rank {rank} is not bound")
        return
    cpus = draft.ids(word, f"the list of rank {rank}")
    if not cpus:
        raise draft.wrong(word, f"the list of rank {rank} is empty: vLLM fails, give its CPUs or all")
    if cpus - scene.allowed:
        draft.note(word, f"CPU {cpus - scene.allowed} is not there or not allowed here")
    draft.give(word, rank, cpus)
    draft.give(word, rank, cpus, "omp")
    node_of = scene.machine.node_of
    draft.give_memory(word, rank, CpuSet.of({node_of[cpu] for cpu in cpus if cpu in node_of}))
