"""A whole msrun command line on a machine: its binding options, how many workers it starts, and which devices they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.plan.dialects.draft import Scene
from numascope.plan.dialects.mindspore import SECTIONS, read_mindspore
from numascope.plan.dialects.msrun_notes import BESIDE_A_JSON, MORE_WORKERS_THAN_IN_ALL
from numascope.plan.dialects.msrun_options import Auto, Available, Options, read_msrun_options, read_value
from numascope.plan.dialects.msrun_words import read_msrun_words
from numascope.plan.dialects.prefix_notes import BESIDE_LAUNCHER
from numascope.plan.dialects.words import Word, shown
from numascope.plan.json_reader import Value
from numascope.plan.make.msrun_auto import auto_cores, auto_nodes
from numascope.plan.make.seats import Seat, found_seats
from numascope.plan.objects import Note, Place, Plan

_VISIBLE: Final = "ASCEND_RT_VISIBLE_DEVICES"

_USUAL_WORKERS: Final = 8
"""What both --worker_num and --local_worker_num are where they are not given."""

_MOST_WORKERS: Final = 65_536


class _Line(NamedTuple):
    """A command line apart: variables before the command, options up to the script."""

    path: str
    is_msrun: bool
    variables: Mapping[str, Word]
    options: Mapping[str, Word]
    tool: Word | None

    def number(self, *names: str) -> int | None:
        """The first of these options that is given, as a number; InputError."""
        name = next((name for name in names if name in self.options), None)
        if name is None:
            return None
        word = self.options[name]
        text = word.text
        if not (text.isascii() and text.isdecimal() and len(text) <= 6 and 1 <= int(text) <= _MOST_WORKERS):
            raise self.wrong(word, f"--{name} is {shown(word)}: expected a number of ranks")
        return int(text)

    def wrong(self, word: Word, problem: str) -> InputError:
        """The error to raise for a value."""
        return InputError(self.path, problem, *word.where(0))

    @property
    def is_simulated(self) -> bool:
        """Whether it is a dry run, which asks no device and hides none."""
        level, option = self.variables.get("MS_SIMULATION_LEVEL"), self.options.get("sim_level")
        return (level is not None and bool(level.text.strip())) or (option is not None and option.text != "-1")


def read_msrun_line(path: str, data: bytes, scene: Scene) -> Plan:
    """What the binding options of an msrun command line mean; InputError, and NoPlanError where msrun itself ends for `true`.

    Variables may stand before the command, with `export` or without.
    """
    line = _Line(path, *read_msrun_words(path, data))
    core, numa = line.options.get("bind_core"), line.options.get("bind_numa")
    if core is None and numa is None:
        asked = "neither --bind_core nor --bind_numa" + ("" if line.is_msrun else ", nor torchrun's --numa-binding")
        raise InputError(path, f"this {'msrun' if line.is_msrun else 'text'} binds nothing: it has {asked}", 1, 1)
    if numa is not None and numa.text.lower() not in ("true", "false"):
        if not numa.text.lstrip().startswith(("{", "[")):
            raise line.wrong(numa, f"--bind_numa names the file {shown(numa)}: give that file as the plan")
        document = read_value(path, numa, "--bind_numa")
        if isinstance(document.data, Mapping) and any(section in document.data for section in SECTIONS):
            return _unified(line, numa, document)
    workers = line.number("local_worker_num", "worker_num")
    given = Options(core, numa, workers, None if line.is_simulated else _visible(line))
    read_msrun_options(path, given, {}, {})  # what argparse refuses comes before what msrun computes
    core_auto, numa_auto = _computed(line, given, scene)
    able = CpuSet.of(node.id for node in scene.machine.nodes if node.cpus and node.memory_kib != 0)
    found = read_msrun_options(path, given, core_auto, numa_auto, Available(scene.allowed, able))
    return replace(found, notes=(*found.notes, *(_too_many_workers(line) if line.is_msrun else ()), *_before(line)))


def _unified(line: _Line, numa: Word, document: Value) -> Plan:
    """A bind JSON in the place of the file, beside which --bind_core counts for nothing."""
    plan = read_mindspore(line.path, numa.text.encode(), document)
    core = line.options.get("bind_core")
    if core is None:
        return plan
    note = Note(Place(line.path, *core.where(0)), "--bind_core has no effect beside a bind JSON", BESIDE_A_JSON)
    return replace(plan, notes=(*plan.notes, note))


def _computed(line: _Line, given: Options, scene: Scene) -> tuple[Auto | None, Auto | None]:
    """What msrun computes for `true` of either option; NoPlanError."""
    core, numa = (word is not None and word.text.lower() == "true" for word in (given.bind_core, given.bind_numa))
    number = given.workers or _USUAL_WORKERS
    devices = () if line.is_simulated or not (core or numa) else _npus(scene)
    machine, visible = scene.machine, given.visible
    return (
        auto_cores(machine, scene.allowed, devices, number, visible) if core else None,
        auto_nodes(machine, devices, number, visible) if numa else None,
    )


def _npus(scene: Scene) -> Sequence[Seat]:
    """The devices that npu-smi would show."""
    seats = scene.seats
    if seats is None and any(device.kind == "npu" for device in scene.machine.devices):
        seats = found_seats(scene.machine, ("npu",), None)
    return () if seats is None or seats.are_dealt else seats.seats


def _visible(line: _Line) -> tuple[int, ...] | None:
    """ASCEND_RT_VISIBLE_DEVICES before the command, sorted as MindSpore does."""
    word = line.variables.get(_VISIBLE)
    if word is None or not word.text.strip():
        return None
    pieces = [piece.strip() for piece in word.text.split(",")]
    if not all(piece.isascii() and piece.isdecimal() and len(piece) <= 5 for piece in pieces):
        raise line.wrong(word, f"{_VISIBLE} is {shown(word)}: msrun ends with ValueError, give numbers")
    return tuple(sorted(map(int, pieces)))


def _before(line: _Line) -> Iterator[Note]:
    """What a tool binds that starts msrun, and what its ranks inherit of that."""
    if line.tool is not None:
        text = f"{shown(line.tool)[1:-1]} before msrun is not read here: ranks inherit of it what msrun does not bind"
        yield Note(Place(line.path, *line.tool.where(0)), text, BESIDE_LAUNCHER)


def _too_many_workers(line: _Line) -> Iterator[Note]:
    """More workers here than in all, for which msrun ends: both are eight unless they are given."""
    every, here = (line.number(name) or _USUAL_WORKERS for name in ("worker_num", "local_worker_num"))
    if here > every:
        word = "given" if "local_worker_num" in line.options else "the default"
        text = (
            f"--local_worker_num is {here} ({word}) and --worker_num {every}:"
            " msrun ends at the first worker, the scheduler stays behind"
        )
        given = [line.options[name] for name in ("worker_num", "local_worker_num") if name in line.options]
        yield Note(Place(line.path, *(given[0].where(0) if given else (1, 1))), text, MORE_WORKERS_THAN_IN_ALL)
