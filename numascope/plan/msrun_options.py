"""The dict forms of msrun's command line, `--bind_core` and `--bind_numa`, which match workers to keys by position (mindspore/parallel/cluster/process_entity/_bind.py)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, BadIdListError, CpuSet
from numascope.errors import InputError
from numascope.plan.mindspore import SECTIONS, WHOLE_PROCESS
from numascope.plan.objects import SCHEDULER, MemoryRule, Place, Plan, Rule, Subject
from numascope.plan.positions import Entry, Value, quoted, read_json
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


_OFF: Final = Choice(is_auto=False, bound={})


class Options(NamedTuple):
    """Both options of a command line as text; None where it has none. `workers` are the local ones, None: as many as keys."""

    bind_core: str | None = None
    bind_numa: str | None = None
    workers: int | None = None


def read_msrun_options(
    path: str, options: Options, core_auto: Auto | None = None, numa_auto: Auto | None = None
) -> Plan:
    """The plan that these options mean; `*_auto` is what msrun computes for `true` on the machine in question.

    InputError with the place in the option's value where msrun refuses it, or where `true` is given and nothing computed.
    """
    core_path, numa_path = f"{path} --bind_core", f"{path} --bind_numa"
    notes: list[str] = []
    core = _choice(core_path, options.bind_core, "CPU", options.workers, notes)
    numa = _choice(numa_path, options.bind_numa, "node", options.workers, notes)
    core_bound = _settled(core, core_auto, core_path)
    numa_bound = _settled(numa, numa_auto, numa_path)
    rules = []
    for subject in sorted({*core_bound, *numa_bound}, key=lambda one: (one.device is None, one.device or 0)):
        cpus, nodes = core_bound.get(subject), numa_bound.get(subject)
        if cpus is not None:
            rules.append(Rule(subject, WHOLE_PROCESS, cpus.ids, cpus.place))
        elif nodes is not None:
            rules.append(Rule(subject, WHOLE_PROCESS, EMPTY, nodes.place, nodes.ids))
    text = f"{options.bind_core}\n{options.bind_numa}".encode(errors="surrogateescape")
    digest = hashlib.sha256(text).hexdigest()
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


def _settled(choice: Choice, auto: Auto | None, path: str) -> Mapping[Subject, Bound]:
    if not choice.is_auto:
        return choice.bound
    if auto is None:
        raise InputError(path, "is true, which msrun computes from the machine: say of which machine", 1, 1)
    return {Subject(worker): Bound(ids, Place(path, 1, 1)) for worker, ids in auto.items() if ids}


def _choice(path: str, text: str | None, word: str, workers: int | None, notes: list[str]) -> Choice:
    if text is None or text.strip().lower() in ("false", "true"):
        return _OFF if text is None or text.strip().lower() == "false" else Choice(is_auto=True, bound={})
    document = read_json(path, text.encode(errors="surrogateescape"))
    source = Source(path)
    if not isinstance(document.data, Mapping):
        raise source.wrong(document, f"is {document}: expected true, false or an object such as {_EXAMPLE}")
    if any(section in document.data for section in SECTIONS):
        raise source.wrong(document, "is the unified bind JSON: write it to a file, and give --bind_numa=FILE")
    found = {key: _ids(source, key, entry, word) for key, entry in document.data.items()}
    bound = _by_position(source, document.data, found, workers)
    notes += source.notes
    return Choice(is_auto=False, bound=bound)


def _ids(source: Source, key: str, entry: Entry, word: str) -> CpuSet:
    """One key's ids: a list of texts, each one range or numbers with commas between, never both."""
    if key != "scheduler" and _KEY.fullmatch(key) is None:
        meant = key.replace("_", "") if _KEY.fullmatch(key.replace("_", "")) else ""
        hint = f', did you mean "{meant}"' if meant else nearest(key, ("scheduler", "device0"))
        raise source.wrong(entry, f'{quoted(key)}: expected "scheduler" or "device" and a number{hint}')
    value = entry.value
    if not isinstance(value.data, tuple):
        raise source.wrong(value, f'{key} is {value}: expected a list of texts such as ["0-3"] ({word} numbers)')
    bits = 0
    for one in value.data:
        bits |= _piece(source, key, one, word).bits
    if not bits:
        source.note(value, f"{key} has no {word}: msrun binds it by none")
    return CpuSet(bits)


def _piece(source: Source, key: str, value: Value, word: str) -> CpuSet:
    if not isinstance(value.data, str):
        raise source.wrong(value, f'{key} holds {value}: expected a text such as "0-3" ({word} numbers)')
    text = value.data.replace(" ", "")
    span = _RANGE.fullmatch(text)
    if span is not None and int(span[1]) > int(span[2]):
        source.note(value, f'{value} runs backwards: msrun takes it as no {word}, did you mean "{span[2]}-{span[1]}"')
        return EMPTY
    if span is None and _LIST.fullmatch(text) is None:
        raise source.wrong(value, f'{key} holds {value}: expected one range "0-3", or numbers "0,2,4", in each text')
    try:
        return read_ids(text)
    except BadIdListError as failure:
        raise source.wrong(value, f"{key} holds {value}: {failure.problem}") from None


def _by_position(
    source: Source, entries: Mapping[str, Entry], ids: Mapping[str, CpuSet], workers: int | None
) -> dict[Subject, Bound]:
    """Worker i gets the i-th key that is not the scheduler's, and only if that key names i."""
    bound: dict[Subject, Bound] = {}
    if ids.get("scheduler"):
        bound[SCHEDULER] = Bound(ids["scheduler"], source.place(entries["scheduler"].value))
    keys = [key for key in entries if key != "scheduler"]
    for at, key in enumerate(keys):
        entry = entries[key]
        if workers is not None and at >= workers:
            source.note(entry, f"{key} is beyond the {workers} workers: nobody gets it")
        elif key.removeprefix("device") != str(at):
            source.note(
                entry,
                f"msrun matches keys by their order: {key} stands where worker {at} looks for device{at}, who stays unbound",
            )
        elif ids[key]:
            bound[Subject(at)] = Bound(ids[key], source.place(entry.value))
    _note_missing(source, entries, keys, workers)
    return bound


def _note_missing(source: Source, entries: Mapping[str, Entry], keys: Sequence[str], workers: int | None) -> None:
    if workers is not None and len(keys) < workers and keys:
        beyond = CpuSet.span(len(keys), min(workers, 65_535) - 1)
        source.note(entries[keys[-1]], f"there is no key for worker {beyond}, who stays unbound")
