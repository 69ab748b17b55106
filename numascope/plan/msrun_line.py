"""A whole msrun command line on a machine: its binding options, how many workers it starts, and which devices they have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.host.text import safe_text
from numascope.plan.dialects.draft import Scene
from numascope.plan.load import parse_plan
from numascope.plan.make.msrun_auto import auto_cores, auto_nodes
from numascope.plan.make.seats import Seat, found_seats
from numascope.plan.msrun_notes import BESIDE_A_JSON, MORE_WORKERS_THAN_IN_ALL
from numascope.plan.msrun_options import Auto, Available, Options, read_msrun_options
from numascope.plan.objects import Note, Place, Plan

_ASSIGNED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=([^;]*);?")
_VISIBLE: Final = "ASCEND_RT_VISIBLE_DEVICES"
_CONTINUED: Final = re.compile(r"\\\r?\n")
_UNIFIED: Final = re.compile(r"\s*\{.*\"bind_config\"\s*:", re.DOTALL)

_USUAL_WORKERS: Final = 8
"""What both --worker_num and --local_worker_num are where they are not given."""

_MOST_WORKERS: Final = 65_536


class _Line(NamedTuple):
    """A command line apart: variables before the command, options up to the script."""

    path: str
    is_msrun: bool
    variables: Mapping[str, str]
    options: Mapping[str, str]

    def number(self, *names: str) -> int | None:
        """The first of these options that is given, as a number; InputError."""
        name = next((name for name in names if name in self.options), None)
        if name is None:
            return None
        text = self.options[name]
        if not (text.isascii() and text.isdecimal() and len(text) <= 6 and 1 <= int(text) <= _MOST_WORKERS):
            raise InputError(self.path, f'--{name} is "{safe_text(text[:40])}": expected a number of ranks', 1, 1)
        return int(text)

    @property
    def is_simulated(self) -> bool:
        """Whether it is a dry run, which asks no device and hides none."""
        return (
            bool(self.variables.get("MS_SIMULATION_LEVEL", "").strip()) or self.options.get("sim_level", "-1") != "-1"
        )


def read_msrun_line(path: str, data: bytes, scene: Scene) -> Plan:
    """What the binding options of an msrun command line mean; InputError, and NoPlanError where msrun itself ends for `true`.

    Variables may stand before the command, with `export` or without.
    """
    line = _line(path, data)
    core, numa = line.options.get("bind_core"), line.options.get("bind_numa")
    if core is None and numa is None:
        asked = "neither --bind_core nor --bind_numa" + ("" if line.is_msrun else ", nor torchrun's --numa-binding")
        raise InputError(path, f"this {'msrun' if line.is_msrun else 'text'} binds nothing: it has {asked}", 1, 1)
    if numa is not None and _UNIFIED.match(numa):
        return _unified(path, numa, core)
    if numa is not None and not numa.lstrip().startswith(("{", "[")) and numa.lower() not in ("true", "false"):
        raise InputError(path, f'--bind_numa names the file "{safe_text(numa)}": give that file as the plan', 1, 1)
    workers = line.number("local_worker_num", "worker_num")
    given = Options(core, numa, workers, None if line.is_simulated else _visible(line))
    read_msrun_options(path, given, {}, {})  # what argparse refuses comes before what msrun computes
    core_auto, numa_auto = _computed(line, given, scene)
    able = CpuSet.of(node.id for node in scene.machine.nodes if node.cpus and node.memory_kib != 0)
    found = read_msrun_options(path, given, core_auto, numa_auto, Available(scene.allowed, able))
    return replace(found, notes=(*found.notes, *(_too_many_workers(line) if line.is_msrun else ())))


def _line(path: str, data: bytes) -> _Line:
    try:
        words = shlex.split(_CONTINUED.sub(" ", data.decode()), comments=True)
    except UnicodeDecodeError:
        raise InputError(path, "is not UTF-8: save the command line as UTF-8", 1, 1) from None
    except ValueError:
        raise InputError(path, "a quote or backslash of the command line is not closed", 1, 1) from None
    first = next((at for at, word in enumerate(words) if word.startswith("--")), len(words))
    commands = [at for at, word in enumerate(words[:first]) if word.rpartition("/")[2] == "msrun"]
    start = commands[0] + 1 if commands else first
    assigned = [found for word in words[:start] if (found := _ASSIGNED.fullmatch(word)) is not None]
    variables = {found[1]: found[2] for found in assigned}
    return _Line(path, bool(commands), variables, _options(words[start:]))


def _options(words: Sequence[str]) -> Mapping[str, str]:
    """Option → value, of `--name=value` and `--name value`, up to the script, whose own options they are from there on."""
    found: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("--"):
            break
        name, equals, value = word[2:].partition("=")
        found[name.replace("-", "_")] = value if equals else next(rest, "")
    return found


def _unified(path: str, text: str, core: str | None) -> Plan:
    """A bind JSON in the place of the file, beside which --bind_core counts for nothing."""
    where = f"{path} --bind_numa"
    plan = parse_plan(where, text.encode(errors="surrogateescape"))
    if core is None:
        return plan
    note = Note(Place(f"{path} --bind_core", 1, 1), "it has no effect beside a bind JSON", BESIDE_A_JSON)
    return replace(plan, notes=(*plan.notes, note))


def _computed(line: _Line, given: Options, scene: Scene) -> tuple[Auto | None, Auto | None]:
    """What msrun computes for `true` of either option; NoPlanError."""
    core, numa = ((text or "").lower() == "true" for text in (given.bind_core, given.bind_numa))
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
    text = line.variables.get(_VISIBLE, "").strip()
    if not text:
        return None
    pieces = [piece.strip() for piece in text.split(",")]
    if not all(piece.isascii() and piece.isdecimal() and len(piece) <= 5 for piece in pieces):
        problem = f'{_VISIBLE} is "{safe_text(text[:40])}": msrun ends with ValueError, give numbers'
        raise InputError(line.path, problem, 1, 1)
    return tuple(sorted(map(int, pieces)))


def _too_many_workers(line: _Line) -> Iterator[Note]:
    """More workers here than in all, for which msrun ends: both are eight unless they are given."""
    every, here = (line.number(name) or _USUAL_WORKERS for name in ("worker_num", "local_worker_num"))
    if here > every:
        word = "given" if "local_worker_num" in line.options else "the default"
        text = (
            f"--local_worker_num is {here} ({word}) and --worker_num {every}:"
            " msrun ends at the first worker, the scheduler stays behind"
        )
        yield Note(Place(line.path, 1, 1), text, MORE_WORKERS_THAN_IN_ALL)
