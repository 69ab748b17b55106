"""MindFormers' `context.affinity_config`: lists of CPUs a device, and positions in them a module.

mindformers/core/context/build_context.py, and mindspore.runtime.set_cpu_affinity (2.7 and later), which it calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from numascope.cpuset import CpuSet
from numascope.plan.dialects.draft import Draft, Scene
from numascope.plan.dialects.mindspore import MODULES
from numascope.plan.dialects.words import Word, decoded
from numascope.plan.json_reader import Entry, Value, quoted, read_json
from numascope.plan.notes import IDS_NOT_USABLE, UNKNOWN_NAME
from numascope.plan.objects import NoteKind, Plan
from numascope.plan.source import nearest

KEY: Final = "affinity_config"

_DEVICE = re.compile(r"device_(0|[1-9][0-9]{0,4})")
_LIKE_DEVICE = re.compile(r"[^_]*_\s*[+-]?[0-9]+\s*(?:_.*)?", re.DOTALL)
"""What MindFormers lets pass as a key, though it then looks up `device_0` and so on alone."""

_JSON = re.compile(r'\s*+\{\s*+["}]')
_PART = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_MOST_CPUS: Final = 65_536
"""Of all devices together, as many as 64 devices that each list 1,024."""

_NOT_LOOKED_FOR: Final = NoteKind(
    "unbound", "warning", "write device_ and the number of the rank, without zeros before it"
)
_WITHOUT_LIST: Final = NoteKind("reading", "info", "give the list where its CPUs should be known before")
_BEYOND_LIST: Final = NoteKind("reading", "warning", "give positions within the list, counted from 0")
_WITHOUT_MODULE: Final = NoteKind("unbound", "warning", "name main, runtime, pynative or minddata in it")
_NO_CPU: Final = NoteKind("unbound", "warning", "write its numbers, the smaller one of a range first")


def read_mindformers(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of that setting of a YAML file, or of the same as JSON; InputError."""
    draft = Draft(path, "mindformers", data)
    text = decoded(path, data, "a MindFormers configuration")
    config = _in_json(read_json(path, data)) if _JSON.match(text) else _in_yaml(path, text)
    if config is None:
        raise draft.wrong(Word("", 1, 1), f'has no "{KEY}" below "context"')
    if isinstance(config.data, str):
        raise draft.wrong(_word(config), f"{KEY} names the file {quoted(config.data)}: give that file as the plan")
    if config.data is None or config.data == {}:
        raise draft.wrong(_word(config), f"{KEY} names no device: MindSpore computes all CPUs when it starts")
    if not isinstance(config.data, Mapping):
        raise draft.wrong(_word(config), f"{KEY} is {config}: expected device_0 and so on")
    listed = 0
    for key, entry in config.data.items():
        found = _DEVICE.fullmatch(key)
        if found is not None:
            listed += _device(draft, scene, int(found[1]), entry.value)
            if listed > _MOST_CPUS:
                raise draft.wrong(_key(entry), f"more than {_MOST_CPUS} CPUs in all, far more than a machine has")
        elif _LIKE_DEVICE.fullmatch(key) is not None:
            text = f"MindFormers looks for device_0, device_1 and so on: no rank reads {quoted(key)}"
            draft.note(_key(entry), _NOT_LOOKED_FOR, text)
        else:
            hint = nearest(key, ("device_0",))
            raise draft.wrong(_key(entry), f'{quoted(key)}: expected "device_" and a number{hint}')
    return draft.plan()


def _in_yaml(path: str, text: str) -> Value | None:
    from numascope.plan.dialects.yaml_part import read_setting  # noqa: PLC0415  (no other dialect pays for PyYAML)

    return read_setting(path, text, ("context", ""), KEY)


def _in_json(document: Value) -> Value | None:
    """The setting below `context`, at the top, or the whole document."""
    top = document.data if isinstance(document.data, Mapping) else {}
    context = top["context"].value.data if "context" in top else None
    for holder in (context, top):
        if isinstance(holder, Mapping) and KEY in holder:
            return holder[KEY].value
    return document


def _word(value: Value) -> Word:
    return Word("", value.line, value.column)


def _key(entry: Entry) -> Word:
    return Word("", entry.line, entry.column)


