"""MindSpore's unified bind JSON (`msrun --bind_numa=FILE`, since 2.9; mindspore.runtime.set_cpu_affinity reads it too).

With the key "numascope" at the top it is numascope's own, which says more (docs/plan.schema.json).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from numascope.cpuset import EMPTY, LARGEST_ID, BadIdListError, CpuSet
from numascope.plan.dialects.mindspore_subjects import object_of, subjects
from numascope.plan.dialects.msrun_notes import (
    BYTE_ORDER_MARK,
    CPUS_ARE_A_NUMBER,
    CPUS_ARE_NULL,
    MEMORY_NOT_BOUND,
    MODE_IS_NULL,
    NODE_REFUSED_BY_NUMACTL,
    SCHEDULER_IS_NULL,
    SWITCHED_OFF,
)
from numascope.plan.dialects.roles import KNOWN, is_role
from numascope.plan.json_reader import Entry, Value, quoted, universal_newlines
from numascope.plan.notes import UNKNOWN_NAME
from numascope.plan.objects import (
    SCHEDULER,
    WHOLE_PROCESS,
    BindMode,
    MemoryPolicy,
    MemoryRule,
    Plan,
    Rule,
    Subject,
)
from numascope.plan.ranges import is_read_by_numactl, read_ids
from numascope.plan.source import Source, nearest

SECTIONS: Final = ("bind_config", "bind_cpu", "bind_memory")
MODULES: Final = ("main", "runtime", "pynative", "minddata")
LATER_MODULES: Final = frozenset(MODULES) - {"main"}
"""Those that no prefix binds at the start, but MindSpore's own call in the ranks."""

OWN_KEY: Final = "numascope"
OWN_VERSION: Final = 1

_OWN_KEYS = (OWN_KEY, "$schema")
_POLICIES: Final[Mapping[str, MemoryPolicy]] = {
    "bind": "bind", "preferred": "preferred", "preferred-many": "preferred-many", "interleave": "interleave",
    "weighted-interleave": "weighted-interleave", "local": "local",
}  # fmt: skip

_SETTINGS = ("bind_cpu_mode", "bind_memory_mode", "actor_thread_fix_bind")
_MODES: Final[Mapping[str, BindMode]] = {"cpu": "cpu", "numa": "numa", "none": "none"}
_SKELETON = '{"bind_config": {"bind_cpu_mode": "cpu"}, "bind_cpu": {"device0": {"main": "0-7"}}}'


class _Config(NamedTuple):
    cpu_mode: BindMode
    memory_mode: BindMode
    fixed_actors: bool


def read_mindspore(path: str, data: bytes, document: Value) -> Plan:
    """The plan that a unified bind JSON means to MindSpore; InputError with line and column where MindSpore would refuse it.

    One with the key "numascope" may name any role, nodes in the place of CPUs, and other memory policies.
    """
    source = Source(path)
    own = isinstance(document.data, Mapping) and OWN_KEY in document.data
    if data.startswith(b"\xef\xbb\xbf"):
        source.note(
            document, BYTE_ORDER_MARK, "the file begins with a byte order mark, which msrun refuses: save it without"
        )
    top = object_of(source, document, "the file", _SKELETON)
    for key, entry in top.items():
        if key == OWN_KEY and (type(entry.value.data) is not int or entry.value.data != OWN_VERSION):
            raise source.wrong(entry.value, f'"{OWN_KEY}" is {entry.value}: this version reads {OWN_VERSION}')
        if key not in SECTIONS and not (own and key in _OWN_KEYS):
            source.note(
                entry, UNKNOWN_NAME, f"MindSpore does not know the key {quoted(key)} and ignores it", key, SECTIONS
            )
    config = _config(source, document, top)
    devices = subjects(source, top, "bind_cpu", config.cpu_mode)
    memory = subjects(source, top, "bind_memory", config.memory_mode)
    rules = _rules(source, devices, config.cpu_mode, own=own)
    memory_rules = _memory_rules(source, memory, own=own) if config.memory_mode == "numa" else ()
    _note_unused(source, top, config, devices)
    if config.memory_mode == "numa":
        _note_unbound_memory(source, devices, rules, memory_rules)
    return Plan(
        path=path,
        dialect="numascope" if own else "mindspore",
        sha256=hashlib.sha256(data).hexdigest(),
        text_sha256=hashlib.sha256(universal_newlines(data)).hexdigest(),
        cpu_mode=config.cpu_mode,
        memory_mode=config.memory_mode,
        fixed_actors=config.fixed_actors,
        rules=rules,
        memory=memory_rules,
        notes=source.notes,
    )


