"""The command line of torchrun: which mode binds how many ranks."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.observe.jobs.torchrun_options import RefusedError, options_begin, torchrun_options
from numascope.plan.dialects.draft import MOST_RANKS, Scene
from numascope.plan.dialects.loops import worked_out
from numascope.plan.dialects.words import Command, Word, commands, decoded
from numascope.plan.json_reader import quoted
from numascope.plan.make.seats import found_seats, has_accelerator
from numascope.plan.make.torch_modes import MODES
from numascope.plan.source import nearest

_RANKS: Final = "PET_NPROC_PER_NODE"
_BY_DEVICES: Final = ("auto", "gpu", "xpu", "npu")
_LONGEST_SAID: Final = 200


class Torchrun(NamedTuple):
    """What one torchrun is asked for: a mode, the ranks of this host as `--nproc-per-node` has them; and what stands before it."""

    mode: str
    ranks: Word
    before: tuple[Word, ...]


def read_torchrun(path: str, data: bytes) -> Torchrun | None:
    """The first torchrun of a text, also as `python -m torch.distributed.run`; None where there is none, InputError.

    Options behind the script are the script's; without --nproc-per-node and PET_NPROC_PER_NODE there is one rank.
    """
    if b"torchrun" not in data and b"torch.distributed." not in data:
        return None
    ranks: Word | None = None
    for command in commands(path, decoded(path, data, "a command line")):
        behind = _behind(command.words)
        ranks = _of_environment(command.words[:behind]) or ranks
        if behind is None:
            continue
        torchrun = command.words[behind - 1]
        given = _parsed(path, torchrun, command.words[behind:])
        if given.numa_binding is None:
            raise _at(path, torchrun, "this torchrun binds nothing: it has no --numa-binding")
        return Torchrun(given.numa_binding, _ranks(given, torchrun, ranks), command.words[: behind - 1])
    return None


def ranks_started(path: str, words: Sequence[Word], scene: Scene, cpus: CpuSet) -> int | None:
    """The ranks that a command starts by torchrun, which may use these CPUs; None where it is another command. InputError."""
    behind = _behind(words)
    if behind is None:
        return None
    torchrun = words[behind - 1]
    given = _parsed(path, torchrun, words[behind:])
    ranks = rank_count(path, _ranks(given, torchrun, _of_environment(words[:behind])), cpus)
    if ranks is None and scene.seats is None and not has_accelerator(scene.machine):
        raise _at(path, torchrun, "no accelerator is seen here for torchrun to count: give --nproc-per-node a number")
    return len((scene.seats or found_seats(scene.machine, ("gpu",), None)).seats) if ranks is None else ranks


def of_each_rank(path: str, command: Command, tool: int, scene: Scene) -> Iterator[tuple[Command, int]]:
    """A command and where its tool stands; of a tool behind a torchrun one for each rank, with its LOCAL_RANK. InputError."""
    behind = _behind(command.words[:tool])
    if behind is None:
        yield command, tool
        return
    torchrun = command.words[behind - 1]
    ranks = ranks_started(path, command.words[: tool + 1], scene, scene.allowed) or 0
    for rank in range(ranks):
        values = {"LOCAL_RANK": str(rank)}
        words = (word._replace(text=worked_out(word.text, values)) for word in command.words[tool:])
        yield command._replace(words=(torchrun._replace(text=f"LOCAL_RANK={rank}"), *words)), 1


def _of_environment(words: Sequence[Word]) -> Word | None:
    assigned = (word for word in words if word.text.startswith(f"{_RANKS}="))
    return next((word.part(len(_RANKS) + 1) for word in assigned), None)


def _ranks(given: argparse.Namespace, torchrun: Word, of_environment: Word | None) -> Word:
    if given.nproc_per_node is not None:
        return torchrun._replace(text=given.nproc_per_node)
    return of_environment or torchrun._replace(text="1")


def _behind(words: Sequence[Word]) -> int | None:
    return options_begin([word.text for word in words])


def _parsed(path: str, torchrun: Word, words: Sequence[Word]) -> argparse.Namespace:
    try:
        given = torchrun_options([word.text for word in words])
    except RefusedError as error:
        raise _at(path, torchrun, f"torchrun refuses this line: {safe_text(str(error))[:_LONGEST_SAID]}") from None
    if given.help:
        raise _at(path, torchrun, "this torchrun prints its help and starts nobody: leave -h out")
    mode = given.numa_binding
    if mode is not None and mode not in MODES:
        word = next((one for one in words if one.text.startswith("--numa")), torchrun)
        problem = f"{quoted(mode[:40])} is no mode of torch: {', '.join(MODES)}{nearest(mode, MODES)}"
        raise _at(path, word, f"--numa-binding: {problem}")
    return given


def rank_count(path: str, word: Word, cpus: CpuSet) -> int | None:
    """The ranks of this host: a number, as many as there are devices (None), or for `cpu` as many as CPUs. InputError."""
    if word.text in _BY_DEVICES:
        return None
    if word.text == "cpu":
        return len(cpus)
    if not re.fullmatch("[0-9]{1,6}", word.text) or not 1 <= int(word.text) <= MOST_RANKS:
        problem = f"--nproc-per-node is {quoted(word.text[:40])}: expected 1 to {MOST_RANKS} ranks, auto, gpu or cpu"
        raise _at(path, word, problem)
    return int(word.text)


def _at(path: str, word: Word, problem: str) -> InputError:
    return InputError(path, problem, word.line, word.column)