def _device(draft: Draft, scene: Scene, device: int, value: Value) -> int:
    """Gives a device what it is to have, and tells how many CPUs its list has."""
    name = f"device_{device}"
    if value.data is not None and not isinstance(value.data, Mapping):
        raise draft.wrong(_word(value), f"{name} is {value}: expected affinity_cpu_list and module_to_cpu_dict")
    known = ("affinity_cpu_list", "module_to_cpu_dict")
    entries = value.data or {}
    for key, entry in entries.items():
        if key not in known:
            draft.note(_key(entry), UNKNOWN_NAME, f"{quoted(key)} of {name} is not known{nearest(key, known)}")
    modules = _modules(draft, entries.get("module_to_cpu_dict"), name)
    listed = entries.get("affinity_cpu_list")
    if listed is None or listed.value.data in (None, ()):
        text = f"{name} has no affinity_cpu_list: MindSpore computes its CPUs when it starts"
        draft.note(_word(value), _WITHOUT_LIST, text)
        return 0
    pool = _pool(draft, listed.value, name)
    lost = CpuSet.of(pool) - scene.allowed
    if lost:
        text = f"CPU {lost} of {name} is not there or not allowed here: MindSpore ends with an error"
        draft.note(_word(listed.value), IDS_NOT_USABLE, text)
    if modules is None:
        draft.give(_word(listed.value), device, CpuSet.of(pool), "main")
    for module, (where, positions) in (modules or {}).items():
        beyond = next((at for at in positions if at >= len(pool)), None)
        if beyond is not None:
            text = f"{module} of {name}: position {beyond} is beyond its {len(pool)} CPUs, MindSpore drops it"
            draft.note(_word(where), _BEYOND_LIST, text)
        order = tuple(pool[at] for at in positions if at < len(pool))
        cpus = CpuSet.of(order)
        draft.give(_word(where), device, cpus, module, order=() if order == tuple(cpus) else order)
    return len(pool)


def _modules(draft: Draft, entry: Entry | None, name: str) -> Mapping[str, tuple[Value, list[int]]] | None:
    """Positions of each module that there is, every list judged first, as MindSpore does; None where main gets the whole list."""
    if entry is None or entry.value.data is None:
        return None
    if not isinstance(entry.value.data, Mapping):
        raise draft.wrong(
            _word(entry.value), f"module_to_cpu_dict of {name} is {entry.value}: expected main, runtime, …"
        )
    if not entry.value.data.keys() & set(MODULES):
        text = f"module_to_cpu_dict of {name} names no module: MindSpore binds nobody"
        draft.note(_word(entry.value), _WITHOUT_MODULE, text)
    found: dict[str, tuple[Value, list[int]]] = {}
    for module, listed in entry.value.data.items():
        positions = _positions(draft, listed.value, f"{module} of {name}")
        if module in MODULES:
            found[module] = (listed.value, positions)
        else:
            text = f"MindSpore has no module {quoted(module)} and ignores it{nearest(module, MODULES)}"
            draft.note(_key(listed), UNKNOWN_NAME, text)
    return found


def _pool(draft: Draft, value: Value, name: str) -> list[int]:
    """The CPUs in the order in which they are written, as positions count in it."""
    if not isinstance(value.data, tuple):
        raise draft.wrong(_word(value), f'affinity_cpu_list of {name} is {value}: expected a list such as ["0-9"]')
    pool: list[int] = []
    for one in value.data:
        if not isinstance(one.data, str):
            raise draft.wrong(
                _word(one), f'{one} in affinity_cpu_list of {name}: MindSpore takes texts only, write "{one}"'
            )
        for piece in one.data.split(","):
            found = _PART.fullmatch(piece)
            if found is None or int(found[2] or found[1]) >= _MOST_CPUS:
                raise draft.wrong(_word(one), f'{one} in affinity_cpu_list of {name}: expected CPUs such as "0-9"')
            first, last = int(found[1]), int(found[2] or found[1])
            if last < first:
                text = f"{quoted(piece)} in affinity_cpu_list of {name}: MindSpore takes it as no CPU"
                draft.note(_word(one), _NO_CPU, text)
            pool += range(first, last + 1)
            if len(pool) > _MOST_CPUS:
                raise draft.wrong(_word(one), f"more than {_MOST_CPUS} CPUs, far more than a machine has")
    return pool


def _positions(draft: Draft, value: Value, name: str) -> list[int]:
    if not isinstance(value.data, tuple):
        raise draft.wrong(_word(value), f"{name} is {value}: expected a list of positions such as [0, 1, 2]")
    positions: list[int] = []
    for one in value.data:
        if not isinstance(one.data, int) or one.data < 0:
            raise draft.wrong(_word(one), f"{one} in {name}: expected positions from 0, such as [0, 1, 2]")
        positions.append(int(one.data))
    return positions
