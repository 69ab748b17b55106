"""A synthetic description such as `package:2 node:2 l3:2 core:4 pu:2` as levels; hwloc's grammar, and a few words of our own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NoReturn

from numascope.errors import InputError

MOST_CPUS: Final = 65_536
MOST_NODES: Final = 1_024
"""The largest MAX_NUMNODES of Linux."""

_MOST_LEVELS: Final = 64
_LONGEST: Final = 1 << 20
"""Characters: room for the number of every CPU one by one."""

_NAMES: Final = {
    "package": "package", "socket": "package", "pack": "package", "die": "die", "cluster": "cluster", "group": "group",
    "node": "node", "numa": "node", "numanode": "node", "core": "core", "pu": "pu",
}  # fmt: skip
_CACHE = re.compile(r"l([1-5])(?:([diu])(?:cache)?|(cache)?)")
_CACHE_TYPES: Final = {"d": "Data", "i": "Instruction", "u": "Unified"}
_INSIDE: Final = ("package", "die", "core", "pu")
"""What may only lie inside what stands before it."""

_LEVEL = re.compile(r"([A-Za-z][A-Za-z0-9]*):([0-9]{1,9})")
_ATTACHED = re.compile(r"\[ *(?:node|numa|numanode)(?= *[(\]])", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([a-z]+)=([^ )]*)")
_SIZE = re.compile(r"([0-9]{1,18})([kKMGT]?)(i?)([bB]?)")


@dataclass(frozen=True, slots=True)
class Written:
    """An attribute's text, and its column from 1."""

    text: str
    column: int


@dataclass(slots=True)
class Memory:
    """A NUMA node that every object of a level has."""

    size_kib: int | None = None
    indexes: Written | None = None


@dataclass(slots=True)
class Level:
    """`count` objects inside each of the level above, `width` in all; `cache` is the level and type of a cache."""

    type: str
    count: int
    width: int
    column: int
    cache: tuple[int, str] | None = None
    size_kib: int | None = None
    indexes: Written | None = None
    threads_last: bool = False
    memories: list[Memory] = field(default_factory=list)


def refuse(column: int, problem: str) -> NoReturn:
    """The one error of a description: its column and what is wrong there."""
    raise InputError(f"synthetic:{column}", problem)


def parse_synthetic(text: str) -> list[Level]:
    """The levels from the machine down to the hardware threads; InputError with the column (`synthetic:COL`) of what is wrong."""
    if len(text) > _LONGEST:
        refuse(_LONGEST, f"longer than {_LONGEST} characters")
    levels = [Level("machine", 1, 1, 1)]
    at = _blanks(text, 0)
    while at < len(text):
        attached = _ATTACHED.match(text, at)
        at = _attached(text, attached, levels[-1]) if attached else _level(text, at, levels)
        at = _blanks(text, at)
    if levels[-1].type != "pu":
        refuse(len(text) + 1, 'the last level is the hardware threads, expected "pu:1" or more')
    has_level = any(level.type == "node" for level in levels)
    nodes = sum(level.width * len(level.memories) for level in levels)
    if nodes > MOST_NODES:
        refuse(1, f"{nodes} NUMA nodes, more than the {MOST_NODES} of any Linux")
    if has_level and nodes != next(level.width for level in levels if level.type == "node"):
        refuse(1, 'NUMA nodes are either a level ("node:2") or attached ("[numa]"), not both')
    return levels


def _blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] == " ":
        at += 1
    return at


