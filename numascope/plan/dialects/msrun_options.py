"""The dict forms of msrun's command line, `--bind_core` and `--bind_numa`, which match workers to keys by position (mindspore/parallel/cluster/process_entity/_bind.py)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, BadIdListError, CpuSet
from numascope.errors import InputError
from numascope.plan.dialects.mindspore import SECTIONS
from numascope.plan.dialects.msrun_notes import (
    KEY_BEYOND_WORKERS,
    KEY_OUT_OF_ORDER,
    LEFT_UNBOUND,
    MEMORY_WITHOUT_KEY,
    RUNS_BACKWARDS,
    WORKER_WITHOUT_KEY,
)
from numascope.plan.dialects.words import Word
from numascope.plan.json_reader import Entry, Value, quoted, read_json_text
from numascope.plan.notes import BACKWARDS_TO_NUMACTL, IDS_NOT_USABLE
from numascope.plan.objects import SCHEDULER, WHOLE_PROCESS, MemoryRule, Note, NoteKind, Place, Plan, Rule, Subject
from numascope.plan.ranges import read_ids
from numascope.plan.source import Source, nearest

_KEY = re.compile(r"device([0-9]{1,9})")
_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_LIST = re.compile(r"[0-9]{1,9}(?:,[0-9]{1,9})*")
_EXAMPLE: Final = '{"device0": ["0-7"]}'

Auto = Mapping[int, CpuSet]
"""What msrun itself computes for `true`: worker → ids."""


class Bound(NamedTuple):
    """What one option gives to one subject, and where that is written."""

    ids: CpuSet
    place: Place


class Choice(NamedTuple):
    """One option as msrun reads it: off, on (it computes the ids itself), or ids by subject as it matches them."""

    is_auto: bool
    bound: Mapping[Subject, Bound]


class Available(NamedTuple):
    """The CPUs and nodes that msrun lets an object name; nodes are those with CPUs and memory."""

    cpus: CpuSet
    nodes: CpuSet


_OFF: Final = Choice(is_auto=False, bound={})


class _Kind(NamedTuple):
    """An option: its name, what its numbers are, and which of them there are; None: not known."""

    option: str
    word: str
    available: CpuSet | None
    without_key: NoteKind


class Options(NamedTuple):
    """The values of both options as words of a command line; None where it has none. `workers` are the local ones, None: as many as keys.

    `visible` is the sorted ASCEND_RT_VISIBLE_DEVICES: worker i has its i-th device, and without it device i.
    """

    bind_core: Word | None = None
    bind_numa: Word | None = None
    workers: int | None = None
    visible: tuple[int, ...] | None = None

    def device_of(self, worker: int) -> int | None:
        """The physical device of a worker; None: there are fewer, and msrun leaves it unbound."""
        if self.visible is None:
            return worker
        return self.visible[worker] if worker < len(self.visible) else None


def read_msrun_options(
    path: str,
    options: Options,
    core_auto: Auto | None = None,
    numa_auto: Auto | None = None,
    available: Available | None = None,
) -> Plan:
    """The plan that these options mean; `*_auto` is what msrun computes for `true` on the machine in question, `available` what it has.

    InputError with its place where msrun refuses a value, or where `true` is given and nothing computed.
    """
    notes: list[Note] = []
    known = (None, None) if available is None else available
    of_core = _Kind("--bind_core", "CPU", known[0], WORKER_WITHOUT_KEY)
    of_numa = _Kind("--bind_numa", "node", known[1], MEMORY_WITHOUT_KEY)
    core = _choice(path, options.bind_core, of_core, options, notes)
    numa = _choice(path, options.bind_numa, of_numa, options, notes)
    core_bound = _settled(path, core, options.bind_core, core_auto, of_core.option)
    numa_bound = _settled(path, numa, options.bind_numa, numa_auto, of_numa.option)
    rules = []
    for subject in sorted({*core_bound, *numa_bound}, key=lambda one: (one.device is None, one.device or 0)):
        cpus, nodes = core_bound.get(subject), numa_bound.get(subject)
        if cpus is not None:
            rules.append(Rule(subject, WHOLE_PROCESS, cpus.ids, cpus.place))
        elif nodes is not None:
            rules.append(Rule(subject, WHOLE_PROCESS, EMPTY, nodes.place, nodes.ids))
    given = (None if word is None else word.text for word in (options.bind_core, options.bind_numa))
    digest = hashlib.sha256("\n".join(map(str, given)).encode()).hexdigest()
    return Plan(
        path=path,
        dialect="msrun",
        sha256=digest,
        text_sha256=digest,
        cpu_mode="cpu" if core_bound else "numa" if numa_bound else "none",
        memory_mode="numa" if numa_bound else "none",
        fixed_actors=False,
        rules=tuple(rules),
        memory=tuple(MemoryRule(subject, one.ids, one.place) for subject, one in numa_bound.items()),
        notes=tuple(notes),
    )


def _settled(path: str, choice: Choice, word: Word | None, auto: Auto | None, option: str) -> Mapping[Subject, Bound]:
    if word is None or not choice.is_auto:
        return choice.bound
    line, column = word.where(0)
    if auto is None:
        problem = f"{option} is true, which msrun computes from the machine: say of which machine"
        raise InputError(path, problem, line, column)
    return {Subject(worker): Bound(ids, Place(path, line, column)) for worker, ids in auto.items() if ids}


def read_value(path: str, word: Word, option: str) -> Value:
    """The JSON that is an option's value, with its places in the command line; InputError."""
    try:
        return read_json_text(path, word.text, word.where)
    except InputError as error:
        raise InputError(path, f"{option}: {error.problem}", error.line, error.column) from None