def _config(source: Source, document: Value, top: Mapping[str, Entry]) -> _Config:
    if "bind_config" not in top:
        raise source.wrong(
            document, f'there is no "bind_config", so this is no unified bind JSON: expected such as {_SKELETON}'
        )
    settings = object_of(source, top["bind_config"].value, '"bind_config"', '{"bind_cpu_mode": "cpu"}')
    for key, entry in settings.items():
        if key not in _SETTINGS:
            source.note(
                entry, UNKNOWN_NAME, f"MindSpore does not know the setting {quoted(key)} and ignores it", key, _SETTINGS
            )
    return _Config(
        _mode(source, settings, "bind_cpu_mode", ("cpu", "numa", "none")),
        _mode(source, settings, "bind_memory_mode", ("numa", "none")),
        _fixed_actors(source, settings),
    )


def _mode(source: Source, settings: Mapping[str, Entry], name: str, allowed: Sequence[str]) -> BindMode:
    if name not in settings:
        return "none"
    value = settings[name].value
    if value.data is None:
        source.note(value, MODE_IS_NULL, f'"{name}" is null, which MindSpore takes as "none"')
        return "none"
    text = value.data.lower() if isinstance(value.data, str) else ""
    if text not in allowed:
        expected = f"{', '.join(map(quoted, allowed[:-1]))} or {quoted(allowed[-1])}"
        raise source.wrong(value, f'"{name}" is {value}: expected {expected}{nearest(text, allowed)}')
    return _MODES[text]


def _fixed_actors(source: Source, settings: Mapping[str, Entry]) -> bool:
    entry = settings.get("actor_thread_fix_bind")
    if entry is None:
        return False
    if not isinstance(entry.value.data, bool):
        raise source.wrong(entry.value, f'"actor_thread_fix_bind" is {entry.value}: expected true or false')
    return entry.value.data


def _rules(source: Source, devices: Mapping[Subject | str, Entry], mode: BindMode, *, own: bool) -> tuple[Rule, ...]:
    rules: list[Rule] = []
    for subject, entry in devices.items():
        if mode == "cpu":
            found = _modules(source, subject, entry.value, own=own)
        elif mode == "numa":
            found = _whole(source, subject, entry.value)
        else:
            found = []
        rules += found if isinstance(subject, Subject) else []
    return tuple(rules)


def _modules(source: Source, subject: Subject | str, value: Value, *, own: bool) -> list[Rule]:
    if value.data is None:
        return []
    name = quoted(subject) if isinstance(subject, str) else str(subject)
    rules: list[Rule] = []
    for module, entry in object_of(source, value, name, '{"main": "0-7"} (bind_cpu_mode is "cpu")').items():
        if own and is_role(module) and isinstance(entry.value.data, Mapping):
            rules += _node_rule(source, subject, module, entry.value)
            continue
        cpus = _cpus(source, subject, entry.value, f"{quoted(module)} of {name}")
        if own and not is_role(module):
            source.note(
                entry, UNKNOWN_NAME, f"there is no role {quoted(module)}: it is ignored in {name}", module, KNOWN
            )
            continue
        if module not in MODULES and not own:
            source.note(
                entry,
                UNKNOWN_NAME,
                f"MindSpore has no module {quoted(module)} and ignores it in {name}",
                module,
                MODULES,
            )
            continue
        if module == "main" and type(entry.value.data) is int:
            _note_number_main(source, entry.value, name)
        if cpus and isinstance(subject, Subject):
            rules.append(Rule(subject, module, cpus, source.place(entry.value)))
    return rules


def _node_rule(source: Source, subject: Subject | str, role: str, value: Value) -> list[Rule]:
    """A role on the CPUs of nodes: `{"nodes": "0-1"}`, which is numascope's own."""
    entries = object_of(source, value, quoted(role), '{"nodes": 0}')
    if tuple(entries) != ("nodes",):
        raise source.wrong(value, f'{quoted(role)} of {subject}: expected CPUs such as "0-3", or {{"nodes": 0}}')
    nodes = _nodes(source, entries["nodes"].value, f'"nodes" of {role} of {subject}', 'a node such as 0 or "0-1"')
    return [Rule(subject, role, EMPTY, source.place(value), nodes)] if nodes and isinstance(subject, Subject) else []


def _cpus(source: Source, subject: Subject | str, value: Value, name: str) -> CpuSet:
    if value.data is None:
        if subject == SCHEDULER:
            source.note(value, SCHEDULER_IS_NULL, f"{name} is null: msrun takes it as no CPUs")
        else:
            text = f"{name} is null: msrun takes it as no CPUs, set_cpu_affinity ends the rank with ValueError"
            source.note(value, CPUS_ARE_NULL, text)
        return EMPTY
    return _ids(source, value, name, 'a CPU list in quotes such as "0-3,8"')


