"""MindFormers' `context.affinity_config`: lists of CPUs a device, and positions in them a module.

mindformers/core/context/build_context.py, and mindspore.runtime.set_cpu_affinity (2.7 and later), which it calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from numascope.cpuset import CpuSet
from numascope.plan.dialects.draft import Draft, Scene
from numascope.plan.dialects.words import Word, decoded
from numascope.plan.dialects.yaml_part import read_below
from numascope.plan.mindspore import MODULES
from numascope.plan.objects import Plan
from numascope.plan.positions import Entry, Value, quoted, read_json
from numascope.plan.source import nearest

KEY: Final = "affinity_config"

_DEVICE = re.compile(r"device_([0-9]{1,5})")
_PART = re.compile(r"\s*([0-9]{1,5})(?:\s*-\s*([0-9]{1,5}))?\s*")
_MOST_CPUS: Final = 65_536


def read_mindformers(path: str, data: bytes, scene: Scene) -> Plan:
    """The plan of that setting of a YAML file, or of the same as JSON; InputError."""
    draft = Draft(path, "mindformers", data)
    text = decoded(path, data, "a MindFormers configuration")
    config = _in_json(read_json(path, data)) if text.lstrip()[:1] == "{" else read_below(path, text, KEY)
    if config is None:
        raise draft.wrong(Word("", 1, 1), f'has no "{KEY}"')
    if isinstance(config.data, str):
        raise draft.wrong(_word(config), f"{KEY} names the file {quoted(config.data)}: give that file as the plan")
    if not isinstance(config.data, Mapping) or not config.data:
        raise draft.wrong(_word(config), f"{KEY} is {config}: expected device_0 and so on")
    for key, entry in config.data.items():
        found = _DEVICE.fullmatch(key)
        if found is None:
            hint = nearest(key, ("device_0",))
            raise draft.wrong(_key(entry), f'{quoted(key)}: expected "device_" and a number{hint}')
        _device(draft, scene, int(found[1]), entry.value)
    return draft.plan()


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


def _device(draft: Draft, scene: Scene, device: int, value: Value) -> None:
    name = f"device_{device}"
    if not isinstance(value.data, Mapping):
        raise draft.wrong(_word(value), f"{name} is {value}: expected affinity_cpu_list and module_to_cpu_dict")
    known = ("affinity_cpu_list", "module_to_cpu_dict")
    for key, entry in value.data.items():
        if key not in known:
            draft.note(_key(entry), f"{quoted(key)} of {name} is not known{nearest(key, known)}")
    listed = value.data.get("affinity_cpu_list")
    if listed is None or listed.value.data is None:
        draft.note(_word(value), f"{name} has no affinity_cpu_list: MindSpore computes its CPUs when it starts")
        return
    pool = _pool(draft, listed.value, name)
    lost = CpuSet.of(pool) - scene.allowed
    if lost:
        draft.note(_word(listed.value), f"CPU {lost} of {name} is not there or not allowed here")
    modules = value.data.get("module_to_cpu_dict")
    if modules is None or modules.value.data is None:
        draft.give(_word(listed.value), device, CpuSet.of(pool), "main")
        return
    if not isinstance(modules.value.data, Mapping):
        raise draft.wrong(
            _word(modules.value), f"module_to_cpu_dict of {name} is {modules.value}: expected main, runtime, …"
        )
    for module, entry in modules.value.data.items():
        if module not in MODULES:
            draft.note(
                _key(entry), f"MindSpore has no module {quoted(module)} and ignores it{nearest(module, MODULES)}"
            )
            continue
        draft.give(_word(entry.value), device, _chosen(draft, entry.value, pool, f"{module} of {name}"), module)


def _pool(draft: Draft, value: Value, name: str) -> list[int]:
    """The CPUs in the order in which they are written, as positions count in it."""
    if not isinstance(value.data, tuple):
        raise draft.wrong(_word(value), f'affinity_cpu_list of {name} is {value}: expected a list such as ["0-9"]')
    pool: list[int] = []
    for one in value.data:
        text = str(one.data) if isinstance(one.data, str | int) and not isinstance(one.data, bool) else ""
        for piece in text.split(","):
            found = _PART.fullmatch(piece)
            first = -1 if found is None else int(found[1])
            last = first if found is None or found[2] is None else int(found[2])
            if not 0 <= first <= last < _MOST_CPUS:
                raise draft.wrong(_word(one), f'{one} in affinity_cpu_list of {name}: expected CPUs such as "0-9"')
            pool += range(first, last + 1)
        if len(pool) > _MOST_CPUS:
            raise draft.wrong(_word(one), f"more than {_MOST_CPUS} CPUs, far more than a machine has")
    return pool


def _chosen(draft: Draft, value: Value, pool: list[int], name: str) -> CpuSet:
    """The CPUs at these positions of the list; a position beyond it is dropped silently by MindSpore."""
    if not isinstance(value.data, tuple) or any(type(one.data) is not int for one in value.data):
        raise draft.wrong(_word(value), f"{name} is {value}: expected a list of positions such as [0, 1, 2]")
    positions = [one.data for one in value.data if isinstance(one.data, int)]
    beyond = [at for at in positions if not 0 <= at < len(pool)]
    if beyond:
        draft.note(_word(value), f"{name}: position {beyond[0]} is beyond its {len(pool)} CPUs, MindSpore drops it")
    return CpuSet.of(pool[at] for at in positions if 0 <= at < len(pool))