def _level(text: str, at: int, levels: list[Level]) -> int:
    column = at + 1
    found = _LEVEL.match(text, at)
    if found is None:
        refuse(column, 'expected a level such as "package:2", "node:2", "l3:1", "core:8" or "pu:2"')
    name, count = found[1].lower(), int(found[2])
    cache = _CACHE.fullmatch(name)
    kind = name if cache else _NAMES.get(name)
    if kind is None:
        refuse(column, f'"{name[:20]}" is no level, expected package, die, node, l1 to l5, cluster, group, core or pu')
    if not count:
        refuse(column, f"none of a level leaves no machine, expected {name}:1 or more")
    width = levels[-1].width * count
    if width > MOST_CPUS:
        refuse(column, f"{width} in all, more than {MOST_CPUS}")
    if len(levels) > _MOST_LEVELS:
        refuse(column, f"more than {_MOST_LEVELS} levels")
    level = Level(kind, count, width, column)
    if cache:
        number = int(cache[1])
        letter = cache[2] or ("d" if number == 1 and not cache[3] else "u")
        level.cache, level.type = (number, _CACHE_TYPES[letter]), f"l{number}{letter}"
    if kind == "node":
        level.memories.append(Memory())
    _check_place(level, levels)
    levels.append(level)
    return _attributes(text, found.end(), level, level.memories[0] if level.memories else None)


def _check_place(level: Level, levels: list[Level]) -> None:
    above = [other.type for other in levels]
    if level.type in above and level.type != "group":
        refuse(level.column, f"a second level of {level.type}")
    if "pu" in above:
        refuse(level.column, "hardware threads (pu) hold nothing")
    if level.type in _INSIDE:
        outer = next((kind for kind in above if kind in _INSIDE[_INSIDE.index(level.type) :]), None)
        if outer is not None:
            refuse(level.column, f"a {outer} holds no {level.type}")
    if "core" in above and level.cache is None and level.type != "pu":
        refuse(level.column, f"a core holds no {level.type}")


def _attached(text: str, found: re.Match[str], level: Level) -> int:
    """`[numa(memory=16GiB)]`: a node that each object of the level before it has."""
    if level.type == "pu":
        refuse(found.start() + 1, "a hardware thread has no memory of its own")
    memory = Memory()
    level.memories.append(memory)
    end = _blanks(text, _attributes(text, _blanks(text, found.end()), None, memory))
    if text[end : end + 1] != "]":
        refuse(end + 1, 'expected "]"')
    return end + 1


def _attributes(text: str, at: int, level: Level | None, memory: Memory | None) -> int:
    """`(name=value name=value)`, if there is one here; gives the position behind it."""
    if text[at : at + 1] != "(":
        return at
    at += 1
    while text[at : at + 1] != ")":
        found = _ATTRIBUTE.match(text, at)
        if found is None:
            refuse(at + 1, 'expected an attribute such as "memory=16GiB", or ")"')
        _keep(found, level, memory)
        at = _blanks(text, found.end())
    return at + 1


def _keep(found: re.Match[str], level: Level | None, memory: Memory | None) -> None:
    name, written = found[1], Written(found[2], found.start(2) + 1)
    if name == "memory" and memory is not None:
        memory.size_kib = _kib(written)
    elif name == "size" and level is not None and level.cache is not None:
        level.size_kib = _kib(written)
    elif name == "indexes" and memory is not None:
        memory.indexes = written
    elif name == "indexes" and level is not None and level.type == "pu":
        level.indexes = written
    elif name == "threads" and level is not None and level.type == "pu":
        if written.text != "last":
            refuse(written.column, 'expected "threads=last": second threads are numbered after all first ones')
        level.threads_last = True
    else:
        refuse(found.start() + 1, f'"{name[:20]}" is no attribute here: nodes take memory, caches size, pu indexes')


def _kib(written: Written) -> int:
    """A size as hwloc writes it: plain bytes, kB, MB, GB, TB by thousands, KiB, MiB, GiB, TiB by 1,024."""
    found = _SIZE.fullmatch(written.text)
    if found is None or (found[3] and not found[2]) or ((found[2] or found[4]) and found[4] != "B"):
        refuse(written.column, 'expected a size such as "16GiB", "16GB" or a number of bytes')
    factor = 1
    for _ in range("kmgt".index(found[2].lower()) + 1 if found[2] else 0):
        factor *= 1024 if found[3] else 1000
    return int(found[1]) * factor // 1024