def _note_number_main(source: Source, value: Value, name: str) -> None:
    outcome = "leaves the process unbound" if value.data == 0 else "stops with an error, the scheduler stays behind"
    text = f'"main" of {name} is the number {value}: msrun {outcome}, write "{value}" in quotes'
    source.note(value, CPUS_ARE_A_NUMBER, text)


def _whole(source: Source, subject: Subject | str, value: Value) -> list[Rule]:
    nodes = _nodes(source, value, f"{subject}", 'a node such as 0 or "0-1" (bind_cpu_mode is "numa")')
    if not nodes or isinstance(subject, str):
        return []
    return [Rule(subject, WHOLE_PROCESS, EMPTY, source.place(value), nodes)]


def _memory_rules(source: Source, memory: Mapping[Subject | str, Entry], *, own: bool) -> tuple[MemoryRule, ...]:
    rules: list[MemoryRule] = []
    for subject, entry in memory.items():
        value, policy = entry.value, _POLICIES["bind"]
        if own and isinstance(value.data, Mapping):
            policy = _policy(source, value, value.data)
            value = value.data["nodes"].value if "nodes" in value.data else Value(None, value.line, value.column)
        nodes = _nodes(source, value, f'{subject} in "bind_memory"', 'a node such as 0 or "0-1"')
        if isinstance(subject, Subject) and (nodes or policy == "local"):
            rules.append(MemoryRule(subject, nodes, source.place(entry.value), policy))
    return tuple(rules)


def _policy(source: Source, value: Value, entries: Mapping[str, Entry]) -> MemoryPolicy:
    """The policy of `{"policy": "interleave", "nodes": "0-1"}`, which is numascope's own; `local` has no nodes, the others have."""
    given = entries["policy"].value.data if "policy" in entries else "bind"
    wanted = _POLICIES.get(given) if isinstance(given, str) else None
    if wanted is None or set(entries) - {"policy", "nodes"} or ("nodes" in entries) == (wanted == "local"):
        expected = f'{{"policy": {" or ".join(map(quoted, _POLICIES))}, "nodes": 0}}, without nodes for "local"'
        raise source.wrong(value, f"expected {expected}")
    return wanted


def _nodes(source: Source, value: Value, name: str, expected: str) -> CpuSet:
    if value.data is None:
        return EMPTY
    nodes = _ids(source, value, name, expected)
    if isinstance(value.data, str) and not is_read_by_numactl(value.data):
        mending = "leave it out, or write null" if not nodes else "remove its spaces"
        text = f"{name} is {value}: msrun hands that on to numactl, which fails, {mending}"
        source.note(value, NODE_REFUSED_BY_NUMACTL, text)
    return nodes


def _ids(source: Source, value: Value, name: str, expected: str) -> CpuSet:
    data = value.data
    if type(data) is int:
        if not 0 <= data <= LARGEST_ID:
            raise source.wrong(value, f"{name} is {value}: expected a number from 0 to {LARGEST_ID}")
        return CpuSet.of((data,))
    if not isinstance(data, str):
        raise source.wrong(value, f"{name} is {value}: expected {expected}")
    try:
        return read_ids(data)
    except BadIdListError as failure:
        where = "" if failure.found in ("", data.strip()) else f"in {quoted(failure.found)} "
        raise source.wrong(value, f"{name} is {value}: {where}{failure.problem}") from None


def _note_unused(
    source: Source, top: Mapping[str, Entry], config: _Config, devices: Mapping[Subject | str, Entry]
) -> None:
    for section, mode in (("bind_cpu", config.cpu_mode), ("bind_memory", config.memory_mode)):
        filled = section in top and bool(top[section].value.data)
        if filled and mode == "none":
            source.note(top[section], SWITCHED_OFF, f'"{section}" has no effect: "{section}_mode" is "none"')
        if not filled and mode != "none" and not devices:
            text = f'"{section}_mode" is "{mode}", but "{section}" is empty: nothing is bound'
            source.note(top["bind_config"], SWITCHED_OFF, text)


def _note_unbound_memory(
    source: Source,
    devices: Mapping[Subject | str, Entry],
    rules: Sequence[Rule],
    memory_rules: Sequence[MemoryRule],
) -> None:
    """Notes where a device's CPUs are written, as a check does that finds the same."""
    bound = {rule.subject for rule in memory_rules}
    first = {rule.subject: rule.place for rule in reversed(rules)}
    for subject, entry in devices.items():
        if isinstance(subject, Subject) and subject != SCHEDULER and subject not in bound:
            text = f'{subject} has no entry in "bind_memory": its memory is not bound'
            source.note_at(first.get(subject, source.place(entry)), MEMORY_NOT_BOUND, text)