def _choice(path: str, word: Word | None, kind: _Kind, options: Options, notes: list[Note]) -> Choice:
    if word is None or word.text.lower() in ("false", "true"):
        return _OFF if word is None or word.text.lower() == "false" else Choice(is_auto=True, bound={})
    document = read_value(path, word, kind.option)
    source = Source(path)
    if not isinstance(document.data, Mapping):
        problem = f"{kind.option} is {document}: expected true, false or an object such as {_EXAMPLE}"
        raise source.wrong(document, problem)
    if any(section in document.data for section in SECTIONS):
        problem = f"{kind.option} is the unified bind JSON: write it to a file, and give --bind_numa=FILE"
        raise source.wrong(document, problem)
    found = {key: _ids(source, key, entry, kind) for key, entry in document.data.items()}
    bound = _by_position(source, document.data, found, options, kind)
    notes += source.notes
    return Choice(is_auto=False, bound=bound)


def _ids(source: Source, key: str, entry: Entry, kind: _Kind) -> CpuSet:
    """One key's ids: a list of texts, each one range or numbers with commas between, never both."""
    if key != "scheduler" and _KEY.fullmatch(key) is None:
        meant = key.replace("_", "") if _KEY.fullmatch(key.replace("_", "")) else ""
        hint = f', did you mean "{meant}"' if meant else nearest(key, ("scheduler", "device0"))
        raise source.wrong(entry, f'{quoted(key)}: expected "scheduler" or "device" and a number{hint}')
    value = entry.value
    if not isinstance(value.data, tuple):
        raise source.wrong(value, f'{key} is {value}: expected a list of texts such as ["0-3"] ({kind.word} numbers)')
    bits = 0
    for one in value.data:
        bits |= _piece(source, key, one, kind.word).bits
    ids = CpuSet(bits)
    if not value.data:
        source.note(value, LEFT_UNBOUND, f"{key} has an empty list, which is how msrun is told to leave it unbound")
    lost = ids - kind.available if kind.available else EMPTY
    if lost:
        source.note(
            value,
            IDS_NOT_USABLE,
            f"{kind.word} {lost} of {key} is not there or not allowed here: msrun ends with RuntimeError, whoever would get it",
        )
    return ids


def _piece(source: Source, key: str, value: Value, word: str) -> CpuSet:
    if not isinstance(value.data, str):
        raise source.wrong(value, f'{key} holds {value}: expected a text such as "0-3" ({word} numbers)')
    text = "".join(value.data.split())
    span = _RANGE.fullmatch(text)
    if span is not None and int(span[1]) > int(span[2]):
        is_cpu = word == "CPU"
        outcome = "taskset ends the rank there" if is_cpu else "numactl takes its first number alone"
        text = f'{value} runs backwards: msrun hands it on, and {outcome}, did you mean "{span[2]}-{span[1]}"'
        source.note(value, RUNS_BACKWARDS if is_cpu else BACKWARDS_TO_NUMACTL, text)
        return EMPTY
    if span is None and _LIST.fullmatch(text) is None:
        raise source.wrong(value, f'{key} holds {value}: expected one range "0-3", or numbers "0,2,4", in each text')
    try:
        return read_ids(text)
    except BadIdListError as failure:
        raise source.wrong(value, f"{key} holds {value}: {failure.problem}") from None


def _by_position(
    source: Source, entries: Mapping[str, Entry], ids: Mapping[str, CpuSet], options: Options, kind: _Kind
) -> dict[Subject, Bound]:
    """Worker i gets the i-th key that is not the scheduler's, and only if that key names its device."""
    bound: dict[Subject, Bound] = {}
    if ids.get("scheduler"):
        bound[SCHEDULER] = Bound(ids["scheduler"], source.place(entries["scheduler"].value))
    keys = [key for key in entries if key != "scheduler"]
    for at, key in enumerate(keys):
        entry, device = entries[key], options.device_of(at)
        if (options.workers is not None and at >= options.workers) or device is None:
            number = options.workers if device is not None else len(options.visible or ())
            source.note(entry, KEY_BEYOND_WORKERS, f"{key} is beyond the {number} workers: nobody gets it")
        elif int(key.removeprefix("device")) != device:
            looked = f"{key} stands where worker {at} looks for device{device}, who stays unbound"
            source.note(entry, KEY_OUT_OF_ORDER, f"msrun matches keys by their order: {looked}")
        elif ids[key]:
            bound[Subject(device)] = Bound(ids[key], source.place(entry.value))
    workers = options.workers
    if workers is not None and len(keys) < workers and keys:
        beyond = CpuSet.span(len(keys), min(workers, 65_535) - 1)
        source.note(
            entries[keys[-1]],
            kind.without_key,
            f"{kind.option} has no key for worker {beyond}, and binds nothing there",
        )
    return bound
